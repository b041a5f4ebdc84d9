/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of the program in words: function, file and line, as far as the debug information goes. */
#ifndef MICA_PROFILE_PLACES_H
#define MICA_PROFILE_PLACES_H

#include "tools/profile/summary.h"

/* Sets `text` of all sites. */
void places_name(summary_t *summary);

#endif
