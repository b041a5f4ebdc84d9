/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mica-heap: shows the shared heap of a running job. It only reads.
 *
 * Exit status: 0; 1: there is no such region, or there are several; 2: the command line is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/heap/draw.h"
#include "tools/heap/find.h"

enum { STATUS_NONE = 1, STATUS_USAGE = 2 };

static const char usage[] =
    "usage: mica-heap [--svg FILE] [PID]\n"
    "       mica-heap --list\n"
    "\n"
    "Shows the shared heap of a running job (memory_smheap_enable): for each rank how much is used,\n"
    "how much is free between the blocks, and a map. It changes nothing, and the job does not wait\n"
    "for it. PID is that of mpirun or of a rank; it is not needed if there is one job.\n"
    "\n"
    "  --svg FILE  write an SVG picture, for a light or a dark page; -: to standard output\n"
    "  --list      list the running jobs that have a shared heap\n"
    "  --help      print this help\n"
    "\n"
    "To watch a job: watch -n 1 mica-heap PID\n"
    "\n"
    "Exit status: 1 if there is no such job, or several; 2 if the command line is wrong.\n";

typedef struct request {
    int pid; /* 0: any */
    const char *svg;
    bool list;
} request_t;

static int wrong_usage(const char *text, const char *argument)
{
    fprintf(stderr, "mica-heap: %s%s; --help tells more\n", text, argument);
    return STATUS_USAGE;
}

/* 0, or the exit status. */
static int parse(int argc, char **argv, request_t *request)
{
    for (int i = 1; i < argc; i++) {
        char *end;
        if (strcmp(argv[i], "--list") == 0) {
            request->list = true;
        } else if (strcmp(argv[i], "--svg") == 0) {
            if (++i == argc)
                return wrong_usage("--svg needs a file", "");
            request->svg = argv[i];
        } else if (argv[i][0] == '-') {
            return wrong_usage("there is no option ", argv[i]);
        } else {
            long number = strtol(argv[i], &end, 10);
            if (*end != 0 || number < 1 || number > INT32_MAX)
                return wrong_usage("no process number: ", argv[i]);
            if (request->pid != 0)
                return wrong_usage("one process is enough: ", argv[i]);
            request->pid = (int)number;
        }
    }
    return 0;
}

static void list(FILE *out, const found_region_t *regions, size_t count)
{
    fprintf(out, "%9s  %9s  %s\n", "process", "processes", "command");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%9d  %9zu  %s\n", regions[i].pid, regions[i].holders, regions[i].command);
}

static int draw(const request_t *request, const snapshot_t *snapshot)
{
    if (request->svg == NULL) {
        draw_text(stdout, snapshot);
        return 0;
    }
    FILE *out = strcmp(request->svg, "-") == 0 ? stdout : fopen(request->svg, "w");
    if (out == NULL) {
        fprintf(stderr, "mica-heap: %s: %s\n", request->svg, strerror(errno));
        return STATUS_NONE;
    }
    draw_svg(out, snapshot);
    bool failed = ferror(out) != 0;
    if (out != stdout)
        failed |= fclose(out) != 0;
    if (failed)
        fprintf(stderr, "mica-heap: %s: not all of it could be written\n", request->svg);
    return failed ? STATUS_NONE : 0;
}

static int show(const request_t *request, const found_region_t *region)
{
    snapshot_t snapshot;
    int fd = find_open(region);
    if (fd < 0) {
        fprintf(stderr, "mica-heap: the region of process %d cannot be opened: %s\n", region->pid,
                strerror(errno));
        return STATUS_NONE;
    }
    const char *complaint = snapshot_take(fd, &snapshot);
    close(fd);
    if (complaint != NULL) {
        fprintf(stderr, "mica-heap: the region of process %d is not shown: %s\n", region->pid,
                complaint);
        return STATUS_NONE;
    }
    int status = draw(request, &snapshot);
    snapshot_free(&snapshot);
    return status;
}

int main(int argc, char **argv)
{
    request_t request = {0};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    int status = parse(argc, argv, &request);
    if (status != 0)
        return status;
    found_region_t *regions;
    size_t count = find_regions(request.pid, &regions);
    if (request.list) {
        list(stdout, regions, count);
    } else if (count == 1) {
        status = show(&request, &regions[0]);
    } else if (count == 0) {
        fprintf(stderr,
                "mica-heap: no job with a shared heap%s; ompi_info --why memory under "
                "mpirun tells why a job has none\n",
                request.pid != 0 ? " has such a process" : " runs here");
        status = STATUS_NONE;
    } else {
        fprintf(stderr, "mica-heap: there are %zu such jobs; name one by a process:\n", count);
        list(stderr, regions, count);
        status = STATUS_NONE;
    }
    free(regions);
    return status;
}
