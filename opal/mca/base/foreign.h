/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that other MPIs have for their components and parameters. Scripts and the settings of
 * whole sites use them. They are translated, or left out with a note, so that a name that is
 * neither theirs nor ours is still reported as a typing error.
 */
#ifndef OPAL_MCA_BASE_FOREIGN_H
#define OPAL_MCA_BASE_FOREIGN_H

#include <stdbool.h>

#include "opal/util/text.h"

/*
 * Our component that is nearest to another MPI's, in a list of components to use or to exclude; "":
 * there is none, and the name is left out. NULL: no other MPI has this name.
 */
const char *opal_foreign_component(const char *framework, const char *name, bool excluded);

/*
 * Whether a parameter is another MPI's: of a component of theirs ("btl_vader_..."). Then `here`
 * gets the name that it would have here, as far as names go; the caller frees it.
 */
bool opal_foreign_parameter(const char *full_name, char **here);

/* Whether a parameter begins with the name of a framework that others have and we do not. */
bool opal_foreign_framework(const char *full_name);

#endif
