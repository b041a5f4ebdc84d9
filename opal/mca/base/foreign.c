/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of names. */
#include "opal/mca/base/foreign.h"

#include <string.h>

#include "opal/include/compiler.h"

/*
 * A list that names another MPI's component uses the nearest of ours. A list that excludes it
 * excludes ours only where the two do the same: "^openib" must not take TCP away.
 */
static const struct {
    const char *framework, *name, *use, *exclude;
} components[] = {
    {"btl", "vader", "sm", "sm"},
    {"btl", "smcuda", "sm", ""},
    {"btl", "tcp", "sock", "sock"},
    {"btl", "openib", "sock", ""},
    {"btl", "ofi", "sock", ""},
    {"btl", "uct", "sock", ""},
    {"btl", "ucx", "sock", ""},
    {"btl", "usnic", "sock", ""},
    {"btl", "ugni", "sock", ""},
    {"btl", "portals4", "sock", ""},
    {"btl", "scif", "sock", ""},
    {"btl", "template", "sock", ""},
    {"pml", "ucx", "", ""},
    {"pml", "yalla", "", ""},
    {"pml", "bfo", "", ""},
    {"pml", "monitoring", "", ""},
    {"pml", "v", "", ""},
    {"mtl", "psm", "ofi", ""},
    {"mtl", "psm2", "ofi", ""},
    {"mtl", "psm3", "ofi", ""},
    {"mtl", "mxm", "ofi", ""},
    {"mtl", "portals4", "ofi", ""},
    {"coll", "tuned", "p2p", ""},
    {"coll", "basic", "p2p", ""},
    {"coll", "libnbc", "p2p", ""},
    {"coll", "inter", "p2p", ""},
    {"coll", "self", "p2p", ""},
    {"coll", "sync", "p2p", ""},
    {"coll", "han", "p2p", ""},
    {"coll", "adapt", "p2p", ""},
    {"coll", "hcoll", "p2p", ""},
    {"coll", "fca", "p2p", ""},
    {"coll", "ml", "p2p", ""},
    {"coll", "ucc", "p2p", ""},
    {"coll", "cuda", "p2p", ""},
    {"coll", "xhc", "sm", ""},
    {"coll", "portals4", "p2p", ""},
    {"coll", "monitoring", "p2p", ""},
    {"coll", "accelerator", "p2p", ""},
    {"coll", "acoll", "p2p", ""},
    {"coll", "ftagree", "p2p", ""},
    {"coll", "demo", "p2p", ""},
    {"osc", "ucx", "", ""},
    {"osc", "rdma", "", ""},
    {"osc", "pt2pt", "", ""},
    {"osc", "portals4", "", ""},
    {"osc", "monitoring", "", ""},
    {"mpool", "grdma", "rcache", ""},
    {"mpool", "hugepage", "", ""},
    {"mpool", "udreg", "rcache", ""},
    {"memory", "linux", "", ""},
    {"memory", "patcher", "", ""},
    {"memory", "ummunotify", "", ""},
    {"patcher", "linux", "", ""},
};

static const char *const frameworks[] = {
    "accelerator", "allocator", "backtrace", "bml",   "common", "compress", "crcp",  "crs",
    "dfs",         "errmgr",    "ess",       "event", "fbtl",   "fcoll",    "filem", "fs",
    "grpcomm",     "hook",      "hwloc",     "if",    "io",     "odls",     "oob",   "op",
    "opal",        "ompi",      "orte",      "part",  "plm",    "prte",     "ras",   "rcache",
    "reachable",   "regx",      "rmaps",     "rml",   "routed", "rte",      "rtc",   "schizo",
    "sec",         "sharedfp",  "shmem",     "smsc",  "snapc",  "sstore",   "state", "threads",
    "timer",       "topo",      "vprotocol",
};

/* The rest of `text` behind "name_"; NULL: `text` does not begin with that. */
static const char *behind(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '_' ? text + length + 1 : NULL;
}

const char *opal_foreign_component(const char *framework, const char *name, bool excluded)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(components); i++) {
        if (strcmp(components[i].framework, framework) == 0 &&
            strcmp(components[i].name, name) == 0)
            return excluded ? components[i].exclude : components[i].use;
    }
    return NULL;
}

bool opal_foreign_parameter(const char *full_name, char **here)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(components); i++) {
        const char *rest = behind(full_name, components[i].framework);
        rest = rest != NULL ? behind(rest, components[i].name) : NULL;
        if (rest == NULL)
            continue;
        *here = opal_xprintf("%s_%s_%s", components[i].framework, components[i].use, rest);
        return true;
    }
    return false;
}

bool opal_foreign_framework(const char *full_name)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(frameworks); i++) {
        if (strcmp(full_name, frameworks[i]) == 0 || behind(full_name, frameworks[i]) != NULL)
            return true;
    }
    return false;
}
