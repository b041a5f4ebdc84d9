/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: what one rank does in a collective operation, as a list of steps.
 *
 * An algorithm writes the list; the engine carries it out, the same list for the blocking, the
 * nonblocking and the persistent form. Steps begin in the order in which they were added. A copy
 * or a reduction is done when the next step begins; a message only at the end of its round:
 *
 *   send  recv  |  reduce  send  recv  |  reduce  copy
 *             wait                   wait
 *
 * What has to be found out first, or is no step, is a function that is called as one. It may add
 * the rest of the schedule, which follows then; a persistent schedule keeps it.
 *
 * Within a round messages move at the same time, so a round must not touch what it receives, nor
 * write what it sends. Between two ranks, messages are received in the order in which they were
 * sent.
 *
 * Nothing polls a schedule: the completion of a round's last message begins the next round, inside
 * whatever call made progress. An error (a message that was too long, no memory) is kept, and the
 * schedule runs to its end, so that the other ranks are not left waiting; then it is the result.
 *
 * A rank that has no memory has no result either, nor has who needs what it would have sent. From
 * then on its messages are there, but nothing is in them, it receives none of what comes, and
 * copies and reduces nothing. Who gets such a message instead of data has the same error, and goes
 * on the same way: each rank has a right result or MPI_ERR_NO_MEM.
 *
 * What is longer than where it belongs is MPI_ERR_TRUNCATE, and so is what is shorter, in
 * operations in which all know its length (`is_exact`). Where ranks pass on what they have got
 * (`relays`), a rank with such an error has nothing right to send any more: it sends messages of a
 * length that nobody expects, so that who gets one has the error, too.
 *
 * Memory: a schedule is one object with room for some steps and some temporary data; more comes
 * from the heap and is given back with it. That of a blocking call stands on its stack.
 *
 * Threading: everything is under ompi_lock. Operators of the user's run with it held, inside
 * progress, as the standard allows: they may not communicate.
 */
#ifndef OMPI_SCHEDULE_H
#define OMPI_SCHEDULE_H

#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"

enum { OMPI_SCHEDULE_STEPS = 16, OMPI_SCHEDULE_BYTES = 1024 };

typedef enum ompi_step_kind {
    OMPI_STEP_SEND,   /* `to`, to the rank */
    OMPI_STEP_RECV,   /* `to`, from the rank */
    OMPI_STEP_COPY,   /* to = from */
    OMPI_STEP_REDUCE, /* to = from op to */
    OMPI_STEP_CALL,   /* `call` */
} ompi_step_kind_t;

/* A step of an algorithm's own. It does not wait. Returns an error code. */
struct ompi_schedule;
typedef int ompi_schedule_fn_t(struct ompi_schedule *schedule, void *context);

typedef struct ompi_step {
    ompi_step_kind_t kind : 8;
    bool ends_round;
    bool is_local; /* a message within one side of an intercommunicator */
    int rank;
    ompi_data_t to, from;
    ompi_schedule_fn_t *call;
    void *context;
} ompi_step_t;

/* A piece of temporary memory that was too large for `bytes`. */
typedef struct ompi_schedule_block {
    struct ompi_schedule_block *next;
    _Alignas(64) unsigned char bytes[];
} ompi_schedule_block_t;

typedef struct ompi_schedule {
    ompi_request_t request; /* of a blocking one: what it waits for a round with */
    ompi_communicator_t *comm;
    ompi_op_t *op;         /* NULL: it reduces nothing */
    ompi_datatype_t *byte; /* MPI_BYTE: of packed data */
    int tag, local_tag;    /* of messages in comm, and in comm->local of an intercommunicator */
    uint32_t number;       /* of a persistent one: among the living ones of comm */
    struct ompi_schedule *next_living, **before_living; /* of a persistent one: in comm's list */
    int rank, size;         /* of the communicator that messages are added for, see `_within` */
    bool is_local;          /* likewise */
    bool is_blocking;       /* may wait in the middle */
    bool holds;             /* has references to comm, op and all types */
    bool is_exact, relays;  /* see above; the algorithm's, false at first */
    bool lacks_memory;      /* of its steps some are missing, or are to touch what is not there */
    int error;              /* the first one */
    size_t count, capacity; /* of steps */
    size_t next;            /* to begin */
    size_t pending;         /* messages under way, and one more while the round is begun */
    size_t missing;         /* bytes that the round's messages have not brought */
    ompi_step_t *steps;     /* `first`, or on the heap */
    size_t used;            /* of `bytes` */
    ompi_schedule_block_t *blocks;
    ompi_step_t first[OMPI_SCHEDULE_STEPS];
    _Alignas(64) unsigned char bytes[OMPI_SCHEDULE_BYTES];
} ompi_schedule_t;

/* -- for algorithms ----------------------------------------------------------------------- */

static inline ompi_data_t ompi_data(const void *buffer, size_t count, ompi_datatype_t *type)
{
    return (ompi_data_t){(void *)(uintptr_t)buffer, count, type};
}

/* Steps. Want of memory for one becomes the schedule's error. */
OPAL_EXPORT void ompi_schedule_send(ompi_schedule_t *schedule, int rank, ompi_data_t what);
OPAL_EXPORT void ompi_schedule_recv(ompi_schedule_t *schedule, int rank, ompi_data_t where);
OPAL_EXPORT void ompi_schedule_copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to);
/* inout = in op inout; `in` is like `inout` in count and type, and does not overlap it. */
OPAL_EXPORT void ompi_schedule_reduce(ompi_schedule_t *schedule, const void *in, ompi_data_t inout);

/* Of the data that the function knows, the types (which may be NULL) live as long as the schedule.
 */
OPAL_EXPORT void ompi_schedule_call(ompi_schedule_t *schedule, ompi_schedule_fn_t *call,
                                    void *context, ompi_data_t from, ompi_data_t to);

/* Ends a round: what was added is done before what follows begins. */
static inline void ompi_schedule_wait(ompi_schedule_t *schedule)
{
    if (schedule->count > 0)
        schedule->steps[schedule->count - 1].ends_round = true;
}

/* Which ranks the messages that follow are for: those of the communicator (of the other side, if it
 * is an intercommunicator: what a schedule begins with), or those of this side. */
OPAL_EXPORT void ompi_schedule_within(ompi_schedule_t *schedule, bool is_local);

/* Temporary memory, as long as the schedule lives. NULL: none, which becomes its error. */
OPAL_EXPORT void *ompi_schedule_memory(ompi_schedule_t *schedule, size_t bytes);

/* The same for steps alone, none of which touches it if there is no memory: so it is not NULL. */
OPAL_EXPORT void *ompi_schedule_room(ompi_schedule_t *schedule, size_t bytes);

/* Likewise for that many elements of a type. Returns the buffer's address as messages take it:
 * the memory itself may begin before or after it. */
OPAL_EXPORT void *ompi_schedule_elements(ompi_schedule_t *schedule, size_t count,
                                         const ompi_datatype_t *type);

/* -- for the collectives' framework ------------------------------------------------------- */

/* Begins a schedule in memory of the caller's, which takes the tags of the next collective. */
OPAL_EXPORT void ompi_schedule_init(ompi_schedule_t *schedule, ompi_communicator_t *comm,
                                    ompi_op_t *op);
OPAL_EXPORT void ompi_schedule_fini(ompi_schedule_t *schedule);

/* Carries it out, and returns its error code when it is done. */
OPAL_EXPORT int ompi_schedule_run(ompi_schedule_t *schedule);

/* One on the heap, for the nonblocking form. NULL: no memory; its tags are taken all the same, as
 * the other ranks take them. */
ompi_schedule_t *ompi_schedule_create(ompi_communicator_t *comm, ompi_op_t *op);

/* The same for the persistent form, with a number of its own. NULL: no memory. */
ompi_schedule_t *ompi_schedule_create_persistent(ompi_communicator_t *comm, ompi_op_t *op,
                                                 uint32_t number);

/* One that is not wanted after all. */
void ompi_schedule_drop(ompi_schedule_t *schedule);

/* Its request, begun or, if it is persistent, inactive. The schedule belongs to it from now on,
 * and has references to all that it needs. */
ompi_request_t *ompi_schedule_request(ompi_schedule_t *schedule);

/* -- numbers of persistent schedules (number.c) --------------------------------------------- */

/* Combines the words of all ranks of the communicator by `or`, and waits for it. */
typedef int ompi_schedule_agree_fn_t(ompi_communicator_t *comm, uint64_t words[], int count);

/* The number of the communicator's next persistent schedule, the same in all ranks, that no living
 * one has in any of them. All ranks call it, and get the same error if none is free. */
OPAL_EXPORT int ompi_schedule_take_number(ompi_communicator_t *comm,
                                          ompi_schedule_agree_fn_t *agree, uint32_t *number);

#endif
