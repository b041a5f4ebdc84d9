/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that ranks of all jobs of this mpirun have published, each with the abstract socket by
 * which this user's other mpiruns find it (opal/mca/pmi/base/names.h). A name lives until it is
 * unpublished or mpirun ends. One thread, around a loop.
 */
#ifndef MPIRUN_NAMES_H
#define MPIRUN_NAMES_H

#include <stdbool.h>

#include "tools/mpirun/loop.h"

typedef struct names names_t;

names_t *names_create(loop_t *loop);
void names_destroy(names_t *names);

/* Returns NULL, or a word that says why not: "exists_already", "refused_...". */
const char *names_publish(names_t *names, const char *service, const char *port);

/* The port; NULL: no rank of this mpirun has published that name. */
const char *names_lookup(const names_t *names, const char *service);

/* False: as names_lookup. */
bool names_unpublish(names_t *names, const char *service);

/* Frees what was unpublished; to be called between two turns of the loop. */
void names_sweep(names_t *names);

#endif
