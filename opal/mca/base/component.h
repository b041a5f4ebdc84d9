/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component, seen from outside: the one symbol that it exports.
 *
 *   const opal_component_t mca_pmi_wire_component = { ... };
 *
 * A component is a folder <project>/mca/<framework>/<name>/ and becomes part of
 * its library or a DSO (mca_<framework>_<name>.so) by configure's decision; its
 * source is the same in both cases. Its framework's header (opal/mca/pmi/pmi.h) is
 * the contract of its operations. This header is the contract of how it is found,
 * set up and chosen. In order:
 *
 *   params    its rows are registered: its variables hold the user's values
 *   open      once; acquires what query needs, and may read its parameters. A
 *             parameter whose setting was refused holds its default: the run fails
 *             when all mistakes were reported. If open fails, the run goes on without
 *             the component, with the status as the reason
 *   query     answers "can I run here, how well, and if not, why"
 *   ops       called as the framework's header says, if it was chosen
 *   close     once, if open succeeded or is NULL; releases everything
 *
 * All calls come from one thread. A component may be opened again after close.
 */
#ifndef OPAL_MCA_BASE_COMPONENT_H
#define OPAL_MCA_BASE_COMPONENT_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/base/param.h"

enum {
    OPAL_COMPONENT_ABI = 7, /* goes up when this header or a framework's changes */
    OPAL_REASON_MAX_BYTES = 256,
    OPAL_PRIORITY_MAX = 100,
};

/* Filled in by query. All zero on entry. */
typedef struct opal_answer {
    bool usable;     /* false: `reason` must say why not */
    int priority;    /* 0 to OPAL_PRIORITY_MAX, or it is skipped; the highest is taken */
    const void *ops; /* the framework's operation table; required when usable */
    void *state;     /* handed to the operations; may be NULL */
    char reason[OPAL_REASON_MAX_BYTES]; /* one phrase: "PMI_FD is not set" */
    opal_strings_t notes; /* a line about each thing that query has looked at; freed by the base */
} opal_answer_t;

/* Set `usable` and the reason, a phrase for a person. */
OPAL_EXPORT void opal_answer_yes(opal_answer_t *answer, int priority, const void *ops, void *state,
                                 const char *reason, ...) OPAL_PRINTF(5, 6);
OPAL_EXPORT void opal_answer_no(opal_answer_t *answer, const char *reason, ...) OPAL_PRINTF(2, 3);

/*
 * A gate: whether a component may be of use in this process, as far as a cheap test shows (the
 * environment, a file). For a component whose DSO needs a library that other runs should not load.
 * Its folder has a gate.c with
 *
 *   opal_gate_fn_t mca_pmi_pmix_gate;
 *
 * which is part of the library even if the component is a DSO. If the gate answers no, the
 * component is neither loaded nor opened, and has the gate's reason. If it answers yes (any
 * priority, no operations), the component's query is called as usual.
 */
typedef void opal_gate_fn_t(opal_answer_t *answer);

/* Adds a line to the notes, before or after it answers. */
OPAL_EXPORT void opal_answer_note(opal_answer_t *answer, const char *format, ...) OPAL_PRINTF(2, 3);

/* Gets a rule: from so many bytes on, a message from memory of this kind goes this way.
 * `parameter`: the full name of the one that sets these bytes; NULL: none does. */
typedef void opal_rule_fn_t(void *context, const char *where, size_t bytes, const char *way,
                            const char *parameter);

/* The `where` of memory that is in the node's region. */
#define OPAL_RULE_SHARED_HEAP "from the shared heap"

typedef struct opal_component {
    int abi;                        /* OPAL_COMPONENT_ABI */
    const void *base;               /* &opal_component_base: refuses a second copy of libopen-pal */
    const char *framework;          /* "pmi" */
    const char *name;               /* "wire" */
    const char *prose;              /* one line for a person */
    const opal_param_row_t *params; /* ends with a row of zeros; NULL: none */
    const struct opal_pvar_row *pvars;    /* what it counts (pvar.h); likewise */
    const struct opal_bound_row *bound;   /* settings of one object (bound.h); likewise */
    opal_status_t (*open)(void);          /* NULL: nothing to do */
    void (*query)(opal_answer_t *answer); /* required */
    void (*close)(void);                  /* NULL: nothing to do */
    /* How it moves messages with these settings, by kind of memory and size; NULL: no rules. Called
       behind open, whether the component was chosen or not. */
    void (*rules)(opal_rule_fn_t *say, void *context);
} opal_component_t;

/*
 * Its address is in every component. A DSO that was linked to another copy of
 * libopen-pal (a program with the static library has its own) carries another
 * address, and is refused instead of running on a second set of variables.
 */
OPAL_EXPORT extern const char opal_component_base;

/* The fixed head of every descriptor. */
#define OPAL_COMPONENT_HEAD(framework_name, component_name)                                        \
    .abi = OPAL_COMPONENT_ABI, .base = &opal_component_base, .framework = #framework_name,         \
    .name = #component_name

#endif
