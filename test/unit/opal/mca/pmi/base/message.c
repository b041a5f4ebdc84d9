/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/message.c: what is a message, what is none, and what is not whole yet. */
#include "opal/mca/pmi/base/message.h"

#include <limits.h>

#include "test/unit/opal/support.h"

/* The parsed message as "cmd|key=value|...", to be freed. */
static char *written(const opal_pmi_message_t *message)
{
    opal_text_t text = {0};
    opal_text_add(&text, message->cmd);
    for (size_t i = 0; i < message->count; i++)
        opal_text_printf(&text, "|%s=%s", message->words[i].key, message->words[i].value);
    return opal_text_take(&text);
}

/* Parses a copy that ends where the message does, so that reading behind it is seen. */
static opal_status_t parse(const char *bytes, size_t length, char **result, size_t *used,
                           const char **complaint)
{
    opal_pmi_message_t message;
    char *copy = opal_xmalloc(length);
    memcpy(copy, bytes, length);
    opal_status_t status = opal_pmi_message_parse(copy, length, &message, used, complaint);
    *result = written(&message);
    free(copy);
    return status;
}

static const struct {
    const char *bytes, *written;
} whole[] = {
    {"cmd=barrier_out\n", "barrier_out"},
    {"cmd=init pmi_version=1 pmi_subversion=1\n", "init|pmi_version=1|pmi_subversion=1"},
    {"cmd=put kvsname=kvs_17 key=sm-0 value=AbC\n", "put|kvsname=kvs_17|key=sm-0|value=AbC"},
    {"  cmd=a   b=1  \n", "a|b=1"},
    {"cmd=a b=\n", "a|b="},
    {"cmd=a b\n", "a|b="},
    {"cmd=a =b\n", "a|=b"},
    {"cmd=a b=1 b=2\n", "a|b=1|b=2"},
    {"cmd=a cmd=b\n", "a|cmd=b"},
    {"mcmd=a\nendcmd\n", "a|endcmd="},
    /* What runs to the end of the line, and what does not. */
    {"cmd=put value=one two three\n", "put|value=one two three"},
    {"cmd=put value=a b=c\n", "put|value=a|b=c"},
    {"cmd=put value=a=b\n", "put|value=a=b"},
    {"cmd=put_result rc=-1 msg=key is there already\n",
     "put_result|rc=-1|msg=key is there already"},
    {"cmd=get_result rc=0 msg=success value=(vector,(0,2,1))\n",
     "get_result|rc=0|msg=success|value=(vector,(0,2,1))"},
    {"cmd=get_result rc=-1 msg=key_x_not_found value=unknown\n",
     "get_result|rc=-1|msg=key_x_not_found|value=unknown"},
    {"cmd=abort exitcode=3\n", "abort|exitcode=3"},
    /* Spawn: a word a line, blanks belong to values. */
    {"mcmd=spawn\nnprocs=2\nexecname=./a b\narg1=x=y z\nendcmd\n",
     "spawn|nprocs=2|execname=./a b|arg1=x=y z|endcmd="},
    {"mcmd=spawn\nmsg=a\nvalue=b\nendcmd\n", "spawn|msg=a|value=b|endcmd="},
    {"mcmd=spawn\nxendcmd\nendcmdx\nendcmd\n", "spawn|xendcmd=|endcmdx=|endcmd="},
    {"mcmd=spawn\n\n\nendcmd\n", "spawn|endcmd="},
};

START_TEST(whole_messages)
{
    const char *bytes = whole[_i].bytes, *complaint;
    size_t length = strlen(bytes), used;
    char *result;
    ck_assert_int_eq(parse(bytes, length, &result, &used, &complaint), OPAL_SUCCESS);
    ck_assert_str_eq(result, whole[_i].written);
    ck_assert_uint_eq(used, length);
    ck_assert_ptr_null(complaint);
    free(result);
}
END_TEST

/* Byte by byte nothing is found before the last one, and nothing behind it is touched. */
START_TEST(parts_of_messages)
{
    const char *bytes = whole[_i].bytes, *complaint;
    size_t length = strlen(bytes), used;
    char *result;
    for (size_t part = 0; part < length; part++) {
        ck_assert_int_eq(parse(bytes, part, &result, &used, &complaint), OPAL_SUCCESS);
        ck_assert_uint_eq(used, 0);
        ck_assert_str_eq(result, "");
        free(result);
    }
    char *two = opal_xprintf("%scmd=next", bytes);
    opal_pmi_message_t message;
    ck_assert_int_eq(opal_pmi_message_parse(two, strlen(two), &message, &used, &complaint),
                     OPAL_SUCCESS);
    ck_assert_uint_eq(used, length);
    ck_assert_str_eq(two + length, "cmd=next");
    free(two);
}
END_TEST

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t length;
    const char *complaint;
} broken[] = {
    {BYTES("\n"), "it is empty"},
    {BYTES("   \n"), "it is empty"},
    {BYTES("hello\n"), "it does not begin with cmd="},
    {BYTES("rc=0 cmd=a\n"), "it does not begin with cmd="},
    {BYTES("CMD=a\n"), "it does not begin with cmd="},
    {BYTES("cmd\n"), "its cmd is empty"},
    {BYTES("cmd=\n"), "its cmd is empty"},
    {BYTES("cmd= a\n"), "its cmd is empty"},
    {BYTES("cmd=a\0b\n"), "it has a zero byte in it"},
    {BYTES("\0\n"), "it has a zero byte in it"},
    {BYTES("mcmd=\nendcmd\n"), "its cmd is empty"},
    {BYTES("mcmd=spawn\n\0\nendcmd\n"), "it has a zero byte in it"},
};

START_TEST(broken_messages)
{
    size_t used;
    const char *complaint;
    char *result;
    ck_assert_int_eq(parse(broken[_i].bytes, broken[_i].length, &result, &used, &complaint),
                     OPAL_ERR_PROTOCOL);
    ck_assert_pstr_eq(complaint, broken[_i].complaint);
    free(result);
}
END_TEST

START_TEST(words_are_counted)
{
    for (int words = OPAL_PMI_MAX_WORDS - 1; words <= OPAL_PMI_MAX_WORDS + 1; words++) {
        opal_text_t text = {0};
        opal_text_add(&text, "cmd=many");
        for (int i = 0; i < words; i++)
            opal_text_printf(&text, " k%d=%d", i, i);
        opal_text_add(&text, "\n");
        size_t used;
        const char *complaint;
        char *result;
        opal_status_t status = parse(text.bytes, text.length, &result, &used, &complaint);
        ck_assert_int_eq(status, words > OPAL_PMI_MAX_WORDS ? OPAL_ERR_PROTOCOL : OPAL_SUCCESS);
        if (status != OPAL_SUCCESS)
            ck_assert_str_eq(complaint, "it has more than 64 words");
        free(result);
        opal_text_free(&text);
    }
}
END_TEST

/* Exactly as long as allowed, one byte more, and too long without an end in sight. */
START_TEST(bytes_are_counted)
{
    char *bytes = opal_xmalloc(OPAL_PMI_MAX_MESSAGE + 1);
    size_t used;
    const char *complaint;
    char *result;
    memset(bytes, 'x', OPAL_PMI_MAX_MESSAGE + 1);
    memcpy(bytes, "cmd=", 4);

    bytes[OPAL_PMI_MAX_MESSAGE - 1] = '\n';
    ck_assert_int_eq(parse(bytes, OPAL_PMI_MAX_MESSAGE, &result, &used, &complaint), OPAL_SUCCESS);
    ck_assert_uint_eq(used, OPAL_PMI_MAX_MESSAGE);
    ck_assert_uint_eq(strlen(result), OPAL_PMI_MAX_MESSAGE - strlen("cmd=\n"));
    free(result);

    bytes[OPAL_PMI_MAX_MESSAGE - 1] = 'x';
    for (size_t length = OPAL_PMI_MAX_MESSAGE; length <= OPAL_PMI_MAX_MESSAGE + 1; length++) {
        bytes[OPAL_PMI_MAX_MESSAGE] = '\n';
        ck_assert_int_eq(parse(bytes, length, &result, &used, &complaint), OPAL_ERR_PROTOCOL);
        ck_assert_str_eq(complaint, "it is longer than 64 KiB");
        free(result);
    }
    free(bytes);
}
END_TEST

static const struct {
    const char *text;
    int min, max, value; /* -99: refused */
} numbers[] = {
    {"0", 0, 10, 0},
    {"10", 0, 10, 10},
    {"007", 0, 10, 7},
    {"-3", -5, 5, -3},
    {"2147483647", 0, INT_MAX, INT_MAX},
    {"11", 0, 10, -99},
    {"-1", 0, 10, -99},
    {"", 0, 10, -99},
    {"-", -5, 5, -99},
    {"1-2", -5, 5, -99},
    {"--1", -5, 5, -99},
    {"+1", 0, 10, -99},
    {"1x", 0, 10, -99},
    {"0x1", 0, 10, -99},
    {"2147483648", 0, INT_MAX, -99},
    {"99999999999999999999", 0, INT_MAX, -99},
};

START_TEST(numbers_are_strict)
{
    int value = -99;
    opal_pmi_message_t message = {.cmd = "a", .count = 2};
    message.words[0].key = "other";
    message.words[0].value = "1";
    message.words[1].key = "n";
    message.words[1].value = numbers[_i].text;
    bool good = opal_pmi_message_get_int(&message, "n", numbers[_i].min, numbers[_i].max, &value);
    ck_assert_int_eq(good, numbers[_i].value != -99);
    ck_assert_int_eq(value, numbers[_i].value);
    ck_assert(!opal_pmi_message_get_int(&message, "missing", 0, 10, &value));
    ck_assert_ptr_null(opal_pmi_message_get(&message, "missing"));
    ck_assert_str_eq(opal_pmi_message_get(&message, "other"), "1");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &whole_messages, .repeats = OPAL_COUNT_OF(whole)},
    {.test = &parts_of_messages, .repeats = OPAL_COUNT_OF(whole)},
    {.test = &broken_messages, .repeats = OPAL_COUNT_OF(broken)},
    {.test = &words_are_counted},
    {.test = &bytes_are_counted},
    {.test = &numbers_are_strict, .repeats = OPAL_COUNT_OF(numbers)},
};

UNIT_MAIN("message", tests, NULL);
