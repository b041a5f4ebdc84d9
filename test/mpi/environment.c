/* SPDX-License-Identifier: BSD-3-Clause */
/* Who and where: ranks, names, memory, addresses, time. The argument is the size of the job. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

/* The sanitizers end a program that asks for too much memory unless it says this. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void check_communicators(int size)
{
    int value = -1, length = -1;
    char name[MPI_MAX_OBJECT_NAME], long_name[2 * MPI_MAX_OBJECT_NAME];
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    tap_check(value == size, "MPI_COMM_WORLD has %d ranks", size);
    MPI_Comm_size(MPI_COMM_SELF, &value);
    tap_check(value == 1, "MPI_COMM_SELF has one");
    MPI_Comm_rank(MPI_COMM_SELF, &value);
    tap_check(value == 0, "which is rank 0");
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    tap_check(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "it is called %s", name);
    MPI_Comm_set_name(MPI_COMM_SELF, "me");
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    tap_check(strcmp(name, "me") == 0 && length == 2, "a name is set");
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    MPI_Comm_set_name(MPI_COMM_SELF, long_name);
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    tap_check(length == MPI_MAX_OBJECT_NAME - 1 && strlen(name) == (size_t)length,
              "one that is too long is cut");
    tap_check(MPI_Comm_get_name(MPI_COMM_NULL, name, &length) == MPI_SUCCESS &&
                  strcmp(name, "MPI_COMM_NULL") == 0 && length == 13,
              "MPI_COMM_NULL has a name");
}

static void check_memory(void)
{
    char *memory = NULL;
    MPI_Aint address = 0;
    tap_check(MPI_Alloc_mem(1000000, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != NULL,
              "MPI_Alloc_mem");
    memset(memory, 1, 1000000);
    MPI_Get_address(memory + 10, &address);
    tap_check(address == (MPI_Aint)(memory + 10), "MPI_Get_address");
    tap_check(MPI_Aint_add(address, 5) == (MPI_Aint)(memory + 15), "MPI_Aint_add");
    tap_check(MPI_Aint_diff(address, (MPI_Aint)memory) == 10, "MPI_Aint_diff");
    tap_check(MPI_Free_mem(memory) == MPI_SUCCESS, "MPI_Free_mem");
    tap_check(MPI_Alloc_mem(0, MPI_INFO_ENV, &memory) == MPI_SUCCESS, "no bytes, with an info");
    MPI_Free_mem(memory);
    memory = NULL;
    tap_check(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory) == MPI_ERR_SIZE && memory == NULL,
              "a negative size is an error");
    tap_check(MPI_Alloc_mem(1, (MPI_Info)MPI_COMM_WORLD, &memory) == MPI_ERR_INFO,
              "a communicator is no info");
    tap_check(MPI_Alloc_mem(INTPTR_MAX, MPI_INFO_NULL, &memory) == MPI_ERR_NO_MEM,
              "more than there is");
}

/* Memory whose address is a multiple of what the info object says. */
static void check_alignment(void)
{
    static const struct {
        const char *value;
        uintptr_t alignment;
    } rows[] = {{"4096", 4096}, {"1048576", 1048576}, {"1", 1}, {"24", 1}, {"", 1}, {"0", 1}};
    MPI_Info info;
    MPI_Info_create(&info);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *memory[3];
        uintptr_t all = 0;
        MPI_Info_set(info, "mpi_minimum_memory_alignment", rows[i].value);
        for (int block = 0; block < 3; block++) {
            MPI_Alloc_mem(10, info, &memory[block]);
            all |= (uintptr_t)memory[block];
        }
        tap_check(all % rows[i].alignment == 0, "mpi_minimum_memory_alignment '%s'", rows[i].value);
        for (int block = 0; block < 3; block++)
            MPI_Free_mem(memory[block]);
    }
    MPI_Info_free(&info);
}

static void check_place_and_time(void)
{
    char name[MPI_MAX_PROCESSOR_NAME], host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = -1;
    gethostname(host, sizeof host - 1);
    MPI_Get_processor_name(name, &length);
    tap_check(strcmp(name, host) == 0 && length == (int)strlen(host), "the processor is %s", name);
    double before = MPI_Wtime(), after = MPI_Wtime();
    for (int i = 0; i < 1000; i++) {
        before = after;
        after = MPI_Wtime();
        if (after < before)
            break;
    }
    tap_check(after >= before, "time does not go backwards");
    tap_check(MPI_Wtick() > 0 && MPI_Wtick() < 1e-3, "a tick is short");
    tap_check(MPI_Pcontrol(1, 2.5, "x") == MPI_SUCCESS, "MPI_Pcontrol takes what comes");
}

int main(int argc, char **argv)
{
    int rank = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_communicators(argc > 1 ? atoi(argv[1]) : 1);
    check_memory();
    check_alignment();
    check_place_and_time();
    MPI_Finalize();
    return tap_finish();
}
