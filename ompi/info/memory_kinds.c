/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of memory. See memory_kinds.h. */
#include "ompi/info/memory_kinds.h"

#include <stddef.h>
#include <string.h>

#include "opal/include/compiler.h"

static const char system_kind[] = "system";
static const char mpi_kind[] = "mpi";
static const char *const mpi_restrictors[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};

const char ompi_memory_kinds[] =
    "system,mpi,mpi:alloc_mem,mpi:win_allocate,mpi:win_allocate_shared";

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool is_restrictor(const char *text, size_t length)
{
    bool found = false;
    for (size_t i = 0; i < OPAL_COUNT_OF(mpi_restrictors) && !found; i++)
        found = is_word(text, length, mpi_restrictors[i]);
    return found;
}

/* One kind, with its restrictors. */
static bool is_supported(const char *kind, size_t length)
{
    if (is_word(kind, length, system_kind))
        return true;
    size_t word = strcspn(kind, ":,");
    bool good = is_word(kind, word, mpi_kind);
    while (good && word < length) {
        kind += word + 1;
        length -= word + 1;
        word = strcspn(kind, ":,");
        good = is_restrictor(kind, word);
    }
    return good;
}

bool ompi_memory_kinds_are_supported(const char *list)
{
    if (*list == 0)
        return true;
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!is_supported(list, length))
            return false;
        if (list[length] == 0)
            return true;
        list += length + 1;
    }
}
