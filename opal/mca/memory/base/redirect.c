/* SPDX-License-Identifier: BSD-3-Clause */
/* The same conditions as for the hooks, and the same lock. */
#include "opal/mca/memory/base/redirect.h"

#include "opal/mca/memory/base/aside.h"
#include "opal/mca/memory/base/dispatch.h"
#include "opal/mca/memory/base/settings.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/util/say.h"

/* NULL: nothing is in the way. */
static const char *find_obstacle(void)
{
    const opal_memory_settings_t *settings = opal_memory_settings();
    if (!settings->reloc_hooks)
        return "memory_reloc_hooks is no";
    if (!settings->malloc_hooks)
        return "memory_malloc_hooks is no";
    return opal_memory_watcher() != NULL ? "standing aside for who watches the memory" : NULL;
}

static void give_reason(opal_patch_t *const *patches, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++)
        opal_say_into(patches[i]->reason, sizeof patches[i]->reason, "%s", why);
}

/* The method, or NULL with every patch's reason. */
static const opal_patcher_ops_t *find_method(opal_patch_t *const *patches, size_t count,
                                             void **state)
{
    char reason[OPAL_PATCH_REASON_MAX_BYTES];
    const char *obstacle = find_obstacle();
    const opal_patcher_ops_t *ops =
        obstacle == NULL ? opal_patcher_method("reloc", state, reason) : NULL;
    if (ops == NULL)
        give_reason(patches, count, obstacle != NULL ? obstacle : reason);
    return ops;
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
