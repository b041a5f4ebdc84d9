/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy kernels beside libc's memcpy: make bench/copy && bench/copy.
 *
 *   copy [--quick]           by size, for each kernel that this CPU can run: GB/s where source and
 *                            destination begin with a page, GB/s at the worst of 25 alignments, the
 *                            alignment it is, the fastest by the slowest one, and memcpy's time by
 *                            the kernel's (geometric mean of all alignments: above 1, ours is
 *                            faster)
 *   copy [--quick] KERNEL    GB/s at each alignment
 *
 * An alignment is a pair of offsets modulo a page, 0, 8, 16, 48 or 64. The same buffers again and
 * again, so they are in the cache that is large enough for them. Best of many rounds, in which the
 * kernels take turns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/arch/copy_kernel.h"
#include "opal/include/clock.h"

enum {
    OFFSETS = 5,
    ALIGNMENTS = OFFSETS * OFFSETS,
    PAGE = 4096,
    MAX_BYTES = 4 << 20,
    ROUNDS = 15,
    QUICK_ROUNDS = 1,
    BATCH_BYTES = 512 << 10, /* copied between two looks at the clock, at least once */
};

static const size_t offsets[OFFSETS] = {0, 8, 16, 48, 64};
static const size_t sizes[] = {512,      1024,      4096,       16 << 10, 32 << 10,
                               64 << 10, 256 << 10, 1024 << 10, MAX_BYTES};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Nanoseconds of a copy, by from * OFFSETS + to. */
typedef struct times {
    double nsec[ALIGNMENTS];
} times_t;

static char *source, *target;

static double now_nsec(void)
{
    return (double)opal_clock_nsec();
}

static char *make_buffer(void)
{
    char *buffer = aligned_alloc(PAGE, MAX_BYTES + PAGE);
    if (buffer == NULL) {
        fputs("copy: no memory\n", stderr);
        exit(1);
    }
    memset(buffer, 1, MAX_BYTES + PAGE);
    return buffer;
}

static double time_copy(opal_copy_fn_t *copy, size_t alignment, size_t bytes)
{
    char *to = target + offsets[alignment % OFFSETS];
    const char *from = source + offsets[alignment / OFFSETS];
    size_t times = bytes < BATCH_BYTES ? BATCH_BYTES / bytes : 1;
    copy(to, from, bytes);
    double start = now_nsec();
    for (size_t i = 0; i < times; i++)
        copy(to, from, bytes);
    return (now_nsec() - start) / (double)times;
}

static void measure(times_t *all, size_t bytes, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (size_t alignment = 0; alignment < ALIGNMENTS; alignment++) {
            for (size_t i = 0; i < opal_copy_kernel_count; i++) {
                if (!opal_copy_kernels[i].usable())
                    continue;
                double nsec = time_copy(opal_copy_kernels[i].copy, alignment, bytes);
                if (round == 0 || nsec < all[i].nsec[alignment])
                    all[i].nsec[alignment] = nsec;
            }
        }
    }
}

static void print_line(const char *name, const times_t *times, const times_t *libc, size_t bytes)
{
    size_t fastest = 0, slowest = 0;
    double logs = 0;
    for (size_t i = 0; i < ALIGNMENTS; i++) {
        fastest = times->nsec[i] < times->nsec[fastest] ? i : fastest;
        slowest = times->nsec[i] > times->nsec[slowest] ? i : slowest;
        logs += log(libc->nsec[i] / times->nsec[i]);
    }
    printf("  %-10s %7.1f %7.1f   %2zu to %2zu %7.2f %10.2f\n", name,
           (double)bytes / times->nsec[0], (double)bytes / times->nsec[slowest],
           offsets[slowest / OFFSETS], offsets[slowest % OFFSETS],
           times->nsec[slowest] / times->nsec[fastest], exp(logs / ALIGNMENTS));
}

static void print_matrix(const times_t *times, size_t bytes)
{
    printf("%zu bytes: GB/s by where the source (down) and the destination (across) begin\n%8s",
           bytes, "");
    for (size_t to = 0; to < OFFSETS; to++)
        printf("%8zu", offsets[to]);
    putchar('\n');
    for (size_t from = 0; from < OFFSETS; from++) {
        printf("%8zu", offsets[from]);
        for (size_t to = 0; to < OFFSETS; to++)
            printf("%8.1f", (double)bytes / times->nsec[from * OFFSETS + to]);
        putchar('\n');
    }
}

/* The place of the kernel in the table; all of them are behind it. */
static size_t find(const char *name)
{
    size_t i = 0;
    while (i < opal_copy_kernel_count && strcmp(opal_copy_kernels[i].name, name) != 0)
        i++;
    return i;
}

int main(int argc, char **argv)
{
    static times_t all[OPAL_COPY_KERNELS_MAX];
    int at = 1, rounds = ROUNDS;
    if (at < argc && strcmp(argv[at], "--quick") == 0) {
        rounds = QUICK_ROUNDS;
        at++;
    }
    size_t count = opal_copy_kernel_count, libc = find("libc"),
           one = at < argc ? find(argv[at]) : 0;
    if (one == count || !opal_copy_kernels[one].usable()) {
        fprintf(stderr, "copy: no kernel %s runs here; ompi_info --copy lists them\n", argv[at]);
        return 2;
    }
    source = make_buffer();
    target = make_buffer();
    for (size_t s = 0; s < SIZES; s++) {
        measure(all, sizes[s], rounds);
        if (at < argc) {
            print_matrix(&all[one], sizes[s]);
            continue;
        }
        printf("%zu bytes\n  %-10s %7s %7s   %8s %7s %10s\n", sizes[s], "", "aligned", "worst",
               "at", "spread", "by memcpy");
        for (size_t i = 0; i < count; i++) {
            if (opal_copy_kernels[i].usable())
                print_line(opal_copy_kernels[i].name, &all[i], &all[libc], sizes[s]);
        }
    }
    return 0;
}
