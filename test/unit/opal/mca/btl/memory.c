/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What transports promise that send frames out of the caller's memory, and have them placed in the
 * receiver's (opal/mca/btl/btl.h: send_now, send_long, opal_btl_client_t.place). Each of two ranks
 * sends to the other one.
 *
 * A message is a name, from which follows where it is placed and which bytes must be there. Where
 * its bytes belong is answered in odd pieces. Each test runs twice: the second time the system
 * takes and gives few bytes at a time.
 */
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "opal/mca/btl/btl.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sock_component;

static const opal_component_t *const transports[] = {&mca_btl_sock_component};

enum {
    WAYS = 2 * OPAL_COUNT_OF(transports),
    MESSAGES = 64,
    LONG_KIND = 9,
    ROW_BYTES = 100, /* a message lies in rows, apart from one another */
    PITCH_BYTES = 160,
    MOST_SEGMENTS = 3000,
    UNTOUCHED = 0xa5,
};

static unsigned char byte_of(uint64_t name, size_t at)
{
    return (unsigned char)(name * 31 + at * 7 + (at >> 8) + 1);
}

static uint32_t next_odd(uint32_t *seed)
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 8;
}

static unsigned other(void)
{
    return 1 - crew.rank;
}

static opal_btl_peer_t *peer(void)
{
    return crew.peers[other()];
}

/* -- a system that takes and gives little ---------------------------------------------------- */

static bool is_stingy;

/* Mostly few bytes, now and then all. */
static size_t limit(size_t bytes)
{
    static uint32_t seed = 1;
    uint32_t choice = next_odd(&seed) % 8;
    size_t most = choice == 0 ? 7 : choice < 3 ? 61 : choice < 6 ? 5003 : SIZE_MAX;
    most = 1 + next_odd(&seed) % most;
    return is_stingy && most < bytes ? most : bytes;
}

static size_t limit_vectors(struct iovec *to, const struct iovec *from, size_t count)
{
    size_t total = 0, taken = 0, i;
    for (i = 0; i < count; i++)
        total += from[i].iov_len;
    total = limit(total);
    for (i = 0; i < count && (taken < total || i == 0); i++) {
        to[i] = from[i];
        if (to[i].iov_len > total - taken)
            to[i].iov_len = total - taken;
        taken += to[i].iov_len;
    }
    return i;
}

enum { MOST_VECTORS = 256 };

ssize_t __real_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags)
{
    return __real_send(fd, bytes, limit(length), flags);
}

ssize_t __real_recv(int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags)
{
    return __real_recv(fd, bytes, limit(length), flags);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct iovec vectors[MOST_VECTORS];
    struct msghdr shorter = *message;
    CREW_MUST(message->msg_iovlen <= MOST_VECTORS);
    shorter.msg_iov = vectors;
    shorter.msg_iovlen = limit_vectors(vectors, message->msg_iov, message->msg_iovlen);
    return __real_sendmsg(fd, &shorter, flags);
}

ssize_t __real_readv(int fd, const struct iovec *all, int count);
ssize_t __wrap_readv(int fd, const struct iovec *all, int count);
ssize_t __wrap_readv(int fd, const struct iovec *all, int count)
{
    struct iovec vectors[MOST_VECTORS];
    CREW_MUST(count <= MOST_VECTORS);
    return __real_readv(fd, vectors, (int)limit_vectors(vectors, all, (size_t)count));
}

/* -- placement ------------------------------------------------------------------------------ */

typedef struct target {
    unsigned char *memory; /* rows, PITCH_BYTES apart */
    size_t first, bytes;   /* offsets from first on */
    size_t arrived;
} target_t;

static target_t targets[MESSAGES];
static bool is_asked; /* place was called, placed not yet */
static size_t answered;
static uint32_t place_seed = 1;
static size_t total_arrived;

static void expect_message(uint64_t name, size_t first, size_t bytes)
{
    size_t rows = bytes / ROW_BYTES + 1;
    targets[name] =
        (target_t){.memory = malloc(rows * PITCH_BYTES), .first = first, .bytes = bytes};
    memset(targets[name].memory, UNTOUCHED, rows * PITCH_BYTES);
}

static void check_message(uint64_t name)
{
    target_t *target = &targets[name];
    CREW_MUST(target->arrived == target->bytes);
    for (size_t row = 0; row <= target->bytes / ROW_BYTES; row++) {
        for (size_t column = 0; column < PITCH_BYTES; column++) {
            size_t at = row * ROW_BYTES + column;
            bool is_there = column < ROW_BYTES && at < target->bytes;
            unsigned char wanted = is_there ? byte_of(name, at) : UNTOUCHED;
            CREW_MUST(target->memory[row * PITCH_BYTES + column] == wanted);
        }
    }
    free(target->memory);
    *target = (target_t){0};
}

/* Mostly as many rows as may be, in part or whole; now and then a byte. */
static size_t place(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max)
{
    CREW_MUST(!is_asked && rank == other() && kind == LONG_KIND && name < MESSAGES);
    target_t *target = &targets[name];
    size_t at = offset - target->first, count = 0, most = 1 + next_odd(&place_seed) % max;
    CREW_MUST(max > 0 && bytes > 0 && offset >= target->first);
    CREW_MUST(at + bytes <= target->bytes);
    is_asked = true;
    answered = 0;
    while (count < most && answered < bytes) {
        size_t length = ROW_BYTES - at % ROW_BYTES;
        if (next_odd(&place_seed) % 8 == 0)
            length = 1 + length / 3;
        if (length > bytes - answered)
            length = bytes - answered;
        segments[count++] =
            (struct iovec){target->memory + at / ROW_BYTES * PITCH_BYTES + at % ROW_BYTES, length};
        at += length;
        answered += length;
    }
    return count;
}

static void placed(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes)
{
    target_t *target = &targets[name];
    CREW_MUST(is_asked && rank == other() && kind == LONG_KIND && bytes <= answered);
    CREW_MUST(offset == target->first + target->arrived);
    is_asked = false;
    target->arrived += bytes;
    total_arrived += bytes;
}

/* -- what is sent -------------------------------------------------------------------------- */

typedef struct outgoing {
    opal_btl_long_t message;
    unsigned char *memory;
    struct iovec *segments;
    bool is_done;
} outgoing_t;

static outgoing_t outgoing[MESSAGES];
static unsigned done_count;

/* Cuts `bytes` of memory into segments, some empty. */
static size_t cut(unsigned char *memory, size_t bytes, struct iovec *segments, size_t most,
                  uint32_t seed)
{
    size_t count = 0, at = 0;
    while (at < bytes && count + 1 < most) {
        size_t length = next_odd(&seed) % 6 == 0 ? 0 : next_odd(&seed) % (3 * bytes / most + 2);
        length = length < bytes - at ? length : bytes - at;
        segments[count++] = (struct iovec){memory + at, length};
        at += length;
    }
    segments[count++] = (struct iovec){memory + at, bytes - at};
    return count;
}

/* The memory is the sender's again, and it uses it. */
static void is_sent(opal_btl_long_t *message)
{
    outgoing_t *out = opal_container_of(message, outgoing_t, message);
    CREW_MUST(!out->is_done);
    out->is_done = true;
    memset(out->memory, 0xee, message->frame.bytes);
    free(out->memory);
    free(out->segments);
    memset(&out->message, 0xee, sizeof out->message);
    done_count++;
}

static void send_long(uint64_t name, size_t first, size_t bytes, size_t segments)
{
    outgoing_t *out = &outgoing[name];
    *out = (outgoing_t){.memory = malloc(bytes + 1),
                        .segments = malloc(segments * sizeof *out->segments)};
    for (size_t at = 0; at < bytes; at++)
        out->memory[at] = byte_of(name, at);
    out->message.frame = (opal_btl_frame_t){
        .kind = LONG_KIND, .is_placed = true, .name = name, .offset = first, .bytes = bytes};
    out->message.frame.segments = out->segments;
    out->message.frame.segment_count =
        cut(out->memory, bytes, out->segments, segments, (uint32_t)(name + segments));
    out->message.done = is_sent;
    crew.ops->send_long(peer(), &out->message);
}

static void begin(void)
{
    CREW_MUST(crew.ops->send_now != NULL && crew.ops->send_long != NULL);
    hearing.place = place;
    hearing.placed = placed;
    crew_meet();
}

static unsigned run(int way, hear_frame_fn_t *handler, void (*work)(void))
{
    is_stingy = way % 2 == 1;
    return crew_run(transports[way / 2], 2, handler, work);
}

/* -- frames between them ------------------------------------------------------------------- */

static unsigned frames_received, frames_sent;
static size_t arrived_before_frame;

/* Frame number n has n * 37 % 300 bytes. */
static size_t length_of(unsigned number)
{
    return number * 37 % 300;
}

static void take_frame(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    CREW_MUST(!is_asked && rank == other() && kind == frames_received % 9);
    CREW_MUST(length == length_of(frames_received) && (uintptr_t)bytes % 8 == 0);
    for (size_t i = 0; i < length; i++)
        CREW_MUST(((const unsigned char *)bytes)[i] == byte_of(frames_received, i));
    frames_received++;
    arrived_before_frame = total_arrived;
}

static void fill_frame(unsigned char *bytes)
{
    for (size_t i = 0; i < length_of(frames_sent); i++)
        bytes[i] = byte_of(frames_sent, i);
}

static bool try_reserve_frame(void)
{
    unsigned char *room = crew.ops->reserve(peer(), length_of(frames_sent));
    if (room == NULL)
        return false;
    CREW_MUST((uintptr_t)room % 8 == 0);
    fill_frame(room);
    crew.ops->commit(peer(), room, frames_sent % 9, length_of(frames_sent));
    frames_sent++;
    return true;
}

static void reserve_frame(void)
{
    while (!try_reserve_frame())
        crew_poll();
}

static void poll_until(const unsigned *count, unsigned wanted)
{
    while (*count < wanted)
        crew_poll();
}

/* -- long messages, one by one ---------------------------------------------------------------- */

static const size_t lengths[] = {0,    1,     7,      8,      9,      99,      4095,
                                 4096, 65535, 131072, 131073, 300001, 1 << 20, 5000003};

static void one_by_one(void)
{
    static const size_t segment_counts[] = {1, 3, 70, MOST_SEGMENTS};
    begin();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        for (size_t k = 0; k < OPAL_COUNT_OF(segment_counts); k++) {
            size_t first = k % 2 == 0 ? 0 : 1001;
            expect_message(k, first, lengths[i]);
            crew_meet();
            done_count = 0;
            send_long(k, first, lengths[i], segment_counts[k]);
            poll_until(&done_count, 1);
            reserve_frame(); /* a peer of whom nothing came has nothing behind which it could end */
            poll_until(&frames_received, frames_sent);
            while (targets[k].arrived < lengths[i])
                crew_poll();
            check_message(k);
            crew_meet();
        }
    }
}

START_TEST(long_messages_of_all_lengths)
{
    ck_assert_uint_eq(run(_i, take_frame, one_by_one), 0);
}
END_TEST

/* -- several at once, and frames between their parts --------------------------------------- */

enum { AT_ONCE = 20, FRAMES_BETWEEN = 2000 };

static size_t length_at_once(uint64_t name)
{
    return name % 4 == 0 ? 20 * name : 100003 * name;
}

static void all_at_once(void)
{
    begin();
    for (int round = 0; round < 3; round++) {
        done_count = 0;
        for (unsigned i = 0; i < AT_ONCE; i++)
            expect_message(i, i, length_at_once(i));
        crew_meet();
        for (unsigned i = 0; i < AT_ONCE; i++) {
            send_long(i, i, length_at_once(i), 1 + 50 * i);
            reserve_frame();
        }
        for (unsigned i = 0; i < FRAMES_BETWEEN; i++) {
            reserve_frame();
            if (i % 3 == 0)
                crew_poll();
        }
        poll_until(&done_count, AT_ONCE);
        poll_until(&frames_received, frames_sent);
        for (unsigned i = 0; i < AT_ONCE; i++) {
            while (targets[i].arrived < targets[i].bytes)
                crew_poll();
            check_message(i);
        }
        crew_meet();
    }
}

START_TEST(several_long_messages_at_once)
{
    ck_assert_uint_eq(run(_i, take_frame, all_at_once), 0);
}
END_TEST

/* More than the system's buffers take, so that the frame finds the message under way. */
static void overtake(void)
{
    const size_t bytes = 96 << 20;
    begin();
    reserve_frame();
    poll_until(&frames_received, 1);
    if (crew.rank == 1)
        expect_message(0, 0, bytes);
    crew_meet();
    if (crew.rank == 0) {
        send_long(0, 0, bytes, 1);
        reserve_frame();
        poll_until(&done_count, 1);
    } else {
        while (targets[0].arrived < bytes)
            crew_poll();
        CREW_MUST(frames_received == 2);
        CREW_MUST(arrived_before_frame < bytes);
        check_message(0);
    }
}

START_TEST(a_frame_overtakes_the_rest_of_a_long_message)
{
    ck_assert_uint_eq(run(_i, take_frame, overtake), 0);
}
END_TEST

/* -- sent now ------------------------------------------------------------------------------ */

/* The next frame, in a head and segments; the memory is overwritten at once. */
static bool try_frame_now(uint32_t seed)
{
    unsigned char bytes[300];
    struct iovec segments[OPAL_BTL_MAX_SEGMENTS];
    size_t length = length_of(frames_sent), head = next_odd(&seed) % 65;
    fill_frame(bytes);
    if (head > length)
        head = length;
    opal_btl_frame_t frame = {.kind = frames_sent % 9, .head = bytes, .head_bytes = head};
    frame.segments = segments;
    frame.bytes = length - head;
    frame.segment_count = cut(bytes + head, frame.bytes, segments, 1 + seed % 60, seed);
    bool was_sent = crew.ops->send_now(peer(), &frame, 1);
    memset(bytes, 0xee, sizeof bytes);
    memset(segments, 0xee, sizeof segments);
    frames_sent += was_sent;
    return was_sent;
}

/* The next frame, and behind it a placed one. */
static bool try_both_now(uint64_t name, size_t bytes, uint32_t seed)
{
    unsigned char head[300];
    struct iovec segments[OPAL_BTL_MAX_SEGMENTS];
    unsigned char *memory = malloc(bytes + 1);
    size_t length = length_of(frames_sent) % 65;
    opal_btl_frame_t frames[2] = {
        {.kind = frames_sent % 9, .head = head, .head_bytes = length},
        {.kind = LONG_KIND, .is_placed = true, .name = name, .bytes = bytes, .segments = segments}};
    for (size_t at = 0; at < bytes; at++)
        memory[at] = byte_of(name, at);
    fill_frame(head);
    frames[1].segment_count =
        cut(memory, bytes, segments, 1 + next_odd(&seed) % OPAL_BTL_MAX_SEGMENTS, seed);
    bool was_sent = crew.ops->send_now(peer(), frames, 2);
    memset(memory, 0xee, bytes);
    memset(head, 0xee, sizeof head);
    free(memory);
    frames_sent += was_sent;
    return was_sent;
}

/* In all ways in turn; only frames of up to 64 bytes are heads. */
static bool try_anyhow(uint32_t seed, uint64_t name, size_t bytes)
{
    if (frames_sent % 3 == 0 && length_of(frames_sent) < 65)
        return try_both_now(name, bytes, seed);
    return frames_sent % 2 == 0 ? try_frame_now(seed) : try_reserve_frame();
}

static void many_now(void)
{
    begin();
    for (unsigned i = 0; i < 5000; i++) {
        while (!try_frame_now(i))
            crew_poll();
        if (i % 4 == 0)
            reserve_frame();
    }
    poll_until(&frames_received, frames_sent);
}

START_TEST(frames_are_sent_out_of_memory)
{
    ck_assert_uint_eq(run(_i, take_frame, many_now), 0);
}
END_TEST

static void places_now(void)
{
    size_t most = crew.ops->stream_bytes;
    begin();
    for (unsigned i = 0; i < 400; i++) {
        size_t bytes = i < 100 ? i : (i * 7919u) % (most + 1);
        bytes = i == 399 ? most : bytes;
        while (length_of(frames_sent) >= 65)
            reserve_frame();
        poll_until(&frames_received, frames_sent);
        expect_message(i % MESSAGES, 0, bytes);
        crew_meet();
        while (!try_both_now(i % MESSAGES, bytes, i))
            crew_poll();
        while (frames_received < frames_sent || targets[i % MESSAGES].arrived < bytes)
            crew_poll();
        check_message(i % MESSAGES);
    }
}

START_TEST(frames_that_land_are_sent_out_of_memory)
{
    ck_assert_uint_eq(run(_i, take_frame, places_now), 0);
}
END_TEST

/* The other one takes nothing: what was taken of them comes in order, and then there is room. */
static void fill_up(void)
{
    enum { BYTES = 30001, MOST = 100000 };
    begin();
    reserve_frame();
    poll_until(&frames_received, 1);
    crew_barrier();
    if (crew.rank == 0) {
        unsigned landings = 0;
        while (frames_sent < MOST) {
            bool both = frames_sent % 3 == 0 && length_of(frames_sent) < 65;
            if (!try_anyhow(frames_sent, landings, BYTES))
                break;
            landings += both;
            if (landings == MESSAGES)
                break;
        }
        while (frames_sent < MOST &&
               (frames_sent % 2 == 0 ? try_frame_now(frames_sent) : try_reserve_frame()))
            continue;
        CREW_MUST(frames_sent > 100 && frames_sent < MOST);
        crew.shared[0] = frames_sent;
        crew.shared[1] = landings;
        crew_barrier();
        for (int i = 0; i < 1000; i++) {
            while (!try_frame_now((uint32_t)i))
                crew_poll();
        }
    } else {
        for (uint64_t i = 0; i < MESSAGES; i++)
            expect_message(i, 0, BYTES);
        crew_barrier();
        poll_until(&frames_received, (unsigned)crew.shared[0] + 1000);
        for (uint64_t i = 0; i < crew.shared[1]; i++)
            check_message(i);
    }
}

START_TEST(a_full_one_takes_all_or_nothing)
{
    ck_assert_uint_eq(run(_i, take_frame, fill_up), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &long_messages_of_all_lengths, .repeats = WAYS},
    {.test = &several_long_messages_at_once, .repeats = WAYS},
    {.test = &a_frame_overtakes_the_rest_of_a_long_message, .repeats = WAYS},
    {.test = &frames_are_sent_out_of_memory, .repeats = WAYS},
    {.test = &frames_that_land_are_sent_out_of_memory, .repeats = WAYS},
    {.test = &a_full_one_takes_all_or_nothing, .repeats = WAYS},
};

UNIT_MAIN("btl_memory", tests, NULL);
