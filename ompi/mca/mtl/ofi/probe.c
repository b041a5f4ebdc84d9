/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's probes: first among the claimed messages, then at the provider. */
#include "ompi/mca/mtl/ofi/ofi.h"

static int error_of(int failure)
{
    if (failure == 0 || failure == FI_EAGAIN) /* to be asked again */
        return MPI_SUCCESS;
    return failure == FI_ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

static int claim(const ompi_route_t *from, fi_addr_t address, const ofi_tag_pattern_t *pattern,
                 const ofi_found_t *there, bool *found, ompi_mtl_message_t **taken,
                 MPI_Status *status)
{
    int failure;
    struct ofi_message *message = ofi_claim(address, pattern, there, &failure);
    *found = message != NULL;
    if (message != NULL)
        *taken = ofi_claimed_hand_out(message, from, status);
    return error_of(failure);
}

/* A beginning: its length is known when it is received, and claimed for that. */
static int probe_long(const ompi_route_t *from, const ofi_tag_pattern_t *pattern, bool *found,
                      ompi_mtl_message_t **taken, MPI_Status *status)
{
    int error = error_of(ofi_claim_all(from->comm->context));
    if (ofi_claimed_probe(from, pattern, found, taken, status, &error) && *found)
        return MPI_SUCCESS; /* another message, behind it, could not be claimed */
    return error;
}

int ofi_probe(const ompi_route_t *from, bool *found, ompi_mtl_message_t **taken, MPI_Status *status)
{
    fi_addr_t address;
    ofi_tag_pattern_t pattern;
    ofi_found_t there;
    *found = false;
    /* A program that probes in a loop, and always finds, may do nothing else; and the next question
     * would keep what waits for room from being received. */
    if (ofi_has_queued() || ofi_any_is_claimed())
        ofi_progress();
    int error = ofi_pattern(from, &address, &pattern);
    if (error != MPI_SUCCESS ||
        (ofi_any_is_claimed() && ofi_claimed_probe(from, &pattern, found, taken, status, &error)))
        return error;
    error = error_of(ofi_look(from->comm, address, &pattern, &there));
    if (!there.is_there)
        return error;
    if (ofi.has_long && there.bytes == ofi.max_bytes)
        return probe_long(from, &pattern, found, taken, status);
    if (taken != NULL)
        return claim(from, address, &pattern, &there, found, taken, status);
    *found = true;
    ofi_status_fill(status, there.bits, there.data, there.bytes);
    return MPI_SUCCESS;
}
