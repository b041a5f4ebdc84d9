/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A debugger of a few lines, for queues.test: stops a process, loads the library that
 * MPIR_dll_name names in it, and prints its message queues. It has symbols, and no debug
 * information: the callbacks that look types up end it.
 *
 *   queues PID
 */
#include "ompi/debugger/mqs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int pid, memory;
static char library[4096];       /* libmpi_abi of the process */
static mqs_taddr_t library_base; /* where it is mapped */
static mqs_image_info *image_info;
static mqs_process_info *process_info;
static void *dll;

static void fail(const char *what)
{
    printf("failed: %s\n", what);
    exit(1);
}

/* -- what a debugger knows ----------------------------------------------------------------------
 */

/* Waits until the kernel says that the process is stopped. */
static void stop(void)
{
    char path[64], line[512], *state = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (kill(pid, SIGSTOP) != 0)
        fail("kill");
    do {
        FILE *file = fopen(path, "r");
        state = file != NULL && fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
        if (file != NULL)
            fclose(file);
    } while (state != NULL && state[2] != 'T');
    if (state == NULL)
        fail("the process has ended");
}

static void find_library(void)
{
    char path[64], line[4352];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && library_base == 0 && fgets(line, sizeof line, maps) != NULL) {
        char *name = strchr(line, '/');
        if (name == NULL || strstr(name, "/libmpi_abi.so") == NULL)
            continue;
        name[strcspn(name, "\n")] = 0;
        strcpy(library, name);
        library_base = strtoul(line, NULL, 16);
    }
    if (library_base == 0)
        fail("libmpi_abi is not mapped");
}

static int find_symbol(mqs_image *image, char *name, mqs_taddr_t *address)
{
    char command[8192], line[512], found[256], kind;
    int result = mqs_no_information;
    (void)image;
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", library);
    FILE *symbols = popen(command, "r");
    while (symbols != NULL && fgets(line, sizeof line, symbols) != NULL) {
        mqs_taddr_t value;
        if (sscanf(line, "%lx %c %255s", &value, &kind, found) == 3 && strcmp(found, name) == 0) {
            *address = library_base + value;
            result = mqs_ok;
        }
    }
    if (symbols != NULL)
        pclose(symbols);
    return result;
}

static int fetch(mqs_process *process, mqs_taddr_t address, int size, void *to)
{
    (void)process;
    return pread(memory, to, (size_t)size, (off_t)address) == size ? mqs_ok : mqs_no_information;
}

/* -- callbacks ----------------------------------------------------------------------------------
 */

static void put_image(mqs_image *image, mqs_image_info *info)
{
    (void)image;
    image_info = info;
}

static mqs_image_info *get_image(mqs_image *image)
{
    (void)image;
    return image_info;
}

static void put_process(mqs_process *process, mqs_process_info *info)
{
    (void)process;
    process_info = info;
}

static mqs_process_info *get_process(mqs_process *process)
{
    (void)process;
    return process_info;
}

static void type_sizes(mqs_process *process, mqs_target_type_sizes *sizes)
{
    (void)process;
    *sizes = (mqs_target_type_sizes){2, 4, 8, 8, 8, 1, 8};
}

static mqs_type *no_type(mqs_image *image, char *name, mqs_lang_code language)
{
    (void)image, (void)language;
    fail(name);
    return NULL;
}

static int global_rank(mqs_process *process)
{
    (void)process;
    return 0;
}

static mqs_image *image_of(mqs_process *process)
{
    (void)process;
    return (mqs_image *)&image_info;
}

static void to_host(mqs_process *process, const void *from, void *to, int size)
{
    (void)process;
    memcpy(to, from, (size_t)size);
}

static const mqs_basic_callbacks basic = {
    .mqs_malloc_fp = malloc,
    .mqs_free_fp = free,
    .mqs_put_image_info_fp = put_image,
    .mqs_get_image_info_fp = get_image,
    .mqs_put_process_info_fp = put_process,
    .mqs_get_process_info_fp = get_process,
};
static const mqs_image_callbacks of_image = {
    .mqs_get_type_sizes_fp = type_sizes,
    .mqs_find_symbol_fp = find_symbol,
    .mqs_find_type_fp = no_type,
};
static const mqs_process_callbacks of_process = {global_rank, image_of, fetch, to_host};

/* -- asking -------------------------------------------------------------------------------------
 */

static void *entry(const char *name)
{
    void *function = dlsym(dll, name);
    if (function == NULL)
        fail(name);
    return function;
}

#define CALL(name, ...) ((__typeof__(&name))entry(#name))(__VA_ARGS__)

static void load(void)
{
    char name[4096] = {0};
    mqs_taddr_t address;
    if (find_symbol(NULL, (char *)"MPIR_dll_name", &address) != mqs_ok)
        fail("MPIR_dll_name");
    for (size_t i = 0; i < sizeof name - 1; i++) {
        if (fetch(NULL, address + i, 1, name + i) != mqs_ok || name[i] == 0)
            break;
    }
    dll = dlopen(name, RTLD_NOW);
    if (dll == NULL)
        fail(dlerror());
    if (CALL(mqs_version_compatibility) != MQS_INTERFACE_COMPATIBILITY ||
        CALL(mqs_dll_taddr_width) != (int)sizeof(mqs_taddr_t))
        fail("another version");
}

static void show_operations(mqs_process *process, const char *comm, mqs_op_class class)
{
    static const char *const names[] = {"send", "receive", "unexpected"};
    mqs_pending_operation operation;
    int error = CALL(mqs_setup_operation_iterator, process, (int)class);
    while (error == mqs_ok && (error = CALL(mqs_next_operation, process, &operation)) == mqs_ok) {
        printf("%s: %s peer %ld (%ld) tag %ld%s, %ld bytes", comm, names[class],
               operation.desired_local_rank, operation.desired_global_rank,
               operation.tag_wild ? -1 : operation.desired_tag, operation.tag_wild ? " any" : "",
               operation.desired_length);
        if (!operation.system_buffer)
            printf(" at %#lx", operation.buffer);
        printf(", %s\n", operation.extra_text[0]);
    }
    if (error != mqs_end_of_list)
        fail(CALL(mqs_dll_error_string, error));
}

int main(int argc, char **argv)
{
    mqs_process *process = (mqs_process *)&process_info;
    mqs_image *image = image_of(process);
    mqs_communicator comm;
    char path[64], *text;
    pid = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    stop();
    find_library();
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    memory = open(path, O_RDONLY);
    if (memory < 0)
        return 77;
    load();
    CALL(mqs_setup_basic_callbacks, &basic);
    if (CALL(mqs_setup_image, image, &of_image) != mqs_ok ||
        CALL(mqs_image_has_queues, image, &text) != mqs_ok ||
        CALL(mqs_setup_process, process, &of_process) != mqs_ok ||
        CALL(mqs_process_has_queues, process, &text) != mqs_ok ||
        CALL(mqs_update_communicator_list, process) != mqs_ok)
        fail("the process has no queues");
    for (int error = CALL(mqs_setup_communicator_iterator, process); error == mqs_ok;
         error = CALL(mqs_next_communicator, process)) {
        int ranks[16];
        CALL(mqs_get_communicator, process, &comm);
        CALL(mqs_get_comm_group, process, ranks);
        printf("%s: rank %ld of %ld:", comm.name, comm.local_rank, comm.size);
        for (long i = 0; i < comm.size; i++)
            printf(" %d", ranks[i]);
        puts("");
        show_operations(process, comm.name, mqs_pending_sends);
        show_operations(process, comm.name, mqs_pending_receives);
        show_operations(process, comm.name, mqs_unexpected_messages);
    }
    CALL(mqs_destroy_process_info, process_info);
    CALL(mqs_destroy_image_info, image_info);
    kill(pid, SIGCONT);
    return 0;
}
