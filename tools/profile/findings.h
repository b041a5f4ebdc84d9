/* SPDX-License-Identifier: BSD-3-Clause */
/* What an engineer wants to know first, in sentences. */
#ifndef MICA_PROFILE_FINDINGS_H
#define MICA_PROFILE_FINDINGS_H

#include "tools/profile/summary.h"

/* Fills in `findings` and `awaited` of a summary that is complete otherwise. */
void findings_make(summary_t *summary);

#endif
