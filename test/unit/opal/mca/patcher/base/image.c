/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/patcher/base/image.c, on the objects of this process, held against dlsym and dladdr. */
#include "opal/mca/patcher/base/image.h"

#include <dlfcn.h>

#include "opal/util/maps.h"
#include "test/unit/opal/support.h"

typedef struct found {
    unsigned libcs, programs, without_symbols;
} found_t;

static const char *const names[] = {"munmap", "mmap", "brk", "sbrk", "shmat", "free", "printf"};

/* By its own table: others may stand before it. */
static void *in_libc(const char *name)
{
    return dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), name);
}

static void check_libc(const opal_image_t *image)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        void *function = opal_image_function(image, names[i]);
        ck_assert_ptr_eq(function, in_libc(names[i]));
        ck_assert(opal_image_holds(image, (uintptr_t)function));
    }
    ck_assert_ptr_null(opal_image_function(image, "munmap_"));
    ck_assert_ptr_null(opal_image_function(image, ""));
    ck_assert_ptr_null(opal_image_function(image, "environ")); /* data */
    ck_assert_ptr_null(opal_image_function(image, "memcpy"));  /* chosen by an indirection */
    ck_assert(!opal_image_holds(image, (uintptr_t)names));
    ck_assert_uint_gt(image->relocations[1].count, 0);
}

/* One name, two versions: the entries are found one after the other, the default counts. */
static void check_versions(const opal_image_t *image)
{
    unsigned entries = 0;
    for (ElfW(Sym) *symbol = NULL;
         (symbol = opal_image_definition(image, "posix_spawn", symbol)) != NULL;)
        entries++;
    ck_assert_uint_ge(entries, 1);
    ck_assert_ptr_eq(opal_image_function(image, "posix_spawn"), in_libc("posix_spawn"));
}

static int visit(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    found_t *found = context;
    opal_image_t image;
    if (!opal_image_read(&image, info)) {
        found->without_symbols++;
        return 0;
    }
    if (opal_image_is_libc(&image)) {
        found->libcs++;
        check_libc(&image);
        check_versions(&image);
    }
    if (opal_image_holds(&image, (uintptr_t)names)) {
        found->programs++;
        ck_assert_str_eq(image.name, "");
        ck_assert_ptr_null(opal_image_function(&image, "munmap"));
    }
    return 0;
}

START_TEST(the_objects_of_this_process)
{
    found_t found = {0};
    dl_iterate_phdr(visit, &found);
    ck_assert_uint_eq(found.libcs, 1);
    ck_assert_uint_eq(found.programs, 1);
}
END_TEST

/* With the other hash table the same is found. */
static int visit_by_sysv(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    opal_image_t image;
    if (!opal_image_read(&image, info) || !opal_image_is_libc(&image) || image.gnu_hash == NULL)
        return 0;
    uint32_t buckets = image.gnu_hash[0], first = image.gnu_hash[1], last = 0;
    const uint32_t *bucket = image.gnu_hash + 4 + image.gnu_hash[2] * 2;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    while ((bucket[buckets + last - first] & 1) == 0)
        last++;
    const uint32_t table[] = {1, last + 1};
    opal_image_t other = image;
    other.gnu_hash = NULL;
    other.sysv_hash = table;
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        ck_assert_ptr_eq(opal_image_function(&other, names[i]),
                         opal_image_function(&image, names[i]));
    ck_assert_ptr_null(opal_image_function(&other, "munmap_"));
    ++*(unsigned *)context;
    return 1;
}

START_TEST(both_hash_tables_serve)
{
    unsigned seen = 0;
    dl_iterate_phdr(visit_by_sysv, &seen);
    ck_assert_uint_eq(seen, 1);
}
END_TEST

/* What an image says is read-only after relocation is so. */
static int visit_relro(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    opal_image_t image;
    opal_mapping_t mapping;
    if (!opal_image_read(&image, info))
        return 0;
    for (size_t i = 0; i < image.header_count; i++) {
        uintptr_t start = image.base + image.headers[i].p_vaddr;
        if (image.headers[i].p_type != PT_GNU_RELRO || !opal_image_is_relro(&image, start))
            continue;
        ck_assert(opal_maps_find((void *)start, &mapping));
        ck_assert_int_eq(mapping.protection, PROT_READ);
        ++*(unsigned *)context;
    }
    return 0;
}

START_TEST(relro_is_known)
{
    unsigned seen = 0;
    dl_iterate_phdr(visit_relro, &seen);
    ck_assert_uint_gt(seen, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_objects_of_this_process},
    {.test = &both_hash_tables_serve},
    {.test = &relro_is_known},
};

UNIT_MAIN("image", tests, NULL);
