/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/memory/hooks/redirect.c: libc's allocator is led through functions that count. */
#include "opal/memory/hooks/redirect.h"

#include <stdatomic.h>

#include "opal/memory/hooks/watcher.h"
#include "test/unit/opal/support.h"

static void *count_malloc(size_t bytes);
static void count_free(void *block);

static opal_patch_t malloc_patch = {.symbol = "malloc", .replacement = (void *)count_malloc};
static opal_patch_t free_patch = {.symbol = "free", .replacement = (void *)count_free};
static opal_patch_t *const giving_back[] = {&free_patch}, *const handing_out[] = {&malloc_patch};

static atomic_uint handed_out, given_back;

static void *count_malloc(size_t bytes)
{
    atomic_fetch_add(&handed_out, 1);
    return ((void *(*)(size_t))malloc_patch.original)(bytes);
}

static void count_free(void *block)
{
    atomic_fetch_add(&given_back, 1);
    ((void (*)(void *))free_patch.original)(block);
}

/* Check allocates too, so nothing is checked in between. */
START_TEST(malloc_and_free_are_led_to_ours)
{
    char *volatile before = strdup("before");
    opal_status_t first = opal_memory_redirect(giving_back, 1);
    opal_status_t second = opal_memory_redirect(handing_out, 1);
    unsigned out[3], back[3];
    free(before);
    out[0] = atomic_load(&handed_out), back[0] = atomic_load(&given_back);
    void *volatile block = malloc(100);
    out[1] = atomic_load(&handed_out), back[1] = atomic_load(&given_back);
    char *volatile text = strdup("libc calls malloc too");
    free(block);
    free(text);
    out[2] = atomic_load(&handed_out), back[2] = atomic_load(&given_back);

    ck_assert_int_eq(first, OPAL_SUCCESS);
    ck_assert_int_eq(second, OPAL_SUCCESS);
    ck_assert_uint_eq(out[0], 0);
    ck_assert_uint_eq(back[0], 1);
    ck_assert_uint_eq(out[1], 1);
    ck_assert_uint_eq(back[1], 1);
    ck_assert_uint_eq(out[2], 2);
    ck_assert_uint_eq(back[2], 3);
}
END_TEST

static const struct {
    const char *variable, *value, *reason;
} obstacles[] = {
    {"UCX_MEM_MALLOC_HOOKS", "n", "memory_malloc_hooks is no"},
    {"UCX_MEM_RELOC_HOOKS", "n", "memory_reloc_hooks is no"},
    {"OMPI_MCA_patcher", "overwrite", "excluded by patcher = overwrite"},
};

START_TEST(the_user_decides)
{
    setenv(obstacles[_i].variable, obstacles[_i].value, 1);
    ck_assert_int_eq(opal_memory_redirect(handing_out, 1), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_str_eq(malloc_patch.reason, obstacles[_i].reason);
    free(malloc(100));
    ck_assert_uint_eq(atomic_load(&handed_out), 0);
}
END_TEST

START_TEST(what_libc_does_not_have)
{
    opal_patch_t none = {.symbol = "mallocate", .replacement = (void *)count_malloc};
    opal_patch_t *const patches[] = {&none, &malloc_patch};
    ck_assert_int_eq(opal_memory_redirect(patches, 2), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_str_eq(none.reason, "libc has no mallocate");
    ck_assert_str_eq(malloc_patch.reason, "");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &malloc_and_free_are_led_to_ours},
    {.test = &the_user_decides, .repeats = OPAL_COUNT_OF(obstacles)},
    {.test = &what_libc_does_not_have},
};

int main(void)
{
    if (opal_memory_watcher() == NULL)
        return unit_run("redirect", tests, OPAL_COUNT_OF(tests), NULL);
    puts("1..1\nok 1 - all of it # SKIP the sanitizer has an allocator of its own");
    return 0;
}
