/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of windows: which there are, and which hold. */
#include <stdlib.h>
#include <string.h>

#include "ompi/win/win.h"

/* The hints of the standard, with the value that holds when the program gives none. */
static const struct {
    const char *key, *preset;
} hints[] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"mpi_accumulate_granularity", "0"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
    {"alloc_shared_noncontig", "false"},
    {"mpi_minimum_memory_alignment", "0"},
};

int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length;
    int error = MPI_SUCCESS;
    for (size_t i = 0; info != NULL && i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++) {
        if (ompi_info_get(info, hints[i].key, value, sizeof value, &length))
            error = ompi_info_set(win->info, hints[i].key, value);
    }
    return error;
}

int ompi_win_begin_hints(ompi_win_t *win, ompi_info_t *info)
{
    win->info = ompi_info_create();
    int error = win->info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t i = 0; i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++)
        error = ompi_info_set(win->info, hints[i].key, hints[i].preset);
    return error == MPI_SUCCESS ? ompi_win_set_hints(win, info) : error;
}

bool ompi_win_hint_is(const ompi_win_t *win, const char *key, const char *value)
{
    char found[MPI_MAX_INFO_VAL];
    size_t length;
    return ompi_info_get(win->info, key, found, sizeof found, &length) && strcmp(found, value) == 0;
}

uint64_t ompi_win_hint_number(const ompi_win_t *win, const char *key)
{
    char found[MPI_MAX_INFO_VAL], *end;
    size_t length;
    if (!ompi_info_get(win->info, key, found, sizeof found, &length))
        return 0;
    uint64_t number = strtoull(found, &end, 10);
    return *end == 0 ? number : 0;
}
