/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of an algorithm, for components that have several for an operation.
 *
 * A family is the operations that share algorithms. A component has an array of algorithms for each
 * family, and a parameter with rules NAME[:BYTES[:RANKS]], of which the last one counts whose bytes
 * and ranks are reached:
 *
 *     bcast=binomial,scatter_allgather:65536:4,allreduce=ring
 *
 * FAMILY= begins the rules of a family. A family that is not named keeps the rules of the preset.
 * An algorithm that cannot do a call is passed over. The first algorithm of each family can do
 * every call, and is taken where no rule is reached.
 *
 * Threading: a table is read when its component is opened, and again when a tool has written it,
 * under ompi_lock, as calls choose.
 */
#ifndef OMPI_COLL_CHOOSE_H
#define OMPI_COLL_CHOOSE_H

#include "opal/mca/base/component.h"
#include "opal/mca/base/param.h"
#include "ompi/mca/coll/coll.h"

enum { OMPI_COLL_ALGORITHMS_MAX = 4, OMPI_COLL_RULES_MAX = 8 };

typedef enum ompi_coll_family {
    OMPI_FAMILY_ALLGATHER,
    OMPI_FAMILY_ALLREDUCE,
    OMPI_FAMILY_ALLTOALL,
    OMPI_FAMILY_BARRIER,
    OMPI_FAMILY_BCAST,
    OMPI_FAMILY_EXSCAN,
    OMPI_FAMILY_GATHER,
    OMPI_FAMILY_REDUCE,
    OMPI_FAMILY_REDUCE_SCATTER,
    OMPI_FAMILY_SCAN,
    OMPI_FAMILY_SCATTER,
    OMPI_FAMILIES
} ompi_coll_family_t;

/* What an algorithm needs. */
enum {
    OMPI_COLL_COMMUTES = 1,   /* the operator commutes */
    OMPI_COLL_POWER = 2,      /* the number of ranks is a power of two */
    OMPI_COLL_SAME_SIZES = 4, /* all blocks have the same size and type */
    OMPI_COLL_ON_NODE = 8,    /* all ranks are on one node; the component finds that out */
    OMPI_COLL_EVEN = 16,      /* all nodes or domains have the same number of ranks */
};

/* What decides about the algorithm of a call, equal in all ranks. */
typedef struct ompi_coll_measure {
    ompi_coll_family_t family;
    size_t bytes;   /* SIZE_MAX where a rank knows only its own counts, which must not decide */
    unsigned holds; /* which of OMPI_COLL_COMMUTES ... are true */
} ompi_coll_measure_t;

/* Of a call of rank `rank` of `size`, in an intracommunicator; not of neighbours. */
OPAL_EXPORT ompi_coll_measure_t ompi_coll_measure(const ompi_coll_call_t *call, int rank, int size);

/* Adds the steps of this rank, which is schedule->rank of schedule->size. */
typedef int ompi_coll_algorithm_fn_t(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

typedef struct ompi_coll_algorithm {
    const char *name; /* NULL ends an array */
    ompi_coll_algorithm_fn_t *build;
    unsigned needs;
} ompi_coll_algorithm_t;

typedef struct ompi_coll_rule {
    const ompi_coll_algorithm_t *algorithm;
    size_t bytes;
    int ranks;
} ompi_coll_rule_t;

typedef struct ompi_coll_table {
    const ompi_coll_algorithm_t (*algorithms)[OMPI_COLL_ALGORITHMS_MAX + 1]; /* of each family */
    const char *parameter;                                                   /* "coll_p2p_table" */
    const char *preset;
    const char *ranks; /* what RANKS of a rule counts: "ranks" */
    /* Of each family, up to the first without an algorithm. */
    ompi_coll_rule_t rules[OMPI_FAMILIES][OMPI_COLL_RULES_MAX];
} ompi_coll_table_t;

/* Reads the preset; reads what the user has set. The second function is called if a user has set
 * the parameter. A rule that makes no sense is a diagnostic, and OPAL_ERR_BAD_PARAM. */
OPAL_EXPORT opal_status_t ompi_coll_table_preset(ompi_coll_table_t *table);
OPAL_EXPORT opal_status_t ompi_coll_table_read(ompi_coll_table_t *table,
                                               const opal_strings_t *list);

/* Reads rules of one family, which a parameter of that name has. */
OPAL_EXPORT opal_status_t ompi_coll_table_read_family(ompi_coll_table_t *table,
                                                      ompi_coll_family_t family,
                                                      const char *parameter,
                                                      const opal_strings_t *list);

OPAL_EXPORT const char *ompi_coll_family_name(ompi_coll_family_t family);

OPAL_EXPORT const ompi_coll_algorithm_t *
ompi_coll_choose(const ompi_coll_table_t *table, const ompi_coll_measure_t *measure, int ranks);

/* Tells all rules (opal_component_t.rules). */
OPAL_EXPORT void ompi_coll_table_tell(const ompi_coll_table_t *table, opal_rule_fn_t *say,
                                      void *context);

#endif
