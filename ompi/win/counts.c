/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance variables of windows. */
#include "ompi/win/counts.h"

#include "ompi/request/request.h"
#include "ompi/win/win.h"

opal_demand_t ompi_win_counting;

void ompi_win_count_demanded(opal_traffic_t *traffic, size_t bytes)
{
    if (!ompi_lock_needed) {
        opal_count_message(traffic, bytes);
        return;
    }
    __atomic_fetch_add(&traffic->messages.value, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&traffic->bytes.value, bytes, __ATOMIC_RELAXED);
}

/* `which`: where the counter is in the window's. */
static uint64_t read_counter(const opal_pvar_row_t *row, void *object)
{
    const ompi_win_t *win = object;
    const char *counts = (const char *)&win->counts;
    return opal_counted((const opal_counter_t *)(const void *)(counts + row->which));
}

#define ACCESSES(id, text)                                                                         \
    {.name = #id,                                                                                  \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .bind = OPAL_PVAR_OF_WIN,                                                                     \
     .read = read_counter,                                                                         \
     .which = offsetof(ompi_win_counts_t, id.messages),                                            \
     .demand = &ompi_win_counting,                                                                 \
     .prose = "How many " text " this process has begun"},                                         \
    {                                                                                              \
        .name = #id "_bytes", .class = OPAL_PVAR_AGGREGATE, .bind = OPAL_PVAR_OF_WIN,              \
        .unit = "bytes", .read = read_counter, .which = offsetof(ompi_win_counts_t, id.bytes),     \
        .demand = &ompi_win_counting,                                                              \
        .prose = "The bytes at the targets of the " text " that this process has begun"            \
    }

const opal_pvar_row_t ompi_win_pvars[] = {
    ACCESSES(puts, "puts"),
    ACCESSES(gets, "gets"),
    ACCESSES(accumulates, "accumulates, fetches and swaps"),
    {0},
};
