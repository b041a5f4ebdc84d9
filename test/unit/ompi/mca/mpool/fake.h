/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device, and memory for it, that exist in the tests only.
 *
 * The memory is a row of pages without anything behind them. A page has an age, which goes up when
 * the page leaves. The device remembers the age of each page that it pins, so it notices if it is
 * led to a page that is not the one it knows.
 *
 * Threading: pages may leave at any time; the device's pins are the pool's business. What is
 * counted is read when nobody pins.
 */
#ifndef OMPI_UNIT_MPOOL_FAKE_H
#define OMPI_UNIT_MPOOL_FAKE_H

#include "ompi/mca/mpool/base/base.h"
#include "test/unit/opal/support.h"

enum {
    FAKE_PAGE = 4096,
    FAKE_PAGES = 16384,
    FAKE_ALL = OMPI_MPOOL_LOCAL_READ | OMPI_MPOOL_LOCAL_WRITE | OMPI_MPOOL_REMOTE_READ |
               OMPI_MPOOL_REMOTE_WRITE,
};

#define FAKE_BASE ((uintptr_t)0x700000000000)

/* Something pinned. */
typedef struct fake_pin {
    opal_list_node_t node;
    uintptr_t begin, end;
    unsigned access;
    unsigned ages[]; /* of its pages */
} fake_pin_t;

typedef struct fake_device {
    ompi_mpool_device_t device;
    opal_list_t pinned;
    size_t pins, unpins;   /* that succeeded */
    size_t asked;          /* pins, failed ones too */
    size_t room_bytes;     /* more cannot be pinned; 0: any */
    size_t bytes;          /* that are pinned */
    opal_status_t failure; /* of pins that touch [bad_begin, bad_end) */
    uintptr_t bad_begin, bad_end;
    unsigned bad_access;  /* only those with this access fail; 0: all */
    void (*on_pin)(void); /* called in every pin and unpin, before anything; NULL: nothing */
} fake_device_t;

/* A device with room for everything. */
void fake_open(fake_device_t *device);

/* What the device knows of the page that holds the address is the page that is there. */
bool fake_is_fresh(const ompi_mpool_registration_t *registration, uintptr_t begin, uintptr_t end);

/* An address in the memory: that of page number `page`. */
static inline uintptr_t fake_at(size_t page)
{
    return FAKE_BASE + page * FAKE_PAGE;
}

/* The pages leave: the event, and then they are others. */
void fake_unmap(size_t page, size_t count);

/* They are others, without an event: for tests that raise it themselves. */
void fake_age(size_t page, size_t count);

/* Opens the framework, with the settings of the environment, and memory events that only we raise.
 * mpi_leave_pinned is yes. */
void fake_setup(void);

/* A pool of the device. */
ompi_mpool_t *fake_pool(fake_device_t *device);

/* A use for reading that must begin, of whole pages, and must have found what is there; and its
 * end.
 */
ompi_mpool_use_t *fake_use(ompi_mpool_t *pool, size_t page, size_t count);
void fake_done(ompi_mpool_use_t *use);

/* Such a use, begun and ended: true if nothing had to be pinned for it. */
bool fake_is_known(fake_device_t *device, ompi_mpool_t *pool, size_t page, size_t count);

/* What opal_memory_support() answers in the tests; all of it unless set. */
extern unsigned fake_support;

/* A read-out of the component. */
size_t fake_read_out(const char *name);

#endif
