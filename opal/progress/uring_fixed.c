/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends out of the uring's table of registered buffers.
 *
 * Without a copy (SEND_ZC, Linux 6.0) a send completes twice: with its result, and when the network
 * has let go of the pages. With a copy (WRITE_FIXED) it completes once; where a socket has no room,
 * the engine waits for room and submits the send again. So the slot of a send under way is kept
 * until the send is done, even if it was withdrawn.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/fixed.h"
#include "opal/progress/uring.h"
#include "opal/util/text.h"

enum { SLOTS_MAX = 1 << 14 }; /* what Linux permits */
static const size_t bytes_max = (size_t)1 << 30;

typedef struct slot {
    unsigned sends;     /* under way */
    unsigned next_free; /* 1 + its number; 0: none */
    bool is_leaving;    /* withdrawn, but for those sends */
} slot_t;

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER; /* the next three */
static slot_t *slots;
static unsigned slot_count, first_free;

static bool zero_copy, has_writes;
static opal_list_t finished = {{&finished.head, &finished.head}};
static opal_list_t to_resume = {{&to_resume.head, &to_resume.head}};

/* -- slots ----------------------------------------------------------------------- */

/* Whether a write from a registered page can be asked for in a way that never waits (Linux 6.4). */
static bool can_write(void)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return false;
    struct iovec byte = {.iov_base = fds, .iov_len = 1};
    bool can = pwritev2(fds[0], &byte, 1, -1, RWF_NOWAIT) == 1;
    close(fds[0]);
    close(fds[1]);
    return can;
}

static opal_status_t fixed_open(unsigned wanted, bool copies, const char **reason)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(&opal_uring);
    bool has_zero_copy = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_SEND_ZC);
    io_uring_free_probe(probe);
    has_writes = can_write();
    unsigned count = wanted < SLOTS_MAX ? wanted : SLOTS_MAX;
    zero_copy = has_zero_copy && !(copies && has_writes);
    if (!has_zero_copy && !has_writes)
        *reason = "this kernel sends nothing out of registered pages, it takes Linux 6.0";
    else if (wanted == 0)
        *reason = "the parameter wait_fixed_slots is 0";
    else if (io_uring_register_buffers_sparse(&opal_uring, count) != 0)
        *reason = "this kernel gives no table of registered buffers";
    else
        slots = opal_xcalloc(count, sizeof *slots);
    if (slots == NULL)
        return OPAL_ERR_NOT_AVAILABLE;
    slot_count = count;
    for (unsigned i = count; i-- > 0;) {
        slots[i].next_free = first_free;
        first_free = i + 1;
    }
    return OPAL_SUCCESS;
}

static void fixed_close(void)
{
    opal_list_init(&finished);
    opal_list_init(&to_resume);
    free(slots);
    slots = NULL;
    slot_count = first_free = 0;
}

static unsigned count_slots(void)
{
    return slot_count;
}

static int update(unsigned slot, void *base, size_t bytes)
{
    struct iovec range = {.iov_base = base, .iov_len = bytes};
    __u64 tag = 0;
    return io_uring_register_buffers_update_tag(&opal_uring, slot, &range, &tag, 1);
}

static opal_status_t status_of(int error)
{
    switch (error) {
    case EFAULT:
        return OPAL_ERR_BAD_PARAM;
    case EOPNOTSUPP:
        return OPAL_ERR_NOT_SUPPORTED;
    default:
        return OPAL_ERR_NO_MEMORY;
    }
}

static void free_slot(unsigned number)
{
    slots[number].is_leaving = false;
    slots[number].next_free = first_free;
    first_free = number + 1;
}

static opal_status_t fixed_pin(void *base, size_t bytes, unsigned *slot)
{
    if (bytes > bytes_max)
        return OPAL_ERR_TOO_LARGE;
    if (bytes == 0)
        return OPAL_ERR_BAD_PARAM;
    pthread_mutex_lock(&slots_lock);
    unsigned number = first_free;
    opal_status_t status = number != 0 ? OPAL_SUCCESS : OPAL_ERR_NO_MEMORY;
    if (number != 0) {
        first_free = slots[number - 1].next_free;
        int updated = update(number - 1, base, bytes);
        if (updated != 1) {
            status = status_of(-updated);
            free_slot(number - 1);
        }
    }
    pthread_mutex_unlock(&slots_lock);
    if (status == OPAL_SUCCESS)
        *slot = number - 1;
    return status;
}

static void fixed_unpin(unsigned number)
{
    pthread_mutex_lock(&slots_lock);
    if (slots[number].sends != 0) {
        slots[number].is_leaving = true;
    } else {
        update(number, NULL, 0);
        free_slot(number);
    }
    pthread_mutex_unlock(&slots_lock);
}

static void hold_slot(unsigned number)
{
    pthread_mutex_lock(&slots_lock);
    slots[number].sends++;
    pthread_mutex_unlock(&slots_lock);
}

static void leave_slot(unsigned number)
{
    pthread_mutex_lock(&slots_lock);
    bool is_last = --slots[number].sends == 0 && slots[number].is_leaving;
    pthread_mutex_unlock(&slots_lock);
    if (is_last)
        fixed_unpin(number);
}

/* -- sends ----------------------------------------------------------------------- */

static uint64_t name_of(const opal_fixed_send_t *send)
{
    return (uint64_t)(uintptr_t)send | URING_FOR_SEND;
}

static void submit_send(opal_fixed_send_t *send)
{
    struct io_uring_sqe *entry = opal_uring_get_sqe();
    if (entry == NULL) {
        opal_list_append(&to_resume, &send->node);
        return;
    }
    if (send->waits_for_room) {
        io_uring_prep_poll_add(entry, send->fd, POLLOUT);
    } else if (zero_copy && !(send->copies && has_writes)) {
        io_uring_prep_send_zc_fixed(entry, send->fd, send->start, send->bytes,
                                    MSG_NOSIGNAL | (send->more ? MSG_MORE : 0), 0, send->slot);
    } else {
        io_uring_prep_write_fixed(entry, send->fd, send->start, (unsigned)send->bytes, 0,
                                  (int)send->slot);
        entry->rw_flags = RWF_NOWAIT;
        opal_uring_expect_pipe();
    }
    io_uring_sqe_set_data64(entry, name_of(send));
}

static void fixed_send(opal_fixed_send_t *send)
{
    send->has_result = send->waits_for_room = false;
    hold_slot(send->slot);
    submit_send(send);
    opal_uring_submit();
}

static void resolve(opal_fixed_send_t *send, ssize_t result)
{
    bool waited = send->waits_for_room;
    bool needs_copy =
        result == -EOPNOTSUPP && zero_copy && has_writes && !send->copies; /* no TCP */
    bool again =
        waited || needs_copy || result == -EAGAIN || result == -ECANCELED || result == -EINTR;
    send->waits_for_room = result == -EAGAIN;
    send->copies |= needs_copy;
    send->has_result = false;
    send->result = result;
    opal_list_append(again ? &to_resume : &finished, &send->node);
}

void opal_uring_fixed_complete(uint64_t whom, int result, unsigned flags)
{
    opal_fixed_send_t *send = (opal_fixed_send_t *)(uintptr_t)(whom & ~(uint64_t)URING_FOR_MASK);
    if ((flags & IORING_CQE_F_NOTIF) != 0) {
        if (send->has_result)
            resolve(send, send->result);
    } else if ((flags & IORING_CQE_F_MORE) != 0) {
        send->result = result;
        send->has_result = true;
    } else {
        resolve(send, result);
    }
}

void opal_uring_fixed_resume(void)
{
    opal_list_node_t *node, *last = opal_list_is_empty(&to_resume) ? NULL : to_resume.head.previous;
    while (last != NULL && (node = opal_list_first(&to_resume)) != NULL) {
        opal_list_remove(node);
        submit_send(opal_container_of(node, opal_fixed_send_t, node));
        if (node == last)
            return;
    }
}

static int fixed_finish(void)
{
    int count = 0;
    opal_list_node_t *node;
    while (count < OPAL_ENGINE_BATCH && (node = opal_list_first(&finished)) != NULL) {
        opal_fixed_send_t *send = opal_container_of(node, opal_fixed_send_t, node);
        opal_list_remove(node);
        leave_slot(send->slot);
        opal_descriptor_count_sends(-1);
        send->done(send, send->result);
        count++;
    }
    return count;
}

const opal_engine_fixed_t opal_uring_fixed = {
    .open = fixed_open,
    .close = fixed_close,
    .slots = count_slots,
    .pin = fixed_pin,
    .unpin = fixed_unpin,
    .send = fixed_send,
    .finish = fixed_finish,
};
