/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages of windows: MPI_Win_allocate and MPI_Win_allocate_shared touch none, so that each comes
 * when the program touches it; and whichever rank does, on the NUMA node of the rank whose part it
 * is. With osc_numa = yes this can be seen on a machine with one node, too.
 */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

enum { PAGES = 100, ODD = 1234 };
enum { DEFAULT = 0, PREFERRED = 1, BY_ADDRESS = 2 }; /* of get_mempolicy(2) */

static int rank, size;
static size_t page;

/* The heap keeps pages of blocks that were freed, such as this one, which is as long as the parts
 * of all ranks. */
static void use_heap(void)
{
    size_t bytes = (size_t)size * (PAGES * page + ODD);
    volatile char *block = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        block[i] = 1;
    free((void *)(uintptr_t)block);
}

/* How many of the whole pages of memory are there, in any process. */
static int present(char *start, size_t bytes)
{
    unsigned char there[2 * PAGES];
    char *first = (char *)(((uintptr_t)start + page - 1) / page * page);
    size_t count = (size_t)(start + bytes - first) / page;
    int sum = 0;
    if (mincore(first, count * page, there) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        sum += there[i] & 1;
    return sum;
}

/* How the system chooses the node of a page: -1: it does not say. */
static int policy_at(const char *address)
{
    unsigned long nodes[1024 / (8 * sizeof(long))];
    int policy;
    return syscall(SYS_get_mempolicy, &policy, nodes, 1024, address, BY_ADDRESS) == 0 ? policy : -1;
}

/* The pages behind the first one: that may be another rank's. */
static void check_policy(const char *own, int wanted, const char *what)
{
    int policy = policy_at(own + 2 * page);
    if (policy < 0)
        tap_skip(what, "the system does not tell");
    else
        tap_check(policy == wanted, "%s", what);
}

/* A sanitizer's malloc touches what it gives to a rank that is alone. */
static bool is_untouched(char *own, size_t bytes)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (size == 1)
        return true;
#endif
    return present(own, bytes) == 0;
}

static void check_shared(bool is_contiguous)
{
    const char *what = is_contiguous ? "contiguous" : "not contiguous";
    MPI_Info info;
    MPI_Win win;
    char *own, *next;
    MPI_Aint bytes = PAGES * (MPI_Aint)page + ODD, there;
    int unit;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", is_contiguous ? "false" : "true");
    use_heap();
    MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &own, &win);
    MPI_Info_free(&info);
    if (is_contiguous)
        tap_check(is_untouched(own, (size_t)bytes), "no page is there before it is used (%s)",
                  what);
    check_policy(own, PREFERRED, "the pages are to come on this rank's node");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        memset(own, 1, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    int wanted = rank == 0 ? PAGES : 0;
    if (is_contiguous)
        tap_check(present(own, (size_t)bytes) == wanted, "a rank that uses its part uses no other");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_shared_query(win, (rank + 1) % size, &there, &unit, &next);
    check_policy(next, PREFERRED, "and those of other ranks on theirs");
    next[2 * page] = 7;
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(own[2 * page] == 7, "the memory is that of all (%s)", what);
    MPI_Win_free(&win);
}

/* The block is freed, and used for something else. */
static void check_allocate(void)
{
    MPI_Win win;
    char *own;
    void *address;
    MPI_Aint bytes = PAGES * (MPI_Aint)page, there;
    int unit;
    use_heap();
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    MPI_Win_shared_query(win, (rank + 1) % size, &there, &unit, &address);
    bool is_mapped = there > 0 && size > 1;
    if (is_mapped)
        check_policy(address, PREFERRED, "MPI_Win_allocate: pages are to come on the rank's node");
    own[0] = 1;
    MPI_Win_free(&win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_mapped)
        check_policy(address, DEFAULT, "after the end of the window they come as always");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    page = (size_t)sysconf(_SC_PAGESIZE);
    check_shared(true);
    check_shared(false);
    check_allocate();
    MPI_Finalize();
    return tap_finish();
}
