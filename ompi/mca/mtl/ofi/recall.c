/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends that are taken back (MPI_Cancel). A provider cannot do that; the receiver can, as long as
 * nothing has matched the message: it takes everything of the communicator out of the matching
 * (claimed.c), and throws this one away.
 *
 * Which one that is. Messages of the user's that may wait for their receiver have the synchronous
 * bit (send.c), and their requests are in a list until they are answered, in the order in which
 * they were sent. Those of one envelope (communicator, tag, peer) are matched in this order, so the
 * ones that are not matched yet are the last of the list, and of the receiver's: the sender says
 * how many of them it has sent behind the one in question, and not asked for before, the receiver
 * counts from the end.
 *
 *   sender    --- RECALL: bits of the message, its rank, how many behind it --->   receiver
 *             <-- RECALLED: yes, and there will be no answer; or no, there will ---
 *
 * The question goes behind all that was sent before, by the same queue, and what is sent later
 * waits for the answer, so that the receiver counts the same messages. It has to be in MPI to hear
 * the question; but not in a completion, in which it could not ask its provider, so a question
 * waits for the end of a progress. So does the answer for memory.
 */
#include "opal/process/job.h"
#include "opal/util/names.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

/* The question that is not answered yet. */
static ofi_control_t question;
static bool is_asked, is_answering;
static bool was_looked, was_dropped; /* for the message; it was found, and thrown away */

/* -- the sender ---------------------------------------------------------------------- */

static opal_list_t unanswered = {{&unanswered.head, &unanswered.head}};

static opal_names_t recalled; /* of ofi_request_t: those of the list that were asked for */

void ofi_recall_add(ofi_request_t *request)
{
    request->recall_name = 0;
    opal_list_append(&unanswered, &request->unanswered);
}

void ofi_recall_remove(ofi_request_t *request)
{
    opal_names_remove(&recalled, request->recall_name);
    opal_list_remove(&request->unanswered);
}

/* Whether it is one of those behind `first` when the receiver hears of that: it was sent, and not
 * asked for before, so that it would be gone. */
static bool is_behind(const ofi_request_t *request, const ofi_request_t *first)
{
    return request->bits == first->bits && request->peer == first->peer &&
           request->stage != OFI_HELD && request->recall_name == 0;
}

static ofi_request_t *next_of(ofi_request_t *request)
{
    opal_list_node_t *node = opal_list_next(&unanswered, &request->unanswered);
    return node == NULL ? NULL : opal_container_of(node, ofi_request_t, unanswered);
}

ofi_request_t *ofi_recall_find(uint64_t bits, const ofi_peer_t *peer)
{
    opal_list_node_t *first = opal_list_first(&unanswered);
    for (opal_list_node_t *node = first; node != NULL; node = opal_list_next(&unanswered, node)) {
        ofi_request_t *request = opal_container_of(node, ofi_request_t, unanswered);
        if (request->bits == bits && request->peer == peer && request->answer != NULL)
            return request;
    }
    return NULL;
}

ofi_request_t *ofi_recall_find_last(uint64_t bits, const ofi_peer_t *peer)
{
    ofi_request_t *last = NULL;
    opal_list_node_t *first = opal_list_first(&unanswered);
    for (opal_list_node_t *node = first; node != NULL; node = opal_list_next(&unanswered, node)) {
        ofi_request_t *request = opal_container_of(node, ofi_request_t, unanswered);
        if (request->bits == bits && request->peer == peer && request->stage == OFI_POSTED)
            last = request;
    }
    return last;
}

int ofi_recall(ofi_request_t *request)
{
    if (request->recall_name != 0)
        return MPI_SUCCESS;
    uint64_t name = opal_names_add(&recalled, request);
    if (name == 0)
        return MPI_ERR_NO_MEM;
    uint32_t behind = 0;
    for (ofi_request_t *later = request; (later = next_of(later)) != NULL;)
        behind += is_behind(later, request);
    ofi_control_t control = {
        .kind = OFI_RECALL,
        .process = opal_job()->rank,
        .name = name,
        .bits = request->bits,
        .number = behind,
        .rank = (uint32_t)request->base.route.comm->rank,
    };
    if (!ofi_control_send(request->peer, &control)) {
        opal_names_remove(&recalled, name);
        return MPI_ERR_NO_MEM;
    }
    request->recall_name = name;
    request->peer->recalls++;
    ofi_more_under_way(); /* the answer */
    return MPI_SUCCESS;
}

void ofi_recall_answered(const ofi_control_t *control)
{
    ofi_peer_t *peer = ofi_peer_met(control->process);
    if (peer == NULL || peer->recalls == 0) {
        ofi_report_stranger(); /* it was not asked */
        return;
    }
    ofi_under_way--;
    if (--peer->recalls == 0)
        ofi_peer_release(peer);
    /* Not found: it was matched. */
    ofi_request_t *request = opal_names_find(&recalled, control->name);
    if (control->number == 0 || request == NULL || request->peer != peer)
        return;
    ompi_status_set_cancelled(&request->base.base.status, true);
    ofi_send_unanswered(request);
}

void ofi_recall_stop(void)
{
    opal_names_free(&recalled);
    is_asked = false;
}

/* -- the receiver -------------------------------------------------------------------- */

void ofi_recall_asked(const ofi_control_t *control)
{
    question = *control;
    is_asked = true;
    was_looked = false;
}

bool ofi_recall_is_asked(void)
{
    return is_asked;
}

/* False: no memory. */
static bool answer(void)
{
    ofi_peer_t *peer = ofi_peer(question.process);
    if (peer == NULL)
        return ofi_peer_error != MPI_ERR_NO_MEM; /* otherwise it was reported */
    ofi_control_t control = {
        .kind = OFI_RECALLED,
        .process = opal_job()->rank,
        .name = question.name,
        .number = was_dropped,
    };
    return ofi_control_send(peer, &control);
}

/* Whether it asks for a message of its own, as far as the communicator is known here. */
static bool is_of_asker(const ofi_control_t *control)
{
    const ompi_communicator_t *comm = ompi_comm_find(ofi_tag_comm(&ofi.tags, control->bits));
    return comm == NULL || (ompi_comm_has_rank(comm, (int)control->rank) &&
                            ompi_comm_process(comm, (int)control->rank) == control->process);
}

void ofi_recall_work(void)
{
    if (!is_asked || is_answering || ofi_is_asking() || ofi_is_taking())
        return;
    is_answering = true;
    if (!was_looked)
        was_dropped = is_of_asker(&question) &&
                      ofi_claimed_drop(question.bits, question.rank, question.number);
    was_looked = true;
    is_asked = !answer();
    if (!is_asked)
        ofi_control_listen();
    is_answering = false;
}
