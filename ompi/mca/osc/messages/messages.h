/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * osc/messages: one-sided communication by frames, which the target carries out. A transport
 * carries the frames, or a network that matches messages.
 *
 *   messages.c   the component: accesses and synchronization, as the origin begins them
 *   frames.c     frames as messages, where a network carries those
 *   queue.c      frames to a process, in order, and operations that wait for an answer
 *   serve.c      what the target does with frames
 *   internode_lock.c   the target's lock on behalf of ranks of other nodes
 *   type.c       datatypes over the wire
 *
 * All frames to a process go through one queue and are carried out in their order. So a put is one
 * or more frames without an answer, and a flush is one frame that is answered when all before it
 * were carried out. Frames that find no room wait in the queue, with the data still in the user's
 * memory; a local flush copies what is left of it.
 *
 *   origin                                              target
 *   PUT         place, position | bytes            ->   written to the place
 *   GET         place                              ->
 *               <-  DATA    operation, position | bytes
 *   ACCUMULATE  place, op, position | bytes        ->   by base/accumulate.h, as for local ranks
 *               <-  DATA    operation, position | bytes, if the values before are wanted
 *   COMPARE     place | origin, compare            ->
 *               <-  DATA
 *   FLUSH, LOCK operation                          ->
 *               <-  DONE    operation, error
 *   POST, COMPLETE, UNLOCK                         ->
 *   TYPE        slot, length, position | bytes     ->   kept in that slot
 *
 * A place is a displacement in the window, which is named by its context, and a datatype: a run of
 * bytes, or one that was sent before and is named by its slot. A datatype is sent once, and again
 * only if another one has taken its slot.
 *
 * Threading: all functions are called under ompi_lock.
 */
#ifndef OMPI_OSC_MESSAGES_H
#define OMPI_OSC_MESSAGES_H

#include "opal/mca/btl/btl.h"
#include "opal/util/list.h"
#include "ompi/mca/osc/base/area.h"
#include "ompi/mca/osc/osc.h"

enum { MESSAGES_TYPE_SLOTS = 32, MESSAGES_RUN = 0xffff };

typedef enum messages_kind {
    MESSAGES_PUT = OPAL_BTL_ONE_SIDED * OPAL_BTL_KINDS,
    MESSAGES_GET,
    MESSAGES_ACCUMULATE,
    MESSAGES_COMPARE,
    MESSAGES_DATA,
    MESSAGES_FLUSH,
    MESSAGES_LOCK,
    MESSAGES_UNLOCK,
    MESSAGES_POST,
    MESSAGES_COMPLETE,
    MESSAGES_DONE,
    MESSAGES_TYPE,
} messages_kind_t;

/* The head of every frame. Fields that a kind does not need are 0. */
typedef struct messages_head {
    uint32_t context; /* of the window's communicator */
    uint16_t type;    /* the slot of the remote type; MESSAGES_RUN: `count` bytes */
    uint16_t element; /* of accumulates: handles of a predefined type and of an operation */
    uint16_t op;
    uint16_t kind;      /* of a lock */
    int32_t error;      /* an MPI error code of DATA and DONE */
    uint64_t operation; /* a name at the process that wants an answer; 0: none does */
    int64_t offset;     /* of the place, in bytes */
    uint64_t count;     /* of elements of the type; of a TYPE: its length */
    uint64_t position;  /* of the bytes behind this head in the packed data */
} messages_head_t;

/* -- frames.c ------------------------------------------------------------------------------ */

/* As opal_btl_connect, or by the network where there is one. Of the table of such a peer only
 * max_frame_bytes, reserve and commit are there, and what was reserved is sent as a whole. */
opal_btl_peer_t *messages_connect(opal_process_t *process);

/* Called when a window is made: the network's frames come from now on. An MPI error code. */
int messages_frames_start(void);
void messages_frames_stop(void);

/* -- queue.c ------------------------------------------------------------------------------- */

typedef struct messages_type {
    ompi_layout_t *layout; /* retained; NULL: the slot is empty */
    ptrdiff_t origin;
    MPI_Count extent;
} messages_type_t;

/* What this process knows of another one. */
typedef struct messages_peer {
    opal_process_t *process;
    opal_btl_peer_t *btl;
    opal_list_t items;     /* that wait for room */
    opal_list_node_t node; /* in the list of those that have items */
    bool is_listed;
    messages_type_t sent[MESSAGES_TYPE_SLOTS];
    ompi_datatype_t *received[MESSAGES_TYPE_SLOTS];
    char *incoming;        /* a type of which not all has come */
    size_t incoming_bytes; /* of all of it */
} messages_peer_t;

/* An operation that another process answers. */
typedef struct messages_operation {
    struct messages_window *window;
    messages_peer_t *peer;
    opal_list_node_t node; /* of all operations */
    uint64_t name;
    ompi_data_t result; /* where DATA goes; its type is retained; count 0: no data comes */
    size_t missing;     /* bytes that have not come */
    bool is_over;
    int error;
    ompi_request_t *request; /* completed at the end; NULL: none */
    int rank;
    bool is_waited_for; /* its owner looks at it; else it frees itself */
} messages_operation_t;

/* One or more frames. */
typedef struct messages_item {
    opal_list_node_t node;
    messages_peer_t *peer;
    struct messages_window *window; /* NULL: of none */
    messages_kind_t kind;
    messages_head_t head;
    ompi_data_t data; /* what follows the heads, packed; type NULL: nothing */
    size_t total;     /* its bytes */
    size_t unit;      /* a frame has a multiple of this many bytes of it */
    char *copy;       /* the item's own copy of the data from `copy_from` on, packed; or NULL */
    size_t copy_from;
    ompi_request_t *request;     /* completed when all was sent; NULL: none */
    struct messages_item *spare; /* memory for the item in the queue; NULL: to be allocated */
    int rank;                    /* whose `unsent` counts it; -1: nobody's */
} messages_item_t;

/* NULL: no memory. */
messages_peer_t *messages_peer(opal_process_t *process);

/* Sends it, or queues a copy of it. The data's type is retained until then. MPI_ERR_NO_MEM;
 * MPI_ERR_PROC_ABORTED: the process has ended. */
int messages_send(const messages_item_t *item);

/* Copies the data of items of a window to a rank (-1: all) that are not sent yet. */
int messages_copy_unsent(struct messages_window *window, int rank);

/* Drops the items and operations of a window, or of a process; forget also frees the peer. */
void messages_drop_window(struct messages_window *window);
void messages_drop_process(opal_process_t *process);
void messages_forget_process(opal_process_t *process);

int messages_add_operation(messages_operation_t *operation);
messages_operation_t *messages_find_operation(uint64_t name, const opal_process_t *from);
void messages_end_operation(messages_operation_t *operation, int error);

/* -- messages.c ---------------------------------------------------------------------------- */

typedef struct messages_rank {
    unsigned unsent;     /* items to it with data in the user's memory */
    unsigned unanswered; /* operations */
    bool is_unflushed;   /* something was sent since the last flush */
    unsigned flushes;    /* under way, by several threads */
    int error;           /* of what it has sent; told with its next flush */
    int failure;         /* of operations to it; returned by the next flush, also a local one */
    uint8_t lock;        /* ompi_osc_lock_kind_t: what it holds of this rank's lock */
} messages_rank_t;

/* What waits for this rank's lock. */
typedef struct messages_lock_request {
    opal_list_node_t node;
    int rank;
    ompi_osc_lock_kind_t kind;
    uint64_t operation;
} messages_lock_request_t;

typedef struct messages_window {
    ompi_osc_window_t *window;
    messages_rank_t *ranks;
    opal_list_node_t node; /* of all windows */

    /* internode_lock.c */
    opal_list_t lock_requests;
    unsigned lock_holders;
    ompi_osc_lock_kind_t lock_held;  /* for the holders */
    ompi_osc_lock_kind_t lock_asked; /* not granted yet */
} messages_window_t;

extern opal_list_t messages_windows;

/* The window with that context, of which the process has that rank; NULL: there is none. */
messages_window_t *messages_window_of(uint32_t context, const opal_process_t *from, int *rank);

int messages_answer(messages_window_t *window, int rank, uint64_t operation, int error);

/* The process has failed or left. */
void messages_lose(opal_process_t *process);

/* -- serve.c --------------------------------------------------------------------------------- */

bool messages_receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length);

/* -- internode_lock.c ------------------------------------------------------------------------ */

/* False: no memory. */
bool messages_lock_ask(messages_window_t *window, int rank, ompi_osc_lock_kind_t kind,
                       uint64_t operation);
void messages_lock_release(messages_window_t *window, int rank);
void messages_lock_forget(messages_window_t *window, int rank); /* it has ended */
void messages_lock_stop(messages_window_t *window);

/* -- type.c ---------------------------------------------------------------------------------- */

/* The slot of a type at the peer, to which it is sent if need be. An MPI error code. */
int messages_type_slot(messages_peer_t *peer, const ompi_datatype_t *type, uint16_t *slot);

/* A part of a type has come. False: no memory now. */
bool messages_type_receive(messages_peer_t *peer, const messages_head_t *head, const char *bytes,
                           size_t length);

void messages_types_forget(messages_peer_t *peer);

#endif
