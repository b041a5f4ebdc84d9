/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bits by which libfabric matches. Each layout that any format can lead to is looked at, at all
 * edges of what goes in, and at random: nothing that differs has the same bits, and a receive takes
 * what the standard says and nothing else.
 */
#include "ompi/mca/mtl/ofi/tag.h"

#include <limits.h>

#include "test/unit/opal/support.h"

enum { MODES = OFI_TAG_MODE_COUNT - 1 };

#define SECRET UINT64_C(0xdeadbeef12345679)

static const unsigned widths[OFI_TAG_MODE_COUNT] = {
    [OFI_TAG_1] = 12, [OFI_TAG_2] = 24, [OFI_TAG_FULL] = 28};

/* Formats that keep so many bits: one field, fields of a bit, fields of several. */
static uint64_t format_of(unsigned reserved, unsigned form)
{
    static const uint64_t forms[] = {UINT64_MAX, 0xaaaaaaaaaaaaaaaa, 0xff00ff00ff00ff00};
    return reserved == 64 ? 0 : forms[form] >> reserved;
}

/* One of all layouts that there are; false: behind the last one. */
static bool next_layout(ofi_tag_layout_t *layout, unsigned *index)
{
    unsigned count = 0;
    for (unsigned mode = OFI_TAG_1; mode < OFI_TAG_MODE_COUNT; mode++) {
        unsigned most = widths[mode] - OFI_TAG_LEAST_COMM_BITS;
        if (*index - count <= most) {
            opal_text_t reason = {0};
            ck_assert(ofi_tag_layout_make(layout, mode, format_of(*index - count, 0), &reason));
            ofi_tag_set_secret(layout, SECRET * *index); /* of the first one: none */
            ++*index;
            return true;
        }
        count += most + 1;
    }
    return false;
}

/* -- modes ------------------------------------------------------------------------------------ */

START_TEST(limits_are_those_of_the_modes)
{
    static const struct {
        ofi_tag_mode_t mode;
        const char *name;
        uint32_t max_comm;
        unsigned max_rank;
        int max_tag;
    } expected[MODES] = {{OFI_TAG_1, "ofi_tag_1", 4095, 262143, INT_MAX},
                         {OFI_TAG_2, "ofi_tag_2", 16777215, 262143, 524287},
                         {OFI_TAG_FULL, "ofi_tag_full", 268435455, INT_MAX, INT_MAX}};
    for (unsigned i = 0; i < MODES; i++) {
        ofi_tag_layout_t layout;
        opal_text_t reason = {0};
        ck_assert(ofi_tag_layout_make(&layout, expected[i].mode, UINT64_MAX, &reason));
        ck_assert_str_eq(ofi_tag_mode_name(layout.mode), expected[i].name);
        ck_assert_uint_eq(layout.max_comm, expected[i].max_comm);
        ck_assert_uint_eq(layout.max_rank, expected[i].max_rank);
        ck_assert_int_eq(layout.max_tag, expected[i].max_tag);
        ck_assert_ptr_null(reason.bytes);
    }
    ck_assert_str_eq(ofi_tag_mode_name(OFI_TAG_AUTO), "auto");
}
END_TEST

START_TEST(reserved_bits_are_the_leading_zeros)
{
    for (unsigned reserved = 0; reserved <= 64; reserved++) {
        for (unsigned form = 0; form < 3; form++)
            ck_assert_uint_eq(ofi_tag_reserved_bits(format_of(reserved, form)), reserved);
    }
    ck_assert_uint_eq(ofi_tag_reserved_bits(0x5555555555555555), 1);
    ck_assert_uint_eq(ofi_tag_reserved_bits(1), 63);
}
END_TEST

/* They cost communicators and nothing else, until there are too few of them. */
START_TEST(reserved_bits_are_those_of_communicators)
{
    for (ofi_tag_mode_t mode = OFI_TAG_1; mode < OFI_TAG_MODE_COUNT; mode++) {
        ofi_tag_layout_t whole;
        opal_text_t reason = {0};
        ck_assert(ofi_tag_layout_make(&whole, mode, UINT64_MAX, &reason));
        for (unsigned reserved = 0; reserved <= 64; reserved++) {
            ofi_tag_layout_t layout;
            bool fits = ofi_tag_layout_make(&layout, mode, format_of(reserved, 1), &reason);
            ck_assert_int_eq(fits, reserved + OFI_TAG_LEAST_COMM_BITS <= widths[mode]);
            if (!fits)
                continue;
            ck_assert_uint_eq(layout.comm_bits, widths[mode] - reserved);
            ck_assert_uint_eq(layout.max_comm, (1U << layout.comm_bits) - 1);
            ck_assert_uint_eq(layout.max_rank, whole.max_rank);
            ck_assert_int_eq(layout.max_tag, whole.max_tag);
        }
        opal_text_free(&reason);
    }
}
END_TEST

START_TEST(too_few_bits_are_told_with_the_numbers)
{
    static const struct {
        ofi_tag_mode_t mode;
        uint64_t format;
        const char *reason;
    } cases[] = {
        {OFI_TAG_1, 0x05555555555555ff,
         "of a tag's 64 bits it keeps 5 for itself (mem_tag_format 0x05555555555555ff), which "
         "leaves ofi_tag_1 7 for communicators; at least 8 are needed, and mtl_ofi_tag_mode = "
         "ofi_tag_2 would have 19"},
        {OFI_TAG_1, 0x00007fffffffffff,
         "of a tag's 64 bits it keeps 17 for itself (mem_tag_format 0x00007fffffffffff), which "
         "leaves ofi_tag_1 0 for communicators; at least 8 are needed"},
        {OFI_TAG_2, 0x00007fffffffffff,
         "of a tag's 64 bits it keeps 17 for itself (mem_tag_format 0x00007fffffffffff), which "
         "leaves ofi_tag_2 7 for communicators; at least 8 are needed"},
        {OFI_TAG_FULL, 0,
         "of a tag's 64 bits it keeps 64 for itself (mem_tag_format 0x0000000000000000), which "
         "leaves ofi_tag_full 0 for communicators; at least 8 are needed"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++) {
        ofi_tag_layout_t layout = {.mode = OFI_TAG_AUTO}, before = layout;
        opal_text_t reason = {0};
        ck_assert(!ofi_tag_layout_make(&layout, cases[i].mode, cases[i].format, &reason));
        ck_assert_str_eq(opal_text_string(&reason), cases[i].reason);
        ck_assert_mem_eq(&layout, &before, sizeof layout);
        opal_text_free(&reason);
    }
}
END_TEST

START_TEST(auto_is_full_where_the_provider_can)
{
    for (size_t bytes = 0; bytes <= 8; bytes++) {
        for (int directed = 0; directed <= 1; directed++) {
            bool can = bytes >= 4 && directed;
            for (ofi_tag_mode_t wanted = OFI_TAG_AUTO; wanted < OFI_TAG_MODE_COUNT; wanted++) {
                ofi_tag_mode_t mode = OFI_TAG_AUTO;
                opal_text_t reason = {0};
                bool is_decided = ofi_tag_decide(wanted, bytes, directed, &mode, &reason);
                ck_assert_int_eq(is_decided, wanted != OFI_TAG_FULL || can);
                ck_assert_int_eq(is_decided, reason.length == 0);
                if (wanted == OFI_TAG_AUTO)
                    ck_assert_int_eq(mode, can ? OFI_TAG_FULL : OFI_TAG_1);
                else
                    ck_assert_int_eq(mode, is_decided ? wanted : OFI_TAG_AUTO);
                opal_text_free(&reason);
            }
        }
    }
}
END_TEST

START_TEST(why_there_is_no_full)
{
    static const struct {
        size_t bytes;
        bool directed;
        const char *reason;
    } cases[] = {
        {0, true, "ofi_tag_full needs 4 bytes of completion data, and it has 0"},
        {8, false,
         "ofi_tag_full needs receives from one address (FI_DIRECTED_RECV), and it has none"},
        {2, false,
         "ofi_tag_full needs 4 bytes of completion data, and it has 2; receives from one address "
         "(FI_DIRECTED_RECV), and it has none"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++) {
        ofi_tag_mode_t mode;
        opal_text_t reason = {0};
        ck_assert(!ofi_tag_decide(OFI_TAG_FULL, cases[i].bytes, cases[i].directed, &mode, &reason));
        ck_assert_str_eq(opal_text_string(&reason), cases[i].reason);
        opal_text_free(&reason);
    }
}
END_TEST

/* -- messages --------------------------------------------------------------------------------- */

/* What bits are made of. */
typedef struct message {
    uint32_t comm;
    ompi_context_t context;
    unsigned source;
    int tag;
    bool is_synchronous;
} message_t;

static uint64_t bits_of(const ofi_tag_layout_t *layout, const message_t *message)
{
    return ofi_tag_of_message(layout, message->comm, message->context, message->source,
                              message->tag, message->is_synchronous);
}

/* Whether the bits have to say the same of both. */
static bool are_equal(const ofi_tag_layout_t *layout, const message_t *one, const message_t *other)
{
    return one->comm == other->comm && one->context == other->context && one->tag == other->tag &&
           one->is_synchronous == other->is_synchronous &&
           (layout->source_mask == 0 || one->source == other->source);
}

static bool takes(ofi_tag_pattern_t pattern, uint64_t bits)
{
    return ((pattern.bits ^ bits) & ~pattern.ignore) == 0;
}

/* The standard's rule; the source may be left to the address. */
static bool has_to_take(const ofi_tag_layout_t *layout, const message_t *message, uint32_t comm,
                        ompi_context_t context, int source, int tag)
{
    return message->comm == comm && message->context == context &&
           (tag == MPI_ANY_TAG || tag == message->tag) &&
           (source == MPI_ANY_SOURCE || layout->source_mask == 0 ||
            (unsigned)source == message->source);
}

/* Every combination of the edges of each field. */
enum {
    COMMS = 4,
    SOURCES = 4,
    TAGS = 5,
    EDGES = COMMS * SOURCES * TAGS * (OMPI_CONTEXT_COUNT + 1)
};

static void list_edges(const ofi_tag_layout_t *layout, message_t edges[EDGES])
{
    const uint32_t comms[COMMS] = {0, 1, layout->max_comm / 2 + 1, layout->max_comm};
    const unsigned sources[SOURCES] = {0, 1, layout->max_rank / 2 + 1, layout->max_rank};
    const int tags[TAGS] = {0, 1, layout->max_tag / 2 + 1, layout->max_tag - 1, layout->max_tag};
    for (unsigned i = 0; i < EDGES; i++) {
        unsigned context = i / (COMMS * SOURCES * TAGS);
        bool is_synchronous = context == OMPI_CONTEXT_COUNT;
        edges[i] = (message_t){comms[i % COMMS], is_synchronous ? OMPI_CONTEXT_USER : context,
                               sources[i / COMMS % SOURCES], tags[i / COMMS / SOURCES % TAGS],
                               is_synchronous};
    }
}

static message_t draw(const ofi_tag_layout_t *layout)
{
    message_t message = {
        (uint32_t)random() & layout->max_comm, (ompi_context_t)(random() % OMPI_CONTEXT_COUNT),
        (unsigned)random() & layout->max_rank, (int)random() & layout->max_tag, false};
    message.is_synchronous = message.context == OMPI_CONTEXT_USER && random() % 2 == 0;
    return message;
}

/* An assertion of Check takes half a microsecond, also when it holds, and there are many here. */
#define CHECK(holds)                                                                               \
    do {                                                                                           \
        if (!(holds))                                                                              \
            ck_abort_msg("%s does not hold", #holds);                                              \
    } while (0)

static void check_message(const ofi_tag_layout_t *layout, const message_t *message)
{
    uint64_t bits = bits_of(layout, message);
    unsigned reserved = widths[layout->mode] - layout->comm_bits;
    CHECK(reserved == 0 || bits >> (64 - reserved) == 0);
    CHECK(ofi_tag_comm(layout, bits) == message->comm);
    CHECK(ofi_tag_tag(layout, bits) == message->tag);
    CHECK(ofi_tag_source(layout, bits) == (layout->mode == OFI_TAG_FULL ? 0 : message->source));
    CHECK(message->context > OMPI_CONTEXT_COLLECTIVE ||
          ofi_tag_is_synchronous(layout, bits) == message->is_synchronous);
}

/* Two messages: their bits, and what the receives for the one make of the other. */
static void check_two(const ofi_tag_layout_t *layout, const message_t *one, const message_t *other)
{
    uint64_t bits = bits_of(layout, other);
    CHECK((bits_of(layout, one) == bits) == are_equal(layout, one, other));
    for (unsigned open = 0; open < 4; open++) {
        int source = open & 1 ? MPI_ANY_SOURCE : (int)one->source;
        int tag = open & 2 ? MPI_ANY_TAG : one->tag;
        ofi_tag_pattern_t pattern =
            ofi_tag_of_receive(layout, one->comm, one->context, source, tag);
        CHECK(takes(pattern, bits) ==
              has_to_take(layout, other, one->comm, one->context, source, tag));
    }
}

START_TEST(messages_at_the_edges)
{
    ofi_tag_layout_t layout;
    static message_t edges[EDGES];
    unsigned next = 0;
    while (next_layout(&layout, &next)) {
        list_edges(&layout, edges);
        for (unsigned i = 0; i < EDGES; i++) {
            check_message(&layout, &edges[i]);
            for (unsigned j = 0; j < EDGES; j++)
                check_two(&layout, &edges[i], &edges[j]);
        }
    }
    ck_assert_uint_eq(next, 12 - 8 + 24 - 8 + 28 - 8 + MODES);
}
END_TEST

/* Neighbours too: messages that differ in one bit of one field. */
START_TEST(messages_at_random)
{
    ofi_tag_layout_t layout;
    unsigned next = 0;
    while (next_layout(&layout, &next)) {
        for (unsigned i = 0; i < 3000; i++) {
            message_t one = draw(&layout), other = i % 2 == 0 ? draw(&layout) : one;
            other.comm ^= (1U << random() % 32) & layout.max_comm & -(uint32_t)(i % 8 == 1);
            other.source ^= (1U << random() % 31) & layout.max_rank & -(unsigned)(i % 8 == 3);
            other.tag ^= (1 << random() % 31) & layout.max_tag & -(int)(i % 8 == 5);
            check_message(&layout, &one);
            check_two(&layout, &one, &other);
        }
    }
}
END_TEST

/* What is made without the word, or with another one, is taken by nothing that has it. */
START_TEST(strangers_meet_no_receive)
{
    ofi_tag_layout_t layout;
    unsigned next = 0;
    while (next_layout(&layout, &next)) {
        ofi_tag_layout_t other = layout;
        ofi_tag_set_secret(&layout, SECRET);
        ofi_tag_set_secret(&other, next % 2 == 0 ? 0 : ~SECRET);
        ofi_tag_pattern_t everything = ofi_tag_of_any(&layout, 2);
        for (unsigned i = 0; i < 300; i++) {
            message_t message = draw(&layout);
            message.comm %= 3;
            ofi_tag_pattern_t pattern = ofi_tag_of_receive(&layout, message.comm, message.context,
                                                           MPI_ANY_SOURCE, MPI_ANY_TAG);
            CHECK(takes(pattern, bits_of(&layout, &message)));
            CHECK(!takes(pattern, bits_of(&other, &message)));
            CHECK(takes(everything, bits_of(&layout, &message)) ==
                  (message.context == OMPI_CONTEXT_USER));
            CHECK(!takes(everything, bits_of(&other, &message)));
        }
        CHECK(ofi_tag_of_part(&layout, 1, 1) != ofi_tag_of_part(&other, 1, 1));
        CHECK(ofi_tag_of_control(&layout) != ofi_tag_of_control(&other));
    }
}
END_TEST

/* -- parts and control messages --------------------------------------------------------------- */

/* No receive of a message, whatever it leaves open, takes this. */
static void check_aside(const ofi_tag_layout_t *layout, uint64_t bits)
{
    for (unsigned i = 0; i < OMPI_CONTEXT_COUNT; i++) {
        ofi_tag_pattern_t pattern =
            ofi_tag_of_receive(layout, ofi_tag_comm(layout, bits), i, MPI_ANY_SOURCE, MPI_ANY_TAG);
        CHECK(!takes(pattern, bits));
    }
}

START_TEST(parts_are_of_one_message)
{
    ofi_tag_layout_t layout;
    unsigned next = 0;
    while (next_layout(&layout, &next)) {
        enum { MESSAGES = 4, PARTS = 6, COUNT = MESSAGES * PARTS };
        const uint32_t messages[MESSAGES] = {1, 2, layout.max_message - 1, layout.max_message};
        const uint32_t halfway = layout.max_part / 2;
        const uint32_t parts[PARTS] = {
            0, 1, halfway, halfway + 1, layout.max_part - 1, layout.max_part};
        uint64_t bits[COUNT];
        ck_assert_uint_ge(layout.max_part, (1 << 19) - 1);
        for (unsigned i = 0; i < COUNT; i++) {
            bits[i] = ofi_tag_of_part(&layout, messages[i / PARTS], parts[i % PARTS]);
            check_aside(&layout, bits[i]);
            ck_assert_uint_ne(bits[i], ofi_tag_of_control(&layout));
            for (unsigned j = 0; j < i; j++)
                ck_assert_uint_ne(bits[i], bits[j]);
        }
        check_aside(&layout, ofi_tag_of_control(&layout));
        unsigned reserved = widths[layout.mode] - layout.comm_bits;
        ck_assert(reserved == 0 || bits[COUNT - 1] >> (64 - reserved) == 0);
    }
}
END_TEST

int main(void)
{
    static const unit_test_t tests[] = {
        {.test = &limits_are_those_of_the_modes},
        {.test = &reserved_bits_are_the_leading_zeros},
        {.test = &reserved_bits_are_those_of_communicators},
        {.test = &too_few_bits_are_told_with_the_numbers},
        {.test = &auto_is_full_where_the_provider_can},
        {.test = &why_there_is_no_full},
        {.test = &messages_at_the_edges},
        {.test = &messages_at_random},
        {.test = &strangers_meet_no_receive},
        {.test = &parts_are_of_one_message},
    };
    return unit_run("tag", tests, OPAL_COUNT_OF(tests), NULL);
}
