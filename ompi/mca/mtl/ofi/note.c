/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few bytes of ours for a peer, as the answer to a synchronous send: injected, or claimed until
 * there is room. Without memory for that there is one note which was made at the start. So however
 * little memory there is, what peers wait for leaves, one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"

typedef struct note {
    ofi_operation_t operation;
    ofi_peer_t *peer;
    uint64_t bits;
    size_t length;
    ofi_registration_t pin;
    void *descriptor;
    unsigned char bytes[OFI_NOTE_MAX_BYTES];
} note_t;

static note_t spare; /* registered, if the provider wants that */
static bool is_spare_used;

static bool needs_pin(size_t length)
{
    return ofi.needs_registration && length > ofi.inject_bytes;
}

/* NULL: no memory. */
static note_t *take_note(size_t length)
{
    note_t *note = calloc(1, sizeof *note);
    if (note != NULL && (!needs_pin(length) || ofi_register(&note->pin, note->bytes, length,
                                                            &note->descriptor) == MPI_SUCCESS))
        return note;
    free(note);
    if (is_spare_used)
        return NULL;
    is_spare_used = true;
    return &spare;
}

static void end_note(note_t *note)
{
    if (note == &spare) {
        is_spare_used = false;
    } else {
        ofi_deregister(&note->pin);
        free(note);
    }
    ofi_has_left();
}

/* Who waits for it may wait for ever if it does not leave, so that is told. */
static void give_up(note_t *note, int result, const struct fi_cq_err_entry *error)
{
    ofi_log_failure("an answer to", note->peer->process, result, error);
    end_note(note);
}

static void note_completed(ofi_operation_t *operation,
                           const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    end_note(opal_container_of(operation, note_t, operation));
}

static void note_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    give_up(opal_container_of(operation, note_t, operation), error->err, error);
}

static bool post_note(ofi_operation_t *operation)
{
    note_t *note = opal_container_of(operation, note_t, operation);
    fi_addr_t to = note->peer->address;
    bool is_injected = note->length <= ofi.inject_bytes;
    ssize_t result = is_injected
                         ? ofi_inject(note->peer, note->bytes, note->length, 0, note->bits)
                         : fi_tsend(ofi.endpoint.ep, note->bytes, note->length, note->descriptor,
                                    to, note->bits, &note->operation.context);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0)
        give_up(note, (int)-result, NULL);
    else if (is_injected)
        end_note(note);
    else
        ofi_operation_posted(operation);
    return true;
}

static const ofi_operation_kind_t note_kind = {
    .completed = note_completed,
    .failed = note_failed,
    .post = post_note,
};

bool ofi_tell(ofi_peer_t *peer, uint64_t bits, const void *bytes, size_t length)
{
    if (opal_likely(length <= ofi.inject_bytes && ofi_peer_is_clear(peer)) &&
        opal_likely(ofi_inject(peer, bytes, length, 0, bits) == 0)) {
        ofi_handed_over();
        return true;
    }
    note_t *note = take_note(length);
    if (note == NULL)
        return false;
    note->operation.kind = &note_kind;
    note->peer = peer;
    note->bits = bits;
    note->length = length;
    memcpy(note->bytes, bytes, length);
    ofi_outgoing++;
    ofi_peer_post(peer, &note->operation);
    return true;
}

opal_status_t ofi_notes_start(void)
{
    is_spare_used = false;
    if (needs_pin(sizeof spare.bytes) &&
        ofi_register(&spare.pin, spare.bytes, sizeof spare.bytes, &spare.descriptor) != MPI_SUCCESS)
        return OPAL_ERR_SYSTEM;
    return OPAL_SUCCESS;
}

void ofi_notes_stop(void)
{
    ofi_deregister(&spare.pin);
}
