/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of pml/ob1: rank 0 of three, over a transport without peers. The test delivers the
 * frames of the other ranks, and checks the frames that they would get. All data are bytes. The
 * linker redirects allocations to side.c (ob1_side_ldflags).
 */
#ifndef TEST_UNIT_OMPI_PML_OB1_SIDE_H
#define TEST_UNIT_OMPI_PML_OB1_SIDE_H

#include "ompi/mca/pml/ob1/ob1.h"

enum {
    SIDE_RANKS = 3,
    SIDE_EAGER_BYTES = 256,
    SIDE_FRAME_BYTES = SIDE_EAGER_BYTES + 512,
    SIDE_UNEXPECTED_BYTES = 1 << 20,
    SIDE_MOST_BYTES = 16 << 20,
    SIDE_FOLLOW = 255, /* the kind of frame that opal_btl_ops_t.follow sends; it has no bytes */
};

/* A frame that was sent. */
typedef struct side_frame {
    unsigned rank, kind;
    unsigned way; /* 0: the main one; n + 1: lane n */
    size_t length;
    _Alignas(8) unsigned char bytes[SIDE_FRAME_BYTES];
} side_frame_t;

extern ompi_communicator_t side_comm; /* of all of them */
extern const ompi_pml_ops_t *side_pml;

/* The segments of an RTS are offsets in this memory. */
extern unsigned char side_memory[4096];

/* How often memory of a peer was copied. */
extern unsigned side_gets;

/* While it is set there is no room for a frame; it is set after so many frames, if that is not 0.
 */
extern bool side_is_full;
extern unsigned side_fills_after;

/* The completion slot of all peers; 0: there is none, or it was disarmed. */
extern uint32_t side_slot;

/* What the last call of arm was told of the wait. */
extern size_t side_awaited_bytes;

/* 0: all allocations succeed; n: the n-th one from now on fails, and then this is 0 again; -1: all
 * fail. Blocks beyond SIDE_MOST_BYTES always fail. */
extern int side_fail_at;

void side_start(void);
void side_stop(void); /* also ends requests that are under way */

/* Delivers a frame of a peer, in memory of exactly that length. False: it was refused. */
bool side_deliver(unsigned rank, unsigned kind, const void *bytes, size_t length);

/* Delivers a frame of a lane, as a thread without ompi_lock does. False: it cannot take it. */
bool side_take(unsigned lane, unsigned kind, const void *bytes, size_t length);

/* Delivers a placed frame of a peer, in pieces of at most so many bytes. */
void side_place(unsigned rank, unsigned kind, uint64_t name, size_t offset, const void *bytes,
                size_t length, size_t piece);

/* Removes and returns the oldest frame that was sent; NULL: none. */
const side_frame_t *side_next_sent(void);

/* Polls: deferred frames are tried again. */
void side_progress(void);

/* The peers reply to all frames: MATCH_ACK, CTS, CANCELLED, fragments. Until nothing is sent any
 * more. */
void side_serve(void);

/* The peer fails; it leaves. */
void side_fail(unsigned rank, opal_status_t why);
void side_leave(unsigned rank);

ompi_route_t side_route(int rank, int tag);
ompi_data_t side_data(void *bytes, size_t length);

#endif
