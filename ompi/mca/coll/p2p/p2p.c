/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: from a call to the algorithm of its operation. */
#include "ompi/mca/coll/p2p/p2p.h"

#include <stdlib.h>

#include "opal/mca/base/bound.h"
#include "opal/mca/base/component.h"
#include "opal/profile/profile.h"

static bool has_own_counts(ompi_coll_kind_t kind)
{
    return kind == OMPI_GATHERV || kind == OMPI_SCATTERV || kind == OMPI_ALLTOALLV ||
           kind == OMPI_ALLTOALLW || kind >= OMPI_NEIGHBOR_ALLGATHER;
}

/* Whether a rank with an error must send messages of a wrong length (`relays`). Not in operations
 * in which each rank sends only its own data, directly to the ranks that need it, by every
 * algorithm: those with counts of the rank's own, alltoall (its bruck sets `relays` itself), and
 * in an intercommunicator all but reductions and the broadcast. */
static bool is_relayed(const ompi_coll_call_t *call)
{
    if (ompi_comm_is_inter(call->comm))
        return call->op != NULL || call->kind == OMPI_BCAST;
    return !has_own_counts(call->kind) && call->kind != OMPI_ALLTOALL;
}

/* -- communicators ------------------------------------------------------------------------- */

static int comm_add(ompi_communicator_t *comm, void **state)
{
    p2p_comm_t *own = calloc(1, sizeof *own);
    if (own == NULL)
        return MPI_ERR_NO_MEM;
    own->holds = ompi_coll_is_on_node(comm) ? OMPI_COLL_ON_NODE : 0;
    *state = own;
    return MPI_SUCCESS;
}

static void comm_remove(ompi_communicator_t *comm OPAL_UNUSED, void *state)
{
    p2p_comm_t *own = state;
    free(own->rules);
    opal_strings_free(&own->table);
    free(own);
}

static const ompi_coll_ops_t p2p_ops;

/* A child's calls are parts of calls of its parent. */
static const ompi_coll_table_t *rules_of(const ompi_communicator_t *comm, const p2p_comm_t *own)
{
    if (comm->parent != NULL)
        own = ompi_coll_state(comm->parent, &p2p_ops);
    return own->rules != NULL ? own->rules : &p2p_rules;
}

static void get_table(void *object, opal_param_value_t *value)
{
    const p2p_comm_t *own = ompi_coll_state(object, &p2p_ops);
    for (size_t i = 0; own != NULL && i < own->table.count; i++)
        opal_strings_add(&value->list, own->table.items[i]);
}

static bool set_table(void *object, const opal_param_value_t *value)
{
    p2p_comm_t *own = ompi_coll_state(object, &p2p_ops);
    return own != NULL && p2p_read_comm_table(own, &value->list);
}

static const opal_bound_row_t bound[] = {
    {OPAL_PVAR_OF_COMM,
     {.name = "comm_table",
      .type = OPAL_PARAM_LIST,
      .write = OPAL_PARAM_ANYTIME_EQUAL,
      .prose = "Which algorithm a collective of this communicator uses, as in coll_p2p_table; "
               "the collectives that it does not name keep the rules of the process. Empty: the "
               "process' table"},
     get_table,
     set_table},
    {0},
};

/* -- calls --------------------------------------------------------------------------------- */

/* Not of neighbours and intercommunicators. NULL: there is no data to move. */
static const ompi_coll_algorithm_t *choose(const ompi_coll_call_t *call, const p2p_comm_t *own,
                                           int rank, int size, ompi_coll_family_t *family)
{
    ompi_coll_measure_t measure = ompi_coll_measure(call, rank, size);
    *family = measure.family;
    if (measure.bytes == 0)
        return NULL;
    measure.holds |= own->holds;
    return ompi_coll_choose(rules_of(call->comm, own), &measure, size);
}

static int build(const ompi_coll_call_t *call, void *state, ompi_schedule_t *schedule,
                 bool *taken OPAL_UNUSED)
{
    int size = schedule->size;
    schedule->is_exact = !has_own_counts(call->kind);
    schedule->relays = is_relayed(call);
    if (ompi_comm_is_inter(call->comm))
        return p2p_inter(call, schedule);
    if (call->kind >= OMPI_NEIGHBOR_ALLGATHER)
        return p2p_neighbor_linear(call, schedule);
    ompi_coll_family_t family;
    const ompi_coll_algorithm_t *chosen = choose(call, state, schedule->rank, size, &family);
    if (chosen == NULL)
        return MPI_SUCCESS;
    opal_count(&p2p_counts[family][chosen - p2p_rules.algorithms[family]], 1);
    if (opal_unlikely(opal_profile_is_on))
        ompi_coll_note_algorithm(call, chosen->name);
    return chosen->build(call, schedule);
}

static const char *explain(const ompi_coll_call_t *call, const void *state)
{
    ompi_coll_family_t family;
    const ompi_communicator_t *comm = call->comm;
    if (ompi_comm_is_inter(comm) || call->kind >= OMPI_NEIGHBOR_ALLGATHER)
        return "linear";
    const ompi_coll_algorithm_t *chosen = choose(call, state, comm->rank, comm->size, &family);
    return chosen != NULL ? chosen->name : "nothing to move";
}

static const ompi_coll_ops_t p2p_ops = {
    .build = build,
    .comm_add = comm_add,
    .comm_remove = comm_remove,
    .explain = explain,
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 10, &p2p_ops, NULL, "messages reach every rank");
}

static void tell_rules(opal_rule_fn_t *say, void *context)
{
    ompi_coll_table_tell(&p2p_rules, say, context);
}

OPAL_EXPORT extern const opal_component_t mca_coll_p2p_component;
const opal_component_t mca_coll_p2p_component = {
    OPAL_COMPONENT_HEAD(coll, p2p),
    .prose = "collectives made of messages",
    .params = p2p_params,
    .pvars = p2p_pvars,
    .bound = bound,
    .open = p2p_open_rules,
    .query = query,
    .rules = tell_rules,
};
