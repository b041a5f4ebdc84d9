/* SPDX-License-Identifier: BSD-3-Clause */
/* A file in memory, for accesses: its transfers are the test's, as are the locks that an access
 * takes, which the linker wraps. Threading: transfers of disjoint ranges. */
#ifndef TEST_FAKE_FILE_H
#define TEST_FAKE_FILE_H

#include "ompi/file/file_lock.h"
#include "test/unit/opal/support.h"

enum { FAKE_BYTES = 1 << 18 };

static char fake_bytes[FAKE_BYTES];
static atomic_ulong fake_end; /* of the file */
static int fake_error;        /* of transfers */
static bool fake_may_sieve;
static atomic_int fake_transfers, fake_holds;
static _Thread_local int fake_own_transfers; /* of this thread */

static inline void fake_transfer(ompi_io_transfer_t *transfer)
{
    size_t bytes = transfer->segments[0].iov_len, end = atomic_load(&fake_end);
    char *memory = transfer->segments[0].iov_base;
    ck_assert_uint_eq(transfer->count, 1);
    ck_assert_uint_le(transfer->offset + bytes, FAKE_BYTES);
    atomic_fetch_add(&fake_transfers, 1);
    fake_own_transfers++;
    transfer->done_bytes = 0;
    transfer->error = fake_error;
    if (fake_error != 0)
        return;
    if (!transfer->is_write) {
        size_t there = end > transfer->offset ? end - transfer->offset : 0;
        transfer->done_bytes = bytes < there ? bytes : there;
        memcpy(memory, fake_bytes + transfer->offset, transfer->done_bytes);
        return;
    }
    memcpy(fake_bytes + transfer->offset, memory, bytes);
    transfer->done_bytes = bytes;
    while (end < transfer->offset + bytes &&
           !atomic_compare_exchange_weak(&fake_end, &end, transfer->offset + bytes))
        continue;
}

void __wrap_ompi_file_lock(ompi_access_t *access, ompi_file_lock_kind_t kind, ompi_run_t range,
                           ompi_file_hold_t *hold);
void __wrap_ompi_file_unlock(ompi_file_hold_t *hold);
bool __wrap_ompi_file_may_sieve_writes(const ompi_file_t *file);

void __wrap_ompi_file_lock(ompi_access_t *access OPAL_UNUSED, ompi_file_lock_kind_t kind,
                           ompi_run_t range OPAL_UNUSED, ompi_file_hold_t *hold OPAL_UNUSED)
{
    ck_assert(kind != OMPI_FILE_LOCK_WINDOW || fake_may_sieve);
    atomic_fetch_add(&fake_holds, 1);
}

void __wrap_ompi_file_unlock(ompi_file_hold_t *hold OPAL_UNUSED)
{
    atomic_fetch_sub(&fake_holds, 1);
}

bool __wrap_ompi_file_may_sieve_writes(const ompi_file_t *file OPAL_UNUSED)
{
    return fake_may_sieve;
}

static const ompi_io_ops_t fake_ops = {.name = "fake", .transfer = fake_transfer};
static ompi_io_file_t fake_io = {.ops = &fake_ops, .can_read = true};
/* A call takes as long as 4096 bytes. */
static ompi_file_t fake_file = {.io = &fake_io,
                                .costs = {.call_nsec = {400, 400}, .mib_nsec = {102400, 102400}}};

#endif
