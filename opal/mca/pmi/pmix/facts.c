/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the server knows: numbers, and which ranks share a node. The server describes the job's map
 * in one of several compressed forms; libpmix unpacks whichever it is into names of nodes, and
 * ranks of a node.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/mca/pmi/pmix/pmix.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

/* -- numbers ------------------------------------------------------------------------ */

/* Servers choose the integer type. False: it is none, or out of range. */
static bool number_in(const pmix_value_t *value, unsigned *number)
{
    int64_t wide;
    switch (value->type) {
    case PMIX_INT:
        wide = value->data.integer;
        break;
    case PMIX_INT32:
        wide = value->data.int32;
        break;
    case PMIX_INT64:
        wide = value->data.int64;
        break;
    case PMIX_UINT:
        wide = value->data.uint;
        break;
    case PMIX_UINT16:
        wide = value->data.uint16;
        break;
    case PMIX_UINT32:
        wide = value->data.uint32;
        break;
    case PMIX_UINT64:
        wide = value->data.uint64 <= INT_MAX ? (int64_t)value->data.uint64 : -1;
        break;
    case PMIX_SIZE:
        wide = value->data.size <= INT_MAX ? (int64_t)value->data.size : -1;
        break;
    default:
        return false;
    }
    if (wide < 0 || wide > INT_MAX)
        return false;
    *number = (unsigned)wide;
    return true;
}

pmix_status_t client_get_now(const client_t *self, pmix_rank_t rank, const char *key,
                             pmix_value_t **value)
{
    bool yes = true;
    pmix_info_t now;
    pmix_proc_t whose = self->me;
    whose.rank = rank;
    PMIX_INFO_LOAD(&now, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
    return PMIx_Get(&whose, key, &now, 1, value);
}

bool client_fact(const client_t *self, pmix_rank_t rank, const char *key, unsigned *number)
{
    pmix_value_t *value = NULL;
    if (client_get_now(self, rank, key, &value) != PMIX_SUCCESS || value == NULL)
        return false;
    bool good = number_in(value, number);
    PMIX_VALUE_RELEASE(value);
    return good;
}

/* -- nodes -------------------------------------------------------------------------- */

/* Gives the ranks on the node with that name the number. */
static void place_ranks_of(client_t *self, const char *name, unsigned number)
{
    pmix_proc_t *ranks = NULL;
    size_t count = 0;
    if (PMIx_Resolve_peers(name, self->me.nspace, &ranks, &count) != PMIX_SUCCESS)
        return; /* its ranks stay without one */
    for (size_t i = 0; i < count; i++) {
        if (ranks[i].rank < self->size)
            self->node_of[ranks[i].rank] = number;
    }
    PMIX_PROC_FREE(ranks, count);
}

/* False: the server names no nodes. */
static bool place_by_name(client_t *self)
{
    char *names = NULL, *rest = NULL;
    unsigned number = 0;
    if (PMIx_Resolve_nodes(self->me.nspace, &names) != PMIX_SUCCESS || names == NULL)
        return false;
    for (char *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        place_ranks_of(self, name, number++);
    free(names);
    return true;
}

/* Numbers the nodes by their first ranks, whatever the server's order is. Returns how many. */
static unsigned renumber(client_t *self)
{
    unsigned count = 0, most = 0;
    for (unsigned rank = 0; rank < self->size; rank++) {
        if (self->node_of[rank] > most)
            most = self->node_of[rank];
    }
    unsigned *new_number = opal_xmalloc((most + 1) * sizeof *new_number);
    for (unsigned i = 0; i <= most; i++)
        new_number[i] = UINT_MAX;
    for (unsigned rank = 0; rank < self->size; rank++) {
        unsigned *number = &new_number[self->node_of[rank]];
        if (*number == UINT_MAX)
            *number = count++;
        self->node_of[rank] = *number;
    }
    free(new_number);
    return count;
}

static opal_status_t place_everybody(client_t *self)
{
    for (unsigned rank = 0; rank < self->size; rank++)
        self->node_of[rank] = UINT_MAX;
    bool named = place_by_name(self);
    for (unsigned rank = 0; rank < self->size; rank++) {
        if (self->node_of[rank] != UINT_MAX)
            continue;
        opal_log_error("pmi/pmix: the launcher does not say %s%u of %u runs; does it give "
                       "PMIX_NODE_MAP and PMIX_PROC_MAP to its ranks?",
                       named ? "on which node rank " : "on which nodes the job runs, so not where ",
                       rank, self->size);
        return OPAL_ERR_PROTOCOL;
    }
    return OPAL_SUCCESS;
}

opal_status_t client_learn_nodes(client_t *self, opal_pmi_job_t *job)
{
    unsigned here = 0;
    if (self->node_of == NULL) /* else it is the second init */
        self->node_of = opal_xcalloc(self->size, sizeof *self->node_of);
    job->node_of = self->node_of;
    job->node_count = 1;
    /* Most jobs: everybody is here, and no map is asked for. */
    if (!client_fact(self, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &here) || here != self->size) {
        opal_status_t status = place_everybody(self);
        if (status != OPAL_SUCCESS)
            return status;
        job->node_count = renumber(self);
    }
    opal_pmi_count_local(job);
    return OPAL_SUCCESS;
}
