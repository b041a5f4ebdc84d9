/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mica-profile: makes the report, or the trace, of what the ranks of a job have recorded
 * (mpi_profile, mpi_trace). mpirun --profile and --trace start it when the job has ended.
 *
 * Exit status: 0; 1: there is nothing to report, or it cannot be written; 2: the command line is
 * wrong.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "tools/profile/chrome.h"
#include "tools/profile/report.h"

enum { STATUS_NOTHING = 1, STATUS_USAGE = 2 };

static const char usage[] =
    "usage: mica-profile [--quiet] DIR\n"
    "       mica-profile --trace FILE [DIR]\n"
    "\n"
    "DIR is what mpi_profile was (mpirun --profile DIR makes this report itself). Prints where the\n"
    "time of the job went, and writes DIR/report.html, a page that needs nothing else.\n"
    "\n"
    "  --trace FILE  makes FILE, a Chrome trace (JSON, for Perfetto), out of FILE.parts, into which\n"
    "                the ranks have recorded (mpi_trace), and removes these. With mpi_profile the\n"
    "                records are in its DIR\n"
    "  --quiet       print nothing but errors\n"
    "  --help        print this help\n"
    "\n"
    "The records are there while the job runs, too: of a long job, have a look at any time.\n";

typedef struct request {
    const char *folder, *trace;
    bool quiet;
} request_t;

static int wrong_usage(const char *text, const char *argument)
{
    opal_log_error("%s%s; --help tells more", text, argument);
    return STATUS_USAGE;
}

/* 0, or the exit status. */
static int parse(int argc, char **argv, request_t *request)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            request->quiet = true;
        } else if (strcmp(argv[i], "--trace") == 0) {
            if (++i == argc)
                return wrong_usage("--trace needs a file", "");
            request->trace = argv[i];
        } else if (argv[i][0] == '-') {
            return wrong_usage("there is no option ", argv[i]);
        } else if (request->folder != NULL) {
            return wrong_usage("one directory is enough: ", argv[i]);
        } else {
            request->folder = argv[i];
        }
    }
    return request->folder == NULL && request->trace == NULL
               ? wrong_usage("give a directory, or --trace and a file", "")
               : 0;
}

/* False: an error was logged. */
static bool write_page(const char *path, const summary_t *summary)
{
    FILE *out = fopen(path, "w");
    bool is_good = out != NULL;
    if (is_good) {
        report_html(out, summary);
        is_good = ferror(out) == 0;
        is_good = fclose(out) == 0 && is_good;
    }
    if (!is_good)
        opal_log_error("cannot write %s: %s", path, strerror(errno));
    return is_good;
}

static int report(const request_t *request)
{
    records_t records;
    summary_t summary;
    if (!records_open(request->folder, &records))
        return STATUS_NOTHING;
    summary_make(&records, &summary);
    char *path = opal_xprintf("%s/report.html", request->folder);
    bool is_good = write_page(path, &summary);
    if (!request->quiet) {
        report_text(stdout, &summary);
        if (is_good)
            printf("\n  more: %s\n", path);
        is_good = opal_log_flush_stdout() && is_good;
    }
    free(path);
    summary_free(&summary);
    records_close(&records);
    return is_good ? 0 : STATUS_NOTHING;
}

int main(int argc, char **argv)
{
    request_t request = {0};
    opal_log_set_origin("mica-profile");
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return opal_log_flush_stdout() ? 0 : STATUS_NOTHING;
    }
    int status = parse(argc, argv, &request);
    if (status != 0)
        return status;
    if (request.trace != NULL)
        return chrome_trace(request.trace, request.folder, request.quiet) ? 0 : STATUS_NOTHING;
    return report(&request);
}
