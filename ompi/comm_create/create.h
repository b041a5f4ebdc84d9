/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making communicators.
 *
 * Functions return an MPI error code or one of agree.h; *result is written on success. NULL
 * in it is MPI_COMM_NULL: this process is in none of what was made.
 *
 * Threading: the functions take the message lock themselves, and give it back while they wait. No
 * lock is held while attributes are copied.
 */
#ifndef OMPI_COMM_CREATE_H
#define OMPI_COMM_CREATE_H

#include "ompi/communicator/communicator.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/info/info.h"
#include "ompi/request/request.h"

struct ompi_topology;

/* Hints are those of comm, or, with `has_info`, of info (may be NULL). */
int ompi_comm_dup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                  ompi_communicator_t **result);
int ompi_comm_idup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                   ompi_communicator_t **result, ompi_request_t **request);

/* `resource` is a constant, or NULL. */
int ompi_comm_split(ompi_communicator_t *comm, int color, int key, const char *resource,
                    ompi_communicator_t **result);

/* Collective over comm. */
int ompi_comm_create_of(ompi_communicator_t *comm, ompi_group_t *group,
                        ompi_communicator_t **result);

/* Likewise, of an intracommunicator, with a topology, to which it takes the reference; NULL: no
 * memory for it. All of comm give the same `alike`. Processes of comm that are in no group give
 * NULL as group. */
int ompi_comm_create_with(ompi_communicator_t *comm, ompi_group_t *group,
                          struct ompi_topology *topology, uint64_t alike,
                          ompi_communicator_t **result);

/* Collective over the group. */
int ompi_comm_create_group(ompi_communicator_t *comm, ompi_group_t *group, int tag,
                           ompi_communicator_t **result);
int ompi_comm_create_from_group(ompi_group_t *group, const char *stringtag, ompi_info_t *info,
                                ompi_errhandler_t *errhandler, ompi_communicator_t **result);

/* inter.c. peer_comm and remote_leader are read by the leader. */
int ompi_intercomm_create(ompi_communicator_t *comm, int leader, ompi_communicator_t *peer_comm,
                          int remote_leader, int tag, ompi_communicator_t **result);
int ompi_intercomm_create_from_groups(ompi_group_t *group, int leader, ompi_group_t *remote_group,
                                      int remote_leader, const char *stringtag, ompi_info_t *info,
                                      ompi_errhandler_t *errhandler, ompi_communicator_t **result);
int ompi_intercomm_merge(ompi_communicator_t *comm, bool high, ompi_communicator_t **result);

#endif
