/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/mca/btl/sock/queue.h"

#include "test/unit/opal/support.h"

enum { LIMIT = 100000 };

static unsigned char put_count, taken_count;

static bool put(sock_queue_t *queue, size_t bytes)
{
    unsigned char *room = sock_queue_reserve(queue, bytes, LIMIT);
    if (room == NULL)
        return false;
    for (size_t i = 0; i < bytes; i++)
        room[i] = put_count++;
    sock_queue_commit(queue, bytes);
    return true;
}

static void take(sock_queue_t *queue, size_t bytes)
{
    bool right = true;
    for (size_t i = 0; i < bytes; i++)
        right = right && queue->bytes[queue->begin + i] == taken_count++;
    ck_assert(right);
    sock_queue_take(queue, bytes);
}

static void begin(void)
{
    put_count = taken_count = 0;
}

START_TEST(what_is_put_comes_out_in_order)
{
    sock_queue_t queue = {0};
    ck_assert(sock_queue_is_empty(&queue));
    for (unsigned i = 0; i < 5000; i++) {
        size_t bytes = i * 7919 % 3000;
        while (!put(&queue, bytes))
            take(&queue, 1 + i % sock_queue_used(&queue));
        ck_assert_uint_le(sock_queue_used(&queue), LIMIT);
        if (i % 3 == 0)
            take(&queue, sock_queue_used(&queue) / 2);
    }
    take(&queue, sock_queue_used(&queue));
    ck_assert(sock_queue_is_empty(&queue));
    ck_assert_uint_eq(put_count, taken_count);
    sock_queue_free(&queue);
    ck_assert_ptr_null(queue.bytes);
}
END_TEST

/* Of any number of bytes taken from the front, the next reservation is where the last one ended. */
START_TEST(room_is_aligned)
{
    sock_queue_t queue = {0};
    for (unsigned i = 0; i < 2000; i++) {
        unsigned char *room = sock_queue_reserve(&queue, 8 * (i % 200), LIMIT);
        if (room == NULL) {
            take(&queue, sock_queue_used(&queue) - 13);
            continue;
        }
        ck_assert_uint_eq((uintptr_t)room % 8, 0);
        put(&queue, 8 * (i % 200));
        if (i % 5 == 0)
            take(&queue, sock_queue_used(&queue) / 3);
    }
    sock_queue_free(&queue);
}
END_TEST

/* The rest of a frame of which some bytes have left by another way. */
START_TEST(a_rest_keeps_what_follows_aligned)
{
    for (size_t sent = 0; sent < 24; sent++) {
        sock_queue_t queue = {0};
        begin();
        sock_queue_shift(&queue, sent % 8);
        ck_assert(sock_queue_is_empty(&queue));
        ck_assert(put(&queue, 64 - sent));
        unsigned char *room = sock_queue_reserve(&queue, 8, LIMIT);
        ck_assert_uint_eq((uintptr_t)room % 8, 0);
        ck_assert(put(&queue, 20000)); /* moves it */
        take(&queue, 64 - sent + 20000);
        ck_assert(sock_queue_is_empty(&queue));
        sock_queue_free(&queue);
    }
}
END_TEST

START_TEST(it_is_limited)
{
    sock_queue_t queue = {0};
    ck_assert_ptr_null(sock_queue_reserve(&queue, LIMIT + 1, LIMIT));
    ck_assert(put(&queue, LIMIT - 10));
    ck_assert_ptr_nonnull(sock_queue_reserve(&queue, 10, LIMIT));
    take(&queue, 30000);
    ck_assert(put(&queue, 30000));
    sock_queue_free(&queue);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_put_comes_out_in_order},
    {.test = &room_is_aligned},
    {.test = &a_rest_keeps_what_follows_aligned},
    {.test = &it_is_limited},
};

UNIT_MAIN("btl/sock/queue", tests, begin);
