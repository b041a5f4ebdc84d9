/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What waits, for a person who asks who waits for whom. A call that has waited for 100 ms looks
 * here (ompi/runtime/roll_call.c), never a message.
 */
#include "ompi/mca/pml/ob1/ob1.h"

enum { MOST = OMPI_DESCRIBED_OPERATIONS };

/* Of one walk. */
typedef struct walk {
    ompi_description_t *description;
    const char *word;
    unsigned lines;
    size_t left_out;
    size_t posted, unmatched;
    bool all;
} walk_t;

static void describe_receive(const ob1_receive_t *receive, const char *word,
                             ompi_description_t *description)
{
    ompi_operation_t operation = {
        .word = word,
        .comm = receive->comm,
        .peer = receive->posted.source,
        .tag = receive->posted.tag,
        .bytes = receive->capacity,
        .state = receive->is_posted ? NULL : "its data is on the way",
    };
    ompi_describe_operation(description, &operation);
}

void ob1_describe_receive(const ob1_receive_t *receive, ompi_description_t *description)
{
    if (receive->context == OMPI_CONTEXT_USER)
        describe_receive(receive, "receive", description);
}

void ob1_describe_send(const ob1_send_t *send, ompi_description_t *description)
{
    bool is_users = send->match.context % OMPI_CONTEXT_COUNT == OMPI_CONTEXT_USER;
    ompi_operation_t operation = {
        .word = "send",
        .comm = send->request.comm,
        .peer = send->dest,
        .tag = send->match.tag,
        .bytes = send->bytes,
        .state = send->awaits == 0 ? "there is no room on the way" : NULL,
    };
    if (is_users)
        ompi_describe_operation(description, &operation);
}

static bool describe_posted(const ob1_posted_t *posted, void *context)
{
    walk_t *walk = context;
    if (walk->lines++ < MOST)
        describe_receive(opal_container_of(posted, ob1_receive_t, posted), walk->word,
                         walk->description);
    return false;
}

static void describe_unexpected(const ompi_communicator_t *comm, const ob1_unexpected_t *unexpected,
                                walk_t *walk)
{
    const ob1_message_t *message = opal_container_of(unexpected, ob1_message_t, unexpected);
    ompi_operation_t operation = {
        .word = "message",
        .comm = comm,
        .peer = unexpected->source,
        .tag = unexpected->tag,
        .bytes = ob1_message_bytes(message->kind, message->frame, message->length),
    };
    if (walk->lines++ < MOST)
        ompi_describe_operation(walk->description, &operation);
    else
        walk->left_out++;
}

static void describe_messages(ompi_communicator_t *comm, void *context)
{
    ob1_comm_t *own = ob1_comm_of(comm);
    if (own == NULL)
        return;
    ob1_matcher_t *matcher = &own->matchers[OMPI_CONTEXT_USER];
    ob1_lock(&matcher->lock);
    for (opal_list_node_t *node = opal_list_first(&matcher->all_unexpected); node != NULL;
         node = opal_list_next(&matcher->all_unexpected, node))
        describe_unexpected(comm, opal_container_of(node, ob1_unexpected_t, nodes[OB1_CLASSES - 1]),
                            context);
    ob1_unlock(&matcher->lock);
}

static void describe_receives(ompi_communicator_t *comm, void *context)
{
    ob1_comm_t *own = ob1_comm_of(comm);
    walk_t *walk = context;
    if (own == NULL)
        return;
    walk->word = walk->all ? "receive" : "step";
    ob1_matcher_t *matcher =
        &own->matchers[walk->all ? OMPI_CONTEXT_USER : OMPI_CONTEXT_COLLECTIVE];
    ob1_lock(&matcher->lock);
    ob1_matcher_find_posted(matcher, describe_posted, walk);
    ob1_unlock(&matcher->lock);
}

/* The user's sends that wait for a receive. */
static void describe_sends(ompi_communicator_t *comm, void *context)
{
    walk_t *walk = context;
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        const ob1_peer_t *peer = ob1_comm_of(comm) != NULL ? ob1_met_peer(comm, rank) : NULL;
        for (opal_list_node_t *node = peer != NULL ? opal_list_first(&peer->awaiting) : NULL;
             node != NULL; node = opal_list_next(&peer->awaiting, node)) {
            const ob1_send_t *send = opal_container_of(opal_container_of(node, ob1_pending_t, node),
                                                       ob1_send_t, pending);
            if (send->request.comm == comm && walk->lines++ < MOST)
                ob1_describe_send(send, walk->description);
        }
    }
}

static void count_queues(ompi_communicator_t *comm, void *context)
{
    ob1_comm_t *own = ob1_comm_of(comm);
    walk_t *walk = context;
    if (own == NULL)
        return;
    ob1_matcher_t *matcher = &own->matchers[OMPI_CONTEXT_USER];
    ob1_lock(&matcher->lock);
    walk->posted += matcher->posted_total + (matcher->only != NULL);
    walk->unmatched += matcher->unexpected;
    ob1_unlock(&matcher->lock);
}

/* What was sent is counted only if somebody has asked for it before. */
static void describe_counts(ompi_description_t *description)
{
    walk_t walk = {.description = description};
    uint64_t sent, received;
    ompi_comm_for_each(count_queues, &walk);
    opal_roll_line(&description->text, "counts");
    opal_roll_add(&description->text, " posted=%zu unmatched=%zu", walk.posted, walk.unmatched);
    if (ob1_count_messages(&sent, &received))
        opal_roll_add(&description->text, " sent=%llu received=%llu", (unsigned long long)sent,
                      (unsigned long long)received);
}

void ob1_describe_waits(ompi_description_t *description, bool all)
{
    walk_t walk = {.description = description};
    describe_counts(description);
    ompi_comm_for_each(describe_receives, &walk);
    walk = (walk_t){.description = description, .all = true};
    if (all) {
        ompi_comm_for_each(describe_receives, &walk);
        ompi_comm_for_each(describe_sends, &walk);
    }
    walk = (walk_t){.description = description};
    ompi_comm_for_each(describe_messages, &walk);
    if (walk.left_out > 0) {
        opal_roll_line(&description->text, "left");
        opal_roll_add(&description->text, " messages=%zu", walk.left_out);
    }
}
