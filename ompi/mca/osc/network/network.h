/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * osc/network: one-sided communication by the one-sided operations of libfabric, for targets on
 * other nodes.
 *
 *   component.c    the component, and which provider it uses
 *   endpoint.c     the endpoint, its completions, and what ends a sleep
 *   network.c      windows: what their ranks agree on; puts, gets and flushes
 *   piece.c        operations of libfabric, of which an access is one or more
 *   accumulate.c   accumulates by FI_ATOMIC
 *   trial.c        whether the provider's atomics lose updates
 *
 * The endpoint is opened when the first window with ranks on other nodes is made. With each window
 * its ranks exchange addresses, keys and what they can do. A rank that has no endpoint or could not
 * register its memory is served by another component, as are dynamic windows, data in many small
 * segments, and all synchronization.
 *
 * Completion: every operation asks for FI_DELIVERY_COMPLETE, so a completion says that the data is
 * in the target's memory, and a flush waits for the completions. A provider that does not have it
 * is not used.
 *
 * Accumulates go by FI_ATOMIC if no two ranks of the window are on one node, since a provider's
 * atomics and those of the CPU do not exclude each other, and if the provider has passed the trial.
 * Then those of all ranks go by the endpoint of the target, also to the own memory. The type of the
 * elements alone decides: it needs all operations that MPI has for it, or the window the hint
 * accumulate_ops = same_op. Elements of other types are changed by the target's CPU, whichever rank
 * asks. libfabric's order is not relied on: an accumulate begins when those before it to the same
 * location are complete, unless the window has the hint accumulate_ordering = none.
 *
 * Threading: everything is called under ompi_lock, but for the slots of accesses and flush, which
 * take it.
 */
#ifndef OMPI_OSC_NETWORK_H
#define OMPI_OSC_NETWORK_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "opal/fabric/fabric.h"
#include "opal/util/list.h"
#include "ompi/mca/osc/osc.h"

extern const ompi_osc_ops_t network_ops;

/* -- component.c ----------------------------------------------------------------------------- */

/* What the endpoint is to be opened with, for fi_freeinfo. NULL: there is no such provider, and
 * `why` gets a phrase. */
struct fi_info *network_select(opal_text_t *why);

/* -- endpoint.c ------------------------------------------------------------------------------- */

typedef struct network {
    opal_fabric_endpoint_t endpoint;
    bool is_open, is_tried;      /* to be opened */
    bool is_broken;              /* its completions cannot be read */
    bool has_atomics;            /* FI_ATOMIC */
    bool has_passed, has_failed; /* the trial of the atomics */
    bool needs_registration;
    bool is_virtual; /* remote addresses are those of the target's process */
    size_t inject_bytes, max_bytes;
    opal_text_t refusal; /* why it is not open */
    uint64_t signature;  /* of the provider: ranks with different ones do not reach each other */
    size_t pending;      /* pieces under way */
    unsigned waiting;    /* threads that wait for room */
    unsigned watches;
} network_t;

extern network_t network;

/* Opens the endpoint, the first time. False: it cannot be used. */
bool network_open(void);
void network_close(void);

/* Polls while there are windows that use the endpoint. */
int network_watch(void);
void network_unwatch(void);

/* Something begins to wait for completions or room. */
void network_wake_sleeper(void);

/* -- network.c -------------------------------------------------------------------------------- */

typedef struct network_rank {
    fi_addr_t address;
    uint64_t key, base; /* of its memory; its address to the provider */
    bool is_reached;
    unsigned pending; /* pieces under way */
    unsigned unsafe;  /* pieces that use the user's memory */
    int failure;      /* returned by the next flush */
} network_rank_t;

typedef struct network_window {
    ompi_osc_window_t *window;
    network_rank_t *ranks;
    struct fid_mr *mr; /* of this rank's memory; NULL: it has none */
    bool is_watched;   /* the endpoint is polled for it, and `node` is in the list */
    bool has_atomics;
    const char *why; /* not; NULL: not known */
    opal_list_node_t node;
} network_window_t;

extern opal_list_t network_windows;

/* Ends what the window has of the endpoint. */
void network_window_leave(network_window_t *window);

/* -- piece.c ---------------------------------------------------------------------------------- */

/* A request of the program: complete when all pieces are. */
typedef struct network_request {
    ompi_request_t base;
    size_t pieces; /* under way; one more while they are begun */
} network_request_t;

/* An operation of libfabric. */
typedef struct network_piece {
    struct fi_context2 context; /* the provider's, while it is under way */
    opal_list_node_t node;      /* of all that are under way */
    network_window_t *window;   /* NULL: nobody waits for it any more */
    int rank;
    bool is_unsafe;
    network_request_t *request; /* or NULL */
    struct fid_mr *mr;          /* of the memory here; NULL: it needs none */
    void *here;                 /* the bytes in this process */
    uint64_t there;             /* those of the target, as its `base` */
    size_t bytes;

    /* Of accumulates: `here` is behind this structure, for the operand, the value to compare with
     * and the value before, each of `bytes`. The value before is unpacked into `result` from the
     * byte `from` on, if the type of result, which is retained, is not NULL. */
    bool is_accumulate;
    bool fetches; /* the value before */
    enum fi_datatype type;
    enum fi_op op;
    size_t count;
    ompi_data_t result;
    size_t from;
} network_piece_t;

/* Where the value before goes. */
static inline char *network_before(const network_piece_t *piece)
{
    return (char *)piece->here + 2 * piece->bytes;
}

/* A piece without data, with room for so many bytes behind it. NULL: no memory. */
network_piece_t *network_piece_create(network_window_t *window, int rank, size_t room);

/* Called by libfabric. Returns its result. */
typedef ssize_t network_call_fn_t(network_piece_t *piece);

/* Begins it, after waiting for room, if there is none. It is freed when it is complete, or now if
 * this fails. */
int network_piece_begin(network_piece_t *piece, network_call_fn_t *call);

/* The provider says so. */
void network_piece_end(network_piece_t *piece, int error);

/* Those of a rank (of all: -1) are waited for no more: they end with that error. */
void network_pieces_abandon(const network_window_t *window, int rank, int error);

/* Of ranks that have died: called before the endpoint is closed, which ends the registrations, and
 * when it is closed and the provider does not use the pieces any more. */
void network_pieces_drop(bool is_closed);

/* A request for an access that wants one. False: no memory. Finish: all pieces have begun, or
 * `error` has happened, which is returned unless the request tells it. */
bool network_request_create(ompi_osc_access_t *access);
int network_request_finish(ompi_osc_access_t *access, int error);

/* Waits until no piece to a rank is under way, or uses the user's memory (`local`). */
int network_wait(network_window_t *window, int rank, bool local);

/* -- accumulate.c ----------------------------------------------------------------------------- */

/* Collective: whether the window's accumulates go by the network. */
int network_atomics_agree(network_window_t *window, bool reaches_all);
ompi_osc_access_fn_t network_accumulate;
int network_compare(ompi_osc_access_t *access, const void *with);

/* A call of a piece that is an accumulate. */
network_call_fn_t network_call_atomic;

/* -- trial.c ---------------------------------------------------------------------------------- */

/* Collective, over a window whose ranks all reach each other: whether the updates of all ranks were
 * counted. The answer is the same in all ranks. */
bool network_trial(network_window_t *window);

#endif
