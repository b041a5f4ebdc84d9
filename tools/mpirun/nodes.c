/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of the nodes, their segments and shared heaps. See nodes.h. */
#include "tools/mpirun/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/number.h"

opal_memory_shared_t heap_settings;

/* -- what was asked for ------------------------------------------------------------------ */

bool nodes_parse(const char *text, node_plan_t *plan)
{
    node_plan_t parsed = {0};
    if (strchr(text, ',') == NULL) {
        if (!number_parse_unsigned(text, 1, MAX_RANKS, &parsed.count))
            return false;
        *plan = parsed;
        return true;
    }
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, ",");
        if (parsed.count == MAX_LISTED_NODES)
            return false;
        char *word = opal_xstrndup(part, length);
        bool good = number_parse_unsigned(word, 1, MAX_RANKS, &parsed.sizes[parsed.count++]);
        free(word);
        if (!good)
            return false;
        part += length;
        if (*part == 0)
            break;
    }
    *plan = parsed;
    return true;
}

static bool check_plan(const job_t *job)
{
    const node_plan_t *plan = &job->options.nodes;
    size_t ranks = 0;
    unsigned per_node = job->options.per_node;
    if (plan->count > job->size) {
        opal_log_error("--fake-nodes: %u nodes are asked for, but the job has %u rank%s",
                       plan->count, job->size, job->size == 1 ? "" : "s");
        return false;
    }
    for (unsigned i = 0; i < plan->count && plan->sizes[0] != 0; i++)
        ranks += plan->sizes[i];
    if (ranks != 0 && ranks != job->size) {
        opal_log_error("--fake-nodes: its nodes have %zu ranks together, but the job has %u", ranks,
                       job->size);
        return false;
    }
    if (plan->sizes[0] != 0 || per_node == 0 || plan->count < 2 ||
        (job->size > per_node * (plan->count - 1) && job->size <= per_node * plan->count))
        return true;
    opal_log_error("--fake-nodes: %u ranks on %u nodes with %u ranks each leave a node empty or do "
                   "not fit",
                   job->size, plan->count, per_node);
    return false;
}

/* The number of ranks of node `i` of the plan; `left` ranks have no node yet. */
static unsigned size_of_node(const job_t *job, unsigned i, unsigned left)
{
    const node_plan_t *plan = &job->options.nodes;
    unsigned per_node = job->options.per_node;
    if (plan->sizes[0] != 0)
        return plan->sizes[i];
    if (per_node > 0 && job->node_count > 1)
        return left < per_node ? left : per_node;
    return job->size / job->node_count + (i < job->size % job->node_count);
}

int nodes_lay_out(job_t *job)
{
    const node_plan_t *plan = &job->options.nodes;
    if (!check_plan(job))
        return STATUS_USAGE;
    job->node_count = plan->count > 0 ? plan->count : 1;
    job->nodes = opal_xcalloc(job->node_count, sizeof *job->nodes);
    unsigned rank = 0;
    for (unsigned i = 0; i < job->node_count; i++) {
        node_t *node = &job->nodes[i];
        *node = (node_t){.first_rank = rank, .segment = {.fd = -1}, .heap_fd = -1};
        node->size = size_of_node(job, i, job->size - rank);
        for (unsigned k = 0; k < node->size; k++)
            job->ranks[rank++].node = node;
    }
    return 0;
}

char *nodes_mapping(const job_t *job)
{
    opal_text_t text = {0};
    opal_text_add(&text, "(vector");
    for (unsigned i = 0, next; i < job->node_count; i = next) {
        for (next = i + 1; next < job->node_count; next++) {
            if (job->nodes[next].size != job->nodes[i].size)
                break;
        }
        opal_text_printf(&text, ",(%u,%u,%u)", i, next - i, job->nodes[i].size);
    }
    opal_text_add(&text, ")");
    return opal_text_take(&text);
}

/* -- what they share --------------------------------------------------------------------- */

/* -- the shared heap ----------------------------------------------------------------------- */

/* Maps the region's tables, for heap_reap. Without them nothing is reaped until a rank looks. */
static void map_tables(node_t *node)
{
    opal_region_header_t header;
    if (pread(node->heap_fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return;
    void *mapped = mmap(NULL, (size_t)header.first_chunk * OPAL_HEAP_CHUNK_BYTES,
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, node->heap_fd, 0);
    if (mapped != MAP_FAILED)
        node->heap_tables = (opal_region_tables_t){.header = mapped,
                                                   .chunks = header.chunks,
                                                   .first_chunk = header.first_chunk,
                                                   .pool_count = header.pool_count,
                                                   .fd = node->heap_fd};
}

/* Makes the region of the shared heap, if it is wanted. Ranks can do without it: a failure is
 * reported only if the user insists on it. */
static void heap_create(node_t *node)
{
    const char *step;
    bool insists = heap_settings.enable == OPAL_MEMORY_ENABLED;
    if (heap_settings.enable == OPAL_MEMORY_DISABLED || (node->size == 1 && !insists))
        return;
    const opal_region_request_t request = {.bytes = (uint64_t)heap_settings.size_mib << 20,
                                           .ranks = node->size,
                                           .shares = heap_settings.shares};
    node->heap_fd = opal_region_create(&request, &step);
    if (node->heap_fd < 0 && insists)
        opal_log_warning("the ranks have no shared heap, since its memory cannot be made: %s: %s",
                         step, strerror(errno));
    if (node->heap_fd >= 0)
        map_tables(node);
}

/* Frees the chunks of processes that have ended. */
static void heap_reap(const node_t *node)
{
    opal_region_life_t self;
    if (node->heap_tables.header == NULL)
        return;
    opal_region_own_life(&self);
    opal_region_reap(&node->heap_tables, &self);
}

static void heap_destroy(node_t *node)
{
    const opal_region_tables_t *tables = &node->heap_tables;
    if (tables->header != NULL)
        munmap(tables->header, (size_t)tables->first_chunk * OPAL_HEAP_CHUNK_BYTES);
    node->heap_tables = (opal_region_tables_t){.fd = -1};
    if (node->heap_fd >= 0)
        close(node->heap_fd);
    node->heap_fd = -1;
}

/* -- all nodes ------------------------------------------------------------------------------ */

bool nodes_create(job_t *job, pid_t watcher)
{
    for (unsigned i = 0; i < job->node_count; i++) {
        node_t *node = &job->nodes[i];
        heap_create(node);
        if (node->size > 1 &&
            opal_node_create(job->id, node->size, (int)watcher, &node->segment) != OPAL_SUCCESS)
            return false;
    }
    return true;
}

void nodes_destroy(job_t *job)
{
    for (unsigned i = 0; i < job->node_count; i++) {
        opal_node_destroy(&job->nodes[i].segment);
        heap_destroy(&job->nodes[i]);
    }
}

void nodes_reap(const job_t *job)
{
    for (unsigned i = 0; i < job->node_count; i++)
        heap_reap(&job->nodes[i]);
}

void nodes_declare_ended(const job_t *job, unsigned rank)
{
    const node_t *node = job->ranks[rank].node;
    if (node->segment.fd >= 0)
        opal_node_declare_ended(&node->segment, rank - node->first_rank);
}
