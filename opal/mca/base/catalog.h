/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The catalog: every parameter, and every setting of an object (bound.h), that was ever registered,
 * under an index that never changes.
 *
 * Parameters come and go with their components; tools want a list that only grows, also before the
 * library starts and after it has ended. So a record holds a copy of the row, and a copy of the
 * value as it was last seen. While the parameter is registered, its own variable counts.
 *
 * A value that a tool writes becomes a setting stronger than all others. It is the variable's value
 * at once, if the parameter is registered, and whenever it is registered again.
 *
 * Threading: any thread. The lock of parameters protects the catalog, and its records.
 */
#ifndef OPAL_MCA_BASE_CATALOG_H
#define OPAL_MCA_BASE_CATALOG_H

#include "opal/mca/base/bound.h"

typedef struct opal_record {
    const char *full_name, *framework, *component; /* never change */
    opal_param_row_t row;                          /* a copy; `value` points to the next field */
    opal_param_value_t value;                      /* as it was last seen */
    const opal_param_row_t *live;  /* of the parameter while it is registered, or NULL */
    const opal_bound_row_t *bound; /* of a setting of objects while it is registered, or NULL */
    opal_pvar_bind_t bind;         /* never changes */
} opal_record_t;

/* From now on parameters that are registered enter the catalog; those that are, do now. Repeated
 * calls do nothing. The catalog lasts as long as the process. */
OPAL_EXPORT void opal_catalog_start(void);

OPAL_EXPORT size_t opal_catalog_count(void);

/* The record of an index below the count. It is never freed. */
OPAL_EXPORT const opal_record_t *opal_catalog_at(size_t index);

/* False: no parameter of this name is in the catalog. */
OPAL_EXPORT bool opal_catalog_find(const char *full_name, size_t *index);

/* Brings `value` of a record up to date. `object`: what it is bound to, or NULL. */
OPAL_EXPORT void opal_catalog_look(size_t index, void *object);

/*
 * Writes a value, as a user would write it. OPAL_ERR_BAD_PARAM: it does not fit the type or the
 * limits. OPAL_ERR_NOT_SUPPORTED: nobody can write it. OPAL_ERR_BUSY: not while it is registered.
 */
OPAL_EXPORT opal_status_t opal_catalog_write(size_t index, void *object, const char *text);

#endif
