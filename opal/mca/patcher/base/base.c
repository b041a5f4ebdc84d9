/* SPDX-License-Identifier: BSD-3-Clause */
/* The patcher framework object, and asking a component that was not opened. */
#include "opal/mca/patcher/base/base.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/patcher/base/image.h"
#include "opal/util/say.h"

static const opal_slot_t patcher_slots[] = {
    OPAL_SLOT_REQUIRED(opal_patcher_ops_t, apply),
    {0},
};

opal_framework_t mca_patcher_framework = {
    .name = "patcher",
    .prose = "redirects calls of libc's functions to ours",
    .slots = patcher_slots,
    .static_only = "patcher components must be able to work before main, so they are part of "
                   "libopen-pal",
    .takes_all = true,
    .may_be_empty = true,
};

/* The meaning of "a,b" and "^a,b", without the framework's base, which allocates. */
static bool is_selected(const char *list, const char *name)
{
    bool excludes = *list == '^', named = false;
    size_t length = strlen(name);
    for (list += excludes; *list != 0 && !named; list += *list == ',') {
        size_t word = strcspn(list, ",");
        named = word == length && strncmp(list, name, length) == 0;
        list += word;
    }
    return named != excludes;
}

static const opal_component_t *find_component(const char *name)
{
    for (const opal_component_t *const *at = opal_project.components; *at != NULL; at++) {
        if (strcmp((*at)->framework, mca_patcher_framework.name) == 0 &&
            strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}

const opal_patcher_ops_t *opal_patcher_method(const char *name, void **state,
                                              char reason[OPAL_PATCH_REASON_MAX_BYTES])
{
    const opal_component_t *component = find_component(name);
    const char *list = getenv("OMPI_MCA_patcher");
    opal_answer_t answer = {0};
    if (component == NULL) {
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "%s was not built", name);
        return NULL;
    }
    if (list != NULL && *list != 0 && !is_selected(list, name)) {
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "excluded by patcher = %s", list);
        return NULL;
    }
    component->query(&answer);
    if (!answer.usable) {
        opal_say_into(reason, OPAL_PATCH_REASON_MAX_BYTES, "%s", answer.reason);
        return NULL;
    }
    *state = answer.state;
    return answer.ops;
}

typedef struct wanted {
    opal_patch_t *const *patches;
    size_t count;
} wanted_t;

/* Looks for libc, which is the object that starts programs, and takes its definitions. */
static int visit_object(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    const wanted_t *wanted = context;
    opal_image_t image;
    if (!opal_image_read(&image, info) || !opal_image_is_libc(&image))
        return 0;
    for (size_t i = 0; i < wanted->count; i++) {
        opal_patch_t *patch = wanted->patches[i];
        if (patch != NULL && patch->original == NULL)
            patch->original = opal_image_function(&image, patch->symbol);
    }
    return 1;
}

/* The objects come in the order in which the linker looks a name up. */
static int visit_before_libc(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    const wanted_t *wanted = context;
    opal_image_t image;
    if (!opal_image_read(&image, info) || opal_image_function(&image, OPAL_PATCHER_OURS) != NULL)
        return 0;
    if (opal_image_is_libc(&image))
        return 1;
    for (size_t i = 0; i < wanted->count; i++) {
        opal_patch_t *patch = wanted->patches[i];
        if (patch != NULL && patch->interposer == NULL)
            patch->interposer = opal_image_function(&image, patch->symbol);
    }
    return 0;
}

void opal_patcher_find_interposers(opal_patch_t *const *patches, size_t count)
{
    wanted_t wanted = {patches, count};
    dl_iterate_phdr(visit_before_libc, &wanted);
}

void opal_patcher_resolve(opal_patch_t *const *patches, size_t count)
{
    wanted_t wanted = {patches, count};
    dl_iterate_phdr(visit_object, &wanted);
}
