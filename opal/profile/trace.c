/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a trace by a window that moves along the file. */
#include "opal/profile/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/arch/ticks.h"
#include "opal/util/log.h"

enum { WINDOW_BYTES = 1 << 20, WORD = 8 };

/* The window at `offset`. False: there is no room in the file system, or no memory. */
static bool map_window(opal_trace_t *trace)
{
    /* Blocks are taken now: a write into a hole of a full file system would be SIGBUS. */
    int error = posix_fallocate(trace->fd, (off_t)trace->offset, WINDOW_BYTES);
    void *window = error == 0 ? mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_POPULATE, trace->fd, (off_t)trace->offset)
                              : MAP_FAILED;
    if (window == MAP_FAILED) {
        opal_log_warning("the trace of this rank ends here: %s", strerror(error ? error : errno));
        return false;
    }
    trace->window = trace->next = window;
    trace->end = trace->next + WINDOW_BYTES / WORD;
    return true;
}

static void unmap_window(opal_trace_t *trace)
{
    if (trace->window != NULL)
        munmap(trace->window, WINDOW_BYTES);
    trace->window = trace->next = trace->end = NULL;
}

opal_trace_t *opal_trace_open(const char *path, uint64_t most_bytes)
{
    opal_trace_t *trace = calloc(1, sizeof *trace);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (trace == NULL || fd < 0) {
        opal_log_error("cannot write the trace '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        free(trace);
        return NULL;
    }
    *trace = (opal_trace_t){.fd = fd, .most = most_bytes};
    trace->is_full = !map_window(trace);
    if (!trace->is_full) {
        *trace->next++ = OPAL_TRACE_MAGIC;
        *trace->next++ = 0;
    }
    return trace;
}

void opal_trace_close(opal_trace_t *trace)
{
    uint64_t used = trace->offset;
    if (trace->window != NULL)
        used += (uint64_t)(trace->next - trace->window) * WORD;
    unmap_window(trace);
    if (ftruncate(trace->fd, (off_t)used) != 0)
        opal_log_warning("cannot shorten a trace: %s", strerror(errno));
    close(trace->fd);
    free(trace);
}

static void note_cut(opal_trace_t *trace)
{
    uint64_t ticks = opal_ticks();
    trace->is_full = true;
    if (pwrite(trace->fd, &ticks, sizeof ticks, WORD) != (ssize_t)sizeof ticks)
        opal_log_warning("cannot note in a trace that it was cut: %s", strerror(errno));
}

bool opal_trace_advance(opal_trace_t *trace)
{
    if (trace->is_full)
        return false;
    while (trace->next < trace->end)
        *trace->next++ = OPAL_TRACE_PADDING;
    unmap_window(trace);
    trace->offset += WINDOW_BYTES;
    if (trace->offset + WINDOW_BYTES > trace->most || !map_window(trace))
        note_cut(trace);
    return !trace->is_full;
}
