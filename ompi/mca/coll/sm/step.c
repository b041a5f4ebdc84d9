/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps: slots, flags and counters, and waiting for them. sm.h explains the protocol.
 *
 * A wait reads one word of the area. It spins on the word for a short time; then it polls and
 * sleeps, as all waits of the library do. One poll function checks the words of all threads that
 * wait.
 */
#include "ompi/mca/coll/sm/step.h"

#include "opal/arch/prefetch.h"
#include "opal/process/job.h"
#include "opal/util/list.h"

enum { SPINS = 400 }; /* about as long as a peer needs that is in the same operation */

/* -- waiting ------------------------------------------------------------------------------- */

/* On the stack of the waiting thread. */
typedef struct waiter {
    opal_list_node_t node;
    sm_comm_t *self;
    const _Atomic uint64_t *word;
    uint64_t value; /* for which the thread waits */
    atomic_int done;
} waiter_t;

static opal_list_t waiters = {{&waiters.head, &waiters.head}};

static bool has_value(const _Atomic uint64_t *word, uint64_t value)
{
    return atomic_load_explicit(word, memory_order_acquire) == value;
}

/* False: a rank has failed. Under mpirun the result stays true: mpirun reports the failure and ends
 * the job, and the other ranks wait for that. */
static bool is_alive(sm_comm_t *self)
{
    unsigned deaths = opal_node_deaths();
    if (opal_likely(deaths == self->deaths))
        return self->stage == SM_READY;
    self->deaths = deaths;
    if (opal_node_launcher() != 0)
        return true;
    for (int rank = 0; rank < self->size; rank++) {
        if (opal_node_peer_is_dead(self->peers[rank].local_rank))
            self->stage = SM_BROKEN;
    }
    return self->stage == SM_READY;
}

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *node = opal_list_first(&waiters); node != NULL;
         node = opal_list_next(&waiters, node)) {
        waiter_t *waiter = opal_container_of(node, waiter_t, node);
        if (atomic_load_explicit(&waiter->done, memory_order_relaxed) != 0)
            continue;
        if (!has_value(waiter->word, waiter->value) && is_alive(waiter->self))
            continue;
        opal_wait_signal(&waiter->done);
        count++;
    }
    return count;
}

static int wait_asleep(sm_comm_t *self, const _Atomic uint64_t *word, uint64_t value)
{
    waiter_t waiter = {.self = self, .word = word, .value = value};
    if (opal_list_first(&waiters) == NULL && opal_progress_add(poll, NULL) != OPAL_SUCCESS)
        return MPI_ERR_INTERN;
    opal_list_append(&waiters, &waiter.node);
    ompi_wait_until(&waiter.done);
    opal_list_remove(&waiter.node);
    if (opal_list_first(&waiters) == NULL)
        opal_progress_remove(poll, NULL);
    return has_value(word, value) ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
}

static int wait_for(sm_comm_t *self, const _Atomic uint64_t *word, uint64_t value)
{
    int spins = opal_wait_is_oversubscribed() ? 1 : SPINS;
    while (spins-- > 0) {
        if (has_value(word, value))
            return MPI_SUCCESS;
    }
    return wait_asleep(self, word, value);
}

static opal_doorbell_t *doorbell_of(const sm_comm_t *self, int rank)
{
    return &opal_node_slot(self->peers[rank].local_rank)->doorbell;
}

static void notify_others(const sm_comm_t *self)
{
    if (self->size == 2) {
        opal_doorbell_notify(doorbell_of(self, 1 - self->rank));
        return;
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank)
            opal_doorbell_notify_fenced(doorbell_of(self, rank));
    }
}

/* -- slots --------------------------------------------------------------------------------- */

static sm_line_t *line_of(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return &self->area->lines[row][slot->half][slot->line];
}

static sm_counter_t *counter_of(const sm_comm_t *self, const sm_slot_t *slot)
{
    return &self->area->counters[slot->half][slot->line];
}

static size_t room_for(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static void take_slot(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot)
{
    *slot =
        (sm_slot_t){.step = ++self->step, .half = self->half, .line = self->line, .at = SIZE_MAX};
    slot->used = self->used;
    if (bytes > SM_INLINE) {
        slot->at = self->used;
        self->used += room_for(bytes);
    }
    if (flow != SM_BY_ROOT)
        slot->arrivals = self->arrivals[self->half][self->line] += (uint64_t)self->size;
    self->line++;
    if (flow == SM_SYNC) {
        self->half ^= 1;
        self->line = 0;
        self->used = 0;
    }
}

int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot)
{
    /* The last line is for the sync step below. Whether a slot is free depends neither on the flow
     * nor on the bytes of short data, because ranks whose calls do not match may differ in them. */
    bool has_line = self->line < SM_LINES - 1;
    size_t quarter = self->room_bytes / 4, wanted = bytes > quarter ? bytes : quarter;
    if (!has_line || (self->used > 0 && wanted > self->room_bytes - self->used)) {
        take_slot(self, SM_SYNC, 0, slot);
        int error = sm_step_sync(self, slot);
        if (error != MPI_SUCCESS)
            return error;
    }
    take_slot(self, flow, bytes, slot);
    return MPI_SUCCESS;
}

char *sm_step_line(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return line_of(self, slot, row)->bytes;
}

char *sm_step_row(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    if (slot->at == SIZE_MAX)
        return line_of(self, slot, row)->bytes;
    return self->room + (2 * (size_t)row + slot->half) * self->room_bytes + slot->at;
}

/* Touching memory that the system cannot provide would end the process by a signal. */
static void populate_row(const sm_comm_t *self, const sm_slot_t *slot, int row, bool *has_memory)
{
    if (opal_likely(*has_memory) || slot->at == SIZE_MAX)
        return;
    char *room = self->room + 2 * (size_t)row * self->room_bytes;
    if (opal_node_populate(room, 2 * self->room_bytes) != OPAL_SUCCESS)
        opal_abort(1);
    *has_memory = true;
}

char *sm_step_own_row(sm_comm_t *self, const sm_slot_t *slot)
{
    populate_row(self, slot, self->rank, &self->has_memory);
    return sm_step_row(self, slot, self->rank);
}

char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot)
{
    populate_row(self, slot, self->size, &self->has_result_memory);
    return sm_step_row(self, slot, self->size);
}

/* Fetches the line that this rank writes next, while it does something else: a store to a line that
 * a peer has read takes as long as a transfer of a line. */
static void prefetch_next(const sm_comm_t *self)
{
    opal_prefetch_write(&self->area->lines[self->rank][self->half][self->line]);
}

/* -- flows --------------------------------------------------------------------------------- */

static void set_flag(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    atomic_store_explicit(&line_of(self, slot, row)->flag, slot->step, memory_order_release);
}

static int await_flag(sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return wait_for(self, &line_of(self, slot, row)->flag, slot->step);
}

/* True: this rank is the last one. */
static bool add_arrival(const sm_comm_t *self, const sm_slot_t *slot)
{
    uint64_t before =
        atomic_fetch_add_explicit(&counter_of(self, slot)->count, 1, memory_order_acq_rel);
    return before + 1 == slot->arrivals;
}

static int await_all(sm_comm_t *self, const sm_slot_t *slot)
{
    return wait_for(self, &counter_of(self, slot)->count, slot->arrivals);
}

/* Called before the flag or the count that publishes this rank's row. */
static void write_signature(const sm_comm_t *self, const sm_slot_t *slot)
{
    if (self->signature != 0)
        line_of(self, slot, self->rank)->signature = self->signature;
}

void sm_step_arrive(sm_comm_t *self, const sm_slot_t *slot)
{
    write_signature(self, slot);
    if (!sm_has_counters(self))
        set_flag(self, slot, self->rank);
    else if (!add_arrival(self, slot))
        return;
    notify_others(self);
}

int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot)
{
    if (sm_has_counters(self))
        return await_all(self, slot);
    int error = await_flag(self, slot, 1 - self->rank);
    prefetch_next(self);
    return error;
}

int sm_step_sync(sm_comm_t *self, const sm_slot_t *slot)
{
    sm_step_arrive(self, slot);
    return sm_step_await_all(self, slot);
}

int sm_step_barrier(sm_comm_t *self)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, 0, &slot);
    return error == MPI_SUCCESS ? sm_step_sync(self, &slot) : error;
}

bool sm_step_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return line_of(self, slot, rank)->signature == self->signature;
}

/* A rank that waits for a result gets the error instead. */
int sm_step_compare(sm_comm_t *self, const sm_slot_t *slot)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (opal_likely(sm_step_matches(self, slot, rank)))
            continue;
        sm_step_publish_result(self, slot, MPI_ERR_TRUNCATE);
        return MPI_ERR_TRUNCATE;
    }
    /* All signatures are equal, so if this rank has a mismatch, all have one. */
    return (self->signature & SM_MISMATCH) != 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void sm_step_publish(const sm_comm_t *self, const sm_slot_t *slot)
{
    write_signature(self, slot);
    set_flag(self, slot, self->rank);
}

bool sm_step_is_published(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return has_value(&line_of(self, slot, rank)->flag, slot->step);
}

void sm_step_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner)
{
    if (atomic_fetch_add_explicit(readers, 1, memory_order_acq_rel) + 1 == all)
        opal_doorbell_notify(doorbell_of(self, owner));
}

int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all)
{
    return wait_for(self, readers, all);
}

void sm_step_all_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all,
                             int owner)
{
    if (sm_has_counters(self))
        sm_step_reader_done(self, readers, all, owner);
}

int sm_step_all_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all)
{
    return sm_has_counters(self) ? sm_step_await_readers(self, readers, all)
                                 : sm_step_barrier(self);
}

bool sm_step_count_in(sm_comm_t *self, const sm_slot_t *slot)
{
    write_signature(self, slot);
    return add_arrival(self, slot);
}

int *sm_step_error(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return (int *)(void *)sm_step_line(self, slot, row);
}

void sm_step_publish_result(sm_comm_t *self, const sm_slot_t *slot, int error)
{
    *sm_step_error(self, slot, self->size) = error;
    set_flag(self, slot, self->size);
    notify_others(self);
}

int sm_step_await_result(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = await_flag(self, slot, self->size);
    return error == MPI_SUCCESS ? *sm_step_error(self, slot, self->size) : error;
}

int sm_step_arrive_at_root(sm_comm_t *self, const sm_slot_t *slot, int root)
{
    write_signature(self, slot);
    if (!sm_has_counters(self) && self->rank == root)
        return await_flag(self, slot, 1 - root);
    if (!sm_has_counters(self))
        set_flag(self, slot, self->rank);
    else if (!add_arrival(self, slot))
        return self->rank == root ? await_all(self, slot) : MPI_SUCCESS;
    if (self->rank != root)
        opal_doorbell_notify(doorbell_of(self, root));
    return MPI_SUCCESS;
}

int sm_step_report(sm_comm_t *self, int root, bool compares)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_TO_ROOT, 0, &slot);
    if (error == MPI_SUCCESS)
        error = sm_step_arrive_at_root(self, &slot, root);
    if (error == MPI_SUCCESS && compares && self->rank == root)
        error = sm_step_compare(self, &slot);
    return error;
}

void sm_step_notify(sm_comm_t *self, const sm_slot_t *slot)
{
    write_signature(self, slot);
    set_flag(self, slot, self->rank);
    notify_others(self);
}

int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root)
{
    int error = await_flag(self, slot, root);
    prefetch_next(self);
    if (opal_unlikely(error == MPI_SUCCESS && self->signature != 0 &&
                      !sm_step_matches(self, slot, root)))
        error = MPI_ERR_TRUNCATE;
    return error;
}

sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return line_of(self, slot, rank)->signature % SM_PROTOCOLS;
}

int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root)
{
    size_t bytes = (size_t)(line_of(self, slot, root)->signature / SM_PROTOCOLS / 2);
    int error = MPI_SUCCESS;
    self->used = slot->used;
    switch (sm_step_protocol(self, slot, root)) {
    case SM_SHORT:
        self->used += bytes > SM_INLINE ? room_for(bytes) : 0;
        break;
    case SM_DIRECT:
        slot->at = SIZE_MAX; /* the entry is in the line */
        error = *sm_step_error(self, slot, root);
        if (error == MPI_SUCCESS)
            error = sm_step_report(self, root, false);
        break;
    case SM_HALVES:
        self->half ^= 1;
        self->line = 0;
        self->used = 0;
        sm_step_arrive(self, slot);
        break;
    default:
        break;
    }
    return error != MPI_SUCCESS ? error : MPI_ERR_TRUNCATE;
}
