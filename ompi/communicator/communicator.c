/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined communicators, and names. */
#include "ompi/communicator/communicator.h"

#include <pthread.h>
#include <string.h>

#include "ompi/errhandler/errhandler.h"
#include "ompi/object/handle.h"

ompi_communicator_t ompi_comm_world = {.head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, MPI_COMM_WORLD)};
ompi_communicator_t ompi_comm_self = {.head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, MPI_COMM_SELF)};

enum { WORLD_CONTEXT, SELF_CONTEXT };

static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

static void start(ompi_communicator_t *comm, int rank, int size, ompi_group_t *group,
                  const char *name, ompi_errhandler_t *errhandler)
{
    comm->context = comm == &ompi_comm_world ? WORLD_CONTEXT : SELF_CONTEXT;
    comm->rank = rank;
    comm->size = size;
    comm->group = group;
    comm->local = comm;
    ompi_comm_set_name(comm, name);
    ompi_errhandler_attach(&comm->head, errhandler);
    ompi_handle_define(&comm->head);
}

void ompi_comm_init(int rank, int size, ompi_errhandler_t *errhandler)
{
    ompi_group_init(rank, size);
    start(&ompi_comm_world, rank, size, &ompi_group_world, "MPI_COMM_WORLD", errhandler);
    start(&ompi_comm_self, 0, 1, &ompi_group_self, "MPI_COMM_SELF", errhandler);
}

static void stop(ompi_communicator_t *comm)
{
    ompi_handle_undefine(&comm->head);
    ompi_errhandler_detach(&comm->head);
}

void ompi_comm_fini(void)
{
    stop(&ompi_comm_self);
    stop(&ompi_comm_world);
    ompi_group_fini();
}

void ompi_comm_set_name(ompi_communicator_t *comm, const char *name)
{
    size_t length = strnlen(name, sizeof comm->name - 1);
    pthread_mutex_lock(&name_lock);
    memcpy(comm->name, name, length);
    comm->name[length] = 0;
    pthread_mutex_unlock(&name_lock);
}

void ompi_comm_get_name(const ompi_communicator_t *comm, char name[MPI_MAX_OBJECT_NAME])
{
    pthread_mutex_lock(&name_lock);
    strcpy(name, comm->name);
    pthread_mutex_unlock(&name_lock);
}
