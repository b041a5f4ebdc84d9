/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll: collective operations.
 *
 * Contract of the framework. All usable components are taken, in the order of their priorities.
 * A call goes to the first component that takes it; the last one, coll/p2p, takes everything and
 * is made of messages. Whether a component takes a call depends only on what is the same in all
 * ranks of the communicator: the operation, the communicator, and, where the standard makes them
 * equal everywhere, the bytes per rank, the operator, the root. Never on a rank's own buffer or
 * on how its datatype is laid out.
 *
 * A call is one structure, whichever function of MPI it came from; MPI_IN_PLACE is still in it.
 * Arguments have been checked.
 *
 * Threading: the caller holds ompi_lock in every call. Whatever blocks gives it back meanwhile.
 */
#ifndef OMPI_MCA_COLL_H
#define OMPI_MCA_COLL_H

#include "opal/include/status.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/object/ints.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "ompi/schedule/schedule.h"

typedef enum ompi_coll_kind {
    OMPI_ALLGATHER,
    OMPI_ALLGATHERV,
    OMPI_ALLREDUCE,
    OMPI_ALLTOALL,
    OMPI_ALLTOALLV,
    OMPI_ALLTOALLW,
    OMPI_BARRIER,
    OMPI_BCAST,
    OMPI_EXSCAN,
    OMPI_GATHER,
    OMPI_GATHERV,
    OMPI_REDUCE,
    OMPI_REDUCE_SCATTER,
    OMPI_REDUCE_SCATTER_BLOCK,
    OMPI_SCAN,
    OMPI_SCATTER,
    OMPI_SCATTERV,
    OMPI_NEIGHBOR_ALLGATHER,
    OMPI_NEIGHBOR_ALLGATHERV,
    OMPI_NEIGHBOR_ALLTOALL,
    OMPI_NEIGHBOR_ALLTOALLV,
    OMPI_NEIGHBOR_ALLTOALLW,
    OMPI_COLL_KINDS
} ompi_coll_kind_t;

/* What one side of a call gives: what is sent, or what is received. */
typedef struct ompi_coll_side {
    void *buffer; /* of the sending side: only read; or MPI_IN_PLACE */
    MPI_Count count;
    ompi_datatype_t *type;
    ompi_ints_t counts, displs; /* of the v and w forms, instead of count */
    const MPI_Datatype *types;  /* of the w forms, instead of type; their displs are bytes */
} ompi_coll_side_t;

/*
 * Only what the operation has is set. A reduction has its count (or counts) and type in `recv`, a
 * broadcast its buffer too. What only the root gives is not set elsewhere.
 */
typedef struct ompi_coll_call {
    ompi_coll_kind_t kind;
    ompi_communicator_t *comm;
    ompi_coll_side_t send, recv;
    ompi_op_t *op; /* NULL: it is no reduction */
    int root;      /* of an intercommunicator, MPI_ROOT and MPI_PROC_NULL too */
} ompi_coll_call_t;

/*
 * What a component does. `state` is what its comm_add said of the call's communicator.
 *
 * Whether it takes a call is said before it does anything: *taken is true when it is called, and it
 * sets it to false if it does not. The two forms need not agree: a blocking call of one rank never
 * meets a nonblocking one of another.
 */
typedef struct ompi_coll_ops {
    /* Does a blocking call. NULL: it has no blocking form of its own, so its schedule is run. */
    int (*run)(const ompi_coll_call_t *call, void *state, bool *taken);

    /*
     * Adds to an empty schedule (ompi/schedule/schedule.h) what this rank does in the call.
     * Buffers, types and operators live as long as the schedule; the arrays of counts,
     * displacements and types, and the call itself, do not.
     */
    int (*build)(const ompi_coll_call_t *call, void *state, ompi_schedule_t *schedule, bool *taken);

    /*
     * A communicator begins and ends: before the first and after the last call. In comm_add nothing
     * is sent or waited for; *state is NULL when it is called. Both or neither; may be NULL.
     */
    int (*comm_add)(ompi_communicator_t *comm, void **state);
    void (*comm_remove)(ompi_communicator_t *comm, void *state);
} ompi_coll_ops_t;

/* -- what the rest of the library calls (base/) ----------------------------------------- */

/* The three forms of every collective. */
int ompi_coll_run(const ompi_coll_call_t *call);
int ompi_coll_begin(const ompi_coll_call_t *call, ompi_request_t **request);
int ompi_coll_prepare(const ompi_coll_call_t *call, ompi_request_t **request);

/*
 * A component calls this from its running schedule when it finds that it cannot carry the call out
 * after all: the components of lower priority are asked, and the first that takes the call adds its
 * operations to the schedule. All ranks of the communicator must decide alike. `state` is the
 * component's state of the call's communicator, not NULL.
 */
OPAL_EXPORT int ompi_coll_build_behind(const ompi_coll_call_t *call, const void *state,
                                       ompi_schedule_t *schedule);

/* A communicator begins and ends to have collectives. Its messages are there by then. */
int ompi_coll_comm_add(ompi_communicator_t *comm);
void ompi_coll_comm_remove(ompi_communicator_t *comm);

#endif
