/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpirun: starts the ranks of an MPI job on this node. Everything that can be wrong
 * with the request is found here, before there is a process to clean up.
 *
 *   main -> options, job (what)   front -> supervise (who)   launch, output, input, pmi (how)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param.h"
#include "opal/runtime/launcher.h"
#include "opal/runtime/node.h"
#include "opal/util/log.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/front.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/options.h"

/*
 * Ranks must get 0, 1, 2 and their PMI socket, and nothing that mpirun happened to be
 * started with. A closed one of the three is opened, or the next file would become it.
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

/* Reads mpirun's own parameters. Findings about the others are the ranks' to report. */
static bool read_params(void)
{
    opal_param_init();
    bool good = opal_launcher_params_register() == OPAL_SUCCESS;
    good = opal_node_register() == OPAL_SUCCESS && good;
    opal_diagnostic_report(!good);
    opal_node_withdraw();
    opal_launcher_params_withdraw();
    opal_param_fini();
    return good;
}

static int run(job_t *job)
{
    environment_adopt_mca(&job->options.mca);
    if (!read_params())
        return STATUS_USAGE;
    int status = job_prepare(job);
    if (status != 0)
        return status;
    if (job->options.display_map)
        job_display_map(job);
    if (job->options.report_bindings)
        job_report_bindings(job);
    return front_run(job, opal_launcher_params.kill_grace);
}

int main(int argc, char **argv)
{
    job_t job;
    opal_log_set_origin("mpirun");
    if (!clean_descriptors())
        return STATUS_TROUBLE;
    job_init(&job);
    int status = STATUS_USAGE;
    if (options_parse(&job, argc, argv)) {
        if (job.options.help)
            options_print_help();
        else if (job.options.version)
            puts("mpirun (" PACKAGE_NAME ") " PACKAGE_VERSION);
        bool told = job.options.help || job.options.version;
        status = !told ? run(&job) : opal_log_flush_stdout() ? 0 : STATUS_TROUBLE;
    }
    job_free(&job);
    return status;
}
