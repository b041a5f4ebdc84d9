/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that nobody will receive, since MPI ends here. A sender that waits for a receive would
 * do so for ever; so until all ranks have come to their end (ofi.c), every message of the user's
 * that matches no receive is taken out of the matching, and thrown away (claimed.c). If its sender
 * waits for an answer, it is told:
 *
 *   leaver    --- REFUSED: bits of the message --->   sender
 *
 * Of the messages of one envelope (communicator, tag, peer) the leaver has matched the first ones.
 * So the sender takes it for the last one that it has sent, each time: what was matched gets its
 * answer, which may be under way.
 */
#include "opal/process/job.h"
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

/* -- the leaver ---------------------------------------------------------------------- */

/* False: no memory. */
static bool tell_sender(uint64_t bits, uint64_t data)
{
    const ompi_communicator_t *comm = ompi_comm_find(ofi_tag_comm(&ofi.tags, bits));
    ofi_peer_t *peer = comm != NULL ? ofi_peer_from(comm, ofi_source(bits, data)) : NULL;
    if (peer == NULL) /* it was reported, or the communicator has ended at both ends */
        return comm == NULL || ofi_peer_error != MPI_ERR_NO_MEM;
    ofi_control_t control = {.kind = OFI_REFUSED, .process = opal_job()->rank, .bits = bits};
    return ofi_control_send(peer, &control);
}

bool ofi_refuse(void)
{
    uint64_t bits, data;
    bool any = false;
    ofi_claimed_add_everything();
    for (; ofi_claimed_first(&bits, &data); any = true) {
        if (ofi_tag_is_synchronous(&ofi.tags, bits) && !tell_sender(bits, data))
            break; /* until this is asked again */
        ofi_claimed_drop_first();
    }
    return any;
}

/* -- the sender ---------------------------------------------------------------------- */

static void fail(ofi_request_t *request)
{
    ofi_peer_t *peer = request->peer;
    if (!peer->is_told)
        opal_log_error("rank %u has left through MPI_Finalize: messages that wait for it fail with "
                       "MPI_ERR_PROC_ABORTED; every send needs a receive before that",
                       peer->process);
    peer->is_told = true;
    request->base.is_unreceived = true;
    request->base.base.status.MPI_ERROR = MPI_ERR_PROC_ABORTED;
}

void ofi_refused(const ofi_control_t *control)
{
    const ofi_peer_t *peer = ofi_peer_met(control->process);
    ofi_request_t *request = peer != NULL ? ofi_recall_find_last(control->bits, peer) : NULL;
    if (request == NULL)
        return; /* what was matched meanwhile, too */
    if (request->recall_name != 0)
        ompi_status_set_cancelled(&request->base.base.status, true);
    else
        fail(request);
    ofi_send_unanswered(request);
}
