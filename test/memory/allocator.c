/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with the allocator in the place of malloc, or not (argument "on" or "off"): what comes
 * from where, what from before goes home, threads and children, and that nothing breaks. Prints
 * TAP.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/mca/memory/ptmalloc2/symbols.h"
#include "test/memory/children.h"

extern char **environ;

static int count, failed;

static void check(bool good, const char *what)
{
    count++;
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", count, what);
    fflush(stdout);
}

/* Ours are all in one range, and libc's are not in it: a block of ours tells where it is. */
static bool is_ours(const void *block)
{
    static uintptr_t known;
    if (known == 0) {
        void *sample = opal_memory_ptmalloc2_malloc(1);
        known = (uintptr_t)sample;
        opal_memory_ptmalloc2_free(sample);
    }
    uintptr_t address = (uintptr_t)block;
    return (address > known ? address - known : known - address) < UINT64_C(64) << 30;
}

/* From before our library's constructor: libc's in any case. */
static void *from_libc(size_t bytes)
{
    void *(*allocate)(size_t);
    *(void **)&allocate = dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "malloc");
    return allocate(bytes);
}

static void check_family(bool on)
{
    void *aligned = NULL, *blocks[] = {
                              malloc(100),
                              calloc(10, 100),
                              realloc(NULL, 100),
                              memalign(64, 100),
                              aligned_alloc(4096, 8192),
                              valloc(100),
                              pvalloc(100),
                              reallocarray(NULL, 10, 10),
                              strdup("libc allocates"),
                          };
    bool all = true;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        all &= is_ours(blocks[i]) == on && malloc_usable_size(blocks[i]) >= 10;
        free(blocks[i]);
    }
    check(all, "every function of the family, and libc's own calls of it");
    check(posix_memalign(&aligned, 1 << 16, 10) == 0 && is_ours(aligned) == on &&
              (uintptr_t)aligned % (1 << 16) == 0,
          "posix_memalign");
    free(aligned);
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    check(getline(&line, &room, file) > 0 && is_ours(line) == on, "getline grows our block");
    fclose(file);
    free(line);
    struct mallinfo2 info = mallinfo2();
    check(info.uordblks > 0, "mallinfo2");
    check(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1, "mallopt");
    malloc_trim(0);
}

static void check_foreign(bool on)
{
    char *block = from_libc(1000);
    memset(block, 7, 1000);
    check(malloc_usable_size(block) >= 1000, "the size of a block of libc's");
    block = realloc(block, 100000);
    bool kept = block != NULL;
    for (int i = 0; kept && i < 1000; i++)
        kept = block[i] == 7;
    check(kept, "realloc of a block of libc's keeps what is in it");
    block = realloc(block, 10);
    check(block != NULL && block[9] == 7, "and makes it small");
    free(block);
    block = from_libc(100);
    check(realloc(block, 0) == NULL, "realloc to nothing frees it");
    free(from_libc(1 << 24));
    free(NULL);
    check(true, "free of blocks of libc's");
    /* Through our names, enabled or not. */
    block = opal_memory_ptmalloc2_realloc(from_libc(10), 1000);
    check(block != NULL && is_ours(block) == on, "our realloc of a block of libc's");
    opal_memory_ptmalloc2_free(block);
    opal_memory_ptmalloc2_free(from_libc(10));
}

static void check_limits(void)
{
    errno = 0;
    void *volatile none = malloc(PTRDIFF_MAX);
    check(none == NULL && errno == ENOMEM, "too much is ENOMEM");
    volatile size_t huge = SIZE_MAX / 4;
    errno = 0;
    check(calloc(huge, 8) == NULL && errno == ENOMEM, "calloc's overflow is ENOMEM");
    void *block = NULL;
    check(posix_memalign(&block, 3, 10) == EINVAL, "an alignment of 3 is EINVAL");
    void *volatile empty = malloc(0);
    check(empty != NULL, "malloc(0) is a block");
    free(empty);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {UINT64_C(1) << 28, UINT64_C(1) << 28};
        setrlimit(RLIMIT_AS, &limit);
        for (int i = 0; i < 1000; i++) {
            void *volatile piece = malloc(1 << 20);
            if (piece == NULL)
                _exit(errno == ENOMEM ? 7 : 8);
        }
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "RLIMIT_AS: ENOMEM, and no crash");
}

/* -- threads and children ------------------------------------------------------------------ */

enum { THREADS = 4, BLOCKS = 2000 };

static void *left[THREADS][BLOCKS];

static void *leave_blocks(void *number)
{
    void **mine = left[(intptr_t)number];
    for (int i = 0; i < BLOCKS; i++) {
        mine[i] = malloc((size_t)(i % 500) + 16);
        memset(mine[i], (int)(intptr_t)number + 1, 16);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    bool whole = true;
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, leave_blocks, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < BLOCKS; k++) {
            whole &= ((char *)left[i][k])[15] == i + 1;
            free(left[i][k]);
        }
    }
    check(whole, "blocks outlive their threads");
}

static void check_fork(void)
{
    check(count_good_children(50, 100000, exit) == 50,
          "children of a threaded program allocate and exit");
}

static void check_programs(void)
{
    char line[64] = "";
    FILE *pipe = popen("echo from popen", "r");
    bool read = fgets(line, sizeof line, pipe) != NULL;
    check(pclose(pipe) == 0 && read && strcmp(line, "from popen\n") == 0, "popen");
    check(system("exit 5") == 5 << 8, "system");
    pid_t child;
    char *arguments[] = {"true", NULL};
    int status = -1;
    check(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0 &&
              waitpid(child, &status, 0) == child && status == 0,
          "posix_spawn");
    child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    check(waitpid(child, &status, 0) == child && status == 0, "vfork");
    void *object = dlopen("libm.so.6", RTLD_NOW);
    check(object != NULL && dlsym(object, "cos") != NULL && dlclose(object) == 0, "dlopen");
    check(dlopen("/nowhere.so", RTLD_NOW) == NULL && dlerror() != NULL, "dlerror");
}

static void *early;

__attribute__((constructor)) static void allocate_early(void)
{
    early = malloc(500);
}

int main(int argc, char **argv)
{
    bool on = argc > 1 && strcmp(argv[1], "on") == 0;
    check(is_ours(early) == on, "a constructor's block");
    free(early);
    check_family(on);
    check_foreign(on);
    check_limits();
    check_threads();
    check_fork();
    check_programs();
    printf("1..%d\n", count);
    return failed > 0;
}
