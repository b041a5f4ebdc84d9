/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps: slots, flags and counters, and waiting for them. sm.h explains the protocol.
 *
 * A wait reads one word of the area. It spins on the word for a short time; then it polls and
 * sleeps, as all waits of the library do. One poll function checks the words of all threads that
 * wait.
 */
#include "ompi/mca/coll/sm/step.h"

#include "opal/process/job.h"
#include "opal/util/list.h"

enum {
    SPINS = 400, /* about as long as a peer needs that is in the same operation */
    POPULATED_STEP = 64 << 10,
};

/* -- waiting ------------------------------------------------------------------------------- */

/* On the stack of the waiting thread. */
typedef struct waiter {
    opal_list_node_t node;
    sm_comm_t *self;
    const _Atomic uint64_t *word;
    uint64_t value; /* for which the thread waits */
    ompi_check_wait_t check;
    int error; /* why it waits in vain */
    atomic_int done;
} waiter_t;

static opal_list_t waiters = {{&waiters.head, &waiters.head}};

bool sm_step_is_alive(sm_comm_t *self)
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

/* Whether the wait is over. */
static bool look(waiter_t *waiter)
{
    sm_comm_t *self = waiter->self;
    if (sm_has_value(waiter->word, waiter->value))
        return true;
    if (!sm_step_is_alive(self))
        waiter->error = MPI_ERR_PROC_ABORTED;
    else if (self->comm->is_checked)
        waiter->error = ompi_check_wait(self->comm, self->comm->checked, &waiter->check);
    return waiter->error != MPI_SUCCESS;
}

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *node = opal_list_first(&waiters); node != NULL;
         node = opal_list_next(&waiters, node)) {
        waiter_t *waiter = opal_container_of(node, waiter_t, node);
        if (atomic_load_explicit(&waiter->done, memory_order_relaxed) != 0)
            continue;
        if (!look(waiter))
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
    return waiter.error;
}

int sm_step_wait(sm_comm_t *self, const _Atomic uint64_t *word, uint64_t value)
{
    if (sm_has_value(word, value))
        return MPI_SUCCESS;
    for (int spins = opal_wait_is_oversubscribed() ? 0 : SPINS; spins > 0; spins--) {
        if (sm_has_value(word, value))
            return MPI_SUCCESS;
    }
    return wait_asleep(self, word, value);
}

void sm_step_notify_many(const sm_comm_t *self)
{
    atomic_thread_fence(memory_order_seq_cst);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank)
            opal_doorbell_notify_fenced(self->peers[rank].doorbell);
    }
}

/* -- slots --------------------------------------------------------------------------------- */

int sm_step_leave_half(sm_comm_t *self)
{
    sm_slot_t slot;
    sm_step_take_slot(self, SM_SYNC, 0, &slot);
    return sm_step_sync(self, &slot);
}

/* Touching memory that the system cannot provide would end the process by a signal. */
void sm_step_populate(sm_comm_t *self, const sm_slot_t *slot, int row, size_t *populated)
{
    char *room = self->room + 2 * (size_t)row * self->room_bytes;
    size_t end = (slot->end + POPULATED_STEP - 1) & ~(size_t)(POPULATED_STEP - 1);
    end = end < self->room_bytes ? end : self->room_bytes;
    for (int half = 0; half < 2; half++) {
        char *begin = room + (size_t)half * self->room_bytes + *populated;
        if (opal_node_populate(begin, end - *populated) != OPAL_SUCCESS)
            opal_abort(1);
    }
    *populated = end;
}

char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot)
{
    if (opal_unlikely(slot->at != SIZE_MAX && slot->end > self->result_memory_bytes))
        sm_step_populate(self, slot, self->size, &self->result_memory_bytes);
    return sm_step_row(self, slot, self->size);
}

/* -- flows --------------------------------------------------------------------------------- */

static sm_counter_t *counter_of(const sm_comm_t *self, const sm_slot_t *slot)
{
    return &self->area->counters[slot->half][slot->line];
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
    return sm_step_wait(self, &counter_of(self, slot)->count, slot->arrivals);
}

void sm_step_count_arrival(sm_comm_t *self, const sm_slot_t *slot)
{
    if (add_arrival(self, slot))
        sm_step_notify_many(self);
}

int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot)
{
    if (sm_has_counters(self))
        return await_all(self, slot);
    int error = sm_step_await_flag(self, slot, 1 - self->rank);
    sm_step_prefetch_next(self);
    return error;
}

int sm_step_barrier(sm_comm_t *self)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, 0, &slot);
    return error == MPI_SUCCESS ? sm_step_sync(self, &slot) : error;
}

bool sm_step_agrees(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    uint64_t others = sm_step_signature(self, slot, rank) ^ self->signature;
    return (others & ((UINT64_C(1) << SM_DIGEST_AT) - 1)) == 0 && self->comm->is_checked &&
           ompi_check_agrees(self->comm, self->comm->checked, rank);
}

int sm_step_differ(sm_comm_t *self)
{
    ompi_communicator_t *comm = self->comm;
    int error = ompi_check_compare(comm, comm->checked);
    return comm->check_error != MPI_SUCCESS ? error : MPI_ERR_TRUNCATE;
}

/* A rank that waits for a result gets the error instead. */
int sm_step_refuse(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = sm_step_differ(self);
    sm_step_publish_result(self, slot, error);
    return error;
}

void sm_step_publish(const sm_comm_t *self, const sm_slot_t *slot)
{
    sm_step_write_signature(self, slot);
    sm_step_set_flag(self, slot, self->rank);
}

bool sm_step_is_published(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return sm_has_value(&sm_line_of(self, slot, rank)->flag, slot->step);
}

void sm_step_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner)
{
    if (atomic_fetch_add_explicit(readers, 1, memory_order_acq_rel) + 1 == all)
        opal_doorbell_notify(self->peers[owner].doorbell);
}

int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all)
{
    return sm_step_wait(self, readers, all);
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
    sm_step_write_signature(self, slot);
    return add_arrival(self, slot);
}

void sm_step_publish_result(sm_comm_t *self, const sm_slot_t *slot, int error)
{
    *sm_step_error(self, slot, self->size) = error;
    sm_step_set_flag(self, slot, self->size);
    sm_step_notify_others(self);
}

int sm_step_await_result(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = sm_step_await_flag(self, slot, self->size);
    return error == MPI_SUCCESS ? *sm_step_error(self, slot, self->size) : error;
}

int sm_step_arrive_at_root(sm_comm_t *self, const sm_slot_t *slot, int root)
{
    sm_step_write_signature(self, slot);
    if (!sm_has_counters(self) && self->rank == root)
        return sm_step_await_flag(self, slot, 1 - root);
    if (!sm_has_counters(self))
        sm_step_set_flag(self, slot, self->rank);
    else if (!add_arrival(self, slot))
        return self->rank == root ? await_all(self, slot) : MPI_SUCCESS;
    if (self->rank != root)
        opal_doorbell_notify(self->peers[root].doorbell);
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

int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root)
{
    int error = sm_step_await_flag(self, slot, root);
    sm_step_prefetch_next(self);
    if (opal_unlikely(error == MPI_SUCCESS && self->signature != 0 &&
                      !sm_step_matches(self, slot, root)))
        error = sm_step_differ(self);
    return error;
}

sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return sm_step_signature(self, slot, rank) % SM_PROTOCOLS;
}

int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root)
{
    size_t bytes = sm_signature_bytes(sm_step_signature(self, slot, root));
    int error = MPI_SUCCESS;
    self->used = slot->used;
    switch (sm_step_protocol(self, slot, root)) {
    case SM_SHORT:
        self->used += bytes > SM_INLINE ? sm_room_for(bytes) : 0;
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
