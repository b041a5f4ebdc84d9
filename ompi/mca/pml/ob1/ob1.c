/* SPDX-License-Identifier: BSD-3-Clause */
/* The component, and what it knows of communicators: which context on the wire is whose. */
#include "ompi/mca/pml/ob1/ob1.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/component.h"
#include "opal/process/job.h"

static ob1_matcher_t **matchers; /* by context on the wire */
static size_t matcher_count;

/* Messages for communicators that this rank has not finished making, by the first node; oldest
 * first. */
static opal_list_t early = {{&early.head, &early.head}};

ob1_matcher_t *ob1_matcher_of(uint32_t context)
{
    return opal_likely(context < matcher_count) ? matchers[context] : NULL;
}

void ob1_each_matcher(void (*visit)(ob1_matcher_t *matcher))
{
    for (size_t i = 0; i < matcher_count; i++) {
        if (matchers[i] != NULL)
            visit(matchers[i]);
    }
}

static ob1_message_t *early_at(opal_list_node_t *node)
{
    return opal_container_of(node, ob1_message_t, unexpected.nodes[0]);
}

void ob1_early_add(ob1_message_t *message)
{
    opal_list_append(&early, &message->unexpected.nodes[0]);
}

void ob1_early_drop(const opal_process_t *from)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&early); node != NULL; node = next) {
        ob1_message_t *message = early_at(node);
        next = opal_list_next(&early, node);
        if (from != NULL && message->from != from)
            continue;
        opal_list_remove(node);
        ob1_message_free(message);
    }
}

/* All are taken out first: what one of them completes may add the next communicator. */
static void match_early(uint32_t context)
{
    ob1_match_t match;
    opal_list_t mine;
    opal_list_node_t *next;
    opal_list_init(&mine);
    for (opal_list_node_t *node = opal_list_first(&early); node != NULL; node = next) {
        next = opal_list_next(&early, node);
        memcpy(&match, early_at(node)->frame, sizeof match);
        if (match.context != context)
            continue;
        opal_list_remove(node);
        opal_list_append(&mine, node);
    }
    while ((next = opal_list_first(&mine)) != NULL) {
        opal_list_remove(next);
        ob1_early_match(matchers[context], early_at(next));
    }
}

/* The table has a place for that context. False: no memory. */
static bool need_entry(uint32_t context)
{
    if (context < matcher_count)
        return true;
    size_t count = 2 * (size_t)context + 16;
    ob1_matcher_t **grown = realloc(matchers, count * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + matcher_count, 0, (count - matcher_count) * sizeof *grown);
    matchers = grown;
    matcher_count = count;
    return true;
}

static int comm_add(ompi_communicator_t *comm)
{
    ob1_comm_t *own = aligned_alloc(_Alignof(ob1_comm_t), sizeof *own);
    bool has_memory = own != NULL;
    for (int kind = OMPI_CONTEXT_USER; has_memory && kind < OMPI_CONTEXT_COUNT; kind++) {
        own->receives[kind] = (opal_pool_t){.bytes = sizeof(ob1_receive_t)};
        has_memory = ob1_matcher_init(&own->matchers[kind]) &&
                     need_entry(ompi_comm_wire_context(comm, (ompi_context_t)kind));
        own->matchers[kind].source_count = (uint32_t)ompi_comm_peers(comm);
        if (has_memory)
            continue;
        for (; kind >= OMPI_CONTEXT_USER; kind--)
            ob1_matcher_fini(&own->matchers[kind]);
        break;
    }
    if (!has_memory) {
        free(own);
        return MPI_ERR_NO_MEM;
    }
    comm->pml = own;
    for (int kind = OMPI_CONTEXT_USER; kind < OMPI_CONTEXT_COUNT; kind++) {
        uint32_t context = ompi_comm_wire_context(comm, (ompi_context_t)kind);
        matchers[context] = &own->matchers[kind];
        match_early(context);
    }
    return MPI_SUCCESS;
}

static bool comm_remove(ompi_communicator_t *comm)
{
    ob1_comm_t *own = comm->pml;
    for (int kind = OMPI_CONTEXT_USER; kind < OMPI_CONTEXT_COUNT; kind++) {
        ob1_unexpected_t *unexpected;
        ob1_matcher_t *matcher = &own->matchers[kind];
        while ((unexpected = ob1_matcher_find_unexpected(matcher, MPI_ANY_SOURCE, MPI_ANY_TAG)) !=
               NULL) {
            ob1_matcher_remove_unexpected(matcher, unexpected);
            ob1_message_drop(opal_container_of(unexpected, ob1_message_t, unexpected));
        }
        matchers[ompi_comm_wire_context(comm, (ompi_context_t)kind)] = NULL;
        ob1_matcher_fini(matcher);
        opal_pool_empty(&own->receives[kind]);
    }
    free(own);
    comm->pml = NULL;
    return true;
}

static opal_status_t ob1_start(void *state OPAL_UNUSED)
{
    return ob1_peers_start(opal_job()->size);
}

/* Messages may come until the transports have stopped. */
static void ob1_stop(void *state OPAL_UNUSED)
{
    ob1_peers_close();
    ob1_early_drop(NULL);
    ob1_peers_stop();
    ob1_sends_end();
    ob1_receives_end();
    free(matchers);
    matchers = NULL;
    matcher_count = 0;
}

static const ompi_pml_ops_t ob1_ops = {
    .max_tag = INT_MAX,
    .internal_tags = UINT32_C(1) << 31,
    .max_context = INT32_MAX / OMPI_CONTEXT_COUNT - 1,
    .start = ob1_start,
    .stop = ob1_stop,
    .flush = ob1_peers_flush,
    .meet = ob1_peers_close,
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
    .try_send_unlocked = ob1_try_send_unlocked,
    .try_recv_unlocked = ob1_try_recv_unlocked,
    .try_irecv_unlocked = ob1_try_irecv_unlocked,
};

size_t ob1_rendezvous_limit, ob1_part_bytes, ob1_pin_bytes, ob1_pipeline_bytes;

static const opal_param_row_t params[] = {
    {.name = "rendezvous_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_rendezvous_limit,
     .preset = "64K",
     .max = "1G",
     .unit = "bytes",
     .prose =
         "The longest message that is sent without asking the receiver, as long as that has room "
         "for it (unexpected_bytes): up to the transport's eager limit in one frame, beyond "
         "it in parts"},
    {.name = "part_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_part_bytes,
     .preset = "4K",
     .min = "256",
     .max = "1G",
     .unit = "bytes",
     .prose = "The parts of such a message, cut to what the transport carries in a frame"},
    {.name = "unexpected_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_unexpected_bytes,
     .preset = "64M",
     .min = "1M",
     .unit = "bytes",
     .prose = "The most memory for messages that come before their receives. Senders are held back "
              "in time: what they have more they keep until it is received"},
    {.name = "pin_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_pin_bytes,
     .preset = "256K",
     .min = "4K",
     .unit = "bytes",
     .prose = "The shortest message that is sent out of pinned pages, if buffers stay pinned "
              "(mpi_leave_pinned) and the transport can"},
    {.name = "pipeline_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ob1_pipeline_bytes,
     .preset = "1M",
     .min = "4K",
     .max = "1G",
     .unit = "bytes",
     .prose = "The parts in which that is pinned one after the other with "
              "mpi_leave_pinned_pipeline"},
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
        "at once, whether the receiver has asked for it or not, while there is credit");
    say(context, frames, ob1_rendezvous_limit + 1, "when the receiver has asked for it");
}

OPAL_EXPORT extern const opal_component_t mca_pml_ob1_component;
const opal_component_t mca_pml_ob1_component = {
    OPAL_COMPONENT_HEAD(pml, ob1),
    .prose = "messages over btl transports, matched in the library",
    .params = params,
    .rules = ob1_rules,
    .query = ob1_query,
};
