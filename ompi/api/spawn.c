/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter spawn: processes that join later, and leave again. */
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/process/port.h"
#include "ompi/api/bodies.h"
#include "ompi/comm_create/create.h"
#include "ompi/dynamic/dynamic.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/runtime/params.h"

_Static_assert(OPAL_PORT_NAME_BYTES == MPI_MAX_PORT_NAME, "names of ports fit");

/* -- leaving --------------------------------------------------------------------------------- */

/* The caller waits for its requests itself, but cannot for those that it has freed. Bytes of
 * completed sends may still be in this process. A process that forgets another one ends the
 * connection, so of several jobs no process goes on before all are here. */
int ompi_api_comm_disconnect(ompi_communicator_t **comm)
{
    if ((*comm)->head.destroy != NULL) {
        ompi_lock();
        ompi_request_wait_freed(*comm);
        ompi_unlock();
        if (ompi_comm_spans_jobs(*comm))
            ompi_comm_meet(*comm);
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

/* A sentence that outlives the body. */
static char *room_for_detail(void)
{
    static _Thread_local char detail[OMPI_DYNAMIC_DETAIL_BYTES];
    return detail;
}

static int end_meeting(int error, const char *detail)
{
    if (error == MPI_ERR_COMM)
        return ompi_api_set_error_detail(error, "The two sides have processes in common.");
    return error != MPI_SUCCESS && detail[0] != 0 ? ompi_api_set_error_detail(error, detail)
                                                  : ompi_api_set_creation_error(error);
}

static int refuse(const ompi_communicator_t *comm)
{
    if (ompi_comm_is_inter(comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is an intercommunicator.");
    if (ompi_pml_is_network())
        return ompi_api_set_error_detail(
            MPI_ERR_UNSUPPORTED_OPERATION,
            "A network matches the messages (pml/cm), which reaches no "
            "process of another job; OMPI_MCA_pml=ob1 does.");
    return MPI_SUCCESS;
}

/* At the root: whether an argument that the root alone reads is wrong. */
static int check_info(ompi_info_t *info, double preset, uint64_t *timeout_nsec, const char **detail)
{
    *detail = "The info object is none.";
    if (info != NULL && !ompi_object_is(info, OMPI_INFO))
        return MPI_ERR_INFO;
    *detail = "The value of the info key timeout is no number of seconds.";
    return ompi_dynamic_timeout(info, preset, timeout_nsec) ? MPI_SUCCESS : MPI_ERR_INFO_VALUE;
}

static int meet(ompi_communicator_t *comm, int root, ompi_info_t *info, double preset,
                ompi_meeting_way_t way, ompi_communicator_t **newcomm)
{
    char *detail = room_for_detail();
    int error = refuse(comm);
    if (error != MPI_SUCCESS)
        return error;
    if (comm->rank == root) {
        way.error = check_info(info, preset, &way.timeout_nsec, &way.detail);
        /* An accept may wait for ever for a caller, but not for its answers. */
        if (way.error == MPI_SUCCESS)
            ompi_dynamic_timeout(info, ompi_params_connect_timeout(), &way.answer_timeout_nsec);
        if (way.port == NULL && way.kind != OMPI_MEETING_JOIN) {
            way.error = MPI_ERR_ARG;
            way.detail = "The root gives no name of a port.";
        }
    }
    error = ompi_dynamic_meet(comm, root, &way, newcomm, detail);
    return end_meeting(error, detail);
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

/* -- spawn ----------------------------------------------------------------------------------- */

int ompi_api_comm_get_parent(ompi_communicator_t **parent)
{
    *parent = ompi_dynamic_parent();
    return MPI_SUCCESS;
}

static void free_infos(const opal_pmi_program_t *program)
{
    for (size_t i = 0; i < program->info_count; i++) {
        free((void *)(uintptr_t)program->infos[i].key);
        free((void *)(uintptr_t)program->infos[i].value);
    }
    free((void *)(uintptr_t)program->infos);
}

static char *copy_value(ompi_info_t *info, const char *key)
{
    size_t length;
    char *value = NULL;
    if (ompi_info_get(info, key, NULL, 0, &length) && (value = malloc(length + 1)) != NULL)
        ompi_info_get(info, key, value, length + 1, &length);
    return value;
}

/* Copies what the user wants of a program; false: no memory. */
static bool copy_infos(opal_pmi_program_t *program, ompi_info_t *info)
{
    size_t count = info != NULL ? ompi_info_count(info) : 0;
    opal_pmi_info_t *infos = calloc(count + 1, sizeof *infos);
    char key[MPI_MAX_INFO_KEY];
    program->infos = infos;
    bool has_memory = infos != NULL;
    while (has_memory && program->info_count < count &&
           ompi_info_key(info, program->info_count, key)) {
        opal_pmi_info_t *entry = &infos[program->info_count++];
        entry->key = strdup(key);
        entry->value = copy_value(info, key);
        has_memory = entry->key != NULL && entry->value != NULL;
    }
    return has_memory;
}

/* One program, as the root gives it. */
typedef struct wanted {
    const char *command;
    char **arguments;
    int processes;
    ompi_info_t *info;
} wanted_t;

static int check_program(const wanted_t *wanted, uint64_t *timeout_nsec, const char **detail)
{
    *detail = "A command is missing.";
    if (wanted->command == NULL)
        return MPI_ERR_ARG;
    *detail = "The number of processes is negative.";
    if (wanted->processes < 0)
        return MPI_ERR_ARG;
    return check_info(wanted->info, ompi_params_spawn_timeout(), timeout_nsec, detail);
}

/* Only the root has programs. */
static int spawn(ompi_communicator_t *comm, int root, const wanted_t wanted[], size_t count,
                 ompi_spawn_t *job, int codes[], ompi_communicator_t **intercomm)
{
    char *detail = room_for_detail();
    opal_pmi_program_t *programs = calloc(count + 1, sizeof *programs);
    for (size_t i = 0; i < count && job->error == MPI_SUCCESS; i++) {
        job->error = check_program(&wanted[i], &job->timeout_nsec, &job->detail);
        if (job->error != MPI_SUCCESS)
            break;
        bool has_memory = programs != NULL && copy_infos(&programs[i], wanted[i].info);
        job->error = has_memory ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        job->detail = "There is no memory for the programs.";
        if (!has_memory)
            break;
        programs[i].command = wanted[i].command;
        programs[i].arguments = wanted[i].arguments;
        programs[i].max_processes = (unsigned)wanted[i].processes;
    }
    job->programs = programs;
    job->count = count;
    int error = ompi_dynamic_spawn(comm, root, job, codes, intercomm, detail);
    for (size_t i = 0; i < count && programs != NULL; i++)
        free_infos(&programs[i]);
    free(programs);
    return end_meeting(error, detail);
}

int ompi_api_comm_spawn(const char *command, char *argv[], int maxprocs, ompi_info_t *info,
                        int root, ompi_communicator_t *comm, ompi_communicator_t **intercomm,
                        int array_of_errcodes[])
{
    ompi_spawn_t job = {.error = MPI_SUCCESS};
    wanted_t wanted = {command, argv, maxprocs, info};
    int error = refuse(comm);
    if (error != MPI_SUCCESS)
        return error;
    return spawn(comm, root, &wanted, comm->rank == root ? 1 : 0, &job, array_of_errcodes,
                 intercomm);
}

int ompi_api_comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                                 const int array_of_maxprocs[], const MPI_Info array_of_info[],
                                 int root, ompi_communicator_t *comm,
                                 ompi_communicator_t **intercomm, int array_of_errcodes[])
{
    ompi_spawn_t job = {.error = MPI_SUCCESS};
    int error = refuse(comm);
    if (error != MPI_SUCCESS)
        return error;
    bool is_root = comm->rank == root;
    if (is_root && (count <= 0 || array_of_commands == NULL || array_of_maxprocs == NULL)) {
        job.error = MPI_ERR_ARG;
        job.detail = "The root gives no programs.";
    }
    size_t programs = is_root && job.error == MPI_SUCCESS ? (size_t)count : 0;
    wanted_t *wanted = calloc(programs + 1, sizeof *wanted);
    if (wanted == NULL) {
        programs = 0;
        job.error = MPI_ERR_NO_MEM;
        job.detail = "There is no memory for the programs.";
    }
    for (size_t i = 0; i < programs; i++)
        wanted[i] = (wanted_t){array_of_commands[i],
                               array_of_argv != MPI_ARGVS_NULL ? array_of_argv[i] : MPI_ARGV_NULL,
                               array_of_maxprocs[i],
                               array_of_info != NULL ? ompi_handle_object(array_of_info[i]) : NULL};
    error = spawn(comm, root, wanted, programs, &job, array_of_errcodes, intercomm);
    free(wanted);
    return error;
}

/* -- names ----------------------------------------------------------------------------------- */

/* The launcher may take its time, so no lock is held over its functions, which need none. */

static int no_names(void)
{
    return ompi_api_set_error_detail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "The launcher of this job has no names for ports; mpirun of Mica has.");
}

int ompi_api_publish_name(const char *service_name, ompi_info_t *info OPAL_UNUSED,
                          const char *port_name)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->publish == NULL)
        return no_names();
    opal_status_t status = pmi->publish(state, service_name, port_name);
    if (status == OPAL_SUCCESS)
        return MPI_SUCCESS;
    return ompi_api_set_error_detail(MPI_ERR_SERVICE, status == OPAL_ERR_EXISTS
                                                          ? "The name is published already."
                                                          : "The name could not be published.");
}

int ompi_api_unpublish_name(const char *service_name, ompi_info_t *info OPAL_UNUSED,
                            const char *port_name OPAL_UNUSED)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->unpublish == NULL)
        return no_names();
    opal_status_t status = pmi->unpublish(state, service_name);
    if (status == OPAL_SUCCESS)
        return MPI_SUCCESS;
    return ompi_api_set_error_detail(MPI_ERR_SERVICE, "No process has published the name.");
}

int ompi_api_lookup_name(const char *service_name, ompi_info_t *info OPAL_UNUSED, char *port_name)
{
    void *state;
    char *port = NULL;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->lookup == NULL)
        return no_names();
    opal_status_t status = pmi->lookup(state, service_name, &port);
    bool fits = status == OPAL_SUCCESS && strlen(port) < MPI_MAX_PORT_NAME;
    if (fits)
        strcpy(port_name, port);
    free(port);
    if (fits)
        return MPI_SUCCESS;
    return ompi_api_set_error_detail(MPI_ERR_NAME, "No process has published the name.");
}
