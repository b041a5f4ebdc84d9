/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes ranks that can be started from the options. See job.h. */
#include "tools/mpirun/job.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/bind.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/program.h"

void job_init(job_t *job)
{
    *job = (job_t){.number = 1, .crash_fd = -1};
    if (gethostname(job->host, sizeof job->host - 1) != 0)
        snprintf(job->host, sizeof job->host, "localhost");
    /* The kernel reuses pids, and a pid alone could name a dead job whose files are still there. */
    unsigned random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = (unsigned)(size_t)job ^ (unsigned)getppid();
    snprintf(job->id, sizeof job->id, "%d-%08x", (int)getpid(), random);
}

app_t *job_add_app(job_t *job)
{
    job->apps = opal_xrealloc(job->apps, (job->app_count + 1) * sizeof *job->apps);
    job->apps[job->app_count] = (app_t){0};
    return &job->apps[job->app_count++];
}

void app_free(app_t *app)
{
    opal_strings_free(&app->argv);
    opal_strings_free(&app->export);
    opal_strings_free(&app->environment);
    free(app->path);
    free(app->wdir);
    free(app->search);
}

void job_free(job_t *job)
{
    for (size_t i = 0; i < job->app_count; i++)
        app_free(&job->apps[i]);
    for (unsigned i = 0; i < job->size; i++) {
        free(job->ranks[i].cpus);
        free(job->ranks[i].binding_text);
    }
    free(job->apps);
    free(job->ranks);
    free(job->nodes);
    for (size_t i = 0; i < job->options.given_count; i++) {
        free(job->options.given[i].typed);
        free(job->options.given[i].value);
    }
    free(job->options.given);
    hosts_free(&job->options.hosts);
    opal_strings_free(&job->options.mca);
    opal_strings_free(&job->options.export);
    wraps_free(&job->options.wraps);
    debug_options_free(&job->options.debug);
    terminals_free(&job->terminals);
    free(job->options.rankfile);
    rankfile_free(&job->rankfile);
    free(job->options.output_dir);
    free(job->options.profile);
    free(job->options.trace);
    free(job->options.slurm_mpi);
    free(job->options.rsh_agent);
    free(job->options.rsh_args);
    spawn_pairs_free(&job->preputs);
    *job = (job_t){0};
}

static int check_directory(const job_t *job, const char *path)
{
    struct stat status;
    int error = stat(path, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (error == 0)
        return 0;
    opal_log_error("%s: cannot go to %s: %s", job->number == 1 ? "--wdir" : "info wdir", path,
                   strerror(error));
    return STATUS_USAGE;
}

static int find_programs(job_t *job)
{
    for (size_t i = 0; i < job->app_count; i++) {
        app_t *app = &job->apps[i];
        int status = app->wdir != NULL ? check_directory(job, app->wdir) : 0;
        if (status == 0)
            status = program_find(app->argv.items[0], app->wdir, app->search, &app->path);
        if (status != 0)
            return status;
        environment_of_app(app);
    }
    return 0;
}

/* The number of ranks that the options ask for by node, by object or by a rank file; 0: no such
 * option was given. */
static unsigned room_by_mapping(const job_t *job)
{
    const options_t *options = &job->options;
    unsigned nodes = options->nodes.count > 0 ? options->nodes.count : 1;
    if (options->rankfile != NULL)
        return job->rankfile.rank_count;
    if (options->per_node > 0)
        return options->per_node * nodes;
    return options->per_object > 0 ? options->per_object * bind_count(options->map_by) : 0;
}

/* True if the ranks of -n fit the mapping. False: an error was reported. */
static bool fits_mapping(const job_t *job, size_t size)
{
    const options_t *options = &job->options;
    bool may_wrap = options->per_node > 0 && options->per_node_wraps;
    unsigned room = room_by_mapping(job);
    if (room == 0 || size <= room || (may_wrap && options->nodes.count == 0))
        return true;
    opal_log_error("%zu ranks are asked for, but what %s says leaves room for %u", size,
                   options->rankfile != NULL ? "--rankfile" : "--map-by or --npernode", room);
    return false;
}

/* The number of cores or slots for one rank. With a rank file, the file decides. */
static unsigned cores_of_rank(const options_t *options)
{
    return options->cpus_per_rank > 0 && options->rankfile == NULL ? options->cpus_per_rank : 1;
}

/* True if the ranks fit without sharing cores or slots, or may share them. False: an error was
 * reported. */
static bool fits_cores(const options_t *options, size_t size, unsigned cores, unsigned slots)
{
    unsigned each = cores_of_rank(options), room = (slots < cores ? slots : cores) / each;
    if (!options->no_oversubscribe || size <= room)
        return true;
    opal_text_t text = {0};
    if (each > 1)
        opal_text_printf(&text, ", %u for each rank", each);
    opal_log_error("%zu ranks are asked for with --no-oversubscribe, but there is room for %u "
                   "(%u core%s, %u slot%s%s)",
                   size, room, cores, cores == 1 ? "" : "s", slots, slots == 1 ? "" : "s",
                   opal_text_string(&text));
    opal_text_free(&text);
    return false;
}

/* How many ranks may run at once without sharing hardware threads or slots. */
static unsigned count_universe(const options_t *options)
{
    static unsigned long threads[1024]; /* more than Linux can have */
    if (options->has_hosts && !options->hosts.whole_node)
        return options->hosts.slots;
    if (sched_getaffinity(0, sizeof threads, (cpu_set_t *)(void *)threads) != 0)
        return 1;
    return (unsigned)CPU_COUNT_S(sizeof threads, (cpu_set_t *)(void *)threads);
}

/* Sets the size of the job. Counts the machine's cores only if the size depends on them. */
static int count_ranks(job_t *job)
{
    const options_t *options = &job->options;
    bool counted = job->app_count > 1 || job->apps[0].rank_count != 0;
    unsigned cores = 0, slots = options->hosts.slots, each = cores_of_rank(options);
    bool by_threads = each > 1 ? options->bind_to == LEVEL_HWTHREAD : options->use_hwthreads;
    if (!counted || options->no_oversubscribe || options->hosts.whole_node)
        cores = bind_count(by_threads ? LEVEL_HWTHREAD : LEVEL_CORE);
    if (options->hosts.whole_node)
        slots += cores;
    if (!options->has_hosts)
        slots = cores;
    unsigned placed = room_by_mapping(job);
    unsigned default_count = placed > 0 ? placed : slots > each ? slots / each : 1;

    size_t size = 0;
    for (size_t i = 0; i < job->app_count; i++) {
        app_t *app = &job->apps[i];
        if (app->rank_count == 0)
            app->rank_count = counted ? 1 : default_count;
        app->first_rank = (unsigned)size;
        size += app->rank_count;
    }
    if (size > MAX_RANKS) {
        opal_log_error("%zu ranks are asked for; this mpirun starts up to %d", size, MAX_RANKS);
        return STATUS_USAGE;
    }
    if (!fits_mapping(job, size) || !fits_cores(options, size, cores, slots))
        return STATUS_USAGE;
    job->size = (unsigned)size;
    unsigned universe = job->universe_size > 0 ? job->universe_size : count_universe(options);
    job->universe_size = universe > job->size ? universe : job->size;
    return 0;
}

/* Checks the options of mapping and completes them. False: an error was reported. */
static bool settle_mapping(job_t *job)
{
    options_t *options = &job->options;
    if (options->rankfile != NULL)
        return rankfile_read(&job->rankfile, options->rankfile, job->host);
    if (options->cpus_per_rank > 0 && !options->bind_given)
        options->bind_to = options->use_hwthreads ? LEVEL_HWTHREAD : LEVEL_CORE;
    if (options->cpus_per_rank < 2 || options->bind_to == LEVEL_CORE ||
        options->bind_to == LEVEL_HWTHREAD)
        return true;
    opal_log_error("%u cores for each rank (PE=) need --bind-to core or hwthread",
                   options->cpus_per_rank);
    return false;
}

int job_prepare(job_t *job)
{
    if (!settle_mapping(job))
        return STATUS_USAGE;
    int status = find_programs(job);
    if (status == 0)
        status = count_ranks(job);
    if (status != 0)
        return status;

    job->ranks = opal_xcalloc(job->size, sizeof *job->ranks);
    for (size_t i = 0; i < job->app_count; i++) {
        for (unsigned k = 0; k < job->apps[i].rank_count; k++)
            job->ranks[job->apps[i].first_rank + k].app = &job->apps[i];
    }
    status = debug_prepare(job) ? wrap_find(job) : STATUS_USAGE;
    if (status == 0)
        status = nodes_lay_out(job);
    if (status != 0)
        return status;
    const options_t *options = &job->options;
    if (options->stdin_mode == STDIN_ONE && options->stdin_rank >= job->size) {
        opal_log_error("--stdin: there is no rank %u in a job of %u", options->stdin_rank,
                       job->size);
        return STATUS_USAGE;
    }
    bool binds = options->bind_to != LEVEL_NONE || options->rankfile != NULL;
    return binds ? bind_ranks(job) : 0;
}

void job_prepare_client(job_t *job)
{
    app_t *app = job_add_app(job);
    app->rank_count = 1;
    environment_of_app(app);
    job->options.stdin_mode = STDIN_NONE;
    job->options.map_by = LEVEL_SLOT;
    job->size = 1;
    job->universe_size = count_universe(&job->options);
    job->ranks = opal_xcalloc(1, sizeof *job->ranks);
    job->ranks[0].app = app;
    nodes_lay_out(job);
}

static void print_ranks(unsigned first, unsigned count)
{
    if (count == 1)
        printf("rank %u", first);
    else
        printf("ranks %u to %u", first, first + count - 1);
}

static void display_nodes(const job_t *job)
{
    for (unsigned i = 0; job->node_count > 1 && i < job->node_count; i++) {
        printf("  node %u: ", i);
        print_ranks(job->nodes[i].first_rank, job->nodes[i].size);
        puts("");
    }
}

void job_display_map(const job_t *job)
{
    printf("job %s: %u rank%s on %s", job->id, job->size, job->size == 1 ? "" : "s", job->host);
    if (job->node_count > 1)
        printf(", as %u nodes", job->node_count);
    puts("");
    display_nodes(job);
    for (size_t i = 0; i < job->app_count; i++) {
        const app_t *app = &job->apps[i];
        char *arguments = opal_strings_join(&app->argv, " ");
        printf("  ");
        print_ranks(app->first_rank, app->rank_count);
        printf(": %s\n", arguments);
        if (app->wdir != NULL)
            printf("    in directory %s\n", app->wdir);
        for (unsigned k = 0; k < app->rank_count; k++) {
            const rank_t *rank = &job->ranks[app->first_rank + k];
            if (rank->binding_text != NULL)
                printf("    rank %u on %s\n", app->first_rank + k, rank->binding_text);
        }
        free(arguments);
    }
    fflush(stdout);
}

/* "0-3,6": the hardware threads that mpirun may use itself. */
static char *own_threads(void)
{
    enum { SET_BYTES = 8192, CPUS = SET_BYTES * 8 };
    cpu_set_t *set = opal_xcalloc(1, SET_BYTES);
    opal_text_t text = {0};
    if (sched_getaffinity(0, SET_BYTES, set) == 0) {
        for (int cpu = 0; cpu < CPUS; cpu++) {
            if (!CPU_ISSET_S(cpu, SET_BYTES, set))
                continue;
            int last = cpu;
            while (last + 1 < CPUS && CPU_ISSET_S(last + 1, SET_BYTES, set))
                last++;
            opal_text_printf(&text, "%s%d", text.length == 0 ? "" : ",", cpu);
            if (last > cpu)
                opal_text_printf(&text, "-%d", last);
            cpu = last;
        }
    }
    free(set);
    return opal_text_take(&text);
}

void job_report_bindings(const job_t *job)
{
    if (job->size > 0 && job->ranks[0].cpus == NULL) {
        char *threads = own_threads();
        opal_log_note("no rank is bound; all may run on hardware threads %s of %s", threads,
                      job->host);
        free(threads);
        return;
    }
    for (unsigned i = 0; i < job->size; i++)
        opal_log_note("rank %u is bound to %s", i, job->ranks[i].binding_text);
}
