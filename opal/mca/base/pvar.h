/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance variables: what the library counts and measures, for the tool interface and
 * ompi_info.
 *
 * A component lists its variables in a table, a row each: {name, class, unit, prose, and where the
 * value is}. The value is a counter of the component, or what a function finds out. Counting has to
 * cost next to nothing, or stops while there is no demand for it (opal/util/counter.h). The full
 * name is FRAMEWORK_COMPONENT_NAME, as of parameters.
 *
 * The registry never forgets a variable: its index and its row stay. While the DSO that has the row
 * is not loaded, the value is the last one.
 *
 * Threading: any thread, under the lock of parameters. `read` may be called by any thread, at any
 * time, also before the component was opened and after it was closed, and takes no lock that is
 * held while parameters are registered.
 */
#ifndef OPAL_MCA_BASE_PVAR_H
#define OPAL_MCA_BASE_PVAR_H

#include "opal/include/compiler.h"
#include "opal/mca/base/param.h"
#include "opal/util/counter.h"

/* What a value means, as the standard has it. */
typedef enum opal_pvar_class {
    OPAL_PVAR_STATE = 1,     /* one of `choices` */
    OPAL_PVAR_LEVEL,         /* how much is used now */
    OPAL_PVAR_SIZE,          /* how much there is, fixed */
    OPAL_PVAR_PERCENTAGE,    /* how much of it is used now, in millionths */
    OPAL_PVAR_HIGHWATERMARK, /* the most since `read` was called last; each call begins again */
    OPAL_PVAR_LOWWATERMARK,  /* the least, likewise */
    OPAL_PVAR_COUNTER,       /* how often something happened */
    OPAL_PVAR_AGGREGATE,     /* a sum of values */
    OPAL_PVAR_TIMER,         /* nanoseconds */
    OPAL_PVAR_GENERIC,
} opal_pvar_class_t;

/* What a variable is bound to: `read` gets that object of ompi. */
typedef enum opal_pvar_bind {
    OPAL_PVAR_OF_PROCESS,
    OPAL_PVAR_OF_COMM,
    OPAL_PVAR_OF_WIN,
} opal_pvar_bind_t;

typedef struct opal_pvar_row opal_pvar_row_t;
typedef uint64_t opal_pvar_read_fn_t(const opal_pvar_row_t *row, void *object);

struct opal_pvar_row {
    const char *name;            /* last part of the full name; NULL ends the table */
    opal_pvar_class_t class;     /* */
    opal_pvar_bind_t bind;       /* */
    const char *unit;            /* "bytes"; NULL: none */
    const opal_counter_t *value; /* NULL: `read` finds it out */
    opal_pvar_read_fn_t *read;   /* */
    int which;                   /* for `read` */
    opal_demand_t *demand;       /* for what is counted or measured only while a handle of the
                                  * variable is started; rows may share one. NULL: always */
    const opal_param_choice_t *choices; /* of OPAL_PVAR_STATE */
    const char *prose;                  /* one line for a person */
};

/* A variable that was registered. The strings never change. */
typedef struct opal_pvar {
    const char *full_name, *framework, *component;
    opal_pvar_row_t row;         /* a copy, without what is in a DSO */
    const opal_pvar_row_t *live; /* NULL: its DSO is not loaded */
    uint64_t last;               /* the value then */
    unsigned started;            /* handles that have been started */
} opal_pvar_t;

/* Adds a table (NULL: does nothing). Repeated calls for the same table do nothing. The names live
 * as long as the table is registered. */
OPAL_EXPORT void opal_pvar_register(const char *framework, const char *component,
                                    const opal_pvar_row_t *rows);

/* Before the DSO that has the table is unloaded. */
OPAL_EXPORT void opal_pvar_withdraw(const opal_pvar_row_t *rows);

OPAL_EXPORT size_t opal_pvar_count(void);

/* The variable of an index below the count; it is never freed. */
OPAL_EXPORT const opal_pvar_t *opal_pvar_at(size_t index);

/* False: there is none of this name and class. */
OPAL_EXPORT bool opal_pvar_find(const char *full_name, opal_pvar_class_t class, size_t *index);

/* The value now. `object`: what the variable is bound to, or NULL. */
OPAL_EXPORT uint64_t opal_pvar_read(size_t index, void *object);

/* "counter", "level", ... */
OPAL_EXPORT const char *opal_pvar_class_name(opal_pvar_class_t class);

/* A handle of the variable is started, or stopped. */
OPAL_EXPORT void opal_pvar_use(size_t index, bool wanted);

/* A profile records what the variable counts on demand, and does not need its counts. */
OPAL_EXPORT void opal_pvar_set_profiled(size_t index, bool is_profiled);

#endif
