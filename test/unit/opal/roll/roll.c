/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/roll.c: texts, entries, and reading while they are written. */
#include "opal/roll/roll.h"

#include <pthread.h>

#include "opal/include/clock.h"
#include "opal/roll/census.h"
#include "test/unit/opal/support.h"

static const opal_pmi_job_t job = {.job_id = (char *)"unit job", .rank = 3, .size = 4};
static opal_roll_text_t text;

static void begin_text(void)
{
    text.length = text.line = 0;
    text.is_full = false;
}

static void write_number(unsigned number)
{
    begin_text();
    opal_roll_line(&text, "wait");
    opal_roll_add(&text, " call=MPI_Recv number=%u again=%u", number, number);
    opal_roll_write(false, opal_clock_nsec(), text.bytes, text.length);
}

static opal_census_t take(void)
{
    opal_census_t census;
    opal_census_take((int)getpid(), &census);
    return census;
}

START_TEST(a_text_that_is_full)
{
    begin_text();
    for (int i = 0; i < 1000; i++) {
        opal_roll_line(&text, "receive");
        opal_roll_add(&text, " comm=0 peer=%d tag=7", i);
    }
    ck_assert(text.is_full);
    opal_roll_end(&text);
    ck_assert_uint_le(text.length, sizeof text.bytes);
    text.bytes[text.length] = 0;
    char *last = strrchr(text.bytes, '\n');
    ck_assert_str_eq(last, "\nleft lines");
    *last = 0;
    last = strrchr(text.bytes, '\n');
    ck_assert(strncmp(last, "\nreceive comm=0 peer=", 21) == 0); /* whole lines */
    ck_assert_ptr_nonnull(strstr(last, " tag=7"));
}
END_TEST

START_TEST(a_text_that_has_room)
{
    begin_text();
    opal_roll_line(&text, "wait");
    opal_roll_line(&text, "send");
    opal_roll_end(&text);
    ck_assert_uint_eq(text.length, strlen("wait\nsend"));
}
END_TEST

START_TEST(what_is_written_is_read)
{
    opal_roll_start(&job, false);
    opal_census_t census = take();
    ck_assert_uint_eq(census.count, 1);
    ck_assert_uint_eq(census.processes[0].wait_count, 0);
    opal_census_free(&census);
    write_number(5);
    census = take();
    const opal_census_process_t *own = &census.processes[0];
    ck_assert_int_eq(own->pid, getpid());
    ck_assert_uint_eq(own->rank, 3);
    ck_assert_str_eq(own->job_id, "unit job");
    ck_assert_uint_eq(own->wait_count, 1);
    ck_assert_str_eq(own->waits[0].text, "wait call=MPI_Recv number=5 again=5");
    ck_assert_int_eq(own->waits[0].thread, getpid());
    ck_assert(!own->is_elsewhere);
    opal_census_free(&census);
    opal_roll_withdraw(false);
    census = take();
    ck_assert_uint_eq(census.processes[0].wait_count, 0);
    opal_census_free(&census);
    opal_roll_stop();
    census = take();
    ck_assert_uint_eq(census.count, 0);
    opal_census_free(&census);
}
END_TEST

static pthread_barrier_t written, read_all;

static void *wait_in_thread(void *words)
{
    opal_roll_write(false, 1, words, strlen(words));
    pthread_barrier_wait(&written);
    pthread_barrier_wait(&read_all);
    opal_roll_withdraw(false);
    return NULL;
}

/* One thread more than there are entries: its wait is not told, and nothing is overwritten. */
START_TEST(more_threads_than_entries)
{
    pthread_t threads[OPAL_ROLL_ENTRIES];
    opal_roll_start(&job, true);
    pthread_barrier_init(&written, NULL, OPAL_ROLL_ENTRIES + 1);
    pthread_barrier_init(&read_all, NULL, OPAL_ROLL_ENTRIES + 1);
    for (int i = 0; i < OPAL_ROLL_ENTRIES; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_in_thread, (char *)"wait"), 0);
    pthread_barrier_wait(&written);
    opal_census_t census = take();
    ck_assert_uint_eq(census.processes[0].wait_count, OPAL_ROLL_ENTRIES - 1);
    ck_assert(census.processes[0].is_elsewhere); /* this thread */
    opal_census_free(&census);
    pthread_barrier_wait(&read_all);
    for (int i = 0; i < OPAL_ROLL_ENTRIES; i++)
        pthread_join(threads[i], NULL);
    census = take();
    ck_assert_uint_eq(census.processes[0].wait_count, 0);
    opal_census_free(&census);
    write_number(1); /* an entry is free again */
    census = take();
    ck_assert_uint_eq(census.processes[0].wait_count, 1);
    opal_census_free(&census);
    opal_roll_stop();
}
END_TEST

static atomic_bool is_over;

static void *write_on(void *unused)
{
    for (unsigned i = 0; !atomic_load(&is_over); i++)
        write_number(i);
    opal_roll_withdraw(false);
    return unused;
}

/* A reader sees the whole of one text, or none. */
START_TEST(reading_while_it_is_written)
{
    pthread_t writer;
    unsigned seen = 0;
    opal_roll_start(&job, true);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_on, NULL), 0);
    while (seen < 20) {
        opal_census_t census = take();
        for (unsigned i = 0; i < census.processes[0].wait_count; i++) {
            unsigned one, two;
            ck_assert_int_eq(sscanf(census.processes[0].waits[i].text,
                                    "wait call=MPI_Recv number=%u again=%u", &one, &two),
                             2);
            ck_assert_uint_eq(one, two);
            seen++;
        }
        opal_census_free(&census);
    }
    atomic_store(&is_over, true);
    pthread_join(writer, NULL);
    opal_roll_stop();
}
END_TEST

static const unit_test_t tests[] = {
    {&a_text_that_is_full, 0, 0, 0},         {&a_text_that_has_room, 0, 0, 0},
    {&what_is_written_is_read, 0, 0, 0},     {&more_threads_than_entries, 0, 0, 0},
    {&reading_while_it_is_written, 0, 0, 0},
};

UNIT_MAIN("roll", tests, NULL);
