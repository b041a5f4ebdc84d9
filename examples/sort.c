/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts numbers that are spread over all ranks, by samples: MPI_Gather, MPI_Bcast, MPI_Alltoall,
 * MPI_Alltoallv, MPI_Reduce, MPI_Exscan.
 *
 *   mpicc -O2 -o sort examples/sort.c && mpirun -n 4 ./sort [NUMBERS]
 *
 * 1. Each rank sorts its own numbers and sends some, evenly spread among them, to rank 0.
 * 2. Rank 0 sorts these samples; size - 1 of them cut the numbers into about equal parts.
 * 3. Each rank sends to every other one what belongs into that one's part, and sorts what it got.
 *
 * Then the result is verified: each part is sorted, no part begins below the end of the one before
 * it, and count, sum and a mix of all bits of the numbers are what they were.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 64 }; /* of each rank */

static int rank, size;

typedef struct numbers {
    uint64_t *at;
    int count;
} numbers_t;

/* What sorting does not change. */
typedef struct sums {
    uint64_t count, sum, mix;
} sums_t;

static void *allocate(size_t count, size_t each)
{
    void *memory = calloc(count > 0 ? count : 1, each);
    if (memory == NULL) {
        fprintf(stderr, "sort: no memory for %zu numbers\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1); /* not reached, but the compiler cannot know */
    }
    return memory;
}

/* Spreads the bits of a number (a step of the generator splitmix64). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/* This rank's share of the numbers; the same ones altogether for every number of ranks. */
static numbers_t make_numbers(long total)
{
    long begin = total * rank / size, end = total * (rank + 1) / size;
    numbers_t numbers = {allocate((size_t)(end - begin), sizeof(uint64_t)), (int)(end - begin)};
    for (long i = begin; i < end; i++)
        numbers.at[i - begin] = mix((uint64_t)i);
    return numbers;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_locally(numbers_t numbers)
{
    qsort(numbers.at, (size_t)numbers.count, sizeof(uint64_t), compare);
}

/* The size - 1 numbers between the parts, from sorted numbers of each rank. */
static uint64_t *choose_splitters(numbers_t sorted)
{
    uint64_t samples[SAMPLES], *all = NULL;
    uint64_t *splitters = allocate((size_t)size, sizeof(uint64_t));
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = sorted.count > 0 ? sorted.at[(long)sorted.count * i / SAMPLES] : UINT64_MAX;
    if (rank == 0)
        all = allocate((size_t)size * SAMPLES, sizeof(uint64_t));
    MPI_Gather(samples, SAMPLES, MPI_UINT64_T, all, SAMPLES, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        sort_locally((numbers_t){all, size * SAMPLES});
        for (int part = 1; part < size; part++)
            splitters[part - 1] = all[(size_t)part * SAMPLES];
    }
    free(all);
    MPI_Bcast(splitters, size - 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return splitters;
}

/* Where the parts of our sorted numbers begin, and how long they are. */
static void find_parts(numbers_t sorted, const uint64_t *splitters, int *counts, int *begins)
{
    int at = 0;
    for (int part = 0; part < size; part++) {
        begins[part] = at;
        while (at < sorted.count && (part == size - 1 || sorted.at[at] < splitters[part]))
            at++;
        counts[part] = at - begins[part];
    }
}

/* Every rank gets its part of everybody's numbers. */
static numbers_t exchange_parts(numbers_t sorted, const uint64_t *splitters)
{
    int *send_counts = allocate((size_t)size, sizeof(int));
    int *send_begins = allocate((size_t)size, sizeof(int));
    int *counts = allocate((size_t)size, sizeof(int));
    int *begins = allocate((size_t)size, sizeof(int));
    find_parts(sorted, splitters, send_counts, send_begins);
    /* First how many, so that there is room; then the numbers. */
    MPI_Alltoall(send_counts, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    numbers_t part = {.count = 0};
    for (int i = 0; i < size; i++) {
        begins[i] = part.count;
        part.count += counts[i];
    }
    part.at = allocate((size_t)part.count, sizeof(uint64_t));
    MPI_Alltoallv(sorted.at, send_counts, send_begins, MPI_UINT64_T, part.at, counts, begins,
                  MPI_UINT64_T, MPI_COMM_WORLD);
    free(send_counts);
    free(send_begins);
    free(counts);
    free(begins);
    return part;
}

static sums_t sum_up(numbers_t numbers)
{
    sums_t sums = {.count = (uint64_t)numbers.count};
    for (int i = 0; i < numbers.count; i++) {
        sums.sum += numbers.at[i];
        sums.mix += mix(numbers.at[i]);
    }
    return sums;
}

/* On all ranks, how many faults there are in the order of the numbers. */
static int count_disorder(numbers_t part)
{
    int faults = 0, all_faults = 0;
    for (int i = 1; i < part.count; i++)
        faults += part.at[i - 1] > part.at[i];
    /* The largest number of all ranks before this one. */
    uint64_t largest = part.count > 0 ? part.at[part.count - 1] : 0, before = 0;
    MPI_Exscan(&largest, &before, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    faults += rank > 0 && part.count > 0 && part.at[0] < before;
    MPI_Allreduce(&faults, &all_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all_faults;
}

/* On rank 0: whether all sums are alike. Prints what was found. */
static int verify(sums_t before, numbers_t part, double seconds)
{
    sums_t after = sum_up(part), was = {0}, is = {0};
    int disorder = count_disorder(part), largest_part = 0;
    MPI_Reduce(&before, &was, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&after, &is, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&part.count, &largest_part, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return 1;
    int same = was.count == is.count && was.sum == is.sum && was.mix == is.mix;
    printf("%llu numbers on %d ranks in %.1f ms, the largest part has %d\n",
           (unsigned long long)is.count, size, 1e3 * seconds, largest_part);
    printf("%s, %s\n", disorder == 0 ? "they are in order" : "THEY ARE NOT IN ORDER",
           same ? "and they are those that were there" : "AND SOME ARE LOST OR CHANGED");
    return same && disorder == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long total = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    if (total < 0 || total > 1L << 30) {
        fprintf(stderr, "usage: sort [NUMBERS], up to %ld\n", 1L << 30);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    numbers_t mine = make_numbers(total);
    sums_t before = sum_up(mine);
    double begin = MPI_Wtime();
    sort_locally(mine);
    uint64_t *splitters = choose_splitters(mine);
    numbers_t part = exchange_parts(mine, splitters);
    sort_locally(part);
    double seconds = MPI_Wtime() - begin;
    int good = verify(before, part, seconds);

    free(splitters);
    free(part.at);
    free(mine.at);
    MPI_Finalize();
    return !good;
}
