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
    const job_t *job;
    gather_t *gather;  /* NULL: all ranks write directly */
    bool labelled;     /* --tag-output, --prepend-rank or --timestamp-output */
    bool one_stream;   /* stdout and stderr are gathered into the same target, unlabelled */
    sink_t *sinks[3];  /* by descriptor, 1 and 2; NULL: direct */
    size_t pipe_bytes; /* of one channel */
    int *files;        /* of --output-filename with labels; theirs are the sinks */
    size_t file_count;
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

/* Sinks for mpirun's own stdout and stderr, where they need one. */
static void choose_sinks(output_t *output)
{
    struct stat targets[3] = {0};
    for (int stream = 1; stream <= 2; stream++) {
        fstat(stream, &targets[stream]);
        if (!output->labelled && (output->job->size == 1 || !cuts_lines(&targets[stream])))
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
    output->job = job;
    output->labelled = options->tag_output || options->prepend_rank || options->timestamp_output;
    output->gather = gather_create(loop);
    if (options->output_dir != NULL) {
        if (mkdir(options->output_dir, 0777) != 0 && errno != EEXIST) {
            opal_log_error("--output-filename: cannot make directory %s: %s", options->output_dir,
                           strerror(errno));
            output_destroy(output);
            return NULL;
        }
        output->files = opal_xcalloc(2 * (size_t)job->size, sizeof *output->files);
    } else {
        choose_sinks(output);
    }
    output->pipe_bytes = PIPES_TOGETHER_BYTES / (2 * (size_t)job->size);
    if (output->pipe_bytes > PIPE_MOST_BYTES)
        output->pipe_bytes = PIPE_MOST_BYTES;
    if (output->pipe_bytes < PIPE_LEAST_BYTES)
        output->pipe_bytes = PIPE_LEAST_BYTES;
    return output;
}

void output_destroy(output_t *output)
{
    gather_destroy(output->gather);
    for (size_t i = 0; i < output->file_count; i++)
        close(output->files[i]);
    free(output->files);
    free(output);
}

/* DIR/rank.N/stdout; -1 with a message. */
static int open_file(const output_t *output, unsigned rank, int stream)
{
    char *directory = opal_xprintf("%s/rank.%u", output->job->options.output_dir, rank);
    char *path = opal_xprintf("%s/%s", directory, stream_names[stream]);
    int fd = -1;
    if (mkdir(directory, 0777) == 0 || errno == EEXIST)
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        opal_log_error("--output-filename: cannot write %s: %s", path, strerror(errno));
    free(directory);
    free(path);
    return fd;
}

/* A pipe to a sink; -1 with a message. */
static int open_channel(output_t *output, unsigned rank, int stream, sink_t *sink)
{
    const options_t *options = &output->job->options;
    char *label = NULL;
    if (options->prepend_rank && !options->tag_output) /* as MPICH writes it */
        label = opal_xprintf("[%u] ", rank);
    else if (output->labelled) /* as Open MPI writes it: job 1, rank, stream */
        label = options->tag_output ? opal_xprintf("[1,%u]<%s>:", rank, stream_names[stream])
                                    : opal_xprintf("<%s>:", stream_names[stream]);
    int fd = gather_add_channel(output->gather, sink, label, options->timestamp_output,
                                output->pipe_bytes);
    if (fd < 0)
        opal_log_error("cannot make a pipe for the %s of rank %u: %s", stream_names[stream], rank,
                       strerror(errno));
    free(label);
    return fd;
}

static int open_stream(output_t *output, unsigned rank, int stream)
{
    if (output->job->options.output_dir == NULL)
        return open_channel(output, rank, stream, output->sinks[stream]);
    int file = open_file(output, rank, stream);
    if (file < 0 || !output->labelled)
        return file;
    output->files[output->file_count++] = file;
    char *name = opal_xprintf("the %s file of rank %u", stream_names[stream], rank);
    sink_t *sink = gather_add_sink(output->gather, file, name);
    free(name);
    return open_channel(output, rank, stream, sink);
}

bool output_open(output_t *output, unsigned rank, int standard[3])
{
    for (int stream = 1; stream <= 2; stream++) {
        if (output->job->options.output_dir == NULL && output->sinks[stream] == NULL)
            continue;
        if (stream == 2 && output->one_stream) {
            standard[2] = standard[1];
            continue;
        }
        standard[stream] = open_stream(output, rank, stream);
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

bool output_finished(output_t *output)
{
    return gather_finished(output->gather);
}
