/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the processes that this one was in contact with. */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"

ofi_peer_t **ofi_peers;
unsigned ofi_peer_count;
int ofi_peer_error;

void ofi_peers_stop(void)
{
    for (unsigned process = 0; process < ofi_peer_count; process++)
        free(ofi_peers[process]);
    free(ofi_peers);
    ofi_peers = NULL;
    ofi_peer_count = 0;
}

/* False: no memory. */
static bool make_room(unsigned process)
{
    if (process < ofi_peer_count)
        return true;
    unsigned wanted = process < 2 * ofi_peer_count ? 2 * ofi_peer_count : process + 1;
    ofi_peer_t **grown = realloc(ofi_peers, wanted * sizeof(ofi_peer_t *));
    if (grown == NULL)
        return false;
    memset(grown + ofi_peer_count, 0, (wanted - ofi_peer_count) * sizeof(ofi_peer_t *));
    ofi_peers = grown;
    ofi_peer_count = wanted;
    return true;
}

ofi_peer_t *ofi_peer_meet(unsigned process)
{
    fi_addr_t address;
    opal_status_t status = opal_fabric_address(&ofi.endpoint, process, &address);
    ofi_peer_error = status == OPAL_ERR_NOT_AVAILABLE ? MPI_ERR_OTHER : MPI_ERR_NO_MEM;
    if (status != OPAL_SUCCESS || !make_room(process))
        return NULL;
    ofi_peer_t *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->process = process;
    peer->address = address;
    opal_list_init(&peer->queue);
    opal_list_init(&peer->unanswered);
    ofi_peers[process] = peer;
    ompi_mtl_met(process);
    return peer;
}
