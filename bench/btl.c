/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sm by itself, between forked processes: what a frame costs before anything of MPI is added,
 * beside what the machine costs: one cache line handed to and fro.
 *
 *   btl             one-way latency and rate by size, the peer's memory read by get, and the
 *                   physical limit
 *   btl ring N      a token around N processes, asleep unless they have it: ns per hop
 *   btl barrier N   a dissemination barrier of N processes: ns each
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "opal/include/clock.h"
#include "test/unit/opal/mca/btl/crew.h"

extern const opal_component_t mca_btl_sm_component;

/* Short repeats, the best of many: others use the machine, too. */
enum { REPEATS = 40, MAX_BYTES = 4 << 20, LINE_WORD = 64 };

static double now_nsec(void)
{
    return (double)opal_clock_nsec();
}

static unsigned char buffer[MAX_BYTES], source[MAX_BYTES];
static size_t got_bytes;
static uint64_t got_frames;
static atomic_int has_token;

static void take(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    (void)rank, (void)kind;
    memcpy(buffer + (got_bytes + length <= MAX_BYTES ? got_bytes : 0), bytes, length);
    got_bytes += length;
    got_frames++;
    atomic_store_explicit(&has_token, 1, memory_order_relaxed);
}

static void bind_rank(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(crew.rank, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* In frames of the largest size, so that both sides copy at once. */
static void send_message(size_t bytes, size_t frame)
{
    size_t at = 0;
    do {
        size_t length = bytes - at < frame ? bytes - at : frame;
        crew_send(!crew.rank, 0, buffer + at, length);
        at += length;
    } while (at < bytes);
}

static void receive_message(size_t bytes)
{
    uint64_t frames = got_frames;
    while (got_bytes < bytes || got_frames == frames)
        opal_progress();
    got_bytes = 0;
}

static double ping_pong(size_t bytes, size_t frame)
{
    int rounds = bytes > 65536 ? 20 : bytes > 4096 ? 200 : 1000;
    double best = 1e30;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        crew_barrier();
        double begin = now_nsec();
        for (int i = 0; i < rounds; i++) {
            if (crew.rank == 0)
                send_message(bytes, frame);
            receive_message(bytes);
            if (crew.rank == 1)
                send_message(bytes, frame);
        }
        double each = (now_nsec() - begin) / rounds / 2;
        best = each < best ? each : best;
    }
    return best;
}

static double stream(size_t bytes, size_t frame)
{
    int count = bytes > 65536 ? 40 : bytes > 4096 ? 400 : 10000;
    double best = 1e30;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        crew_barrier();
        double begin = now_nsec();
        if (crew.rank == 0) {
            for (int i = 0; i < count; i++)
                send_message(bytes, frame);
            receive_message(1);
        } else {
            while (got_bytes < bytes * (size_t)count)
                opal_progress();
            got_bytes = 0;
            send_message(1, frame);
        }
        double each = (now_nsec() - begin) / count;
        best = each < best ? each : best;
    }
    return best;
}

/* The peer's memory, which it is not touching meanwhile. */
static double get_alone(size_t bytes)
{
    enum { ROUNDS = 10 };
    struct iovec to = {buffer, bytes}, from = {source, bytes};
    double best = 1e30;
    memset(source, 1, bytes);
    crew_barrier();
    for (int repeat = 0; repeat < REPEATS && crew.rank == 0; repeat++) {
        double begin = now_nsec();
        for (int i = 0; i < ROUNDS; i++) {
            if (crew.ops->rndv_get(crew.peers[1], &to, 1, &from, 1, 0) != (ssize_t)bytes)
                return 0;
        }
        double each = (now_nsec() - begin) / ROUNDS;
        best = each < best ? each : best;
    }
    crew_barrier();
    return best;
}

/* The limit: one word, one line, nothing else. */
static double line_ping_pong(void)
{
    enum { ROUNDS = 2000 };
    volatile uint64_t *mine = &crew.shared[LINE_WORD + 16 * crew.rank];
    volatile uint64_t *theirs = &crew.shared[LINE_WORD + 16 * !crew.rank];
    static uint64_t value;
    double best = 1e30;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        crew_barrier();
        double begin = now_nsec();
        for (int i = 0; i < ROUNDS; i++) {
            value++;
            if (crew.rank == 0)
                *theirs = value;
            while (*mine != value)
                ;
            if (crew.rank == 1)
                *theirs = value;
        }
        double each = (now_nsec() - begin) / ROUNDS / 2;
        best = each < best ? each : best;
    }
    return best;
}

static void measure_pair(void)
{
    bind_rank();
    const char *text = getenv("BTL_FRAME");
    size_t frame = text != NULL ? (size_t)atol(text) : 8192;
    if (frame > crew.ops->max_frame_bytes)
        frame = crew.ops->max_frame_bytes;
    double line = line_ping_pong();
    if (crew.rank == 0)
        printf("cache line one-way %.0f ns\n%8s %12s %12s %10s %12s\n", line, "bytes", "one-way ns",
               "million/s", "GB/s", "get ns");
    for (size_t bytes = 8; bytes <= MAX_BYTES; bytes *= 2) {
        double latency = ping_pong(bytes, frame), each = stream(bytes, frame);
        double get = get_alone(bytes);
        if (crew.rank == 0)
            printf("%8zu %12.0f %12.2f %10.2f %12.0f\n", bytes, latency, 1e3 / each,
                   (double)bytes / each, get);
    }
    fflush(stdout);
}

static void pass_token(void)
{
    int rounds = 20000 / (int)crew.size;
    crew_barrier();
    double begin = now_nsec();
    for (int i = 0; i < rounds; i++) {
        if (crew.rank != 0 || i > 0)
            opal_wait_until(&has_token, NULL);
        atomic_store_explicit(&has_token, 0, memory_order_relaxed);
        got_bytes = 0;
        crew_send((crew.rank + 1) % crew.size, 0, "token", 6);
    }
    if (crew.rank == 0) {
        opal_wait_until(&has_token, NULL);
        printf("%u processes: %.0f ns per hop\n", crew.size,
               (now_nsec() - begin) / rounds / crew.size);
    }
}

static uint64_t arrived[32]; /* by round of the barrier */

static void arrive(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    (void)rank, (void)bytes, (void)length;
    arrived[kind]++;
    atomic_store_explicit(&has_token, 1, memory_order_relaxed);
}

static void run_barriers(void)
{
    enum { COUNT = 2000 };
    double begin = 0;
    for (uint64_t i = 0; i < COUNT + 100; i++) {
        if (i == 100)
            begin = now_nsec();
        for (unsigned round = 0, step = 1; step < crew.size; round++, step *= 2) {
            crew_send((crew.rank + step) % crew.size, round, "", 0);
            while (arrived[round] <= i) {
                atomic_store_explicit(&has_token, 0, memory_order_relaxed);
                opal_wait_until(&has_token, NULL);
            }
        }
    }
    if (crew.rank == 0)
        printf("%u processes: %.0f ns per barrier\n", crew.size, (now_nsec() - begin) / COUNT);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "ring") == 0)
        return crew_run(&mca_btl_sm_component, (unsigned)atoi(argv[2]), take, pass_token) != 0;
    if (argc == 3 && strcmp(argv[1], "barrier") == 0)
        return crew_run(&mca_btl_sm_component, (unsigned)atoi(argv[2]), arrive, run_barriers) != 0;
    return crew_run(&mca_btl_sm_component, 2, take, measure_pair) != 0;
}
