/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers that the kernel carries out, by io_uring: no thread of this process is needed to begin
 * one, and none shares the core of the rank while the bytes are moved.
 *
 * The uring is the component's own, because that of opal/progress/uring.h exists only where its
 * engine was chosen. It is made with the first transfer. One request of it is what one system call
 * would be. IOSQE_ASYNC has a thread of the kernel run it: else the submission itself would copy
 * into the page cache. A request may move a part of a transfer; when its completion is seen, the
 * rest of the transfer is submitted.
 *
 * Completions lie in memory that is shared with the kernel. A poll function reads it, which costs
 * a load or two; an eventfd, which the kernel writes, wakes a thread that sleeps in a wait. Both
 * are there while a transfer is under way, and not at other times.
 *
 * What the uring does not take, the pool carries on.
 *
 * Threading: all under ompi_lock, which poll functions and descriptors need in any case, so the
 * uring has no lock of its own. Requests of a thread that ends are cancelled by the kernel, and
 * carried on by the pool. A child of fork does without: the uring is its parent's.
 */
#include "ompi/mca/io/posix/posix.h"

#ifdef HAVE_LIBURING

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "opal/progress/descriptor.h"
#include "ompi/request/request.h"

enum { ENTRIES = 64 }; /* transfers under way; the completions have room for twice as many */

static struct io_uring uring;
static bool is_open, is_refused; /* neither: it was not tried */
static unsigned under_way;       /* requests whose completion was not seen */

static int eventfd_ready(opal_descriptor_t *descriptor, unsigned events);
static bool eventfd_arm(opal_descriptor_t *descriptor);
static opal_descriptor_t descriptor = {
    .fd = -1, .wants = OPAL_READABLE, .ready = eventfd_ready, .arm = eventfd_arm};

/* -- the uring --------------------------------------------------------------------------------- */

static void close_uring(void)
{
    if (descriptor.fd >= 0)
        close(descriptor.fd);
    descriptor.fd = -1;
    io_uring_queue_exit(&uring);
    is_open = false;
}

/* Its memory is not mapped in the child. */
static void forget_in_child(void)
{
    is_open = false;
    is_refused = true;
    under_way = 0;
}

static bool open_uring(void)
{
    static bool has_handler;
    struct io_uring_params params = {.flags = IORING_SETUP_CLAMP};
    is_refused = true;
    if (io_uring_queue_init_params(ENTRIES, &uring, &params) != 0)
        return false;
    is_open = true;
    descriptor.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* The list of segments needs to be there until the submission, and not longer. */
    if ((params.features & IORING_FEAT_SUBMIT_STABLE) == 0 || descriptor.fd < 0 ||
        io_uring_register_eventfd(&uring, descriptor.fd) != 0 ||
        (!has_handler && pthread_atfork(NULL, NULL, forget_in_child) != 0)) {
        close_uring();
        return false;
    }
    has_handler = true;
    io_uring_ring_dontfork(&uring);
    is_refused = false;
    return true;
}

/* -- requests ---------------------------------------------------------------------------------- */

/* Since Linux 6.2 the kernel's threads keep to the CPUs that the thread was bound to which has had
 * them started: on the core of a rank they would take turns with the program. */
static void submit_entries(void)
{
    ompi_io_cpus_t before;
    bool is_unbound = ompi_io_pool_unbind(&before);
    io_uring_submit(&uring);
    if (is_unbound)
        ompi_io_pool_bind(&before);
}

/* Submits the next request of a transfer. False: there is none under way. */
static bool submit(ompi_io_transfer_t *transfer)
{
    io_posix_call_t call;
    struct io_uring_sqe *entry = under_way < ENTRIES ? io_uring_get_sqe(&uring) : NULL;
    if (entry == NULL)
        return false;
    const io_posix_cursor_t *cursor = &io_posix_begun(transfer)->cursor;
    io_posix_fill(&call, cursor, false);
    const int fd = io_posix_file(transfer->file)->fd;
    if (transfer->is_write)
        io_uring_prep_writev(entry, fd, call.segments, (unsigned)call.count, cursor->offset);
    else
        io_uring_prep_readv(entry, fd, call.segments, (unsigned)call.count, cursor->offset);
    io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
    io_uring_sqe_set_data(entry, transfer);
    submit_entries();
    if (io_uring_sq_ready(&uring) == 0) {
        under_way++;
        return true;
    }
    io_uring_prep_nop(entry); /* the kernel has not taken it, and takes this later */
    io_uring_sqe_set_data(entry, NULL);
    return false;
}

static void end(ompi_io_transfer_t *transfer, int error)
{
    transfer->done_bytes = io_posix_begun(transfer)->cursor.offset - transfer->offset;
    transfer->error = error;
    transfer->ended(transfer);
}

static void go_on(ompi_io_transfer_t *transfer)
{
    if (!submit(transfer))
        io_posix_use_pool(transfer);
}

/* A request has moved some bytes, or has failed. */
static void complete(ompi_io_transfer_t *transfer, int result)
{
    io_posix_cursor_t *cursor = &io_posix_begun(transfer)->cursor;
    if (result > 0)
        io_posix_pass(cursor, (size_t)result);
    switch (result < 0 ? -result : 0) {
    case 0:
        if (result == 0 || cursor->count == 0)
            end(transfer, cursor->count > 0 && transfer->is_write ? EIO : 0);
        else
            go_on(transfer);
        return;
    case EINTR:
    case EAGAIN:
        go_on(transfer);
        return;
    case ECANCELED: /* the thread that has submitted it has ended */
    case EINVAL:
    case ENOMEM:
    case EOPNOTSUPP:
        io_posix_use_pool(transfer);
        return;
    default:
        end(transfer, -result);
    }
}

/* -- progress ---------------------------------------------------------------------------------- */

static int reap(void *state OPAL_UNUSED)
{
    struct io_uring_cqe *completions[ENTRIES];
    uint64_t writes;
    int count = 0;
    if (under_way == 0 || io_uring_cq_ready(&uring) == 0)
        return 0;
    /* Before the completions are read: one that comes later writes it again. */
    ssize_t got = read(descriptor.fd, &writes, sizeof writes);
    (void)got;
    unsigned ready = io_uring_peek_batch_cqe(&uring, completions, ENTRIES);
    for (unsigned i = 0; i < ready; i++) {
        ompi_io_transfer_t *transfer = io_uring_cqe_get_data(completions[i]);
        int result = completions[i]->res;
        io_uring_cqe_seen(&uring, completions[i]);
        if (transfer == NULL)
            continue;
        under_way--;
        count++;
        complete(transfer, result);
    }
    if (count > 0 && under_way == 0) {
        opal_progress_remove(reap, NULL);
        opal_descriptor_remove(&descriptor);
    }
    return count;
}

/* The kernel may have written it behind the read in `reap`. */
static int eventfd_ready(opal_descriptor_t *own, unsigned events OPAL_UNUSED)
{
    uint64_t writes;
    ssize_t got = read(own->fd, &writes, sizeof writes);
    (void)got;
    return reap(NULL);
}

static bool eventfd_arm(opal_descriptor_t *own OPAL_UNUSED)
{
    return under_way == 0 || io_uring_cq_ready(&uring) == 0;
}

/* -- for the component ------------------------------------------------------------------------- */

/* A first transfer brings the poll function and the descriptor. */
static bool begin(ompi_io_transfer_t *transfer)
{
    const bool is_first = under_way == 0;
    if (is_refused || (!is_open && !open_uring()))
        return false;
    if (is_first && opal_progress_add(reap, NULL) != OPAL_SUCCESS)
        return false;
    if (is_first && opal_descriptor_add(&descriptor) != OPAL_SUCCESS) {
        opal_progress_remove(reap, NULL);
        is_refused = true;
        return false;
    }
    bool is_begun = submit(transfer);
    if (is_first && !is_begun) {
        opal_progress_remove(reap, NULL);
        opal_descriptor_remove(&descriptor);
    }
    return is_begun;
}

bool io_posix_uring_begin(ompi_io_transfer_t *transfer)
{
    ompi_lock();
    bool is_begun = begin(transfer);
    ompi_unlock();
    return is_begun;
}

void io_posix_uring_stop(void)
{
    ompi_lock();
    while (under_way > 0) {
        io_uring_submit_and_wait(&uring, 1);
        reap(NULL);
    }
    if (is_open)
        close_uring();
    ompi_unlock();
}

#endif
