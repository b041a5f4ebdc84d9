/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every io component promises (ompi/mca/io/io.h), held against each of them: whole files, by
 * their operations alone.
 */
#include "ompi/mca/io/io.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "ompi/api/mpi.h"
#include "ompi/mca/io/base/base.h"
#include "ompi/mca/io/base/pool.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

enum { BYTES = 300000, UNDER_WAY = 40, PIECE = 100000, MAX_SEGMENTS = 40 };

extern const opal_component_t mca_io_posix_component;
static const opal_component_t *const components[] = {&mca_io_posix_component};

static const ompi_io_hints_t hints = {.start_iodevice = -1, .permissions = 0600};
static char out[BYTES], in[BYTES];

static void setup(void)
{
    ompi_io_threads = 2;
    for (size_t i = 0; i < OPAL_COUNT_OF(components); i++)
        opal_param_register("io", components[i]->name, components[i]->params);
    srand(5);
    for (size_t i = 0; i < BYTES; i++)
        out[i] = (char)(i * 7 + i / 251 + 1);
}

static const ompi_io_ops_t *ops_of(int index)
{
    opal_answer_t answer = {0};
    components[index]->query(&answer);
    ck_assert(answer.usable);
    return answer.ops;
}

static ompi_io_file_t *open_file(const ompi_io_ops_t *ops, const char *name, int amode)
{
    ompi_io_file_t *file = NULL;
    ck_assert_int_eq(ops->open(unit_path(name), amode, true, &hints, &file), 0);
    ck_assert_ptr_eq(file->ops, ops);
    ck_assert_ptr_nonnull(file->system);
    ck_assert_uint_gt(file->unit, 0);
    return file;
}

static ompi_io_file_t *make_file(const ompi_io_ops_t *ops, const char *name)
{
    return open_file(ops, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
}

/* Returns how many bytes were moved. */
static uint64_t move(ompi_io_file_t *file, bool is_write, uint64_t offset, void *memory,
                     size_t bytes)
{
    struct iovec segment = {memory, bytes};
    ompi_io_transfer_t transfer = {
        .file = file, .is_write = is_write, .offset = offset, .segments = &segment, .count = 1};
    file->ops->transfer(&transfer);
    ck_assert_int_eq(transfer.error, 0);
    return transfer.done_bytes;
}

static uint64_t size_of(ompi_io_file_t *file)
{
    uint64_t bytes = 0;
    ck_assert_int_eq(file->ops->size(file, &bytes), 0);
    return bytes;
}

/* -- opening and removing ---------------------------------------------------------------------- */

START_TEST(files_are_made_opened_and_removed)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    const char *path = unit_path("made");
    const int makes = MPI_MODE_RDWR | MPI_MODE_CREATE, excludes = makes | MPI_MODE_EXCL;
    unsigned before = unit_descriptors();
    ompi_io_file_t *file = NULL, *other;
    ck_assert_int_eq(ops->open(path, MPI_MODE_RDWR, true, &hints, &file), ENOENT);
    ck_assert_int_eq(ops->open(path, makes, false, &hints, &file), ENOENT);
    ck_assert_ptr_null(file);
    file = open_file(ops, "made", excludes);
    ck_assert_int_eq(ops->open(path, excludes, true, &hints, &other), EEXIST);
    ck_assert_int_eq(ops->open(path, excludes, false, &hints, &other), 0);
    ck_assert_int_eq(ops->close(other), 0);
    ck_assert_int_eq(ops->close(file), 0);
    ck_assert_int_eq(ops->remove(path), 0);
    ck_assert_int_eq(ops->remove(path), ENOENT);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(a_file_that_exists_keeps_what_it_holds)
{
    static const int amodes[] = {MPI_MODE_RDONLY, MPI_MODE_RDWR | MPI_MODE_CREATE,
                                 MPI_MODE_WRONLY | MPI_MODE_APPEND};
    const ompi_io_ops_t *ops = ops_of(_i);
    unit_file("kept", "something");
    for (size_t i = 0; i < OPAL_COUNT_OF(amodes); i++) {
        ompi_io_file_t *file = open_file(ops, "kept", amodes[i]);
        ck_assert_uint_eq(size_of(file), 9);
        if (i < 2)
            ck_assert_uint_eq(move(file, false, 0, in, 100), 9);
        ck_assert_int_eq(ops->close(file), 0);
    }
    ck_assert_mem_eq(in, "something", 9);
}
END_TEST

START_TEST(a_file_is_used_as_it_was_opened)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    struct iovec segment = {in, 3};
    unit_file("mode", "something");
    ompi_io_transfer_t transfer = {.segments = &segment, .count = 1};
    transfer.file = open_file(ops, "mode", MPI_MODE_RDONLY);
    transfer.is_write = true;
    ops->transfer(&transfer);
    ck_assert_int_ne(transfer.error, 0);
    ck_assert_uint_eq(transfer.done_bytes, 0);
    ck_assert_int_eq(ops->sync(transfer.file), 0);
    ck_assert_int_eq(ops->close(transfer.file), 0);
    transfer.file = open_file(ops, "mode", MPI_MODE_WRONLY | MPI_MODE_APPEND);
    ck_assert_uint_eq(move(transfer.file, true, 0, out, 2), 2); /* where the offset says */
    transfer.is_write = false;
    ops->transfer(&transfer);
    ck_assert(transfer.file->can_read == (transfer.error == 0));
    ck_assert_uint_eq(size_of(transfer.file), 9);
    ck_assert_int_eq(ops->close(transfer.file), 0);
}
END_TEST

/* -- sizes ------------------------------------------------------------------------------------- */

START_TEST(sizes_are_set_and_room_is_made)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    ompi_io_file_t *file = make_file(ops, "sized");
    ck_assert_uint_eq(size_of(file), 0);
    ck_assert_uint_eq(move(file, true, 0, out, 5000), 5000);
    ck_assert_int_eq(ops->set_size(file, 9000), 0);
    ck_assert_uint_eq(size_of(file), 9000);
    ck_assert_int_eq(ops->preallocate(file, 8000), 0);
    ck_assert_int_eq(ops->preallocate(file, 0), 0);
    ck_assert_uint_eq(size_of(file), 9000); /* it never shrinks */
    ck_assert_int_eq(ops->preallocate(file, 100000), 0);
    ck_assert_uint_eq(size_of(file), 100000);
    ck_assert_uint_eq(move(file, false, 0, in, 5000), 5000);
    ck_assert_mem_eq(in, out, 5000);
    ck_assert_int_eq(ops->set_size(file, 3), 0);
    ck_assert_uint_eq(move(file, false, 0, in, 5000), 3);
    ck_assert_int_eq(ops->sync(file), 0);
    ck_assert_int_eq(ops->close(file), 0);
}
END_TEST

START_TEST(a_read_ends_with_the_file)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    ompi_io_file_t *file = make_file(ops, "end");
    ck_assert_uint_eq(move(file, false, 0, in, 10), 0);
    ck_assert_uint_eq(move(file, true, 1000, out, 10), 10);
    memset(in, 5, BYTES);
    ck_assert_uint_eq(move(file, false, 0, in, 5000), 1010);
    ck_assert(in[0] == 0 && in[999] == 0 && in[1010] == 5); /* a hole reads as zeros */
    ck_assert_mem_eq(in + 1000, out, 10);
    ck_assert_uint_eq(move(file, false, 1010, in, 1), 0);
    ck_assert_uint_eq(move(file, false, INT64_MAX - 5, in, 5), 0);
    ck_assert_uint_eq(move(file, false, 0, in, 0), 0);
    ck_assert_uint_eq(move(file, true, 5000, in, 0), 0);
    ck_assert_uint_eq(size_of(file), 1010);
    ck_assert_int_eq(ops->close(file), 0);
}
END_TEST

/* -- segments ---------------------------------------------------------------------------------- */

/* Cuts memory into segments, of which some are empty. */
static size_t cut(char *memory, size_t bytes, struct iovec *segments)
{
    size_t count = 0;
    for (size_t done = 0; done < bytes || count == 0; count++) {
        size_t length = rand() % 3 == 0 ? 0 : (size_t)rand() % (bytes / 8 + 2);
        if (length > bytes - done || count == MAX_SEGMENTS - 1)
            length = bytes - done;
        segments[count] = (struct iovec){memory + done, length};
        done += length;
    }
    return count;
}

START_TEST(segments_are_moved_in_their_order)
{
    static char model[BYTES];
    const ompi_io_ops_t *ops = ops_of(_i);
    struct iovec segments[MAX_SEGMENTS];
    ompi_io_file_t *file = make_file(ops, "segments");
    ompi_io_transfer_t transfer = {.file = file, .segments = segments};
    ck_assert_uint_eq(move(file, true, 0, model, BYTES), BYTES);
    for (int round = 0; round < 200; round++) {
        size_t bytes = (size_t)rand() % 20000, offset = (size_t)rand() % (BYTES - bytes);
        transfer.is_write = round % 2 == 0;
        transfer.offset = offset;
        transfer.count = cut((transfer.is_write ? out : in) + bytes, bytes, segments);
        ops->transfer(&transfer);
        ck_assert_int_eq(transfer.error, 0);
        ck_assert_uint_eq(transfer.done_bytes, bytes);
        if (transfer.is_write)
            memcpy(model + offset, out + bytes, bytes);
        else
            ck_assert_mem_eq(in + bytes, model + offset, bytes);
    }
    ck_assert_int_eq(ops->close(file), 0);
}
END_TEST

/* -- transfers that are begun ------------------------------------------------------------------ */

typedef struct begun {
    ompi_io_transfer_t transfer;
    struct iovec segments[MAX_SEGMENTS];
    atomic_uint ends;
} begun_t;

static begun_t begun[UNDER_WAY];
static sem_t ended;

static void note_end(ompi_io_transfer_t *transfer)
{
    atomic_fetch_add(&((begun_t *)transfer->context)->ends, 1);
    sem_post(&ended);
}

static void begin_all(ompi_io_file_t *file, bool is_write, char *memory)
{
    for (size_t i = 0; i < UNDER_WAY; i++) {
        size_t bytes = BYTES / UNDER_WAY;
        begun[i].transfer = (ompi_io_transfer_t){.file = file,
                                                 .is_write = is_write,
                                                 .offset = i * bytes,
                                                 .segments = begun[i].segments,
                                                 .ended = note_end,
                                                 .context = &begun[i]};
        begun[i].transfer.count = cut(memory + i * bytes, bytes, begun[i].segments);
        file->ops->begin(&begun[i].transfer);
    }
}

static void await_all(unsigned ends)
{
    for (size_t i = 0; i < UNDER_WAY; i++) {
        while (sem_trywait(&ended) != 0)
            opal_progress();
    }
    ompi_io_pool_stop(); /* nothing comes behind */
    for (size_t i = 0; i < UNDER_WAY; i++) {
        ck_assert_uint_eq(begun[i].ends, ends);
        ck_assert_int_eq(begun[i].transfer.error, 0);
        ck_assert_uint_eq(begun[i].transfer.done_bytes, BYTES / UNDER_WAY);
    }
}

START_TEST(many_are_under_way_and_each_ends_once)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    ompi_io_file_t *file = make_file(ops, "begun");
    sem_init(&ended, 0, 0);
    begin_all(file, true, out);
    await_all(1);
    begin_all(file, false, in);
    await_all(2);
    ck_assert_mem_eq(in, out, BYTES / UNDER_WAY * UNDER_WAY);
    ck_assert_int_eq(ops->close(file), 0);
}
END_TEST

START_TEST(what_is_begun_ends_with_the_file_and_with_errors)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    unit_file("little", "something");
    sem_init(&ended, 0, 0);
    for (int is_write = 0; is_write < 2; is_write++) {
        begun[0].segments[0] = (struct iovec){in, PIECE};
        begun[0].transfer = (ompi_io_transfer_t){.file = open_file(ops, "little", MPI_MODE_RDONLY),
                                                 .is_write = is_write,
                                                 .segments = begun[0].segments,
                                                 .count = 1,
                                                 .ended = note_end,
                                                 .context = &begun[0]};
        ops->begin(&begun[0].transfer);
        while (sem_trywait(&ended) != 0)
            opal_progress();
        ck_assert_int_eq(begun[0].transfer.error != 0, is_write);
        ck_assert_uint_eq(begun[0].transfer.done_bytes, is_write ? 0 : 9);
        ompi_io_pool_stop();
        ck_assert_int_eq(ops->close(begun[0].transfer.file), 0);
    }
}
END_TEST

/* -- locks ------------------------------------------------------------------------------------- */

/* Each adds to a number in the file, by an open file of its own. */
static void *count_up(void *context)
{
    ompi_io_file_t *file = context;
    const ompi_io_ops_t *ops = file->ops;
    uint64_t number;
    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(ops->lock(file, 100, sizeof number, true), 0);
        ck_assert_uint_eq(move(file, false, 100, &number, sizeof number), sizeof number);
        number++;
        ck_assert_uint_eq(move(file, true, 100, &number, sizeof number), sizeof number);
        ck_assert_int_eq(ops->unlock(file, 100, sizeof number), 0);
        if (i % 16 == 0)
            sched_yield();
    }
    ck_assert_int_eq(ops->close(file), 0);
    return NULL;
}

static bool can_lock(const ompi_io_ops_t *ops, ompi_io_file_t *file)
{
    if (ops->probe_locks != NULL)
        ops->probe_locks(file);
    return file->can_lock;
}

START_TEST(a_lock_excludes_others)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    ompi_io_file_t *file = make_file(ops, "counted");
    pthread_t threads[3];
    uint64_t number = 0;
    if (can_lock(ops, file)) {
        ck_assert_uint_eq(move(file, true, 100, &number, sizeof number), sizeof number);
        for (size_t i = 0; i < OPAL_COUNT_OF(threads); i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up,
                                            open_file(ops, "counted", MPI_MODE_RDWR)),
                             0);
        for (size_t i = 0; i < OPAL_COUNT_OF(threads); i++)
            pthread_join(threads[i], NULL);
        ck_assert_uint_eq(move(file, false, 100, &number, sizeof number), sizeof number);
        ck_assert_uint_eq(number, 500 * OPAL_COUNT_OF(threads));
    }
    ck_assert_int_eq(ops->close(file), 0);
}
END_TEST

START_TEST(readers_share_a_lock_and_other_ranges_are_free)
{
    const ompi_io_ops_t *ops = ops_of(_i);
    ompi_io_file_t *one = make_file(ops, "shared"), *other = make_file(ops, "shared");
    if (can_lock(ops, one)) {
        ck_assert_int_eq(ops->lock(one, 10, 10, false), 0);
        ck_assert_int_eq(ops->lock(other, 0, 100, false), 0);
        ck_assert_int_eq(ops->unlock(other, 0, 100), 0);
        ck_assert_int_eq(ops->lock(other, 20, INT64_MAX - 20, true), 0);
        ck_assert_int_eq(ops->lock(other, 0, 10, true), 0);
        ck_assert_int_eq(ops->lock(one, 0, 0, true), EINVAL);
        ck_assert_int_eq(ops->lock(one, UINT64_MAX, 1, true), EINVAL);
    }
    ck_assert_int_eq(ops->close(one), 0);
    ck_assert_int_eq(ops->close(other), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &files_are_made_opened_and_removed, .repeats = OPAL_COUNT_OF(components)},
    {.test = &a_file_that_exists_keeps_what_it_holds, .repeats = OPAL_COUNT_OF(components)},
    {.test = &a_file_is_used_as_it_was_opened, .repeats = OPAL_COUNT_OF(components)},
    {.test = &sizes_are_set_and_room_is_made, .repeats = OPAL_COUNT_OF(components)},
    {.test = &a_read_ends_with_the_file, .repeats = OPAL_COUNT_OF(components)},
    {.test = &segments_are_moved_in_their_order, .repeats = OPAL_COUNT_OF(components)},
    {.test = &many_are_under_way_and_each_ends_once, .repeats = OPAL_COUNT_OF(components)},
    {.test = &what_is_begun_ends_with_the_file_and_with_errors,
     .repeats = OPAL_COUNT_OF(components)},
    {.test = &a_lock_excludes_others, .repeats = OPAL_COUNT_OF(components)},
    {.test = &readers_share_a_lock_and_other_ranges_are_free, .repeats = OPAL_COUNT_OF(components)},
};

UNIT_MAIN("contract", tests, setup);
