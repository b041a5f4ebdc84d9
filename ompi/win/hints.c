/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of windows: which there are, and which hold. Other keys are ignored, as are values that the
 * standard does not know, and hints that come too late or are for other windows: what is told is
 * what holds.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/info/memory_kinds.h"
#include "ompi/win/win.h"

/* -- values ------------------------------------------------------------------------------ */

static bool is_truth(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

static bool is_ordering(const char *value)
{
    static const char *const orders[] = {"rar", "raw", "war", "waw"};
    bool is_good = true;
    if (strcmp(value, "none") == 0)
        return true;
    for (const char *word = value; is_good && word != NULL;) {
        is_good = false;
        for (size_t i = 0; i < OPAL_COUNT_OF(orders) && !is_good; i++)
            is_good = strncmp(word, orders[i], 3) == 0 && (word[3] == 0 || word[3] == ',');
        word = is_good && word[3] == ',' ? word + 4 : NULL;
    }
    return is_good;
}

static bool is_operations(const char *value)
{
    return strcmp(value, "same_op") == 0 || strcmp(value, "same_op_no_op") == 0;
}

static bool is_number(const char *value)
{
    uint64_t number;
    return ompi_info_read_number(value, &number);
}

static bool is_alignment(const char *value)
{
    size_t alignment;
    return ompi_info_read_alignment(value, &alignment);
}

/* What the library says, and no program sets. */
static bool is_never_valid(const char *value OPAL_UNUSED)
{
    return false;
}

#define PRESET_ORDERING "rar,raw,war,waw"

/* -- hints ------------------------------------------------------------------------------- */

/* Windows that a hint may be given to. */
typedef enum hint_use {
    FOR_ALL,
    FOR_ALLOCATED,
    FOR_SHARED,
} hint_use_t;

static bool may_have(const ompi_win_t *win, hint_use_t use)
{
    int flavor = win->shape.flavor;
    return use == FOR_ALL || flavor == MPI_WIN_FLAVOR_SHARED ||
           (use == FOR_ALLOCATED && flavor == MPI_WIN_FLAVOR_ALLOCATE);
}

/* The hints of the standard, with the value that holds when the program gives none; NULL: there is
 * none then. */
static const struct {
    const char *key, *preset;
    bool (*is_valid)(const char *value);
    hint_use_t use;
    bool is_fixed; /* it is used when the window is made */
} hints[] = {
    {"no_locks", "false", is_truth, FOR_ALL, false},
    {"accumulate_ordering", PRESET_ORDERING, is_ordering, FOR_ALL, false},
    {"accumulate_ops", "same_op_no_op", is_operations, FOR_ALL, false},
    {"mpi_accumulate_granularity", "0", is_number, FOR_ALL, true},
    {"same_size", "false", is_truth, FOR_ALL, false},
    {"same_disp_unit", "false", is_truth, FOR_ALL, false},
    {"alloc_shared_noncontig", "false", is_truth, FOR_SHARED, true},
    {OMPI_MINIMUM_ALIGNMENT, "0", is_alignment, FOR_ALLOCATED, true},
    {OMPI_MEMORY_KINDS, ompi_memory_kinds, is_never_valid, FOR_ALL, true},
    {OMPI_ASSERT_MEMORY_KINDS, NULL, ompi_memory_kinds_are_supported, FOR_ALL, false},
};

static int set_hints(ompi_win_t *win, ompi_info_t *info, bool is_made)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length;
    int error = MPI_SUCCESS;
    for (size_t i = 0; info != NULL && i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++) {
        bool is_meant = may_have(win, hints[i].use) && !(is_made && hints[i].is_fixed);
        if (is_meant && ompi_info_get(info, hints[i].key, value, sizeof value, &length) &&
            hints[i].is_valid(value))
            error = ompi_info_set(win->info, hints[i].key, value);
    }
    win->has_no_locks = ompi_win_hint_is(win, "no_locks", "true");
    win->osc.is_unordered = ompi_win_hint_is(win, "accumulate_ordering", "none");
    return error;
}

int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info)
{
    return set_hints(win, info, true);
}

int ompi_win_begin_hints(ompi_win_t *win, ompi_info_t *info)
{
    win->info = ompi_info_create();
    int error = win->info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t i = 0; i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++) {
        if (hints[i].preset != NULL)
            error = ompi_info_set(win->info, hints[i].key, hints[i].preset);
    }
    return error == MPI_SUCCESS ? set_hints(win, info, false) : error;
}

bool ompi_win_hint_is(const ompi_win_t *win, const char *key, const char *value)
{
    char found[MPI_MAX_INFO_VAL];
    size_t length;
    return ompi_info_get(win->info, key, found, sizeof found, &length) && strcmp(found, value) == 0;
}

uint64_t ompi_win_hint_number(const ompi_win_t *win, const char *key)
{
    char found[MPI_MAX_INFO_VAL];
    size_t length;
    uint64_t number;
    return ompi_info_get(win->info, key, found, sizeof found, &length) &&
                   ompi_info_read_number(found, &number)
               ? number
               : 0;
}

/* -- as control variables ---------------------------------------------------------------- */

static bool set_hint(ompi_win_t *win, const char *key, const char *value)
{
    ompi_info_t *info = ompi_info_create();
    bool is_set = info != NULL && ompi_info_set(info, key, value) == MPI_SUCCESS &&
                  ompi_win_set_hints(win, info) == MPI_SUCCESS;
    if (info != NULL)
        ompi_object_release(&info->head);
    return is_set;
}

static void get_no_locks(void *object, opal_param_value_t *value)
{
    const ompi_win_t *win = object;
    value->boolean = win->has_no_locks;
}

static bool set_no_locks(void *object, const opal_param_value_t *value)
{
    return set_hint(object, "no_locks", value->boolean ? "true" : "false");
}

static void get_unordered(void *object, opal_param_value_t *value)
{
    const ompi_win_t *win = object;
    value->boolean = win->osc.is_unordered;
}

static bool set_unordered(void *object, const opal_param_value_t *value)
{
    return set_hint(object, "accumulate_ordering", value->boolean ? "none" : PRESET_ORDERING);
}

const opal_bound_row_t ompi_win_bound[] = {
    {OPAL_PVAR_OF_WIN,
     {.name = "no_locks",
      .type = OPAL_PARAM_BOOL,
      .write = OPAL_PARAM_ANYTIME,
      .prose = "Refuse MPI_Win_lock and MPI_Win_lock_all for this window here (hint no_locks)"},
     get_no_locks,
     set_no_locks},
    {OPAL_PVAR_OF_WIN,
     {.name = "unordered_accumulates",
      .type = OPAL_PARAM_BOOL,
      .write = OPAL_PARAM_ANYTIME,
      .prose = "The order of this process' accumulates to one location of this window does not "
               "matter (hint accumulate_ordering = none): over a network one does not wait for "
               "the one before"},
     get_unordered,
     set_unordered},
    {0},
};
