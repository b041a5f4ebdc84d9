/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank asks a PMI-1 launcher for beyond its own job: a further job, and names. For the
 * components that have a connection to one; the operations are those of pmi.h. The caller holds the
 * connection's lock.
 */
#ifndef OPAL_MCA_PMI_REQUEST_H
#define OPAL_MCA_PMI_REQUEST_H

#include <stdbool.h>

#include "opal/mca/pmi/base/connection.h"
#include "opal/mca/pmi/pmi.h"

/* The key under which a spawned job finds the port of its parents; MPICH's. */
#define OPAL_PMI_PARENT_KEY "PARENT_ROOT_PORT_NAME"

/* A connection to a launcher. `is_mpirun`: it is ours, which understands more. */
typedef struct opal_pmi_launcher {
    opal_pmi_connection_t *connection;
    bool is_mpirun;
} opal_pmi_launcher_t;

OPAL_EXPORT opal_status_t opal_pmi_request_spawn(const opal_pmi_launcher_t *launcher,
                                                 const opal_pmi_program_t programs[], size_t count,
                                                 const char *parent_port, opal_status_t errors[]);
/* Only of our mpirun. */
OPAL_EXPORT opal_status_t opal_pmi_request_trouble(const opal_pmi_launcher_t *launcher,
                                                   const char *parent_port, char **text);
OPAL_EXPORT opal_status_t opal_pmi_request_publish(const opal_pmi_launcher_t *launcher,
                                                   const char *service, const char *port);
OPAL_EXPORT opal_status_t opal_pmi_request_unpublish(const opal_pmi_launcher_t *launcher,
                                                     const char *service);
OPAL_EXPORT opal_status_t opal_pmi_request_lookup(const opal_pmi_launcher_t *launcher,
                                                  const char *service, char **port);

#endif
