/* SPDX-License-Identifier: BSD-3-Clause */
/* Carrying out accesses: see access.h. */
#include "ompi/file/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opal/include/clock.h"
#include "ompi/file/file_lock.h"
#include "ompi/request/status.h"

enum {
    SEGMENTS = 64,              /* of memory, in one transfer */
    RUNS = 64,                  /* of the file that are looked at together */
    CONVERSION_BYTES = 1 << 18, /* that are converted at a time */
    PAGE_BYTES = 4096,
    SCATTERED_BYTES = 1024, /* the mean length of pieces from which a list of them pays */
    SPARE_BYTES = 1 << 22,  /* the longest buffer that stays */
    CHUNK_BYTES = 1 << 14,  /* packed between a buffer with holes and a window */
};

/* The memory of an access: the program's, or converted data. */
typedef struct memory {
    const ompi_datatype_t *type;
    size_t count;
    void *buffer;
    size_t from; /* the byte of its packed form that the next byte of the file belongs to */
} memory_t;

void ompi_access_fail_system(ompi_access_t *access, int error, uint64_t byte)
{
    access->error = ompi_file_class_of(error);
    access->system_error = error;
    access->error_byte = byte;
}

/* The bytes of the file from the first to the last of these positions. */
static ompi_run_t span(const ompi_view_t *view, uint64_t position, uint64_t bytes)
{
    if (!view->is_ordered)
        return (ompi_run_t){0, INT64_MAX};
    uint64_t first = (uint64_t)ompi_view_byte(view, position);
    return (ompi_run_t){first, (uint64_t)ompi_view_byte(view, position + bytes - 1) + 1 - first};
}

/* Carries a transfer out, and learns from it what transfers cost. */
static void transfer_and_learn(ompi_file_t *file, ompi_io_transfer_t *transfer, uint64_t bytes)
{
    if (!ompi_file_costs_wants(&file->costs, bytes)) {
        file->io->ops->transfer(transfer);
        return;
    }
    uint64_t start = opal_clock_nsec();
    file->io->ops->transfer(transfer);
    if (transfer->done_bytes == bytes)
        ompi_file_costs_learn(&file->costs, transfer->is_write, bytes, opal_clock_nsec() - start);
}

/* -- a piece after the other ----------------------------------------------------------------- */

/* Cuts the segments to so many bytes in all. Returns how many are left. */
static size_t cut(struct iovec *segments, size_t count, size_t bytes)
{
    size_t used = 0;
    for (; used < count && bytes > 0; used++) {
        if (segments[used].iov_len > bytes)
            segments[used].iov_len = bytes;
        bytes -= segments[used].iov_len;
    }
    return used;
}

/* One piece. Returns the bytes that were moved. */
static uint64_t move_run(ompi_access_t *access, memory_t *memory, ompi_run_t run)
{
    struct iovec segments[SEGMENTS];
    uint64_t done = 0;
    while (done < run.bytes) {
        size_t listed;
        size_t count = ompi_datatype_segments(memory->type, memory->count, memory->buffer,
                                              memory->from, segments, SEGMENTS, &listed);
        uint64_t wanted = run.bytes - done < listed ? run.bytes - done : listed;
        ompi_io_transfer_t transfer = {.file = access->file->io,
                                       .is_write = access->is_write,
                                       .offset = run.offset + done,
                                       .segments = segments,
                                       .count = cut(segments, count, wanted)};
        transfer_and_learn(access->file, &transfer, wanted);
        done += transfer.done_bytes;
        memory->from += transfer.done_bytes;
        if (transfer.error != 0)
            ompi_access_fail_system(access, transfer.error, run.offset + done);
        if (transfer.done_bytes < wanted)
            break;
    }
    return done;
}

static uint64_t move_runs(ompi_access_t *access, memory_t *memory, const ompi_run_t *runs,
                          size_t count)
{
    uint64_t done = 0;
    for (size_t i = 0; i < count; i++) {
        ompi_file_hold_t hold = {0};
        ompi_file_lock(access, OMPI_FILE_LOCK_PIECE, runs[i], &hold);
        uint64_t moved = move_run(access, memory, runs[i]);
        ompi_file_unlock(&hold);
        done += moved;
        if (moved < runs[i].bytes)
            break;
    }
    return done;
}

/* -- data sieving ---------------------------------------------------------------------------- */

static uint64_t window_bytes(const ompi_access_t *access)
{
    const ompi_file_hints_t *hints = &access->file->hints;
    return access->is_write ? hints->write_buffer_bytes : hints->read_buffer_bytes;
}

/* Whether pieces are read with what is between them, straight into the program's memory. Of short
 * ones the system's list costs more than a copy. */
static bool is_scattered(const ompi_access_t *access, const memory_t *memory, size_t count,
                         uint64_t listed)
{
    return !access->is_write && listed / count >= SCATTERED_BYTES &&
           ompi_datatype_is_contiguous(memory->type);
}

/* Whether it costs less to move all bytes from the first piece to the last, and for a write to read
 * them before, than to make a call for each piece. */
static bool is_sieved(const ompi_access_t *access, const ompi_run_t *runs, size_t count,
                      uint64_t listed, bool is_copied)
{
    const ompi_file_hints_t *hints = &access->file->hints;
    uint32_t wish = access->is_write ? hints->ds_write : hints->ds_read;
    if (count < 2 || wish == OMPI_HINT_DISABLE || !access->view->is_ordered)
        return false;
    if (access->is_write && !ompi_file_may_sieve_writes(access->file))
        return false;
    if (wish == OMPI_HINT_ENABLE)
        return true;
    uint64_t span = runs[count - 1].offset + runs[count - 1].bytes - runs[0].offset;
    span -= is_copied ? 0 : listed;
    ompi_file_cost_t cost = ompi_file_costs_now(&access->file->costs, access->is_write);
    return ompi_file_cost_favors_sieve(&cost, access->is_write, span, listed, count);
}

/* A buffer begins with a page that has its length, so that its data can be transferred directly. */
static uint64_t *length_of(void *buffer)
{
    return (void *)((char *)buffer - PAGE_BYTES);
}

void *ompi_access_take_buffer(ompi_file_t *file, size_t bytes)
{
    void *page, *buffer = atomic_exchange(&file->buffer, NULL);
    if (buffer != NULL && *length_of(buffer) >= bytes)
        return buffer;
    if (buffer != NULL)
        free(length_of(buffer));
    if (posix_memalign(&page, PAGE_BYTES, PAGE_BYTES + bytes) != 0)
        return NULL;
    buffer = (char *)page + PAGE_BYTES;
    *length_of(buffer) = bytes;
    return buffer;
}

void ompi_access_give_buffer(ompi_file_t *file, void *buffer)
{
    if (buffer != NULL && *length_of(buffer) <= SPARE_BYTES)
        buffer = atomic_exchange(&file->buffer, buffer);
    if (buffer != NULL)
        free(length_of(buffer));
}

void ompi_access_free_buffer(ompi_file_t *file)
{
    if (file->buffer != NULL)
        free(length_of(file->buffer));
}

/* Between the program's buffer and the window: the data of these positions. */
static void move_window(const ompi_access_t *access, memory_t *memory, uint64_t position,
                        size_t bytes, char *window, uint64_t first)
{
    char chunk[CHUNK_BYTES];
    const ompi_view_t *view = access->view;
    bool is_run = ompi_datatype_is_contiguous(memory->type);
    for (size_t done = 0, part; done < bytes; done += part) {
        part = is_run ? bytes : ompi_datatype_clamp(bytes, done, sizeof chunk);
        void *data =
            is_run ? (void *)(ompi_datatype_origin(memory->type, memory->buffer) + memory->from)
                   : chunk;
        if (!is_run && access->is_write)
            ompi_datatype_pack(memory->type, memory->count, memory->buffer, memory->from, chunk,
                               part);
        if (access->is_write)
            ompi_view_to_window(view, position + done, part, data, window, first);
        else
            ompi_view_from_window(view, position + done, part, data, window, first);
        if (!is_run && !access->is_write)
            ompi_datatype_unpack(memory->type, memory->count, memory->buffer, memory->from, chunk,
                                 part);
        memory->from += part;
    }
}

uint64_t ompi_access_transfer(ompi_access_t *access, bool is_write, ompi_run_t range, void *window)
{
    struct iovec segment = {window, range.bytes};
    ompi_io_transfer_t transfer = {.file = access->file->io,
                                   .is_write = is_write,
                                   .offset = range.offset,
                                   .segments = &segment,
                                   .count = 1};
    transfer_and_learn(access->file, &transfer, range.bytes);
    if (transfer.error != 0)
        ompi_access_fail_system(access, transfer.error, range.offset + transfer.done_bytes);
    return transfer.done_bytes;
}

void ompi_access_move_window(const ompi_access_t *access, uint64_t done, size_t bytes, void *window,
                             uint64_t first)
{
    memory_t memory = {access->type, access->count, access->buffer, done};
    move_window(access, &memory, access->position + done, bytes, window, first);
}

/* A window: reads it, and takes the data out or puts it in and writes it back. Returns the bytes of
 * data. */
static uint64_t sieve_window(ompi_access_t *access, memory_t *memory, uint64_t position,
                             uint64_t bytes, char *window, ompi_run_t range)
{
    uint64_t moved = ompi_access_transfer(access, false, range, window);
    if (access->error != MPI_SUCCESS)
        return 0;
    if (access->is_write) {
        memset(window + moved, 0, range.bytes - moved);
        move_window(access, memory, position, bytes, window, range.offset);
        moved = ompi_access_transfer(access, true, range, window);
    }
    if (moved < range.bytes) {
        MPI_Offset end = (MPI_Offset)(range.offset + moved);
        bytes = ompi_view_bytes_before(access->view, end) - position;
    }
    if (!access->is_write)
        move_window(access, memory, position, bytes, window, range.offset);
    return bytes;
}

/* Where the window ends that begins at a byte: at a boundary that the file system likes. */
static uint64_t window_end(const ompi_access_t *access, uint64_t first, size_t room)
{
    uint64_t unit = access->file->io->unit;
    return unit > 1 && unit < room ? (first + room) / unit * unit : first + room;
}

/* As many windows as the data needs; `bytes` is not 0. */
static uint64_t sieve(ompi_access_t *access, memory_t *memory, uint64_t position, uint64_t bytes)
{
    const ompi_view_t *view = access->view;
    size_t room = window_bytes(access);
    uint64_t done = 0;
    char *window = ompi_access_take_buffer(access->file, room);
    if (window == NULL) {
        access->error = MPI_ERR_NO_MEM;
        return 0;
    }
    while (done < bytes && access->error == MPI_SUCCESS) {
        uint64_t start = position + done, first = (uint64_t)ompi_view_byte(view, start);
        uint64_t end = window_end(access, first, room);
        uint64_t part = ompi_view_position(view, end) - start;
        part = part < bytes - done ? part : bytes - done;
        ompi_run_t range = span(view, start, part);
        if (access->is_write && done + part < bytes) /* windows without gaps make large pages */
            range.bytes = end - first;
        ompi_file_hold_t hold = {0};
        ompi_file_lock(access, OMPI_FILE_LOCK_WINDOW, range, &hold);
        uint64_t moved = 0;
        if (access->error == MPI_SUCCESS)
            moved = sieve_window(access, memory, start, part, window, range);
        ompi_file_unlock(&hold);
        done += moved;
        if (moved < part)
            break;
    }
    ompi_access_give_buffer(access->file, window);
    return done;
}

/* Reads pieces by one transfer, as long as what is between two of them is no longer than the buffer
 * that it goes to, which nobody looks at. *part becomes the bytes of data that it was to read. */
static uint64_t scatter(ompi_access_t *access, memory_t *memory, uint64_t position,
                        const ompi_run_t *runs, size_t count, uint64_t *part)
{
    struct iovec segments[2 * RUNS];
    size_t room = window_bytes(access), used = 0;
    uint64_t end = runs[0].offset;
    char *between = ompi_access_take_buffer(access->file, room);
    char *data = (char *)ompi_datatype_origin(memory->type, memory->buffer) + memory->from;
    *part = 0;
    for (size_t i = 0; between != NULL && i < count && runs[i].offset - end <= room; i++) {
        if (i > 0)
            segments[used++] = (struct iovec){between, runs[i].offset - end};
        segments[used++] = (struct iovec){data + *part, runs[i].bytes};
        *part += runs[i].bytes;
        end = runs[i].offset + runs[i].bytes;
    }
    ompi_io_transfer_t transfer = {
        .file = access->file->io, .offset = runs[0].offset, .segments = segments, .count = used};
    transfer_and_learn(access->file, &transfer, end - runs[0].offset);
    ompi_access_give_buffer(access->file, between);
    if (transfer.error != 0)
        ompi_access_fail_system(access, transfer.error, transfer.offset + transfer.done_bytes);
    else if (between == NULL)
        access->error = MPI_ERR_NO_MEM;
    uint64_t moved = *part;
    if (transfer.offset + transfer.done_bytes < end)
        moved = ompi_view_bytes_before(access->view,
                                       (MPI_Offset)(transfer.offset + transfer.done_bytes)) -
                position;
    memory->from += moved;
    return moved;
}

/* -- all of it ------------------------------------------------------------------------------- */

/* How far a sieve goes before the pieces are looked at again: it may change from a part of a view
 * to the next. */
static uint64_t sieve_length(const ompi_access_t *access, uint64_t listed, uint64_t rest)
{
    uint64_t windows = listed > window_bytes(access) ? listed : 16 * window_bytes(access);
    return windows < rest ? windows : rest;
}

/* Moves bytes of the view's data. Returns how many. */
static uint64_t move(ompi_access_t *access, memory_t *memory, uint64_t position, uint64_t bytes)
{
    ompi_run_t runs[RUNS];
    uint64_t done = 0;
    while (done < bytes && access->error == MPI_SUCCESS) {
        uint64_t listed, moved;
        size_t count =
            ompi_view_runs(access->view, position + done, bytes - done, runs, RUNS, &listed);
        if (count == 0) {
            ompi_access_fail_system(access, EFBIG, INT64_MAX);
            break;
        }
        bool is_direct = is_scattered(access, memory, count, listed);
        if (!is_sieved(access, runs, count, listed, !is_direct)) {
            moved = move_runs(access, memory, runs, count);
        } else if (is_direct) {
            moved = scatter(access, memory, position + done, runs, count, &listed);
        } else {
            listed = sieve_length(access, listed, bytes - done);
            moved = sieve(access, memory, position + done, listed);
        }
        done += moved;
        if (moved < listed)
            break;
    }
    return done;
}

/* Some elements in another representation, from byte `done` of the access on, through a buffer.
 * Returns the bytes that were moved; *part is what it was about. */
static uint64_t move_elements(ompi_access_t *access, char *room, uint64_t done, uint64_t *part)
{
    const ompi_datarep_t *datarep = access->view->datarep;
    ompi_datatype_t *type = access->type;
    size_t count = access->count;
    uint64_t rest = access->bytes - done;
    uint64_t limit = done + (rest < CONVERSION_BYTES ? rest : CONVERSION_BYTES);
    size_t from = ompi_datarep_elements_in(datarep, type, count, done);
    size_t elements = ompi_datarep_elements_in(datarep, type, count, limit) - from;
    *part = ompi_datarep_bytes_of(datarep, type, count, from + elements) - done;
    memory_t memory = {ompi_datatype_of(MPI_BYTE), *part, room, 0};
    if (access->is_write)
        access->error =
            ompi_datarep_write(datarep, type, count, access->buffer, from, elements, room);
    if (access->error != MPI_SUCCESS)
        return 0;
    uint64_t moved = move(access, &memory, access->position + done, *part);
    if (access->is_write || access->error != MPI_SUCCESS)
        return moved;
    elements = ompi_datarep_elements_in(datarep, type, count, done + moved) - from;
    access->error = ompi_datarep_read(datarep, type, count, access->buffer, from, elements, room);
    return moved;
}

static uint64_t move_converted(ompi_access_t *access)
{
    char *room = malloc(CONVERSION_BYTES);
    uint64_t done = 0;
    if (room == NULL)
        access->error = MPI_ERR_NO_MEM;
    while (done < access->bytes && access->error == MPI_SUCCESS) {
        uint64_t part, moved = move_elements(access, room, done, &part);
        done += moved;
        if (moved < part)
            break;
    }
    free(room);
    return done;
}

/* What most accesses are: a piece of the file, and one of memory. */
static void run_piece(ompi_access_t *access, ompi_run_t run)
{
    ompi_file_hold_t hold = {0};
    ompi_file_lock(access, OMPI_FILE_LOCK_PIECE, run, &hold);
    if (access->error == MPI_SUCCESS)
        access->done_bytes =
            ompi_access_transfer(access, access->is_write, run,
                                 (void *)ompi_datatype_origin(access->type, access->buffer));
    ompi_file_unlock(&hold);
}

void ompi_access_run(ompi_access_t *access)
{
    ompi_file_hold_t hold = {0};
    uint64_t first;
    if (access->bytes == 0)
        return;
    if (ompi_access_is_one_transfer(access, &first) && ompi_datatype_is_contiguous(access->type)) {
        run_piece(access, (ompi_run_t){first, access->bytes});
        return;
    }
    if (access->is_atomic)
        ompi_file_lock(access, OMPI_FILE_LOCK_ALL,
                       span(access->view, access->position, access->bytes), &hold);
    memory_t memory = {access->type, access->count, access->buffer, 0};
    if (access->error == MPI_SUCCESS)
        access->done_bytes = ompi_datarep_is_native(access->view->datarep)
                                 ? move(access, &memory, access->position, access->bytes)
                                 : move_converted(access);
    ompi_file_unlock(&hold);
}

bool ompi_access_is_one_transfer(const ompi_access_t *access, uint64_t *first)
{
    ompi_run_t run;
    uint64_t listed = 0;
    if (access->is_atomic || !ompi_datarep_is_native(access->view->datarep) || access->bytes == 0)
        return false;
    ompi_view_runs(access->view, access->position, access->bytes, &run, 1, &listed);
    *first = run.offset;
    return listed == access->bytes;
}
