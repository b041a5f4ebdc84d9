/* SPDX-License-Identifier: BSD-3-Clause */
/* Component DSOs: directory scan, dlopen, and the checks before anything of one is called. */
#include "opal/mca/base/dso.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"

const char opal_component_base = 0;

const char *opal_dso_directory(void)
{
    static char directory[4096];
    Dl_info info;

    if (directory[0] != 0)
        return directory;
    const char *slash = NULL;
    if (dladdr(&opal_component_base, &info) != 0 && info.dli_fname != NULL)
        slash = strrchr(info.dli_fname, '/');
    if (slash != NULL)
        snprintf(directory, sizeof directory, "%.*s/mica", (int)(slash - info.dli_fname),
                 info.dli_fname);
    if (slash == NULL || access(directory, F_OK) != 0)
        snprintf(directory, sizeof directory, "%s", MICA_COMPONENTDIR);
    return directory;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The component's name in "mca_pmi_wire.so", the caller's to free; NULL for any other file. */
static char *component_name(const char *file, const char *framework)
{
    static const char suffix[] = ".so";
    char prefix[128];
    size_t prefix_length = (size_t)snprintf(prefix, sizeof prefix, "mca_%s_", framework);
    size_t length = strlen(file);
    if (length <= prefix_length + sizeof suffix - 1 || strncmp(file, prefix, prefix_length) != 0 ||
        strcmp(file + length - (sizeof suffix - 1), suffix) != 0)
        return NULL;
    return opal_xstrndup(file + prefix_length, length - prefix_length - (sizeof suffix - 1));
}

static void scan(const char *directory, const char *framework, opal_dso_found_fn_t *found,
                 void *context)
{
    DIR *stream = opendir(directory);
    if (stream == NULL)
        return;
    opal_strings_t names = {0};
    for (struct dirent *file = readdir(stream); file != NULL; file = readdir(stream)) {
        char *name = component_name(file->d_name, framework);
        if (name != NULL)
            opal_strings_add(&names, name);
        free(name);
    }
    closedir(stream);
    /* A directory has no order; a run must have one. */
    if (names.count > 1)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    for (size_t i = 0; i < names.count; i++) {
        char *path = opal_xprintf("%s/mca_%s_%s.so", directory, framework, names.items[i]);
        found(names.items[i], path, context);
        free(path);
    }
    opal_strings_free(&names);
}

void opal_dso_find(const char *framework, const opal_strings_t *directories,
                   opal_dso_found_fn_t *found, void *context)
{
    for (size_t i = 0; i < directories->count; i++)
        scan(directories->items[i], framework, found, context);
    scan(opal_dso_directory(), framework, found, context);
}

const char *opal_component_complaint(const opal_component_t *component, const char *framework,
                                     const char *name)
{
    if (component->abi != OPAL_COMPONENT_ABI)
        return "was built for another version of the component interface";
    if (component->base != &opal_component_base)
        return "was linked to another copy of libopen-pal than this program";
    if (component->framework == NULL || strcmp(component->framework, framework) != 0)
        return "says that it belongs to another framework";
    if (component->name == NULL || strcmp(component->name, name) != 0)
        return "has another name inside than outside";
    if (component->query == NULL)
        return "has no query, which is required";
    return NULL;
}

/* The message of the loader without the path at its beginning, so that its end is not cut. */
static const char *loader_words(const char *path)
{
    const char *words = dlerror();
    size_t length = strlen(path);
    return strncmp(words, path, length) == 0 && strncmp(words + length, ": ", 2) == 0
               ? words + length + 2
               : words;
}

const opal_component_t *opal_dso_load(const char *framework, const char *name, const char *path,
                                      void **dso, char reason[OPAL_REASON_MAX_BYTES])
{
    *dso = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*dso == NULL) {
        snprintf(reason, OPAL_REASON_MAX_BYTES, "cannot be loaded: %s", loader_words(path));
        return NULL;
    }
    char *symbol = opal_xprintf("mca_%s_%s_component", framework, name);
    const opal_component_t *component = dlsym(*dso, symbol);
    const char *complaint =
        component != NULL ? opal_component_complaint(component, framework, name) : NULL;
    if (component == NULL)
        snprintf(reason, OPAL_REASON_MAX_BYTES, "has no symbol %s", symbol);
    else if (complaint != NULL)
        snprintf(reason, OPAL_REASON_MAX_BYTES, "%s", complaint);
    free(symbol);
    if (component == NULL || complaint != NULL) {
        opal_dso_unload(*dso);
        *dso = NULL;
        return NULL;
    }
    return component;
}

void opal_dso_unload(void *dso)
{
    if (dso != NULL)
        dlclose(dso);
}
