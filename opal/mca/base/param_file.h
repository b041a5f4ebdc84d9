/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameter files: where they are, and the parser, which cuts a text into settings and opens no
 * file. The parser is internal to opal/mca/base.
 *
 *   # a comment
 *   pmi_wire_timeout = 30        # the rest of a line, behind a blank
 *   btl              = "sm,self" # quotes keep blanks and '#'
 */
#ifndef OPAL_MCA_BASE_PARAM_FILE_H
#define OPAL_MCA_BASE_PARAM_FILE_H

#include <stddef.h>

#include "opal/include/compiler.h"

/* The parameter file of the user, still to be expanded, and that of the installation. */
#define OPAL_PARAM_FILE_USER "~/.openmpi/mca-params.conf"
OPAL_EXPORT const char *opal_param_file_system(void);

/* `name` and `value` are the callee's to read until it returns. */
typedef void opal_param_file_setting_fn_t(const char *name, const char *value, unsigned line,
                                          void *context);
/* Gets what is wrong with a line. The lines around it are still used. */
typedef void opal_param_file_complaint_fn_t(const char *complaint, unsigned line, void *context);

void opal_param_file_parse(const char *bytes, size_t length, opal_param_file_setting_fn_t *setting,
                           opal_param_file_complaint_fn_t *complain, void *context);

#endif
