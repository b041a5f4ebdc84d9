/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the installed files are. Internal to opal/mca/base, but for the directories. */
#ifndef OPAL_MCA_BASE_PATHS_H
#define OPAL_MCA_BASE_PATHS_H

#include "opal/include/compiler.h"

/* Still to be expanded. */
#define OPAL_PATH_USER_PARAMS "~/.openmpi/mca-params.conf"

/* The parameter file of the installation. */
OPAL_EXPORT const char *opal_path_system_params(void);

/*
 * Where the DSOs of the installation are: "mica" beside libopen-pal itself when that is there,
 * so that a tree that was moved works, or the configured place.
 */
OPAL_EXPORT const char *opal_path_components(void);

#endif
