/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/patcher/overwrite/aarch64.c: plans for code that is not executed, word by word. On
 * another processor there is nothing of it. */
#include "opal/mca/patcher/overwrite/code.h"

#include <pthread.h>

#include "test/unit/opal/support.h"

#ifdef __aarch64__

typedef struct sample {
    uint32_t code[2];    /* the entry, and what is behind it */
    const char *refusal; /* part of the reason; NULL: there is a plan */
    size_t skipped;      /* bytes that stay: a landing pad */
} sample_t;

static const sample_t samples[] = {
    {{0xd2801ae8, 0xd4000001}, NULL, 0},               /* mov x8, #215 */
    {{0x52801ae8, 0xd4000001}, NULL, 0},               /* mov w8, #215 */
    {{0xa9bf7bfd, 0x910003fd}, NULL, 0},               /* stp x29, x30, [sp, #-16]! */
    {{0xd10103ff, 0x910003fd}, NULL, 0},               /* sub sp, sp, #64 */
    {{0xd503201f, 0xd4000001}, NULL, 0},               /* nop */
    {{0xd503245f, 0xd2801ae8}, NULL, 4},               /* bti c; mov x8, #215 */
    {{0xd503233f, 0xa9bf7bfd}, "not understood", 0},   /* paciasp */
    {{0xd503245f, 0xd503233f}, "not understood", 0},   /* bti c; paciasp */
    {{0x14000010, 0}, "other code has patched it", 0}, /* b .+64 */
    {{0xd503245f, 0x14000010}, "other code has patched it", 0},
    {{0x94000010, 0}, "other code has patched it", 0},          /* bl .+64 */
    {{0x58000051, 0xd61f0220}, "other code has patched it", 0}, /* ldr x17, .+8; br x17 */
    {{0xd2800010, 0xf2a00010}, "other code has patched it", 0}, /* mov x16, #0; movk x16, #0 */
    {{0x90000010, 0x91000210}, "other code has patched it", 0}, /* adrp x16; add x16, x16, #0 */
    {{0xd65f03c0, 0}, "not understood", 0},                     /* ret */
    {{0xd61f0000, 0}, "not understood", 0},                     /* br x0 */
    {{0xd4200000, 0}, "not understood", 0},                     /* brk #0 */
    {{0xb4000060, 0}, "not understood", 0},                     /* cbz x0, .+12 */
    {{0x36000060, 0}, "not understood", 0},                     /* tbz w0, #0, .+12 */
    {{0x54000060, 0}, "not understood", 0},                     /* b.eq .+12 */
};

/* Where a branch at this place leads. */
static uintptr_t follow(uintptr_t at, uint32_t instruction)
{
    ck_assert_uint_eq(instruction >> 26, 5);
    int32_t words = (int32_t)(instruction << 6) >> 6;
    return at + (uintptr_t)((intptr_t)words * 4);
}

static void check_plan(const overwrite_plan_t *plan, const uint32_t *entry, uintptr_t island)
{
    ck_assert_uint_eq(plan->store_at, (uintptr_t)entry);
    ck_assert_uint_eq(plan->store_bytes, sizeof *entry);
    ck_assert_uint_eq(plan->store_expected, *entry);
    ck_assert_uint_eq(plan->padding_at, 0);
    ck_assert_uint_eq(follow(plan->store_at, (uint32_t)plan->store_value), island);
}

START_TEST(plans)
{
    static uint32_t code[64];
    const sample_t *sample = &samples[_i];
    uint32_t *entry = &code[16];
    memcpy(entry, sample->code, sizeof sample->code);
    const uintptr_t islands[] = {(uintptr_t)entry + overwrite_reach_bytes,
                                 (uintptr_t)entry - overwrite_reach_bytes};
    for (size_t i = 0; i < OPAL_COUNT_OF(islands); i++) {
        overwrite_plan_t plan;
        const char *why = overwrite_make_plan(&plan, (unsigned char *)entry, islands[i]);
        if (sample->refusal == NULL) {
            ck_assert_msg(why == NULL, "%s", why);
            check_plan(&plan, entry + sample->skipped / sizeof *entry, islands[i]);
        } else {
            ck_assert_ptr_nonnull(why);
            ck_assert_msg(strstr(why, sample->refusal) != NULL, "%s", why);
        }
    }
}
END_TEST

static void *plan_in_thread(void *context OPAL_UNUSED)
{
    static const uint32_t move[] = {0xd2801ae8, 0}, nop[] = {0xd503201f, 0};
    overwrite_plan_t plan;
    const char *why =
        overwrite_make_plan(&plan, (const unsigned char *)move, (uintptr_t)move + 1024);
    ck_assert_ptr_nonnull(why);
    ck_assert_ptr_nonnull(strstr(why, "while threads run"));
    ck_assert_ptr_null(
        overwrite_make_plan(&plan, (const unsigned char *)nop, (uintptr_t)nop + 1024));
    return NULL;
}

/* What the architecture does not promise to other processors is not done. */
START_TEST(threads_are_in_the_way)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, plan_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &plans, .repeats = OPAL_COUNT_OF(samples)},
    {.test = &threads_are_in_the_way},
};

UNIT_MAIN("aarch64", tests, NULL);

#else

int main(void)
{
    printf("1..1\nok 1 - all of it # SKIP this is another processor\n");
    return 0;
}

#endif
