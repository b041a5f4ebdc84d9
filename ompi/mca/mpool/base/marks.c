/* SPDX-License-Identifier: BSD-3-Clause */
/* The marks' words. Why in this order, and why that is enough: marks.h. */
#include "ompi/mca/mpool/base/marks.h"

#include <string.h>

#include "ompi/mca/mpool/mpool.h"

/* If so many words in a row are taken, there are too many marks. */
enum { PROBES = 64 };

#define COUNT_MAX ((UINT64_C(1) << OMPI_MPOOL_MARK_COUNT_BITS) - 1)

static opal_memory_verdict_t on_unmapped(opal_memory_event_t *event, void *context)
{
    uintptr_t begin = (uintptr_t)event->vm.address, end;
    if (event->kind != OPAL_MEMORY_VM_UNMAPPED)
        return OPAL_MEMORY_PASS;
    if (__builtin_add_overflow(begin, event->vm.length, &end))
        end = UINTPTR_MAX;
    ompi_mpool_marks_add(context, begin, end);
    return OPAL_MEMORY_PASS;
}

opal_status_t ompi_mpool_marks_open(ompi_mpool_marks_t *marks, bool install)
{
    memset(marks, 0, sizeof *marks);
    ompi_mpool_marks_watch_nothing(marks);
    marks->generation = atomic_load(&ompi_mpool_generation);
    marks->handler = (opal_memory_handler_t){
        .events = OPAL_MEMORY_VM_UNMAPPED,
        .fn = on_unmapped,
        .context = marks,
    };
    if (install)
        return opal_memory_handler_add(&marks->handler);
    opal_memory_handler_add_passive(&marks->handler);
    return OPAL_SUCCESS;
}

void ompi_mpool_marks_close(ompi_mpool_marks_t *marks)
{
    opal_memory_handler_remove(&marks->handler);
}

void ompi_mpool_marks_watch(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end)
{
    if (begin < atomic_load(&marks->begin))
        atomic_store(&marks->begin, begin);
    if (end > atomic_load(&marks->end))
        atomic_store(&marks->end, end);
}

void ompi_mpool_marks_watch_nothing(ompi_mpool_marks_t *marks)
{
    atomic_store(&marks->begin, UINTPTR_MAX);
    atomic_store(&marks->end, 0);
}

/* A range that is there already also counts for this event, because it will be taken later. So
 * memory that comes and goes at the same address, as large blocks do, needs one word. */
static bool add_word(ompi_mpool_marks_t *marks, uint64_t first_unit, uint64_t count)
{
    uint64_t range = first_unit << OMPI_MPOOL_MARK_COUNT_BITS | count;
    /* Hashed: neighbours in the address space do not all begin at the same word. */
    size_t first = (size_t)(first_unit * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (size_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *word = &marks->words[(first + i) % OMPI_MPOOL_MARK_WORDS];
        uint64_t there = atomic_load(word);
        if (there == 0 && atomic_compare_exchange_strong(word, &there, range))
            return true;
        if (there == range)
            return true;
    }
    return false;
}

void ompi_mpool_marks_add(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end)
{
    uintptr_t watched_begin = atomic_load(&marks->begin), watched_end = atomic_load(&marks->end);
    if (begin < watched_begin)
        begin = watched_begin;
    if (end > watched_end)
        end = watched_end;
    if (begin >= end || marks->generation != atomic_load(&ompi_mpool_generation))
        return;

    uint64_t unit = begin >> OMPI_MPOOL_MARK_UNIT_BITS;
    uint64_t left = ((end - 1) >> OMPI_MPOOL_MARK_UNIT_BITS) - unit + 1;
    while (left > 0 && !atomic_load(&marks->overflowed)) {
        uint64_t count = left < COUNT_MAX ? left : COUNT_MAX;
        if (!add_word(marks, unit, count))
            atomic_store(&marks->overflowed, true);
        unit += count;
        left -= count;
    }
    /* A store only if it changes something: the pool's thread reads this word all the time. */
    if (!atomic_load(&marks->pending))
        atomic_store(&marks->pending, true);
}

bool ompi_mpool_marks_take(ompi_mpool_marks_t *marks, ompi_mpool_unmapped_fn_t *unmapped,
                           void *context)
{
    atomic_exchange(&marks->pending, false);
    bool overflowed = atomic_exchange(&marks->overflowed, false);
    for (size_t i = 0; i < OMPI_MPOOL_MARK_WORDS; i++) {
        if (opal_likely(atomic_load(&marks->words[i]) == 0))
            continue;
        uint64_t range = atomic_exchange(&marks->words[i], 0);
        uintptr_t begin = (uintptr_t)(range >> OMPI_MPOOL_MARK_COUNT_BITS)
                          << OMPI_MPOOL_MARK_UNIT_BITS;
        unmapped(context, begin, begin + ((range & COUNT_MAX) << OMPI_MPOOL_MARK_UNIT_BITS));
    }
    return !overflowed;
}
