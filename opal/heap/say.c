/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine says, without allocating: a program's mistakes, and statistics.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/heap/engine.h"
#include "opal/util/say.h"

void opal_heap_say(opal_heap_fault_t fault, const void *pointer)
{
    static const char *const texts[] = {
        [OPAL_HEAP_FREED_TWICE] = "the block is freed a second time",
        [OPAL_HEAP_NO_BLOCK] = "no block of memory begins there, so it cannot be freed or resized",
        [OPAL_HEAP_OVERWRITTEN] = "the block was written to after it was freed",
    };
    opal_say(OPAL_SAY_ERROR, "heap: %p: %s", pointer, texts[fault]);
}

void opal_heap_fault(opal_heap_t *heap, opal_heap_fault_t fault, const void *pointer)
{
    if (heap->config.ops->fault != NULL) {
        heap->config.ops->fault(heap->config.context, fault, pointer);
        return;
    }
    opal_heap_say(fault, pointer);
    abort();
}

/* Not by opal_say: who asks for it gets it, whatever the log level. */
static void print_number(size_t number, const char *what)
{
    char line[96];
    int saved = errno;
    opal_say_into(line, sizeof line, "heap: %zu %s\n", number, what);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; /* nobody is left to be told */
    errno = saved;
}

void opal_heap_print_stats(opal_heap_t *heap)
{
    opal_heap_stats_t stats;
    opal_heap_stats(heap, &stats);
    print_number(stats.committed_bytes, "bytes usable");
    print_number(stats.peak_committed_bytes, "bytes usable at the peak");
    print_number(stats.used_bytes, "bytes in blocks");
    print_number(stats.used_blocks, "blocks");
    print_number(stats.huge_bytes, "bytes of them in huge blocks");
    print_number(stats.huge_blocks, "huge blocks");
    print_number(stats.kept_bytes, "bytes free and kept");
    print_number(stats.released_bytes, "bytes given back so far");
    print_number(stats.threads, "states of threads");
}
