/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of processes. See mpir.h. local.mk compiles this file with -g, because debuggers read
 * the layout of MPIR_PROCDESC from it. */
#include "tools/mpirun/mpir.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged;
volatile int MPIR_debug_state;
char *MPIR_debug_abort_string;
int MPIR_i_am_starter = 1, MPIR_force_to_main = 1, MPIR_partial_attach_ok = 1;

/* Who an entry is: the array runs beside MPIR_proctable. */
typedef struct owner {
    unsigned job, rank;
} owner_t;

static owner_t *owners;
static size_t capacity;

/* The compiler must not drop the call of an empty function. */
__attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

static bool is_before(const owner_t *a, unsigned job, unsigned rank)
{
    return a->job < job || (a->job == job && a->rank < rank);
}

/* The index of a rank's entry, or where it belongs. Ranks mostly come in order. */
static size_t find_entry(unsigned job, unsigned rank)
{
    size_t low = 0, high = (size_t)MPIR_proctable_size;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_before(&owners[middle], job, rank))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(size_t at, unsigned job, unsigned rank)
{
    size_t count = (size_t)MPIR_proctable_size;
    if (count == capacity) {
        capacity = capacity > 0 ? 2 * capacity : 64;
        MPIR_proctable = opal_xrealloc(MPIR_proctable, capacity * sizeof *MPIR_proctable);
        owners = opal_xrealloc(owners, capacity * sizeof *owners);
    }
    memmove(&MPIR_proctable[at + 1], &MPIR_proctable[at], (count - at) * sizeof *MPIR_proctable);
    memmove(&owners[at + 1], &owners[at], (count - at) * sizeof *owners);
    MPIR_proctable[at] = (MPIR_PROCDESC){0};
    owners[at] = (owner_t){.job = job, .rank = rank};
    MPIR_proctable_size++;
}

static void clear_entry(MPIR_PROCDESC *entry)
{
    free(entry->host_name);
    free(entry->executable_name);
    *entry = (MPIR_PROCDESC){0};
}

void mpir_enter(unsigned job, unsigned rank, pid_t pid, const char *host, const char *program)
{
    size_t at = find_entry(job, rank);
    if (at == (size_t)MPIR_proctable_size || owners[at].job != job || owners[at].rank != rank)
        insert(at, job, rank);
    clear_entry(&MPIR_proctable[at]);
    MPIR_proctable[at] = (MPIR_PROCDESC){
        .host_name = opal_xstrdup(host), .executable_name = opal_xstrdup(program), .pid = (int)pid};
}

void mpir_remove_job(unsigned job)
{
    size_t first = find_entry(job, 0), last = find_entry(job + 1, 0);
    size_t count = (size_t)MPIR_proctable_size;
    for (size_t i = first; i < last; i++)
        clear_entry(&MPIR_proctable[i]);
    if (last == first)
        return;
    memmove(&MPIR_proctable[first], &MPIR_proctable[last], (count - last) * sizeof *MPIR_proctable);
    memmove(&owners[first], &owners[last], (count - last) * sizeof *owners);
    MPIR_proctable_size -= (int)(last - first);
}

void mpir_announce(void)
{
    if (!MPIR_being_debugged)
        return;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    MPIR_Breakpoint();
}
