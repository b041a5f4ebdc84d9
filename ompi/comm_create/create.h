/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making communicators.
 *
 * Functions return an MPI error code or one of context_id_agree.h. *result is written on success;
 * NULL stands for MPI_COMM_NULL: this process is not a member of the new communicator.
 *
 * Threading: the functions take the message lock themselves, and release it while they wait. No
 * lock is held while attributes are copied.
 */
#ifndef OMPI_COMM_CREATE_H
#define OMPI_COMM_CREATE_H

#include "ompi/communicator/communicator.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/info/info.h"
#include "ompi/request/request.h"

struct ompi_side;
struct ompi_topology;

/* The hints are those of comm or, with `has_info`, those of info (may be NULL). */
int ompi_comm_dup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                  ompi_communicator_t **result);
int ompi_comm_idup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                   ompi_communicator_t **result, ompi_request_t **request);

/* `resource` is a constant, or NULL. */
int ompi_comm_split(ompi_communicator_t *comm, int color, int key, const char *resource,
                    ompi_communicator_t **result);

/* MPI_Comm_create: collective over comm. */
int ompi_comm_create_of(ompi_communicator_t *comm, ompi_group_t *group,
                        ompi_communicator_t **result);

/* Collective over comm, an intracommunicator. The new communicator takes the reference to the
 * topology; NULL: the caller had no memory for it. All processes of comm give the same `alike`.
 * Processes that are in no group give NULL as group. */
int ompi_comm_create_with(ompi_communicator_t *comm, ompi_group_t *group,
                          struct ompi_topology *topology, uint64_t alike,
                          ompi_communicator_t **result);

/* Collective over the group. */
int ompi_comm_create_group(ompi_communicator_t *comm, ompi_group_t *group, int tag,
                           ompi_communicator_t **result);
int ompi_comm_create_from_group(ompi_group_t *group, const char *stringtag, ompi_info_t *info,
                                ompi_errhandler_t *errhandler, ompi_communicator_t **result);

/* In inter.c. Only the leader reads peer_comm and remote_leader. */
int ompi_intercomm_create(ompi_communicator_t *comm, int leader, ompi_communicator_t *peer_comm,
                          int remote_leader, int tag, ompi_communicator_t **result);

/* Of sides whose processes know each other already, also of two jobs. Both leaders give the same
 * number, which no other creation between them has meanwhile. remote NULL: no memory; fault: an
 * error of this process. Both become an error of all processes. */
int ompi_intercomm_create_between(const struct ompi_side *side, int leader, ompi_group_t *remote,
                                  int remote_leader, uint64_t number, int fault,
                                  ompi_communicator_t **result);

int ompi_intercomm_create_from_groups(ompi_group_t *group, int leader, ompi_group_t *remote_group,
                                      int remote_leader, const char *stringtag, ompi_info_t *info,
                                      ompi_errhandler_t *errhandler, ompi_communicator_t **result);
int ompi_intercomm_merge(ompi_communicator_t *comm, bool high, ompi_communicator_t **result);

/* Returns when all processes of comm have called it, or when some have failed, or have left through
 * MPI_Finalize, which says that they need comm no more. Collective. */
void ompi_comm_meet(ompi_communicator_t *comm);

#endif
