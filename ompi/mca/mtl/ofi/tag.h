/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 64 bits by which a provider matches messages: how they are laid out, made and taken apart.
 *
 *   most significant first; r: bits that the provider keeps for itself, always 0 here
 *
 *                 +---+--------------+-----------+-------+------------------------+
 *   ofi_tag_1     | r | comm  12 - r | source 18 | kind 2| area 1 | tag 31        |
 *   ofi_tag_2     | r | comm  24 - r | source 18 | kind 2| area 1 | tag 19        |
 *                 +---+-----+--------+-----------+-------+------------------------+
 *   ofi_tag_full  | r | comm 28 - r  | zero    2 | kind 2| area 1 | tag 31        |
 *                 +---+--------------+-----------+-------+------------------------+
 *
 * comm is the id of the communicator, source the sender's rank in it. With ofi_tag_full the source
 * goes in the completion data instead, and who wants a message from one source says so by its
 * address, so that neither ranks nor tags are cut.
 *
 *   kind           area 0                         area 1
 *   0 message      of the user                    of a collective operation
 *   1 the same, of which the receiver has to tell the sender that it was matched
 *   2 internal     unused                         part of a long message; a control message
 *   3 partitioned  a partitioned request's        a note of ownership
 *
 * Kind and area are between source and tag: "any source" and "any tag" ignore bits at either side
 * of them, and a receive ignores the lower bit of the kind to take messages of both forms. So a
 * receive of the user's never takes anything else, whatever it leaves open.
 *
 * Parts belong to no communicator: the bits of comm, source and tag are a number of the receiver's
 * (which message, 1 and up) and which part it is.
 *
 * Over the bits of comm (and zero) a word is laid that only the job's ranks know, by XOR, the same
 * in everything that is sent and received: what others send matches nothing (stranger.c). No
 * receive leaves all of these bits open.
 *
 * How many communicators there can be, how many ranks, and the largest tag follow from the layout.
 * They are in the limits; who makes bits keeps to them. No state; any thread.
 */
#ifndef OMPI_MCA_MTL_OFI_TAG_H
#define OMPI_MCA_MTL_OFI_TAG_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/util/text.h"
#include "ompi/api/mpi.h"
#include "ompi/mca/pml/pml.h"

typedef enum ofi_tag_mode {
    OFI_TAG_AUTO, /* ofi_tag_full where the provider can, else ofi_tag_1 */
    OFI_TAG_1,
    OFI_TAG_2,
    OFI_TAG_FULL,
    OFI_TAG_MODE_COUNT
} ofi_tag_mode_t;

/* "auto", "ofi_tag_1" ... */
const char *ofi_tag_mode_name(ofi_tag_mode_t mode);

/*
 * Below this there is no running: the standard's two communicators, some for each library that
 * duplicates its caller's, one for each direction of a grid and its blocks, and ids that are not
 * given back until the last peer is done with them.
 */
enum { OFI_TAG_LEAST_COMM_BITS = 8 };

/* A layout. What depends on the message is a shift and an OR away. */
typedef struct ofi_tag_layout {
    ofi_tag_mode_t mode; /* not OFI_TAG_AUTO */
    unsigned comm_bits;
    unsigned comm_shift, source_shift, kind_shift;
    uint64_t source_mask;                        /* in place; 0: the source is not in the bits */
    uint64_t tag_mask;                           /* without the area */
    uint64_t synchronous;                        /* the kind's bit */
    uint64_t context_bits[OMPI_CONTEXT_COUNT];   /* kind and area */
    uint64_t receive_ignore[OMPI_CONTEXT_COUNT]; /* of a receive that leaves nothing open */
    uint64_t part_bits;                          /* kind and area */
    uint64_t secret;                             /* the job's word, in place; 0: none */
    unsigned part_number_bits;

    /* The limits: the largest ones that can be. */
    int max_tag;          /* of the user, partitioned requests and ownership */
    uint32_t max_comm;    /* of the ids of communicators */
    unsigned max_rank;    /* of a sender */
    uint32_t max_message; /* of a receiver's numbers for long messages, which begin at 1 */
    uint32_t max_part;    /* of the numbers of their parts, which may start again at 0 */
} ofi_tag_layout_t;

/* Bits in which a receive differs from what it takes, and those it does not look at. */
typedef struct ofi_tag_pattern {
    uint64_t bits, ignore;
} ofi_tag_pattern_t;

/* How many bits a provider keeps for itself, 0 to 64: in its mem_tag_format they are 0, before the
 * first 1. How the rest is divided does not matter here. */
unsigned ofi_tag_reserved_bits(uint64_t mem_tag_format);

/* What becomes of `wanted` with a provider: auto is decided. False: it is ofi_tag_full, and the
 * provider cannot; `reason` gets why. */
bool ofi_tag_decide(ofi_tag_mode_t wanted, size_t cq_data_bytes, bool has_directed_receive,
                    ofi_tag_mode_t *mode, opal_text_t *reason);

/* The layout of a mode (not auto) over a provider's format. False: too few bits are left for
 * communicators; `reason` gets the numbers, and the mode that would do. */
bool ofi_tag_layout_make(ofi_tag_layout_t *layout, ofi_tag_mode_t mode, uint64_t mem_tag_format,
                         opal_text_t *reason);

/* Lays a word over what is made from now on: as many bits of it as there is room for. */
void ofi_tag_set_secret(ofi_tag_layout_t *layout, uint64_t word);

/* -- making -------------------------------------------------------------------------------------
 */

/* A message. Only those of the user can be synchronous. */
static inline uint64_t ofi_tag_of_message(const ofi_tag_layout_t *layout, uint32_t comm,
                                          ompi_context_t context, unsigned source, int tag,
                                          bool is_synchronous)
{
    assert(comm <= layout->max_comm && source <= layout->max_rank);
    assert(tag >= 0 && tag <= layout->max_tag);
    assert(!is_synchronous || context == OMPI_CONTEXT_USER);
    uint64_t source_bits = ((uint64_t)source << layout->source_shift) & layout->source_mask;
    uint64_t bits = (uint64_t)comm << layout->comm_shift | source_bits |
                    layout->context_bits[context] | (is_synchronous ? layout->synchronous : 0) |
                    (uint64_t)tag;
    return bits ^ layout->secret;
}

/* What takes a message, or finds one. MPI_ANY_SOURCE and MPI_ANY_TAG may stand for source and tag.
 * If the source is not in the bits, the caller gives the provider its address. */
static inline ofi_tag_pattern_t ofi_tag_of_receive(const ofi_tag_layout_t *layout, uint32_t comm,
                                                   ompi_context_t context, int source, int tag)
{
    ofi_tag_pattern_t pattern = {.ignore = layout->receive_ignore[context]};
    if (source == MPI_ANY_SOURCE) {
        pattern.ignore |= layout->source_mask;
        source = 0;
    }
    if (tag == MPI_ANY_TAG) {
        pattern.ignore |= layout->tag_mask;
        tag = 0;
    }
    pattern.bits = ofi_tag_of_message(layout, comm, context, (unsigned)source, tag, false);
    return pattern;
}

/* What finds any message of the user's, of the communicators up to this one; of others, too, if
 * that takes no more bits. */
static inline ofi_tag_pattern_t ofi_tag_of_any(const ofi_tag_layout_t *layout, uint32_t last_comm)
{
    uint64_t open = 1;
    while (open <= last_comm)
        open <<= 1;
    ofi_tag_pattern_t pattern =
        ofi_tag_of_receive(layout, 0, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG);
    pattern.ignore |= (open - 1) << layout->comm_shift;
    return pattern;
}

/* Part of a long message, by the receiver's number for it. */
uint64_t ofi_tag_of_part(const ofi_tag_layout_t *layout, uint32_t message, uint32_t part);

/* A control message, which says in its data what it is about. */
static inline uint64_t ofi_tag_of_control(const ofi_tag_layout_t *layout)
{
    return layout->part_bits ^ layout->secret;
}

/* -- taking apart: what ofi_tag_of_message has made ---------------------------------------------
 */

static inline int ofi_tag_tag(const ofi_tag_layout_t *layout, uint64_t bits)
{
    return (int)(bits & layout->tag_mask);
}

/* 0 if it is not in the bits. */
static inline unsigned ofi_tag_source(const ofi_tag_layout_t *layout, uint64_t bits)
{
    return (unsigned)((bits & layout->source_mask) >> layout->source_shift);
}

static inline uint32_t ofi_tag_comm(const ofi_tag_layout_t *layout, uint64_t bits)
{
    return (uint32_t)((bits ^ layout->secret) >> layout->comm_shift) & layout->max_comm;
}

/* Of a message of the user or of a collective operation. */
static inline bool ofi_tag_is_synchronous(const ofi_tag_layout_t *layout, uint64_t bits)
{
    return (bits & layout->synchronous) != 0;
}

#endif
