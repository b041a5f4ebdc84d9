/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll: collective operations.
 *
 * Contract of the framework. All usable components are chosen, in the order of their priorities. A
 * call goes to the first component that takes it; the last one, coll/p2p, takes every call and is
 * made of messages. All ranks must decide alike: whether a component takes a call may depend on the
 * operation, the communicator and, where the standard makes them equal in all ranks, the bytes per
 * rank, the operator and the root. It must not depend on a rank's own buffer or the layout of its
 * datatype.
 *
 * A component may own communicators, for parts of an operation: its children (see below).
 *
 * All MPI functions fill in one structure for a call. Arguments have been checked. MPI_IN_PLACE is
 * passed on.
 *
 * Threading: the caller holds ompi_lock. A call that blocks releases ompi_lock meanwhile.
 */
#ifndef OMPI_MCA_COLL_H
#define OMPI_MCA_COLL_H

#include "opal/include/status.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/mca/coll/kind.h"
#include "ompi/object/ints.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "ompi/schedule/schedule.h"
#include "ompi/tool/event_point.h"

/* One side of a call: what is sent, or what is received. */
typedef struct ompi_coll_side {
    void *buffer; /* only read on the sending side; or MPI_IN_PLACE */
    MPI_Count count;
    ompi_datatype_t *type;
    ompi_ints_t counts, displs; /* instead of count, in the v and w forms */
    const MPI_Datatype *types;  /* instead of type, in the w forms, whose displs are bytes */
} ompi_coll_side_t;

/*
 * Fields that the operation does not have are zero, as are, in other ranks, those that only the
 * root has. A reduction has its count (or counts) and type in `recv`; a broadcast has its buffer
 * there.
 */
typedef struct ompi_coll_call {
    ompi_coll_kind_t kind;
    ompi_communicator_t *comm;
    ompi_coll_side_t send, recv;
    ompi_op_t *op; /* NULL: no reduction */
    int root;      /* in an intercommunicator also MPI_ROOT and MPI_PROC_NULL */

    /* In a child: an error that this rank has met before. It takes all steps, as the other ranks
     * do, and does not touch its buffers, which may not be there; a rank that needs its data has an
     * error, too. */
    int error;
} ompi_coll_call_t;

/*
 * The slots of a component. `state` is what its comm_add returned for the call's communicator. A
 * component with a comm_add that left it NULL is not asked.
 *
 * *taken is true when run or build is called. A component that does not take the call sets it to
 * false and does nothing else. run and build may decide differently, because a blocking call of one
 * rank never matches a nonblocking call of another one.
 */
typedef struct ompi_coll_ops {
    /* Carries out a blocking call. NULL: the framework runs the schedule that build adds to. */
    int (*run)(const ompi_coll_call_t *call, void *state, bool *taken);

    /*
     * Adds to an empty schedule (ompi/schedule/schedule.h) the steps of this rank. Buffers, types
     * and operators live as long as the schedule. The arrays of counts, displacements and types,
     * and the call itself, are valid during build only.
     */
    int (*build)(const ompi_coll_call_t *call, void *state, ompi_schedule_t *schedule, bool *taken);

    /*
     * Called before the first call and after the last call of a communicator. comm_add neither
     * communicates nor blocks; *state is NULL when it is called. Both slots may be NULL.
     */
    int (*comm_add)(ompi_communicator_t *comm, void **state);
    void (*comm_remove)(ompi_communicator_t *comm, void *state);

    /* Names the algorithm by which `run` (or the schedule of build, run at once) carries out such a
     * call, once the communicator has had a collective; NULL: the call is not taken. The buffers
     * are not looked at. Does nothing else. The slot may be NULL. */
    const char *(*explain)(const ompi_coll_call_t *call, const void *state);
} ompi_coll_ops_t;

/* -- for the rest of the library (base/) ------------------------------------------------ */

/* The three forms of a collective: blocking, nonblocking, persistent. */
OPAL_EXPORT int ompi_coll_run(const ompi_coll_call_t *call);

/* The blocking call of this thread that is under way; NULL: none. */
OPAL_EXPORT const ompi_coll_call_t *ompi_coll_running(void);
int ompi_coll_begin(const ompi_coll_call_t *call, ompi_request_t **request);
int ompi_coll_prepare(const ompi_coll_call_t *call, ompi_request_t **request);

/* Names the component and the algorithm that carry out such a blocking call; NULL: unknown. */
const char *ompi_coll_explain(const ompi_coll_call_t *call, const char **component);
/* A component that has several algorithms tells which one carries out the call, while
 * opal_profile_is_on. The name stays where it is. Under ompi_lock. */
OPAL_EXPORT void ompi_coll_note_algorithm(const ompi_coll_call_t *call, const char *name);

/* What tools are told of a call, but for its number and its error. */
ompi_event_collective_t ompi_coll_describe(const ompi_coll_call_t *call, ompi_event_form_t form);

/*
 * Called by a component from its running schedule, when it finds that it cannot carry out the call
 * after all. The first component of lower priority that takes the call adds its steps to the
 * schedule. All ranks of the communicator must call this alike. `state` is the component's state of
 * the call's communicator, not NULL.
 */
OPAL_EXPORT int ompi_coll_build_behind(const ompi_coll_call_t *call, const void *state,
                                       ompi_schedule_t *schedule);

/* Whether all ranks of the communicator, and this process, are on one node. */
OPAL_EXPORT bool ompi_coll_is_on_node(const ompi_communicator_t *comm);

/* The state of the component with these operations, for a communicator; NULL: it was not chosen. */
OPAL_EXPORT void *ompi_coll_state(const ompi_communicator_t *comm, const ompi_coll_ops_t *ops);

/* For the run of a component that decides by itself whether it takes a call: runs a schedule of
 * what its build adds. `state` is not NULL. */
OPAL_EXPORT int ompi_coll_run_schedule(const ompi_coll_call_t *call, const void *state);

/*
 * Children: communicators of some ranks of another one, the parent, each of which is carried out by
 * the components that take it. Making one is local: it has no context, and its messages are
 * messages of the parent, with the tag of the parent's operation. So it may be used only as a part
 * of an operation of the parent, by all of its ranks in the same order, and there need not be one
 * in every rank. A child may have children. A component that makes them in its operations removes
 * them in comm_remove.
 *
 * ompi_coll_child_create: of those ranks of comm, in this order, of which this rank is one.
 * MPI_ERR_NO_MEM: the other ranks of the operation wait for this one, and the call fails.
 */
OPAL_EXPORT int ompi_coll_child_create(ompi_communicator_t *comm, const int ranks[], int size,
                                       ompi_communicator_t **child);
OPAL_EXPORT void ompi_coll_child_release(ompi_communicator_t *child);

/*
 * Adds an operation of a child to the schedule of its parent, as the last step of a round. In a
 * blocking schedule the operation is carried out by ompi_coll_run, else by a nested schedule.
 * Buffers, types and arrays of the call live as long as the schedule. All ranks of the child know
 * the length of what they receive. The result of a reduce_scatter may be this rank's block of the
 * operand.
 */
OPAL_EXPORT void ompi_coll_add_child(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

/*
 * Adds such an operation, by a nested schedule in every form, without ending the round: it is under
 * way while the next steps of the round are. No other step of the round has messages between two
 * ranks of this child, because all have the same tag.
 */
OPAL_EXPORT void ompi_coll_begin_child(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

/* Called when a communicator is made, after the pml's comm_add, and when it is removed. */
int ompi_coll_comm_add(ompi_communicator_t *comm);
void ompi_coll_comm_remove(ompi_communicator_t *comm);

#endif
