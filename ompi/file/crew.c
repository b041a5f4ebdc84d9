/* SPDX-License-Identifier: BSD-3-Clause */
/* Crews: which ranks move what belongs together, and whether the conveyor pays for them. */
#include "ompi/file/crew.h"

#include <assert.h>
#include <string.h>

#include "ompi/file/file_lock.h"

enum { RUNS = 64, FEW_RANKS = 2 };

/* All ranks of the communicator that move something, by the beginning of their parts. */
static int sort_ranks(const ompi_conveyor_part_t *parts, int size, int *order)
{
    int count = 0;
    for (int rank = 0; rank < size; rank++) {
        int at = count;
        if (parts[rank].first == parts[rank].end)
            continue;
        for (; at > 0 && parts[order[at - 1]].first > parts[rank].first; at--)
            order[at] = order[at - 1];
        order[at] = rank;
        count++;
    }
    return count;
}

static int local_of(const ompi_file_area_t *area, int rank)
{
    int local = 0;
    while (area->locals[local].rank != rank)
        local++;
    return local;
}

/* Which nodes the crew has ranks on, and which of its ranks are on this one. */
static void find_nodes(ompi_belt_t *belt, int own_rank, int *members, int *node_ids)
{
    const ompi_file_area_t *area = belt->area;
    for (int i = 0; i < belt->crew_count; i++) {
        int id = area->node_of[belt->crew[i]];
        uint32_t node = 0;
        while (node < belt->nodes && node_ids[node] != id)
            node++;
        if (node == belt->nodes)
            node_ids[belt->nodes++] = id;
        if (id != area->node_of[own_rank])
            continue;
        belt->node = node;
        if (belt->crew[i] == own_rank)
            belt->self = belt->member_count;
        members[belt->member_count++] = local_of(area, belt->crew[i]);
    }
    belt->members = members;
    belt->node_ids = node_ids;
}

bool ompi_crew_find(ompi_belt_t *belt, int own_rank, int size)
{
    int *order = belt->area->order, begin = 0;
    int count = sort_ranks(belt->parts, size, order);
    bool is_mine = false;
    for (int i = 0; i < count; i++) {
        const ompi_conveyor_part_t *part = &belt->parts[order[i]];
        if (i == begin || part->first >= belt->end) {
            if (is_mine)
                break;
            begin = i;
            belt->first = part->first;
            belt->end = part->end;
        }
        is_mine = is_mine || order[i] == own_rank;
        belt->end = part->end > belt->end ? part->end : belt->end;
        belt->crew_count = i + 1 - begin;
    }
    belt->crew = &order[begin];
    if (is_mine)
        find_nodes(belt, own_rank, order + size, order + 2 * (ptrdiff_t)size);
    return is_mine;
}

/* Whether the fingerprint is that of the crew's range: every byte of it, once. */
static bool is_whole(const ompi_belt_t *belt, ompi_fingerprint_t sum)
{
    ompi_fingerprint_t whole =
        ompi_fingerprint_of_range(belt->first, belt->end - belt->first, belt->access->file->key);
    return memcmp(&sum, &whole, sizeof sum) == 0;
}

/*
 * What is moved by the conveyor, and what its pieces save: it pays if the calls that a transfer for
 * each piece would take cost more than the bytes that are moved besides.
 *
 * Ranks that sieve, each by itself, move every byte of the file as often as ranks span it, and wait
 * for nobody. So the conveyor is for bytes that more than a few ranks span, or for writes that tile
 * the range, which then need not be read before.
 */
bool ompi_crew_gains(ompi_belt_t *belt)
{
    const ompi_access_t *access = belt->access;
    const ompi_file_hints_t *hints = &access->file->hints;
    uint32_t wish = access->is_write ? hints->cb_write : hints->cb_read;
    ompi_fingerprint_t sum = {{0, 0}};
    uint64_t bytes = 0, pieces = 0, spans = 0, range = belt->end - belt->first;
    bool can_all_sieve = true;
    if (belt->crew_count < 2 || wish == OMPI_HINT_DISABLE)
        return false;
    for (int i = 0; i < belt->crew_count; i++) {
        const ompi_conveyor_part_t *part = &belt->parts[belt->crew[i]];
        if (!part->is_fit)
            return false;
        bytes += part->bytes;
        pieces += part->bytes / part->run_bytes + 1;
        can_all_sieve = can_all_sieve && part->can_sieve;
        spans += (part->end - part->first) / FEW_RANKS;
        sum = ompi_fingerprint_add(sum, part->fingerprint);
    }
    belt->is_tiled = access->is_write && bytes == range && is_whole(belt, sum);
    if (wish == OMPI_HINT_ENABLE)
        return true;
    bool is_rewrite = access->is_write && !belt->is_tiled;
    return ompi_file_cost_favors_sieve(&belt->parts[belt->crew[0]].cost, is_rewrite, range, bytes,
                                       pieces) &&
           (belt->is_tiled || spans > range || !can_all_sieve);
}

int ompi_crew_proxy(const ompi_belt_t *belt, int index, uint32_t node)
{
    const int *node_of = belt->area->node_of, id = belt->node_ids[node];
    int count = 0, at = 0;
    for (int i = 0; i < belt->crew_count; i++)
        count += node_of[belt->crew[i]] == id;
    assert(count > 0);
    for (int wanted = index % count; node_of[belt->crew[at]] != id || wanted-- > 0;)
        at++;
    return belt->crew[at];
}

/* Whether the rank, if it accesses its pieces by itself, may move what is between them, too. */
static bool can_sieve(const ompi_access_t *access)
{
    const ompi_file_hints_t *hints = &access->file->hints;
    if (access->is_write)
        return hints->ds_write != OMPI_HINT_DISABLE && ompi_file_may_sieve_writes(access->file);
    return hints->ds_read != OMPI_HINT_DISABLE;
}

int ompi_conveyor_describe(const ompi_access_t *access, ompi_conveyor_part_t *part)
{
    ompi_run_t runs[RUNS];
    ompi_file_t *file = access->file;
    const ompi_view_t *view = access->view;
    uint64_t listed;
    *part = (ompi_conveyor_part_t){.position = access->position,
                                   .bytes = access->bytes,
                                   .run_bytes = 1,
                                   .can_sieve = can_sieve(access),
                                   .cost = ompi_file_costs_now(&file->costs, access->is_write)};
    part->is_fit = view->is_ordered && !access->is_atomic && ompi_datarep_is_native(view->datarep);
    if (access->bytes == 0 || !part->is_fit)
        return MPI_SUCCESS;
    size_t count = ompi_view_runs(view, access->position, access->bytes, runs, RUNS, &listed);
    MPI_Offset last = ompi_view_byte(view, access->position + access->bytes - 1);
    if (count == 0 || last < 0) {
        part->is_fit = false;
        return MPI_SUCCESS;
    }
    part->first = runs[0].offset;
    part->end = (uint64_t)last + 1;
    part->run_bytes = listed / count;
    if (access->is_write)
        part->fingerprint = ompi_view_fingerprint(view, access->position, access->bytes, file->key);
    return file->peers == NULL
               ? MPI_SUCCESS
               : ompi_file_peers_describe(file->peers, view, &part->view_bytes, &part->view_number);
}
