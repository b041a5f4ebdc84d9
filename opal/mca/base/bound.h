/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of one communicator or window, which tools write: control variables that are bound.
 *
 * A component lists them in a table, a row each: {what it is bound to, what a parameter's row says,
 * how the value is read from the object and written into it}:
 *
 *     {OPAL_PVAR_OF_COMM,
 *      {.name = "comm_limit", .type = OPAL_PARAM_SIZE, .write = OPAL_PARAM_ANYTIME, .prose =
 * "..."}, get_limit, set_limit}
 *
 * The full name is FRAMEWORK_COMPONENT_NAME, as of parameters. An object begins with what the
 * parameters of the process say; no file and no variable of the environment sets such a value.
 * Tools find the rows in the catalog (catalog.h), which checks types, limits and choices.
 */
#ifndef OPAL_MCA_BASE_BOUND_H
#define OPAL_MCA_BASE_BOUND_H

#include "opal/mca/base/param.h"
#include "opal/mca/base/pvar.h"

typedef union opal_param_value {
    bool boolean;
    int integer; /* also of an enum */
    unsigned natural;
    size_t size;
    double real;
    const char *string;
    opal_strings_t list;
} opal_param_value_t;

typedef struct opal_bound_row {
    opal_pvar_bind_t bind; /* not OF_PROCESS */

    /* Without value, preset and functions; ANYTIME, ANYTIME_EQUAL or NEVER. No STRING. A row
     * without a name ends the table. */
    opal_param_row_t param;

    /* The value of that object. A list is empty before the call. Under the lock of parameters. */
    void (*get)(void *object, opal_param_value_t *value);

    /* What is written, which fits type and limits. False: the value makes no sense, which was told,
     * or cannot be kept; nothing has changed. Also under the message lock of ompi. */
    bool (*set)(void *object, const opal_param_value_t *value);
} opal_bound_row_t;

/* Adds a table (NULL: does nothing), which stays where it is until it is withdrawn. Repeated calls
 * for the same table do nothing. The names live as long as the table is registered. */
OPAL_EXPORT void opal_bound_register(const char *framework, const char *component,
                                     const opal_bound_row_t *rows);

/* Calls `visit` for each row, under the lock of parameters; for ompi_info. */
typedef void opal_bound_visit_fn_t(const char *framework, const char *component,
                                   const char *full_name, const opal_bound_row_t *row,
                                   void *context);
OPAL_EXPORT void opal_bound_visit(opal_bound_visit_fn_t *visit, void *context);

/* Before the DSO that has the table is unloaded. */
OPAL_EXPORT void opal_bound_withdraw(const opal_bound_row_t *rows);

#endif
