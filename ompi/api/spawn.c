/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter spawn: processes that join later, and leave again. */
#include <string.h>

#include "opal/process/port.h"
#include "ompi/api/bodies.h"
#include "ompi/dynamic/dynamic.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/runtime/params.h"

_Static_assert(OPAL_PORT_NAME_BYTES == MPI_MAX_PORT_NAME, "names of ports fit");

/* Spawning is not built yet, so no process has a parent. */
int ompi_api_comm_get_parent(ompi_communicator_t **parent)
{
    *parent = NULL;
    return MPI_SUCCESS;
}

/* The caller has no request left on the communicator. Bytes of completed sends may still be in this
 * process. */
int ompi_api_comm_disconnect(ompi_communicator_t **comm)
{
    if ((*comm)->head.destroy != NULL) {
        ompi_lock();
        ompi_pml->flush();
        ompi_unlock();
    }
    return ompi_api_comm_free(comm);
}

/* -- ports ----------------------------------------------------------------------------------- */

int ompi_api_open_port(ompi_info_t *info OPAL_UNUSED, char *port_name)
{
    opal_port_t *port;
    ompi_lock();
    opal_status_t status = opal_port_open(&port);
    if (status == OPAL_SUCCESS)
        strcpy(port_name, opal_port_name(port));
    ompi_unlock();
    return ompi_error_of_status(status);
}

int ompi_api_close_port(const char *port_name)
{
    ompi_lock();
    opal_port_t *port = opal_port_find(port_name);
    if (port != NULL)
        opal_port_close(port);
    ompi_unlock();
    if (port == NULL)
        return ompi_api_set_error_detail(MPI_ERR_PORT,
                                         "This process has not opened the port, or has closed it.");
    return MPI_SUCCESS;
}

/* -- meetings -------------------------------------------------------------------------------- */

static int meet(ompi_communicator_t *comm, int root, ompi_info_t *info, double preset,
                ompi_meeting_way_t way, ompi_communicator_t **newcomm)
{
    static _Thread_local char detail[OMPI_DYNAMIC_DETAIL_BYTES];
    if (ompi_comm_is_inter(comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is an intercommunicator.");
    /* A wrong value is no reason to leave the others alone. */
    if (comm->rank == root && !ompi_dynamic_timeout(info, preset, &way.timeout_nsec))
        way.timeout_nsec = (uint64_t)(preset * 1e9);
    int error = ompi_dynamic_meet(comm, root, &way, newcomm, detail);
    if (error == MPI_ERR_COMM)
        return ompi_api_set_error_detail(error, "The two sides have processes in common.");
    return detail[0] != 0 ? ompi_api_set_error_detail(error, detail)
                          : ompi_api_set_creation_error(error);
}

int ompi_api_comm_accept(const char *port_name, ompi_info_t *info, int root,
                         ompi_communicator_t *comm, ompi_communicator_t **newcomm)
{
    ompi_meeting_way_t way = {.kind = OMPI_MEETING_ACCEPT, .port = port_name};
    return meet(comm, root, info, 0, way, newcomm);
}

int ompi_api_comm_connect(const char *port_name, ompi_info_t *info, int root,
                          ompi_communicator_t *comm, ompi_communicator_t **newcomm)
{
    ompi_meeting_way_t way = {.kind = OMPI_MEETING_CONNECT, .port = port_name};
    return meet(comm, root, info, ompi_params_connect_timeout(), way, newcomm);
}

int ompi_api_comm_join(int fd, ompi_communicator_t **intercomm)
{
    ompi_meeting_way_t way = {.kind = OMPI_MEETING_JOIN, .fd = fd};
    return meet(&ompi_comm_self, 0, NULL, ompi_params_connect_timeout(), way, intercomm);
}
