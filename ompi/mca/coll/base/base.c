/* SPDX-License-Identifier: BSD-3-Clause */
/* The coll framework object, and the dispatch of calls: the first chosen component that takes a
 * call carries it out. */
#include "ompi/mca/coll/base/base.h"

#include <stdlib.h>

#include "opal/node/node.h"
#include "opal/profile/profile.h"
#include "ompi/handle/handle.h"
#include "ompi/check/left.h"
#include "ompi/mca/coll/base/check.h"
#include "ompi/mca/coll/base/counts.h"

static const opal_slot_t coll_slots[] = {
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, run),      OPAL_SLOT_REQUIRED(ompi_coll_ops_t, build),
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, comm_add), OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, comm_remove),
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, explain),  {0},
};

opal_framework_t mca_coll_framework = {
    .name = "coll",
    .prose = "collective operations",
    .pvars = ompi_coll_pvars,
    .slots = coll_slots,
    .takes_all = true,
};

/* The number of chosen components, which are the first candidates, best first. comm->coll is an
 * array of their states, in this order. */
static size_t chosen_count;
static ompi_coll_counts_t **counts; /* of the same components */

void ompi_coll_start(void)
{
    chosen_count = 0;
    while (chosen_count < mca_coll_framework.candidate_count &&
           mca_coll_framework.candidates[chosen_count].state == OPAL_CANDIDATE_CHOSEN)
        chosen_count++;
    counts = opal_xrealloc(counts, (chosen_count + 1) * sizeof *counts);
    for (size_t i = 0; i < chosen_count; i++)
        counts[i] = ompi_coll_counts_of(mca_coll_framework.candidates[i].name);
}

static const char *algorithm = ""; /* that the component has told; under ompi_lock */

void ompi_coll_note_algorithm(const ompi_coll_call_t *call, const char *name)
{
    if (call->comm->parent == NULL)
        algorithm = name;
}

/* For mpi_profile. */
OPAL_NOINLINE static void profile_call(const ompi_coll_call_t *call, size_t i)
{
    MPI_Count bytes = ompi_coll_describe(call, OMPI_EVENT_BLOCKING).bytes;
    opal_profile_collective(mca_coll_framework.candidates[i].name, algorithm, (uint64_t)bytes);
    algorithm = "";
}

/* The component at that index carries out a call of the program. It may leave that to another. */
static inline void count_call(const ompi_coll_call_t *call, size_t i)
{
    if (opal_unlikely(call->comm->parent != NULL))
        return;
    opal_count(&(*counts[i])[call->kind], 1);
    if (opal_unlikely(opal_profile_is_on))
        profile_call(call, i);
}

static const ompi_coll_ops_t *ops_at(size_t i)
{
    return mca_coll_framework.candidates[i].answer.ops;
}

bool ompi_coll_is_on_node(const ompi_communicator_t *comm)
{
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        if (!opal_node_has(ompi_comm_process(comm, rank)))
            return false;
    }
    return true;
}

/* -- communicators ------------------------------------------------------------------- */

static void remove_first(ompi_communicator_t *comm, size_t count)
{
    void **states = comm->coll;
    for (size_t i = count; i > 0; i--) {
        if (ops_at(i - 1)->comm_remove != NULL)
            ops_at(i - 1)->comm_remove(comm, states[i - 1]);
    }
    free(states);
    comm->coll = NULL;
}

int ompi_coll_comm_add(ompi_communicator_t *comm)
{
    void **states = calloc(chosen_count, sizeof *states);
    comm->coll = states;
    ompi_check_comm_add(comm);
    if (comm->parent == NULL) /* making a child may have spent it just now */
        ompi_schedule_fill_reserve();
    if (states == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < chosen_count; i++) {
        if (ops_at(i)->comm_add == NULL)
            continue;
        int error = ops_at(i)->comm_add(comm, &states[i]);
        if (error != MPI_SUCCESS) {
            remove_first(comm, i);
            return error;
        }
    }
    return MPI_SUCCESS;
}

void ompi_coll_comm_remove(ompi_communicator_t *comm)
{
    remove_first(comm, chosen_count);
}

/* -- calls --------------------------------------------------------------------------- */

/* Whether the component at that index works in the communicator at all. */
static bool has_part_in(const ompi_communicator_t *comm, size_t i)
{
    void *const *states = comm->coll;
    return states[i] != NULL || ops_at(i)->comm_add == NULL;
}

/* Asks the components in their order, from the index *by on, which becomes that of the component.
 */
static int build_by(const ompi_coll_call_t *call, size_t *by, ompi_schedule_t *schedule)
{
    void *const *states = call->comm->coll;
    for (size_t i = *by; i < chosen_count; i++) {
        bool taken = true;
        if (!has_part_in(call->comm, i))
            continue;
        int error = ops_at(i)->build(call, states[i], schedule, &taken);
        *by = i;
        if (taken)
            return error;
    }
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int build(const ompi_coll_call_t *call, size_t first, ompi_schedule_t *schedule)
{
    return build_by(call, &first, schedule);
}

static size_t index_of(const ompi_communicator_t *comm, const void *state)
{
    void *const *states = comm->coll;
    size_t i = 0;
    while (states[i] != state)
        i++;
    return i;
}

void *ompi_coll_state(const ompi_communicator_t *comm, const ompi_coll_ops_t *ops)
{
    void *const *states = comm->coll;
    size_t i = 0;
    while (i < chosen_count && ops_at(i) != ops)
        i++;
    return i < chosen_count ? states[i] : NULL;
}

int ompi_coll_build_behind(const ompi_coll_call_t *call, const void *state,
                           ompi_schedule_t *schedule)
{
    return build(call, index_of(call->comm, state) + 1, schedule);
}

/* Whether a blocking call by messages is watched. Not where messages are the usual way and the
 * check is to be cheap: a message of a watched schedule takes a request. */
static bool is_worth_watching(const ompi_communicator_t *comm, size_t first)
{
    void *const *states = comm->coll;
    bool is_usual = true;
    for (size_t i = 0; i < first; i++)
        is_usual = is_usual && states[i] == NULL;
    return comm->is_checked && (!is_usual || ompi_check_level == OMPI_CHECK_FULL);
}

/* Runs the schedule of the first component from the index *by on that takes the call. */
static int run_schedule(const ompi_coll_call_t *call, size_t *by)
{
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, call->comm, call->op);
    schedule.error = call->error;
    bool is_watched = is_worth_watching(call->comm, *by);
    int error = build_by(call, by, &schedule);
    if (is_watched)
        ompi_schedule_watch(&schedule, call->comm->checked);
    if (call->comm->parent != NULL)
        schedule.is_exact = schedule.relays = true;
    if (error == MPI_SUCCESS)
        error = ompi_schedule_run(&schedule);
    ompi_schedule_fini(&schedule);
    if (is_watched && error == MPI_SUCCESS)
        error = ompi_check_compare(call->comm, call->comm->checked);
    return error;
}

int ompi_coll_run_schedule(const ompi_coll_call_t *call, const void *state)
{
    size_t by = index_of(call->comm, state);
    return run_schedule(call, &by);
}

static int run(const ompi_coll_call_t *call)
{
    void *const *states = call->comm->coll;
    for (size_t i = 0; i < chosen_count; i++) {
        bool taken = true;
        if (!has_part_in(call->comm, i))
            continue;
        size_t by = i;
        int error = ops_at(i)->run != NULL ? ops_at(i)->run(call, states[i], &taken)
                                           : run_schedule(call, &by);
        if (!taken)
            continue;
        count_call(call, by);
        return error;
    }
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

/* -- for a person who asks what goes on ----------------------------------------------------------
 */

static _Thread_local const ompi_coll_call_t *running __attribute__((tls_model("initial-exec")));

const ompi_coll_call_t *ompi_coll_running(void)
{
    return running;
}

static bool has_root(const ompi_coll_call_t *call)
{
    ompi_coll_kind_t kind = call->kind;
    return !ompi_comm_is_inter(call->comm) &&
           (kind == OMPI_BCAST || kind == OMPI_REDUCE || kind == OMPI_GATHER ||
            kind == OMPI_GATHERV || kind == OMPI_SCATTER || kind == OMPI_SCATTERV);
}

/* The bytes that must be the same at all ranks. */
static size_t common_bytes(const ompi_coll_call_t *call)
{
    bool is_equal = call->kind == OMPI_BCAST || call->kind == OMPI_ALLREDUCE ||
                    call->kind == OMPI_REDUCE || call->kind == OMPI_SCAN ||
                    call->kind == OMPI_EXSCAN;
    const ompi_coll_side_t *side = call->send.type != NULL ? &call->send : &call->recv;
    if (!is_equal || side->type == NULL || ompi_comm_is_inter(call->comm))
        return SIZE_MAX;
    return ompi_datatype_bytes(side->type, (size_t)side->count);
}

static void note(const ompi_coll_call_t *call)
{
    ompi_comm_call_t noted = {.name = ompi_check_kind_name(call->kind),
                              .root = has_root(call) ? call->root : -1,
                              .bytes = common_bytes(call)};
    ompi_comm_note_call(call->comm, &noted);
}

/* Of calls within calls, the outermost is the program's. */
static int run_visibly(const ompi_coll_call_t *call)
{
    if (running != NULL)
        return run(call);
    note(call);
    running = call;
    int error = run(call);
    running = NULL;
    return error;
}

int ompi_coll_run(const ompi_coll_call_t *call)
{
    ompi_communicator_t *comm = call->comm;
    if (!comm->is_checked)
        return run_visibly(call);
    int error = ompi_coll_check_begin(call, OMPI_CHECK_BLOCKING);
    if (error == MPI_SUCCESS && ompi_check_meets(comm))
        error = ompi_coll_check_meet(comm);
    uint64_t number = comm->checked;
    return error == MPI_SUCCESS ? ompi_coll_check_end(comm, number, run_visibly(call)) : error;
}

const char *ompi_coll_explain(const ompi_coll_call_t *call, const char **component)
{
    void *const *states = call->comm->coll;
    for (size_t i = 0; i < chosen_count; i++) {
        if (!has_part_in(call->comm, i) || ops_at(i)->explain == NULL)
            continue;
        const char *algorithm = ops_at(i)->explain(call, states[i]);
        *component = mca_coll_framework.candidates[i].name;
        if (algorithm != NULL)
            return algorithm;
    }
    return NULL;
}

int ompi_coll_build(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    return build(call, 0, schedule);
}

static int create(const ompi_coll_call_t *call, ompi_schedule_t *schedule, ompi_request_t **request)
{
    if (schedule == NULL)
        return MPI_ERR_NO_MEM;
    size_t by = 0;
    if (ompi_check_meets(call->comm) && !schedule->request.persistent)
        ompi_coll_check_meet_first(schedule, call->comm);
    int error = build_by(call, &by, schedule);
    count_call(call, by);
    note(call);
    schedule->begun = call->comm->calls;
    schedule->is_described =
        schedule->request.persistent ||
        ompi_event_is_either_wanted(OMPI_EVENT_COLLECTIVE_BEGUN, OMPI_EVENT_COLLECTIVE_ENDED);
    if (schedule->is_described)
        schedule->event = ompi_coll_describe(
            call, schedule->request.persistent ? OMPI_EVENT_PERSISTENT : OMPI_EVENT_NONBLOCKING);
    /* A nonblocking schedule that lacks memory for its steps starts all the same, because other
     * ranks wait for its messages. A persistent one is not made. */
    if (error == MPI_SUCCESS && schedule->request.persistent)
        error = schedule->error;
    if (error == MPI_SUCCESS && call->comm->is_checked && !schedule->request.persistent)
        ompi_schedule_watch(schedule, call->comm->checked);
    if (error != MPI_SUCCESS) {
        ompi_schedule_drop(schedule);
        return error;
    }
    *request = ompi_schedule_request(schedule);
    return ompi_check_begun(MPI_SUCCESS, request);
}

int ompi_coll_begin(const ompi_coll_call_t *call, ompi_request_t **request)
{
    int error = MPI_SUCCESS;
    if (call->comm->is_checked)
        error = ompi_coll_check_begin(call, OMPI_CHECK_NONBLOCKING);
    if (error != MPI_SUCCESS)
        return error;
    return create(call, ompi_schedule_create(call->comm, call->op), request);
}

/* In an intercommunicator an allreduce gives each group the words of the remote group. So a second
 * one gives each group what the remote group has combined. */
static int combine(ompi_communicator_t *comm, uint64_t words[], int count)
{
    uint64_t others[OMPI_COMM_NUMBERS / 64] = {0};
    ompi_coll_call_t call = {
        .kind = OMPI_ALLREDUCE,
        .comm = comm,
        .send = {.buffer = words},
        .recv = {.buffer = others, .count = count, .type = ompi_datatype_of(MPI_UINT64_T)},
        .op = ompi_handle_object(MPI_BOR),
    };
    for (int round = ompi_comm_is_inter(comm) ? 0 : 1; round < 2; round++) {
        int error = ompi_coll_run(&call);
        if (error != MPI_SUCCESS)
            return error;
        for (int i = 0; i < count; i++)
            words[i] |= others[i];
    }
    return MPI_SUCCESS;
}

int ompi_coll_prepare(const ompi_coll_call_t *call, ompi_request_t **request)
{
    uint32_t number;
    int error = MPI_SUCCESS;
    if (call->comm->is_checked)
        error = ompi_coll_check_begin(call, OMPI_CHECK_PERSISTENT);
    if (error == MPI_SUCCESS && ompi_check_meets(call->comm))
        error = ompi_coll_check_meet(call->comm);
    if (error == MPI_SUCCESS)
        error = ompi_schedule_take_number(call->comm, combine, &number);
    if (error != MPI_SUCCESS)
        return error;
    return create(call, ompi_schedule_create_persistent(call->comm, call->op, number), request);
}
