/* SPDX-License-Identifier: BSD-3-Clause */
/* Init and finalize, the lock, and texts of the tool interface. */
#include "ompi/tool/tool.h"

#include <pthread.h>
#include <string.h>

#include "opal/mca/base/catalog.h"
#include "ompi/handle/handle.h"
#include "ompi/runtime/runtime.h"
#include "ompi/tool/bound.h"
#include "ompi/tool/cvar.h"
#include "ompi/tool/event.h"
#include "ompi/tool/event_type.h"
#include "ompi/tool/pvar.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint users; /* inits without a finalize. Changed under the lock */
atomic_uint ompi_tool_bound;

int ompi_tool_init(int required, int *provided)
{
    switch (required) {
    case MPI_THREAD_SINGLE:
    case MPI_THREAD_FUNNELED:
    case MPI_THREAD_SERIALIZED:
    case MPI_THREAD_MULTIPLE:
        break;
    default:
        return MPI_T_ERR_INVALID;
    }
    if (!ompi_event_is_in_callback()) { /* else that was done before */
        opal_catalog_start();
        ompi_runtime_show_parameters();
    }
    pthread_mutex_lock(&lock);
    ompi_event_types_start();
    users++;
    pthread_mutex_unlock(&lock);
    OMPI_TOOL_PUT(provided, MPI_THREAD_MULTIPLE);
    return MPI_SUCCESS;
}

int ompi_tool_finalize(void)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    bool is_last = --users == 0;
    if (is_last) {
        ompi_tool_sessions_end();
        ompi_tool_cvar_handles_end();
    }
    ompi_tool_leave(MPI_SUCCESS);
    if (is_last)
        ompi_event_unregister_all();
    return MPI_SUCCESS;
}

bool ompi_tool_is_used(void)
{
    return users > 0;
}

int ompi_tool_enter(void)
{
    pthread_mutex_lock(&lock);
    return users > 0 ? MPI_SUCCESS : ompi_tool_leave(MPI_T_ERR_NOT_INITIALIZED);
}

int ompi_tool_leave(int error)
{
    pthread_mutex_unlock(&lock);
    return error;
}

void ompi_tool_unbind(const ompi_object_t *object)
{
    if (ompi_tool_bound == 0 || ompi_tool_enter() != MPI_SUCCESS)
        return;
    ompi_tool_pvar_unbind(object);
    ompi_tool_cvar_unbind(object);
    ompi_tool_leave(MPI_SUCCESS);
}

int ompi_tool_bind(opal_pvar_bind_t bind)
{
    switch (bind) {
    case OPAL_PVAR_OF_COMM:
        return MPI_T_BIND_MPI_COMM;
    case OPAL_PVAR_OF_WIN:
        return MPI_T_BIND_MPI_WIN;
    case OPAL_PVAR_OF_PROCESS:
        break;
    }
    return MPI_T_BIND_NO_OBJECT;
}

bool ompi_tool_object(opal_pvar_bind_t bind, const void *handle, void **object)
{
    void *value;
    *object = NULL;
    if (bind == OPAL_PVAR_OF_PROCESS)
        return true;
    if (handle == NULL)
        return false;
    memcpy(&value, handle, sizeof value);
    *object = ompi_handle_object(value);
    return ompi_object_is(*object, bind == OPAL_PVAR_OF_COMM ? OMPI_COMM : OMPI_WIN);
}

void ompi_tool_put_text(const char *text, char *buffer, int *length)
{
    if (length == NULL)
        return;
    size_t bytes = strlen(text);
    if (buffer != NULL && *length > 0) {
        size_t room = (size_t)*length - 1;
        size_t copied = bytes < room ? bytes : room;
        memcpy(buffer, text, copied);
        buffer[copied] = 0;
    }
    *length = (int)bytes + 1;
}
