/* SPDX-License-Identifier: BSD-3-Clause */
/* The two forms of the report. */
#ifndef MICA_PROFILE_REPORT_H
#define MICA_PROFILE_REPORT_H

#include <stdio.h>

#include "tools/profile/summary.h"

/* One screen for a terminal. */
void report_text(FILE *out, const summary_t *summary);

/* A page that needs nothing else: template.html with style, script and data put in. */
void report_html(FILE *out, const summary_t *summary);

#endif
