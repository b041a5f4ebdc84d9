/* SPDX-License-Identifier: BSD-3-Clause */
/* Areas in the node's segment, and polling the requests that use them. */
#include "ompi/part/area.h"

#include "opal/mca/btl/btl.h"
#include "ompi/api/mpi.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/part/part.h"

/* Areas of a few sizes are used again more often. */
static size_t round_up(size_t bytes)
{
    size_t power = 256;
    while (power < bytes)
        power *= 2;
    return power;
}

static size_t flags_bytes(size_t partitions)
{
    return (partitions * sizeof(atomic_uint) + 63) & ~(size_t)63;
}

ompi_part_area_t *ompi_part_area_make(size_t partitions, size_t room)
{
    size_t cleared = sizeof(ompi_part_area_t) + flags_bytes(partitions);
    size_t bytes = round_up(cleared + room);
    return (ompi_part_area_t *)opal_shared_make(bytes, cleared, bytes);
}

void ompi_part_area_release(ompi_part_area_t *area)
{
    opal_shared_release(&area->shared, 1);
}

char *ompi_part_area_room(ompi_part_area_t *area, size_t partitions)
{
    return (char *)area->flags + flags_bytes(partitions);
}

void ompi_part_area_leave(ompi_part_area_t *area)
{
    opal_shared_leave(&area->shared);
}

/* -- peers --------------------------------------------------------------------------------- */

ompi_part_peer_t ompi_part_peer(const ompi_route_t *route)
{
    opal_process_t *process = opal_process(ompi_comm_process(route->comm, route->rank));
    int local_rank = opal_node_local_rank(process->index);
    return (ompi_part_peer_t){process, process == opal_process_self() ? -1 : local_rank};
}

bool ompi_part_peer_is_unreachable(const ompi_part_peer_t *peer)
{
    const opal_btl_peer_t *btl = opal_process_end(peer->process, OPAL_END_BTL);
    return btl != NULL ? btl->is_unreachable : opal_node_peer_is_dead((unsigned)peer->local_rank);
}

char *ompi_part_peer_map(const ompi_part_peer_t *peer, uintptr_t start, size_t bytes)
{
    opal_node_view_t view;
    opal_node_view((unsigned)peer->local_rank, &view);
    return opal_view_at(&view, start, bytes);
}

ompi_route_t ompi_part_piece_route(const ompi_route_t *route, uint64_t first, size_t i)
{
    return (ompi_route_t){route->comm, OMPI_CONTEXT_COLLECTIVE, route->rank,
                          ompi_tags_at(OMPI_TAGS_PARTITION, first + i)};
}

/* -- active requests ----------------------------------------------------------------------- */

static opal_list_t active_requests = {{&active_requests.head, &active_requests.head}};

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *next, *node = opal_list_first(&active_requests); node != NULL;
         node = next) {
        ompi_part_active_t *active = opal_container_of(node, ompi_part_active_t, node);
        next = opal_list_next(&active_requests, node);
        count += active->poll(active);
    }
    return count;
}

int ompi_part_activate(ompi_part_active_t *active)
{
    if (opal_list_is_empty(&active_requests) && opal_progress_add(poll, NULL) != OPAL_SUCCESS)
        return MPI_ERR_INTERN;
    opal_list_append(&active_requests, &active->node);
    return MPI_SUCCESS;
}

void ompi_part_deactivate(ompi_part_active_t *active)
{
    opal_list_remove(&active->node);
    if (opal_list_is_empty(&active_requests))
        opal_progress_remove(poll, NULL);
}

void ompi_part_stop(void)
{
    if (!opal_list_is_empty(&active_requests))
        opal_progress_remove(poll, NULL);
    opal_list_init(&active_requests);
}
