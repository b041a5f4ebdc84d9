/* SPDX-License-Identifier: BSD-3-Clause */
/* The device and the memory of fake.h. */
#include "test/unit/ompi/mca/mpool/fake.h"

#include "opal/memory/events/events.h"
#include "opal/mca/memory/memory.h"

static atomic_uint ages[FAKE_PAGES];

unsigned fake_support =
    OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_CHUNK_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;

unsigned __wrap_opal_memory_support(void);

unsigned __wrap_opal_memory_support(void)
{
    return fake_support;
}

/* -- the device ----------------------------------------------------------------- */

static atomic_uint *age_of(uintptr_t address)
{
    ck_assert_uint_ge(address, FAKE_BASE);
    ck_assert_uint_lt(address, fake_at(FAKE_PAGES));
    return &ages[(address - FAKE_BASE) / FAKE_PAGE];
}

static bool fails(const fake_device_t *device, uintptr_t begin, uintptr_t end, unsigned access)
{
    return device->failure != OPAL_SUCCESS && begin < device->bad_end && end > device->bad_begin &&
           (device->bad_access == 0 || (access & device->bad_access) != 0);
}

static opal_status_t fake_pin(void *context, void *base, size_t bytes, unsigned access,
                              void **handle)
{
    fake_device_t *device = context;
    uintptr_t begin = (uintptr_t)base, end = begin + bytes;
    if (device->on_pin != NULL)
        device->on_pin();
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_eq((begin | end) % FAKE_PAGE, 0);
    device->asked++;
    if (fails(device, begin, end, access))
        return device->failure;
    if (device->room_bytes > 0 && bytes > device->room_bytes - device->bytes)
        return OPAL_ERR_NO_MEMORY;
    size_t count = bytes / FAKE_PAGE;
    fake_pin_t *pin = opal_xmalloc(sizeof *pin + count * sizeof pin->ages[0]);
    pin->begin = begin;
    pin->end = end;
    pin->access = access;
    for (size_t i = 0; i < count; i++)
        pin->ages[i] = atomic_load(age_of(begin + i * FAKE_PAGE));
    opal_list_append(&device->pinned, &pin->node);
    device->pins++;
    device->bytes += bytes;
    *handle = pin;
    return OPAL_SUCCESS;
}

static void fake_unpin(void *context, void *handle, void *base, size_t bytes)
{
    fake_device_t *device = context;
    fake_pin_t *pin = handle;
    if (device->on_pin != NULL)
        device->on_pin();
    ck_assert_uint_eq(pin->begin, (uintptr_t)base);
    ck_assert_uint_eq(pin->end, (uintptr_t)base + bytes);
    opal_list_remove(&pin->node);
    device->unpins++;
    device->bytes -= bytes;
    memset(pin, 0xaa, sizeof *pin); /* who still uses it, notices */
    free(pin);
}

void fake_open(fake_device_t *device)
{
    *device = (fake_device_t){
        .device = {.name = "the fake device",
                   .context = device,
                   .pin = fake_pin,
                   .unpin = fake_unpin},
    };
    opal_list_init(&device->pinned);
}

bool fake_is_fresh(const ompi_mpool_registration_t *registration, uintptr_t begin, uintptr_t end)
{
    const fake_pin_t *pin = registration->handle;
    if (begin < pin->begin || end > pin->end || (registration->access & ~pin->access) != 0)
        return false;
    for (uintptr_t at = begin & ~(uintptr_t)(FAKE_PAGE - 1); at < end; at += FAKE_PAGE) {
        if (pin->ages[(at - pin->begin) / FAKE_PAGE] != atomic_load(age_of(at)))
            return false;
    }
    return true;
}

/* -- the memory ------------------------------------------------------------------ */

void fake_age(size_t page, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add(&ages[page + i], 1);
}

void fake_unmap(size_t page, size_t count)
{
    opal_memory_unmapped((void *)fake_at(page), count * FAKE_PAGE);
    fake_age(page, count);
}

/* -- the pool's component --------------------------------------------------------- */

extern const opal_component_t mca_mpool_rcache_component;
static opal_framework_t *const frameworks[] = {&mca_mpool_framework, NULL};
static const opal_component_t *const components[] = {&mca_mpool_rcache_component, NULL};
static const opal_project_t project = {"fake", frameworks, components, NULL};

/* -- the pool ---------------------------------------------------------------------- */

void fake_setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    opal_memory_events_external(OPAL_MEMORY_ALL_EVENTS);
    opal_param_init();
    opal_project_add(&project);
    ck_assert_int_eq(opal_framework_open(&mca_mpool_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&mca_mpool_framework), OPAL_SUCCESS);
    ompi_mpool_start((ompi_mpool_leave_pinned_t){OPAL_LEAVE_PINNED_YES, OPAL_LEAVE_PINNED_NO});
}

ompi_mpool_t *fake_pool(fake_device_t *device)
{
    ompi_mpool_t *pool;
    ck_assert_int_eq(ompi_mpool_create(&device->device, &pool), OPAL_SUCCESS);
    return pool;
}

ompi_mpool_use_t *fake_use(ompi_mpool_t *pool, size_t page, size_t count)
{
    ompi_mpool_use_t *use = opal_xmalloc(sizeof *use);
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)fake_at(page), count * FAKE_PAGE,
                                        OMPI_MPOOL_LOCAL_READ, use),
                     OPAL_SUCCESS);
    ck_assert(fake_is_fresh(use->registration, fake_at(page), fake_at(page + count)));
    return use;
}

void fake_done(ompi_mpool_use_t *use)
{
    ompi_mpool_release(use);
    free(use);
}

bool fake_is_known(fake_device_t *device, ompi_mpool_t *pool, size_t page, size_t count)
{
    size_t asked = device->asked;
    fake_done(fake_use(pool, page, count));
    return device->asked == asked;
}

typedef struct lookup {
    char name[64];
    const char *text;
    size_t value;
} lookup_t;

static void look(const opal_param_info_t *info, void *context)
{
    lookup_t *lookup = context;
    if (strcmp(info->full_name, lookup->name) == 0) {
        lookup->text = info->value_text;
        lookup->value = strtoul(info->value_text, NULL, 10);
    }
}

size_t fake_read_out(const char *name)
{
    lookup_t lookup = {0};
    snprintf(lookup.name, sizeof lookup.name, "mpool_rcache_%s", name);
    opal_param_visit(look, &lookup);
    ck_assert_msg(lookup.text != NULL, "there is no read-out %s", lookup.name);
    return lookup.value;
}
