/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: which communicators and calls it takes, and by which algorithm. */
#include "ompi/mca/coll/hier/hier.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/pvar.h"
#include "opal/node/node.h"
#include "opal/process/job.h"
#include "ompi/mca/coll/base/tuning.h"

enum { PRIORITY = 60 }; /* above coll/sm, which carries out what the children do */

/* -- settings -------------------------------------------------------------------------------- */

static opal_strings_t set_table, domains;
static bool read_rules_again(void);
static unsigned domain_ranks;
static bool uses_domains;

static const opal_param_row_t params[] = {
    {.name = "table",
     .type = OPAL_PARAM_LIST,
     .value = &set_table,
     .preset = OMPI_COLL_HIER_TABLE,
     .write = OPAL_PARAM_ANYTIME_EQUAL,
     .written = read_rules_again,
     .prose = "Which way a collective over several nodes, or domains of a node, goes: "
              "COLLECTIVE=RULE,RULE,..., as in coll_p2p_table, with a NAME of flat (without "
              "levels), leaders (one rank of a node sends and receives for all), parallel (each "
              "does so for a piece of the data) and pipelined (so, segment by segment). RANKS of a "
              "rule counts nodes. All ranks need the same table"},
    {.name = "segment_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &hier_segment_bytes,
     .preset = OMPI_COLL_HIER_SEGMENT_BYTES,
     .min = "1",
     .unit = "bytes",
     .write = OPAL_PARAM_ANYTIME_EQUAL,
     .prose = "How long the segments of a pipelined collective over nodes are. All ranks need the "
              "same value",
     .is_internal = true},
    {.name = "domains",
     .type = OPAL_PARAM_LIST,
     .value = &domains,
     .preset = "auto",
     .prose =
         "Into which domains the ranks of a node are divided: auto (packages, NUMA domains and "
         "L3 caches, if coll_hier_domain_ranks are there), none, or the number of consecutive "
         "ranks of a domain for each level, outermost first, as in 16,4. All ranks need the "
         "same value"},
    {.name = "domain_ranks",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &domain_ranks,
     .preset = OMPI_COLL_HIER_DOMAIN_RANKS,
     .min = "3",
     .prose =
         "The smallest communicator on one node that coll_hier_domains=auto divides. All ranks "
         "need the same value",
     .is_internal = true},
    {0},
};

/* "flat" leaves the call to the components of lower priority. */
#define FLAT                                                                                       \
    {                                                                                              \
        "flat", NULL, 0                                                                            \
    }

static const ompi_coll_algorithm_t algorithms[OMPI_FAMILIES][OMPI_COLL_ALGORITHMS_MAX + 1] = {
    [OMPI_FAMILY_ALLGATHER] = {FLAT,
                               {"leaders", hier_allgather_leaders, 0},
                               {"parallel", hier_allgather_parallel, 0}},
    [OMPI_FAMILY_ALLREDUCE] = {FLAT,
                               {"leaders", hier_allreduce_leaders, 0},
                               {"parallel", hier_allreduce_parallel, 0}},
    [OMPI_FAMILY_ALLTOALL] = {FLAT,
                              {"leaders", hier_alltoall_leaders, OMPI_COLL_SAME_SIZES},
                              {"parallel", hier_alltoall_parallel,
                               OMPI_COLL_SAME_SIZES | OMPI_COLL_EVEN}},
    [OMPI_FAMILY_BARRIER] = {FLAT, {"leaders", hier_barrier_leaders, 0}},
    [OMPI_FAMILY_BCAST] = {FLAT,
                           {"leaders", hier_bcast_leaders, 0},
                           {"parallel", hier_bcast_parallel, 0},
                           {"pipelined", hier_bcast_pipelined, 0}},
    [OMPI_FAMILY_EXSCAN] = {FLAT, {"leaders", hier_scan_leaders, 0}},
    [OMPI_FAMILY_GATHER] = {FLAT, {"leaders", hier_gather_leaders, OMPI_COLL_SAME_SIZES}},
    [OMPI_FAMILY_REDUCE] = {FLAT,
                            {"leaders", hier_reduce_leaders, 0},
                            {"parallel", hier_reduce_parallel, 0},
                            {"pipelined", hier_reduce_pipelined, 0}},
    [OMPI_FAMILY_REDUCE_SCATTER] = {FLAT,
                                    {"leaders", hier_reduce_scatter_leaders, 0},
                                    {"parallel", hier_reduce_scatter_parallel, OMPI_COLL_EVEN}},
    [OMPI_FAMILY_SCAN] = {FLAT, {"leaders", hier_scan_leaders, 0}},
    [OMPI_FAMILY_SCATTER] = {FLAT, {"leaders", hier_scatter_leaders, OMPI_COLL_SAME_SIZES}},
};

static opal_counter_t counts[OMPI_FAMILIES][OMPI_COLL_ALGORITHMS_MAX];

/* `number` is the algorithm's in `algorithms`. */
#define USES(family, number, id)                                                                   \
    {                                                                                              \
        .name = id, .class = OPAL_PVAR_COUNTER, .value = &counts[OMPI_FAMILY_##family][number],    \
        .prose = "How often this way over levels was used, also in a part of a collective over "   \
                 "several levels"                                                                  \
    }

static const opal_pvar_row_t pvars[] = {
    USES(ALLGATHER, 1, "allgather_leaders"),
    USES(ALLGATHER, 2, "allgather_parallel"),
    USES(ALLREDUCE, 1, "allreduce_leaders"),
    USES(ALLREDUCE, 2, "allreduce_parallel"),
    USES(ALLTOALL, 1, "alltoall_leaders"),
    USES(ALLTOALL, 2, "alltoall_parallel"),
    USES(BARRIER, 1, "barrier_leaders"),
    USES(BCAST, 1, "bcast_leaders"),
    USES(BCAST, 2, "bcast_parallel"),
    USES(BCAST, 3, "bcast_pipelined"),
    USES(EXSCAN, 1, "exscan_leaders"),
    USES(GATHER, 1, "gather_leaders"),
    USES(REDUCE, 1, "reduce_leaders"),
    USES(REDUCE, 2, "reduce_parallel"),
    USES(REDUCE, 3, "reduce_pipelined"),
    USES(REDUCE_SCATTER, 1, "reduce_scatter_leaders"),
    USES(REDUCE_SCATTER, 2, "reduce_scatter_parallel"),
    USES(SCAN, 1, "scan_leaders"),
    USES(SCATTER, 1, "scatter_leaders"),
    {0},
};

static ompi_coll_table_t rules = {.algorithms = algorithms,
                                  .parameter = "coll_hier_table",
                                  .preset = OMPI_COLL_HIER_TABLE,
                                  .ranks = "nodes or domains"};

static opal_status_t refuse_domains(const char *text)
{
    opal_diagnostic(
        OPAL_ERROR,
        "coll_hier_domains: \"%s\" is no number of ranks; expected auto, none, or up to "
        "%d numbers of ranks, each smaller than the one before it, as in 16,4",
        text, HIER_LEVELS_MAX);
    return OPAL_ERR_BAD_PARAM;
}

static opal_status_t read_domains(void)
{
    memset(hier_domain_sizes, 0, sizeof hier_domain_sizes);
    uses_domains = domains.count != 1 || strcmp(domains.items[0], "none") != 0;
    if (!uses_domains || (domains.count == 1 && strcmp(domains.items[0], "auto") == 0))
        return OPAL_SUCCESS;
    for (size_t i = 0; i < domains.count; i++) {
        char *end;
        long ranks = strtol(domains.items[i], &end, 10);
        long most = i == 0 ? INT_MAX : hier_domain_sizes[i - 1] - 1;
        if (i == HIER_LEVELS_MAX || *end != 0 || ranks < 1 || ranks > most)
            return refuse_domains(domains.items[i]);
        hier_domain_sizes[i] = (int)ranks;
    }
    return OPAL_SUCCESS;
}

static opal_status_t read_rules(bool has_set)
{
    opal_status_t status = ompi_coll_table_preset(&rules);
    opal_status_t read = has_set ? ompi_coll_table_read(&rules, &set_table) : OPAL_SUCCESS;
    return status != OPAL_SUCCESS ? status : read;
}

static bool read_rules_again(void)
{
    return read_rules(true) == OPAL_SUCCESS;
}

static opal_status_t open_settings(void)
{
    opal_status_t status = read_rules(opal_param_setting(rules.parameter, NULL) != NULL);
    opal_status_t read = read_domains();
    return status != OPAL_SUCCESS ? status : read;
}

static void tell_rules(opal_rule_fn_t *say, void *context)
{
    ompi_coll_table_tell(&rules, say, context);
}

/* -- calls ----------------------------------------------------------------------------------- */

/*
 * In the v and w forms of gather, scatter and alltoall a rank knows only its own counts. So the
 * ranks would have to exchange them first, and none could choose by the length. Levels were
 * measured (doc/CORES.md): they gain up to 2 KiB with 4 ranks of a node (alltoallv 0.53 to 0.60 of
 * the time, gatherv 0.8 to 1.3) and lose with 2 ranks (1.04 to 1.64) and with longer blocks.
 */
static bool has_own_counts(ompi_coll_kind_t kind)
{
    return kind == OMPI_GATHERV || kind == OMPI_SCATTERV || kind == OMPI_ALLTOALLV ||
           kind == OMPI_ALLTOALLW || kind >= OMPI_NEIGHBOR_ALLGATHER;
}

/* Whether the grid has the order that the operation needs. */
static bool keeps_order(const hier_comm_t *self, const ompi_coll_call_t *call,
                        const ompi_coll_measure_t *measure)
{
    bool is_scan = call->kind == OMPI_SCAN || call->kind == OMPI_EXSCAN;
    bool commutes = call->op == NULL || (measure->holds & OMPI_COLL_COMMUTES) != 0;
    return self->is_in_order || (commutes && !is_scan);
}

/* NULL: the call is not taken. */
static const ompi_coll_algorithm_t *choose(const hier_comm_t *self, const ompi_coll_call_t *call,
                                           ompi_coll_family_t *family)
{
    if (self->stage != HIER_READY || has_own_counts(call->kind))
        return NULL;
    ompi_coll_measure_t measure = ompi_coll_measure(call, self->comm->rank, self->comm->size);
    *family = measure.family;
    if (measure.bytes == 0 || !keeps_order(self, call, &measure))
        return NULL;
    if (self->is_even)
        measure.holds |= OMPI_COLL_EVEN;
    const ompi_coll_algorithm_t *chosen = ompi_coll_choose(&rules, &measure, self->parts);
    return chosen->build != NULL ? chosen : NULL;
}

static int build(const ompi_coll_call_t *call, void *state, ompi_schedule_t *schedule, bool *taken)
{
    hier_comm_t *self = state;
    *taken = true;
    int error = self->stage == HIER_NEW ? hier_grid_make(self) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    ompi_coll_family_t family;
    const ompi_coll_algorithm_t *chosen = choose(self, call, &family);
    *taken = chosen != NULL;
    if (chosen == NULL)
        return MPI_SUCCESS;
    opal_count(&counts[family][chosen - algorithms[family]], 1);
    schedule->is_exact = schedule->relays = true;
    return chosen->build(call, schedule);
}

static int run(const ompi_coll_call_t *call, void *state, bool *taken)
{
    hier_comm_t *self = state;
    *taken = true;
    int error = self->stage == HIER_NEW ? hier_grid_make(self) : MPI_SUCCESS;
    if (error == MPI_SUCCESS && self->stage == HIER_NEW)
        error = hier_grid_agree(self);
    if (error != MPI_SUCCESS)
        return error;
    ompi_coll_family_t family;
    *taken = choose(self, call, &family) != NULL;
    return *taken ? ompi_coll_run_schedule(call, state) : MPI_SUCCESS;
}

static const char *explain(const ompi_coll_call_t *call, const void *state)
{
    ompi_coll_family_t family;
    const ompi_coll_algorithm_t *chosen = choose(state, call, &family);
    return chosen != NULL ? chosen->name : NULL;
}

/* -- communicators --------------------------------------------------------------------------- */

static int comm_add(ompi_communicator_t *comm, void **state)
{
    /* Jobs number their nodes, and may have other settings. */
    if (ompi_comm_is_inter(comm) || comm->size < 3 || ompi_comm_spans_jobs(comm))
        return MPI_SUCCESS;
    bool is_on_node = ompi_coll_is_on_node(comm), is_large = comm->size >= (int)domain_ranks;
    if (is_on_node && (!uses_domains || (hier_domain_sizes[0] == 0 && !is_large)))
        return MPI_SUCCESS;
    hier_comm_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        return MPI_ERR_NO_MEM;
    self->comm = comm;
    self->is_on_node = is_on_node;
    *state = self;
    return MPI_SUCCESS;
}

static void comm_remove(ompi_communicator_t *comm OPAL_UNUSED, void *state)
{
    hier_comm_t *self = state;
    if (self != NULL)
        hier_grid_release(self);
    free(self);
}

static const ompi_coll_ops_t hier_ops = {
    .run = run,
    .build = build,
    .comm_add = comm_add,
    .comm_remove = comm_remove,
    .explain = explain,
};

hier_comm_t *hier_of(const ompi_coll_call_t *call)
{
    return ompi_coll_state(call->comm, &hier_ops);
}

static void query(opal_answer_t *answer)
{
    const opal_pmi_job_t *job = opal_job();
    if (job->node_count == 1 && job->size < 3) {
        opal_answer_no(answer, "the job has one node, and fewer than 3 ranks");
        return;
    }
    opal_answer_yes(answer, PRIORITY, &hier_ops, NULL,
                    "%u nodes, and domains of nodes with %u "
                    "ranks or more",
                    job->node_count, domain_ranks);
}

OPAL_EXPORT extern const opal_component_t mca_coll_hier_component;
const opal_component_t mca_coll_hier_component = {
    OPAL_COMPONENT_HEAD(coll, hier),
    .prose = "collectives by levels: within nodes and domains, and between them",
    .params = params,
    .pvars = pvars,
    .open = open_settings,
    .query = query,
    .rules = tell_rules,
};
