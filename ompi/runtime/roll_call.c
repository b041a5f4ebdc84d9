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
#include "opal/runtime/watch.h"
#include "ompi/check/caller.h"
#include "ompi/check/check.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/describe.h"
#include "ompi/request/look.h"
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

/* How many collectives a rank has begun says whether others wait for it. */
static void name_comm(ompi_communicator_t *comm, void *context)
{
    if (comm->calls > 0)
        ompi_describe_name_comm(context, comm);
}

/* "open": requests that have begun and not ended, without those of predefined communicators.
 * "collectives": how many have begun, in the communicators that the program still has. */
typedef struct counts {
    long open;
    unsigned long long collectives;
} counts_t;

static void count(ompi_communicator_t *comm, void *context)
{
    counts_t *counts = context;
    counts->open += atomic_load_explicit(&comm->requests, memory_order_relaxed);
    counts->collectives += comm->calls;
}

static void lasts(uint64_t since, bool is_loop)
{
    ompi_description_t description = {.comm_count = 0};
    opal_roll_text_t *text = &description.text;
    ompi_check_caller_t caller;
    counts_t counts = {0};
    text->length = text->line = 0;
    text->is_full = false;
    ompi_check_caller_here(&caller);
    const char *function = ompi_check_caller_function(&caller);
    ompi_comm_for_each(count, &counts);
    opal_roll_line(text, "wait");
    opal_roll_add(text, " call=%s place=0x%llx open=%ld collectives=%llu", function,
                  (unsigned long long)ompi_check_caller_address(&caller), counts.open,
                  counts.collectives);
    if (is_loop && opal_wait_computes_between_looks())
        opal_roll_add(text, " computes=1");
    size_t needs = ompi_request_describe_wait(&description);
    if (strstr(function, "robe") != NULL) /* MPI_Probe, MPI_Improbe */
        describe_probe(&description);
    const ompi_coll_call_t *call = ompi_coll_running();
    if (call != NULL)
        ompi_describe_collective(&description, call->comm, call->comm->calls);
    if (ompi_look_reason != NULL)
        ompi_describe_act(&description, ompi_look_reason->comm, ompi_look_reason->peer,
                          ompi_look_reason->words);
    if (ompi_pml->describe_waits != NULL)
        ompi_pml->describe_waits(&description, is_loop);
    if (needs > 0) {
        opal_roll_line(text, "needs");
        opal_roll_add(text, " operations=%zu", needs);
    }
    ompi_comm_for_each(name_comm, &description);
    ompi_describe_comms(&description);
    opal_roll_end(text);
    opal_roll_write(is_loop, since, text->bytes, text->length);
    opal_watch_note_wait();
}

static const opal_wait_observer_t observer = {.lasts = lasts, .is_over = opal_roll_withdraw};

void ompi_roll_call_start(void)
{
    if (!ompi_params_roll_call())
        return;
    opal_roll_start(opal_job(), ompi_lock_needed);
    opal_wait_set_observer(&observer);
    opal_watch_start();
}

void ompi_roll_call_stop(void)
{
    opal_watch_stop();
    opal_wait_set_observer(NULL);
    opal_roll_stop();
}
