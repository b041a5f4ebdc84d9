/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Components that are files: finding and loading mca_<framework>_<name>.so. Internal to
 * opal/mca/base, except opal_dso_directory.
 */
#ifndef OPAL_MCA_BASE_DSO_H
#define OPAL_MCA_BASE_DSO_H

#include "opal/mca/base/component.h"

/*
 * The directory of the installation's DSOs: "mica" in the directory of libopen-pal if it exists, so
 * that an installation can be moved, else the configured one.
 */
OPAL_EXPORT const char *opal_dso_directory(void);

/* `path` is the callee's to read until it returns. */
typedef void opal_dso_found_fn_t(const char *name, const char *path, void *context);

/*
 * Reports every DSO of a framework: first those in the directories, in their order, then those
 * of the installation. The same name may come twice; the first is the one to take.
 */
void opal_dso_find(const char *framework, const opal_strings_t *directories,
                   opal_dso_found_fn_t *found, void *context);

/*
 * Loads a DSO and returns its descriptor, checked by opal_component_complaint; NULL with the
 * reason when it is no good.
 */
const opal_component_t *opal_dso_load(const char *framework, const char *name, const char *path,
                                      void **dso, char reason[OPAL_REASON_MAX_BYTES]);

void opal_dso_unload(void *dso);

/* What makes a descriptor unusable ("has no query"), or NULL. */
const char *opal_component_complaint(const opal_component_t *component, const char *framework,
                                     const char *name);

#endif
