/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters: a table row each, set from outside.
 *
 * A row names a variable; registering the row writes the variable: its default,
 * or what the user set. Later sources win over earlier ones:
 *
 *   default < system file < user file < environment < mpirun --mca < a tool (catalog.h)
 *
 * The full name is FRAMEWORK_COMPONENT_NAME ("pmi_wire_timeout"), with the parts
 * that are empty left out. In the environment it is OMPI_MCA_<full name>.
 *
 * Parsing is strict. A value that does not fit its type or its limits, and a
 * name that nothing registered, become diagnostics (diagnostic.h) that say
 * where the setting came from and what was probably meant.
 *
 * The same rows feed ompi_info, the documentation and the tool interface (catalog.h).
 *
 * Threading: one thread starts and ends the library. Tools look at parameters at any time from
 * other threads, so every function takes one lock, which may be nested (opal_param_lock).
 */
#ifndef OPAL_MCA_BASE_PARAM_H
#define OPAL_MCA_BASE_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/text.h"

/* A type says which C variable `value` points to and what a user may write. */
typedef enum opal_param_type {
    OPAL_PARAM_BOOL,     /* bool:           yes no true false on off 1 0 enable disable */
    OPAL_PARAM_INT,      /* int:            decimal, or 0x... */
    OPAL_PARAM_UNSIGNED, /* unsigned:       decimal, or 0x... */
    OPAL_PARAM_SIZE,     /* size_t:         bytes, or with K, M, G, T (1024), "64K", "64KiB" */
    OPAL_PARAM_DOUBLE,   /* double:         1.5, 2e-3; no inf, no nan */
    OPAL_PARAM_STRING,   /* const char *:   any text; NULL while unset */
    OPAL_PARAM_ENUM,     /* int:            one of the names in `choices` */
    OPAL_PARAM_LIST,     /* opal_strings_t: comma-separated */
    OPAL_PARAM_TYPE_COUNT
} opal_param_type_t;

typedef struct opal_param_choice {
    const char *name; /* NULL ends the array */
    int value;
} opal_param_choice_t;

/* Choices of a setting that is yes or no, or left to the library. */
enum { OPAL_PARAM_AUTO, OPAL_PARAM_YES, OPAL_PARAM_NO };
OPAL_EXPORT extern const opal_param_choice_t opal_param_auto_yes_no[];

/* When a tool may write a parameter. Its settings by files and the environment count at start only.
 */
typedef enum opal_param_write {
    OPAL_PARAM_AT_START,      /* before the library starts: then it is read once */
    OPAL_PARAM_NEVER,         /* it has been read when tools begin */
    OPAL_PARAM_ANYTIME,       /* each process for itself: it is read whenever it is used */
    OPAL_PARAM_ANYTIME_EQUAL, /* the same, but all processes need the same value */
} opal_param_write_t;

/* `preset` is required; for strings and lists NULL is legal and means unset. */
typedef struct opal_param_row {
    const char *name;                   /* last part of the full name; NULL ends the table */
    opal_param_type_t type;             /* */
    bool is_internal;                   /* no user needs it: for tests and measurements, or accepted
                                         * for scripts; ompi_info shows it with --internal only */
    void *value;                        /* the variable; strings in it belong to the base */
    const char *preset;                 /* the default as a user would write it; see below */
    const char *min, *max;              /* limits, as a user would write them; NULL: the type's */
    const char *unit;                   /* "ms", "bytes"; NULL: none */
    const opal_param_choice_t *choices; /* OPAL_PARAM_ENUM only */
    const char *synonyms;               /* deprecated full names of this parameter,
                                         * comma-separated; or NULL */
    void (*refresh)(void);              /* makes the row a read-out, see below; NULL: a setting */
    const char *variables;              /* environment variables of other projects that set it
                                         * too, comma-separated; the name of ours counts more */
    const char *prose;                  /* one line for a person */
    const char *deprecated;             /* makes the row a deprecated name, see below; NULL: none */
    const char *removed; /* makes the row a removed name, see below; NULL: a parameter */
    opal_param_write_t write;
    bool (*written)(
        void); /* ANYTIME only: called when a tool has written it while it is registered,
                * with the lock of parameters. False: the value makes no sense, and the
                * one before comes back, which is told, too. NULL: nothing to do */
} opal_param_row_t;

/*
 * A read-out shows what the library does: a counter, a level. It cannot be set. Its `refresh` is
 * called before it is looked at (opal_param_visit) and brings the variable up to date; several rows
 * may share one function. OPAL_PARAM_SIZE only, without preset and limits.
 */

/*
 * A name that is deprecated stays known for one release, so that the settings of a site do not
 * become typing errors:
 *
 *   renamed   in `synonyms` of the new row. A setting by the old name has its effect, and a warning
 *             tells the new name.
 *   replaced  a row of its own with `deprecated`, where the new parameter takes another kind of
 *             value. A setting has its effect, and a warning tells so, followed by the text of
 *             `deprecated`, which says what to set instead. The component that has the row carries
 *             the value over.
 *   removed   a row of the same table with `name` and `removed` alone. A setting has no effect, and
 *             a warning tells so, followed by the text of `removed`, which says what to do instead:
 *
 *                 {.name = "old_limit", .removed = "use coll_sm_max_bytes"},
 *
 * opal_param_visit passes over replaced and removed names.
 */

typedef enum opal_param_source {
    OPAL_PARAM_FROM_DEFAULT,
    OPAL_PARAM_FROM_SYSTEM_FILE,
    OPAL_PARAM_FROM_USER_FILE,
    OPAL_PARAM_FROM_ENVIRONMENT,
    OPAL_PARAM_FROM_COMMAND_LINE, /* mpirun --mca */
    OPAL_PARAM_FROM_TOOL,         /* outlasts opal_param_fini */
    OPAL_PARAM_SOURCE_COUNT
} opal_param_source_t;

/* What a registered parameter is now; for ompi_info. Strings live until the row is withdrawn. */
typedef struct opal_param_info {
    const char *full_name;
    const char *framework, *component; /* "" when the parameter belongs to none */
    const opal_param_row_t *row;
    opal_param_source_t source;
    const char *origin;     /* "default", "environment", "mpirun --mca", "/etc/x.conf:12"; of a
                             * read-out: "read-out" */
    const char *value_text; /* as the user wrote it, or the default; "" while unset; of a read-out:
                             * its value now */
    const char *synonym_used; /* the deprecated name that set it, or NULL */
} opal_param_info_t;

/*
 * Reads the files and the environment. Call before anything else of this header;
 * calls nest, each needs its opal_param_fini(). Files that cannot be parsed become
 * diagnostics; the lines that can be are used.
 */
OPAL_EXPORT void opal_param_init(void);
OPAL_EXPORT void opal_param_fini(void);

/*
 * Adds a table. `framework` and `component` may be "". The table and what its
 * `value` point to stay valid until it is withdrawn. Registering the same table
 * again does nothing: it does not nest, one withdrawal undoes both. OPAL_ERR_BAD_PARAM: at least
 * one setting was refused; its variable holds the default and a diagnostic says why.
 */
OPAL_EXPORT opal_status_t opal_param_register(const char *framework, const char *component,
                                              const opal_param_row_t *table);

/*
 * For what runs before main: sets the variables of a table's rows by their defaults and the
 * environment, with the same parser, but without the registry, files, findings and allocation; a
 * value that does not fit counts as not set. Not for strings and lists. Does nothing for a table
 * that is registered. May be called before opal_param_init.
 */
OPAL_EXPORT void opal_param_read_early(const char *framework, const opal_param_row_t *table);

/* Takes the table out, before a DSO that holds it is unloaded. */
OPAL_EXPORT void opal_param_withdraw(const opal_param_row_t *table);

/*
 * What the user set for a full name, before or without its being registered;
 * NULL if nothing. `origin` (may be NULL) becomes where it came from.
 */
OPAL_EXPORT const char *opal_param_setting(const char *full_name, const char **origin);

/* Calls visit for every registered parameter, in order of framework, component and name. */
typedef void opal_param_visit_fn_t(const opal_param_info_t *info, void *context);
OPAL_EXPORT void opal_param_visit(opal_param_visit_fn_t *visit, void *context);

/*
 * Settings that no registered parameter took become diagnostics with the nearest
 * name; those of other MPIs together become one note (foreign.h), and do not count. `is_foreign`
 * (may be NULL) recognizes names of others. Call when every component that will
 * be opened is. Returns how many there were.
 */
typedef bool opal_param_foreign_fn_t(const char *full_name);
OPAL_EXPORT size_t opal_param_diagnose_unknown(opal_param_foreign_fn_t *is_foreign);

/* Holds the lock of parameters over several calls. A thread may nest it. */
OPAL_EXPORT void opal_param_lock(void);
OPAL_EXPORT void opal_param_unlock(void);

/* For opal/mca/base/catalog.c: what is told of every parameter that is registered, once it has its
 * value, and before it is withdrawn. With the lock; replaced and removed names are left out. */
typedef struct opal_param_watcher {
    void (*added)(const opal_param_info_t *info);
    void (*leaving)(const opal_param_info_t *info);
} opal_param_watcher_t;

void opal_param_watch(const opal_param_watcher_t *watcher);

/* For opal/mca/base/catalog.c: a setting that is stronger than all others. If a parameter of the
 * name is registered, its variable is written, too; false: the text does not fit, and nothing has
 * changed. */
bool opal_param_write(const char *full_name, const char *text);

/* "bool", "int", ... */
OPAL_EXPORT const char *opal_param_type_name(opal_param_type_t type);

#endif
