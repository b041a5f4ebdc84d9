/* SPDX-License-Identifier: BSD-3-Clause */
/* See trace.h. */
#include "opal/profile/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/arch/ticks.h"
#include "opal/util/log.h"

static uint64_t *window_of(const opal_trace_t *trace)
{
    return (uint64_t *)(void *)((char *)trace->head + OPAL_TRACE_PIECE);
}

/* False: errno tells why. */
static bool map_pieces(opal_trace_t *trace)
{
    /* Blocks are taken now: a write into a hole of a full file system would be SIGBUS. */
    errno = posix_fallocate(trace->fd, 0, 2 * (off_t)OPAL_TRACE_PIECE);
    void *pieces = errno == 0 ? mmap(NULL, 2 * OPAL_TRACE_PIECE, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_POPULATE, trace->fd, 0)
                              : MAP_FAILED;
    if (pieces == MAP_FAILED)
        return false;
    trace->head = pieces;
    trace->head->magic = OPAL_TRACE_MAGIC;
    trace->next = window_of(trace);
    trace->end = trace->next + OPAL_TRACE_PIECE / sizeof *trace->next;
    return true;
}

opal_trace_t *opal_trace_open(const char *path, uint64_t most_bytes)
{
    opal_trace_t *trace = calloc(1, sizeof *trace);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (trace != NULL && fd >= 0) {
        uint64_t pieces = most_bytes / OPAL_TRACE_PIECE;
        *trace = (opal_trace_t){.fd = fd, .most = pieces > 2 ? pieces - 2 : 0};
        if (map_pieces(trace))
            return trace;
    }
    opal_log_error("cannot write the trace '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(trace);
    return NULL;
}

void opal_trace_close(opal_trace_t *trace)
{
    munmap(trace->head, 2 * OPAL_TRACE_PIECE);
    close(trace->fd);
    free(trace);
}

/* What is in the window stays there. */
static void cut(opal_trace_t *trace)
{
    trace->head->cut = opal_ticks();
    trace->end = trace->next;
}

bool opal_trace_advance(opal_trace_t *trace)
{
    uint64_t *window = window_of(trace);
    if (trace->head->cut != 0)
        return false;
    if (trace->head->pieces == trace->most) {
        cut(trace);
        return false;
    }
    off_t offset = (off_t)((2 + trace->head->pieces) * OPAL_TRACE_PIECE);
    if (trace->next < trace->end)
        *trace->next = OPAL_TRACE_END;
    ssize_t written = pwrite(trace->fd, window, OPAL_TRACE_PIECE, offset);
    if (written != (ssize_t)OPAL_TRACE_PIECE) {
        opal_log_warning("the trace of this rank ends here: %s",
                         strerror(written < 0 ? errno : ENOSPC));
        cut(trace);
        return false;
    }
    /* Killed in between, the process leaves its last piece twice, which readers see. */
    trace->head->pieces++;
    atomic_signal_fence(memory_order_seq_cst);
    memset(window, 0, OPAL_TRACE_PIECE);
    trace->next = window;
    return true;
}
