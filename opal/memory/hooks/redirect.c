/* SPDX-License-Identifier: BSD-3-Clause */
/* Redirecting functions, under the conditions and the lock of the hooks (install.c). */
#include "opal/memory/hooks/redirect.h"

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/events/dispatch.h"
#include "opal/memory/hooks/settings.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/util/say.h"

static bool is_allowed(char reason[OPAL_PATCH_REASON_MAX_BYTES])
{
    const opal_memory_settings_t *settings = opal_memory_settings();
    const char *watcher = opal_memory_watcher();
    if (!settings->reloc_hooks)
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "memory_reloc_hooks is no");
    else if (!settings->malloc_hooks)
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "memory_malloc_hooks is no");
    else if (watcher != NULL)
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "standing aside for %s", watcher);
    else
        return true;
    return false;
}

/* The method, or NULL with every patch's reason. */
static const opal_patcher_ops_t *find_method(opal_patch_t *const *patches, size_t count,
                                             void **state)
{
    char reason[OPAL_PATCH_REASON_MAX_BYTES];
    const opal_patcher_ops_t *ops =
        is_allowed(reason) ? opal_patcher_method("reloc", state, reason) : NULL;
    for (size_t i = 0; ops == NULL && i < count; i++)
        opal_say_into(patches[i]->reason, sizeof patches[i]->reason, "%s", reason);
    return ops;
}

void opal_memory_find_originals(opal_patch_t *const *patches, size_t count)
{
    opal_patcher_resolve(patches, count);
}

opal_status_t opal_memory_redirect(opal_patch_t *const *patches, size_t count)
{
    void *state = NULL;
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
    const opal_patcher_ops_t *ops = find_method(patches, count, &state);
    if (ops != NULL) {
        opal_patcher_resolve(patches, count);
        ops->apply(state, patches, count);
    }
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);

    opal_status_t status = ops != NULL ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
    for (size_t i = 0; ops != NULL && i < count; i++) {
        if (patches[i]->original == NULL)
            opal_say_into(patches[i]->reason, sizeof patches[i]->reason, "libc has no %s",
                          patches[i]->symbol);
        if (patches[i]->reason[0] != 0)
            status = OPAL_ERR_NOT_AVAILABLE;
    }
    return status;
}
