/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mica-ps: the ranks of a running job, and who waits for whom. It only reads.
 *
 * Exit status: 0; 1: there is no such job, or there are several; 2: the command line is wrong.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/roll/report.h"

enum { STATUS_NONE = 1, STATUS_USAGE = 2 };

static const char usage[] =
    "usage: mica-ps [PID]\n"
    "       mica-ps --list\n"
    "\n"
    "Shows the ranks of a running job on this node: what each does, its CPU time and memory, the MPI\n"
    "call that it waits in, what it waits for, and what is wrong if ranks wait for each other. PID is\n"
    "that of mpirun or of a rank; it is not needed if there is one job. It changes nothing, and the\n"
    "job does not notice.\n"
    "\n"
    "  --list      list the running jobs\n"
    "  --help      print this help\n"
    "\n"
    "Of a rank that waits: receives that are posted, messages that have come and have no receive,\n"
    "collective calls that have begun; and messages sent and received, with those of collectives,\n"
    "if they are counted (as mpirun --explain does).\n"
    "\n"
    "A call is shown when it has waited for 0.1 s. To watch a job: watch -n 1 mica-ps PID\n"
    "\n"
    "Exit status: 1 if there is no such job, or several; 2 if the command line is wrong.\n";

static int wrong_usage(const char *text, const char *argument)
{
    fprintf(stderr, "mica-ps: %s%s; --help tells more\n", text, argument);
    return STATUS_USAGE;
}

/* -- which processes ------------------------------------------------------------------------- */

static bool is_first_of_job(const opal_census_t *census, size_t i)
{
    return i == 0 || strcmp(census->processes[i].job_id, census->processes[i - 1].job_id) != 0;
}

static size_t count_jobs(const opal_census_t *census)
{
    size_t jobs = 0;
    for (size_t i = 0; i < census->count; i++)
        jobs += is_first_of_job(census, i);
    return jobs;
}

/* Leaves the processes of those jobs that have a process in `some`. */
static void keep_jobs_of(opal_census_t *census, const opal_census_t *some)
{
    size_t left = 0;
    for (size_t i = 0; i < census->count; i++) {
        bool is_wanted = false;
        for (size_t k = 0; k < some->count; k++)
            is_wanted =
                is_wanted || strcmp(census->processes[i].job_id, some->processes[k].job_id) == 0;
        opal_census_process_t process = census->processes[i];
        if (is_wanted) { /* the others go to the end, where they are freed with the rest */
            census->processes[i] = census->processes[left];
            census->processes[left++] = process;
        }
    }
    for (size_t i = left; i < census->count; i++)
        opal_census_free_process(&census->processes[i]);
    census->count = left;
}

/* -- output ---------------------------------------------------------------------------------- */

static void list(FILE *out, const opal_census_t *census)
{
    fprintf(out, "%9s  %6s  %-24s  %s\n", "process", "ranks", "job", "command");
    for (size_t i = 0, next; i < census->count; i = next) {
        for (next = i + 1; next < census->count && !is_first_of_job(census, next);)
            next++;
        const opal_census_process_t *first = &census->processes[i];
        fprintf(out, "%9d  %6zu  %-24s  %s\n", first->pid, next - i, first->job_id, first->command);
    }
}

static void show(const opal_census_t *census)
{
    opal_story_t story;
    opal_text_t table = {0};
    opal_report_begin(&story, census);
    opal_report_finish(&story);
    opal_story_tell_table(&story, &table);
    char *page = opal_report_text(&story);
    printf("%s\n%s", opal_text_string(&table), page);
    free(page);
    opal_text_free(&table);
    opal_story_free(&story);
}

static int show_job(int pid)
{
    int status = 0;
    opal_census_t census;
    opal_census_take(0, &census);
    if (pid != 0) {
        opal_census_t some;
        opal_census_take(pid, &some);
        keep_jobs_of(&census, &some);
        opal_census_free(&some);
    }
    if (census.count == 0) {
        fprintf(stderr, "mica-ps: no job %s\n",
                pid != 0 ? "has such a process on this node" : "that you may look at runs here");
        status = STATUS_NONE;
    } else if (pid == 0 && count_jobs(&census) > 1) {
        fprintf(stderr, "mica-ps: there are %zu jobs; name one by a process:\n",
                count_jobs(&census));
        list(stderr, &census);
        status = STATUS_NONE;
    } else {
        show(&census);
    }
    opal_census_free(&census);
    return status;
}

int main(int argc, char **argv)
{
    int pid = 0;
    for (int i = 1; i < argc; i++) {
        char *end;
        long number = strtol(argv[i], &end, 10);
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--list") == 0) {
            opal_census_t census;
            opal_census_take(0, &census);
            list(stdout, &census);
            opal_census_free(&census);
            return 0;
        }
        if (argv[i][0] == '-')
            return wrong_usage("there is no option ", argv[i]);
        if (*end != 0 || number < 1 || number > INT32_MAX)
            return wrong_usage("no process number: ", argv[i]);
        if (pid != 0)
            return wrong_usage("one process is enough: ", argv[i]);
        pid = (int)number;
    }
    return show_job(pid);
}
