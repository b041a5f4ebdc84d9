/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages where the provider must not inject any number of them (quirks.c). When so many are
 * on their way that nothing is known of, a copy is sent instead, and freed when that has ended:
 * then what was injected before it is known to have come, too. Without memory there is one parcel
 * that was made at the start; what finds it under way is tried again.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"
#include "ompi/mca/mtl/ofi/ofi.h"

typedef struct parcel {
    ofi_operation_t operation;
    ofi_peer_t *peer;
    unsigned behind; /* how many were injected before it */
    unsigned char bytes[];
} parcel_t;

static parcel_t *spare; /* of ofi.inject_bytes; NULL: it is not needed */
static bool is_spare_used;

/* NULL: no memory. */
static parcel_t *take_parcel(size_t length)
{
    parcel_t *parcel = malloc(sizeof *parcel + length);
    if (parcel != NULL || is_spare_used)
        return parcel;
    is_spare_used = true;
    return spare;
}

static void give_back(parcel_t *parcel)
{
    if (parcel == spare)
        is_spare_used = false;
    else
        free(parcel);
}

static void end_parcel(ofi_operation_t *operation)
{
    parcel_t *parcel = opal_container_of(operation, parcel_t, operation);
    parcel->peer->heard = parcel->behind; /* they end in their order */
    give_back(parcel);
    ofi_has_left();
}

static void parcel_completed(ofi_operation_t *operation,
                             const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    end_parcel(operation);
}

static void parcel_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    const parcel_t *parcel = opal_container_of(operation, parcel_t, operation);
    ofi_log_failure("a message to", (int)parcel->peer->process, error->err, error);
    end_parcel(operation);
}

static const ofi_operation_kind_t parcel_kind = {
    .completed = parcel_completed,
    .failed = parcel_failed,
};

ssize_t ofi_parcel_send(ofi_peer_t *peer, const void *start, size_t length, const uint64_t *data,
                        uint64_t bits)
{
    parcel_t *parcel = take_parcel(length);
    if (parcel == NULL)
        return -FI_EAGAIN;
    void *context = &parcel->operation.context;
    fi_addr_t to = peer->address;
    parcel->operation.kind = &parcel_kind;
    parcel->peer = peer;
    parcel->behind = peer->injected;
    if (length > 0)
        memcpy(parcel->bytes, start, length);
    ssize_t result =
        data != NULL
            ? fi_tsenddata(ofi.endpoint.ep, parcel->bytes, length, NULL, *data, to, bits, context)
            : fi_tsend(ofi.endpoint.ep, parcel->bytes, length, NULL, to, bits, context);
    if (result == 0) {
        ofi_outgoing++;
        ofi_operation_posted(&parcel->operation);
    } else {
        give_back(parcel);
    }
    return result;
}

void ofi_parcels_start(void)
{
    if (ofi.endpoint.quirks.unheard > 0)
        spare = opal_xmalloc(sizeof *spare + ofi.inject_bytes);
    is_spare_used = false;
}

void ofi_parcels_stop(void)
{
    free(spare);
    spare = NULL;
}
