/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of hints; reading and writing their values. */
#include "ompi/file/hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_BUFFER = 4096, LARGEST_BUFFER = 1 << 30, LARGEST_UNIT = 1 << 24 };

const ompi_file_hints_t ompi_file_hints_preset = {
    .io = {.start_iodevice = -1, .permissions = 0666},
    .cb_buffer_bytes = 1 << 19,
    .read_buffer_bytes = 1 << 19,
    .write_buffer_bytes = 1 << 18,
};

typedef enum hint_kind {
    NUMBER, /* uint64_t */
    BUFFER, /* uint64_t: from a page to a GiB */
    DEVICE, /* int: a number; -1 is not told */
    SWITCH, /* uint32_t: automatic, enable, disable */
    TRUTH,  /* bool */
    OCTAL,  /* mode_t */
    CONFIG, /* uint64_t: a number of ranks on every node, "*:3"; 0: "*:*" */
} hint_kind_t;

static const struct {
    const char *key;
    hint_kind_t kind;
    bool is_fixed; /* it is used when the file is made or opened, or the same on all nodes */
    size_t offset;
} rows[] = {
    {"cb_buffer_size", BUFFER, true, offsetof(ompi_file_hints_t, cb_buffer_bytes)},
    {"cb_nodes", NUMBER, false, offsetof(ompi_file_hints_t, cb_nodes)},
    {"cb_config_list", CONFIG, false, offsetof(ompi_file_hints_t, cb_per_node)},
    {"romio_cb_read", SWITCH, false, offsetof(ompi_file_hints_t, cb_read)},
    {"romio_cb_write", SWITCH, false, offsetof(ompi_file_hints_t, cb_write)},
    {"romio_ds_read", SWITCH, false, offsetof(ompi_file_hints_t, ds_read)},
    {"romio_ds_write", SWITCH, false, offsetof(ompi_file_hints_t, ds_write)},
    {"ind_rd_buffer_size", BUFFER, false, offsetof(ompi_file_hints_t, read_buffer_bytes)},
    {"ind_wr_buffer_size", BUFFER, false, offsetof(ompi_file_hints_t, write_buffer_bytes)},
    {"romio_no_indep_rw", TRUTH, true, offsetof(ompi_file_hints_t, no_indep_rw)},
    {"striping_factor", NUMBER, true, offsetof(ompi_file_hints_t, io.striping_factor)},
    {"striping_unit", NUMBER, true, offsetof(ompi_file_hints_t, io.striping_unit)},
    {"start_iodevice", DEVICE, true, offsetof(ompi_file_hints_t, io.start_iodevice)},
    {"direct_read", TRUTH, true, offsetof(ompi_file_hints_t, io.direct_read)},
    {"direct_write", TRUTH, true, offsetof(ompi_file_hints_t, io.direct_write)},
    {"file_perm", OCTAL, true, offsetof(ompi_file_hints_t, io.permissions)},
};

static const char *const switch_words[] = {"automatic", "enable", "disable"};

static void read_switch(uint32_t *to, const char *value)
{
    for (uint32_t i = 0; i < OPAL_COUNT_OF(switch_words); i++) {
        if (strcmp(value, switch_words[i]) == 0)
            *to = i;
    }
}

static void read_octal(mode_t *to, const char *value)
{
    char *end;
    unsigned long mode = strtoul(value, &end, 8);
    if (value[0] >= '0' && value[0] <= '7' && *end == 0 && mode <= 07777)
        *to = (mode_t)mode;
}

/* Lists that name hosts are not known. */
static void read_config(uint64_t *to, const char *value)
{
    uint64_t number = 0;
    if (strcmp(value, "*:*") == 0)
        *to = 0;
    else if (strncmp(value, "*:", 2) == 0 && ompi_info_read_number(value + 2, &number) &&
             number > 0 && number <= INT32_MAX)
        *to = number;
}

/* collective_buffering is the standard's name for two switches. */
static void read_collective_buffering(ompi_file_hints_t *hints, const char *value)
{
    if (strcmp(value, "true") == 0)
        hints->cb_read = hints->cb_write = OMPI_HINT_ENABLE;
    else if (strcmp(value, "false") == 0)
        hints->cb_read = hints->cb_write = OMPI_HINT_DISABLE;
}

static void read_value(void *to, hint_kind_t kind, const char *value)
{
    uint64_t number = 0;
    bool is_number = ompi_info_read_number(value, &number) && number <= INT64_MAX;
    if (kind == SWITCH)
        read_switch(to, value);
    else if (kind == OCTAL)
        read_octal(to, value);
    else if (kind == CONFIG)
        read_config(to, value);
    else if (kind == TRUTH && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0))
        *(bool *)to = value[0] == 't';
    else if (kind == DEVICE && is_number && number <= INT32_MAX)
        *(int *)to = (int)number;
    else if ((kind == NUMBER && is_number) ||
             (kind == BUFFER && number >= SMALLEST_BUFFER && number <= LARGEST_BUFFER))
        *(uint64_t *)to = number;
}

void ompi_file_hints_read(ompi_file_hints_t *hints, ompi_info_t *info, bool is_open)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length;
    if (info == NULL)
        return;
    if (ompi_info_get(info, "collective_buffering", value, sizeof value, &length))
        read_collective_buffering(hints, value);
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        if (!(is_open && rows[i].is_fixed) &&
            ompi_info_get(info, rows[i].key, value, sizeof value, &length))
            read_value((char *)hints + rows[i].offset, rows[i].kind, value);
    }
}

void ompi_file_hints_grow(ompi_file_hints_t *hints, uint64_t bytes)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(rows) && bytes <= LARGEST_UNIT; i++) {
        const size_t offset = rows[i].offset;
        uint64_t preset, *value = (void *)((char *)hints + offset);
        if (rows[i].kind != BUFFER)
            continue;
        memcpy(&preset, (const char *)&ompi_file_hints_preset + offset, sizeof preset);
        if (*value == preset && bytes > preset)
            *value = bytes;
    }
}

/* False: there is nothing to tell. */
static bool write_value(const void *from, hint_kind_t kind, char value[32])
{
    switch (kind) {
    case NUMBER:
    case BUFFER:
        snprintf(value, 32, "%llu", (unsigned long long)*(const uint64_t *)from);
        return *(const uint64_t *)from != 0;
    case DEVICE:
        snprintf(value, 32, "%d", *(const int *)from);
        return *(const int *)from >= 0;
    case SWITCH:
        snprintf(value, 32, "%s", switch_words[*(const uint32_t *)from]);
        return true;
    case TRUTH:
        snprintf(value, 32, "%s", *(const bool *)from ? "true" : "false");
        return true;
    case CONFIG:
        snprintf(value, 32, "*:%llu", (unsigned long long)*(const uint64_t *)from);
        return *(const uint64_t *)from != 0;
    case OCTAL:
        snprintf(value, 32, "%o", (unsigned)*(const mode_t *)from);
        return true;
    }
    return false;
}

int ompi_file_hints_write(const ompi_file_hints_t *hints, ompi_info_t *info)
{
    char value[32];
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < OPAL_COUNT_OF(rows) && error == MPI_SUCCESS; i++) {
        if (write_value((const char *)hints + rows[i].offset, rows[i].kind, value))
            error = ompi_info_set(info, rows[i].key, value);
    }
    return error;
}
