/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/util/sha256.c: the examples of FIPS 180-4 and RFC 4231, every length around the ends of
 * blocks, messages that come in pieces, and the comparison of secrets.
 */
#include "opal/util/sha256.h"

#include "test/unit/opal/support.h"

static const char *hex(const unsigned char *bytes)
{
    static char text[2 * OPAL_SHA256_BYTES + 1];
    for (size_t i = 0; i < OPAL_SHA256_BYTES; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
    return text;
}

static const struct {
    const char *message, *digest;
} messages[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
     "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

START_TEST(digests_of_the_standard)
{
    unsigned char digest[OPAL_SHA256_BYTES];
    opal_sha256(messages[_i].message, strlen(messages[_i].message), digest);
    ck_assert_str_eq(hex(digest), messages[_i].digest);
}
END_TEST

/* In pieces of all lengths from 1 to 127, again and again. */
START_TEST(a_million_letters)
{
    unsigned char digest[OPAL_SHA256_BYTES];
    char letters[128];
    opal_sha256_t hash;
    memset(letters, 'a', sizeof letters);
    opal_sha256_begin(&hash);
    for (size_t left = 1000000, part = 1; left > 0; part = part % 127 + 1) {
        if (part > left)
            part = left;
        opal_sha256_add(&hash, letters, part);
        left -= part;
    }
    opal_sha256_end(&hash, digest);
    ck_assert_str_eq(hex(digest),
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

/* The digest of the digests of messages of 0 to 199 bytes; the expected one is from another
 * implementation (python3's hashlib). */
START_TEST(every_length)
{
    unsigned char message[200], digest[OPAL_SHA256_BYTES];
    opal_sha256_t all;
    opal_sha256_begin(&all);
    for (size_t length = 0; length < sizeof message; length++) {
        opal_sha256(message, length, digest);
        opal_sha256_add(&all, digest, sizeof digest);
        message[length] = (unsigned char)length;
    }
    opal_sha256_end(&all, digest);
    ck_assert_str_eq(hex(digest),
                     "ba7b0fcea7d10c06b855b43d2b4dce1e3e842fff6be0acefb0faf4f2dd05bb47");
}
END_TEST

/* A message of 512 MiB has more bits than 32 of them count. */
START_TEST(the_length_has_64_bits)
{
    unsigned char short_one[OPAL_SHA256_BYTES], long_one[OPAL_SHA256_BYTES];
    opal_sha256_t hash;
    opal_sha256_begin(&hash);
    opal_sha256_end(&hash, short_one);
    opal_sha256_begin(&hash);
    hash.length = UINT64_C(1) << 29; /* as if so many whole blocks had left the state unchanged */
    opal_sha256_end(&hash, long_one);
    ck_assert_int_ne(memcmp(short_one, long_one, sizeof short_one), 0);
}
END_TEST

/* RFC 4231; the fifth of its cases is about a cut result, which is not here. */
static const struct {
    size_t key_length, length;
    const char *key, *message, *mac;
    unsigned char key_byte, byte; /* instead of the texts that are NULL */
} macs[] = {
    {.key_length = 20,
     .key_byte = 0x0b,
     .length = 8,
     .message = "Hi There",
     .mac = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {.key_length = 4,
     .key = "Jefe",
     .length = 28,
     .message = "what do ya want for nothing?",
     .mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {.key_length = 20,
     .key_byte = 0xaa,
     .length = 50,
     .byte = 0xdd,
     .mac = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {.key_length = 25,
     .key = "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31",
     .length = 50,
     .byte = 0xcd,
     .mac = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {.key_length = 131,
     .key_byte = 0xaa,
     .length = 54,
     .message = "Test Using Larger Than Block-Size Key - Hash Key First",
     .mac = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {.key_length = 131,
     .key_byte = 0xaa,
     .length = 152,
     .message = "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm.",
     .mac = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

static const void *text_or(const char *text, unsigned char byte, unsigned char room[256])
{
    memset(room, byte, 256);
    return text != NULL ? (const void *)text : room;
}

START_TEST(macs_of_the_rfc)
{
    unsigned char key_room[256], room[256], mac[OPAL_SHA256_BYTES];
    const void *key = text_or(macs[_i].key, macs[_i].key_byte, key_room);
    const char *message = text_or(macs[_i].message, macs[_i].byte, room);
    for (size_t cut = 0; cut <= macs[_i].length; cut++) {
        opal_hmac_t hmac;
        opal_hmac_begin(&hmac, key, macs[_i].key_length);
        opal_hmac_add(&hmac, message, cut);
        opal_hmac_add(&hmac, message + cut, macs[_i].length - cut);
        opal_hmac_end(&hmac, mac);
        ck_assert_str_eq(hex(mac), macs[_i].mac);
        ck_assert_msg(hmac.inner.length == 0 && hmac.outer.length == 0, "the states are wiped");
    }
}
END_TEST

START_TEST(a_key_of_one_block_is_not_hashed)
{
    unsigned char key[65] = {1}, digest[OPAL_SHA256_BYTES], mac[2][OPAL_SHA256_BYTES];
    opal_sha256(key, 64, digest);
    const struct {
        const unsigned char *key;
        size_t length;
    } ways[] = {{key, 64}, {digest, sizeof digest}};
    for (int i = 0; i < 2; i++) {
        opal_hmac_t hmac;
        opal_hmac_begin(&hmac, ways[i].key, ways[i].length);
        opal_hmac_end(&hmac, mac[i]);
    }
    ck_assert_int_ne(memcmp(mac[0], mac[1], sizeof mac[0]), 0);
}
END_TEST

START_TEST(secrets_are_compared_to_the_last_bit)
{
    unsigned char one[OPAL_SHA256_BYTES] = {0}, other[OPAL_SHA256_BYTES] = {0};
    ck_assert(opal_secret_equal(one, other, sizeof one));
    for (size_t bit = 0; bit < 8 * sizeof one; bit++) {
        other[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_msg(!opal_secret_equal(one, other, sizeof one), "bit %zu", bit);
        ck_assert(opal_secret_equal(one, other, bit / 8));
        other[bit / 8] = 0;
    }
}
END_TEST

START_TEST(random_bytes_are_others_each_time)
{
    unsigned char one[1000] = {0}, other[1000] = {0};
    unsigned ones = 0;
    ck_assert_int_eq(opal_secret_random(one, sizeof one), OPAL_SUCCESS);
    ck_assert_int_eq(opal_secret_random(other, sizeof other), OPAL_SUCCESS);
    ck_assert_int_ne(memcmp(one, other, sizeof one), 0);
    for (size_t i = 0; i < sizeof one; i++)
        ones += (unsigned)__builtin_popcount(one[i]);
    ck_assert_uint_ge(ones, 3500); /* of 4000 expected, with a deviation of 45 */
    ck_assert_uint_le(ones, 4500);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &digests_of_the_standard, .repeats = OPAL_COUNT_OF(messages)},
    {.test = &a_million_letters},
    {.test = &every_length},
    {.test = &the_length_has_64_bits},
    {.test = &macs_of_the_rfc, .repeats = OPAL_COUNT_OF(macs)},
    {.test = &a_key_of_one_block_is_not_hashed},
    {.test = &secrets_are_compared_to_the_last_bit},
    {.test = &random_bytes_are_others_each_time},
};

UNIT_MAIN("sha256", tests, NULL);
