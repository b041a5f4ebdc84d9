/* SPDX-License-Identifier: BSD-3-Clause */
/* The locks of targets. See lock.h. */
#include "ompi/mca/osc/base/lock.h"

#include <sched.h>

#include "opal/arch/pause.h"

enum { FIELD_BITS = 20, SPINS = 100 };

#define FIELD     ((UINT64_C(1) << FIELD_BITS) - 1)
#define EXCLUSIVE (UINT64_C(1) << FIELD_BITS)
#define GUARD     (UINT64_C(1) << (2 * FIELD_BITS))
#define QUEUED    (UINT64_C(1) << 63)

static uint64_t shared_of(uint64_t word)
{
    return word & FIELD;
}

static uint64_t exclusive_of(uint64_t word)
{
    return word / EXCLUSIVE & FIELD;
}

static uint64_t guard_of(uint64_t word)
{
    return word / GUARD & FIELD;
}

static bool is_compatible(uint64_t word, ompi_osc_lock_kind_t kind)
{
    return exclusive_of(word) == 0 && (kind == OMPI_OSC_SHARED || shared_of(word) == 0);
}

static uint64_t held_by(int row, ompi_osc_lock_kind_t kind)
{
    return kind == OMPI_OSC_SHARED ? 1 : EXCLUSIVE * ((uint64_t)row + 1);
}

static atomic_uint *cell_of(const ompi_osc_window_t *window, int row, int local)
{
    return &ompi_osc_cell(window, row, local)->lock;
}

static void set_cell(const ompi_osc_window_t *window, int row, int local, unsigned value)
{
    atomic_store_explicit(cell_of(window, row, local), value, memory_order_release);
}

static unsigned get_cell(const ompi_osc_window_t *window, int row, int local)
{
    return atomic_load_explicit(cell_of(window, row, local), memory_order_acquire);
}

/* The rank whose process writes a row. */
static int process_of(const ompi_osc_window_t *window, int row, int local)
{
    return row == ompi_osc_internode_row(window) ? local : row;
}

static bool is_dead(const ompi_osc_window_t *window, int local)
{
    return ompi_osc_has_deaths() && ompi_osc_has_ended(window, window->locals[local].rank);
}

static void relax(unsigned *spins)
{
    if (++*spins % SPINS != 0) {
        opal_cpu_pause();
        return;
    }
    opal_node_watch();
    sched_yield(); /* the other one may need this core */
}

/* -- under the guard --------------------------------------------------------------------------- */

/* The word without the queued bit, made of the cells; waits for ranks that are about to change
 * theirs. */
static uint64_t rebuild(ompi_osc_window_t *window, int local)
{
    uint64_t word = 0;
    for (int row = 0; row <= ompi_osc_internode_row(window); row++) {
        unsigned spins = 0, cell;
        int process = process_of(window, row, local);
        while ((cell = get_cell(window, row, local)) == OMPI_OSC_CELL_MOVES &&
               !is_dead(window, process))
            relax(&spins);
        if (cell != OMPI_OSC_CELL_NONE && is_dead(window, process))
            set_cell(window, row, local, OMPI_OSC_CELL_NONE);
        else if (cell == OMPI_OSC_CELL_HAS_SHARED)
            word += held_by(row, OMPI_OSC_SHARED);
        else if (cell == OMPI_OSC_CELL_HAS_EXCLUSIVE)
            word += held_by(row, OMPI_OSC_EXCLUSIVE);
    }
    return word;
}

/* Grants the lock to waiting rows, in turn. Returns the new word. */
static uint64_t grant(ompi_osc_window_t *window, int local, uint64_t word)
{
    ompi_osc_line_t *line = ompi_osc_line(window, local);
    int rows = ompi_osc_internode_row(window) + 1;
    int first = (int)atomic_load_explicit(&line->turn, memory_order_relaxed) + 1;
    word &= ~QUEUED;
    for (int i = 0; i < rows; i++) {
        int row = (first + i) % rows;
        unsigned cell = get_cell(window, row, local);
        bool is_shared = cell == OMPI_OSC_CELL_WANTS_SHARED;
        if (!is_shared && cell != OMPI_OSC_CELL_WANTS_EXCLUSIVE)
            continue;
        ompi_osc_lock_kind_t kind = is_shared ? OMPI_OSC_SHARED : OMPI_OSC_EXCLUSIVE;
        if (!is_compatible(word, kind) || (word & QUEUED) != 0) {
            word |= QUEUED; /* and nobody passes it */
            continue;
        }
        word += held_by(row, kind);
        atomic_store_explicit(&line->turn, (unsigned)row, memory_order_relaxed);
        set_cell(window, row, local,
                 is_shared ? OMPI_OSC_CELL_HAS_SHARED : OMPI_OSC_CELL_HAS_EXCLUSIVE);
        ompi_osc_notify(window, process_of(window, row, local));
    }
    return word;
}

/* Returns the word without the guard. */
static uint64_t take_guard(ompi_osc_window_t *window, int local)
{
    _Atomic uint64_t *lock = &ompi_osc_line(window, local)->lock;
    uint64_t mine = GUARD * ((uint64_t)window->self + 1);
    for (unsigned spins = 0;; relax(&spins)) {
        uint64_t word = atomic_load_explicit(lock, memory_order_relaxed);
        uint64_t holder = guard_of(word);
        if (holder == 0 && atomic_compare_exchange_weak(lock, &word, word + mine))
            return word;
        /* A rank that died here has left anything behind. */
        if (holder != 0 && holder != (uint64_t)window->self + 1 &&
            is_dead(window, (int)holder - 1) &&
            atomic_compare_exchange_strong(lock, &word, word - holder * GUARD + mine))
            return grant(window, local, rebuild(window, local));
    }
}

static void drop_guard(ompi_osc_window_t *window, int local, uint64_t word)
{
    atomic_store(&ompi_osc_line(window, local)->lock, word);
}

/* -- the lock ---------------------------------------------------------------------------------- */

/* Takes a free lock, or releases one that nobody waits for. */
static bool add_to_word(ompi_osc_window_t *window, int local, ompi_osc_lock_kind_t wanted,
                        uint64_t change)
{
    _Atomic uint64_t *lock = &ompi_osc_line(window, local)->lock;
    uint64_t word = atomic_load_explicit(lock, memory_order_relaxed);
    while (word < GUARD && !ompi_osc_has_deaths() &&
           (wanted == OMPI_OSC_UNLOCKED || is_compatible(word, wanted))) {
        if (atomic_compare_exchange_weak(lock, &word, word + change))
            return true;
    }
    return false;
}

bool ompi_osc_lock_ask(ompi_osc_window_t *window, int row, int local, ompi_osc_lock_kind_t kind)
{
    bool is_shared = kind == OMPI_OSC_SHARED;
    unsigned has = is_shared ? OMPI_OSC_CELL_HAS_SHARED : OMPI_OSC_CELL_HAS_EXCLUSIVE;
    set_cell(window, row, local, OMPI_OSC_CELL_MOVES);
    bool taken = add_to_word(window, local, kind, held_by(row, kind));
    set_cell(window, row, local, taken ? has : OMPI_OSC_CELL_NONE);
    if (taken)
        return true;
    unsigned wants = is_shared ? OMPI_OSC_CELL_WANTS_SHARED : OMPI_OSC_CELL_WANTS_EXCLUSIVE;
    uint64_t word = take_guard(window, local);
    if (ompi_osc_has_deaths()) {
        /* Those in front of this row may have died: who waits is found out anew. */
        set_cell(window, row, local, wants);
        word = grant(window, local, rebuild(window, local));
    } else if ((word & QUEUED) == 0 && is_compatible(word, kind)) {
        set_cell(window, row, local, has);
        word += held_by(row, kind);
    } else {
        set_cell(window, row, local, wants);
        word |= QUEUED;
    }
    drop_guard(window, local, word);
    return ompi_osc_lock_has(window, row, local);
}

bool ompi_osc_lock_has(ompi_osc_window_t *window, int row, int local)
{
    return get_cell(window, row, local) >= OMPI_OSC_CELL_HAS_SHARED;
}

void ompi_osc_lock_release(ompi_osc_window_t *window, int row, int local)
{
    unsigned cell = get_cell(window, row, local);
    ompi_osc_lock_kind_t kind =
        cell == OMPI_OSC_CELL_HAS_SHARED ? OMPI_OSC_SHARED : OMPI_OSC_EXCLUSIVE;
    set_cell(window, row, local, OMPI_OSC_CELL_MOVES);
    if (add_to_word(window, local, OMPI_OSC_UNLOCKED, -held_by(row, kind))) {
        set_cell(window, row, local, OMPI_OSC_CELL_NONE);
        return;
    }
    set_cell(window, row, local, cell);
    uint64_t word = take_guard(window, local) - held_by(row, kind);
    set_cell(window, row, local, OMPI_OSC_CELL_NONE);
    /* A lock may have been taken back from a rank that was thought to be dead. */
    if (ompi_osc_has_deaths())
        word = rebuild(window, local);
    drop_guard(window, local, grant(window, local, word));
}

bool ompi_osc_lock_is_wanted(const ompi_osc_window_t *window, int local)
{
    return (atomic_load_explicit(&ompi_osc_line(window, local)->lock, memory_order_relaxed) &
            QUEUED) != 0;
}

void ompi_osc_lock_recover(ompi_osc_window_t *window, int local)
{
    take_guard(window, local);
    drop_guard(window, local, grant(window, local, rebuild(window, local)));
}
