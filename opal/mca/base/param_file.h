/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of a parameter file, cut into settings. No file is opened here, so
 * the parser can be fed from anywhere. Internal to opal/mca/base.
 *
 *   # a comment
 *   pmi_wire_timeout = 30        # the rest of a line, behind a blank
 *   btl              = "sm,self" # quotes keep blanks and '#'
 */
#ifndef OPAL_MCA_BASE_PARAM_FILE_H
#define OPAL_MCA_BASE_PARAM_FILE_H

#include <stddef.h>

/* `name` and `value` are the callee's to read until it returns. */
typedef void opal_param_file_setting_fn_t(const char *name, const char *value, unsigned line,
                                          void *context);
/* Gets what is wrong with a line. The lines around it are still used. */
typedef void opal_param_file_complaint_fn_t(const char *complaint, unsigned line, void *context);

void opal_param_file_parse(const char *bytes, size_t length, opal_param_file_setting_fn_t *setting,
                           opal_param_file_complaint_fn_t *complain, void *context);

#endif
