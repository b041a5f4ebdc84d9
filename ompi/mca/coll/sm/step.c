/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps: places, flags and counters, and waiting for them. sm.h explains the protocol.
 *
 * A wait looks at one word of the area. It looks for a short time; then it polls everything and
 * sleeps, as all waits of the library do, with the word among what is polled. There is one poll
 * function for all threads that wait.
 */
#include "ompi/mca/coll/sm/sm.h"

#include "opal/arch/prefetch.h"
#include "opal/process/job.h"
#include "opal/util/list.h"

enum { LOOKS = 400 }; /* about as long as a peer needs that is there already */

/* -- waiting ------------------------------------------------------------------------------- */

/* On the stack of the thread that waits. */
typedef struct waiter {
    opal_list_node_t node;
    sm_comm_t *self;
    const _Atomic uint64_t *word;
    uint64_t value; /* that it waits for */
    atomic_int done;
} waiter_t;

static opal_list_t waiters = {{&waiters.head, &waiters.head}};

static bool has_value(const _Atomic uint64_t *word, uint64_t value)
{
    return atomic_load_explicit(word, memory_order_acquire) == value;
}

/* Whether the communicator can go on. Where mpirun watches, it ends the job and says who has died:
 * the others wait for that, as those do who wait for a message. */
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

static int wait_slowly(sm_comm_t *self, const _Atomic uint64_t *word, uint64_t value)
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
    int looks = opal_wait_is_oversubscribed() ? 1 : LOOKS;
    while (looks-- > 0) {
        if (has_value(word, value))
            return MPI_SUCCESS;
    }
    return wait_slowly(self, word, value);
}

static opal_doorbell_t *doorbell_of(const sm_comm_t *self, int rank)
{
    return &opal_node_slot(self->peers[rank].local_rank)->doorbell;
}

static void ring_others(const sm_comm_t *self)
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

/* -- places -------------------------------------------------------------------------------- */

static sm_line_t *line_of(const sm_comm_t *self, const sm_place_t *place, int row)
{
    return &self->area->lines[row][place->half][place->line];
}

static sm_counter_t *counter_of(const sm_comm_t *self, const sm_place_t *place)
{
    return &self->area->counters[place->half][place->line];
}

static size_t room_for(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static void take_place(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_place_t *place)
{
    *place =
        (sm_place_t){.step = ++self->step, .half = self->half, .line = self->line, .at = SIZE_MAX};
    place->used = self->used;
    if (bytes > SM_INLINE) {
        place->at = self->used;
        self->used += room_for(bytes);
    }
    if (flow != SM_BY_ROOT)
        place->arrivals = self->arrivals[self->half][self->line] += (uint64_t)self->size;
    self->line++;
    if (flow == SM_SYNC) {
        self->half ^= 1;
        self->line = 0;
        self->used = 0;
    }
}

int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_place_t *place)
{
    /* The last line is for a sync step. Whether there is room does not depend on the bytes of
     * short data, of which ranks may think differently; nor does it on the flow between two. */
    bool has_line = self->line < SM_LINES - 1 || (flow == SM_SYNC && self->size > 2);
    size_t quarter = self->room_bytes / 4, wanted = bytes > quarter ? bytes : quarter;
    if (!has_line || (self->used > 0 && wanted > self->room_bytes - self->used)) {
        take_place(self, SM_SYNC, 0, place);
        int error = sm_step_meet(self, place);
        if (error != MPI_SUCCESS)
            return error;
    }
    take_place(self, flow, bytes, place);
    return MPI_SUCCESS;
}

char *sm_step_line(const sm_comm_t *self, const sm_place_t *place, int row)
{
    return line_of(self, place, row)->bytes;
}

char *sm_step_row(const sm_comm_t *self, const sm_place_t *place, int row)
{
    if (place->at == SIZE_MAX)
        return line_of(self, place, row)->bytes;
    return self->room + (2 * (size_t)row + place->half) * self->room_bytes + place->at;
}

/* Memory that is missing when it is touched would be a signal. There is no going on without. */
static void touch(const sm_comm_t *self, const sm_place_t *place, int row, bool *has_memory)
{
    if (opal_likely(*has_memory) || place->at == SIZE_MAX)
        return;
    char *room = self->room + 2 * (size_t)row * self->room_bytes;
    if (opal_node_populate(room, 2 * self->room_bytes) != OPAL_SUCCESS)
        opal_abort(1);
    *has_memory = true;
}

char *sm_step_own_row(sm_comm_t *self, const sm_place_t *place)
{
    touch(self, place, self->rank, &self->has_memory);
    return sm_step_row(self, place, self->rank);
}

char *sm_step_result_row(sm_comm_t *self, const sm_place_t *place)
{
    touch(self, place, self->size, &self->has_result_memory);
    return sm_step_row(self, place, self->size);
}

/* The line that this rank writes next comes to this core while it does something else: to store to
 * a line that a peer has read takes as long as to send one. */
static void expect_next(const sm_comm_t *self)
{
    opal_prefetch_write(&self->area->lines[self->rank][self->half][self->line]);
}

/* -- flows --------------------------------------------------------------------------------- */

static void set_flag(const sm_comm_t *self, const sm_place_t *place, int row)
{
    atomic_store_explicit(&line_of(self, place, row)->flag, place->step, memory_order_release);
}

static int await_flag(sm_comm_t *self, const sm_place_t *place, int row)
{
    return wait_for(self, &line_of(self, place, row)->flag, place->step);
}

/* True: this rank is the last one. */
static bool count_in(const sm_comm_t *self, const sm_place_t *place)
{
    uint64_t before =
        atomic_fetch_add_explicit(&counter_of(self, place)->count, 1, memory_order_acq_rel);
    return before + 1 == place->arrivals;
}

static int await_all(sm_comm_t *self, const sm_place_t *place)
{
    return wait_for(self, &counter_of(self, place)->count, place->arrivals);
}

/* In our row, before the flag or the count that publishes it. */
static void say(const sm_comm_t *self, const sm_place_t *place)
{
    if (self->given != 0)
        line_of(self, place, self->rank)->given = self->given;
}

void sm_step_come(sm_comm_t *self, const sm_place_t *place)
{
    say(self, place);
    if (self->size == 2)
        set_flag(self, place, self->rank);
    else if (!count_in(self, place))
        return;
    ring_others(self);
}

int sm_step_await_all(sm_comm_t *self, const sm_place_t *place)
{
    if (self->size > 2)
        return await_all(self, place);
    int error = await_flag(self, place, 1 - self->rank);
    expect_next(self);
    return error;
}

int sm_step_meet(sm_comm_t *self, const sm_place_t *place)
{
    sm_step_come(self, place);
    return sm_step_await_all(self, place);
}

bool sm_step_is_alike(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return line_of(self, place, rank)->given == self->given;
}

/* A rank that thinks that another one computes a result gets the error instead. */
int sm_step_compare(sm_comm_t *self, const sm_place_t *place)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (opal_likely(sm_step_is_alike(self, place, rank)))
            continue;
        if (self->size > 2)
            sm_step_tell_result(self, place, MPI_ERR_TRUNCATE);
        return MPI_ERR_TRUNCATE;
    }
    /* What is said of a call that does not fit is the same in all ranks, if it is in one. */
    return (self->given / SM_WAYS & 1) != 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void sm_step_show(const sm_comm_t *self, const sm_place_t *place)
{
    say(self, place);
    set_flag(self, place, self->rank);
}

bool sm_step_is_shown(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return has_value(&line_of(self, place, rank)->flag, place->step);
}

void sm_step_take_leave(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner)
{
    if (atomic_fetch_add_explicit(readers, 1, memory_order_acq_rel) + 1 == all)
        opal_doorbell_notify(doorbell_of(self, owner));
}

int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all)
{
    return wait_for(self, readers, all);
}

bool sm_step_arrive(sm_comm_t *self, const sm_place_t *place)
{
    say(self, place);
    return count_in(self, place);
}

static int *result_error(const sm_comm_t *self, const sm_place_t *place)
{
    return (int *)(void *)sm_step_line(self, place, self->size);
}

void sm_step_tell_result(sm_comm_t *self, const sm_place_t *place, int error)
{
    *result_error(self, place) = error;
    set_flag(self, place, self->size);
    ring_others(self);
}

int sm_step_await_result(sm_comm_t *self, const sm_place_t *place)
{
    int error = await_flag(self, place, self->size);
    return error == MPI_SUCCESS ? *result_error(self, place) : error;
}

int sm_step_give(sm_comm_t *self, const sm_place_t *place, int root)
{
    say(self, place);
    if (self->size == 2 && self->rank == root)
        return await_flag(self, place, 1 - root);
    if (self->size == 2)
        set_flag(self, place, self->rank);
    else if (!count_in(self, place))
        return self->rank == root ? await_all(self, place) : MPI_SUCCESS;
    if (self->rank != root)
        opal_doorbell_notify(doorbell_of(self, root));
    return MPI_SUCCESS;
}

int sm_step_report(sm_comm_t *self, int root, bool compares)
{
    sm_place_t place;
    int error = sm_step_begin(self, SM_TO_ROOT, 0, &place);
    if (error == MPI_SUCCESS)
        error = sm_step_give(self, &place, root);
    if (error == MPI_SUCCESS && compares && self->rank == root)
        error = sm_step_compare(self, &place);
    return error;
}

void sm_step_tell(sm_comm_t *self, const sm_place_t *place)
{
    say(self, place);
    set_flag(self, place, self->rank);
    ring_others(self);
}

int sm_step_await(sm_comm_t *self, const sm_place_t *place, int root)
{
    int error = await_flag(self, place, root);
    expect_next(self);
    if (opal_unlikely(error == MPI_SUCCESS && self->given != 0 &&
                      !sm_step_is_alike(self, place, root)))
        error = MPI_ERR_TRUNCATE;
    return error;
}

sm_way_t sm_step_way(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return line_of(self, place, rank)->given % SM_WAYS;
}

int sm_step_follow(sm_comm_t *self, sm_place_t *place, int root)
{
    size_t bytes = (size_t)(line_of(self, place, root)->given / SM_WAYS / 2);
    int error = MPI_SUCCESS;
    self->used = place->used;
    switch (sm_step_way(self, place, root)) {
    case SM_SHORT:
        self->used += bytes > SM_INLINE ? room_for(bytes) : 0;
        break;
    case SM_DIRECT:
        place->at = SIZE_MAX; /* where its entry is */
        error = sm_direct_error(self, place, root);
        if (error == MPI_SUCCESS)
            error = sm_step_report(self, root, false);
        break;
    case SM_HALVES:
        self->half ^= 1;
        self->line = 0;
        self->used = 0;
        sm_step_come(self, place);
        break;
    default:
        break;
    }
    return error != MPI_SUCCESS ? error : MPI_ERR_TRUNCATE;
}
