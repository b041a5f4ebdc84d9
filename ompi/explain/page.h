/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process has chosen, as facts of a sheet. Each fact is asked of the code that chooses:
 * candidates of frameworks, rules of components, the pml's description of its paths, and the
 * algorithms that components of coll name for calls of MPI_COMM_WORLD.
 *
 * Threading: called by one thread, in MPI_Init, when MPI_COMM_WORLD has had a collective.
 */
#ifndef OMPI_EXPLAIN_PAGE_H
#define OMPI_EXPLAIN_PAGE_H

#include "ompi/explain/sheet.h"
#include "ompi/mca/coll/kind.h"

/* Job, components, transports, protocols, collectives, waits, memory. */
void ompi_page_choices(opal_text_t *facts, const char *thread_level);

/* What was not chosen and why, and what the user has set. */
void ompi_page_reasons(opal_text_t *facts);

/* The name of the transport to a rank of the job, to be freed: "sm"; of a network that matches
 * messages "network". */
char *ompi_page_transport(unsigned rank);

/* Adds a candidate's reason without what differs in every process: its rank, an address. */
void ompi_page_reason(opal_text_t *text, const char *reason);

/* Adds "sm packed, 4097+ in place": how a call of MPI_COMM_WORLD is carried out, by bytes. */
void ompi_page_collective(opal_text_t *text, ompi_coll_kind_t kind);

#endif
