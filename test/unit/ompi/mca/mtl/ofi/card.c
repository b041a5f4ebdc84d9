/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mtl/ofi/card.c: cards as bytes and back, and which two go together. */
#include "ompi/mca/mtl/ofi/card.h"

#include <rdma/fabric.h>

#include "test/unit/opal/support.h"

static ofi_card_t a_card(void)
{
    return (ofi_card_t){.mode = OFI_TAG_FULL,
                        .comm_bits = 27,
                        .address_format = FI_SOCKADDR_IN,
                        .version = FI_VERSION(1, 17),
                        .word_bits = 32,
                        .host = "node1",
                        .provider = "tcp;ofi_rxm",
                        .fabric = "10.0.0.0/24",
                        .address = "\0\1\2",
                        .address_bytes = 3};
}

static void check_equal(const ofi_card_t *one, const ofi_card_t *other)
{
    ck_assert_int_eq(one->mode, other->mode);
    ck_assert_uint_eq(one->comm_bits, other->comm_bits);
    ck_assert_uint_eq(one->address_format, other->address_format);
    ck_assert_uint_eq(one->version, other->version);
    ck_assert_uint_eq(one->word_bits, other->word_bits);
    ck_assert_str_eq(one->host, other->host);
    ck_assert_str_eq(one->provider, other->provider);
    ck_assert_str_eq(one->fabric, other->fabric);
    ck_assert_uint_eq(one->address_bytes, other->address_bytes);
    ck_assert_mem_eq(one->address, other->address, one->address_bytes);
}

START_TEST(there_and_back)
{
    ofi_card_t card = a_card(), again;
    size_t length;
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *bytes = ofi_card_encode(&card, &length);
        ck_assert(ofi_card_decode(&again, bytes, length));
        check_equal(&again, &card);
        free(bytes);
        if (i == 0)
            card.address_bytes = 0;
        if (i == 1)
            card = (ofi_card_t){.mode = OFI_TAG_1,
                                .address_format = UINT32_MAX,
                                .version = 0x80000001,
                                .host = "",
                                .provider = "",
                                .fabric = "",
                                .address = "x",
                                .address_bytes = 1};
    }
}
END_TEST

/* The address takes what is left; before it nothing may be missing. */
START_TEST(a_cut_card_is_none)
{
    ofi_card_t card = a_card(), again = {.host = "untouched"};
    size_t length;
    unsigned char *bytes = ofi_card_encode(&card, &length);
    for (size_t cut = 0; cut < length - card.address_bytes; cut++) {
        unsigned char *part = malloc(cut + 1); /* for the sanitizer's sake */
        memcpy(part, bytes, cut);
        ck_assert(!ofi_card_decode(&again, part, cut));
        free(part);
    }
    ck_assert_str_eq(again.host, "untouched");
    for (unsigned mode = 0; mode < 256; mode++) {
        bytes[1] = (unsigned char)mode;
        ck_assert_int_eq(ofi_card_decode(&again, bytes, length),
                         mode > OFI_TAG_AUTO && mode < OFI_TAG_MODE_COUNT);
    }
    bytes[1] = OFI_TAG_1;
    bytes[0]++;
    ck_assert(!ofi_card_decode(&again, bytes, length));
    free(bytes);
}
END_TEST

START_TEST(cards_that_agree)
{
    opal_text_t message = {0};
    ofi_card_t one = a_card(), other = a_card();
    other.host = "node2";
    other.fabric = "10.1.0.0/24"; /* a router is between them */
    other.address = "abc";
    other.version = FI_VERSION(1, 18);
    ck_assert(ofi_cards_agree(&one, 0, &other, 1, &message));
    one.address_format = other.address_format = FI_ADDR_EFA;
    one.fabric = other.fabric = "efa";
    ck_assert(ofi_cards_agree(&one, 0, &other, 1, &message));
    ck_assert_uint_eq(message.length, 0);
}
END_TEST

static void set_provider(ofi_card_t *card)
{
    card->provider = "net";
    card->mode = OFI_TAG_1; /* it tells the cause, not what comes of it */
}

static void set_format(ofi_card_t *card)
{
    card->address_format = FI_SOCKADDR_IN6;
    card->fabric = "fd00::/64";
}

static void set_fabric(ofi_card_t *card)
{
    card->fabric = "IB-2";
}

static void set_mode(ofi_card_t *card)
{
    card->mode = OFI_TAG_1;
    card->comm_bits = 12;
}

static void set_bits(ofi_card_t *card)
{
    card->comm_bits = 26;
}

static void set_word(ofi_card_t *card)
{
    card->word_bits = 0;
}

static const struct {
    uint32_t format;
    void (*set)(ofi_card_t *card);
    const char *message;
} cases[] = {
    {FI_SOCKADDR_IN, set_provider,
     "rank 3 on node1 (libfabric 1.17) has the provider tcp;ofi_rxm, and rank 4 on node2 "
     "(libfabric 1.20) net; all ranks need the same, and mtl_ofi_provider_include can say which"},
    {FI_SOCKADDR_IN, set_format,
     "rank 3 on node1 (libfabric 1.17) has the fabric 10.0.0.0/24, and rank 4 on node2 "
     "(libfabric 1.20) fd00::/64; all ranks need the same, and mtl_ofi_domain_include can say "
     "which"},
    {FI_ADDR_IB_UD, set_fabric,
     "rank 3 on node1 (libfabric 1.17) has the fabric 10.0.0.0/24, and rank 4 on node2 "
     "(libfabric 1.20) IB-2; all ranks need the same, and mtl_ofi_domain_include can say which"},
    {FI_SOCKADDR_IN, set_mode,
     "rank 3 on node1 (libfabric 1.17) has the tag mode ofi_tag_full, and rank 4 on node2 "
     "(libfabric 1.20) ofi_tag_1; all ranks need the same, and mtl_ofi_tag_mode can say which"},
    {FI_SOCKADDR_IN, set_bits,
     "rank 3 on node1 (libfabric 1.17) has as the bits of a tag for communicators 27, and rank 4 "
     "on node2 (libfabric 1.20) 26; all ranks need the same, and another mtl_ofi_tag_mode, or "
     "mtl_ofi_provider_include, can say which"},
    {FI_SOCKADDR_IN, set_word,
     "rank 3 on node1 (libfabric 1.17) has as the bits of a message's data for the job's word 32, "
     "and rank 4 on node2 (libfabric 1.20) 0; all ranks need the same, and another "
     "mtl_ofi_tag_mode, or mtl_ofi_provider_include, can say which"},
};

START_TEST(cards_that_do_not)
{
    opal_text_t message = {0};
    ofi_card_t one = a_card(), other = a_card();
    one.address_format = other.address_format = cases[_i].format;
    other.host = "node2";
    other.version = FI_VERSION(1, 20);
    cases[_i].set(&other);
    ck_assert(!ofi_cards_agree(&one, 3, &other, 4, &message));
    ck_assert_str_eq(opal_text_string(&message), cases[_i].message);
    ck_assert(!ofi_cards_agree(&other, 4, &one, 3, &message));
    opal_text_free(&message);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &there_and_back},
    {.test = &a_cut_card_is_none},
    {.test = &cards_that_agree},
    {.test = &cards_that_do_not, .repeats = OPAL_COUNT_OF(cases)},
};

UNIT_MAIN("card", tests, NULL);
