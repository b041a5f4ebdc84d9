/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine for tests of what is looked for in /dev and /sys: a folder in the place of "/". */
#ifndef OPAL_UNIT_MACHINE_H
#define OPAL_UNIT_MACHINE_H

#include <sys/stat.h>

#include "test/unit/opal/support.h"

static char root[512];

/* Everything up to a '/' is a folder; what ends without one is a file. */
static inline void make(const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(unit_folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(full, 0755);
        *at = '/';
    }
    if (full[strlen(full) - 1] != '/')
        fclose(fopen(full, "w"));
}

static inline void empty_machine(void)
{
    static unsigned count;
    snprintf(root, sizeof root, "%s/root%u-%d", unit_folder, count++, (int)getpid());
    make("/");
}

#endif
