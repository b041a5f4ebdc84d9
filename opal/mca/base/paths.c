/* SPDX-License-Identifier: BSD-3-Clause */
/* Installed places; MICA_SYSCONFDIR and MICA_COMPONENTDIR come from the makefile. */
#include "opal/mca/base/paths.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/component.h"

const char *opal_path_system_params(void)
{
    return MICA_SYSCONFDIR "/mica-mca-params.conf";
}

const char *opal_path_components(void)
{
    static char beside[4096];
    Dl_info info;

    if (beside[0] != 0)
        return beside;
    const char *slash = NULL;
    if (dladdr(&opal_component_base, &info) != 0 && info.dli_fname != NULL)
        slash = strrchr(info.dli_fname, '/');
    if (slash != NULL)
        snprintf(beside, sizeof beside, "%.*s/mica", (int)(slash - info.dli_fname), info.dli_fname);
    if (slash == NULL || access(beside, F_OK) != 0)
        snprintf(beside, sizeof beside, "%s", MICA_COMPONENTDIR);
    return beside;
}
