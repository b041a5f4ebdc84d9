/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: what one rank does in a collective operation, as a list of steps.
 *
 * An algorithm writes the list. The engine carries it out, the same list for the blocking, the
 * nonblocking and the persistent form. Steps start in the order in which they were added. A copy or
 * a reduction is done when the next step starts; a message only at the end of its round:
 *
 *   send  recv  |  reduce  send  recv  |  reduce  copy
 *             wait                   wait
 *
 * A step can also be a function (OMPI_STEP_CALL), which may add further steps at the end, which a
 * persistent schedule keeps; or another schedule (OMPI_STEP_NESTED), of a child of the
 * communicator, which belongs to the outer schedule and is done at the end of the round, as a
 * message is. Its messages have the tag of the outer schedule.
 *
 * The messages of a round move at the same time, so the steps of a round must not read or write a
 * receive buffer, nor write a send buffer. Messages between two ranks match in the order in which
 * they were sent.
 *
 * The completion of the last message of a round starts the next round, inside the call that made
 * progress. A step that waits for something else than messages is polled (OMPI_STEP_POLL), by all
 * calls that make progress; it is a round of its own.
 *
 * Errors. A schedule keeps its first error and runs to its end, so that the other ranks do not wait
 * for ever; then the error is its result.
 *
 *   no memory      The rank has no result, and neither have the ranks that need its data. From then
 *                  on its messages are sent empty, it receives nothing of what others send, and it
 *                  copies and reduces nothing. A rank that receives an empty message instead of
 *                  data has the same error and does the same. So each rank has a correct result or
 *                  MPI_ERR_NO_MEM.
 *   wrong length   A message longer than its buffer is MPI_ERR_TRUNCATE. In operations in which all
 *                  ranks know the length (`is_exact`) a shorter message is, too. Where ranks pass
 *                  on what they received (`relays`), a rank with an error sends messages of a
 *                  wrong length, so that their receivers have an error, too.
 *
 *   other calls    The ranks make different calls (mpi_check), so that this one waits in vain. A
 *                  schedule that is watched is abandoned then: it cancels its receives, and ends.
 *
 * Memory: a schedule is one object with room for some steps and some temporary data; more is
 * allocated and freed with the schedule. The schedule of a blocking call is on the caller's stack.
 *
 * Threading: the caller holds ompi_lock. The user's operators run with ompi_lock held, inside
 * progress; the standard forbids them to communicate.
 */
#ifndef OMPI_SCHEDULE_H
#define OMPI_SCHEDULE_H

#include "opal/util/list.h"
#include "ompi/check/check.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"
#include "ompi/tool/event_point.h"

enum { OMPI_SCHEDULE_STEPS = 16, OMPI_SCHEDULE_BYTES = 1024 };

typedef enum ompi_step_kind {
    OMPI_STEP_SEND,   /* sends `to` to the rank */
    OMPI_STEP_RECV,   /* receives `to` from the rank */
    OMPI_STEP_COPY,   /* to = from */
    OMPI_STEP_REDUCE, /* to = from op to */
    OMPI_STEP_CALL,   /* calls `call` */
    OMPI_STEP_POLL,   /* calls `call` until that returns something else than OMPI_STEP_AGAIN */
    OMPI_STEP_NESTED, /* carries out the schedule `context` */
} ompi_step_kind_t;

/* What a polled step returns that is not done. It is not an MPI error code. */
enum { OMPI_STEP_AGAIN = -1 };

/* A step that is a function. It must not block. Returns an error code. */
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

/* A message under way, of a watched schedule. */
typedef struct ompi_schedule_open {
    ompi_request_t *message;
    bool is_send;
} ompi_schedule_open_t;

/* Temporary memory that did not fit in the schedule's `bytes`. */
typedef struct ompi_schedule_block {
    struct ompi_schedule_block *next;
    _Alignas(64) unsigned char bytes[];
} ompi_schedule_block_t;

typedef struct ompi_schedule {
    ompi_request_t request;    /* a blocking schedule waits with it for each round */
    ompi_communicator_t *comm; /* has the messages; of a child's schedule, the parent */
    ompi_op_t *op;             /* NULL: no reduction */
    ompi_datatype_t *byte;     /* MPI_BYTE: of packed data */
    uint64_t begun;            /* of a call that is not blocking: its number among those of comm */
    int tag, local_tag;        /* of messages in comm, and in comm->local of an intercommunicator */
    uint32_t number;           /* of a persistent schedule: its tags follow from it */
    int error;                 /* the first error */
    ompi_event_collective_t event; /* of a collective that is not blocking, for tools */
    struct ompi_schedule *next_living, **before_living; /* list of comm's persistent schedules */
    opal_list_node_t polled;       /* in the list of schedules whose next step is polled */
    void (*at_end)(void *context); /* called when the schedule is freed; NULL: no function */
    void *at_end_context;
    struct ompi_schedule *outer; /* of a nested schedule; NULL: it is not nested */
    const int *ranks; /* of a child's schedule: comm's rank of each rank; NULL: they are the same */
    int rank, size;   /* of this rank and of the ranks that messages are added for, see
                       * ompi_schedule_within */
    bool is_local;    /* messages are added within one side of an intercommunicator */
    bool is_blocking; /* may wait in the middle */
    bool is_polled;   /* is in that list */
    bool is_abandoned; /* starts no more steps */
    uint64_t call;     /* the number of the call in comm, while it is watched; 0: it is not */
    opal_list_node_t watched; /* in the list of watched schedules that wait */
    ompi_check_wait_t check;
    ompi_schedule_open_t *open; /* allocated; of the messages under way, if it has a call */
    size_t open_count, open_capacity;
    bool holds;             /* has retained comm, op and all types */
    bool is_exact, relays;  /* see Errors above; set by the component, false at first */
    bool is_described;      /* `event` is filled in; its number is 0 if no tool saw the beginning */
    bool lacks_memory;      /* steps or their memory are missing */
    bool is_watched;        /* is in the list of watched schedules */
    size_t count, capacity; /* of steps */
    size_t next;            /* the next step to start */
    size_t pending;         /* messages under way, and one more while the round is started */
    size_t missing;         /* bytes that the round has not received */
    ompi_step_t *steps;     /* `first`, or allocated */
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

/* Add a step. Without memory for it the schedule has MPI_ERR_NO_MEM. */
OPAL_EXPORT void ompi_schedule_send(ompi_schedule_t *schedule, int rank, ompi_data_t what);
OPAL_EXPORT void ompi_schedule_recv(ompi_schedule_t *schedule, int rank, ompi_data_t where);
OPAL_EXPORT void ompi_schedule_copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to);
/* inout = in op inout. `in` has the count and type of `inout` and does not overlap it. */
OPAL_EXPORT void ompi_schedule_reduce(ompi_schedule_t *schedule, const void *in, ompi_data_t inout);

/* The schedule retains the types of `from` and `to` (NULL: none); the function gets `context`. */
OPAL_EXPORT void ompi_schedule_call(ompi_schedule_t *schedule, ompi_schedule_fn_t *call,
                                    void *context, ompi_data_t from, ompi_data_t to);

/*
 * Adds a function that is called again and again, which must notice whatever ends its wait; a peer
 * that it waits for notifies this process (opal/progress/wait.h). A rank without memory for the
 * schedule calls it, too. It keeps what it refers to by itself.
 */
OPAL_EXPORT void ompi_schedule_poll(ompi_schedule_t *schedule, ompi_schedule_fn_t *call,
                                    void *context);

/* Sets the function that is called when the schedule is freed. */
static inline void ompi_schedule_set_end(ompi_schedule_t *schedule, void (*at_end)(void *context),
                                         void *context)
{
    schedule->at_end = at_end;
    schedule->at_end_context = context;
}

/*
 * Adds a schedule for operations of a child of schedule->comm, whose steps the caller adds next. It
 * starts with the error of the outer schedule, and a first error of its own is one of the outer
 * schedule, too. NULL: no memory.
 */
OPAL_EXPORT ompi_schedule_t *ompi_schedule_nest(ompi_schedule_t *schedule,
                                                ompi_communicator_t *child, ompi_op_t *op);

/* Ends a round: the steps added so far are done before the next one starts. */
static inline void ompi_schedule_wait(ompi_schedule_t *schedule)
{
    if (schedule->count > 0)
        schedule->steps[schedule->count - 1].ends_round = true;
}

/* Messages that are added from now on are for ranks of the communicator (of an intercommunicator:
 * of the remote group), as at the beginning; or, with is_local, for ranks of the local group. */
OPAL_EXPORT void ompi_schedule_within(ompi_schedule_t *schedule, bool is_local);

/* For the function of a step that is a round of its own: the schedule takes no more steps. */
static inline void ompi_schedule_give_up(ompi_schedule_t *schedule)
{
    schedule->is_abandoned = true;
}

/* Temporary memory, freed with the schedule. NULL: no memory, and the schedule has that error. */
OPAL_EXPORT void *ompi_schedule_memory(ompi_schedule_t *schedule, size_t bytes);

/* Temporary memory that only steps use. Never NULL: without memory the steps do not touch it. */
OPAL_EXPORT void *ompi_schedule_room(ompi_schedule_t *schedule, size_t bytes);

/* Temporary memory that only steps use, for `count` elements of a type. Returns the address of the
 * buffer as an MPI call takes it; the memory may begin before or after it. */
OPAL_EXPORT void *ompi_schedule_elements(ompi_schedule_t *schedule, size_t count,
                                         const ompi_datatype_t *type);

/* -- for the collectives' framework ------------------------------------------------------- */

/* Initializes a schedule of a blocking call, in the caller's memory, with the tags of the next
 * collective; for a child, with those of the parent's collective that is running. */
OPAL_EXPORT void ompi_schedule_init(ompi_schedule_t *schedule, ompi_communicator_t *comm,
                                    ompi_op_t *op);
OPAL_EXPORT void ompi_schedule_fini(ompi_schedule_t *schedule);

/* Compares the calls of the ranks while the schedule waits; `call` is the number of its call in the
 * communicator. Called before it starts. */
OPAL_EXPORT void ompi_schedule_watch(ompi_schedule_t *schedule, uint64_t call);

/* Carries the schedule out. Returns its error code when it is done. */
OPAL_EXPORT int ompi_schedule_run(ompi_schedule_t *schedule);

/* Allocates a schedule for the nonblocking form. NULL: no memory. The tags of the next collective
 * are taken in any case, because the other ranks take them. */
ompi_schedule_t *ompi_schedule_create(ompi_communicator_t *comm, ompi_op_t *op);

/* Allocates a schedule for the persistent form, with a number of its own. NULL: no memory. */
ompi_schedule_t *ompi_schedule_create_persistent(ompi_communicator_t *comm, ompi_op_t *op,
                                                 uint32_t number);

/* Frees a schedule whose request was not asked for. */
void ompi_schedule_drop(ompi_schedule_t *schedule);

/* The request of the schedule: started, or, if persistent, inactive. It owns the schedule, which
 * retains all that it needs. */
ompi_request_t *ompi_schedule_request(ompi_schedule_t *schedule);

/* -- the reserve --------------------------------------------------------------------------------
 *
 * Some memory of the process for what a rank needs to take part in an operation at all, other than
 * room for data: without it the other ranks would wait for its messages. A function
 * that finds no memory spends the reserve, which goes back to the allocator, and tries once more.
 */

/* Called often: there is a reserve afterwards, if there is memory for it. */
OPAL_EXPORT void ompi_schedule_fill_reserve(void);

/* False: there is none. */
OPAL_EXPORT bool ompi_schedule_spend_reserve(void);

/* -- numbers of persistent schedules -------------------------------------------------------- */

/* Combines the words of all ranks of the communicator by bitwise or. Blocks. */
typedef int ompi_schedule_agree_fn_t(ompi_communicator_t *comm, uint64_t words[], int count);

/* Collective: the number of the communicator's next persistent schedule, equal in all ranks. No
 * persistent schedule of the communicator has it in any rank. If none is free, all ranks get an
 * error. */
OPAL_EXPORT int ompi_schedule_take_number(ompi_communicator_t *comm,
                                          ompi_schedule_agree_fn_t *agree, uint32_t *number);

#endif
