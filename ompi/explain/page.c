/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices of this process: job, components, transports, protocols, waits. See page.h. */
#include "ompi/explain/page.h"

#include "config.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/framework.h"
#include "opal/mca/btl/btl.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memory/events/events.h"
#include "opal/node/node.h"
#include "opal/node/region.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "ompi/mca/mpool/base/base.h"
#include "ompi/mca/osc/base/background.h"
#include "ompi/mca/pml/base/base.h"

static const char job_section[] = "Job", components[] = "Components", transports[] = "Transports",
                  memory[] = "Memory", waits[] = "Cores and waits",
                  protocols[] =
                      "Protocols, by bytes of the message (and the parameter that sets them)",
                  collectives[] =
                      "Collectives of MPI_COMM_WORLD, by bytes of the count (coll_*_table, "
                      "coll_sm_max_bytes)";

/* -- parameters ------------------------------------------------------------------------------- */

typedef struct wanted {
    const char *name;
    char value[64];
} wanted_t;

static void take_value(const opal_param_info_t *info, void *context)
{
    wanted_t *wanted = context;
    if (strcmp(info->full_name, wanted->name) == 0)
        snprintf(wanted->value, sizeof wanted->value, "%s", info->value_text);
}

static wanted_t value_of(const char *name)
{
    wanted_t wanted = {name, ""};
    opal_param_visit(take_value, &wanted);
    return wanted;
}

/* -- job and components ----------------------------------------------------------------------- */

static void add_job(opal_text_t *facts, const char *thread_level)
{
    const opal_pmi_job_t *job = opal_job();
    char host[HOST_NAME_MAX + 1] = "localhost";
    gethostname(host, sizeof host - 1);
    ompi_facts_add(facts, job_section, "ranks",
                   "%u on %u node%s; thread level %s; Mica " PACKAGE_VERSION, job->size,
                   job->node_count, job->node_count == 1 ? "" : "s", thread_level);
    ompi_facts_add(facts, job_section, "node", "%u on host %s, %u rank%s", job->node_of[job->rank],
                   host, job->local_size, job->local_size == 1 ? "" : "s");
}

/* Whether the reasons of a framework's components are worth a place on the page. */
static bool has_reasons(const opal_framework_t *framework)
{
    static const char *const names[] = {"pmi", "pml", "btl", "coll"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        if (strcmp(framework->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Adds the chosen components. */
static void add_chosen(opal_text_t *text, const opal_framework_t *framework)
{
    bool is_first = true;
    for (size_t i = 0; i < framework->candidate_count; i++) {
        const opal_candidate_t *candidate = &framework->candidates[i];
        if (candidate->state != OPAL_CANDIDATE_CHOSEN)
            continue;
        opal_text_printf(text, "%s%s", is_first ? "" : ", ", candidate->name);
        is_first = false;
        if (!has_reasons(framework))
            continue;
        opal_text_add(text, " (");
        ompi_page_reason(text, candidate->answer.reason);
        opal_text_add(text, ")");
    }
}

static void add_components(opal_text_t *facts)
{
    opal_text_t others = {0};
    const opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        opal_text_t chosen = {0};
        add_chosen(&chosen, framework);
        const char *names = opal_text_string(&chosen);
        if (names[0] != 0 && has_reasons(framework))
            ompi_facts_add(facts, components, framework->name, "%s", names);
        else if (names[0] != 0)
            opal_text_printf(&others, "%s%s: %s", others.length > 0 ? "; " : "", framework->name,
                             names);
        opal_text_free(&chosen);
    }
    ompi_facts_add(facts, components, "others", "%s", opal_text_string(&others));
    opal_text_free(&others);
}

/* -- transports and protocols ----------------------------------------------------------------- */

/* The next rank of this job behind this one, on this node or on another one; this rank: none. */
static unsigned next_rank(bool on_node)
{
    const opal_pmi_job_t *job = opal_job();
    for (unsigned i = 1; i < job->size; i++) {
        unsigned rank = (job->rank + i) % job->size;
        if ((job->node_of[rank] == job->node_of[job->rank]) == on_node)
            return rank;
    }
    return job->rank;
}

static char *path_to(unsigned rank)
{
    opal_text_t text = {0};
    if (ompi_pml->describe != NULL)
        ompi_pml->describe(rank, &text);
    return opal_text_take(&text);
}

char *ompi_page_transport(unsigned rank)
{
    char *path = path_to(rank);
    path[strcspn(path, ":")] = 0;
    return path;
}

/* `used` gets the transport's name. */
static void add_path(opal_text_t *facts, const char *label, unsigned rank, opal_strings_t *used)
{
    char *path = path_to(rank), *name = ompi_page_transport(rank);
    ompi_facts_add(facts, transports, label, "%s", path);
    opal_strings_add(used, name);
    free(name);
    free(path);
}

/* Which transports reach processes of other jobs. */
static void add_other_jobs(opal_text_t *facts)
{
    opal_text_t text = {0};
    if (ompi_pml_is_network()) {
        ompi_facts_add(facts, transports, "other jobs",
                       "none: a network that matches messages reaches the ranks of one job");
        return;
    }
    bool sm_may = strcmp(value_of("btl_sm_between_jobs").value, "no") != 0;
    for (const opal_btl_ops_t *ops = NULL; (ops = opal_btl_next(ops)) != NULL;) {
        bool is_sm = strcmp(ops->name, "sm") == 0;
        if (strcmp(ops->name, "self") == 0 || (is_sm && !sm_may))
            continue;
        opal_text_printf(&text, "%s%s%s", text.length > 0 ? ", else " : "", ops->name,
                         is_sm ? " on one host (btl_sm_between_jobs)" : "");
    }
    ompi_facts_add(facts, transports, "other jobs", "%s",
                   text.length > 0 ? opal_text_string(&text) : "none");
    opal_text_free(&text);
}

static void add_transports(opal_text_t *facts, opal_strings_t *used)
{
    unsigned self = opal_job()->rank, on_node = next_rank(true), beyond = next_rank(false);
    add_path(facts, "same process", self, used);
    if (on_node != self)
        add_path(facts, "same node", on_node, used);
    if (beyond != self)
        add_path(facts, "other nodes", beyond, used);
    add_other_jobs(facts);
}

/* The rules of a component, those of one `where` in one text. */
typedef struct rules {
    opal_text_t *facts, text;
    char where[96];
    const char *component;
} rules_t;

static void end_rules(rules_t *rules)
{
    if (rules->text.length > 0) {
        char *label = opal_xprintf("%s, %s:", rules->component, rules->where);
        ompi_facts_add(rules->facts, protocols, label, "%s", opal_text_string(&rules->text));
        free(label);
    }
    opal_text_free(&rules->text);
}

static void take_rule(void *context, const char *where, size_t bytes, const char *way,
                      const char *parameter)
{
    rules_t *rules = context;
    if (strcmp(where, OPAL_RULE_SHARED_HEAP) == 0 && opal_region.bytes == 0)
        return;
    if (strcmp(rules->where, where) != 0) {
        end_rules(rules);
        snprintf(rules->where, sizeof rules->where, "%s", where);
    }
    bool names = parameter != NULL && bytes > 0;
    opal_text_printf(&rules->text, "%s%zu+%s%s%s: %s", rules->text.length > 0 ? "; " : "", bytes,
                     names ? " (" : "", names ? parameter : "", names ? ")" : "", way);
}

static void add_rules(opal_text_t *facts, const opal_candidate_t *candidate)
{
    rules_t rules = {.facts = facts, .component = candidate->name};
    if (candidate->component->rules != NULL)
        candidate->component->rules(take_rule, &rules);
    end_rules(&rules);
}

/* Whether messages go in frames that are not placed: those of pml/ob1's own rules. */
static bool uses_frames(const opal_strings_t *used)
{
    for (const opal_btl_ops_t *ops = NULL; (ops = opal_btl_next(ops)) != NULL;) {
        if (ops->send_long == NULL && strcmp(ops->name, "self") != 0 &&
            opal_strings_has(used, ops->name))
            return true;
    }
    return false;
}

static void add_protocols(opal_text_t *facts, const opal_strings_t *used)
{
    const opal_framework_t *btl = opal_framework_find("btl"), *pml = opal_framework_find("pml");
    for (size_t i = 0; i < btl->candidate_count; i++) {
        const opal_candidate_t *candidate = &btl->candidates[i];
        if (candidate->state == OPAL_CANDIDATE_CHOSEN && opal_strings_has(used, candidate->name))
            add_rules(facts, candidate);
    }
    for (size_t i = 0; i < pml->candidate_count && uses_frames(used); i++) {
        if (strcmp(pml->candidates[i].name, "ob1") == 0)
            add_rules(facts, &pml->candidates[i]);
    }
    if (opal_strings_has(used, "network"))
        ompi_facts_add(facts, protocols, "network", "0+: the provider of libfabric decides");
}

static void forget(char **text)
{
    free(*text);
    *text = NULL;
}

/* Collectives that are carried out alike have one line. */
static void add_collectives(opal_text_t *facts)
{
    static const struct {
        const char *name;
        ompi_coll_kind_t kind;
    } kinds[] = {
        {"allgather", OMPI_ALLGATHER}, {"allreduce", OMPI_ALLREDUCE},
        {"alltoall", OMPI_ALLTOALL},   {"barrier", OMPI_BARRIER},
        {"bcast", OMPI_BCAST},         {"gather", OMPI_GATHER},
        {"reduce", OMPI_REDUCE},       {"reduce_scatter", OMPI_REDUCE_SCATTER_BLOCK},
        {"scan", OMPI_SCAN},           {"scatter", OMPI_SCATTER},
    };
    enum { KINDS = OPAL_COUNT_OF(kinds) };
    char *texts[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        opal_text_t text = {0};
        ompi_page_collective(&text, kinds[i].kind);
        texts[i] = opal_text_take(&text);
    }
    for (size_t i = 0; i < KINDS; i++) {
        opal_text_t names = {0};
        for (size_t k = i; k < KINDS && texts[i] != NULL; k++) {
            if (texts[k] == NULL || strcmp(texts[k], texts[i]) != 0)
                continue;
            opal_text_printf(&names, "%s%s", k > i ? ", " : "", kinds[k].name);
            if (k > i)
                forget(&texts[k]);
        }
        if (names.length > 0) {
            opal_text_add(&names, ":");
            ompi_facts_add(facts, collectives, opal_text_string(&names), "%s", texts[i]);
        }
        opal_text_free(&names);
        forget(&texts[i]);
    }
}

/* -- cores and waits -------------------------------------------------------------------------- */

/* Adds "0-3,8". Returns how many. */
static int add_cpus(opal_text_t *text)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) {
        opal_text_add(text, "unknown");
        return 0;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, &cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus))
            last++;
        bool is_first = text->length == 0;
        opal_text_printf(text, last > cpu ? "%s%d-%d" : "%s%d", is_first ? "" : ",", cpu, last);
        cpu = last;
    }
    return CPU_COUNT(&cpus);
}

static void add_cores(opal_text_t *facts)
{
    opal_text_t cpus = {0};
    int count = add_cpus(&cpus);
    bool is_bound = count < sysconf(_SC_NPROCESSORS_ONLN);
    ompi_facts_add(facts, waits, "may run on", "hardware threads %s (%s)", opal_text_string(&cpus),
                   is_bound ? "bound" : "not bound: all of the node");
    opal_text_free(&cpus);
    if (opal_wait_is_oversubscribed())
        ompi_facts_add(facts, waits, "waits",
                       "yield %s times (wait_yields), then sleep: more ranks than hardware threads",
                       value_of("wait_yields").value);
    else
        ompi_facts_add(
            facts, waits, "waits",
            "spin for %s us (wait_spin_usec), then sleep: each rank has a hardware thread",
            value_of("wait_spin_usec").value);
    ompi_facts_add(facts, waits, "progress",
                   "in calls; a thread for windows accessed by messages (osc_progress_thread = %s)",
                   value_of("osc_progress_thread").value);
}

/* -- memory ----------------------------------------------------------------------------------- */

static void add_heap(opal_text_t *facts)
{
    const opal_framework_t *framework = opal_framework_find("memory");
    for (size_t i = 0; i < framework->candidate_count; i++) {
        const opal_candidate_t *candidate = &framework->candidates[i];
        opal_text_t reason = {0};
        ompi_page_reason(&reason, candidate->answer.reason);
        if (strcmp(candidate->name, "smheap") == 0)
            ompi_facts_add(facts, memory, "shared heap", "%s: %s",
                           opal_region.bytes > 0 ? "on" : "off", opal_text_string(&reason));
        opal_text_free(&reason);
    }
}

/* "munmap, mremap by reloc; mmap not asked for" */
static void add_events(opal_text_t *facts)
{
    opal_text_t verified = {0}, missing = {0};
    for (unsigned i = 0; i < OPAL_MEMORY_EVENT_COUNT; i++) {
        opal_memory_report_t report;
        opal_memory_events_report(1U << i, &report);
        const char *name = opal_memory_event_name(1U << i);
        if (report.finding == OPAL_MEMORY_VERIFIED)
            opal_text_printf(&verified, "%s%s (%s)", verified.length > 0 ? ", " : "", name,
                             opal_memory_method_name(report.method));
        else if (report.finding == OPAL_MEMORY_MISSING)
            opal_text_printf(&missing, "%s%s (%s)", missing.length > 0 ? ", " : "", name,
                             report.reason);
    }
    ompi_facts_add(facts, memory, "hooks", "%s%s%s",
                   verified.length > 0 ? opal_text_string(&verified) : "none was asked for",
                   missing.length > 0 ? "; missing: " : "", opal_text_string(&missing));
    opal_text_free(&verified);
    opal_text_free(&missing);
}

static const char *pinned_text(opal_leave_pinned_t decided)
{
    switch (decided) {
    case OPAL_LEAVE_PINNED_YES:
        return "yes";
    case OPAL_LEAVE_PINNED_RUNTIME:
        return "where a network gains by it";
    default:
        return "no";
    }
}

static void add_memory(opal_text_t *facts)
{
    add_heap(facts);
    add_events(facts);
    unsigned support = opal_memory_support();
    bool is_seen = (support & OPAL_MEMORY_FREE_SUPPORT) && (support & OPAL_MEMORY_MUNMAP_SUPPORT);
    ompi_facts_add(facts, memory, "leave_pinned",
                   "%s (mpi_leave_pinned = %s): free and munmap %s seen",
                   pinned_text(ompi_mpool_leave_pinned().leave), value_of("mpi_leave_pinned").value,
                   is_seen ? "are" : "are not");
}

void ompi_page_choices(opal_text_t *facts, const char *thread_level)
{
    opal_strings_t used = {0};
    add_job(facts, thread_level);
    add_components(facts);
    add_transports(facts, &used);
    add_protocols(facts, &used);
    add_collectives(facts);
    add_cores(facts);
    add_memory(facts);
    opal_strings_free(&used);
}
