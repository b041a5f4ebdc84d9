/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/cover.c: what is covered of a window reaches the file, and nothing else changes. */
#include <errno.h>

#include "ompi/file/belt.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/ompi/file/fake_file.h"

/* In the middle of the window a new chunk begins, of what is read in between (cover.c). */
enum { WINDOW = 1 << 14, START = (1 << 17) - WINDOW / 2, ROUNDS = 200 };

static _Atomic uint64_t bitmap[WINDOW / 64];
static char data[WINDOW], wanted[FAKE_BYTES];

static uint64_t random_below(uint64_t limit)
{
    return (uint64_t)model_random(0, (MPI_Count)limit - 1);
}

/* Marks pieces in the range at random, and writes them into the model, too. */
static void cover_some(uint64_t from, uint64_t to, uint64_t longest)
{
    for (uint64_t pieces = random_below(60); pieces > 0; pieces--) {
        uint64_t first = from + random_below(to - from), end = first + random_below(longest);
        end = random_below(2) == 0 ? end : (end + 63) / 64 * 64;
        end = end < to ? end : to;
        ompi_cover_mark(bitmap, first, end);
        memcpy(wanted + START + first, data + first, end - first);
    }
}

static void check_file(void)
{
    ck_assert_mem_eq(fake_bytes, wanted, FAKE_BYTES);
    for (size_t i = 0; i < OPAL_COUNT_OF(bitmap); i++)
        ck_assert_uint_eq(atomic_load(&bitmap[i]), 0);
    ck_assert_int_eq(atomic_load(&fake_holds), 0);
}

static void fill(void)
{
    for (size_t i = 0; i < FAKE_BYTES; i++)
        fake_bytes[i] = i < atomic_load(&fake_end) ? (char)random_below(256) : 0;
    for (size_t i = 0; i < WINDOW; i++)
        data[i] = (char)random_below(256);
    memcpy(wanted, fake_bytes, FAKE_BYTES);
}

START_TEST(random_pieces_are_written)
{
    int fewest = INT32_MAX;
    fake_may_sieve = _i % 2 == 0;
    for (int i = 0; i < ROUNDS; i++) {
        ompi_access_t access = {.file = &fake_file, .is_write = true};
        uint64_t from = random_below(WINDOW), to = from + 1 + random_below(WINDOW - from);
        atomic_store(&fake_end, i % 3 == 0 ? START + random_below(WINDOW) : FAKE_BYTES);
        fill();
        cover_some(from, to, i % 2 == 0 ? 100 : 4000);
        int before = atomic_load(&fake_transfers);
        ompi_cover_write(&access, bitmap, data, START, WINDOW,
                         (ompi_run_t){START + from, to - from});
        int transfers = atomic_load(&fake_transfers) - before;
        fewest = transfers > 1 && transfers < fewest ? transfers : fewest;
        ck_assert_int_eq(access.error, MPI_SUCCESS);
        check_file();
    }
    ck_assert_int_eq(fewest, 2);
}
END_TEST

/* Short pieces close together are rewritten: a read, or one for each chunk, and a write. Far apart
 * they are not. */
START_TEST(what_costs_less_is_done)
{
    static const struct {
        uint64_t distance;
        bool may_sieve;
        int transfers;
    } rows[] = {{64, true, 2}, {64, false, 10}, {1600, true, 3}, {0, true, 1}, {1, true, 2}};
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        ompi_access_t access = {.file = &fake_file, .is_write = true};
        fake_may_sieve = rows[i].may_sieve;
        atomic_store(&fake_end, FAKE_BYTES);
        fill();
        for (uint64_t k = 0; k < 10; k++) {
            uint64_t first = k * (8 + rows[i].distance);
            ompi_cover_mark(bitmap, first, first + 8);
            memcpy(wanted + START + first, data + first, 8);
        }
        atomic_store(&fake_transfers, 0);
        ompi_cover_write(&access, bitmap, data, START, WINDOW, (ompi_run_t){START, WINDOW});
        ck_assert_int_eq(atomic_load(&fake_transfers), rows[i].transfers);
        check_file();
    }
}
END_TEST

/* A window that cannot be read is not written back; the marks go all the same. */
START_TEST(an_error_is_that_of_the_access)
{
    ompi_access_t access = {.file = &fake_file, .is_write = true};
    fake_may_sieve = true;
    fake_error = EIO;
    fill();
    ompi_cover_mark(bitmap, 10, 20);
    ompi_cover_mark(bitmap, 30, 40);
    ompi_cover_write(&access, bitmap, data, START, WINDOW, (ompi_run_t){START, WINDOW});
    ck_assert_int_eq(access.error, MPI_ERR_IO);
    ck_assert_int_eq(access.system_error, EIO);
    ck_assert_int_eq(atomic_load(&fake_transfers), 1);
    check_file();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_pieces_are_written, .repeats = 2},
    {.test = &what_costs_less_is_done},
    {.test = &an_error_is_that_of_the_access},
};

static void setup(void)
{
    model_seed(5);
}

UNIT_MAIN("ompi/file/cover", tests, setup);
