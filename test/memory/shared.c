/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank with the shared heap, or without (argument "on" or "off"): which block is from where, what
 * peers see of it, who frees it, and children. `least` is the second argument. Two ranks; prints
 * TAP, rank 0 for both. "stack": only forks, on a stack that is a block of malloc's.
 */
#include <errno.h>
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/node/node.h"
#include "opal/node/region.h"
#include "test/memory/children.h"
#include "test/memory/ranks.h"

static bool on;
static size_t least;

static bool is_shared(const void *block)
{
    return opal_region_has(block, 1);
}

/* -- from where --------------------------------------------------------------------------- */

static void check_family(void)
{
    size_t large = least + 100;
    /* A program at a fixed address has an entry of its own for what this leads to. */
    void *(*volatile allocate)(size_t) = malloc;
    void *aligned = NULL, *blocks[] = {
                              malloc(large),
                              allocate(large),
                              calloc(large, 3),
                              realloc(NULL, large),
                              memalign(64, large),
                              aligned_alloc(4096, (large + 4095) / 4096 * 4096),
                              valloc(large),
                              pvalloc(large),
                              reallocarray(NULL, large, 2),
                              malloc(3 << 20),
                              memalign(8 << 20, 10 << 20),
                          };
    bool all = true;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        all &= is_shared(blocks[i]) == on && malloc_usable_size(blocks[i]) >= large;
        memset(blocks[i], 1, large);
        free(blocks[i]);
    }
    check(all, "large blocks, by every function of the family");
    all = posix_memalign(&aligned, 1 << 16, large) == 0 && is_shared(aligned) == on &&
          (uintptr_t)aligned % (1 << 16) == 0;
    free(aligned);
    check(all && posix_memalign(&aligned, 3, large) == EINVAL, "posix_memalign");
    void *small = malloc(least - 1);
    check(!is_shared(small), "small blocks are not shared");
    free(small);
    void *volatile none = malloc(PTRDIFF_MAX);
    check(none == NULL && errno == ENOMEM, "too much is ENOMEM");
    volatile size_t huge = SIZE_MAX / 4;
    errno = 0;
    check(calloc(huge, 8) == NULL && errno == ENOMEM, "an overflow is ENOMEM");
}

static void fill(unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        block[i] = (unsigned char)(i * 7 + 1);
}

static bool is_filled(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != (unsigned char)(i * 7 + 1))
            return false;
    return true;
}

/* Across the limit and back, several times. */
static void check_resizing(void)
{
    const size_t sizes[] = {least / 2, least, least * 5, 3 << 20, 9 << 20, least, least / 2, 10};
    unsigned char *block = malloc(10);
    bool kept = true, placed = true;
    size_t before = 10;
    fill(block, before);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        block = realloc(block, sizes[i]);
        kept &= is_filled(block, before < sizes[i] ? before : sizes[i]);
        if (sizes[i] >= least)
            placed &= is_shared(block) == on;
        fill(block, sizes[i]);
        before = sizes[i];
    }
    check(kept, "realloc across the limit keeps what is in the block");
    check(placed, "and moves what has grown large");
    check(realloc(block, 0) == NULL, "realloc to nothing frees it");
}

static void check_zero(void)
{
    bool zero = true;
    for (int round = 0; round < 20; round++) {
        size_t bytes = least + (size_t)round * 70000;
        unsigned char *block = malloc(bytes);
        memset(block, 0xff, bytes);
        free(block);
        block = calloc(1, bytes);
        for (size_t i = 0; i < bytes; i++)
            zero &= block[i] == 0;
        free(block);
        if (round % 5 == 4)
            malloc_trim(0);
    }
    check(zero, "calloc's blocks are zero, also where pages have gone back meanwhile");
}

/* -- what peers see ----------------------------------------------------------------------- */

enum { BLOCKS = 300 };

typedef struct gift {
    uintptr_t block;
    size_t bytes;
} gift_t;

static size_t gift_bytes(int i)
{
    return least + 1000 + (size_t)(i % 10) * (size_t)(i % 10) * 20000;
}

/* Each hands blocks to the other one, who reads, writes and frees them. */
static void check_gifts(void)
{
    gift_t mine[BLOCKS], theirs[BLOCKS];
    opal_node_view_t view;
    int peer = 1 - rank;
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < BLOCKS; i++) {
        mine[i] = (gift_t){(uintptr_t)malloc(gift_bytes(i)), gift_bytes(i)};
        fill((unsigned char *)mine[i].block, 1000);
    }
    MPI_Sendrecv(mine, sizeof mine, MPI_BYTE, peer, 0, theirs, sizeof theirs, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool seen = true, sized = true;
    check(opal_node_view((unsigned)peer, &view) && view.bytes > 0, "a peer's region is in view");
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char *block = opal_view_at(&view, theirs[i].block, theirs[i].bytes);
        seen &= block != NULL && is_filled(block, 1000);
        sized &= malloc_usable_size(block) >= theirs[i].bytes;
        block[0] = 99;
        if (i % 3 == 0)
            block = realloc(block, theirs[i].bytes * 2); /* that is ours */
        seen &= block[0] == 99;
        free(block);
    }
    check(seen, "a peer's blocks can be read and written");
    check(sized, "and their size is known");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS; i++)
        free(malloc(gift_bytes(i)));
    malloc_trim(0);
    check(mallinfo2().uordblks < before + (1 << 20), "what a peer frees goes home");
}

/* Whether the mapping that an address lies in has this flag, a word of two letters. */
static bool has_flag(uintptr_t address, const char *flag)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long begin, end;
    bool inside = false, found = false;
    while (fgets(line, sizeof line, file) != NULL && !found) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = begin <= address && address < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, flag) != NULL;
    }
    fclose(file);
    return found;
}

static bool is_left_out(uintptr_t address)
{
    return has_flag(address, " dd ");
}

/* That the system may give, where it gives any to shared memory. */
static void check_large_pages(void)
{
    const size_t bytes = 100 << 20;
    char *large = malloc(bytes);
    check(has_flag((uintptr_t)large + bytes / 2, " hg ") && !has_flag(opal_region.base, " hg "),
          "large pages are asked for in large blocks alone");
    free(large);
}

static void check_cores(void)
{
    void *block = malloc(least * 2);
    check(is_left_out(opal_region.base) && is_left_out(opal_region.base + opal_region.bytes - 1) &&
              !is_left_out((uintptr_t)block),
          "core files have what is this rank's");
    free(block);
}

/* -- children ----------------------------------------------------------------------------- */

/* What either writes, the other does not see. */
static void check_fork(void)
{
    size_t bytes = 6 << 20;
    unsigned char *block = malloc(bytes), *untouched = malloc(bytes);
    int wake[2];
    char byte = 0;
    fill(block, bytes);
    if (pipe(wake) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        bool good = opal_region.bytes == 0 && is_filled(block, bytes);
        good &= read(wake[0], &byte, 1) == 1; /* the parent has written by now */
        good &= is_filled(block, bytes);
        for (size_t i = 0; i < bytes; i += 4096)
            good &= untouched[i] == 0;
        memset(block, 3, bytes);
        for (size_t more = least; more < (64 << 20); more *= 2) {
            unsigned char *other = calloc(1, more);
            good &= other != NULL && other[0] == 0 && other[more - 1] == 0;
            memset(other, 5, more);
            if (more % 3 == 0)
                free(other);
        }
        free(block);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            untouched[5] = 1;
            _exit(4);
        }
        good &= ended_with(grandchild, 4) && untouched[5] == 0;
        _exit(good ? 7 : 8);
    }
    memset(block, 0, bytes);
    memset(untouched, 9, bytes);
    if (write(wake[1], &byte, 1) != 1)
        abort();
    bool good = ended_with(child, 7);
    for (size_t i = 0; i < bytes; i++)
        good &= block[i] == 0 && untouched[i] == 9;
    check(good, "a child has a copy of its own, as it was at the fork");
    close(wake[0]);
    close(wake[1]);
    free(block);
    free(untouched);
}

static void do_nothing(void)
{
}

static void close_everything(void)
{
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
}

/* The child goes on as its own child. */
static void fork_again(void)
{
    pid_t grandchild = fork();
    int status = 0;
    if (grandchild == 0)
        return;
    waitpid(grandchild, &status, 0);
    _exit(WEXITSTATUS(status));
}

/* The child does not read the blocks before the parent has written to them. */
static bool keeps_snapshot(void (*first)(void))
{
    const size_t bytes = 40 << 20;
    unsigned char *block = malloc(bytes), *untouched = malloc(bytes);
    atomic_bool *written =
        mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fill(block, bytes);
    pid_t child = fork();
    if (child == 0) {
        first();
        while (!*written)
            sched_yield();
        bool good = is_filled(block, bytes);
        for (size_t i = 0; i < bytes; i += 4096)
            good &= untouched[i] == 0;
        memset(block, 3, bytes);
        memset(untouched, 3, bytes);
        free(block);
        malloc_trim(0);
        block = calloc(bytes, 1);
        for (size_t i = 0; i < bytes; i += 4096)
            good &= block[i] == 0;
        _exit(good ? 7 : 8);
    }
    memset(block, 0, bytes);
    memset(untouched, 9, bytes);
    *written = true;
    bool good = ended_with(child, 7);
    for (size_t i = 0; i < bytes; i += 4096)
        good &= block[i] == 0 && untouched[i] == 9;
    munmap(written, sizeof *written);
    free(block);
    free(untouched);
    return good;
}

static void check_snapshots(void)
{
    check(keeps_snapshot(do_nothing), "a child keeps what it reads late");
    check(keeps_snapshot(close_everything), "without descriptors, too");
    check(keeps_snapshot(fork_again), "and a child's child, too");
}

static size_t own_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Anonymous: %zu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib << 10;
}

/* Before exec it has no copy, or only if the system lets it wait for long. A child that is killed
   lets its parent go on, too. */
static void check_short_children(void)
{
    const size_t bytes = 64 << 20;
    unsigned char *block = malloc(bytes);
    int copied = 0, children = 0, status;
    fill(block, bytes);
    do {
        pid_t child = fork();
        if (child == 0) {
            if (own_bytes() > bytes / 2)
                _exit(1);
            execl("/bin/true", "true", NULL);
            _exit(2);
        }
        waitpid(child, &status, 0);
        copied += WEXITSTATUS(status) == 1;
    } while (copied > children++ && children < 20);
    check(copied < children && WEXITSTATUS(status) == 0, "exec comes before the copy");
    pid_t child = fork();
    if (child == 0)
        raise(SIGKILL);
    waitpid(child, &status, 0);
    check(WIFSIGNALED(status) && is_filled(block, bytes), "a child may be killed");
    free(block);
}

/* Where no descriptor is left for the copy to be told by. */
static void check_fork_without_descriptors(void)
{
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    int *block = malloc(1 << 20);
    block[0] = 1;
    setrlimit(RLIMIT_NOFILE, &none);
    pid_t child = fork();
    if (child == 0) {
        block[0]++;
        _exit(block[0]);
    }
    block[0] = 5;
    setrlimit(RLIMIT_NOFILE, &limit);
    check(ended_with(child, 2) && block[0] == 5, "and where no descriptors are left");
    free(block);
}

/* Closes the region's descriptors, and puts this file in their places. Whether there were any. */
static bool replace_descriptors(int file)
{
    char path[64], link[64];
    bool any = false;
    for (int fd = 3; fd < 1100; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, link, sizeof link - 1);
        link[length > 0 ? length : 0] = 0;
        if (strncmp(link, "/memfd:mica-heap", 16) == 0)
            any = dup2(file, fd) == fd || any;
    }
    return any;
}

/* By a program that closes what it does not know, and opens files of its own. */
static void check_fork_with_foreign_descriptors(bool without_pipe)
{
    char text[16] = "", name[] = "/tmp/mica-shared-XXXXXX";
    struct rlimit limit, none;
    int file = mkstemp(name);
    unlink(name);
    bool good = write(file, "content", 7) == 7 && lseek(file, 3, SEEK_SET) == 3;
    good &= replace_descriptors(file) || without_pipe;
    int *block = malloc(1 << 20), *untouched = calloc(4, 1 << 20);
    block[0] = 1;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    if (without_pipe)
        setrlimit(RLIMIT_NOFILE, &none);
    pid_t child = fork();
    if (child == 0) {
        /* Its own copy of the descriptor is open yet. */
        good = lseek(file, 0, SEEK_CUR) == 3;
        block[0] += 1 + untouched[5000];
        _exit(good ? block[0] : 9);
    }
    block[0] = 5;
    untouched[5000] = 1;
    setrlimit(RLIMIT_NOFILE, &limit);
    good &= ended_with(child, 2) && block[0] == 5 && lseek(file, 0, SEEK_CUR) == 3 &&
            pread(file, text, sizeof text, 0) == 7 && strcmp(text, "content") == 0;
    check(good, without_pipe ? "nor is a pipe needed then"
                             : "where the region's descriptor has become a file's");
    close(file);
    free(block);
    free(untouched);
}

static void check_threaded_fork(void)
{
    check(count_good_children(30, 3000000, _exit) == 30,
          "children of a threaded rank allocate and exit");
}

/* Every second page: more holes than a process may have mappings. */
static void check_sparse_fork(void)
{
    const size_t step = 2 * 4096, bytes = (size_t)40000 * step;
    char *block = calloc(bytes, 1);
    for (size_t at = 0; at < bytes; at += step)
        block[at] = 1;
    pid_t child = fork();
    if (child == 0) {
        size_t sum = 0;
        for (size_t at = 0; at < bytes; at += step / 2)
            sum += (size_t)block[at];
        _exit(sum == bytes / step ? 3 : 4);
    }
    check(ended_with(child, 3), "a child has a block of which little was touched");
    free(block);
}

static void check_programs(void)
{
    char line[64] = "";
    FILE *pipe = popen("echo from popen", "r");
    bool read = fgets(line, sizeof line, pipe) != NULL;
    check(pclose(pipe) == 0 && read && strcmp(line, "from popen\n") == 0, "popen");
    check(system("exit 5") == 5 << 8, "system");
}

static void *fork_here(void *good)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    *(bool *)good = ended_with(child, 0);
    return NULL;
}

/* On a stack that is a block of malloc's. */
static int fork_on_block(void)
{
    const size_t bytes = 1 << 20;
    const struct rlimit no_core = {0, 0};
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack;
    bool good = false;
    setrlimit(RLIMIT_CORE, &no_core);
    if (posix_memalign(&stack, 4096, bytes) != 0)
        return 2;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, bytes);
    pthread_create(&thread, &attributes, fork_here, &good);
    pthread_join(thread, NULL);
    free(stack);
    return !good;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "stack") == 0)
        return fork_on_block();
    on = argc > 1 && strcmp(argv[1], "on") == 0;
    least = argc > 2 ? strtoul(argv[2], NULL, 0) : 8192;
    MPI_Init(&argc, &argv);
    begin_checks();
    check((opal_region.bytes > 0) == on, on ? "there is a region" : "there is no region");
    check_family();
    check_resizing();
    check_zero();
    if (on && size == 2)
        check_gifts();
    if (on) {
        check_cores();
        check_large_pages();
    }
    check_fork();
    check_snapshots();
    if (on)
        check_short_children();
    check_fork_without_descriptors();
    check_threaded_fork();
    check_sparse_fork();
    check_programs();
    if (on) {
        check_fork_with_foreign_descriptors(false);
        check_fork_with_foreign_descriptors(true);
    }
    return end_checks();
}
