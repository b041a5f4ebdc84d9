/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/patcher/reloc, on functions of libc that nobody misses. Objects that are loaded later
 * are tested with real ones by test/memory/dlopen.test.
 */
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "opal/mca/patcher/base/base.h"
#include "opal/mca/patcher/base/image.h"
#include "opal/util/maps.h"
#include "test/unit/opal/support.h"

static pid_t replaced_getppid(void)
{
    return 4711;
}

static pid_t other_getppid(void)
{
    return 4712;
}

/* A relocation of data; volatile, so that it is read when it is called. */
static pid_t (*volatile pointer)(void) = getppid;

static opal_patch_t patch = {.symbol = "getppid", .replacement = replaced_getppid};

static void apply(opal_patch_t *first, opal_patch_t *second)
{
    void *state = NULL;
    char reason[OPAL_PATCH_REASON_MAX_BYTES];
    opal_patch_t *patches[] = {first, NULL, second};
    const opal_patcher_ops_t *ops = opal_patcher_method("reloc", &state, reason);
    ck_assert_ptr_nonnull(ops);
    opal_patcher_resolve(patches, OPAL_COUNT_OF(patches));
    ops->apply(state, patches, OPAL_COUNT_OF(patches));
}

START_TEST(calls_and_pointers_lead_to_the_replacement)
{
    pid_t parent = getppid();
    ck_assert_int_ne(parent, 4711);
    ck_assert_int_eq(pointer(), parent);
    apply(&patch, NULL);
    ck_assert_str_eq(patch.reason, "");
    ck_assert_uint_ge(patch.slots, 2);
    ck_assert_int_eq(getppid(), 4711);
    ck_assert_int_eq(pointer(), 4711);
    ck_assert_int_eq(((pid_t(*)(void))dlsym(RTLD_DEFAULT, "getppid"))(), 4711);
    ck_assert_int_eq(((pid_t(*)(void))patch.original)(), parent);
    ck_assert(!patch.overwritten);
}
END_TEST

START_TEST(repeated_it_finds_nothing_to_do)
{
    apply(&patch, NULL);
    unsigned slots = patch.slots;
    apply(&patch, NULL);
    ck_assert_uint_eq(patch.slots, slots);
    ck_assert_int_eq(getppid(), 4711);
}
END_TEST

START_TEST(what_leads_to_others_is_left_alone)
{
    pid_t (*other)(void) = (pid_t(*)(void))dlsym(dlopen("libm.so.6", RTLD_NOW), "cos");
    ck_assert_ptr_nonnull((void *)other);
    pointer = other; /* somebody has patched us */
    apply(&patch, NULL);
    ck_assert_ptr_eq((void *)pointer, (void *)other);
    ck_assert_ptr_nonnull(strstr(patch.reason, "libm.so.6 instead of libc"));
    pointer = other_getppid;
    apply(&patch, NULL);
    ck_assert_int_eq(pointer(), 4712);
    ck_assert_int_eq(getppid(), 4711);
}
END_TEST

START_TEST(what_libc_does_not_have_stays)
{
    opal_patch_t none = {.symbol = "no_such_function", .replacement = replaced_getppid};
    apply(&none, &patch);
    ck_assert_ptr_null(none.original);
    ck_assert_uint_eq(none.slots, 0);
    ck_assert_int_eq(getppid(), 4711);
}
END_TEST

typedef struct writable {
    size_t count, bytes;
} writable_t;

static bool add_writable(const opal_mapping_t *mapping, void *context)
{
    writable_t *writable = context;
    if ((mapping->protection & PROT_WRITE) != 0 && mapping->inode != 0) {
        writable->count++;
        writable->bytes += mapping->end - mapping->start;
    }
    return true;
}

START_TEST(no_page_stays_writable)
{
    writable_t before = {0}, after = {0};
    opal_maps_walk(add_writable, &before);
    apply(&patch, NULL);
    opal_maps_walk(add_writable, &after);
    ck_assert_uint_gt(before.bytes, 0);
    ck_assert_uint_eq(after.bytes, before.bytes);
}
END_TEST

/* A word in RELRO that is still writable belongs to a dlopen that is not done. */
static int open_relro(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    const int protection = *(int *)context;
    opal_image_t image;
    if (!opal_image_read(&image, info) || !opal_image_holds(&image, (uintptr_t)&patch))
        return 0;
    for (size_t i = 0; i < image.header_count; i++) {
        uintptr_t start = (image.base + image.headers[i].p_vaddr) & ~4095UL;
        uintptr_t end =
            (image.base + image.headers[i].p_vaddr + image.headers[i].p_memsz) & ~4095UL;
        if (image.headers[i].p_type == PT_GNU_RELRO)
            ck_assert_int_eq(mprotect((void *)start, end - start, protection), 0);
    }
    return 1;
}

/* In RELRO, and read whenever it is called. */
extern pid_t (*const relro_pointer)(void);
pid_t (*const relro_pointer)(void) = getppid;

static pid_t call_relro(void)
{
    return (*(pid_t(*const volatile *)(void)) & relro_pointer)();
}

START_TEST(what_another_dlopen_has_in_hand_waits)
{
    int protection = PROT_READ | PROT_WRITE;
    pid_t parent = call_relro();
    dl_iterate_phdr(open_relro, &protection);
    apply(&patch, NULL);
    ck_assert_int_eq(call_relro(), parent);
    protection = PROT_READ;
    dl_iterate_phdr(open_relro, &protection);
    apply(&patch, NULL);
    ck_assert_int_eq(call_relro(), 4711);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &calls_and_pointers_lead_to_the_replacement},
    {.test = &repeated_it_finds_nothing_to_do},
    {.test = &what_leads_to_others_is_left_alone},
    {.test = &what_libc_does_not_have_stays},
    {.test = &no_page_stays_writable},
    {.test = &what_another_dlopen_has_in_hand_waits},
};

UNIT_MAIN("reloc", tests, NULL);
