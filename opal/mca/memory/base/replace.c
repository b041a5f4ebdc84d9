/* SPDX-License-Identifier: BSD-3-Clause */
/* The patcher, for the components of memory. See replace.h. */
#include "opal/mca/memory/base/replace.h"

#include "opal/mca/memory/base/aside.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/util/say.h"

void opal_memory_find_originals(opal_patch_t *const *patches, size_t count)
{
    opal_patcher_resolve(patches, count);
}

bool opal_memory_replace(opal_patch_t *const *patches, size_t count,
                         char reason[OPAL_PATCH_REASON_MAX_BYTES])
{
    void *state = NULL;
    const char *watcher = opal_memory_watcher();
    if (watcher != NULL) {
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "standing aside for %s", watcher);
        return false;
    }
    const opal_patcher_ops_t *ops = opal_patcher_method("reloc", &state, reason);
    if (ops == NULL)
        return false;
    ops->apply(state, patches, count);
    return true;
}
