/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parents and children. The root of the parents opens a port, whose name the launcher hands to the
 * new job; its processes connect in MPI_Init, while the parents accept. See dynamic.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/process/port.h"
#include "ompi/comm_create/exchange.h"
#include "ompi/dynamic/dynamic.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/request/request.h"

enum { MOST_PROCESSES = 1 << 20 }; /* of one spawn; each has a status and an error code */

/* What the root tells its side about the start. */
typedef struct start {
    int error;
    uint32_t asked; /* processes, each with an error code */
    uint32_t started;
    char detail[OMPI_DYNAMIC_DETAIL_BYTES];
} start_t;

static void set_error(start_t *start, int error, const char *detail)
{
    start->error = error;
    snprintf(start->detail, sizeof start->detail, "%s", detail);
}

/* The numbers are the program's, and their sum may exceed 32 bits. */
static uint64_t count_asked(const ompi_spawn_t *spawn)
{
    uint64_t asked = 0;
    for (size_t i = 0; i < spawn->count; i++)
        asked += spawn->programs[i].max_processes;
    return asked;
}

static opal_status_t open_port(opal_port_t **port)
{
    ompi_lock();
    opal_status_t status = opal_port_open(port);
    ompi_unlock();
    return status;
}

static void close_port(opal_port_t **port)
{
    ompi_lock();
    if (*port != NULL)
        opal_port_close(*port);
    *port = NULL;
    ompi_unlock();
}

/* Opens the port and starts the job, which takes its time. On success *port is open. `*statuses`:
 * one for each process that was asked for, malloc'ed; NULL: the launcher was not asked. */
static void start_job(start_t *start, const ompi_spawn_t *spawn, opal_port_t **port,
                      opal_status_t **statuses)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (spawn->error != MPI_SUCCESS) {
        set_error(start, spawn->error, spawn->detail);
        return;
    }
    if (pmi->spawn == NULL) {
        set_error(start, MPI_ERR_UNSUPPORTED_OPERATION,
                  "The launcher of this job starts no further processes; mpirun of Mica does.");
        return;
    }
    if (count_asked(spawn) > MOST_PROCESSES) {
        set_error(start, MPI_ERR_SPAWN, "No launcher starts that many processes.");
        return;
    }
    start->asked = (uint32_t)count_asked(spawn);
    *statuses = calloc((size_t)start->asked + 1, sizeof **statuses);
    if (*statuses == NULL || open_port(port) != OPAL_SUCCESS) {
        set_error(start, MPI_ERR_SPAWN, "There is no port for the new processes.");
        return;
    }
    opal_status_t status =
        pmi->spawn(state, spawn->programs, spawn->count, opal_port_name(*port), *statuses);
    for (uint32_t i = 0; i < start->asked && status == OPAL_SUCCESS; i++)
        start->started += (*statuses)[i] == OPAL_SUCCESS;
    if (status == OPAL_SUCCESS)
        return;
    close_port(port);
    set_error(start, MPI_ERR_SPAWN,
              "The processes could not be started; the launcher has said why.");
}

/* All parents get the error codes, in pages of a fixed size. codes NULL: MPI_ERRCODES_IGNORE.
 * Returns the error of a message. */
static int share_codes(const ompi_side_t *side, int root, const start_t *start,
                       const opal_status_t *statuses, int codes[])
{
    enum { PAGE = 256 };
    int page[PAGE] = {0}, error = MPI_SUCCESS;
    for (uint32_t first = 0; first < start->asked && error == MPI_SUCCESS; first += PAGE) {
        uint32_t count = start->asked - first < PAGE ? start->asked - first : PAGE;
        for (uint32_t i = 0; i < count && side->index == root; i++) {
            bool is_good = statuses != NULL && statuses[first + i] == OPAL_SUCCESS;
            page[i] = is_good ? MPI_SUCCESS : MPI_ERR_SPAWN;
        }
        error = ompi_side_broadcast(side, root, page, sizeof page);
        if (codes != NULL && error == MPI_SUCCESS)
            memcpy(codes + first, page, count * sizeof page[0]);
    }
    return error;
}

/* A child that ends before MPI_Init never connects. */
static bool is_unreachable(const char *port, char detail[OMPI_DYNAMIC_DETAIL_BYTES])
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    char *text;
    if (pmi->spawn_trouble == NULL || pmi->spawn_trouble(state, port, &text) != OPAL_SUCCESS)
        return false;
    snprintf(detail, OMPI_DYNAMIC_DETAIL_BYTES, "The new processes do not connect: %s.", text);
    free(text);
    return true;
}

int ompi_dynamic_spawn(ompi_communicator_t *comm, int root, const ompi_spawn_t *spawn, int codes[],
                       ompi_communicator_t **result, char detail[OMPI_DYNAMIC_DETAIL_BYTES])
{
    start_t start = {0};
    opal_port_t *port = NULL;
    opal_status_t *statuses = NULL;
    *result = NULL;
    detail[0] = 0;
    if (comm->rank == root)
        start_job(&start, spawn, &port, &statuses);
    ompi_lock();
    ompi_side_t side = ompi_side_of(comm, ompi_exchange_next_tag(comm));
    int error = ompi_side_broadcast(&side, root, &start, sizeof start);
    if (error == MPI_SUCCESS)
        error = share_codes(&side, root, &start, statuses, codes);
    ompi_unlock();
    free(statuses);
    if (error == MPI_SUCCESS && start.error != MPI_SUCCESS) {
        memcpy(detail, start.detail, sizeof start.detail);
        error = start.error;
    } else if (error == MPI_SUCCESS && start.started > 0) {
        uint64_t timeout_nsec = comm->rank == root ? spawn->timeout_nsec : 0;
        ompi_meeting_way_t way = {.kind = OMPI_MEETING_ACCEPT,
                                  .port = port != NULL ? opal_port_name(port) : NULL,
                                  .timeout_nsec = timeout_nsec,
                                  .answer_timeout_nsec = timeout_nsec,
                                  .is_unreachable = is_unreachable};
        error = ompi_dynamic_meet(comm, root, &way, result, detail);
        for (uint32_t i = 0; error != MPI_SUCCESS && codes != NULL && i < start.asked; i++)
            codes[i] = MPI_ERR_SPAWN;
    }
    close_port(&port);
    return error;
}

/* -- the parents of this process ------------------------------------------------------------- */

static ompi_communicator_t *parent; /* the message lock */

int ompi_dynamic_connect_parent(const char *port, uint64_t timeout_nsec,
                                char detail[OMPI_DYNAMIC_DETAIL_BYTES])
{
    ompi_communicator_t *made = NULL;
    ompi_meeting_way_t way = {.kind = OMPI_MEETING_CONNECT,
                              .port = port,
                              .timeout_nsec = timeout_nsec,
                              .answer_timeout_nsec = timeout_nsec};
    int error = ompi_dynamic_meet(&ompi_comm_world, 0, &way, &made, detail);
    if (error == MPI_SUCCESS) {
        ompi_comm_set_name(made, "MPI_COMM_PARENT");
        parent = made;
    }
    return error;
}

ompi_communicator_t *ompi_dynamic_parent(void)
{
    ompi_lock();
    ompi_communicator_t *found = parent;
    ompi_unlock();
    return found;
}

void ompi_dynamic_forget_parent(const ompi_communicator_t *comm)
{
    ompi_lock();
    if (comm == NULL || parent == comm)
        parent = NULL;
    ompi_unlock();
}
