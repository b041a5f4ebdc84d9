/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/file_lock.c: which locks an access takes, of the node and of the file system. */
#include "ompi/file/file_lock.h"

#include <errno.h>

#include "opal/mca/pmi/pmi.h"
#include "opal/process/job.h"
#include "test/unit/opal/support.h"

const opal_pmi_job_t *__wrap_opal_job(void);

static opal_pmi_job_t job;
static int locked, lock_error;
static bool was_exclusive;

const opal_pmi_job_t *__wrap_opal_job(void)
{
    return &job;
}

static int lock(ompi_io_file_t *file OPAL_UNUSED, uint64_t offset, uint64_t bytes,
                bool is_exclusive)
{
    ck_assert(offset == 100 && bytes == 50);
    was_exclusive = is_exclusive;
    locked += lock_error == 0;
    return lock_error;
}

static int unlock(ompi_io_file_t *file OPAL_UNUSED, uint64_t offset, uint64_t bytes)
{
    ck_assert(offset == 100 && bytes == 50);
    locked--;
    return 0;
}

static const ompi_io_ops_t ops = {.name = "fake", .lock = lock, .unlock = unlock};
static ompi_io_file_t io = {.ops = &ops, .identity = 4711, .can_read = true};
static ompi_file_area_t area = {.nodes = 1};
static ompi_file_t file = {.io = &io, .area = &area, .hints = {.ds_write = OMPI_HINT_ENABLE}};
static const ompi_run_t range = {100, 50};

static ompi_range_lock_entry_t entry_of(const ompi_file_hold_t *hold)
{
    return hold->locks->table->entries[hold->entry];
}

static const struct {
    ompi_file_lock_kind_t kind;
    bool is_write, is_atomic;
    /* The second one where the job has more nodes, and writes may be sieved. */
    enum { NONE, SHARED, EXCLUSIVE } node, system;
} rows[] = {
    {OMPI_FILE_LOCK_PIECE, false, false, NONE, NONE},
    {OMPI_FILE_LOCK_PIECE, true, false, SHARED, SHARED},
    {OMPI_FILE_LOCK_PIECE, true, true, NONE, NONE}, /* it has all of it already */
    {OMPI_FILE_LOCK_WINDOW, false, false, NONE, NONE},
    {OMPI_FILE_LOCK_WINDOW, true, false, EXCLUSIVE, EXCLUSIVE},
    {OMPI_FILE_LOCK_WINDOW, true, true, NONE, NONE},
    {OMPI_FILE_LOCK_ALL, false, true, SHARED, SHARED},
    {OMPI_FILE_LOCK_ALL, true, true, EXCLUSIVE, EXCLUSIVE},
};

START_TEST(an_access_takes_what_it_needs)
{
    for (int way = 0; way < 3; way++) {
        ompi_access_t access = {
            .file = &file, .is_write = rows[_i].is_write, .is_atomic = rows[_i].is_atomic};
        ompi_file_hold_t hold = {0};
        job.local_size = way == 0 ? 4 : 2;
        io.can_lock = way < 2;
        ompi_file_lock(&access, rows[_i].kind, range, &hold);
        ck_assert_int_eq(hold.locks != NULL, rows[_i].node != NONE);
        if (hold.locks != NULL) {
            ck_assert_uint_eq(entry_of(&hold).first, 100);
            ck_assert_uint_eq(entry_of(&hold).last, 149);
            /* The system has one lock for all threads of a process: no two of them overlap. */
            ck_assert_int_eq(entry_of(&hold).is_exclusive != 0,
                             rows[_i].node == EXCLUSIVE || way == 1);
        }
        ck_assert_int_eq(locked, way == 1 && rows[_i].system != NONE);
        ck_assert(locked == 0 || was_exclusive == (rows[_i].system == EXCLUSIVE));
        ompi_file_unlock(&hold);
        ck_assert_int_eq(locked, 0);
        ck_assert(hold.locks == NULL || atomic_load(&hold.locks->table->used) == 0);
        ck_assert_int_eq(access.error, MPI_SUCCESS);
    }
}
END_TEST

START_TEST(no_bytes_need_no_lock)
{
    ompi_access_t access = {.file = &file, .is_write = true};
    ompi_file_hold_t hold = {0};
    ompi_file_lock(&access, OMPI_FILE_LOCK_WINDOW, (ompi_run_t){100, 0}, &hold);
    ck_assert_ptr_null(hold.locks);
    ompi_file_unlock(&hold);
}
END_TEST

START_TEST(an_error_of_the_system_is_that_of_the_access)
{
    ompi_access_t access = {.file = &file, .is_write = true};
    ompi_file_hold_t hold = {0};
    job.local_size = 2;
    io.can_lock = true;
    lock_error = ENOLCK;
    ompi_file_lock(&access, OMPI_FILE_LOCK_WINDOW, range, &hold);
    ck_assert_int_eq(access.system_error, ENOLCK);
    ck_assert_int_eq(access.error, MPI_ERR_IO);
    ompi_file_unlock(&hold);
    ck_assert_int_eq(locked, 0); /* what was not locked is not unlocked */
    ck_assert_uint_eq(atomic_load(&hold.locks->table->used), 0);
}
END_TEST

START_TEST(writes_are_sieved_where_all_take_the_locks)
{
    for (int i = 0; i < 32; i++) {
        bool is_here = (i & 1) != 0 && (i & 16) == 0, is_asked = (i & 2) != 0;
        area.nodes = (i & 16) == 0 ? 1 : 2; /* a rank of another job does not share the locks */
        io.can_lock = (i & 4) != 0;
        io.can_read = (i & 8) != 0;
        job.local_size = (i & 1) != 0 ? 4 : 2;
        file.hints.ds_write = is_asked ? OMPI_HINT_ENABLE : OMPI_HINT_AUTOMATIC;
        ck_assert_int_eq(ompi_file_may_sieve_writes(&file),
                         io.can_read && (is_here || (is_asked && io.can_lock)));
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_access_takes_what_it_needs, .repeats = OPAL_COUNT_OF(rows)},
    {.test = &no_bytes_need_no_lock},
    {.test = &an_error_of_the_system_is_that_of_the_access},
    {.test = &writes_are_sieved_where_all_take_the_locks},
};

static void setup(void)
{
    job.size = 4;
    ck_assert(ompi_file_locks_start());
    ck_assert(ompi_file_locks_start()); /* they are there already */
}

UNIT_MAIN("ompi/file/file_lock", tests, setup);
