/* SPDX-License-Identifier: BSD-3-Clause */
/* The btl framework object, and how transports deliver to their clients, from progress. */
#ifndef OPAL_MCA_BTL_BASE_H
#define OPAL_MCA_BTL_BASE_H

#include "opal/mca/base/framework.h"
#include "opal/mca/btl/btl.h"

OPAL_EXPORT extern opal_framework_t mca_btl_framework;

/* By number; never NULL: frames for a client that is not open are dropped. */
OPAL_EXPORT extern const opal_btl_client_t *opal_btl_clients[OPAL_BTL_CLIENTS];

static inline const opal_btl_client_t *opal_btl_client_of(unsigned kind)
{
    return opal_btl_clients[kind / OPAL_BTL_KINDS % OPAL_BTL_CLIENTS];
}

/* A frame of head and payload, by reserve and commit. False: not now. */
OPAL_EXPORT bool opal_btl_send_frame(opal_btl_peer_t *peer, unsigned kind, const void *head,
                                     size_t head_bytes, const void *bytes, size_t length);

/* opal_btl_ops_t.send_short by that. */
OPAL_EXPORT bool opal_btl_send_short(opal_btl_peer_t *peer, unsigned kind, opal_btl_head_t head,
                                     const void *bytes, size_t length);

/* Called before a transport frees its peer: operations by frames end now. */
OPAL_EXPORT void opal_btl_forget(opal_btl_peer_t *peer);

/* The client that places the payload of such a frame; one that drops it, if the client does not. */
OPAL_EXPORT const opal_btl_client_t *opal_btl_placer_of(unsigned kind);

/* opal_btl_client_t.receive. False: the transport delivers the frame again in each call of
 * progress. */
static inline bool opal_btl_deliver(opal_process_t *from, unsigned kind, const void *bytes,
                                    size_t length)
{
    if (opal_likely(opal_btl_client_of(kind)->receive(from, kind, bytes, length)))
        return true;
    opal_btl_retry_soon();
    return false;
}

/* opal_btl_client_t.failed and .left. Transports call one of them, once for each process; not if a
 * launcher ends the job because a process has died. */
OPAL_EXPORT void opal_btl_report_failure(opal_process_t *process, opal_status_t why);
OPAL_EXPORT void opal_btl_report_departure(opal_process_t *process);

#endif
