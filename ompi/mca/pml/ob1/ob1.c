/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: start and stop, communicators, the table of operations, parameters. */
#include "ompi/mca/pml/ob1/ob1.h"

#include <limits.h>
#include <stdlib.h>

#include "opal/mca/base/bound.h"
#include "opal/mca/base/component.h"
#include "opal/node/node.h"
#include "opal/process/job.h"
#include "ompi/mca/pml/queues.h"

enum { PREPARED_RANKS = 16 }; /* of a node */

bool ob1_is_running;

/* A communicator keeps its processes, but ompi_comm_processes only those of the own job. */
static bool make_peers(ob1_comm_t *own, const ompi_communicator_t *comm)
{
    own->rendezvous_limit = SIZE_MAX;
    own->peer_count = (uint32_t)ompi_comm_peers(comm);
    own->peers = calloc(own->peer_count, sizeof *own->peers);
    return own->peers != NULL || own->peer_count == 0;
}

static int comm_add(ompi_communicator_t *comm)
{
    ob1_comm_t *own = aligned_alloc(_Alignof(ob1_comm_t), sizeof *own);
    bool has_memory = own != NULL && make_peers(own, comm);
    for (int kind = OMPI_CONTEXT_USER; has_memory && kind < OMPI_CONTEXT_COUNT; kind++) {
        own->receives[kind] = (opal_pool_t){.bytes = sizeof(ob1_receive_t)};
        has_memory = ob1_matcher_init(&own->matchers[kind]) &&
                     ob1_context_reserve(ompi_comm_wire_context(comm, (ompi_context_t)kind));
        own->matchers[kind].source_count =
            comm != &ompi_comm_processes ? (uint32_t)ompi_comm_peers(comm) : 0;
        if (has_memory)
            continue;
        for (; kind >= OMPI_CONTEXT_USER; kind--)
            ob1_matcher_fini(&own->matchers[kind]);
        break;
    }
    if (!has_memory) {
        if (own != NULL)
            free(own->peers);
        free(own);
        return MPI_ERR_NO_MEM;
    }
    own->sent = (opal_traffic_t){0};
    atomic_init(&own->sent_unlocked, NULL);
    comm->pml = own;
    for (int kind = OMPI_CONTEXT_USER; kind < OMPI_CONTEXT_COUNT; kind++)
        ob1_context_add(ompi_comm_wire_context(comm, (ompi_context_t)kind), &own->matchers[kind]);
    return MPI_SUCCESS;
}

static bool comm_remove(ompi_communicator_t *comm)
{
    ob1_comm_t *own = comm->pml;
    for (int kind = OMPI_CONTEXT_USER; kind < OMPI_CONTEXT_COUNT; kind++) {
        ob1_unexpected_t *unexpected;
        ob1_matcher_t *matcher = &own->matchers[kind];
        ob1_context_remove(ompi_comm_wire_context(comm, (ompi_context_t)kind));
        while ((unexpected = ob1_matcher_find_unexpected(matcher, MPI_ANY_SOURCE, MPI_ANY_TAG)) !=
               NULL) {
            ob1_matcher_remove_unexpected(matcher, unexpected);
            ob1_message_drop(opal_container_of(unexpected, ob1_message_t, unexpected));
        }
        ob1_matcher_fini(matcher);
        opal_pool_empty(&own->receives[kind]);
    }
    free(atomic_load(&own->sent_unlocked));
    free(own->peers);
    free(own);
    comm->pml = NULL;
    return true;
}

/*
 * On a node of few ranks the first message to each of them finds its way prepared: that takes some
 * us here and tens of us there, where caches and page tables are cold. Rings that are never used
 * cost a page each.
 */
static void prepare_peers(void)
{
    for (unsigned rank = 0; rank < opal_job()->size && opal_node_ranks() <= PREPARED_RANKS;
         rank++) {
        opal_process_t *process = opal_node_local_rank(rank) >= 0 ? opal_process(rank) : NULL;
        ob1_peer_t *peer = process != NULL ? ob1_peer(process) : NULL;
        if (peer != NULL && peer->btl->ops->prepare != NULL)
            peer->btl->ops->prepare(peer->btl);
    }
}

static opal_status_t ob1_start(void *state OPAL_UNUSED)
{
    ob1_peers_start(opal_job()->size, ob1_fail_unreachable);
    opal_process_on_forget(OPAL_END_MESSAGES, ob1_peer_forget);
    ob1_pins_prepare();
    opal_status_t status = ob1_dispatch_start();
    if (status != OPAL_SUCCESS)
        return status;
    ob1_pins_start();
    prepare_peers();
    ob1_is_running = true;
    ompi_pml_queues = &ob1_queues;
    return OPAL_SUCCESS;
}

static void ob1_meet(void)
{
    ob1_peers_stop_polling();
    ob1_pins_stop();
    opal_btl_close(OPAL_BTL_MESSAGES);
}

/* Messages may come until the transports have stopped. */
static void ob1_stop(void *state OPAL_UNUSED)
{
    ompi_pml_queues = NULL;
    ob1_is_running = false;
    ob1_meet();
    ob1_dispatch_stop();
    opal_process_on_forget(OPAL_END_MESSAGES, NULL);
    ob1_peers_stop();
    ob1_sends_end();
    ob1_receives_end();
    ob1_deliver_end();
}

static void ob1_describe(uint32_t process, opal_text_t *text)
{
    ob1_peer_t *peer = ob1_peer(opal_process(process));
    if (peer == NULL) {
        opal_text_add(text, "no transport reaches it");
        return;
    }
    const opal_btl_ops_t *ops = peer->btl->ops;
    const char *phrase = ops->describe != NULL ? ops->describe(peer->btl) : NULL;
    opal_text_printf(text, "%s%s%s", ops->name, phrase != NULL ? ": " : "",
                     phrase != NULL ? phrase : "");
}

static const ompi_pml_ops_t ob1_ops = {
    .max_tag = INT_MAX,
    .internal_tags = UINT32_C(1) << 31,
    .max_context = INT32_MAX / OMPI_CONTEXT_COUNT - 1,
    .start = ob1_start,
    .stop = ob1_stop,
    .flush = ob1_peers_flush,
    .meet = ob1_meet,
    .comm_add = comm_add,
    .comm_remove = comm_remove,
    .isend = ob1_isend,
    .irecv = ob1_irecv,
    .send_init = ob1_send_init,
    .recv_init = ob1_recv_init,
    .send = ob1_send,
    .recv = ob1_recv,
    .iprobe = ob1_iprobe,
    .probe = ob1_probe,
    .imrecv = ob1_imrecv,
    .describe_waits = ob1_describe_waits,
    .describe = ob1_describe,
    .try_send_unlocked = ob1_try_send_unlocked,
    .try_recv_unlocked = ob1_try_recv_unlocked,
    .try_irecv_unlocked = ob1_try_irecv_unlocked,
};

static const opal_param_row_t params[] = {
    {.name = "rendezvous_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_rendezvous_limit,
     .preset = "64K",
     .max = "1G",
     .unit = "bytes",
     .prose = "The longest message that is sent over shared memory without a rendezvous, while "
              "the sender has credit (pml_ob1_unexpected_bytes): up to btl_sm_eager_limit in one "
              "frame, beyond it as a stream of frames. Over TCP btl_sock_stream_limit counts"},
    {.name = "part_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_part_bytes,
     .preset = "4K",
     .min = "256",
     .max = "1G",
     .unit = "bytes",
     .is_internal = true,
     .prose = "The data in a frame of a stream, at most what the transport carries in a frame"},
    {.name = "unexpected_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_unexpected_bytes,
     .preset = "64M",
     .min = "1M",
     .unit = "bytes",
     .prose = "The most memory that a rank uses for unexpected messages, which arrive before "
              "their receives are posted. Senders have credit for this much; without credit a "
              "message stays with its sender until the receive is posted"},
    {.name = "pin_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_pin_bytes,
     .preset = "256K",
     .min = "4K",
     .unit = "bytes",
     .prose = "The shortest message that is sent from registered (pinned) pages, if buffers stay "
              "registered (mpi_leave_pinned) and the transport can send from them"},
    {.name = "pipeline_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_pipeline_bytes,
     .preset = "1M",
     .min = "4K",
     .max = "1G",
     .unit = "bytes",
     .is_internal = true,
     .prose = "The length of the parts in which a long message is registered, one after the "
              "other, with mpi_leave_pinned_pipeline"},
    {0},
};

static void get_comm_limit(void *object, opal_param_value_t *value)
{
    const ob1_comm_t *own = ob1_comm_of(object);
    value->size = own != NULL ? own->rendezvous_limit : SIZE_MAX;
}

/* With a limit no peer counts as met, so that every message takes the way on which the limit is
 * looked at. */
static bool set_comm_limit(void *object, const opal_param_value_t *value)
{
    const ompi_communicator_t *comm = object;
    ob1_comm_t *own = ob1_comm_of(comm);
    if (own == NULL)
        return false;
    uint32_t count = value->size == SIZE_MAX ? (uint32_t)ompi_comm_peers(comm) : 0;
    own->rendezvous_limit = value->size;
    __atomic_store_n(&own->peer_count, count, __ATOMIC_RELAXED);
    return true;
}

static const opal_bound_row_t bound[] = {
    {OPAL_PVAR_OF_COMM,
     {.name = "comm_rendezvous_limit",
      .type = OPAL_PARAM_SIZE,
      .unit = "bytes",
      .write = OPAL_PARAM_ANYTIME,
      .prose = "The longest message of the program in this communicator that this process sends "
               "without a rendezvous: longer ones stay here until their receives are posted. It "
               "counts where it is less than the limits of the transport; the largest number: "
               "these alone count"},
     get_comm_limit,
     set_comm_limit},
    {0},
};

static void ob1_query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 20, &ob1_ops, NULL, "matching in the library, over any transport");
}

static void ob1_rules(opal_rule_fn_t *say, void *context)
{
    static const char frames[] = "what is sent in frames";
    say(context, frames, 0,
        "at once, whether the receiver has asked for it or not, while there is credit", NULL);
    say(context, frames, ob1_rendezvous_limit + 1, "when the receiver has asked for it",
        "pml_ob1_rendezvous_limit");
}

OPAL_EXPORT extern const opal_component_t mca_pml_ob1_component;
const opal_component_t mca_pml_ob1_component = {
    OPAL_COMPONENT_HEAD(pml, ob1),
    .prose = "messages over btl transports, matched in the library",
    .params = params,
    .pvars = ob1_pvars,
    .bound = bound,
    .rules = ob1_rules,
    .query = ob1_query,
};
