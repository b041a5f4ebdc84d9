/* SPDX-License-Identifier: BSD-3-Clause */
/* See hearing.h. */
#include "test/unit/opal/mca/btl/hearing.h"

#include <stdlib.h>

#include "opal/mca/btl/base/remote.h"

hearing_t hearing;

static bool receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    if (hearing.refuses)
        return false;
    if (hearing.frame != NULL)
        hearing.frame(from->rank, kind, bytes, length);
    return true;
}

static bool take(unsigned lane, unsigned kind, const void *bytes, size_t length)
{
    return hearing.take != NULL && hearing.take(lane, kind, bytes, length);
}

static size_t place(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max)
{
    return hearing.place(from->rank, kind, name, offset, bytes, segments, max);
}

static void placed(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes)
{
    hearing.placed(from->rank, kind, name, offset, bytes);
}

static void failed(opal_process_t *process, opal_status_t why)
{
    hearing.why = why;
    if (hearing.death != NULL)
        hearing.death(process->rank);
}

static void left(opal_process_t *process)
{
    if (hearing.departure != NULL)
        hearing.departure(process->rank);
}

static const opal_btl_client_t first = {.receive = receive,
                                        .take = take,
                                        .place = place,
                                        .placed = placed,
                                        .failed = failed,
                                        .left = left};

/* One of them hears who is gone. */
static const opal_btl_client_t others = {.receive = receive, .place = place, .placed = placed};

void hear_all(void)
{
    opal_btl_clients[OPAL_BTL_TRANSPORTS] = &opal_btl_remote_client;
    for (unsigned i = 0; i < OPAL_BTL_TRANSPORTS; i++)
        opal_btl_clients[i] = i == 0 ? &first : &others;
}

void hear_as(unsigned rank, unsigned size)
{
    static opal_pmi_job_t job;
    opal_process_stop();
    free((void *)(uintptr_t)job.node_of);
    job = (opal_pmi_job_t){.rank = rank,
                           .size = size,
                           .local_rank = rank,
                           .local_size = size,
                           .node_of = calloc(size, sizeof *job.node_of),
                           .node_count = 1,
                           .job_id = "job"};
    opal_process_start(&job);
    hear_all();
}
