/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tags of internal messages. The tags of the collective context are divided into 64 parts:
 *
 *   share                    parts   of 2^31   of 2^19   what makes a tag unique
 *   collectives               16      2^29      2^17     the n-th of the communicator
 *   persistent collectives    16      2^29      2^17     the n-th of the communicator
 *   partitions                16      2^29      2^17     no active send of the process has the tag
 *   groups                     8      2^28      2^16     the user's tag of MPI_Comm_create_group
 *                                                        and MPI_Intercomm_create
 *   names                      4      2^27      2^15     a hash of the string tag
 *   creations                  2      2^26      2^14     the n-th from the communicator
 *   copies                     1      2^25      2^13     the n-th block that the process gives
 *   leaving                    1      2^25      2^13     the n-th of the communicator
 *
 * Numbers wrap around. Two messages with the same tag keep their order, so wrapping alone mixes
 * nothing up. Messages can be mixed up only if one process starts as many operations as the share
 * has tags with another process that has not started the first of them.
 *
 * Threading: pure functions.
 */
#ifndef OMPI_MCA_PML_TAGS_H
#define OMPI_MCA_PML_TAGS_H

#include "ompi/mca/pml/pml.h"

/* First part << 8 | number of parts. Each share begins where the share before it ends; numbers of
 * parts are powers of two. */
typedef enum ompi_tags {
    OMPI_TAGS_COLLECTIVE = 0 << 8 | 16,
    OMPI_TAGS_PERSISTENT = 16 << 8 | 16,
    OMPI_TAGS_PARTITION = 32 << 8 | 16,
    OMPI_TAGS_GROUP = 48 << 8 | 8,
    OMPI_TAGS_NAME = 56 << 8 | 4,
    OMPI_TAGS_CREATION = 60 << 8 | 2,
    OMPI_TAGS_COPY = 62 << 8 | 1,
    OMPI_TAGS_LEAVE = 63 << 8 | 1,
} ompi_tags_t;

enum { OMPI_TAGS_PARTS = 64 };

/* How many tags a share has. */
static inline uint32_t ompi_tags_count(ompi_tags_t share)
{
    return ompi_pml->internal_tags / OMPI_TAGS_PARTS * (share & 0xff);
}

/* The n-th tag of a share; n counts modulo their number. */
static inline int ompi_tags_at(ompi_tags_t share, uint64_t n)
{
    uint32_t first = ompi_pml->internal_tags / OMPI_TAGS_PARTS * (share >> 8);
    return (int)(first + ((uint32_t)n & (ompi_tags_count(share) - 1)));
}

/* Whether a tag of the collective context is one of a share. */
static inline bool ompi_tags_have(ompi_tags_t share, int tag)
{
    return tag >= 0 && (uint32_t)(tag - ompi_tags_at(share, 0)) < ompi_tags_count(share);
}

#endif
