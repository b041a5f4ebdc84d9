/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading data in the memory of other ranks. Operations on longer data consist of
 *
 *   publish the address of this rank's data; read other ranks' data; wait until its own was read
 *
 * A rank waits only for the readers of its own data, and the last reader wakes it. So ranks that
 * share a core run one after the other.
 *
 * The published data is the user's buffer if its type is contiguous; else a packed copy or, in the
 * region, a list of its segments. Data in the region, which all ranks of the node have mapped, is
 * read in place; a result there can be written, and its rank publishes its address. Other data is
 * read by a system call. Where that is not permitted, data outside of the region is copied into the
 * region first. So an operation needs no agreement of its own: the entries say everything, also
 * that a rank had no memory for its copy. In that case all ranks leave the operation to messages.
 *
 * sm_direct_agree finds out, for all pairs of ranks, which of these two ways work. If a pair has
 * neither, no rank reads. Only sm_direct_reach, sm_direct_fetch and sm_direct_target know how the
 * memory of a peer is reached.
 */
#include "ompi/mca/coll/sm/direct.h"

#include <stdlib.h>
#include <string.h>

#include "opal/arch/claim.h"
#include "opal/node/region.h"

enum {
    PIECE = 64 << 10,  /* of packed data that is read and unpacked at a time */
    SEGMENT_MIN = 128, /* average bytes of a segment from which a list is better than a copy */
    SEGMENTS = 32,     /* of the receive buffer, at a time */
};

/* -- agreement ----------------------------------------------------------------------------- */

/* What a rank publishes about itself. */
enum { MAPS_ALL = 1, MAY_READ_ALL = 2, HAS_CORES = 4 };

static char probe_peers(sm_comm_t *self)
{
    char found = MAPS_ALL | MAY_READ_ALL;
    for (int rank = 0; rank < self->size; rank++) {
        sm_peer_t *peer = &self->peers[rank];
        if (rank == self->rank)
            continue;
        if (!opal_node_view(peer->local_rank, &peer->view) || peer->view.bytes == 0)
            found &= ~MAPS_ALL;
        if (opal_node_probe_reading(peer->local_rank) != OPAL_SUCCESS)
            found &= ~MAY_READ_ALL;
    }
    return found | (opal_wait_is_oversubscribed() ? 0 : HAS_CORES);
}

/* A rank's part of the agreement, in a line. */
typedef struct hello {
    char found;
    char record[sizeof(ompi_check_record_t)]; /* of its call, which is the first; not aligned */
} hello_t;

_Static_assert(sizeof(hello_t) <= SM_INLINE, "it fits the line of its flag");

static hello_t *hello_of(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return (hello_t *)(void *)sm_step_row(self, slot, rank);
}

/* All ranks are here, so they compare their calls for once. */
static int compare_calls(const sm_comm_t *self, const sm_slot_t *slot)
{
    ompi_check_record_t *records;
    if (!self->comm->is_checked)
        return MPI_SUCCESS;
    size_t bytes = (size_t)self->size * sizeof *records;
    records = aligned_alloc(_Alignof(ompi_check_record_t), bytes);
    if (records == NULL)
        return MPI_SUCCESS; /* they differ by chance only, and are found later */
    for (int rank = 0; rank < self->size; rank++)
        memcpy(&records[rank], hello_of(self, slot, rank)->record, sizeof *records);
    int error = ompi_check_compare_given(self->comm, records);
    free(records);
    return error;
}

int sm_direct_agree(sm_comm_t *self)
{
    ompi_check_record_t own;
    sm_slot_t slot;
    /* After this barrier all ranks have been through MPI_Init, and have allowed others to read. */
    int error = sm_step_barrier(self);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_SYNC, sizeof(hello_t), &slot);
    if (error != MPI_SUCCESS)
        return error;
    hello_of(self, &slot, self->rank)->found = probe_peers(self);
    if (self->comm->is_checked) {
        ompi_check_latest(self->comm, &own);
        memcpy(hello_of(self, &slot, self->rank)->record, &own, sizeof own);
    }
    error = sm_step_sync(self, &slot);
    if (error != MPI_SUCCESS)
        return error;
    char all = MAPS_ALL | MAY_READ_ALL | HAS_CORES;
    for (int rank = 0; rank < self->size; rank++)
        all &= hello_of(self, &slot, rank)->found;
    self->is_mapped = (all & MAPS_ALL) != 0;
    self->may_read = (all & MAY_READ_ALL) != 0;
    self->is_oversubscribed = (all & HAS_CORES) == 0;
    self->direct = self->is_mapped || self->may_read ? SM_DIRECT_WORKS : SM_DIRECT_FORBIDDEN;
    return compare_calls(self, &slot);
}

/* -- publishing ---------------------------------------------------------------------------- */

/* Whether the bytes are mapped in all ranks. Also for no bytes at MPI_BOTTOM. */
static bool is_in_region(const sm_comm_t *self, uintptr_t start, size_t bytes)
{
    return self->is_mapped && opal_region_has((const void *)start, bytes);
}

/* Whether the whole span of the elements is in the region. */
static bool spans_region(const sm_comm_t *self, ompi_data_t data)
{
    uintptr_t start = (uintptr_t)data.buffer + (uintptr_t)ompi_datatype_true_lb(data.type);
    return data.count > 0 && ompi_datatype_extent(data.type) > 0 &&
           is_in_region(self, start, (size_t)ompi_datatype_span(data.type, data.count));
}

size_t sm_direct_describe(const sm_comm_t *self, ompi_data_t data, void *room, size_t bytes)
{
    size_t wanted = ompi_coll_bytes(data), found, max = wanted / SEGMENT_MIN + 1;
    if (!opal_region_has(room, bytes) || max > bytes / sizeof(struct iovec) ||
        ompi_datatype_is_contiguous(data.type) || !spans_region(self, data))
        return 0;
    size_t count = ompi_datatype_segments(data.type, data.count, data.buffer, 0, room, max, &found);
    return found < wanted ? 0 : count;
}

void sm_source_init_layout(sm_source_t *source, const sm_comm_t *self, ompi_data_t data)
{
    size_t bytes = (ompi_coll_bytes(data) / SEGMENT_MIN + 1) * sizeof(struct iovec), count = 0;
    char *room = NULL;
    if (!ompi_datatype_is_contiguous(data.type) && spans_region(self, data))
        room = opal_heap_malloc(opal_region.heap, bytes);
    if (room != NULL)
        count = sm_direct_describe(self, data, room, bytes);
    if (count == 0 && room != NULL)
        opal_heap_free(opal_region.heap, room);
    if (count == 0)
        sm_source_init(source, self, data, false);
    else
        *source = (sm_source_t){.address = (uintptr_t)room, .segments = count, .room = room};
}

bool sm_direct_is_readable(const sm_comm_t *self, ompi_data_t data)
{
    if (!ompi_datatype_is_contiguous(data.type))
        return ompi_coll_bytes(data) == 0;
    return self->may_read || ompi_coll_bytes(data) == 0 ||
           is_in_region(self, ompi_datatype_origin(data.type, data.buffer), ompi_coll_bytes(data));
}

void sm_source_init(sm_source_t *source, const sm_comm_t *self, ompi_data_t data, bool needs_copy)
{
    *source = (sm_source_t){.address = ompi_datatype_origin(data.type, data.buffer)};
    if (!needs_copy && sm_direct_is_readable(self, data))
        return;
    sm_source_init_room(source, self, ompi_datatype_bytes(data.type, data.count));
    if (source->error == MPI_SUCCESS)
        sm_pack(data, source->room);
}

void sm_source_init_room(sm_source_t *source, const sm_comm_t *self, size_t bytes)
{
    char *room = self->is_mapped ? opal_heap_malloc(opal_region.heap, bytes) : NULL;
    if (room == NULL && self->may_read)
        room = malloc(bytes > 0 ? bytes : 1);
    *source = (sm_source_t){.address = (uintptr_t)room, .room = room};
    /* SM_FALL_BACK: messages can use memory outside of the region. */
    if (room == NULL)
        source->error = self->may_read ? MPI_ERR_NO_MEM : SM_FALL_BACK;
}

void sm_source_fini(sm_source_t *source)
{
    if (opal_region_has(source->room, 0))
        opal_heap_free(opal_region.heap, source->room);
    else
        free(source->room);
}

bool sm_direct_is_writable(const sm_comm_t *self, ompi_data_t result)
{
    return ompi_datatype_is_contiguous(result.type) &&
           is_in_region(self, ompi_datatype_origin(result.type, result.buffer),
                        ompi_coll_bytes(result));
}

void sm_source_set_target(sm_source_t *source, const sm_comm_t *self, ompi_data_t result)
{
    if (sm_direct_is_writable(self, result))
        source->target = ompi_datatype_origin(result.type, result.buffer);
}

static sm_entry_t *entry_of(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return (sm_entry_t *)(void *)sm_step_row(self, slot, rank);
}

void sm_direct_write_entry(sm_comm_t *self, const sm_slot_t *slot, const sm_source_t *source)
{
    sm_entry_t *entry = entry_of(self, slot, self->rank);
    entry->address = source->address;
    entry->target = source->target;
    entry->segments = source->segments;
    entry->error = source->error;
    entry->in_place = source->in_place;
    atomic_store_explicit(&entry->readers, 0, memory_order_relaxed); /* the flag publishes it */
}

uintptr_t sm_direct_address(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return entry_of(self, slot, rank)->address;
}

char *sm_direct_target(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    uintptr_t target = entry_of(self, slot, rank)->target;
    /* The view of this rank itself has no shift. */
    return target != 0 ? opal_view_of(&self->peers[rank].view, target) : NULL;
}

bool sm_direct_has_targets(const sm_comm_t *self, const sm_slot_t *slot)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (entry_of(self, slot, rank)->target == 0)
            return false;
    }
    return true;
}

bool sm_direct_is_in_place(const sm_comm_t *self, const sm_slot_t *slot)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (entry_of(self, slot, rank)->in_place)
            return true;
    }
    return false;
}

int sm_direct_publish(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot)
{
    int error = sm_step_begin(self, SM_SYNC, sizeof(sm_entry_t), slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_direct_write_entry(self, slot, source);
    sm_step_publish(self, slot);
    sm_step_arrive(self, slot);
    return MPI_SUCCESS;
}

int sm_direct_first_error(const sm_comm_t *self, const sm_slot_t *slot)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; error == MPI_SUCCESS && rank < self->size; rank++)
        error = *sm_step_error(self, slot, rank);
    return error;
}

int sm_direct_await(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = sm_step_await_matching(self, slot);
    return error != MPI_SUCCESS ? error : sm_direct_first_error(self, slot);
}

int sm_direct_exchange(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot)
{
    int error = sm_direct_publish(self, source, slot);
    return error == MPI_SUCCESS ? sm_direct_await(self, slot) : error;
}

void sm_direct_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers)
{
    sm_step_all_reader_done(self, &entry_of(self, slot, rank)->readers, (uint64_t)readers, rank);
}

int sm_direct_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error)
{
    const sm_entry_t *own = entry_of(self, slot, self->rank);
    int awaited = sm_step_all_await_readers(self, &own->readers, (uint64_t)readers);
    return awaited != MPI_SUCCESS ? awaited : error;
}

int sm_direct_give(sm_comm_t *self, int root, const sm_source_t *source, sm_slot_t *slot)
{
    int error = sm_step_begin(self, SM_TO_ROOT, sizeof(sm_entry_t), slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_direct_write_entry(self, slot, source);
    return sm_step_arrive_at_root(self, slot, root);
}

int sm_direct_end(sm_comm_t *self, int root, int error)
{
    sm_slot_t end;
    int ended = sm_step_begin(self, SM_BY_ROOT, sizeof(bool), &end);
    if (ended != MPI_SUCCESS)
        return ended;
    if (self->rank == root) {
        *sm_step_own_row(self, &end) = error == SM_FALL_BACK;
        sm_step_notify(self, &end);
        return error;
    }
    ended = sm_step_await(self, &end, root);
    if ((ended == MPI_SUCCESS || ended == MPI_ERR_TRUNCATE) && *sm_step_row(self, &end, root) != 0)
        return SM_FALL_BACK;
    if (ended == MPI_SUCCESS && error == SM_FALL_BACK)
        return MPI_ERR_NO_MEM; /* the root has met another error first */
    return ended != MPI_SUCCESS ? ended : error;
}

int sm_direct_barrier(sm_comm_t *self, int error)
{
    int met = sm_step_barrier(self);
    return met != MPI_SUCCESS ? met : error;
}

/* -- reading ------------------------------------------------------------------------------- */

const char *sm_direct_reach(const sm_comm_t *self, int rank, uintptr_t from, size_t bytes,
                            char *buffer)
{
    const sm_peer_t *peer = &self->peers[rank];
    if (rank == self->rank)
        return (const char *)from;
    const char *seen = opal_view_at(&peer->view, from, bytes);
    if (seen != NULL)
        return seen;
    return opal_node_read(peer->local_rank, buffer, from, bytes) == OPAL_SUCCESS ? buffer : NULL;
}

static void unpack_claiming(ompi_data_t to, const char *packed, size_t bytes)
{
    for (size_t done = 0, now; done < bytes; done += now) {
        now = bytes - done < OPAL_CLAIM_STEP ? bytes - done : OPAL_CLAIM_STEP;
        opal_claim(packed + done, now);
        sm_unpack_piece(to, done, now, packed + done);
    }
}

/* Reads packed bytes of a peer. */
static int fetch_packed(const sm_peer_t *peer, uintptr_t from, ompi_data_t to, bool claims)
{
    static _Alignas(64) char piece[PIECE];
    size_t bytes = ompi_datatype_bytes(to.type, to.count);
    const char *seen = opal_view_at(&peer->view, from, bytes);
    if (seen != NULL && claims && opal_claim_pays(seen, bytes))
        unpack_claiming(to, seen, bytes);
    else if (seen != NULL)
        sm_unpack(to, seen);
    if (seen != NULL)
        return MPI_SUCCESS;
    if (ompi_datatype_is_contiguous(to.type)) {
        void *target = (void *)ompi_datatype_origin(to.type, to.buffer);
        opal_status_t status = opal_node_read(peer->local_rank, target, from, bytes);
        return status == OPAL_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
    for (size_t done = 0; done < bytes; done += PIECE) {
        size_t now = bytes - done < PIECE ? bytes - done : PIECE;
        if (opal_node_read(peer->local_rank, piece, from + done, now) != OPAL_SUCCESS)
            return MPI_ERR_OTHER;
        sm_unpack_piece(to, done, now, piece);
    }
    return MPI_SUCCESS;
}

/* Copies from the segments of a peer to those of `to`. */
static void fetch_laid_out(const opal_node_view_t *view, const struct iovec *from, size_t skip,
                           ompi_data_t to, bool claims)
{
    struct iovec segments[SEGMENTS];
    size_t bytes = ompi_datatype_bytes(to.type, to.count), done = 0, found;
    while (done < bytes) {
        size_t count =
            ompi_datatype_segments(to.type, to.count, to.buffer, done, segments, SEGMENTS, &found);
        for (size_t i = 0; i < count; i++) {
            for (size_t at = 0, now; at < segments[i].iov_len; at += now, skip += now) {
                for (; skip >= from->iov_len; from++)
                    skip -= from->iov_len;
                size_t left = from->iov_len - skip, room = segments[i].iov_len - at;
                now = left < room ? left : room;
                const char *seen = opal_view_of(view, (uintptr_t)from->iov_base + skip);
                if (claims)
                    opal_claim(seen, now);
                opal_copy((char *)segments[i].iov_base + at, seen, now);
            }
        }
        done += found;
    }
}

int sm_direct_fetch_from(const sm_comm_t *self, int rank, uintptr_t address, size_t segments,
                         size_t skip, ompi_data_t to, int readers)
{
    const sm_peer_t *peer = &self->peers[rank];
    bool claims = sm_claims(self, ompi_coll_bytes(to), readers);
    if (segments == 0)
        return fetch_packed(peer, address + skip, to, claims);
    const struct iovec *first = opal_view_at(&peer->view, address, segments * sizeof *first);
    if (first == NULL)
        return MPI_ERR_OTHER;
    fetch_laid_out(&peer->view, first, skip, to, claims);
    return MPI_SUCCESS;
}

int sm_direct_fetch(const sm_comm_t *self, const sm_slot_t *slot, int rank, size_t skip,
                    ompi_data_t to, int readers)
{
    const sm_entry_t *entry = entry_of(self, slot, rank);
    return sm_direct_fetch_from(self, rank, entry->address, entry->segments, skip, to, readers);
}
