/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows to which memory is attached later: all kinds of memory, regions beside each other,
 * regions that come and go within an epoch, other pages at the address of earlier ones.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tap.h"

enum { WORDS = 512, RANKS_MAX = 32 };

static int rank, size, left, right;
static MPI_Win win;

/* The addresses that all ranks have for `own`. */
static void exchange(const void *own, MPI_Aint *all)
{
    MPI_Aint address;
    MPI_Get_address(own, &address);
    MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
}

static MPI_Aint word(MPI_Aint base, int index)
{
    return MPI_Aint_add(base, index * (MPI_Aint)sizeof(long));
}

static long initial(int owner, int index)
{
    return 1000 * (owner + 1) + index;
}

static void fill(long *memory)
{
    for (int i = 0; i < WORDS; i++)
        memory[i] = initial(rank, i);
}

/* Every operation on memory that is attached, of which the right neighbour's is at `base`. */
static bool works(long *memory, MPI_Aint base)
{
    const long out = 77 + rank, one = 1, present = initial(right, 3);
    long in[4] = {-1, -1, -1, -1};
    fill(memory);
    MPI_Win_fence(0, win);
    MPI_Put(&out, 1, MPI_LONG, right, word(base, 0), 1, MPI_LONG, win);
    MPI_Accumulate(&one, 1, MPI_LONG, right, word(base, 1), 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &in[0], MPI_LONG, right, word(base, 2), MPI_SUM, win);
    MPI_Compare_and_swap(&out, &present, &in[1], MPI_LONG, right, word(base, 3), win);
    MPI_Get(&in[2], 1, MPI_LONG, right, word(base, WORDS - 1), 1, MPI_LONG, win);
    MPI_Get_accumulate(&one, 1, MPI_LONG, &in[3], 1, MPI_LONG, right, word(base, 5), 1, MPI_LONG,
                       MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    bool good = in[0] == initial(right, 2) && in[1] == present && in[3] == initial(right, 5) &&
                in[2] == initial(right, WORDS - 1);
    return good && memory[0] == 77 + left && memory[1] == initial(rank, 1) + 1 &&
           memory[2] == initial(rank, 2) + 1 && memory[3] == 77 + left &&
           memory[4] == initial(rank, 4) && memory[5] == initial(rank, 5) + 1;
}

static void check_memory(long *memory, const char *what)
{
    MPI_Aint bases[RANKS_MAX];
    exchange(memory, bases);
    int error = MPI_Win_attach(win, memory, WORDS * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS && works(memory, bases[right]), "operations on %s", what);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(MPI_Win_detach(win, memory) == MPI_SUCCESS, "which is detached");
}

static void check_kinds(void)
{
    static long zeros[WORDS], values[WORDS] = {1};
    long stack[WORDS];
    long *heap = malloc(WORDS * sizeof *heap), *large = calloc(1 << 19, sizeof *large);
    check_memory(heap, "a block of malloc");
    check_memory(large + (1 << 18), "the middle of a large block");
    check_memory(zeros, "static memory");
    check_memory(values, "static memory with initial values");
    check_memory(stack, "the stack");
    free(heap);
    free(large);
}

/* Beside each other, attached in any order; one of them goes and comes back. */
static void check_regions(void)
{
    enum { REGIONS = 4 };
    static const int order[REGIONS] = {2, 0, 3, 1};
    long *memory = calloc(REGIONS * WORDS, sizeof *memory);
    MPI_Aint bases[RANKS_MAX];
    bool good = true;
    exchange(memory, bases);
    for (int i = 0; i < REGIONS; i++)
        MPI_Win_attach(win, memory + order[i] * WORDS, WORDS * sizeof *memory);
    for (int i = 0; i < REGIONS; i++)
        good &= works(memory + i * WORDS, word(bases[right], i * WORDS));
    tap_check(good, "regions that touch each other");
    MPI_Win_detach(win, memory + WORDS);
    good = works(memory, bases[right]) && works(memory + 2 * WORDS, word(bases[right], 2 * WORDS));
    tap_check(good, "regions that are left when one goes");
    MPI_Win_attach(win, memory + WORDS, WORDS * sizeof *memory);
    tap_check(works(memory + WORDS, word(bases[right], WORDS)), "the region that comes back");
    for (int i = 0; i < REGIONS; i++)
        MPI_Win_detach(win, memory + i * WORDS);
    tap_check(MPI_Win_attach(win, memory, 0) == MPI_SUCCESS, "a region of no bytes");
    MPI_Win_detach(win, memory);
    MPI_Barrier(MPI_COMM_WORLD);
    free(memory);
}

/* One rank after the other attaches memory, which all use at once. No call is collective. */
static void check_within_epoch(void)
{
    enum { ROUNDS = 10 };
    bool good = true;
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        int owner = round % size;
        long *memory = NULL, sum = 1L << round, old = -1;
        MPI_Aint address = 0;
        if (rank == owner) {
            memory = calloc(WORDS, sizeof *memory);
            MPI_Win_attach(win, memory, WORDS * sizeof *memory);
            MPI_Get_address(memory, &address);
            MPI_Win_sync(win);
        }
        MPI_Bcast(&address, 1, MPI_AINT, owner, MPI_COMM_WORLD);
        MPI_Fetch_and_op(&sum, &old, MPI_LONG, owner, word(address, round), MPI_SUM, win);
        MPI_Win_flush(owner, win);
        good &= old >= 0 && old % sum == 0 && old / sum < size;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == owner) {
            MPI_Win_sync(win);
            good &= memory[round] == size * sum;
            MPI_Win_detach(win, memory);
            free(memory);
        }
    }
    MPI_Win_unlock_all(win);
    tap_check(good, "memory comes and goes within an epoch");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What was known of the old pages is not used for the new ones. */
static void check_other_pages(void)
{
    const size_t bytes = 1 << 16;
    MPI_Aint bases[RANKS_MAX];
    bool good = true;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    exchange(memory, bases);
    for (int round = 0; round < 6; round++) {
        MPI_Win_attach(win, memory, (MPI_Aint)bytes);
        good &= works((long *)memory, bases[right]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, memory);
        munmap(memory, bytes);
        char *again = mmap(memory, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        good &= again == memory && memory[0] == 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    munmap(memory, bytes);
    tap_check(good, "other pages at the same address");
}

static void check_two_windows(void)
{
    long *memory = calloc(WORDS, sizeof *memory);
    MPI_Aint bases[RANKS_MAX];
    MPI_Win first = win, second;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    exchange(memory, bases);
    MPI_Win_attach(first, memory, WORDS * sizeof *memory);
    MPI_Win_attach(second, memory, WORDS * sizeof *memory);
    bool good = works(memory, bases[right]);
    win = second;
    good &= works(memory, bases[right]);
    MPI_Win_detach(first, memory);
    good &= works(memory, bases[right]);
    win = first;
    MPI_Win_free(&second); /* with what is attached to it */
    free(memory);
    tap_check(good, "memory that is attached to two windows");
}

static void check_attributes(void)
{
    void *base = &base;
    MPI_Aint *bytes = NULL;
    int *unit = NULL, *flavor = NULL, flags[4] = {0};
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flags[0]);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flags[1]);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flags[2]);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flags[3]);
    tap_check(flags[0] && base == MPI_BOTTOM && flags[1] && *bytes == 0 && flags[2] && *unit == 1 &&
                  flags[3] && *flavor == MPI_WIN_FLAVOR_DYNAMIC,
              "the attributes of a window without memory of its own");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    check_attributes();
    check_kinds();
    check_regions();
    check_within_epoch();
    check_other_pages();
    check_two_windows();
    check_attributes();
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
