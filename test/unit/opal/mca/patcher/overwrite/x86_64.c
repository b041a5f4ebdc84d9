/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/patcher/overwrite/x86_64.c: plans for code that is not executed, byte by byte. */
#include "opal/mca/patcher/overwrite/code.h"

#include <stdlib.h>

#include "test/unit/opal/support.h"

#ifdef __x86_64__

enum { ENTRY = 32 }; /* aligned as functions are; before it is padding */

typedef struct sample {
    const char *code;    /* bytes in hexadecimal, from the entry on */
    const char *padding; /* the bytes before it */
    const char *refusal; /* part of the reason; NULL: there is a plan */
    size_t skipped;      /* bytes that stay: endbr64 */
    bool is_short;       /* by way of the padding */
} sample_t;

static const char nops[] = "0f1f840000000000";

static const sample_t samples[] = {
    {"b80b000000 0f05", nops, NULL, 0, false},             /* mov $11,%eax */
    {"41b80b000000 0f05", nops, NULL, 0, false},           /* mov $11,%r8d */
    {"48c7c00b000000 0f05", nops, NULL, 0, false},         /* mov $11,%rax */
    {"41f7c1ff0f0000 751f", nops, NULL, 0, false},         /* test $0xfff,%r9d */
    {"488b15c1e11400 90", nops, NULL, 0, false},           /* mov 0x14e1c1(%rip),%rdx */
    {"4c8b0425 10000000 90", nops, NULL, 0, false},        /* mov 0x10,%r8 */
    {"488b442408 90", nops, NULL, 0, false},               /* mov 8(%rsp),%rax */
    {"4881ec 00010000", nops, NULL, 0, false},             /* sub $256,%rsp */
    {"4189ca 41f7c1ff0f0000", nops, NULL, 0, true},        /* mov %ecx,%r10d */
    {"4883ec58 90", nops, NULL, 0, true},                  /* sub $88,%rsp */
    {"4154 55", "84000000000066 90", "no room", 0, false}, /* a tail of something, then a nop */
    {"4154 55", "0f1f840000000000 6690", NULL, 0, true},   /* push %r12 */
    {"4154 55", "c3 cccccccccc", NULL, 0, true},           /* */
    {"4154 55", "0f1f440000", NULL, 0, true},              /* */
    {"4154 55", "662e0f1f840000000000", NULL, 0, true},    /* */
    {"4154 55", "c3 0f1f4000", "no room", 0, false},       /* */
    {"4154 55", "c3", "no room", 0, false},                /* */
    {"31c0 c3", nops, NULL, 0, true},                      /* xor %eax,%eax */
    {"85ff 7401", nops, NULL, 0, true},                    /* test %edi,%edi */
    {"f6c101 7401", nops, NULL, 0, true},                  /* test $1,%cl */
    {"f7d8 c3", nops, NULL, 0, true},                      /* neg %eax */
    {"55 4889e5", nops, "too short", 0, false},            /* push %rbp */
    {"f30f1efa b80b000000", nops, NULL, 4, true}, /* endbr64: what follows crosses a word */
    {"f30f1efa 55", nops, "too short", 0, false}, /* */
    {"e9 00000000", nops, "patched", 0, false},   /* jmp */
    {"eb 05", nops, "patched", 0, false},         /* */
    {"cc", nops, "patched", 0, false},            /* */
    {"ff25 00000000", nops, "patched", 0, false}, /* jmp *(%rip) */
    {"49bb 1122334455667788 41ffe3", nops, "patched", 0, false}, /* mov $,%r11; jmp *%r11 */
    {"48b8 1122334455667788 ffe0", nops, "patched", 0, false},   /* mov $,%rax; jmp *%rax */
    {"48b8 1122334455667788 c3", nops, NULL, 0, false},          /* mov $,%rax */
    {"68 00000000 c3", nops, "patched", 0, false},               /* push; ret */
    {"f30f1efa e900000000", nops, "patched", 0, false},          /* */
    {"c3", nops, "not understood", 0, false},                    /* ret */
    {"0f05", nops, "not understood", 0, false},                  /* syscall */
    {"7401", nops, "not understood", 0, false},                  /* je */
    {"e8 00000000", nops, "not understood", 0, false},           /* call */
    {"c5f877", nops, "not understood", 0, false},                /* vzeroupper */
};

static size_t bytes_of(const char *text, unsigned char *bytes)
{
    size_t count = 0;
    for (; *text != 0; text += 2) {
        if (*text == ' ')
            text++;
        const char digits[3] = {text[0], text[1], 0};
        bytes[count++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return count;
}

/* Where a jump at this place leads. */
static uintptr_t follow(const unsigned char *at)
{
    if (at[0] == 0xeb)
        return (uintptr_t)at + 2 + (uintptr_t)(signed char)at[1];
    int32_t distance;
    ck_assert_uint_eq(at[0], 0xe9);
    memcpy(&distance, at + 1, sizeof distance);
    return (uintptr_t)at + 5 + (uintptr_t)distance;
}

static void execute_on_paper(const sample_t *sample, unsigned char *page)
{
    overwrite_plan_t plan;
    unsigned char before[128], *entry = page + ENTRY + sample->skipped;
    uintptr_t island = (uintptr_t)page + 1000000;
    const char *why = overwrite_make_plan(&plan, page + ENTRY, island);
    if (sample->refusal != NULL) {
        ck_assert_ptr_nonnull(why);
        ck_assert_msg(strstr(why, sample->refusal) != NULL, "%s", why);
        return;
    }
    ck_assert_msg(why == NULL, "%s", why);
    ck_assert_uint_eq(plan.store_at % plan.store_bytes, 0);
    ck_assert_mem_eq((void *)plan.store_at, &plan.store_expected, sizeof plan.store_expected);
    ck_assert_int_eq(plan.padding_at != 0, sample->is_short);

    memcpy(before, page, sizeof before);
    if (sample->is_short)
        memcpy((void *)plan.padding_at, plan.padding, plan.padding_bytes);
    memcpy((void *)plan.store_at, &plan.store_value, plan.store_bytes);
    uintptr_t target = follow(entry);
    ck_assert_uint_eq(sample->is_short ? follow((unsigned char *)target) : target, island);

    /* Nothing else has changed. */
    size_t jump = sample->is_short ? 2 : 5;
    memcpy(before + ENTRY + sample->skipped, entry, jump);
    memcpy(before + ENTRY - 5, page + ENTRY - 5, plan.padding_bytes);
    ck_assert_mem_eq(page, before, sizeof before);
}

START_TEST(plans)
{
    static _Alignas(64) unsigned char page[128];
    const sample_t *sample = &samples[_i];
    unsigned char padding[16];
    memset(page, 0xc3, sizeof page);
    size_t count = bytes_of(sample->padding, padding);
    memcpy(page + ENTRY - count, padding, count);
    bytes_of(sample->code, page + ENTRY);
    execute_on_paper(sample, page);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &plans, .repeats = OPAL_COUNT_OF(samples)},
};

#else

START_TEST(another_processor)
{
    ck_assert_uint_le(overwrite_island_bytes, 64);
}
END_TEST

static const unit_test_t tests[] = {{.test = &another_processor}};

#endif

UNIT_MAIN("x86_64", tests, NULL);
