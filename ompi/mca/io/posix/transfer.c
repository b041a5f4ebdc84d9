/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes. A transfer is a row of system calls: each moves as many segments as the system
 * takes, and the next one begins where it has ended.
 *
 * A file that is open for direct transfers has two descriptors. Whole pages of the file from or to
 * memory that is aligned go past the page cache, everything else through it. So a page of the file
 * is moved by one of both, and ranks that write neighbouring bytes do not undo each other.
 *
 * Transfers that are begun are carried out by threads of the kernel (uring.c) or of the pool. The
 * rate is the same, but threads of the pool share the CPUs of the program, and take longer to wake.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ompi/mca/io/base/pool.h"
#include "ompi/mca/io/posix/posix.h"

enum {
    CALL_BYTES = 0x7ffff000, /* Linux moves no more by one call */
    DIRECT_UNIT = 4096,      /* of the file: a page, and a multiple of what devices want */
    DIRECT_MEMORY = 512,     /* what devices want of memory */
    SMALL_BYTES = 64 << 10,
};

/* -- the cursor -------------------------------------------------------------------------------- */

void io_posix_pass(io_posix_cursor_t *cursor, size_t bytes)
{
    cursor->offset += bytes;
    cursor->skip += bytes;
    while (cursor->count > 0 && cursor->skip >= cursor->segments->iov_len) {
        cursor->skip -= cursor->segments->iov_len;
        cursor->segments++;
        cursor->count--;
    }
}

/* How many bytes of a segment at an offset can be moved directly. */
static size_t direct_bytes(const void *memory, size_t bytes, uint64_t offset)
{
    return offset % DIRECT_UNIT != 0 || (uintptr_t)memory % DIRECT_MEMORY != 0
               ? 0
               : bytes / DIRECT_UNIT * DIRECT_UNIT;
}

/* How many bytes of a segment are moved alike, from its beginning on. */
static size_t bytes_alike(const char *memory, size_t bytes, uint64_t offset, bool *is_direct)
{
    size_t direct = direct_bytes(memory, bytes, offset);
    size_t to_page = DIRECT_UNIT - offset % DIRECT_UNIT;
    *is_direct = direct > 0;
    if (direct > 0)
        return direct;
    if (bytes > to_page && direct_bytes(memory + to_page, bytes - to_page, offset + to_page) > 0)
        return to_page;
    return bytes;
}

void io_posix_fill(io_posix_call_t *call, const io_posix_cursor_t *from, bool wants_direct)
{
    io_posix_cursor_t cursor = *from;
    size_t room = CALL_BYTES;
    bool is_whole = true;
    call->count = 0;
    call->is_direct = false;
    io_posix_pass(&cursor, 0);
    while (cursor.count > 0 && room > 0 && is_whole && call->count < IO_POSIX_CALL_SEGMENTS) {
        char *memory = (char *)cursor.segments->iov_base + cursor.skip;
        size_t left = cursor.segments->iov_len - cursor.skip, bytes = left < room ? left : room;
        bool is_direct = false;
        if (wants_direct)
            bytes = bytes_alike(memory, bytes, cursor.offset, &is_direct);
        if (call->count > 0 && is_direct != call->is_direct)
            return;
        call->segments[call->count++] = (struct iovec){memory, bytes};
        call->is_direct = is_direct;
        is_whole = bytes == left;
        room -= bytes;
        io_posix_pass(&cursor, bytes);
    }
}

/* -- transfers --------------------------------------------------------------------------------- */

/* Whether all of its bytes have offsets. */
static bool fits(const ompi_io_transfer_t *transfer)
{
    uint64_t left = INT64_MAX - transfer->offset;
    bool is_inside = transfer->offset <= INT64_MAX;
    for (size_t i = 0; i < transfer->count && is_inside; i++) {
        is_inside = transfer->segments[i].iov_len <= left;
        left -= transfer->segments[i].iov_len;
    }
    return is_inside;
}

/* Bytes, or -1 with errno. */
static ssize_t move(const io_posix_file_t *file, bool is_write, const io_posix_call_t *call,
                    uint64_t offset)
{
    int fd = call->is_direct ? file->direct_fd : file->fd;
    const struct iovec *first = call->segments;
    if (call->count == 1) /* a tenth of a short call is the list of segments */
        return is_write ? pwrite(fd, first->iov_base, first->iov_len, (off_t)offset)
                        : pread(fd, first->iov_base, first->iov_len, (off_t)offset);
    return is_write ? pwritev(fd, first, call->count, (off_t)offset)
                    : preadv(fd, first, call->count, (off_t)offset);
}

/* A call has failed. 0: the transfer goes on, after a while if need be. */
static int bear(io_posix_file_t *file, bool is_write, bool was_direct, int error)
{
    struct pollfd device = {.fd = file->fd, .events = is_write ? POLLOUT : POLLIN};
    switch (error) {
    case EINTR:
        return 0;
    case EAGAIN:
        poll(&device, 1, -1);
        return 0;
    case EINVAL: /* the device wants more alignment, or the file system refuses */
        if (was_direct)
            atomic_store(&file->is_direct_refused, true);
        return was_direct ? 0 : error;
    default:
        return error;
    }
}

static bool wants_direct(const io_posix_file_t *file, bool is_write)
{
    return file->direct_fd >= 0 && (is_write ? file->direct_write : file->direct_read) &&
           !atomic_load_explicit(&file->is_direct_refused, memory_order_relaxed);
}

/* Moves what is left behind the cursor, and writes the result. */
static void move_all(ompi_io_transfer_t *transfer, io_posix_cursor_t cursor)
{
    io_posix_file_t *file = io_posix_file(transfer->file);
    const bool is_write = transfer->is_write;
    io_posix_call_t call;
    int error = fits(transfer) ? 0 : is_write ? EFBIG : EINVAL;
    while (error == 0) {
        io_posix_fill(&call, &cursor, wants_direct(file, is_write));
        if (call.count == 0)
            break;
        ssize_t moved = move(file, is_write, &call, cursor.offset);
        if (moved > 0)
            io_posix_pass(&cursor, (size_t)moved);
        else if (moved < 0)
            error = bear(file, is_write, call.is_direct, errno);
        else if (is_write)
            error = EIO; /* it would not end */
        else
            break; /* the file has ended */
    }
    transfer->done_bytes = cursor.offset - transfer->offset;
    transfer->error = error;
}

static io_posix_cursor_t start_of(const ompi_io_transfer_t *transfer)
{
    return (io_posix_cursor_t){
        .segments = transfer->segments, .count = transfer->count, .offset = transfer->offset};
}

void io_posix_transfer(ompi_io_transfer_t *transfer)
{
    move_all(transfer, start_of(transfer));
}

/* -- beginning --------------------------------------------------------------------------------- */

static void run(ompi_io_work_t *work)
{
    const io_posix_begun_t *begun = opal_container_of(work, io_posix_begun_t, work);
    ompi_io_transfer_t *transfer = begun->transfer;
    move_all(transfer, begun->cursor);
    transfer->ended(transfer);
}

void io_posix_use_pool(ompi_io_transfer_t *transfer)
{
    io_posix_begun_t *begun = io_posix_begun(transfer);
    begun->transfer = transfer;
    begun->work.run = run;
    ompi_io_pool_add(&begun->work);
}

/* Moves a little that the page cache has, or takes at once. False: it is to be done as if nothing
 * had been moved. */
static bool move_at_once(ompi_io_transfer_t *transfer)
{
    const io_posix_file_t *file = io_posix_file(transfer->file);
    const int fd = file->fd, count = (int)transfer->count;
    const off_t offset = (off_t)transfer->offset;
    uint64_t bytes = 0;
    if (wants_direct(file, transfer->is_write) || transfer->count > IO_POSIX_CALL_SEGMENTS ||
        !fits(transfer))
        return false;
    for (size_t i = 0; i < transfer->count; i++)
        bytes += transfer->segments[i].iov_len;
    if (bytes > SMALL_BYTES)
        return false;
    ssize_t moved = transfer->is_write ? pwritev2(fd, transfer->segments, count, offset, RWF_NOWAIT)
                                       : preadv2(fd, transfer->segments, count, offset, RWF_NOWAIT);
    if (moved < 0 || (uint64_t)moved < bytes)
        return false;
    transfer->done_bytes = bytes;
    transfer->error = 0;
    return true;
}

void io_posix_begin(ompi_io_transfer_t *transfer)
{
    if (move_at_once(transfer)) {
        transfer->ended(transfer);
        return;
    }
    io_posix_begun(transfer)->cursor = start_of(transfer);
    io_posix_pass(&io_posix_begun(transfer)->cursor, 0);
    if (io_posix_begun(transfer)->cursor.count > 0 && fits(transfer) &&
        !wants_direct(io_posix_file(transfer->file), transfer->is_write) && io_posix_use_uring &&
        io_posix_uring_begin(transfer))
        return;
    io_posix_use_pool(transfer);
}
