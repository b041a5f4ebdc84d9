/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of pmi/pmix share: this client of the server, what it asks for, and facts. */
#ifndef OPAL_MCA_PMI_PMIX_H
#define OPAL_MCA_PMI_PMIX_H

#include <pmix.h>

#include "opal/mca/pmi/pmi.h"

typedef struct client {
    pmix_proc_t me;
    unsigned size;
    unsigned *node_of; /* malloc'ed */
    char *parent_port; /* the same; NULL: no process spawned this job */
} client_t;

/* Gets a value of the job (PMIX_RANK_WILDCARD) or of a rank, without waiting for other ranks. */
pmix_status_t client_get_now(const client_t *self, pmix_rank_t rank, const char *key,
                             pmix_value_t **value);

/*
 * What the server knows of the job (PMIX_RANK_WILDCARD) or of a rank, without waiting for other
 * ranks: a number of any type. False: it does not know it.
 */
bool client_fact(const client_t *self, pmix_rank_t rank, const char *key, unsigned *number);

/* Fills job->node_of, node_count and what is counted from them. A failure has been logged. */
opal_status_t client_learn_nodes(client_t *self, opal_pmi_job_t *job);

/* Asks the server one question, with one qualifier or NULL. The answers, which may be NULL, are the
 * caller's. */
pmix_status_t client_ask(const char *question, const char *qualifier, const char *name,
                         pmix_info_t **answers, size_t *count);
/* The answer to it; NULL: there is none. */
const pmix_value_t *client_answer(const pmix_info_t *answers, size_t count, const char *question);

/* The jobs that were spawned here. */
void client_remember_child(const char *parent_port, const pmix_nspace_t name);
void client_forget_children(void);
opal_status_t client_spawn_trouble(void *state, const char *parent_port, char **text);

/* Slots of opal_pmi_ops_t. */
opal_status_t client_pset_names(void *state, opal_strings_t *names);
opal_status_t client_pset_ranks(void *state, const char *name, unsigned **ranks, size_t *count);

/* Fills job->parent_port. */
void client_learn_parents(client_t *self, opal_pmi_job_t *job);

/* As in pmi.h. */
opal_status_t client_spawn(void *state, const opal_pmi_program_t programs[], size_t count,
                           const char *parent_port, opal_status_t errors[]);
opal_status_t client_publish(void *state, const char *service, const char *port);
opal_status_t client_lookup(void *state, const char *service, char **port);
opal_status_t client_unpublish(void *state, const char *service);
bool client_keeps_names(void *state);

#endif
