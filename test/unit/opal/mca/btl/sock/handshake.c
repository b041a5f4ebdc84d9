/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/btl/sock/handshake.c: two machines that talk to one another, through a wire that the
 * test can cut, bend, record and play back.
 */
#include "opal/mca/btl/sock/handshake.h"

#include "test/unit/opal/support.h"

enum { LOW = 3, HIGH = 5, SIZE = 8, LINKS = 2, RECORD = 256 };

static sock_identity_t low, high;
static sock_shake_t initiator, acceptor;

/* Each handshake of a test has its own nonces: 32 times a number that was not there before. */
static const unsigned char *fresh_nonce(void)
{
    static unsigned char nonce[SOCK_NONCE_BYTES], number;
    memset(nonce, ++number, sizeof nonce);
    return nonce;
}

static void make_identity(sock_identity_t *identity, uint32_t rank)
{
    *identity =
        (sock_identity_t){.rank = rank, .size = SIZE, .links = LINKS, .version = SOCK_WIRE_VERSION};
    memset(identity->key, 0x5a, sizeof identity->key);
    sock_identity_set_job(identity, "job-1");
}

static void begin(void)
{
    make_identity(&low, LOW);
    make_identity(&high, HIGH);
    sock_shake_connect(&initiator, &low, HIGH, 1, fresh_nonce());
    sock_shake_accept(&acceptor, &high, fresh_nonce());
}

/* What went over a wire in one direction. */
typedef struct record {
    unsigned char bytes[RECORD];
    size_t length;
} record_t;

static record_t forth, back;
static size_t cut = RECORD; /* so many bytes at a time */
static int bent = -1;       /* a bit of what passes, counted through both directions */

/* Carries what one has to send to the other; what that one does not take is an error. */
static bool carry(sock_shake_t *from, sock_shake_t *to, record_t *record)
{
    unsigned char bytes[RECORD];
    const unsigned char *output;
    size_t length = sock_shake_output(from, &output);
    if (length > cut)
        length = cut;
    if (length == 0)
        return false;
    memcpy(bytes, output, length);
    sock_shake_sent(from, length);
    if (bent >= 0 && (size_t)bent < 8 * length)
        bytes[bent / 8] ^= (unsigned char)(1 << bent % 8);
    bent = bent < 0 || (size_t)bent < 8 * length ? -1 : bent - 8 * (int)length;
    ck_assert_uint_le(length, RECORD - record->length);
    memcpy(record->bytes + record->length, bytes, length);
    record->length += length;
    size_t used = sock_shake_feed(to, bytes, length);
    ck_assert(used == length || to->state != SOCK_SHAKE_MORE);
    return true;
}

static void talk(sock_shake_t *first, sock_shake_t *second)
{
    forth.length = back.length = 0;
    while (carry(first, second, &forth) || carry(second, first, &back))
        continue;
}

/* To the end, with that answer if the acceptor asks. */
static void shake_hands(sock_reason_t answer)
{
    talk(&initiator, &acceptor);
    if (acceptor.state != SOCK_SHAKE_ASKS)
        return;
    record_t before = forth, answered = back;
    sock_shake_answer(&acceptor, answer);
    talk(&initiator, &acceptor);
    ck_assert_uint_eq(forth.length, 0);
    memcpy(answered.bytes + answered.length, back.bytes, back.length);
    answered.length += back.length;
    forth = before;
    back = answered;
}

#define assert_refused(shake, why, peer_says)                                                      \
    do {                                                                                           \
        ck_assert_int_eq((shake)->state, SOCK_SHAKE_REFUSED);                                      \
        ck_assert_int_eq((shake)->reason, why);                                                    \
        ck_assert_int_eq((shake)->by_peer, peer_says);                                             \
    } while (0)

/* -- as it should be --------------------------------------------------------------------------- */

/* In pieces of _i + 1 bytes. */
START_TEST(both_know_the_key)
{
    cut = (size_t)_i + 1;
    begin();
    shake_hands(SOCK_ACCEPTED);
    ck_assert_int_eq(initiator.state, SOCK_SHAKE_DONE);
    ck_assert_int_eq(acceptor.state, SOCK_SHAKE_DONE);
    ck_assert_int_eq(initiator.reason, SOCK_ACCEPTED);
    ck_assert_int_eq(acceptor.reason, SOCK_ACCEPTED);
    ck_assert_uint_eq(acceptor.peer, LOW);
    ck_assert_uint_eq(acceptor.link, 1);
    ck_assert_uint_eq(acceptor.peer_version, SOCK_WIRE_VERSION);
    ck_assert_uint_eq(initiator.peer, HIGH);
    ck_assert_uint_eq(initiator.link, 1);
    ck_assert_uint_eq(forth.length, SOCK_HELLO_BYTES + SOCK_PROOF_BYTES);
    ck_assert_uint_eq(back.length, SOCK_CHALLENGE_BYTES + SOCK_VERDICT_BYTES);
}
END_TEST

/* What follows the verdict is not the handshake's. */
START_TEST(frames_are_left_alone)
{
    begin();
    talk(&initiator, &acceptor);
    sock_shake_answer(&acceptor, SOCK_ACCEPTED);
    const unsigned char *output;
    unsigned char bytes[RECORD] = {0};
    size_t length = sock_shake_output(&acceptor, &output);
    memcpy(bytes, output, length);
    ck_assert_uint_eq(sock_shake_feed(&initiator, bytes, length + 100), SOCK_VERDICT_BYTES);
    ck_assert_int_eq(initiator.state, SOCK_SHAKE_DONE);
    ck_assert_uint_eq(sock_shake_feed(&initiator, bytes, length), 0);
    ck_assert_uint_eq(sock_shake_wants(&initiator), 0);
    ck_assert_uint_eq(sock_shake_feed(&acceptor, bytes, length), 0);
}
END_TEST

/* Who reads no more than is wanted needs no more than a call for each message. */
START_TEST(wants_are_whole_messages)
{
    begin();
    ck_assert_uint_eq(sock_shake_wants(&acceptor), SOCK_HELLO_BYTES);
    ck_assert_uint_eq(sock_shake_wants(&initiator), SOCK_CHALLENGE_BYTES);
    ck_assert(carry(&initiator, &acceptor, &forth));
    ck_assert_uint_eq(sock_shake_wants(&acceptor), SOCK_PROOF_BYTES);
    cut = 20;
    ck_assert(carry(&acceptor, &initiator, &back));
    ck_assert_uint_eq(sock_shake_wants(&initiator), SOCK_CHALLENGE_BYTES - 20);
    cut = RECORD;
    ck_assert(carry(&acceptor, &initiator, &back));
    ck_assert_uint_eq(sock_shake_wants(&initiator), SOCK_VERDICT_BYTES);
    ck_assert(carry(&initiator, &acceptor, &forth));
    ck_assert_uint_eq(sock_shake_wants(&acceptor), 0);
}
END_TEST

START_TEST(refused_in_good_order)
{
    const sock_reason_t answers[] = {SOCK_CROSSED, SOCK_BUSY};
    begin();
    shake_hands(answers[_i]);
    assert_refused(&acceptor, answers[_i], false);
    assert_refused(&initiator, answers[_i], true);
}
END_TEST

/* -- two at once ----------------------------------------------------------------------------- */

/* A rank that connects to the other unless it is connected, and answers by the rule of
 * handshake.h. */
typedef struct rank {
    const sock_identity_t *identity;
    uint32_t peer;
    sock_shake_t own, others;
    bool has_own, is_connected; /* its own goes on; a connection is established */
    unsigned kept;              /* connections that it was left with */
} rank_t;

static rank_t ranks[2];

static void keep(rank_t *rank)
{
    rank->has_own = false;
    rank->is_connected = true;
    rank->kept++;
}

/* What the owner of the connections does when one of its handshakes has moved on. */
static void attend(rank_t *rank)
{
    if (rank->others.state == SOCK_SHAKE_ASKS) {
        bool is_lower = rank->identity->rank < rank->peer;
        bool crossed = rank->is_connected || (rank->has_own && is_lower);
        sock_shake_answer(&rank->others, crossed ? SOCK_CROSSED : SOCK_ACCEPTED);
        if (!crossed)
            keep(rank);
    }
    if (rank->has_own && rank->own.state == SOCK_SHAKE_DONE)
        keep(rank);
    if (rank->own.state == SOCK_SHAKE_REFUSED)
        rank->has_own = false;
}

/* One of: what a rank has begun goes on (or is begun), what it answers goes on. What a rank has
 * dropped is closed. */
static void step(unsigned which)
{
    record_t ignored = {.length = 0};
    rank_t *from = &ranks[which % 2], *to = &ranks[1 - which % 2];
    bool has_begun = from->own.identity != NULL;
    if (which >= 2)
        carry(&from->others, &to->own, &ignored);
    else if (from->has_own)
        carry(&from->own, &to->others, &ignored);
    else if (!has_begun && !from->is_connected) {
        from->has_own = true;
        sock_shake_connect(&from->own, from->identity, from->peer, 0, fresh_nonce());
    }
    attend(from);
    attend(to);
}

static void begin_ranks(void)
{
    make_identity(&low, LOW);
    make_identity(&high, HIGH);
    ranks[0] = (rank_t){.identity = &low, .peer = HIGH};
    ranks[1] = (rank_t){.identity = &high, .peer = LOW};
    for (unsigned i = 0; i < 2; i++)
        sock_shake_accept(&ranks[i].others, ranks[i].identity, fresh_nonce());
}

/* In every order of the first six steps, of four kinds, and then to the end. */
START_TEST(one_of_two_simultaneous_ones_is_kept)
{
    unsigned by_lower = 0, crossed = 0, orders = 1 << 12;
    for (unsigned order = 0; order < orders; order++) {
        begin_ranks();
        for (unsigned i = 0; i < 6; i++)
            step(order >> 2 * i & 3);
        for (unsigned i = 0; i < 40; i++)
            step(i & 3);
        ck_assert_msg(ranks[0].kept == 1 && ranks[1].kept == 1, "order %x: %u and %u", order,
                      ranks[0].kept, ranks[1].kept);
        for (unsigned i = 0; i < 2; i++)
            ck_assert_int_eq(ranks[i].own.state == SOCK_SHAKE_DONE,
                             ranks[1 - i].others.state == SOCK_SHAKE_DONE);
        by_lower += ranks[0].own.state == SOCK_SHAKE_DONE;
        crossed += ranks[0].own.identity != NULL && ranks[1].own.identity != NULL;
    }
    ck_assert_uint_gt(crossed, orders / 2);
    ck_assert_uint_gt(by_lower, orders / 2);
    ck_assert_uint_lt(by_lower, orders);
}
END_TEST

/* -- strangers and enemies -------------------------------------------------------------------- */

START_TEST(another_key)
{
    begin();
    low.key[31] ^= 1;
    shake_hands(SOCK_ACCEPTED);
    assert_refused(&acceptor, SOCK_BAD_PROOF, false);
    assert_refused(&initiator, SOCK_BAD_PROOF, true);
}
END_TEST

/* An acceptor that accepts everybody without knowing the key. */
START_TEST(an_acceptor_without_the_key)
{
    unsigned char verdict[SOCK_VERDICT_BYTES], mac[SOCK_MAC_BYTES] = {0};
    const sock_prefix_t prefix = {SOCK_WIRE_VERSION, SOCK_OWN_ORDER, SOCK_VERDICT};
    begin();
    talk(&initiator, &acceptor);
    sock_encode_prefix(verdict, &prefix);
    sock_encode_verdict(verdict, _i == 0 ? SOCK_ACCEPTED : SOCK_CROSSED, mac);
    sock_shake_feed(&initiator, verdict, sizeof verdict);
    assert_refused(&initiator, SOCK_BAD_PROOF, false);

    begin(); /* before any challenge, too */
    sock_shake_feed(&initiator, verdict, sizeof verdict);
    assert_refused(&initiator, SOCK_UNPROVEN, false);
}
END_TEST

/* Any bit on its way: nobody comes to believe in a connection, but for the acceptor whose verdict
 * it was. */
START_TEST(every_bit_matters)
{
    const size_t whole = 8 * (SOCK_HELLO_BYTES + SOCK_CHALLENGE_BYTES + SOCK_PROOF_BYTES);
    const size_t all = whole + 8 * (size_t)SOCK_VERDICT_BYTES;
    for (size_t bit = 0; bit < all; bit++) {
        begin();
        bent = (int)bit;
        shake_hands(SOCK_ACCEPTED);
        ck_assert_int_eq(bent, -1);
        ck_assert_msg(initiator.state != SOCK_SHAKE_DONE, "bit %zu", bit);
        ck_assert_msg((acceptor.state == SOCK_SHAKE_DONE) == (bit >= whole), "bit %zu", bit);
    }
}
END_TEST

START_TEST(a_record_is_worth_nothing)
{
    begin();
    shake_hands(SOCK_ACCEPTED);
    record_t of_initiator = forth, of_acceptor = back;

    sock_shake_accept(&acceptor, &high, fresh_nonce());
    size_t used = sock_shake_feed(&acceptor, of_initiator.bytes, of_initiator.length);
    ck_assert_uint_eq(used, of_initiator.length);
    assert_refused(&acceptor, SOCK_BAD_PROOF, false);

    sock_shake_connect(&initiator, &low, HIGH, 1, fresh_nonce());
    sock_shake_feed(&initiator, of_acceptor.bytes, of_acceptor.length);
    assert_refused(&initiator, SOCK_BAD_PROOF, false);
}
END_TEST

/* The proof of one link, rank, job or version is none for another: the acceptor knows only what the
 * hello said, and that is what has to be proven. */
START_TEST(a_proof_is_for_one_hello)
{
    const size_t offsets[] = {8, 12, 16, 20, 24, 32};
    unsigned char bytes[SOCK_HELLO_BYTES];
    const unsigned char *output;
    begin();
    memcpy(bytes, initiator.hello, sizeof bytes);
    bytes[offsets[_i]] ^= 1; /* the one in the middle asks for something else */
    sock_shake_feed(&acceptor, bytes, sizeof bytes);
    if (sock_shake_output(&acceptor, &output) == SOCK_CHALLENGE_BYTES &&
        acceptor.state == SOCK_SHAKE_MORE) {
        carry(&acceptor, &initiator, &back);
        sock_shake_sent(&initiator, SOCK_HELLO_BYTES);
        carry(&initiator, &acceptor, &forth);
    }
    ck_assert_int_eq(acceptor.state, SOCK_SHAKE_REFUSED);
}
END_TEST

/* Who sends everything back, to the one or the other. */
START_TEST(a_mirror)
{
    const unsigned char *output;
    begin();
    size_t length = sock_shake_output(&initiator, &output);
    sock_shake_feed(&initiator, output, length);
    assert_refused(&initiator, SOCK_REFLECTED, false);

    begin();
    carry(&initiator, &acceptor, &forth);
    length = sock_shake_output(&acceptor, &output);
    sock_shake_feed(&acceptor, output, length);
    assert_refused(&acceptor, SOCK_REFLECTED, false);

    begin(); /* a challenge with our own nonce would have us prove what we may then be told */
    unsigned char challenge[SOCK_CHALLENGE_BYTES];
    const sock_prefix_t prefix = {SOCK_WIRE_VERSION, SOCK_OWN_ORDER, SOCK_CHALLENGE};
    sock_encode_prefix(challenge, &prefix);
    sock_encode_secret(challenge, initiator.hello + 32);
    sock_shake_sent(&initiator, sock_shake_output(&initiator, &output));
    sock_shake_feed(&initiator, challenge, sizeof challenge);
    assert_refused(&initiator, SOCK_REFLECTED, false);
    ck_assert_uint_eq(sock_shake_output(&initiator, &output), 0);
}
END_TEST

/* Between two ranks that both begin, as a go-between would do it: the proof of the one is no
 * verdict for the other. */
START_TEST(two_initiators_are_no_pair)
{
    sock_shake_t other;
    unsigned char bytes[SOCK_VERDICT_BYTES];
    const unsigned char *output;
    begin();
    sock_shake_connect(&other, &high, LOW, 1, fresh_nonce());
    carry(&initiator, &acceptor, &forth);
    carry(&acceptor, &initiator, &back);
    sock_shake_output(&initiator, &output); /* its proof */
    memcpy(bytes, output, sizeof bytes);
    bytes[SOCK_PREFIX_BYTES - 1] = SOCK_VERDICT;
    bytes[SOCK_PREFIX_BYTES] = SOCK_ACCEPTED;
    sock_shake_feed(&initiator, bytes, sizeof bytes);
    assert_refused(&initiator, SOCK_BAD_PROOF, false);
    sock_shake_feed(&other, bytes, sizeof bytes);
    assert_refused(&other, SOCK_UNPROVEN, false);
}
END_TEST

/* -- what hellos may say ---------------------------------------------------------------------- */

static void say_nothing(void)
{
}
static void other_version(void)
{
    low.version = SOCK_WIRE_VERSION + 1;
}
static void other_job(void)
{
    sock_identity_set_job(&low, "job-2");
}
static void too_high_a_rank(void)
{
    low.rank = SIZE;
}
static void rank_of_the_acceptor(void)
{
    low.rank = HIGH;
}

static const struct {
    void (*change)(void);
    uint32_t target;
    uint16_t link;
    sock_reason_t reason;
    const char *of_acceptor, *of_initiator;
} hellos[] = {
    {other_version, HIGH, 0, SOCK_BAD_VERSION,
     "speaks version 2 of the protocol, this process version 1",
     "speaks version 1 of the protocol, this process version 2"},
    {other_job, HIGH, 0, SOCK_BAD_JOB, "is refused: another job", "refuses: another job"},
    {too_high_a_rank, HIGH, 0, SOCK_BAD_RANK, "says that it is rank 8, to rank 5 of 8",
     "refuses: no rank that could be the peer"},
    {rank_of_the_acceptor, HIGH, 0, SOCK_BAD_RANK, "says that it is rank 5, to rank 5 of 8",
     "refuses: no rank that could be the peer"},
    {say_nothing, HIGH + 1, 0, SOCK_BAD_TARGET, "wants rank 6, but this is rank 5",
     "is another rank than 6"},
    {say_nothing, HIGH, LINKS, SOCK_BAD_LINK, "is refused: a link that is not used",
     "refuses: a link that is not used"},
};

START_TEST(a_hello_is_refused)
{
    char text[SOCK_EXPLANATION_BYTES];
    begin();
    hellos[_i].change();
    sock_shake_connect(&initiator, &low, hellos[_i].target, hellos[_i].link, fresh_nonce());
    shake_hands(SOCK_ACCEPTED);
    assert_refused(&acceptor, hellos[_i].reason, false);
    assert_refused(&initiator, hellos[_i].reason, hellos[_i].reason != SOCK_BAD_VERSION);
    ck_assert_str_eq(sock_shake_explain(&acceptor, text), hellos[_i].of_acceptor);
    ck_assert_str_eq(sock_shake_explain(&initiator, text), hellos[_i].of_initiator);
}
END_TEST

START_TEST(another_byte_order)
{
    unsigned char bytes[SOCK_HELLO_BYTES];
    const unsigned char *output;
    begin();
    sock_shake_output(&initiator, &output);
    memcpy(bytes, output, sizeof bytes);
    sock_shake_sent(&initiator, sizeof bytes);
    bytes[10] = 3 - SOCK_OWN_ORDER;
    sock_shake_feed(&acceptor, bytes, sizeof bytes);
    assert_refused(&acceptor, SOCK_BAD_ORDER, false);
    talk(&initiator, &acceptor);
    assert_refused(&initiator, SOCK_BAD_ORDER, true);
}
END_TEST

/* Not one byte is sent to who does not speak this, and no more than a hello is read. */
START_TEST(garbage)
{
    static const char *const garbage[] = {
        "GET / HTTP/1.1\r\nHost: node1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        "MicaSock\0\0\1\1MicaSockMicaSockMicaSockMicaSock",     /* version 0 */
        "MicaSock\1\0\1\3MicaSockMicaSockMicaSockMicaSockMica", /* a proof of nothing */
        "MicaSock\1\0\1\7MicaSockMicaSockMicaSockMicaSockMica", /* no message */
    };
    unsigned char bytes[1000] = {0};
    const unsigned char *output;
    begin();
    memcpy(bytes, garbage[_i], 28);
    ck_assert_uint_eq(sock_shake_feed(&acceptor, bytes, sizeof bytes), SOCK_PREFIX_BYTES);
    assert_refused(&acceptor, SOCK_GARBLED, false);
    ck_assert_uint_eq(sock_shake_output(&acceptor, &output), 0);

    begin();
    ck_assert_uint_eq(sock_shake_feed(&initiator, bytes, sizeof bytes), SOCK_PREFIX_BYTES);
    ck_assert_int_eq(initiator.state, SOCK_SHAKE_REFUSED);
}
END_TEST

/* Bytes that have to be zero, and verdicts that there are not. */
START_TEST(messages_are_strict)
{
    unsigned char bytes[SOCK_HELLO_BYTES];
    const unsigned char *output;
    begin();
    memcpy(bytes, initiator.hello, sizeof bytes);
    bytes[23] = 1;
    sock_shake_feed(&acceptor, bytes, sizeof bytes);
    assert_refused(&acceptor, SOCK_GARBLED, false);

    begin();
    carry(&initiator, &acceptor, &forth);
    sock_shake_output(&acceptor, &output);
    memcpy(bytes, output, SOCK_CHALLENGE_BYTES);
    bytes[15] = 1;
    sock_shake_feed(&initiator, bytes, SOCK_CHALLENGE_BYTES);
    assert_refused(&initiator, SOCK_GARBLED, false);

    const uint8_t verdicts[] = {0, SOCK_LAST_VERDICT + 1, 255};
    for (size_t i = 0; i < OPAL_COUNT_OF(verdicts); i++) {
        begin();
        bytes[SOCK_PREFIX_BYTES - 1] = SOCK_VERDICT;
        sock_encode_verdict(bytes, verdicts[i], initiator.hello);
        sock_shake_feed(&initiator, bytes, SOCK_VERDICT_BYTES);
        assert_refused(&initiator, SOCK_GARBLED, false);
    }
}
END_TEST

/* -- giving up --------------------------------------------------------------------------------- */

START_TEST(given_up)
{
    const unsigned char *output;
    begin();
    sock_shake_give_up(&acceptor, SOCK_TIMED_OUT);
    assert_refused(&acceptor, SOCK_TIMED_OUT, false);
    ck_assert_uint_eq(sock_shake_output(&acceptor, &output), 0);
    sock_shake_give_up(&initiator, SOCK_CLOSED);
    assert_refused(&initiator, SOCK_CLOSED, false);
    sock_shake_give_up(&initiator, SOCK_TIMED_OUT);
    assert_refused(&initiator, SOCK_CLOSED, false);

    begin();
    shake_hands(SOCK_ACCEPTED);
    sock_shake_give_up(&initiator, SOCK_CLOSED);
    ck_assert_int_eq(initiator.state, SOCK_SHAKE_DONE);
}
END_TEST

/* An acceptor without room says so at once, or when it has challenged already. */
START_TEST(busy_before_the_proof)
{
    begin();
    if (_i == 1)
        carry(&initiator, &acceptor, &forth);
    sock_shake_give_up(&acceptor, SOCK_BUSY);
    talk(&initiator, &acceptor);
    assert_refused(&acceptor, SOCK_BUSY, false);
    assert_refused(&initiator, SOCK_BUSY, true);
}
END_TEST

START_TEST(ends_are_counted_by_reason)
{
    sock_shake_counts_t counts = {{0}};
    begin();
    sock_shake_count(&counts, &acceptor); /* has not ended */
    shake_hands(SOCK_ACCEPTED);
    sock_shake_count(&counts, &acceptor);
    begin();
    sock_shake_feed(&acceptor, "GET / HTTP/1.1", 14);
    sock_shake_count(&counts, &acceptor);
    uint64_t total = 0;
    for (size_t i = 0; i < OPAL_COUNT_OF(counts.of); i++)
        total += counts.of[i];
    ck_assert_uint_eq(total, 2);
    ck_assert_uint_eq(counts.of[SOCK_ACCEPTED], 1);
    ck_assert_uint_eq(counts.of[SOCK_GARBLED], 1);
}
END_TEST

START_TEST(every_reason_has_a_text)
{
    for (int i = 1; i < SOCK_REASON_COUNT; i++) {
        ck_assert_str_ne(sock_reason_text((sock_reason_t)i), "no reason");
        for (int j = 1; j < i; j++)
            ck_assert_str_ne(sock_reason_text((sock_reason_t)i),
                             sock_reason_text((sock_reason_t)j));
    }
    ck_assert_str_eq(sock_reason_text(SOCK_NO_REASON), "no reason");
}
END_TEST

START_TEST(secrets_can_be_wiped)
{
    static const sock_shake_t zero;
    begin();
    sock_shake_wipe(&initiator);
    ck_assert_int_eq(memcmp(&initiator, &zero, sizeof zero), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &both_know_the_key, .repeats = 64},
    {.test = &frames_are_left_alone},
    {.test = &wants_are_whole_messages},
    {.test = &refused_in_good_order, .repeats = 2},
    {.test = &one_of_two_simultaneous_ones_is_kept},
    {.test = &another_key},
    {.test = &an_acceptor_without_the_key, .repeats = 2},
    {.test = &every_bit_matters},
    {.test = &a_record_is_worth_nothing},
    {.test = &a_proof_is_for_one_hello, .repeats = 6},
    {.test = &a_mirror},
    {.test = &two_initiators_are_no_pair},
    {.test = &a_hello_is_refused, .repeats = OPAL_COUNT_OF(hellos)},
    {.test = &another_byte_order},
    {.test = &garbage, .repeats = 5},
    {.test = &messages_are_strict},
    {.test = &given_up},
    {.test = &busy_before_the_proof, .repeats = 2},
    {.test = &ends_are_counted_by_reason},
    {.test = &every_reason_has_a_text},
    {.test = &secrets_can_be_wiped},
};

UNIT_MAIN("handshake", tests, NULL);
