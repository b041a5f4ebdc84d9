/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing of this runs before a thread has waited for 100 ms. So it may take its time: the stack is
 * walked for the name of the call and its place, because to note them in each call would cost calls
 * that do not wait.
 */
#include "ompi/runtime/roll_call.h"

#include <string.h>

#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "opal/roll/roll.h"
#include "ompi/check/caller.h"
#include "ompi/check/check.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/describe.h"
#include "ompi/runtime/params.h"

static void describe_probe(ompi_description_t *description)
{
    ompi_operation_t operation = {
        .word = "probe",
        .comm = ompi_pml_probed.comm,
        .peer = ompi_pml_probed.rank,
        .tag = ompi_pml_probed.tag,
    };
    ompi_describe_operation(description, &operation);
}

static bool has_root(ompi_coll_kind_t kind)
{
    return kind == OMPI_BCAST || kind == OMPI_REDUCE || kind == OMPI_GATHER ||
           kind == OMPI_GATHERV || kind == OMPI_SCATTER || kind == OMPI_SCATTERV;
}

/* The counts of the v and w forms differ by rank; those of other kinds are to be told. */
static bool has_equal_counts(const ompi_coll_call_t *call)
{
    return call->send.counts.items == NULL && call->recv.counts.items == NULL &&
           call->kind != OMPI_BARRIER && call->kind < OMPI_NEIGHBOR_ALLGATHER;
}

static void describe_collective(ompi_communicator_t *comm, void *context)
{
    ompi_description_t *description = context;
    const ompi_coll_call_t *call = comm->running;
    if (call == NULL)
        return;
    opal_roll_line(&description->text, "collective");
    ompi_describe_comm(description, comm);
    opal_roll_add(&description->text, " number=%llu kind=MPI_%s", (unsigned long long)comm->calls,
                  ompi_check_kind_name(call->kind));
    if (has_root(call->kind) && !ompi_comm_is_inter(comm))
        opal_roll_add(&description->text, " root=%d", call->root);
    if (has_equal_counts(call)) {
        const ompi_coll_side_t *side = call->send.type != NULL ? &call->send : &call->recv;
        size_t bytes =
            side->type != NULL ? ompi_datatype_bytes(side->type, (size_t)side->count) : 0;
        opal_roll_add(&description->text, " bytes=%zu", bytes);
    }
}

/* How many collectives a rank has begun says whether others wait for it. */
static void name_comm(ompi_communicator_t *comm, void *context)
{
    if (comm->calls > 0)
        ompi_describe_name_comm(context, comm);
}

/* "open": how many requests the program has begun and not ended. */
static void count_requests(ompi_communicator_t *comm, void *context)
{
    *(long *)context += atomic_load_explicit(&comm->requests, memory_order_relaxed);
}

static void lasts(uint64_t since, bool is_loop)
{
    ompi_description_t description = {.comm_count = 0};
    opal_roll_text_t *text = &description.text;
    ompi_check_caller_t caller;
    long open = 0;
    text->length = text->line = 0;
    text->is_full = false;
    ompi_check_caller_here(&caller);
    const char *function = ompi_check_caller_function(&caller);
    ompi_comm_for_each(count_requests, &open);
    opal_roll_line(text, "wait");
    opal_roll_add(text, " call=%s place=0x%llx open=%ld", function,
                  (unsigned long long)ompi_check_caller_address(&caller), open);
    size_t needs = ompi_request_describe_wait(&description);
    if (strstr(function, "robe") != NULL) /* MPI_Probe, MPI_Improbe */
        describe_probe(&description);
    ompi_comm_for_each(describe_collective, &description);
    if (ompi_pml->describe_waits != NULL)
        ompi_pml->describe_waits(&description, is_loop);
    if (needs > 0) {
        opal_roll_line(text, "needs");
        opal_roll_add(text, " operations=%zu", needs);
    }
    ompi_comm_for_each(name_comm, &description);
    ompi_describe_comms(&description);
    opal_roll_write(is_loop, since, text->bytes, text->length);
}

static const opal_wait_observer_t observer = {.lasts = lasts, .is_over = opal_roll_withdraw};

void ompi_roll_call_start(void)
{
    if (!ompi_params_roll_call())
        return;
    opal_roll_start(opal_job());
    opal_wait_set_observer(&observer);
}

void ompi_roll_call_stop(void)
{
    opal_wait_set_observer(NULL);
    opal_roll_stop();
}
