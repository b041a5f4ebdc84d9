/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/pml/cm/hybrid.c: the order of matching over two paths. The paths are fakes: a list of
 * posted receives and a list of unexpected messages each. Ranks 0 and 1 are on this node, 2 and 3
 * are not.
 */
#include "ompi/mca/pml/cm/hybrid.h"

#include <stdlib.h>

#include "opal/mca/base/param.h"
#include "opal/progress/wait.h"
#include "ompi/request/status.h"
#include "opal/process/process.h"
#include "test/unit/opal/no_memory.h"
#include "test/unit/opal/support.h"

enum { RANKS = 4, TAGS = 3, FIRST_INTERNODE = 2 };

/* -- a path ------------------------------------------------------------------------------- */

typedef struct unexpected {
    ompi_message_t base; /* once it is claimed */
    opal_list_node_t node;
    int source, tag, number;
} unexpected_t;

typedef struct posted {
    ompi_request_t request;
    opal_list_node_t node;
    ompi_route_t route;
    int *buffer;
    bool is_posted;
} posted_t;

typedef struct path {
    opal_list_t unexpected, receives;
    int cancels_later; /* the test finishes a cancel */
    int probes;
    posted_t *cancelled;
} path_t;

static path_t paths[2];
static ompi_communicator_t comm;
static unsigned lives;                   /* of requests and unexpected messages */
static bool has_failed[FIRST_INTERNODE]; /* of each intranode rank */
static unsigned allocation_failures;     /* of receives of claimed messages */

static bool matches(const ompi_route_t *route, int source, int tag)
{
    return (route->rank == source || route->rank == MPI_ANY_SOURCE) &&
           (route->tag == tag || route->tag == MPI_ANY_TAG);
}

static void destroy_posted(ompi_object_t *head)
{
    lives--;
    free(opal_container_of(head, posted_t, request.head));
}

static void destroy_unexpected(ompi_object_t *head)
{
    lives--;
    free(opal_container_of(head, unexpected_t, base.head));
}

static int cancel_posted(ompi_request_t *request);
static const ompi_request_ops_t posted_ops = {.cancel = cancel_posted};

static posted_t *make_posted(const ompi_route_t *from, const ompi_data_t *data)
{
    posted_t *posted = calloc(1, sizeof *posted);
    ompi_request_init(&posted->request, &posted_ops, from->comm, destroy_posted);
    posted->route = *from;
    posted->buffer = data->buffer;
    lives++;
    return posted;
}

static void end_posted(posted_t *posted, int source, int tag, int number)
{
    *posted->buffer = number;
    ompi_status_set(&posted->request.status, source, tag, MPI_SUCCESS, sizeof number);
    ompi_request_complete(&posted->request);
}

static int finish_cancel(posted_t *posted)
{
    opal_list_remove(&posted->node);
    ompi_status_set_cancelled(&posted->request.status, true);
    ompi_request_complete(&posted->request);
    return MPI_SUCCESS;
}

static int cancel_posted(ompi_request_t *request)
{
    posted_t *posted = opal_container_of(request, posted_t, request);
    path_t *path = &paths[posted->route.rank >= FIRST_INTERNODE];
    if (!posted->is_posted)
        return MPI_SUCCESS;
    if (path->cancels_later == 0)
        return finish_cancel(posted);
    path->cancelled = posted;
    return MPI_SUCCESS;
}

static unexpected_t *find_unexpected(path_t *path, const ompi_route_t *from)
{
    for (opal_list_node_t *node = opal_list_first(&path->unexpected); node != NULL;
         node = opal_list_next(&path->unexpected, node)) {
        unexpected_t *unexpected = opal_container_of(node, unexpected_t, node);
        if (matches(from, unexpected->source, unexpected->tag))
            return unexpected;
    }
    return NULL;
}

/* Only the intranode path learns of a peer failure. */
static bool cannot_match(const path_t *path, const ompi_route_t *from)
{
    if (path != &paths[0])
        return false;
    return from->rank == MPI_ANY_SOURCE ? has_failed[0] || has_failed[1] : has_failed[from->rank];
}

static int fail_posted(posted_t *posted)
{
    posted->request.status.MPI_ERROR = MPI_ERR_PROC_ABORTED;
    ompi_request_complete(&posted->request);
    return MPI_SUCCESS;
}

static int path_irecv(path_t *path, const ompi_route_t *from, const ompi_data_t *data,
                      ompi_request_t **request)
{
    posted_t *posted = make_posted(from, data);
    unexpected_t *unexpected = find_unexpected(path, from);
    *request = &posted->request;
    if (unexpected == NULL && cannot_match(path, from))
        return fail_posted(posted);
    if (unexpected == NULL) {
        posted->is_posted = true;
        opal_list_append(&path->receives, &posted->node);
        return MPI_SUCCESS;
    }
    opal_list_remove(&unexpected->node);
    end_posted(posted, unexpected->source, unexpected->tag, unexpected->number);
    free(unexpected);
    lives--;
    return MPI_SUCCESS;
}

static int path_iprobe(path_t *path, const ompi_route_t *from, bool *found,
                       ompi_message_t **message, MPI_Status *status)
{
    unexpected_t *unexpected = find_unexpected(path, from);
    path->probes++;
    *found = unexpected != NULL;
    if (unexpected == NULL)
        return cannot_match(path, from) ? MPI_ERR_PROC_ABORTED : MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE)
        ompi_status_set(status, unexpected->source, unexpected->tag, MPI_SUCCESS, sizeof(int));
    if (message == NULL)
        return MPI_SUCCESS;
    opal_list_remove(&unexpected->node);
    ompi_object_init(&unexpected->base.head, OMPI_MESSAGE, destroy_unexpected);
    *message = &unexpected->base;
    return MPI_SUCCESS;
}

static int imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request)
{
    unexpected_t *unexpected = opal_container_of(message, unexpected_t, base);
    if (allocation_failures > 0 && allocation_failures-- > 0)
        return MPI_ERR_NO_MEM;
    ompi_route_t from = {&comm, OMPI_CONTEXT_USER, unexpected->source, unexpected->tag};
    posted_t *posted = make_posted(&from, data);
    end_posted(posted, unexpected->source, unexpected->tag, unexpected->number);
    ompi_object_release(&message->head);
    *request = &posted->request;
    return MPI_SUCCESS;
}

static int intranode_irecv(const ompi_route_t *from, const ompi_data_t *data,
                           ompi_request_t **request)
{
    return path_irecv(&paths[0], from, data, request);
}

static int internode_irecv(const ompi_route_t *from, const ompi_data_t *data,
                           ompi_request_t **request)
{
    return path_irecv(&paths[1], from, data, request);
}

static int intranode_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message,
                            MPI_Status *status)
{
    return path_iprobe(&paths[0], from, found, message, status);
}

static int internode_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message,
                            MPI_Status *status)
{
    return path_iprobe(&paths[1], from, found, message, status);
}

static int comm_add(ompi_communicator_t *added OPAL_UNUSED)
{
    return MPI_SUCCESS;
}

static bool comm_remove(ompi_communicator_t *removed OPAL_UNUSED)
{
    return true;
}

static const ompi_pml_ops_t intranode_ops = {.irecv = intranode_irecv,
                                             .iprobe = intranode_iprobe,
                                             .imrecv = imrecv,
                                             .comm_add = comm_add,
                                             .comm_remove = comm_remove};
static const ompi_pml_ops_t internode_ops = {.irecv = internode_irecv,
                                             .iprobe = internode_iprobe,
                                             .imrecv = imrecv,
                                             .comm_add = comm_add,
                                             .comm_remove = comm_remove};

static ompi_pml_ops_t hybrid;

/* -- steps of a test ---------------------------------------------------------------------- */

static const bool on_this_node[RANKS] = {true, true, false, false};

static void arrive(int source, int tag, int number)
{
    path_t *path = &paths[source >= FIRST_INTERNODE];
    for (opal_list_node_t *node = opal_list_first(&path->receives); node != NULL;
         node = opal_list_next(&path->receives, node)) {
        posted_t *posted = opal_container_of(node, posted_t, node);
        if (!matches(&posted->route, source, tag))
            continue;
        opal_list_remove(node);
        posted->is_posted = false;
        end_posted(posted, source, tag, number);
        return;
    }
    unexpected_t *unexpected = calloc(1, sizeof *unexpected);
    *unexpected = (unexpected_t){.source = source, .tag = tag, .number = number};
    opal_list_append(&path->unexpected, &unexpected->node);
    lives++;
}

static ompi_route_t from(int source, int tag)
{
    return (ompi_route_t){&comm, OMPI_CONTEXT_USER, source, tag};
}

static ompi_data_t into(int *buffer)
{
    return (ompi_data_t){buffer, 1, ompi_datatype_of(MPI_INT)};
}

static ompi_request_t *post(int source, int tag, int *buffer)
{
    ompi_request_t *request = NULL;
    ompi_route_t route = from(source, tag);
    ompi_data_t data = into(buffer);
    *buffer = -1;
    ck_assert_int_eq(hybrid.irecv(&route, &data, &request), MPI_SUCCESS);
    return request;
}

static bool probe(int source, int tag, ompi_message_t **message, MPI_Status *status)
{
    bool found = false;
    ompi_route_t route = from(source, tag);
    ck_assert_int_eq(hybrid.iprobe(&route, &found, message, status), MPI_SUCCESS);
    return found;
}

/* The request is done, and has received that message. */
static void finish(ompi_request_t *request, const int *buffer, int source, int tag, int number)
{
    MPI_Status status = {.MPI_ERROR = 77};
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, &status), MPI_SUCCESS);
    ck_assert_int_eq(status.MPI_SOURCE, source);
    ck_assert_int_eq(status.MPI_TAG, tag);
    ck_assert_uint_eq(ompi_status_bytes(&status), sizeof *buffer);
    ck_assert_int_eq(*buffer, number);
}

static void finish_failed(ompi_request_t *request)
{
    MPI_Status status;
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, &status), MPI_ERR_PROC_ABORTED);
}

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    opal_process_own_size = RANKS;
    ompi_group_init(1);
    for (int i = 0; i < 2; i++) {
        opal_list_init(&paths[i].unexpected);
        opal_list_init(&paths[i].receives);
    }
    comm = (ompi_communicator_t){.rank = 1, .size = RANKS, .group = ompi_group_range(0, RANKS)};
    comm.context = 7;
    cm_hybrid_start(&intranode_ops, &internode_ops, on_this_node);
    cm_hybrid_fill_in(&hybrid);
    ck_assert_int_eq(hybrid.comm_add(&comm), MPI_SUCCESS);
}

static void end(void)
{
    ck_assert_uint_eq(lives, 0);
    ck_assert_int_eq(opal_progress(), 0);
    hybrid.comm_remove(&comm);
    cm_hybrid_stop();
}

/* -- without memory ------------------------------------------------------------------------- */

/* A message that a probe has no memory for stays in the matching. */
START_TEST(a_probe_without_memory_claims_nothing)
{
    ompi_route_t route = from(1, 2);
    ompi_message_t *message = NULL;
    bool found = true;
    int buffer;
    arrive(1, 2, 33);
    unit_allocations = 0;
    int error = hybrid.iprobe(&route, &found, &message, MPI_STATUS_IGNORE);
    unit_allocations = UINT_MAX;
    ck_assert_int_eq(error, MPI_ERR_NO_MEM);
    ck_assert(!found);
    finish(post(1, 2, &buffer), &buffer, 1, 2, 33);
    end();
}
END_TEST

START_TEST(a_communicator_without_memory)
{
    ompi_communicator_t other = comm;
    other.context = 1000;
    for (unsigned i = 0; i < 2; i++) {
        unit_allocations = i;
        int error = hybrid.comm_add(&other);
        unit_allocations = UINT_MAX;
        ck_assert_int_eq(error, MPI_ERR_NO_MEM);
    }
    ck_assert_int_eq(hybrid.comm_add(&other), MPI_SUCCESS);
    hybrid.comm_remove(&other);
    end();
}
END_TEST

/* imrecv is tried again, and nothing else is claimed for the receive. */
START_TEST(a_claimed_message_waits_for_memory)
{
    int any, other;
    allocation_failures = 3;
    arrive(3, 1, 30);
    arrive(3, 1, 31);
    ompi_request_t *first = post(MPI_ANY_SOURCE, 1, &any);
    ck_assert(!ompi_request_is_done(first) && allocation_failures > 0);
    finish(post(3, 1, &other), &other, 3, 1, 31);
    ck_assert_int_eq(MPI_SUCCESS, first->ops->cancel(first));
    while (allocation_failures > 0)
        opal_progress();
    opal_progress();
    finish(first, &any, 3, 1, 30);
    end();
}
END_TEST

/* -- one after the other -------------------------------------------------------------------- */

START_TEST(a_receive_with_a_source_is_posted_on_its_path)
{
    int intranode, internode;
    ompi_request_t *one = post(0, 1, &intranode), *other = post(3, MPI_ANY_TAG, &internode);
    arrive(3, 2, 10);
    finish(other, &internode, 3, 2, 10); /* without a poll: it was posted there */
    arrive(0, 1, 11);
    finish(one, &intranode, 0, 1, 11);
    ck_assert_int_eq(paths[0].probes + paths[1].probes, 0);
    end();
}
END_TEST

START_TEST(any_source_receives_by_both_paths)
{
    int a, b;
    arrive(_i == 0 ? 1 : 2, 1, 10);
    finish(post(MPI_ANY_SOURCE, 1, &a), &a, _i == 0 ? 1 : 2, 1, 10); /* it was unexpected */
    ompi_request_t *one = post(MPI_ANY_SOURCE, MPI_ANY_TAG, &a);
    ompi_request_t *two = post(MPI_ANY_SOURCE, MPI_ANY_TAG, &b);
    opal_progress();
    ck_assert(!ompi_request_is_done(one) && !ompi_request_is_done(two));
    arrive(_i == 0 ? 2 : 1, 1, 11);
    opal_progress();
    finish(one, &a, _i == 0 ? 2 : 1, 1, 11);
    ck_assert(!ompi_request_is_done(two));
    arrive(_i == 0 ? 0 : 3, 2, 12);
    opal_progress();
    finish(two, &b, _i == 0 ? 0 : 3, 2, 12);
    end();
}
END_TEST

/* Receives behind one from any source. */
START_TEST(a_receive_that_overlaps_an_earlier_one_is_queued)
{
    int any, same, free_one, wide, behind;
    ompi_request_t *first = post(MPI_ANY_SOURCE, 1, &any);
    ompi_request_t *blocked = post(3, 1, &same);
    ompi_request_t *passes = post(3, 2, &free_one);
    ompi_request_t *all_tags = post(3, MPI_ANY_TAG, &wide); /* behind `blocked` and `first` */
    ompi_request_t *last = post(3, 0, &behind);             /* behind `all_tags` only */
    arrive(3, 2, 20);
    finish(passes, &free_one, 3, 2, 20);
    arrive(3, 0, 21); /* `first` and `blocked` do not match it */
    opal_progress();
    ck_assert(!ompi_request_is_done(last));
    arrive(3, 1, 22);
    opal_progress();
    finish(first, &any, 3, 1, 22);
    finish(all_tags, &wide, 3, 0, 21);
    ck_assert(!ompi_request_is_done(blocked) && !ompi_request_is_done(last));
    arrive(3, 0, 23);
    finish(last, &behind, 3, 0, 23);
    arrive(3, 1, 24);
    finish(blocked, &same, 3, 1, 24);
    end();
}
END_TEST

START_TEST(other_contexts_are_independent)
{
    int any, other;
    ompi_request_t *request = post(MPI_ANY_SOURCE, MPI_ANY_TAG, &any), *independent = NULL;
    ompi_route_t route = {&comm, OMPI_CONTEXT_COLLECTIVE, 2, 5};
    ompi_data_t data = into(&other);
    ck_assert_int_eq(hybrid.irecv(&route, &data, &independent), MPI_SUCCESS);
    ck_assert(!opal_list_is_empty(&paths[1].receives));
    arrive(2, 5, 1); /* the fake does not tell contexts apart */
    finish(independent, &other, 2, 5, 1);
    arrive(2, 5, 2);
    opal_progress();
    finish(request, &any, 2, 5, 2);
    end();
}
END_TEST

static bool is_cancelled(ompi_request_t *request)
{
    MPI_Status status;
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, &status), MPI_SUCCESS);
    return ompi_status_is_cancelled(&status);
}

START_TEST(a_cancelled_receive_unblocks_the_queue)
{
    int any, blocked, third;
    ompi_request_t *first = post(MPI_ANY_SOURCE, 1, &any);
    ompi_request_t *second = post(2, 1, &blocked), *last = post(MPI_ANY_SOURCE, 1, &third);
    if (_i == 0) { /* the receive that blocks */
        first->ops->cancel(first);
        ck_assert(is_cancelled(first));
        arrive(2, 1, 5);
        finish(second, &blocked, 2, 1, 5);
    } else { /* a receive that is blocked */
        second->ops->cancel(second);
        ck_assert(is_cancelled(second));
        arrive(2, 1, 5);
        opal_progress();
        finish(first, &any, 2, 1, 5);
    }
    arrive(0, 1, 6);
    opal_progress();
    finish(last, &third, 0, 1, 6);
    end();
}
END_TEST

/* A receive that was queued and then posted: the path cancels it now, later, or not at all. */
START_TEST(a_posted_receive_is_cancelled_by_its_path)
{
    int any, buffer;
    ompi_request_t *first = post(MPI_ANY_SOURCE, 1, &any), *second = post(2, 1, &buffer);
    arrive(1, 1, 3);
    opal_progress();
    finish(first, &any, 1, 1, 3);
    paths[1].cancels_later = _i;
    second->ops->cancel(second);
    ck_assert_int_eq(ompi_request_is_done(second), _i == 0);
    if (_i == 1)
        finish_cancel(paths[1].cancelled);
    if (_i == 2) { /* too late */
        arrive(2, 1, 4);
        finish(second, &buffer, 2, 1, 4);
    } else {
        ck_assert(is_cancelled(second));
    }
    end();
}
END_TEST

START_TEST(persistent_receives_start_behind_the_queue)
{
    int any, buffer;
    ompi_request_t *request;
    ompi_route_t route = from(_i == 0 ? 2 : MPI_ANY_SOURCE, 1);
    ompi_data_t data = into(&buffer);
    ck_assert_int_eq(hybrid.recv_init(&route, &data, &request), MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        ompi_request_t *first = post(MPI_ANY_SOURCE, MPI_ANY_TAG, &any);
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        arrive(2, 1, 10 * round);
        arrive(2, 1, 10 * round + 1);
        while (opal_progress() > 0)
            continue;
        finish(first, &any, 2, 1, 10 * round);
        MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
        ck_assert(ompi_request_is_done(request));
        ompi_request_finish(&request, &status);
        ck_assert_int_eq(status.MPI_SOURCE, 2);
        ck_assert_int_eq(buffer, 10 * round + 1);
    }
    ompi_request_free(&request);
    end();
}
END_TEST

/* -- probes ---------------------------------------------------------------------------------- */

START_TEST(a_probe_does_not_find_messages_of_queued_receives)
{
    int any, blocked, buffer;
    MPI_Status status;
    ompi_message_t *message = NULL, **claimed = _i == 0 ? NULL : &message;
    ompi_request_t *request, *first = post(MPI_ANY_SOURCE, 1, &any);
    ompi_request_t *second = post(3, 0, &blocked); /* posted */
    arrive(3, 1, 30);
    arrive(3, 2, 31);
    arrive(3, 0, 32);
    ck_assert(probe(3, MPI_ANY_TAG, claimed, &status));
    ck_assert_int_eq(status.MPI_TAG, 2);
    finish(first, &any, 3, 1, 30);
    finish(second, &blocked, 3, 0, 32);
    if (_i == 0) {
        finish(post(3, 2, &buffer), &buffer, 3, 2, 31);
    } else {
        ompi_data_t data = into(&buffer);
        ck_assert_int_eq(hybrid.imrecv(message, &data, &request), MPI_SUCCESS);
        finish(request, &buffer, 3, 2, 31);
    }
    ck_assert(!probe(MPI_ANY_SOURCE, MPI_ANY_TAG, claimed, MPI_STATUS_IGNORE));
    end();
}
END_TEST

/* A message can be for a receive that is blocked by earlier ones, which do not match it. */
START_TEST(a_probe_gives_a_message_to_the_first_that_matches)
{
    int any, wide;
    ompi_request_t *first = post(MPI_ANY_SOURCE, 1, &any);
    ompi_request_t *second = post(2, MPI_ANY_TAG, &wide);
    arrive(2, 0, 40);
    ck_assert(!probe(MPI_ANY_SOURCE, MPI_ANY_TAG, NULL, MPI_STATUS_IGNORE));
    finish(second, &wide, 2, 0, 40);
    arrive(2, 1, 41);
    opal_progress();
    finish(first, &any, 2, 1, 41);
    end();
}
END_TEST

/* -- waiting ---------------------------------------------------------------------------------- */

static int polls_before, late_source;

static int arrive_late(void *state OPAL_UNUSED)
{
    if (--polls_before == 0)
        arrive(late_source, 1, 50);
    return 0;
}

START_TEST(blocking_calls_wait_for_both_paths)
{
    int buffer = -1;
    MPI_Status status = {.MPI_ERROR = 77};
    ompi_message_t *message;
    ompi_request_t *request;
    ompi_route_t route = from(MPI_ANY_SOURCE, 1);
    ompi_data_t data = into(&buffer);
    late_source = _i % 2 == 0 ? 1 : 3;
    polls_before = _i < 2 ? 5 : 600; /* it sleeps in between, once in 32 polls */
    setenv("OMPI_MCA_wait_spin_usec", "0", 1);
    ck_assert_int_eq(opal_progress_add(arrive_late, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(hybrid.recv(&route, &data, &status), MPI_SUCCESS);
    ck_assert_int_eq(status.MPI_SOURCE, late_source);
    ck_assert_int_eq(status.MPI_ERROR, 77);
    ck_assert_int_eq(buffer, 50);
    polls_before = 5;
    ck_assert_int_eq(hybrid.probe(&route, &message, &status), MPI_SUCCESS);
    ck_assert_int_eq(status.MPI_SOURCE, late_source);
    buffer = -1;
    ck_assert_int_eq(hybrid.imrecv(message, &data, &request), MPI_SUCCESS);
    finish(request, &buffer, late_source, 1, 50);
    opal_progress_remove(arrive_late, NULL);
    end();
}
END_TEST

/* -- peer failure ------------------------------------------------------------------------------ */

static void poll_until_idle(void)
{
    while (opal_progress() > 0)
        continue;
}

/* Receives from any source fail, and those behind them are posted. */
START_TEST(a_peer_failure_ends_receives_from_any_source)
{
    int buffers[6];
    ompi_request_t *any = post(MPI_ANY_SOURCE, 1, &buffers[0]);
    ompi_request_t *covered = post(MPI_ANY_SOURCE, 1, &buffers[1]);
    ompi_request_t *of_dead = post(0, 1, &buffers[2]);
    ompi_request_t *of_living = post(1, 1, &buffers[3]);
    ompi_request_t *of_internode = post(3, MPI_ANY_TAG, &buffers[4]);
    poll_until_idle();
    ck_assert(!ompi_request_is_done(any) && !ompi_request_is_done(of_internode));
    has_failed[0] = true;
    poll_until_idle();
    finish_failed(any);
    finish_failed(covered);
    finish_failed(of_dead);
    ck_assert(!ompi_request_is_done(of_living) && !ompi_request_is_done(of_internode));
    arrive(1, 1, 60);
    finish(of_living, &buffers[3], 1, 1, 60);
    arrive(3, 2, 61);
    finish(of_internode, &buffers[4], 3, 2, 61);
    finish_failed(post(MPI_ANY_SOURCE, 2, &buffers[5])); /* posted after the failure */
    end();
}
END_TEST

/* An unexpected message is found, whichever path is probed first. */
START_TEST(messages_are_found_after_a_peer_failure)
{
    int buffer;
    MPI_Status status;
    has_failed[1] = true;
    for (int round = 0; round < 4; round++) {
        int source = round % 2 == 0 ? 2 : 1; /* of a living rank, or sent before the failure */
        arrive(source, 1, round);
        ck_assert(probe(MPI_ANY_SOURCE, MPI_ANY_TAG, NULL, &status));
        ck_assert_int_eq(status.MPI_SOURCE, source);
        finish(post(MPI_ANY_SOURCE, _i == 0 ? 1 : MPI_ANY_TAG, &buffer), &buffer, source, 1, round);
        if (_i == 1) { /* so that the other path is probed first the next time */
            arrive(2, 0, 0);
            ck_assert(probe(MPI_ANY_SOURCE, 0, NULL, MPI_STATUS_IGNORE));
            finish(post(2, 0, &buffer), &buffer, 2, 0, 0);
        }
    }
    end();
}
END_TEST

START_TEST(a_probe_fails_after_a_peer_failure)
{
    bool found = true;
    ompi_message_t *message = NULL;
    ompi_route_t any = from(MPI_ANY_SOURCE, 1), living = from(1, 1), dead = from(0, 1);
    has_failed[0] = true;
    ck_assert_int_eq(hybrid.iprobe(&any, &found, NULL, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    ck_assert(!found);
    ck_assert_int_eq(hybrid.iprobe(&any, &found, &message, MPI_STATUS_IGNORE),
                     MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(hybrid.iprobe(&dead, &found, NULL, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(hybrid.iprobe(&living, &found, NULL, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert_int_eq(hybrid.probe(&any, &message, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    ck_assert_ptr_null(message);
    end();
}
END_TEST

static int die_late(void *state OPAL_UNUSED)
{
    if (--polls_before == 0)
        has_failed[1] = true;
    return 0;
}

START_TEST(blocking_calls_end_with_a_peer_failure)
{
    int buffer = -1;
    MPI_Status status;
    ompi_route_t route = from(MPI_ANY_SOURCE, MPI_ANY_TAG);
    ompi_data_t data = into(&buffer);
    polls_before = _i % 2 == 0 ? 5 : 600;
    setenv("OMPI_MCA_wait_spin_usec", "0", 1);
    ck_assert_int_eq(opal_progress_add(die_late, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(_i < 2 ? hybrid.recv(&route, &data, &status)
                            : hybrid.probe(&route, NULL, &status),
                     MPI_ERR_PROC_ABORTED);
    opal_progress_remove(die_late, NULL);
    end();
}
END_TEST

/* -- at random -----------------------------------------------------------------------------------
 */

enum { STEPS = 3000, MODEL_MAX = 64 };

/* The model: receives in the order of posting, unexpected messages in the order of arrival. */
typedef struct model_receive {
    int source, tag, buffer;
    ompi_request_t *request;
    int number; /* of its message; -1: none yet */
} model_receive_t;

typedef struct model_message {
    int source, tag, number;
} model_message_t;

static model_receive_t *receives[MODEL_MAX];
static model_message_t messages[MODEL_MAX];
static int receive_count, message_count;

static int any_or(int any, int value, unsigned one_in)
{
    return (unsigned)rand() % one_in == 0 ? any : value;
}

static bool model_matches(const model_receive_t *receive, int source, int tag)
{
    ompi_route_t route = from(receive->source, receive->tag);
    return matches(&route, source, tag);
}

static void drop_message(int i)
{
    message_count--;
    for (; i < message_count; i++)
        messages[i] = messages[i + 1];
}

static void drop_receive(int i)
{
    free(receives[i]);
    receive_count--;
    for (; i < receive_count; i++)
        receives[i] = receives[i + 1];
}

/* The first message that a receive matches, of source `like` if that is not negative. */
static int find_message(int source, int tag, int like)
{
    ompi_route_t route = from(source, tag);
    for (int i = 0; i < message_count; i++) {
        if (matches(&route, messages[i].source, messages[i].tag) &&
            (like < 0 || messages[i].source == like))
            return i;
    }
    return -1;
}

/* Posts a receive. If messages match, it completes at once, with the first of any source. */
static void step_post(void)
{
    model_receive_t *receive = calloc(1, sizeof *receive);
    receive->source = any_or(MPI_ANY_SOURCE, rand() % RANKS, 3);
    receive->tag = any_or(MPI_ANY_TAG, rand() % TAGS, 4);
    receive->request = post(receive->source, receive->tag, &receive->buffer);
    if (find_message(receive->source, receive->tag, -1) < 0) {
        ck_assert(!ompi_request_is_done(receive->request));
        receives[receive_count++] = receive;
        return;
    }
    ck_assert(ompi_request_is_done(receive->request));
    int source = receive->request->status.MPI_SOURCE;
    int i = find_message(receive->source, receive->tag, source);
    ck_assert_int_ge(i, 0);
    finish(receive->request, &receive->buffer, source, messages[i].tag, messages[i].number);
    free(receive);
    drop_message(i);
}

static void step_arrive(int number)
{
    int source = rand() % RANKS, tag = rand() % TAGS;
    arrive(source, tag, number);
    if (rand() % 2 == 0)
        probe(any_or(MPI_ANY_SOURCE, rand() % RANKS, 2), MPI_ANY_TAG, NULL, MPI_STATUS_IGNORE);
    while (opal_progress() > 0)
        continue;
    for (int i = 0; i < receive_count; i++) {
        if (!model_matches(receives[i], source, tag))
            continue;
        finish(receives[i]->request, &receives[i]->buffer, source, tag, number);
        drop_receive(i);
        return;
    }
    messages[message_count++] = (model_message_t){source, tag, number};
}

static void step_cancel(void)
{
    if (receive_count == 0)
        return;
    int i = rand() % receive_count;
    receives[i]->request->ops->cancel(receives[i]->request);
    ck_assert(is_cancelled(receives[i]->request));
    drop_receive(i);
}

static void step_probe(void)
{
    MPI_Status status;
    ompi_message_t *message = NULL;
    int source = any_or(MPI_ANY_SOURCE, rand() % RANKS, 2), buffer;
    int tag = any_or(MPI_ANY_TAG, rand() % TAGS, 2);
    bool claims = rand() % 2 == 0;
    bool found = probe(source, tag, claims ? &message : NULL, &status);
    int i = find_message(source, tag, found ? status.MPI_SOURCE : -1);
    ck_assert_int_eq(found, i >= 0);
    if (!found)
        return;
    ck_assert_int_eq(status.MPI_TAG, messages[i].tag);
    if (!claims)
        return;
    ompi_request_t *request;
    ompi_data_t data = into(&buffer);
    ck_assert_int_eq(hybrid.imrecv(message, &data, &request), MPI_SUCCESS);
    finish(request, &buffer, messages[i].source, messages[i].tag, messages[i].number);
    drop_message(i);
}

START_TEST(any_traffic_matches_like_the_model)
{
    srand((unsigned)_i + 1);
    for (int step = 0; step < STEPS; step++) {
        int kind = rand() % 16;
        if (kind < 6 && receive_count < MODEL_MAX - 1)
            step_post();
        else if (kind < 12 && message_count < MODEL_MAX - 1)
            step_arrive(step);
        else if (kind < 14)
            step_probe();
        else if (kind == 15)
            step_cancel();
    }
    while (receive_count > 0)
        step_cancel();
    while (message_count > 0) {
        int buffer, source = messages[0].source, tag = messages[0].tag;
        finish(post(source, tag, &buffer), &buffer, source, tag, messages[0].number);
        drop_message(0);
    }
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_probe_without_memory_claims_nothing},
    {.test = &a_communicator_without_memory},
    {.test = &a_claimed_message_waits_for_memory},
    {.test = &a_receive_with_a_source_is_posted_on_its_path},
    {.test = &any_source_receives_by_both_paths, .repeats = 2},
    {.test = &a_receive_that_overlaps_an_earlier_one_is_queued},
    {.test = &other_contexts_are_independent},
    {.test = &a_cancelled_receive_unblocks_the_queue, .repeats = 2},
    {.test = &a_posted_receive_is_cancelled_by_its_path, .repeats = 3},
    {.test = &persistent_receives_start_behind_the_queue, .repeats = 2},
    {.test = &a_probe_does_not_find_messages_of_queued_receives, .repeats = 2},
    {.test = &a_probe_gives_a_message_to_the_first_that_matches},
    {.test = &blocking_calls_wait_for_both_paths, .repeats = 4},
    {.test = &a_peer_failure_ends_receives_from_any_source},
    {.test = &messages_are_found_after_a_peer_failure, .repeats = 2},
    {.test = &a_probe_fails_after_a_peer_failure},
    {.test = &blocking_calls_end_with_a_peer_failure, .repeats = 4},
    {.test = &any_traffic_matches_like_the_model, .repeats = 20},
};

UNIT_MAIN("pml/cm/hybrid", tests, setup);
