/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct or gathered output of each stream. See output.h. */
#include "tools/mpirun/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/gather.h"

enum {
    PIPE_LEAST_BYTES = 64 * 1024,
    PIPE_MOST_BYTES = 1024 * 1024,
    PIPES_TOGETHER_BYTES = 32 * 1024 * 1024, /* half of what Linux allows an ordinary user */
};

static const char *const stream_names[] = {NULL, "stdout", "stderr"};

struct output {
    const options_t *options;
    gather_t *gather; /* NULL: all ranks write directly */
    bool labelled;    /* --tag-output, --prepend-rank or --timestamp-output */
    bool one_stream;  /* stdout and stderr are gathered into the same target, unlabelled */
    sink_t *sinks[3]; /* by descriptor, 1 and 2; NULL: direct, or not needed yet */
};

/* Terminals and devices do not cut lines worse than any program's output to them does. */
static bool cuts_lines(const struct stat *target)
{
    return S_ISREG(target->st_mode) || S_ISFIFO(target->st_mode) || S_ISSOCK(target->st_mode);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Sinks for mpirun's own stdout and stderr, where `several` or a single writer needs one. */
static void choose_sinks(output_t *output, bool several)
{
    struct stat targets[3] = {0};
    for (int stream = 1; stream <= 2; stream++) {
        fstat(stream, &targets[stream]);
        if (output->sinks[stream] != NULL ||
            (!output->labelled && (!several || !cuts_lines(&targets[stream]))))
            continue;
        if (stream == 2 && output->sinks[1] != NULL && same_file(&targets[1], &targets[2])) {
            output->sinks[2] = output->sinks[1];
            output->one_stream = !output->labelled;
            continue;
        }
        output->sinks[stream] = gather_add_sink(output->gather, stream, stream_names[stream]);
    }
}

output_t *output_create(loop_t *loop, const job_t *job)
{
    const options_t *options = &job->options;
    output_t *output = opal_xcalloc(1, sizeof *output);
    output->options = options;
    output->labelled = options->tag_output || options->prepend_rank || options->timestamp_output;
    output->gather = gather_create(loop);
    if (options->output_dir != NULL) {
        if (mkdir(options->output_dir, 0777) != 0 && errno != EEXIST) {
            opal_log_error("--output-filename: cannot make directory %s: %s", options->output_dir,
                           strerror(errno));
            output_destroy(output);
            return NULL;
        }
    } else {
        choose_sinks(output, job->size > 1);
    }
    return output;
}

void output_destroy(output_t *output)
{
    gather_destroy(output->gather);
    free(output);
}

/* Opens DIR/rank.N/stdout, or DIR/job.M/rank.N/stdout of a further job; -1 with a message. */
static int open_file(const output_t *output, const job_t *job, unsigned rank, int stream)
{
    const char *top = output->options->output_dir;
    char *of_job =
        job->number > 1 ? opal_xprintf("%s/job.%u", top, job->number) : opal_xstrdup(top);
    char *directory = opal_xprintf("%s/rank.%u", of_job, rank);
    char *path = opal_xprintf("%s/%s", directory, stream_names[stream]);
    int fd = -1;
    if ((mkdir(of_job, 0777) == 0 || errno == EEXIST) &&
        (mkdir(directory, 0777) == 0 || errno == EEXIST))
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        opal_log_error("--output-filename: cannot write %s: %s", path, strerror(errno));
    free(of_job);
    free(directory);
    free(path);
    return fd;
}

/* What each line of a stream begins with, malloc'ed; NULL: nothing. */
static char *make_label(const output_t *output, const job_t *job, unsigned rank, int stream)
{
    const options_t *options = output->options;
    if (!output->labelled)
        return NULL;
    if (options->tag_output) /* as Open MPI writes it: job, rank, stream */
        return opal_xprintf("[%u,%u]<%s>:", job->number, rank, stream_names[stream]);
    if (!options->prepend_rank)
        return opal_xprintf("<%s>:", stream_names[stream]);
    return job->number == 1 ? opal_xprintf("[%u] ", rank) /* as MPICH writes it */
                            : opal_xprintf("[%u.%u] ", job->number, rank);
}

/* The capacity of one pipe of the job. */
static size_t choose_pipe_bytes(const job_t *job)
{
    size_t share = PIPES_TOGETHER_BYTES / (2 * (size_t)job->size);
    if (share > PIPE_MOST_BYTES)
        return PIPE_MOST_BYTES;
    return share < PIPE_LEAST_BYTES ? PIPE_LEAST_BYTES : share;
}

/* A pipe to a sink; -1 with a message. */
static int open_channel(output_t *output, const job_t *job, unsigned rank, int stream, sink_t *sink)
{
    char *label = make_label(output, job, rank, stream);
    int fd = gather_add_channel(output->gather, sink, label, output->options->timestamp_output,
                                choose_pipe_bytes(job));
    if (fd < 0)
        opal_log_error("cannot make a pipe for the %s of rank %u: %s", stream_names[stream], rank,
                       strerror(errno));
    free(label);
    return fd;
}

static int open_stream(output_t *output, const job_t *job, unsigned rank, int stream)
{
    if (output->options->output_dir == NULL)
        return open_channel(output, job, rank, stream, output->sinks[stream]);
    int file = open_file(output, job, rank, stream);
    if (file < 0 || !output->labelled)
        return file;
    char *name = opal_xprintf("the %s file of rank %u", stream_names[stream], rank);
    sink_t *sink = gather_add_own_sink(output->gather, file, name);
    free(name);
    return open_channel(output, job, rank, stream, sink);
}

bool output_open(output_t *output, const job_t *job, unsigned rank, int standard[3])
{
    if (job->number > 1 && output->options->output_dir == NULL)
        choose_sinks(output, true);
    for (int stream = 1; stream <= 2; stream++) {
        if (output->options->output_dir == NULL && output->sinks[stream] == NULL)
            continue;
        if (stream == 2 && output->one_stream) {
            standard[2] = standard[1];
            continue;
        }
        standard[stream] = open_stream(output, job, rank, stream);
        if (standard[stream] < 0) {
            output_opened(standard);
            return false;
        }
    }
    return true;
}

void output_opened(int standard[3])
{
    if (standard[1] >= 0)
        close(standard[1]);
    if (standard[2] >= 0 && standard[2] != standard[1])
        close(standard[2]);
    standard[1] = standard[2] = -1;
}

void output_sweep(output_t *output)
{
    gather_sweep(output->gather);
}

bool output_finished(output_t *output)
{
    return gather_finished(output->gather);
}
