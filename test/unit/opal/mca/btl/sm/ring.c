/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sm/ring.c and ring.h: both ends in one process, so that every state can be had. */
#include "opal/mca/btl/sm/ring.h"

#include <sys/mman.h>

#include "test/unit/opal/support.h"

static ring_t *ring;
static ring_writer_t writer;
static ring_reader_t reader;

static void make_ring(size_t size)
{
    ring = aligned_alloc(4096, (ring_segment_bytes(size) + 4095) / 4096 * 4096);
    memset(ring, 0, ring_segment_bytes(size));
    ring_writer_init(&writer, ring, size);
    ck_assert(ring_reader_init(&reader, ring, ring_segment_bytes(size), NULL));
}

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)(0xff - number * 13 - at); /* mostly not 0: old bytes look like words */
}

/* False: there was no room. */
static bool put(uint64_t number, size_t length)
{
    opal_status_t status = OPAL_SUCCESS;
    unsigned char *room = ring_reserve(&writer, length, &status);
    if (room == NULL) {
        ck_assert_int_eq(status, OPAL_ERR_BUSY);
        return false;
    }
    if ((uintptr_t)room % 8 != 0)
        ck_abort_msg("a frame is not aligned");
    for (size_t i = 0; i < length; i++)
        room[i] = byte_of(number, i);
    ring_commit(&writer, number % 256, length);
    return true;
}

/* False: there was no frame. */
static bool take(uint64_t number, size_t length)
{
    unsigned kind;
    size_t found;
    const unsigned char *bytes = ring_peek(&reader, &kind, &found);
    if (bytes == NULL)
        return false;
    if (kind != number % 256 || found != length)
        ck_abort_msg("frame %lu has kind %u and %zu bytes", (unsigned long)number, kind, found);
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != byte_of(number, i))
            ck_abort_msg("byte %zu of frame %lu is wrong", i, (unsigned long)number);
    }
    ring_pop(&reader, found);
    return true;
}

static unsigned mixed(uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)((x ^ x >> 29) >> 16);
}

/* Fills and empties by random amounts, with lengths up to the longest. */
START_TEST(frames_of_all_lengths_in_all_places)
{
    static const size_t sizes[] = {4096, 8192, 65536};
    size_t size = sizes[_i], longest = ring_max_frame(size);
    uint64_t in = 0, out = 0;
    make_ring(size);
    for (unsigned step = 0; out < 200000; step++) {
        for (unsigned n = mixed(step) % 20; n > 0; n--) {
            if (!put(in, mixed(in) % (longest + 1) >> mixed(in + 7) % 8))
                break;
            in++;
        }
        for (unsigned n = mixed(step + 99) % 20; n > 0 && out < in; n--, out++) {
            if (!take(out, mixed(out) % (longest + 1) >> mixed(out + 7) % 8))
                ck_abort_msg("frame %lu is missing", (unsigned long)out);
        }
        if (in == out && take(out, 0))
            ck_abort_msg("there is a frame behind the last one");
    }
    free(ring);
}
END_TEST

/* Whatever was in it before, an empty ring takes the longest frame. */
START_TEST(an_empty_ring_takes_the_longest_frame)
{
    size_t size = 4096, longest = ring_max_frame(size);
    for (size_t before = 0; before < 2 * size; before += 8) {
        make_ring(size);
        uint64_t number = 0;
        for (size_t sent = 0; sent < before; number++) {
            size_t length = before - sent < longest ? before - sent : longest;
            ck_assert(put(number, length));
            ck_assert(take(number, length));
            sent += length;
        }
        ck_assert_msg(put(number, longest), "after %zu bytes", before);
        ck_assert(take(number, longest));
        ck_assert(put(number, longest));
        free(ring);
    }
}
END_TEST

START_TEST(a_full_ring_is_busy_until_a_quarter_is_free)
{
    uint64_t in = 0, out = 0;
    make_ring(4096);
    while (put(in, 56))
        in++;
    ck_assert_uint_eq(in, 4096 / 64 - 1); /* the word behind the last one needs a line, too */
    for (; out < 15; out++)
        ck_assert(take(out, 56));
    ck_assert(!put(in, 56));
    ck_assert(take(out++, 56));
    ck_assert(put(in++, 56));
    while (out < in)
        ck_assert(take(out++, 56));
    free(ring);
}
END_TEST

/* The writer that died there has written all but the word. */
START_TEST(what_is_not_committed_is_not_seen)
{
    opal_status_t status = OPAL_SUCCESS;
    make_ring(4096);
    for (uint64_t round = 0; round < 1000; round++) {
        size_t length = mixed(round) % 1000;
        void *room = ring_reserve(&writer, length, &status);
        ck_assert_ptr_nonnull(room);
        memset(room, 0xff, length);
        ck_assert(!take(round, 0));
        ck_assert(put(round, length));
        ck_assert(take(round, length));
    }
    free(ring);
}
END_TEST

START_TEST(a_cut_frame_gives_room_back)
{
    opal_status_t status = OPAL_SUCCESS;
    make_ring(4096);
    for (uint64_t number = 0; number < 60; number++) {
        unsigned char *room = ring_reserve(&writer, 100, &status);
        ck_assert_ptr_nonnull(room);
        room[0] = byte_of(number, 0);
        ring_commit(&writer, (unsigned)number, 1);
    }
    for (uint64_t number = 0; number < 60; number++)
        ck_assert(take(number, 1));
    free(ring);
}
END_TEST

/* A small frame touches one line of the ring beside that of the next frame's word. */
START_TEST(what_fits_in_a_line)
{
    ck_assert_uint_eq(ring_frame_bytes(0), 64);
    ck_assert_uint_eq(ring_frame_bytes(56), 64);
    ck_assert_uint_eq(ring_frame_bytes(57), 128);
    ck_assert_uint_eq(ring_frame_bytes(ring_max_frame(4096)), 1024);
}
END_TEST

/* How many pages of fresh memory the ring has taken. */
static size_t pages_of(const void *memory, size_t bytes)
{
    static unsigned char is_there[256];
    size_t pages = 0;
    ck_assert_int_eq(mincore((void *)(uintptr_t)memory, bytes, is_there), 0);
    for (size_t i = 0; i < bytes / 4096; i++)
        pages += is_there[i] & 1;
    return pages;
}

/* A short frame takes the page of the ring's head, wherever that is; a lap takes no page twice as
 * early as it is needed. */
START_TEST(memory_comes_as_it_is_needed)
{
    enum { SIZE = 256 << 10, BYTES = SIZE + 8192, HEAD = 1536 };
    unsigned char *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ring = (ring_t *)(void *)(memory + HEAD);
    ring_writer_init(&writer, ring, SIZE);
    ck_assert(ring_reader_init(&reader, ring, ring_segment_bytes(SIZE), NULL));
    ck_assert(put(0, 8));
    ck_assert_uint_eq(pages_of(memory, BYTES), 1);
    for (uint64_t i = 1; writer.tail < SIZE - 4096; i++) {
        ck_assert(put(i, 1000));
        size_t used = writer.tail / 4096 + 2, pages = pages_of(memory, BYTES);
        ck_assert_uint_le(pages, used < 9 ? 2 * used : used + 9);
    }
    munmap(memory, BYTES);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &memory_comes_as_it_is_needed},
    {.test = &frames_of_all_lengths_in_all_places, .repeats = 3},
    {.test = &an_empty_ring_takes_the_longest_frame},
    {.test = &a_full_ring_is_busy_until_a_quarter_is_free},
    {.test = &what_is_not_committed_is_not_seen},
    {.test = &a_cut_frame_gives_room_back},
    {.test = &what_fits_in_a_line},
};

UNIT_MAIN("ring", tests, NULL);
