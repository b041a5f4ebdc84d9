/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter env: start and end, versions, processor and hardware, memory, time. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opal/crash/crash.h"
#include "opal/node/region.h"
#include "opal/process/job.h"
#include "opal/util/log.h"
#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"
#include "ompi/communicator/hw_topology.h"
#include "ompi/info/info.h"
#include "opal/include/clock.h"

static int start(int required, int *provided)
{
    if (!ompi_runtime_claim_init())
        return ompi_api_set_error_detail(MPI_ERR_OTHER,
                                         ompi_runtime_is_finalized()
                                             ? "MPI cannot start again after MPI_Finalize."
                                             : "MPI was initialized before.");
    int error = ompi_runtime_init(required, provided);
    /* A start that failed has logged the reason. The initial error handler decides what follows. */
    if (error != MPI_SUCCESS && ompi_runtime_initial_errhandler()->action != OMPI_ERRHANDLER_RETURN)
        ompi_runtime_abort(EXIT_FAILURE);
    return error;
}

int ompi_api_init(int *argc OPAL_UNUSED, char ***argv OPAL_UNUSED)
{
    int provided;
    return start(MPI_THREAD_SINGLE, &provided);
}

int ompi_api_init_thread(int *argc OPAL_UNUSED, char ***argv OPAL_UNUSED, int required,
                         int *provided)
{
    switch (required) {
    case MPI_THREAD_SINGLE:
    case MPI_THREAD_FUNNELED:
    case MPI_THREAD_SERIALIZED:
    case MPI_THREAD_MULTIPLE:
        return start(required, provided);
    default:
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "The argument 'required' is not a thread level.");
    }
}

int ompi_api_initialized(int *flag)
{
    *flag = ompi_runtime_is_initialized();
    return MPI_SUCCESS;
}

/*
 * The standard wants the attributes of MPI_COMM_SELF deleted first, while everything still works;
 * then come those of other objects that no program frees. If a callback fails, MPI has not ended,
 * and the program may call again.
 */
static int delete_attributes(void)
{
    int error = ompi_attributes_delete_all(&ompi_comm_self.head);
    for (uintptr_t i = 0; i < OMPI_HANDLE_PREDEFINED && error == MPI_SUCCESS; i++) {
        ompi_object_t *object = ompi_handle_predefined[i];
        if (object != NULL && object->attributes != NULL)
            error = ompi_attributes_delete_all(object);
    }
    return error;
}

/* Functions about what MPI_Init has begun are called while a session is open, too. */
static bool is_running(void)
{
    return ompi_runtime_is_initialized() && !ompi_runtime_is_finalized();
}

static int not_running(void)
{
    return ompi_api_set_error_detail(MPI_ERR_OTHER,
                                     "It is called between MPI_Init and MPI_Finalize.");
}

int ompi_api_finalize(void)
{
    if (!is_running())
        return not_running();
    int error = delete_attributes();
    return error == MPI_SUCCESS ? ompi_runtime_finalize() : error;
}

int ompi_api_finalized(int *flag)
{
    *flag = ompi_runtime_is_finalized();
    return MPI_SUCCESS;
}

int ompi_api_query_thread(int *provided)
{
    if (!is_running())
        return not_running();
    *provided = ompi_runtime_thread_level();
    return MPI_SUCCESS;
}

int ompi_api_is_thread_main(int *flag)
{
    if (!is_running())
        return not_running();
    *flag = ompi_runtime_is_main_thread();
    return MPI_SUCCESS;
}

int ompi_api_abort(ompi_communicator_t *comm, int errorcode)
{
    if (!opal_job()->abort_is_reported) {
        char name[MPI_MAX_OBJECT_NAME];
        ompi_comm_get_name(comm, name);
        opal_log_error("MPI_Abort on %s ends the job with status %d", name, errorcode);
    }
    if (opal_crash_claim())
        opal_crash_show_call();
    opal_crash_claim_done();
    ompi_runtime_abort(errorcode);
}

int ompi_api_get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int ompi_api_get_library_version(char *version, int *resultlen)
{
    *resultlen =
        snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s, MPI %d.%d, ABI %d.%d",
                 PACKAGE_STRING, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

int ompi_api_get_processor_name(char *name, int *resultlen)
{
    char host[HOST_NAME_MAX + 1] = "";
    _Static_assert(sizeof host <= MPI_MAX_PROCESSOR_NAME, "a host name fits");
    if (gethostname(host, sizeof host - 1) != 0)
        return MPI_ERR_OTHER;
    strcpy(name, host);
    *resultlen = (int)strlen(name);
    return MPI_SUCCESS;
}

/* Each part of the hardware that is known of: whether the process may run in one of them only. */
int ompi_api_get_hw_resource_info(ompi_info_t **hw_info)
{
    ompi_info_t *info = ompi_info_create();
    if (info == NULL)
        return MPI_ERR_NO_MEM;
    for (int level = 0; level < OMPI_HW_LEVELS; level++) {
        int color;
        ompi_hw_binding_t binding = ompi_hw_level_find(level, &color);
        if (binding == OMPI_HW_UNKNOWN)
            continue;
        int error = ompi_info_set(info, ompi_hw_level_name(level),
                                  binding == OMPI_HW_ONE ? "true" : "false");
        if (error != MPI_SUCCESS) {
            ompi_object_release(&info->head);
            return error;
        }
    }
    *hw_info = info;
    return MPI_SUCCESS;
}

/* For profiling tools, which replace it. The library has nothing to switch on or off. */
int ompi_api_pcontrol(const int level OPAL_UNUSED)
{
    return MPI_SUCCESS;
}

/* As the info object wants it, if it says so, or that of malloc. */
static size_t alignment_of(ompi_info_t *info)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length, alignment = 0;
    if (info != NULL && ompi_info_get(info, OMPI_MINIMUM_ALIGNMENT, value, sizeof value, &length))
        (void)ompi_info_read_alignment(value, &alignment); /* what is none is ignored */
    return alignment > _Alignof(max_align_t) ? alignment : _Alignof(max_align_t);
}

int ompi_api_alloc_mem(MPI_Aint size, ompi_info_t *info, void *baseptr)
{
    void *memory = opal_region_allocate(alignment_of(info), size > 0 ? (size_t)size : 1);
    if (memory == NULL)
        return MPI_ERR_NO_MEM;
    memcpy(baseptr, &memory, sizeof memory); /* a pointer to any kind of pointer */
    return MPI_SUCCESS;
}

int ompi_api_free_mem(void *base)
{
    opal_region_free(base);
    return MPI_SUCCESS;
}

double ompi_api_wtime(void)
{
    return (double)opal_clock_nsec() * 1e-9;
}

double ompi_api_wtick(void)
{
    struct timespec resolution;
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return (double)resolution.tv_sec + (double)resolution.tv_nsec * 1e-9;
}
