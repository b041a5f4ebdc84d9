/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of one-sided operations, against a model.
 *
 *   win_random [WORD...] SEED SECONDS
 *
 * Each round makes a window of a random flavor over a random communicator, and runs epochs in it
 * with random synchronization. All ranks draw the same plan (win_plan.h), so each of them knows
 * what its memory and its results must be. Memory is compared whole, also what nobody may touch:
 * around windows and buffers, and in the gaps of types. In some epochs all ranks contend for the
 * same few elements (win_contend.h), and sums and the like are checked. How it waits, and which
 * of MPI_X and MPI_X_c it calls, each rank draws for itself.
 *
 * A word may be
 *   threads                           threads of each rank contend; there are no other epochs
 *   compute                           a target may not call MPI while others access its memory
 *   create allocate shared dynamic    these flavors alone
 *   fence pscw lock lock_all          these synchronizations alone
 *   a number                          the first round, 0 otherwise
 */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "win_contend.h"
#include "win_regions.h"
#include "win_plan.h"

typedef enum sync { FENCE, PSCW, LOCK, LOCK_ALL, SYNCS } sync_t;

static const char *const flavor_names[FLAVORS] = {"create", "allocate", "shared", "dynamic"};
static const char *const sync_names[SYNCS] = {"fence", "pscw", "lock", "lock_all"};

/* Bits of what the words allow. */
static unsigned flavors_allowed, syncs_allowed;
static bool has_threads, has_compute;

/* -- communicators ------------------------------------------------------------------- */

/* World, world in the other direction, every other rank, the rank alone. */
enum { COMMS = 4 };
static MPI_Comm comms[COMMS];
static bool is_one_node[COMMS];

static void make_comms(void)
{
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[2]);
    comms[3] = MPI_COMM_SELF;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm node;
        int size, near, all;
        MPI_Comm_split_type(comms[i], MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Comm_size(comms[i], &size);
        MPI_Comm_size(node, &near);
        MPI_Comm_free(&node);
        near = near == size;
        MPI_Allreduce(&near, &all, 1, MPI_INT, MPI_MIN, comms[i]);
        is_one_node[i] = all != 0;
    }
}

/* -- operations ---------------------------------------------------------------------- */

static long operations_done, epochs_done;

/* The call with a request or the one without. */
#define CALL_EITHER(with, without, ...)                                                            \
    (has_request ? CALL(with, __VA_ARGS__, &o->request) : CALL(without, __VA_ARGS__))

/* Data of an operation as the call gets it. */
typedef struct data {
    MPI_Aint at; /* the address, or the displacement in the window */
    int count;
    MPI_Datatype type;
    bool is_made; /* the type is to be freed */
} data_t;

/* With `may_be_absolute` now and then one element of a type that has the address in it, so that the
 * data is at MPI_BOTTOM. */
static data_t make_data(const shape_t *shape, const element_t *element, MPI_Aint at,
                        bool may_be_absolute)
{
    data_t data = {at, shape->count, make_type(shape, element), shape->form != PLAIN};
    if (!may_be_absolute || !one_in(&own_state, 8))
        return data;
    data_t absolute = {0, 1, MPI_DATATYPE_NULL, true};
    MPI_Type_create_hindexed(1, &data.count, &at, data.type, &absolute.type);
    MPI_Type_commit(&absolute.type);
    if (data.is_made)
        MPI_Type_free(&data.type);
    return absolute;
}

static int call_with_data(operation_t *o, const data_t *from, const data_t *to, const data_t *there,
                          bool has_request)
{
    const segment_t *s = o->segment;
    void *origin = (void *)from->at, *result = (void *)to->at;
    MPI_Op op = fold_ops[o->fold];
    switch (o->verb) {
    case PUT:
        return CALL_EITHER(Rput, Put, origin, from->count, from->type, s->target, there->at,
                           there->count, there->type, w.win);
    case GET:
        return CALL_EITHER(Rget, Get, result, to->count, to->type, s->target, there->at,
                           there->count, there->type, w.win);
    case ACCUMULATE:
        return CALL_EITHER(Raccumulate, Accumulate, origin, from->count, from->type, s->target,
                           there->at, there->count, there->type, op, w.win);
    case GET_ACCUMULATE:
        return CALL_EITHER(Rget_accumulate, Get_accumulate, origin, from->count, from->type, result,
                           to->count, to->type, s->target, there->at, there->count, there->type, op,
                           w.win);
    case FETCH_AND_OP:
        return MPI_Fetch_and_op(origin, result, s->element->type, s->target, there->at, op, w.win);
    default:
        return MPI_Compare_and_swap(origin, o->compare, result, s->element->type, s->target,
                                    there->at, w.win);
    }
}

static void describe(const operation_t *o, const char *what)
{
    const segment_t *s = o->segment;
    fault("%s of %d %s from rank %d to rank %d, %s, forms %d, %d and %d, step %d, at %ld of region "
          "%d: %s",
          verb_names[o->verb], o->target_shape.elements, s->element->name, o->origin, s->target,
          fold_names[o->fold], o->origin_shape.form, o->result_shape.form, o->target_shape.form,
          o->step, (long)o->offset, s->region, what);
}

/* Datatypes are freed as soon as the call returns. */
static void start_operation(operation_t *o, bool has_request)
{
    const segment_t *s = o->segment;
    const element_t *element = s->element;
    MPI_Aint at = displacement(s->target, s->region, o->offset);
    bool has_types = o->verb < FETCH_AND_OP;
    data_t data[] = {
        make_data(&o->origin_shape, element, (MPI_Aint)o->origin_buffer.address,
                  has_types && has_origin(o)),
        make_data(&o->result_shape, element, (MPI_Aint)o->result_buffer.address,
                  has_types && fetches(o)),
        make_data(&o->target_shape, element, at, has_types && w.flavor == DYNAMIC),
    };
    if (!has_origin(o))
        data[0].count = 0;
    if (call_with_data(o, &data[0], &data[1], &data[2], has_request) != MPI_SUCCESS)
        describe(o, "the call fails");
    for (int i = 0; i < 3; i++) {
        if (data[i].is_made)
            MPI_Type_free(&data[i].type);
    }
    o->state = STARTED;
    operations_done++;
}

static void check_buffer(const operation_t *o, buffer_t *buffer, const char *name)
{
    char text[100];
    const memory_t *data = &buffer->data;
    long at = data->memory == NULL ? -1 : find_difference(data);
    if (at >= 0) {
        snprintf(text, sizeof text, "byte %ld of the %s's buffer is %02x, not %02x",
                 at - (buffer->address - data->memory), name, data->memory[at] & 255,
                 data->image[at] & 255);
        describe(o, text);
    }
    if (data->memory != NULL)
        memset(data->memory, 0xa5, data->bytes); /* nobody reads or writes it any more */
    free_buffer(buffer);
}

/* It is complete at its origin: results are there, and buffers may be used for something else. */
static void finish_operation(operation_t *o)
{
    if (o->request != MPI_REQUEST_NULL)
        TRY(MPI_Wait(&o->request, MPI_STATUS_IGNORE));
    check_buffer(o, &o->origin_buffer, "origin");
    check_buffer(o, &o->result_buffer, "result");
    o->state = FINISHED;
}

enum { ALL = -1 };

static bool is_mine(const operation_t *o, int step, int target)
{
    return o->origin == w.rank && (step == ALL || o->step == step) &&
           (target == ALL || o->segment->target == target);
}

static void finish_started(int target)
{
    for (int i = 0; i < operation_count; i++) {
        if (operations[i].state == STARTED && is_mine(&operations[i], ALL, target))
            finish_operation(&operations[i]);
    }
}

static bool has_operations(int step, int target)
{
    for (int i = 0; i < operation_count; i++) {
        if (is_mine(&operations[i], step, target))
            return true;
    }
    return false;
}

/* -- completion in passive epochs ---------------------------------------------------- */

/* Waits for one or all of the requests, or looks whether some are complete. */
static void complete_requests(void)
{
    static MPI_Request requests[OPERATIONS_MAX];
    static operation_t *owners[OPERATIONS_MAX];
    static MPI_Status statuses[OPERATIONS_MAX];
    static int indices[OPERATIONS_MAX];
    int count = 0, which, flag;
    for (int i = 0; i < operation_count; i++) {
        if (operations[i].request != MPI_REQUEST_NULL) {
            owners[count] = &operations[i];
            requests[count++] = operations[i].request;
        }
    }
    if (count == 0)
        return;
    switch (draw(&own_state, 5)) {
    case 0:
        TRY(MPI_Wait(&requests[draw(&own_state, count)], MPI_STATUS_IGNORE));
        break;
    case 1:
        TRY(MPI_Waitany(count, requests, &which, MPI_STATUS_IGNORE));
        break;
    case 2:
        TRY(MPI_Waitall(count, requests, statuses));
        break;
    case 3:
        TRY(MPI_Testsome(count, requests, &which, indices, statuses));
        break;
    default:
        TRY(MPI_Test(&requests[draw(&own_state, count)], &flag, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < count; i++) {
        owners[i]->request = requests[i];
        if (requests[i] == MPI_REQUEST_NULL)
            finish_operation(owners[i]);
    }
}

/* Operations on MPI_PROC_NULL change nothing. */
static void use_nobody(bool is_passive)
{
    int from = 1, with = 1, to = 2, null = MPI_PROC_NULL;
    bool has_request = is_passive && one_in(&own_state, 2);
    operation_t nothing = {.request = MPI_REQUEST_NULL}, *o = &nothing;
    switch (draw(&own_state, 6)) {
    case 0:
        TRY(CALL_EITHER(Rput, Put, &from, 1, MPI_INT, null, 0, 1, MPI_INT, w.win));
        break;
    case 1:
        TRY(CALL_EITHER(Rget, Get, &to, 1, MPI_INT, null, 0, 1, MPI_INT, w.win));
        break;
    case 2:
        TRY(CALL_EITHER(Raccumulate, Accumulate, &from, 1, MPI_INT, null, 0, 1, MPI_INT, MPI_SUM,
                        w.win));
        break;
    case 3:
        TRY(CALL_EITHER(Rget_accumulate, Get_accumulate, &from, 1, MPI_INT, &to, 1, MPI_INT, null,
                        0, 1, MPI_INT, MPI_SUM, w.win));
        break;
    case 4:
        TRY(MPI_Fetch_and_op(&from, &to, MPI_INT, null, 0, MPI_SUM, w.win));
        break;
    default:
        TRY(MPI_Compare_and_swap(&from, &with, &to, MPI_INT, null, 0, w.win));
    }
    TRY(MPI_Wait(&o->request, MPI_STATUS_IGNORE));
    if (from != 1 || to != 2)
        fault("an operation on MPI_PROC_NULL has changed a buffer");
}

/* Completes some of what is started, or nothing. The target is locked. */
static void complete_some(int target)
{
    switch (draw(&own_state, 12)) {
    case 0:
        TRY(MPI_Win_flush_local(target, w.win));
        finish_started(target);
        break;
    case 1:
        TRY(MPI_Win_flush(target, w.win));
        finish_started(target);
        break;
    case 2:
        TRY(MPI_Win_flush_local_all(w.win));
        finish_started(ALL);
        break;
    case 3:
        TRY(MPI_Win_flush_all(w.win));
        finish_started(ALL);
        break;
    case 4:
    case 5:
        complete_requests();
        break;
    case 6:
        use_nobody(true);
        break;
    default:
        break;
    }
}

/* Starts those of a step, in their order. */
static void start_active(int step)
{
    for (int i = 0; i < operation_count; i++) {
        if (is_mine(&operations[i], step, ALL))
            start_operation(&operations[i], false);
    }
    if (one_in(&own_state, 8))
        use_nobody(false);
}

static void start_passive(int step, int target, bool may_wait)
{
    for (int i = 0; i < operation_count; i++) {
        if (!is_mine(&operations[i], step, target))
            continue;
        start_operation(&operations[i], one_in(&own_state, 3));
        if (may_wait)
            complete_some(operations[i].segment->target);
    }
}

/* -- active epochs ------------------------------------------------------------------- */

typedef struct epoch {
    sync_t sync;
    int steps;
    bool is_last;     /* the window is freed next */
    bool has_nocheck; /* with MPI_MODE_NOCHECK */
    uint64_t key;
} epoch_t;

/* Whether an operation of the step writes to this rank. */
static bool is_written(int step)
{
    for (int i = 0; i < operation_count; i++) {
        const operation_t *o = &operations[i];
        if (o->step == step && o->segment->target == w.rank && writes(o))
            return true;
    }
    return false;
}

/* No rank stores into its window, or only before the first step. What another epoch writes after
 * the last step is not known here, and may come before the next fence. */
static int draw_assertion(const epoch_t *e, int step)
{
    int assertion = 0;
    bool is_known = step < e->steps || e->is_last;
    if (step > 0 && one_in(&own_state, 2))
        assertion |= MPI_MODE_NOSTORE;
    if (is_known && !is_written(step) && one_in(&own_state, 2))
        assertion |= MPI_MODE_NOPUT;
    return assertion;
}

/* Whatever epoch comes next, no access follows the last fence before another synchronization. */
static void run_fence(const epoch_t *e)
{
    int precede = one_in(&common_state, 2) ? MPI_MODE_NOPRECEDE : 0;
    int succeed = one_in(&common_state, 2) ? MPI_MODE_NOSUCCEED : 0;
    TRY(MPI_Win_fence(precede | draw_assertion(e, 0), w.win));
    for (int step = 0; step < e->steps; step++) {
        start_active(step);
        int last = step + 1 == e->steps ? succeed : 0;
        TRY(MPI_Win_fence(last | draw_assertion(e, step + 1), w.win));
        finish_started(ALL);
    }
}

/* Whether the origin is in the group of the target's post: if it must be, and now and then. */
static bool is_in_group(const epoch_t *e, int step, int origin, int target)
{
    for (int i = 0; i < operation_count; i++) {
        const operation_t *o = &operations[i];
        if (o->step == step && o->origin == origin && o->segment->target == target)
            return true;
    }
    return mix(e->key + (uint64_t)((step * w.size + origin) * w.size + target)) % 8 == 0;
}

/* Returns the number of ranks in it. */
static int make_group(const epoch_t *e, int step, bool is_of_targets, MPI_Group *group)
{
    int ranks[RANKS_MAX], count = 0;
    MPI_Group all;
    for (int i = 0; i < w.size; i++) {
        if (is_in_group(e, step, is_of_targets ? w.rank : i, is_of_targets ? i : w.rank))
            ranks[count++] = i;
    }
    MPI_Win_get_group(w.win, &all);
    MPI_Group_incl(all, count, ranks, group);
    MPI_Group_free(&all);
    return count;
}

static void wait_for_origins(void)
{
    int flag = 0, error = MPI_SUCCESS;
    if (one_in(&own_state, 2)) {
        TRY(MPI_Win_wait(w.win));
        return;
    }
    while (!flag && error == MPI_SUCCESS) {
        error = MPI_Win_test(w.win, &flag);
        sched_yield();
    }
    TRY(error);
}

static void run_pscw(const epoch_t *e)
{
    for (int step = 0; step < e->steps; step++) {
        MPI_Group origins, targets;
        int nocheck = e->has_nocheck ? MPI_MODE_NOCHECK : 0;
        bool posts = make_group(e, step, false, &origins) > 0 || one_in(&own_state, 2);
        bool starts = make_group(e, step, true, &targets) > 0 || one_in(&own_state, 2);
        if (posts)
            TRY(MPI_Win_post(origins, nocheck | draw_assertion(e, step), w.win));
        if (nocheck)
            MPI_Barrier(w.comm);
        if (starts) {
            TRY(MPI_Win_start(targets, nocheck, w.win));
            MPI_Group_free(&targets);
            start_active(step);
            TRY(MPI_Win_complete(w.win));
            finish_started(ALL);
        } else {
            MPI_Group_free(&targets);
        }
        MPI_Group_free(&origins);
        if (posts)
            wait_for_origins();
    }
}

/* -- passive epochs ------------------------------------------------------------------ */

/* How a rank holds locks: one at a time, of its choice; or several, all of them shared; or several
 * exclusive ones. Those are acquired and released in the order of the ranks, and nothing is waited
 * for in between, since a lock need not be acquired before its first operation. */
typedef enum lock_plan { ONE, SEVERAL_SHARED, SEVERAL_EXCLUSIVE } lock_plan_t;

static void lock_one(const epoch_t *e, int target)
{
    bool is_shared = e->has_nocheck || one_in(&own_state, 2), may_wait = !one_in(&own_state, 4);
    int type = is_shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    int assertion = e->has_nocheck ? MPI_MODE_NOCHECK : 0;
    TRY(MPI_Win_lock(type, target, assertion, w.win));
    for (int step = 0; step < e->steps; step++) {
        start_passive(step, target, may_wait);
        if (step + 1 == e->steps)
            break;
        if (one_in(&own_state, 2)) {
            TRY(MPI_Win_flush(target, w.win));
            if (one_in(&own_state, 2))
                finish_started(target);
        } else {
            TRY(MPI_Win_unlock(target, w.win));
            finish_started(target);
            TRY(MPI_Win_lock(type, target, assertion, w.win));
        }
    }
    TRY(MPI_Win_unlock(target, w.win));
    finish_started(target);
}

static void flush_targets(int step)
{
    if (has_operations(step, ALL) && one_in(&own_state, 2)) {
        TRY(MPI_Win_flush_all(w.win));
        return;
    }
    for (int target = 0; target < w.size; target++) {
        if (has_operations(step, target))
            TRY(MPI_Win_flush(target, w.win));
    }
}

static void lock_several(const epoch_t *e)
{
    int assertion = e->has_nocheck ? MPI_MODE_NOCHECK : 0;
    for (int target = 0; target < w.size; target++) {
        if (has_operations(ALL, target))
            TRY(MPI_Win_lock(MPI_LOCK_SHARED, target, assertion, w.win));
    }
    for (int step = 0; step < e->steps; step++) {
        start_passive(step, ALL, true);
        if (step + 1 < e->steps) {
            flush_targets(step);
            if (one_in(&own_state, 2))
                finish_started(ALL);
        }
    }
    for (int target = w.size - 1; target >= 0; target--) {
        if (has_operations(ALL, target))
            TRY(MPI_Win_unlock(target, w.win));
    }
    finish_started(ALL);
}

static void lock_several_exclusive(int step)
{
    for (int target = 0; target < w.size; target++) {
        if (has_operations(step, target))
            TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    }
    for (int target = 0; target < w.size; target++)
        start_passive(step, target, false);
    for (int target = 0; target < w.size; target++) {
        if (has_operations(step, target))
            TRY(MPI_Win_unlock(target, w.win));
    }
    finish_started(ALL);
}

static void run_lock(const epoch_t *e)
{
    lock_plan_t plan = (lock_plan_t)draw(&common_state, e->has_nocheck ? 2 : 3);
    int first = draw(&own_state, w.size);
    for (int i = 0; i < w.size && plan == ONE; i++) {
        int target = (first + i) % w.size;
        if (has_operations(ALL, target) || one_in(&own_state, 8))
            lock_one(e, target);
    }
    if (plan == SEVERAL_SHARED)
        lock_several(e);
    for (int step = 0; step < e->steps && plan == SEVERAL_EXCLUSIVE; step++)
        lock_several_exclusive(step);
}

static void run_lock_all(const epoch_t *e)
{
    TRY(MPI_Win_lock_all(e->has_nocheck && one_in(&own_state, 2) ? MPI_MODE_NOCHECK : 0, w.win));
    for (int step = 0; step < e->steps; step++) {
        start_passive(step, ALL, true);
        if (step + 1 < e->steps) {
            flush_targets(step);
            if (one_in(&own_state, 2))
                finish_started(ALL);
        }
    }
    TRY(MPI_Win_unlock_all(w.win));
    finish_started(ALL);
}

/* -- rounds -------------------------------------------------------------------------- */

static int draw_allowed(unsigned allowed, int count)
{
    int which = draw(&common_state, count);
    while (!(allowed >> which & 1))
        which = (which + 1) % count;
    return which;
}

/* The library may serve other processes by a thread of its own. That they ask later than this one
 * stores, and before it loads, a sanitizer of one process does not see, except by this call. */
static void tell_sanitizer(void)
{
    int flag;
    if (TAP_HAS_SANITIZER)
        MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void run_epoch(bool is_last)
{
    static void (*const runs[SYNCS])(const epoch_t *) = {run_fence, run_pscw, run_lock,
                                                         run_lock_all};
    bool is_hot = one_in(&common_state, 5);
    unsigned allowed = syncs_allowed;
    if (!w.has_locks)
        allowed &= 1u << FENCE | 1u << PSCW;
    epoch_t e = {.sync = (sync_t)draw_allowed(allowed, SYNCS), .is_last = is_last};
    e.has_nocheck = one_in(&common_state, 3);
    draw_segments(is_hot);
    e.steps = draw_operations(is_hot);
    e.key = hash(33, common_state, 0);
    store_values(e.sync >= LOCK);
    tell_sanitizer();
    run_model();
    runs[e.sync](&e);
    tell_sanitizer();
    check_values(e.sync >= LOCK, sync_names[e.sync]);
}

static void run_epochs(void)
{
    int epochs = 1 + draw(&common_state, 5);
    for (epoch_number = 0; epoch_number < epochs; epoch_number++) {
        if (epoch_number > 0 && w.flavor == DYNAMIC && one_in(&common_state, 2))
            change_regions();
        if (w.has_locks && (has_threads || one_in(&common_state, 4)))
            run_contest(has_threads, has_compute);
        else if (!has_threads)
            run_epoch(epoch_number + 1 == epochs);
        epochs_done++;
    }
}

/* The ranks of each communicator have a plan of their own. */
static void run_round(void)
{
    _Alignas(64) char stack[REGIONS_MAX * STATIC_BYTES];
    static const int choices[] = {0, 0, 0, 0, 1, 1, 2, 3};
    const unsigned active = 1u << FENCE | 1u << PSCW;
    common_state = hash(1, 0, 0);
    own_state = hash(2, (uint64_t)world_rank, 0);
    int c = choices[draw(&common_state, 8)];
    int colour = c == 2 ? world_rank % 2 : c == 3 ? world_rank : 0;
    common_state = hash(3, (uint64_t)c, (uint64_t)colour);
    w.comm = comms[c];
    w.has_compute = has_compute;
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.size);
    do
        w.flavor = (flavor_t)draw_allowed(flavors_allowed, FLAVORS);
    while (w.flavor == SHARED_MEMORY && !is_one_node[c] && flavors_allowed != 1u << SHARED_MEMORY);
    w.has_locks = (syncs_allowed & active) == 0 || has_threads ||
                  ((syncs_allowed & ~active) != 0 && !one_in(&common_state, 8));
    MPI_Info info;
    MPI_Info_create(&info);
    stack_memory = stack;
    draw_window(info);
    make_window(info);
    MPI_Info_free(&info);
    run_epochs();
    free_window();
    stack_memory = NULL;
}

/* -- arguments ----------------------------------------------------------------------- */

static int find_name(const char *const *names, int count, const char *word)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], word) == 0)
            return i;
    }
    return -1;
}

/* Returns the seconds. */
static double read_arguments(int argc, char **argv)
{
    seed = argc > 2 ? strtoull(argv[argc - 2], NULL, 10) : 1;
    for (int i = 1; i < argc - 2; i++) {
        int flavor = find_name(flavor_names, FLAVORS, argv[i]);
        int sync = find_name(sync_names, SYNCS, argv[i]);
        if (flavor >= 0)
            flavors_allowed |= 1u << flavor;
        else if (sync >= 0)
            syncs_allowed |= 1u << sync;
        else if (strcmp(argv[i], "threads") == 0)
            has_threads = true;
        else if (strcmp(argv[i], "compute") == 0)
            has_compute = true;
        else
            round_number = strtoull(argv[i], NULL, 10);
    }
    if (flavors_allowed == 0)
        flavors_allowed = (1u << FLAVORS) - 1;
    if (syncs_allowed == 0)
        syncs_allowed = (1u << SYNCS) - 1;
    return argc > 2 ? strtod(argv[argc - 1], NULL) : 1;
}

int main(int argc, char **argv)
{
    int go_on = 1, provided;
    double seconds = read_arguments(argc, argv);
    MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    tap_rank(world_rank);
    tap_check(world_size <= RANKS_MAX, "%d ranks are not too many", world_size);
    tap_check(!has_threads || provided == MPI_THREAD_MULTIPLE, "threads may call MPI");
    make_comms();
    double end = MPI_Wtime() + seconds;
    for (; go_on; round_number++) {
        run_round();
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    tap_check(fault_count == 0,
              "seed %llu, before round %llu: %d faults, %ld operations, %ld epochs",
              (unsigned long long)seed, (unsigned long long)round_number, fault_count,
              operations_done, epochs_done);
    MPI_Finalize();
    return tap_finish();
}
