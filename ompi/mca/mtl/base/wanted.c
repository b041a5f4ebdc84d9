/* SPDX-License-Identifier: BSD-3-Clause */
/* By what the user has set, and by what there is. See wanted.h. */
#include "ompi/mca/mtl/base/wanted.h"

#include <stdio.h>
#include <string.h>

#include "opal/mca/base/param.h"
#include "opal/util/network.h"

/* What a list of components asks for; a list of what not to use asks for nothing. */
static bool is_list_of_wishes(const char *value)
{
    return value[0] != 0 && value[0] != '^';
}

/* Whether one of the settings wants it. */
static bool is_set(char reason[OPAL_REASON_MAX_BYTES])
{
    /* Who lists components of pml and is asked, is in the list. */
    static const char *const names[] = {"pml", "mtl", "mtl_ofi_provider_include",
                                        "mtl_ofi_provider_exclude"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        const char *origin = NULL, *value = opal_param_setting(names[i], &origin);
        /* An empty list of what to exclude is one of wishes: everything may be used. */
        bool is_exclude = strcmp(names[i], "mtl_ofi_provider_exclude") == 0;
        if (value == NULL || !(is_exclude || is_list_of_wishes(value)))
            continue;
        snprintf(reason, OPAL_REASON_MAX_BYTES, "%s = %s (%s)", names[i], value, origin);
        return true;
    }
    return false;
}

bool ompi_mtl_wanted_on(const char *root, char reason[OPAL_REASON_MAX_BYTES])
{
    if (is_set(reason))
        return true;
    const char *origin = NULL, *mtl = opal_param_setting("mtl", &origin);
    const char *network = opal_network(root, OPAL_NETWORK_OF_LIBFABRIC);
    if (network == NULL) {
        snprintf(reason, OPAL_REASON_MAX_BYTES,
                 "no network here that libfabric has a provider for, and nobody asked for one that "
                 "matches, as by pml = cm or mtl_ofi_provider_include = ...");
        return false;
    }
    if (mtl != NULL && mtl[0] == '^') {
        snprintf(reason, OPAL_REASON_MAX_BYTES, "this machine has %s, but mtl = %s (%s)", network,
                 mtl, origin);
        return false;
    }
    snprintf(reason, OPAL_REASON_MAX_BYTES, "this machine has %s", network);
    return true;
}

bool ompi_mtl_wanted(char reason[OPAL_REASON_MAX_BYTES])
{
    return ompi_mtl_wanted_on("", reason);
}
