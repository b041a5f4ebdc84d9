/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpirun: starts the ranks of an MPI job on this node, or hands the job over to a launcher for
 * several nodes. Errors of the request are found here, before there is a process to clean up.
 *
 *   main -> options, launcher -> job, nodes, bind -> front -> supervise -> start -> launch, output,
 *                            \-> handover                                    \-> spawn       input,
 * pmi
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param.h"
#include "opal/mca/memory/base/shared.h"
#include "opal/runtime/launcher.h"
#include "opal/node/node.h"
#include "opal/util/log.h"
#include "tools/mpirun/launcher.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/front.h"
#include "tools/mpirun/handover.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/number.h"
#include "tools/mpirun/options.h"
#include "tools/mpirun/profile.h"
#include "tools/mpirun/spelling.h"

/*
 * Ranks inherit the descriptors 0, 1, 2 and their own ones, and nothing else that mpirun was
 * started with. If one of the three is closed, /dev/null is opened there, because the next file
 * would get its number.
 */
static bool clean_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0) {
            opal_log_error("cannot open /dev/null: %s", strerror(errno));
            return false;
        }
    } while (fd < 3);
    close(fd);
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* before Linux 5.11 they are inherited */
    return true;
}

/* Copies the parameters that are needed after opal_param_fini. False: an error was reported. */
static bool adopt_params(job_t *job)
{
    const opal_launcher_params_t *params = &opal_launcher_params;
    options_t *options = &job->options;
    options->report_hang = params->report_hang;
    if (options->report_hang < 0)
        options->report_hang = isatty(STDERR_FILENO) ? OPAL_LAUNCHER_HANG_SECONDS : 0;
    options->slurm_mpi = opal_xstrdup(params->slurm_mpi != NULL ? params->slurm_mpi : "pmix");
    if (params->rsh_agent != NULL)
        options->rsh_agent = opal_xstrdup(params->rsh_agent);
    if (params->rsh_args != NULL)
        options->rsh_args = opal_xstrdup(params->rsh_args);
    if (params->hostfile == NULL || options->has_hosts)
        return true;
    options->has_hosts = true;
    return hosts_add_file(&options->hosts, "orte_default_hostfile", params->hostfile, job->host,
                          params->slots);
}

/* Reads mpirun's own parameters. The ranks report findings about all other parameters. */
static bool read_params(job_t *job)
{
    opal_param_init();
    bool good = opal_launcher_params_register() == OPAL_SUCCESS;
    good = opal_node_register() == OPAL_SUCCESS && good;
    good = opal_memory_shared_register() == OPAL_SUCCESS && good;
    opal_diagnostic_report(!good);
    good = good && adopt_params(job);
    opal_memory_shared_withdraw(&heap_settings);
    opal_node_withdraw();
    opal_launcher_params_withdraw();
    opal_param_fini();
    return good;
}

/* False: an option was given that only other launchers have; an error was reported. */
static bool can_start_here(const options_t *options)
{
    for (size_t i = 0; i < options->given_count; i++) {
        const given_t *given = &options->given[i];
        char *name = opal_xstrndup(given->name, strcspn(given->name, " "));
        const spelling_row_t *row = spelling_find(name, given->value);
        free(name);
        if (row != NULL && row->by[OPAL_LAUNCHER_SELF].kind == SPELLING_REFUSED) {
            opal_log_error("%s is refused: %s", given->typed, row->by[OPAL_LAUNCHER_SELF].text);
            return false;
        }
    }
    return true;
}

static int start_here(job_t *job)
{
    int status = can_start_here(&job->options) ? job_prepare(job) : STATUS_USAGE;
    if (status != 0)
        return status;
    if (job->options.display_map || job->options.show)
        job_display_map(job);
    if (job->options.show)
        return 0;
    if (!profile_prepare(&job->options))
        return STATUS_USAGE;
    if (job->options.report_bindings)
        job_report_bindings(job);
    if (!terminals_open(job))
        return STATUS_TROUBLE;
    return front_run(job, opal_launcher_params.kill_grace, -1);
}

/* Another launcher takes the place of this process. */
static void note_report(const options_t *options)
{
    const char *folder = options->profile != NULL ? options->profile : "";
    if (options->profile != NULL)
        opal_log_note("when the job has ended, mica-profile %s makes the report", folder);
    if (options->trace != NULL)
        opal_log_note("when the job has ended, mica-profile --trace %s %s makes the trace",
                      options->trace, folder);
}

static int hand_over(const job_t *job, opal_launcher_t launcher, const char *path)
{
    handover_t handover;
    if (!handover_translate(job, launcher, path, &handover))
        return STATUS_USAGE;
    char *text = handover_text(&handover);
    int status = 0;
    if (job->options.show) {
        puts(text);
    } else {
        if (!profile_prepare(&job->options))
            return STATUS_USAGE;
        note_report(&job->options);
        if (job->options.verbose)
            opal_log_note("handing over: %s", text);
        status = handover_run(&handover);
    }
    free(text);
    handover_free(&handover);
    return status;
}

static int run(job_t *job)
{
    launcher_allocation_t allocation;
    opal_launcher_t launcher;
    char *path;
    environment_adopt_mca(&job->options.mca);
    if (!read_params(job))
        return STATUS_USAGE;
    launcher_read_allocation(&allocation, job->host);
    if (!launcher_choose(&allocation, &job->options.hosts,
                         (opal_launcher_t)opal_launcher_params.launcher, &launcher, &path))
        return STATUS_USAGE;
    int status = launcher == OPAL_LAUNCHER_SELF ? start_here(job) : hand_over(job, launcher, path);
    free(path);
    return status == 0 && job->options.show && !opal_log_flush_stdout() ? STATUS_TROUBLE : status;
}

/*
 * mpirun --serve FD, which pmi/singleton starts (client.c): goes into the background, so that the
 * program has no child to wait for, and keeps none of the program's files open.
 */
static int serve(job_t *job, int fd)
{
    if (!read_params(job))
        return STATUS_USAGE;
    close_range(3, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0U, 0);
    pid_t background = fork();
    if (background < 0) {
        opal_log_error("cannot go into the background: %s", strerror(errno));
        return STATUS_TROUBLE;
    }
    if (background > 0)
        _exit(0);
    unsetenv("OMPI_MCA_pmi"); /* it made the program a job of one, and is not for those it starts */
    job_prepare_client(job);
    return front_run(job, opal_launcher_params.kill_grace, fd);
}

/* --ask PID: mica-ps, which is installed beside mpirun. Returns on a failure alone. */
static int ask(unsigned pid)
{
    char path[PATH_MAX], number[16];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    snprintf(number, sizeof number, "%u", pid);
    char *program = opal_xprintf("%.*s/mica-ps", slash != NULL ? (int)(slash - path) : 0, path);
    execl(program, "mica-ps", number, (char *)NULL);
    opal_log_error("--ask: cannot run %s: %s", program, strerror(errno));
    free(program);
    return STATUS_TROUBLE;
}

/* The descriptor of --serve; -1: that is not what is asked for. */
static int parse_serve(int argc, char **argv)
{
    unsigned fd;
    bool asked = argc == 3 && strcmp(argv[1], "--serve") == 0;
    return asked && number_parse_unsigned(argv[2], 4, INT_MAX, &fd) ? (int)fd : -1;
}

int main(int argc, char **argv)
{
    job_t job;
    opal_log_set_origin("mpirun");
    if (!clean_descriptors())
        return STATUS_TROUBLE;
    job_init(&job);
    int status = STATUS_USAGE, client_fd = parse_serve(argc, argv);
    if (argc == 4 && strcmp(argv[1], "--terminal") == 0) {
        status = terminal_lend(argv[2], argv[3]);
    } else if (client_fd >= 0) {
        status = serve(&job, client_fd);
    } else if (options_parse(&job, argc, argv)) {
        if (job.options.help)
            options_print_help();
        else if (job.options.version)
            puts("mpirun (" PACKAGE_NAME ") " PACKAGE_VERSION);
        bool prints_only = job.options.help || job.options.version;
        if (job.options.ask != 0 && !prints_only)
            status = ask(job.options.ask);
        else
            status = !prints_only ? run(&job) : opal_log_flush_stdout() ? 0 : STATUS_TROUBLE;
    }
    job_free(&job);
    return status;
}
