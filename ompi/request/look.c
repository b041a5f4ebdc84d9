/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of those that wait by looking, which one poll function of progress goes through. */
#include "ompi/request/look.h"

#include "opal/progress/wait.h"
#include "opal/util/list.h"
#include "ompi/request/request.h"

_Thread_local const ompi_look_reason_t *ompi_look_reason;

typedef struct waiter {
    opal_list_node_t node;
    ompi_look_fn_t *look;
    void *what;
    ompi_look_t found;
    atomic_int done;
} waiter_t;

/* Those that wait, of all threads. Under ompi_lock. */
static opal_list_t waiters = {{&waiters.head, &waiters.head}};

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *next, *node = opal_list_first(&waiters); node != NULL; node = next) {
        waiter_t *waiter = opal_container_of(node, waiter_t, node);
        next = opal_list_next(&waiters, node);
        waiter->found = waiter->look(waiter->what);
        if (waiter->found == OMPI_LOOK_WAITS)
            continue;
        opal_list_remove(node);
        opal_wait_signal(&waiter->done);
        count++;
    }
    if (opal_list_is_empty(&waiters))
        opal_progress_remove(poll, NULL);
    return count;
}

int ompi_look_wait(ompi_look_fn_t *look, void *what)
{
    waiter_t waiter = {.look = look, .what = what, .found = look(what)};
    if (waiter.found == OMPI_LOOK_WAITS) {
        if (opal_list_is_empty(&waiters) && opal_progress_add(poll, NULL) != OPAL_SUCCESS)
            return MPI_ERR_INTERN;
        opal_list_append(&waiters, &waiter.node);
        ompi_wait_until(&waiter.done);
    }
    return waiter.found == OMPI_LOOK_FAILED ? MPI_ERR_PROC_ABORTED : MPI_SUCCESS;
}
