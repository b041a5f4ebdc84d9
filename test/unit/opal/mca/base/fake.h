/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A project for the tests of the component base: one framework "fake" with the
 * static components alpha, beta and gamma, which do what a test tells them and
 * count what is done to them.
 */
#ifndef OPAL_UNIT_FAKE_H
#define OPAL_UNIT_FAKE_H

#include "opal/mca/base/framework.h"

typedef struct fake_ops {
    int (*work)(void); /* required */
    int (*rest)(void); /* optional */
} fake_ops_t;

/* What a component answers, and how often it was asked. */
typedef struct fake {
    opal_status_t open_status;
    bool usable, mute; /* mute: it gives no reason */
    int priority;
    const fake_ops_t *ops;
    int level; /* its parameter, fake_<name>_level */
    unsigned opened, queried, closed;
} fake_t;

extern fake_t fake_alpha, fake_beta, fake_gamma;
extern bool fake_gate_is_shut; /* that of gamma, which the others have not */
extern const fake_ops_t fake_full, fake_minimal, fake_incomplete;
extern opal_framework_t fake_framework;

/*
 * Makes the project known and the parameters ready, with an environment that sets nothing. All
 * three can be opened and used, at priorities 10, 30, 20.
 */
void fake_setup(void);

/* OMPI_MCA_<name>=value, before fake_setup() has read the environment: starts that anew. */
void fake_set(const char *name, const char *value);

/* "alpha:open beta:excluded gamma:open", in the framework's order. Never freed. */
const char *fake_states(void);

/* Closes everything and checks that no component was closed more or less often than opened. */
void fake_end(void);

#endif
