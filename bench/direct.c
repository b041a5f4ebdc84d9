/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message without MPI, as bare as it gets: make bench/direct && bench/direct.
 *
 * Two processes share a mapping. One says in a word of its own that its buffer is ready, the other
 * one copies it out into a buffer of its own, and answers the same way. Half of the time of both,
 * by size: what a latency of MPI can be compared to in the same minute. Lines as in samples.h, in
 * two series by what copies, of which the faster one counts:
 *
 *   rest/   buffers that nobody touches meanwhile (as osu_latency's)
 *   live/   buffers in use (live.h), as bench/latency_live.c has them
 *
 *   direct [--quick] [NAME]     NAME: this series, or all that have it before the '/'
 *
 * Each process is bound to a core. They share one if there is no other, and yield it then.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/live.h"
#include "bench/samples.h"
#include "opal/arch/copy.h"
#include "opal/arch/pause.h"
#include "opal/arch/vector.h"

enum {
    APART = 256, /* neighbouring lines are fetched together on some machines */
    MIN_BYTES = 4096,
    MAX_BYTES = 4 << 20,
    SAMPLES = 31,
    QUICK_SAMPLES = 5,
    WARM_UP = 2,
    POLLS = 4096, /* then somebody else may need the core */
};

typedef struct side {
    _Alignas(APART) atomic_uint ready; /* number of the last message; written by its owner only */
    _Alignas(APART) char out[MAX_BYTES];
    _Alignas(APART) char in[MAX_BYTES];
} side_t;

typedef void copy_fn_t(char *to, const char *from, size_t bytes);

static side_t *mine, *theirs;
static pid_t child;
static bool first; /* this process sends first, measures and prints */
static unsigned serial;

OPAL_VECTOR_LOOPS static void copy_plain(char *to, const char *from, size_t bytes)
{
    OPAL_INDEPENDENT
    for (size_t i = 0; i < bytes / sizeof(long); i++)
        ((long *)to)[i] = ((const long *)from)[i];
}

static void copy_ours(char *to, const char *from, size_t bytes)
{
    opal_copy_large(to, from, bytes);
}

static const struct {
    const char *name;
    copy_fn_t *copy;
    bool live;
} series[] = {
    {"rest/loop", copy_plain, false},
    {"rest/kernel", copy_ours, false},
    {"live/loop", copy_plain, true},
    {"live/kernel", copy_ours, true},
};

enum { SERIES = sizeof series / sizeof series[0] };

static void send_one(size_t bytes, bool live)
{
    if (live)
        bench_live_write(mine->out, bytes, serial);
    atomic_store_explicit(&mine->ready, serial, memory_order_release);
}

/* If the other side has ended, it has told why. */
static void give_way(void)
{
    if (first && waitpid(child, NULL, WNOHANG) != 0)
        exit(1);
    sched_yield();
}

static void receive_one(size_t bytes, copy_fn_t *copy, bool live)
{
    for (unsigned polls = 1; atomic_load_explicit(&theirs->ready, memory_order_acquire) != serial;
         polls++) {
        if (polls % POLLS == 0)
            give_way();
        opal_cpu_pause();
    }
    copy(mine->in, theirs->out, bytes);
    if (live)
        bench_live_read(mine->in, bytes, serial);
}

/* Seconds for so many messages to and fro. */
static double ping_pong(size_t which, size_t bytes, int rounds)
{
    double start = bench_now();
    for (int i = 0; i < rounds; i++) {
        serial++;
        if (first)
            send_one(bytes, series[which].live);
        receive_one(bytes, series[which].copy, series[which].live);
        if (!first)
            send_one(bytes, series[which].live);
    }
    return bench_now() - start;
}

/* Some 100 us; both sides must come to the same number. */
static int rounds_of(size_t bytes)
{
    int rounds = (int)((size_t)MAX_BYTES / bytes);
    return rounds < 4 ? 4 : rounds > 200 ? 200 : rounds;
}

static bool wanted(const char *asked, const char *name)
{
    size_t length = strlen(asked);
    return strncmp(asked, name, length) == 0 && (strchr("/", name[length]) != NULL || length == 0);
}

/* The series take turns, so that what else happens on the machine hits all of them. */
static void measure(const char *asked, size_t bytes, int samples_wanted)
{
    static bench_samples_t samples[SERIES];
    int rounds = rounds_of(bytes);
    memset(samples, 0, sizeof samples);
    for (int sample = 0; sample < samples_wanted; sample++) {
        for (size_t which = 0; which < SERIES; which++) {
            if (!wanted(asked, series[which].name))
                continue;
            ping_pong(which, bytes, WARM_UP);
            bench_add_sample(&samples[which], ping_pong(which, bytes, rounds));
        }
    }
    for (size_t which = 0; which < SERIES && first; which++)
        bench_print(series[which].name, (long)bytes, BENCH_USEC, 2.0 * rounds, &samples[which]);
}

/* The number-th core of those that we may use, or any if there are not so many. */
static void bind_core(int number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

int main(int argc, char **argv)
{
    int at = 1, samples = SAMPLES;
    if (at < argc && strcmp(argv[at], "--quick") == 0) {
        samples = QUICK_SAMPLES;
        at++;
    }
    const char *asked = at < argc ? argv[at] : "";
    side_t *sides =
        mmap(NULL, 2 * sizeof(side_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sides == MAP_FAILED) {
        perror("direct: mmap");
        return 1;
    }
    memset(sides, 0, 2 * sizeof(side_t));
    child = fork();
    if (child < 0) {
        perror("direct: fork");
        return 1;
    }
    first = child != 0;
    if (!first)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    mine = &sides[first];
    theirs = &sides[!first];
    bind_core(first);
    for (size_t bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= 2)
        measure(asked, bytes, samples);
    if (!first)
        _exit(0);
    int status;
    return waitpid(child, &status, 0) != child || status != 0;
}
