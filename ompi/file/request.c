/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses that go on while the program computes.
 *
 * An access that is one transfer is begun by the component, which has the system carry it out;
 * another one is work of the pool, where a thread runs it as a blocking call would. Neither may
 * complete a request: that needs the message lock, which does not exist below MPI_THREAD_MULTIPLE.
 * So the end of an access is a flag, and a poll function completes the request.
 */
#include "ompi/file/request.h"

#include <stdlib.h>

#include "opal/progress/wait.h"
#include "ompi/file/file_lock.h"
#include "ompi/mca/io/base/pool.h"
#include "ompi/request/look.h"

enum { TRANSFER_SEGMENTS = 1024 };

typedef struct operation {
    ompi_request_t request;
    ompi_access_t access;
    opal_list_node_t node; /* in `running`. Under ompi_lock */
    ompi_io_work_t work;
    ompi_io_transfer_t transfer;
    struct iovec *segments;
    atomic_bool is_over; /* set by the thread that has carried it out, read by the poll function */
} operation_t;

/* The operations that are not complete. Under ompi_lock. */
static opal_list_t running = {{&running.head, &running.head}};

/* Some are over that the poll function has not seen. It reads and clears this at once: what was
 * over before the last store of `true` is then seen by it. */
static atomic_bool some_are_over;

/* -- the request ----------------------------------------------------------------------------- */

static ompi_object_t *error_object(const ompi_request_t *request)
{
    return &opal_container_of(request, const operation_t, request)->access.file->head;
}

/* The sentence about an error is written when the error is returned. */
static int query(ompi_request_t *request, MPI_Status *status)
{
    operation_t *operation = opal_container_of(request, operation_t, request);
    return ompi_access_result(&operation->access, status);
}

static void destroy(ompi_object_t *head)
{
    operation_t *operation = opal_container_of(head, operation_t, request.head);
    ompi_object_release(&operation->access.type->head);
    ompi_object_release(&operation->access.file->head);
    ompi_access_fini(&operation->access);
    free(operation->segments);
    free(operation);
}

static const ompi_request_ops_t operation_ops = {.query = query, .error_object = error_object};

static void complete(operation_t *operation)
{
    opal_list_remove(&operation->node);
    atomic_fetch_sub_explicit(&operation->access.file->pending, 1, memory_order_relaxed);
    operation->request.status.MPI_ERROR = operation->access.error;
    ompi_request_complete(&operation->request);
}

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    if (!atomic_load_explicit(&some_are_over, memory_order_relaxed) ||
        !atomic_exchange(&some_are_over, false))
        return 0;
    for (opal_list_node_t *next, *node = opal_list_first(&running); node != NULL; node = next) {
        operation_t *operation = opal_container_of(node, operation_t, node);
        next = opal_list_next(&running, node);
        if (!atomic_load_explicit(&operation->is_over, memory_order_acquire))
            continue;
        complete(operation);
        count++;
    }
    if (opal_list_is_empty(&running))
        opal_progress_remove(poll, NULL);
    return count;
}

/* The last that the thread does with the operation. */
static void end(operation_t *operation)
{
    atomic_store_explicit(&operation->is_over, true, memory_order_release);
    atomic_store(&some_are_over, true);
    opal_wait_notify_self();
}

/* -- carrying it out ------------------------------------------------------------------------- */

static void run(ompi_io_work_t *work)
{
    operation_t *operation = opal_container_of(work, operation_t, work);
    ompi_access_run(&operation->access);
    end(operation);
}

static void end_transfer(ompi_io_transfer_t *transfer)
{
    operation_t *operation = transfer->context;
    ompi_access_t *access = &operation->access;
    access->done_bytes = transfer->done_bytes;
    if (transfer->error != 0)
        ompi_access_fail_system(access, transfer->error, transfer->offset + transfer->done_bytes);
    end(operation);
}

/*
 * Whether one transfer does it: one piece of the file, and memory of few segments. A write that
 * others sieve around needs a lock, whose end may not depend on progress: threads that wait for it
 * make none.
 */
static bool make_transfer(operation_t *operation)
{
    ompi_access_t *access = &operation->access;
    uint64_t first;
    size_t listed, count = 1;
    if (!ompi_access_is_one_transfer(access, &first) ||
        (access->is_write && ompi_file_may_sieve_writes(access->file)))
        return false;
    if (!ompi_datatype_is_contiguous(access->type))
        count = TRANSFER_SEGMENTS;
    operation->segments = malloc(count * sizeof *operation->segments);
    if (operation->segments == NULL)
        return false;
    count = ompi_datatype_segments(access->type, access->count, access->buffer, 0,
                                   operation->segments, count, &listed);
    operation->transfer = (ompi_io_transfer_t){.file = access->file->io,
                                               .is_write = access->is_write,
                                               .offset = first,
                                               .segments = operation->segments,
                                               .count = count,
                                               .ended = end_transfer,
                                               .context = operation};
    return listed == access->bytes;
}

static void start(operation_t *operation)
{
    if (operation->access.bytes == 0) {
        end(operation);
    } else if (make_transfer(operation)) {
        operation->transfer.file->ops->begin(&operation->transfer);
    } else {
        operation->work.run = run;
        ompi_io_pool_add(&operation->work);
    }
}

/* -- for calls ------------------------------------------------------------------------------- */

int ompi_access_begin(ompi_access_t *access, ompi_request_t **request)
{
    operation_t *operation = calloc(1, sizeof *operation);
    if (operation == NULL) {
        ompi_access_fini(access);
        return MPI_ERR_NO_MEM;
    }
    ompi_lock();
    if (opal_list_is_empty(&running) && opal_progress_add(poll, NULL) != OPAL_SUCCESS) {
        ompi_unlock();
        ompi_access_fini(access);
        free(operation);
        return MPI_ERR_INTERN;
    }
    ompi_request_init(&operation->request, &operation_ops, NULL, destroy);
    operation->access = *access;
    ompi_object_retain(&access->file->head);
    ompi_object_retain(&access->type->head);
    atomic_fetch_add_explicit(&access->file->pending, 1, memory_order_relaxed);
    opal_list_append(&running, &operation->node);
    ompi_unlock();
    *request = &operation->request;
    start(operation);
    return MPI_SUCCESS;
}

int ompi_file_begin(const ompi_file_call_t *call, ompi_request_t **request)
{
    ompi_access_t access;
    int error = ompi_access_prepare(call, &access);
    return error == MPI_SUCCESS ? ompi_access_begin(&access, request) : error;
}

static ompi_look_t look(void *what)
{
    const ompi_file_t *file = what;
    return atomic_load_explicit(&file->pending, memory_order_relaxed) == 0 ? OMPI_LOOK_OVER
                                                                           : OMPI_LOOK_WAITS;
}

void ompi_file_wait_pending(ompi_file_t *file)
{
    ompi_lock();
    ompi_look_wait(look, file);
    ompi_unlock();
}
