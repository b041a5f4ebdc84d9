/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which kernel copies. At first it is the first one of the table that this CPU has, while
 * `opal_copy_current` is a function that counts. When so much was copied that the measurement is
 * worth its time, that function makes the choice. So no first message pays for the measurement, nor
 * does a process that copies little.
 *
 * Threading: `opal_copy_current` is replaced by another function that copies; a thread that still
 * sees the old one copies by that. The choice itself is made once, by one thread.
 */
#include "opal/arch/copy.h"

#include <pthread.h>
#include <stdint.h>

#include "opal/arch/copy_kernel.h"
#include "opal/include/clock.h"

static bool everywhere(void)
{
    return true;
}

static void copy_libc(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#ifdef __x86_64__
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

/* The first generations that had it lower their clock for it, and for what comes after it. */
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

const opal_copy_kernel_t opal_copy_kernels[] = {
#if defined(__x86_64__)
    {"avx2", "moves of 32 bytes", opal_copy_avx2, has_avx2},
    {"avx512", "moves of 64 bytes", opal_copy_avx512, has_avx512},
    {"sse2", "moves of 16 bytes", opal_copy_vector, everywhere},
    {"string", "rep movsb", opal_copy_string, everywhere},
#elif defined(__aarch64__)
    {"neon", "moves of 16 bytes", opal_copy_vector, everywhere},
#else
    {"vector", "moves of 16 bytes", opal_copy_vector, everywhere},
#endif
    {"libc", "memcpy", copy_libc, everywhere},
};

const size_t opal_copy_kernel_count = OPAL_COUNT_OF(opal_copy_kernels);
_Static_assert(OPAL_COUNT_OF(opal_copy_kernels) <= OPAL_COPY_KERNELS_MAX, "");

/* -- measuring ------------------------------------------------------------------------- */

enum { TRIAL_MAX = 4096, SPAN = 64, BATCH = 8, ROUNDS = 5, PAGE = 4096 };

/* Where source and destination begin, modulo a page: as malloc aligns large blocks, and as it is
 * known to cost something somewhere. */
static const struct {
    size_t bytes, to, from;
} trials[OPAL_COPY_TRIALS] = {
    {1024, 0, 0}, {1024, 48, 1}, {TRIAL_MAX, 0, 0}, {TRIAL_MAX, 16, 0}, {TRIAL_MAX, 0, 16},
};

static char trial_from[TRIAL_MAX + SPAN] __attribute__((aligned(PAGE)));
static char trial_to[TRIAL_MAX + SPAN] __attribute__((aligned(PAGE)));

/* One copy, in nanoseconds: the best of a few rounds, since the machine may be busy, or the first
 * one if it takes longer than `limit`. */
static double time_trial(opal_copy_fn_t *copy, size_t trial, double limit)
{
    double best = limit;
    for (int round = 0; round < ROUNDS && best <= limit; round++) {
        uint64_t start = opal_clock_nsec();
        for (int i = 0; i < BATCH; i++)
            copy(trial_to + trials[trial].to, trial_from + trials[trial].from, trials[trial].bytes);
        double took = (double)(opal_clock_nsec() - start) / BATCH;
        if (round == 0 || took < best)
            best = took;
    }
    return best > 0 ? best : 1; /* a clock without nanoseconds: all are equal */
}

/* Writes a row of the choice. Returns the time for a byte of each trial. */
static double measure(const opal_copy_kernel_t *kernel, double *speed)
{
    static const double slow = 8; /* GB/s: not worth more rounds */
    double sum = 0;
    for (size_t i = 0; i < OPAL_COPY_TRIALS; i++) {
        double bytes = (double)trials[i].bytes;
        double nsec = time_trial(kernel->copy, i, bytes / slow);
        speed[i] = bytes / nsec;
        sum += nsec / bytes;
    }
    return sum;
}

/* -- choosing -------------------------------------------------------------------------- */

static opal_copy_choice_t choice;

static void choose(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const opal_copy_kernel_t *first_usable(void)
{
    const opal_copy_kernel_t *kernel = opal_copy_kernels;
    while (!kernel->usable())
        kernel++;
    return kernel;
}

/* A count that threads write at once may be too small. */
static size_t copied_bytes;

static void copy_first(char *to, const char *from, size_t bytes)
{
    size_t copied = __atomic_load_n(&copied_bytes, __ATOMIC_RELAXED);
    if (copied < OPAL_COPY_UNMEASURED_BYTES) {
        __atomic_store_n(&copied_bytes, copied + bytes, __ATOMIC_RELAXED);
        first_usable()->copy(to, from, bytes);
        return;
    }
    pthread_once(&once, choose);
    choice.kernel->copy(to, from, bytes);
}

opal_copy_fn_t *opal_copy_current = copy_first;

static void set_current(opal_copy_fn_t *copy)
{
    __atomic_store_n(&opal_copy_current, copy, __ATOMIC_RELAXED);
}

static void choose(void)
{
    /* By how much a later one in the table must be faster. */
    static const double gain = 0.95;
    double best = 0;
    memset(trial_from, 1, sizeof trial_from);
    memset(trial_to, 0, sizeof trial_to);
    choice = (opal_copy_choice_t){.measured = true};
    for (size_t i = 0; i < opal_copy_kernel_count; i++) {
        const opal_copy_kernel_t *kernel = &opal_copy_kernels[i];
        if (!kernel->usable())
            continue;
        double sum = measure(kernel, choice.speed[i]);
        if (choice.kernel == NULL || sum < best * gain) {
            choice.kernel = kernel;
            best = sum;
        }
    }
    set_current(choice.kernel->copy);
}

static void keep(void)
{
}

void opal_copy_choose(const opal_copy_kernel_t *kernel)
{
    if (kernel == NULL) {
        once = (pthread_once_t)PTHREAD_ONCE_INIT;
        copied_bytes = 0;
        set_current(copy_first);
        return;
    }
    pthread_once(&once, keep);
    choice = (opal_copy_choice_t){.kernel = kernel};
    set_current(kernel->copy);
}

const opal_copy_choice_t *opal_copy_choice(void)
{
    pthread_once(&once, choose);
    return &choice;
}
