/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulate DIR RANKS: the records of a job that never ran, a solver with halos and reductions in
 * which one rank is late, as ranks would have left them (opal/profile/layout.h). For reports of
 * more ranks than a test can start.
 */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/profile/layout.h"

enum { ITERATIONS = 200, TICKS_PER_USEC = 2000, HALO = 65536 };
static const uint64_t USEC = TICKS_PER_USEC, START = 1000000;

enum { ISEND, IRECV, WAITALL, ALLREDUCE, BCAST, SITES };
static const char *const functions[SITES] = {"MPI_Isend", "MPI_Irecv", "MPI_Waitall",
                                             "MPI_Allreduce", "MPI_Bcast"};
static const char *const symbols[SITES] = {"halo_exchange", "halo_exchange", "halo_exchange",
                                           "residual_norm", "read_input"};

static unsigned rank, size, columns;
static opal_profile_block_t *block;
static uint64_t now;

static double noise(unsigned seed) /* -1 to 1, the same in each run */
{
    seed = (seed ^ 61) ^ (seed >> 16);
    seed *= 9;
    seed ^= seed >> 4;
    seed *= 0x27d4eb2d;
    seed ^= seed >> 15;
    return (double)(seed % 2001) / 1000 - 1;
}

static void add_bins(uint64_t begin, uint64_t end, double waiting, unsigned site)
{
    for (uint64_t at = begin; at < end;) {
        uint64_t bin = (at - block->bins_begin) / block->bin_ticks;
        uint64_t next = block->bins_begin + (bin + 1) * block->bin_ticks;
        uint64_t ticks = (next < end ? next : end) - at;
        block->bins[bin].in_mpi += ticks;
        block->bins[bin].waited += (uint64_t)((double)ticks * waiting);
        if (ticks > block->bins[bin].most) {
            block->bins[bin].most = ticks;
            block->bins[bin].site = site;
        }
        at = next;
    }
}

static void call(unsigned site, uint64_t ticks, double waiting, uint64_t bytes)
{
    opal_profile_site_t *entry = &block->sites[site];
    uint64_t waited = (uint64_t)((double)ticks * waiting);
    entry->calls++;
    entry->timed_calls++;
    entry->bytes += bytes;
    entry->time.sampled += ticks - waited;
    entry->time.long_waited += waited;
    if (ticks > entry->longest)
        entry->longest = ticks;
    add_bins(now, now + ticks, waiting, site);
    if (ticks >= 200 * USEC && block->interval_count < OPAL_PROFILE_INTERVALS)
        block->intervals[block->interval_count++] =
            (opal_profile_interval_t){now, now + ticks, waited, site};
    now += ticks;
}

static void send_to(unsigned peer, uint64_t bytes)
{
    block->peers[peer].own.messages++;
    block->peers[peer].own.bytes += bytes;
    block->classes[opal_profile_class_of(bytes)].messages++;
    block->classes[opal_profile_class_of(bytes)].bytes += bytes;
    call(ISEND, 2 * USEC, 0, bytes);
}

static void collective(unsigned index, unsigned site, const char *component, const char *algorithm,
                       uint64_t calls, uint64_t bytes)
{
    opal_profile_collective_t *entry = &block->collectives[index];
    snprintf(entry->function, sizeof entry->function, "%s", functions[site]);
    snprintf(entry->component, sizeof entry->component, "%s", component);
    snprintf(entry->algorithm, sizeof entry->algorithm, "%s", algorithm);
    entry->function_key = 1 + site;
    entry->calls = entry->timed_calls = calls;
    entry->bytes = bytes;
    entry->time = block->sites[site].time;
}

/* The neighbours of a grid that ends at its edges. */
static void exchange(unsigned iteration)
{
    unsigned row = rank / columns, column = rank % columns;
    call(IRECV, 4 * USEC, 0, 0);
    if (column > 0)
        send_to(rank - 1, 512);
    if (column + 1 < columns && rank + 1 < size)
        send_to(rank + 1, 512);
    if (row > 0)
        send_to(rank - columns, HALO);
    if (rank + columns < size)
        send_to(rank + columns, HALO);
    if (iteration % 20 == 0 && rank != 0)
        send_to(0, 24);
    call(WAITALL, (uint64_t)(900 * USEC * (1 + 0.3 * noise(rank * 977 + iteration))), 0.8, 0);
}

/* All ranks leave each iteration together: what a rank does not compute it waits. */
static void run(void)
{
    const uint64_t iteration_ticks = 12000 * USEC;
    unsigned late = size * 2 / 3;
    call(BCAST, 8000 * USEC, 0.9, 1 << 20);
    for (unsigned i = 0; i < ITERATIONS; i++) {
        uint64_t end = START + 8000 * USEC + (i + 1) * iteration_ticks;
        double load = rank == late
                          ? 9800
                          : 6200 + 900 * sin(6.28 * rank / size) + 150 * noise(rank * 131 + i);
        now += (uint64_t)(load * (double)USEC);
        exchange(i);
        if (now + 5 * USEC < end)
            call(ALLREDUCE, end - now, 0.98, 8);
    }
    collective(0, ALLREDUCE, "hier", "", block->sites[ALLREDUCE].calls,
               8 * block->sites[ALLREDUCE].calls);
    collective(1, BCAST, "p2p", "binomial", 1, 1 << 20);
}

static void name_sites(void)
{
    for (unsigned i = 0; i < SITES; i++) {
        opal_profile_location_t *location = &block->places[i];
        block->sites[i].address = 0x401000 + 64 * i;
        block->sites[i].function = 1 + i;
        snprintf(location->function, sizeof location->function, "%s", functions[i]);
        snprintf(location->symbol, sizeof location->symbol, "%s", symbols[i]);
        snprintf(location->module, sizeof location->module, "/opt/solver");
        location->module_offset = 0x1000 + 64 * i;
        location->symbol_offset = 0x2a + i;
    }
}

static int write_rank(const char *folder)
{
    static char path[4096];
    opal_profile_head_t head = {
        .block_bytes = opal_profile_block_bytes(size),
        .rank = rank,
        .size = size,
        .node = rank / 64,
        .phase = OPAL_PROFILE_ENDED,
        .blocks = 1,
        .realtime_nsec = UINT64_C(1760000000000000000),
        .first = {.ticks = START, .nsec = 1000000000},
        .begin = START,
        .end = now,
        .last = {.ticks = now, .nsec = 1000000000 + (now - START) * 1000 / TICKS_PER_USEC},
        .job = "simulated",
        .host = "cluster",
        .program = "/opt/solver",
    };
    memcpy(head.magic, OPAL_PROFILE_MAGIC, sizeof head.magic);
    snprintf(path, sizeof path, "%s/" OPAL_PROFILE_PREFIX "%u" OPAL_PROFILE_SUFFIX, folder, rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bool is_good =
        fd >= 0 && pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        pwrite(fd, block, head.block_bytes, OPAL_PROFILE_PAGE) == (ssize_t)head.block_bytes;
    if (!is_good)
        perror(path);
    if (fd >= 0)
        close(fd);
    return is_good ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = argc != 3;
    size = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    columns = (unsigned)sqrt(size);
    block = aligned_alloc(OPAL_PROFILE_PAGE, opal_profile_block_bytes(size));
    for (rank = 0; rank < size && !failed && block != NULL; rank++) {
        memset(block, 0, opal_profile_block_bytes(size));
        block->bins_begin = now = START;
        block->bin_ticks = 1 << 23;
        block->shortest_interval = 200 * USEC;
        name_sites();
        run();
        failed = write_rank(argv[1]);
    }
    free(block);
    return failed;
}
