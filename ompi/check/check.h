/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a program against the rules of MPI that a rank cannot check alone (mpi_check).
 *
 *   board.c    what the ranks of a node tell each other about their collective calls
 *   compare.c  in what two calls differ, and how a person is told
 *   buffer.c   which buffers messages are using, and whether the program leaves them alone
 *   label.c    what elements a message has, for its receiver
 *   left.c     what the program has made and not freed
 *   caller.c   where the program has called MPI
 *   finding.c  the sentence for a person
 *
 * Buffers, labels, what is left and callers are for full checks. This header is about collectives;
 * the others have headers of their own.
 *
 * Each rank has a board in the node's segment, which it alone writes: a record for each of its
 * latest collective calls, by communicator and by the number of the call there. All ranks of a
 * communicator make the same calls in the same order, so records of the same number must agree:
 *
 *     board of rank 2:   | ... | context 5, call 17: MPI_Reduce, root 0, MPI_SUM, 4 MPI_INT | ...
 *     board of rank 0:   | ... | context 5, call 17: MPI_Bcast,  root 0, 4 MPI_INT          | ...
 *
 * To write a record is all that a correct call costs. The others look at it where they have reason
 * to: a rank that sees in a collective that its peer's signature is another one, and a rank that
 * waits for longer than a call takes. An error is reported only if the records prove it; a record
 * that was overwritten proves nothing.
 *
 * Ranks that differ in the kind of call, its form or its root take different steps, and are lost to
 * each other: the communicator is then ended for collectives, which is written on the board, too.
 * From then on its collectives return an error that says so, and ranks that wait see it.
 *
 * A call that differs may end well for all ranks, because no rank waits for the one that differs.
 * So the kinds and roots of all calls up to now are hashed, and the hash is a part of what is
 * compared.
 *
 * Threading: under the message lock. Records are read while their owner writes them: the number is
 * written last, and is 0 meanwhile.
 */
#ifndef OMPI_CHECK_H
#define OMPI_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "ompi/communicator/communicator.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/kind.h"

typedef enum ompi_check_level {
    OMPI_CHECK_OFF,
    OMPI_CHECK_CHEAP,
    OMPI_CHECK_FULL,
} ompi_check_level_t;

OPAL_EXPORT extern ompi_check_level_t ompi_check_level;

typedef enum ompi_check_form {
    OMPI_CHECK_BLOCKING,
    OMPI_CHECK_NONBLOCKING,
    OMPI_CHECK_PERSISTENT,
} ompi_check_form_t;

enum {
    OMPI_CHECK_OWN_OP = OMPI_HANDLE_PREDEFINED - 1, /* an operation that the program has made */
    OMPI_CHECK_NO_ROOT = INT32_MIN,
};

/* What all ranks must give alike in a call. Fields that the kind does not have are 0. A cache line.
 */
typedef struct ompi_check_record {
    _Alignas(64) _Atomic uint64_t number; /* of the communicator's calls, from 1; 0: incomplete */
    uint64_t comm;                        /* its generation and context */
    uint64_t history;                     /* of the communicator's calls up to this one */
    uint64_t count;                       /* in the caller's own datatype */
    uint64_t bytes;                       /* packed */
    uint64_t hash; /* of an array of counts, or of a signature of several types; 0: no hash */
    int32_t root;  /* or OMPI_CHECK_NO_ROOT */
    uint16_t op;   /* the handle of a predefined one, OMPI_CHECK_OWN_OP, or 0: none */
    uint16_t type; /* the handle of the type that all elements are; 0: several, or none */
    uint8_t kind;  /* ompi_coll_kind_t */
    uint8_t form;  /* ompi_check_form_t */
} ompi_check_record_t;

/* -- start and end ------------------------------------------------------------------------- */

/* Makes the board of this process, and shows it to the others. Without memory for it, or without
 * other ranks on the node, nothing is compared. */
void ompi_check_start(ompi_check_level_t level);
void ompi_check_stop(void);

/* A communicator begins to have collectives. */
void ompi_check_comm_add(ompi_communicator_t *comm);

/* Whether all ranks exchange the records of a call before they carry it out. */
static inline bool ompi_check_meets(const ompi_communicator_t *comm)
{
    return comm->is_checked && ompi_check_level == OMPI_CHECK_FULL && !ompi_comm_is_inter(comm);
}

/* -- calls --------------------------------------------------------------------------------- */

/* The record of the next call, for the caller to fill in, but for number and comm; then
 * ompi_check_publish. Only for communicators with is_checked. */
ompi_check_record_t *ompi_check_next(ompi_communicator_t *comm);
void ompi_check_publish(ompi_communicator_t *comm, ompi_check_record_t *record);

/* For collectives that are refused, because the communicator is ended for them. Returns the error.
 */
int ompi_check_refuse(ompi_communicator_t *comm);

/*
 * Compares the records that the ranks of this node have of a call. MPI_SUCCESS: nothing proves that
 * they differ. Otherwise the sentence for a person is set (finding.h), and if the ranks
 * are lost to each other, the communicator is ended for collectives: comm->check_error is set.
 */
OPAL_EXPORT int ompi_check_compare(ompi_communicator_t *comm, uint64_t number);

/* The same with the following rank alone, for a call that has ended well without a wait for all:
 * some ranks that differ are neighbours. */
OPAL_EXPORT int ompi_check_compare_next(ompi_communicator_t *comm, uint64_t number);

/* The same for records that the ranks have given each other: records[i] is that of rank i, number
 * and comm aside. The result is the same in all ranks: an error in all, or in none. */
OPAL_EXPORT int ompi_check_compare_given(ompi_communicator_t *comm,
                                         const ompi_check_record_t records[]);

/* A rank of this node has, or had a moment ago, this record of a call. False: nothing is known. */
OPAL_EXPORT bool ompi_check_read(const ompi_communicator_t *comm, uint64_t number, int rank,
                                 ompi_check_record_t *record);

/* The ranks are lost to each other: they have taken different steps in a call. */
OPAL_EXPORT void ompi_check_end(ompi_communicator_t *comm, int error);

/* Copies this rank's record of its latest call. */
OPAL_EXPORT void ompi_check_latest(const ompi_communicator_t *comm, ompi_check_record_t *record);

/* Whether that rank's record of the call is there and agrees with this rank's. */
OPAL_EXPORT bool ompi_check_agrees(const ompi_communicator_t *comm, uint64_t number, int rank);

/* For a wait within a call: called often. Most calls return at once; others compare. An error: the
 * wait is in vain. A wait that begins sets all to 0. */
typedef struct ompi_check_wait {
    unsigned looks;
    uint64_t since, differs_since; /* nsec; 0: it has not looked, no difference was seen */
} ompi_check_wait_t;

OPAL_EXPORT int ompi_check_wait(ompi_communicator_t *comm, uint64_t number,
                                ompi_check_wait_t *wait);

/* -- compare.c ----------------------------------------------------------------------------- */

/* "Bcast" */
const char *ompi_check_kind_name(ompi_coll_kind_t kind);

/* In what two calls differ, the gravest first. */
typedef enum ompi_difference {
    OMPI_DIFFERS_NOT,
    OMPI_DIFFERS_KIND,
    OMPI_DIFFERS_ROOT,
    OMPI_DIFFERS_BEFORE, /* in an earlier call, by kind or root */
    OMPI_DIFFERS_OP,
    OMPI_DIFFERS_TYPE,
    OMPI_DIFFERS_COUNT,
} ompi_difference_t;

ompi_difference_t ompi_check_difference(const ompi_check_record_t *a, const ompi_check_record_t *b);
int ompi_check_error_of(ompi_difference_t difference);

/* Whether elements of two predefined types, by handles, are the same kind of number; bytes are of
 * every kind. */
bool ompi_check_types_agree(unsigned one, unsigned other);

enum { OMPI_CHECK_DATA_BYTES = 64 };

/* Writes "4 MPI_INT", or for a handle of 0 "8 elements, 48 bytes". */
void ompi_check_describe_data(unsigned handle, uint64_t elements, uint64_t bytes,
                              char text[OMPI_CHECK_DATA_BYTES]);

/* Writes "MPI_Reduce(4 MPI_INT, MPI_SUM, root 0)". */
void ompi_check_describe(const ompi_check_record_t *record, char *text, size_t bytes);

/* Writes the sentence about two ranks that differ. */
void ompi_check_explain(ompi_difference_t difference, const ompi_check_record_t *own, int own_rank,
                        const ompi_check_record_t *other, int other_rank, char *text, size_t bytes);

#endif
