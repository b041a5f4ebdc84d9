/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking for messages that nobody has received yet. The provider is asked (FI_PEEK); its answer is
 * a completion, which has the error FI_ENOMSG if there is none. With FI_CLAIM the message is taken
 * out of the matching (claimed.c), with FI_DISCARD it is thrown away.
 */
#include <sched.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

enum { POLLS_PER_YIELD = 64, LOOKS = 64, MEANWHILE = 32 };

static ofi_found_t *asked; /* one question at a time */

/* Messages that receives have got since it was asked. */
static struct {
    uint64_t bits, data;
} taken_meanwhile[MEANWHILE];
static unsigned taken_count;

static ofi_operation_t plain; /* of one that takes nothing out */
static bool is_answered;
static int failure;

static void peek_completed(ofi_operation_t *operation OPAL_UNUSED,
                           const struct fi_cq_tagged_entry *entry)
{
    is_answered = true;
    *asked = (ofi_found_t){true, entry->tag, entry->data, entry->len};
}

static void peek_failed(ofi_operation_t *operation OPAL_UNUSED, const struct fi_cq_err_entry *error)
{
    is_answered = true;
    failure = error->err == FI_ENOMSG ? 0 : error->err;
}

static const ofi_operation_kind_t peek_kind = {
    .completed = peek_completed,
    .failed = peek_failed,
};

bool ofi_is_asking(void)
{
    return asked != NULL;
}

void ofi_taken_meanwhile(uint64_t bits, uint64_t data)
{
    if (taken_count < MEANWHILE) {
        taken_meanwhile[taken_count].bits = bits;
        taken_meanwhile[taken_count].data = data;
    }
    taken_count++;
}

/* Or perhaps, if there were too many to know. */
static bool was_taken(const ofi_found_t *there)
{
    for (unsigned i = 0; i < taken_count && i < MEANWHILE; i++) {
        if (taken_meanwhile[i].bits == there->bits && taken_meanwhile[i].data == there->data)
            return true;
    }
    return taken_count > MEANWHILE;
}

/* The provider may need this core for its answer. */
static void wait_for_answer(void)
{
    for (unsigned polls = 1; !is_answered; polls++) {
        if (ofi_progress() == 0 && polls % POLLS_PER_YIELD == 0)
            sched_yield();
    }
}

int ofi_ask(ofi_operation_t *operation, fi_addr_t from, const ofi_tag_pattern_t *pattern,
            uint64_t flags, ofi_found_t *found)
{
    struct fi_msg_tagged question = {
        .addr = from,
        .tag = pattern->bits,
        .ignore = pattern->ignore,
        .context = &operation->context,
    };
    ssize_t result;
    operation->kind = &peek_kind;
    asked = found;
    taken_count = 0;
    *found = (ofi_found_t){0};
    is_answered = false;
    failure = 0;
    while ((result = fi_trecvmsg(ofi.endpoint.ep, &question, FI_PEEK | flags)) == -FI_EAGAIN)
        ofi_progress();
    if (result == 0) {
        ofi_operation_posted(operation);
        wait_for_answer();
    } else if (result != -FI_ENOMSG) {
        failure = (int)-result;
    }
    asked = NULL;
    if (failure != 0)
        ofi_log_failure("a probe for a message of", OFI_ANY_PROCESS, failure, NULL);
    return failure;
}

void ofi_status_fill(MPI_Status *status, uint64_t bits, uint64_t data, size_t bytes)
{
    MPI_Status told;
    ompi_status_set(&told, ofi_source(bits, data), ofi_tag_tag(&ofi.tags, bits), MPI_SUCCESS,
                    bytes);
    ompi_status_fill(status, &told);
}

static int error_of(int failed)
{
    if (failed == 0)
        return MPI_SUCCESS;
    return failed == FI_ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

/* It is there, and nobody has asked for it. */
static int take(const ompi_route_t *from, fi_addr_t address, const ofi_tag_pattern_t *pattern,
                const ofi_found_t *there, bool *found, ompi_mtl_message_t **taken,
                MPI_Status *status)
{
    int failed;
    struct ofi_message *message = ofi_message_take(address, pattern, there, &failed);
    *found = message != NULL;
    if (message != NULL) {
        ofi_message_tell(message, status);
        *taken = ofi_message_hand_out(message, from);
    }
    return error_of(failed);
}

/* sockets looks for what a receive may take in its progress only, at a few messages each time, so a
 * question may come in between. */
int ofi_look(const ompi_communicator_t *comm, fi_addr_t address, const ofi_tag_pattern_t *pattern,
             ofi_found_t *there)
{
    for (int i = 0; i < LOOKS; i++) {
        int failed = ofi_ask(&plain, address, pattern, 0, there);
        if (!there->is_there)
            return failed;
        if (!was_taken(there) && !ofi_receive_waits_for(there->bits, there->data)) {
            if (opal_likely(ofi_is_of_rank(comm, there->bits, there->data)))
                return failed;
            ofi_swallow(address, there->bits);
        }
        ofi_progress();
    }
    there->is_there = false;
    return 0;
}

int ofi_probe(const ompi_route_t *from, bool *found, ompi_mtl_message_t **taken, MPI_Status *status)
{
    fi_addr_t address;
    ofi_tag_pattern_t pattern;
    ofi_found_t there;
    *found = false;
    /* A program that probes in a loop, and always finds, may do nothing else; and the next question
     * would keep what waits for room from being received. */
    if (ofi_has_queued() || ofi_recall_is_asked() || ofi_any_is_claimed())
        ofi_progress();
    int error = ofi_pattern(from, &address, &pattern);
    if (error != MPI_SUCCESS ||
        (ofi_any_is_claimed() && ofi_claimed_probe(from, &pattern, found, taken, status, &error)))
        return error;
    error = error_of(ofi_look(from->comm, address, &pattern, &there));
    if (!there.is_there)
        return error;
    if (ofi.has_long && there.bytes == ofi.max_bytes) {
        error = error_of(ofi_claimed_add_all(from->comm->context));
        if (ofi_claimed_probe(from, &pattern, found, taken, status, &error) && *found)
            error = MPI_SUCCESS; /* which may be there before what could not be taken */
        return error;
    }
    if (taken != NULL)
        return take(from, address, &pattern, &there, found, taken, status);
    *found = true;
    ofi_status_fill(status, there.bits, there.data, there.bytes);
    return MPI_SUCCESS;
}

bool ofi_forget_context(uint32_t context)
{
    static const ompi_context_t contexts[] = {OMPI_CONTEXT_USER, OMPI_CONTEXT_PARTITIONED};
    uint64_t area = ofi.tags.context_bits[OMPI_CONTEXT_COLLECTIVE];
    if (ofi_is_progressing() || ofi_is_asking())
        return false; /* an answer could not be read, or be taken for another question's */
    ofi_claimed_forget(context);
    for (size_t i = 0; i < OPAL_COUNT_OF(contexts); i++) {
        ofi_tag_pattern_t pattern =
            ofi_tag_of_receive(&ofi.tags, context, contexts[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
        pattern.ignore |= area; /* both of the kind */
        ofi_discard_t last;
        while ((last = ofi_message_discard(&pattern)) == OFI_DISCARDED)
            continue;
        if (last == OFI_NOT_YET)
            return false;
    }
    return true;
}
