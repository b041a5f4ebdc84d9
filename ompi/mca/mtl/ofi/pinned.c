/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that the provider has to know before it reads or writes them (FI_MR_LOCAL). The mpool
 * keeps what it has registered, and forgets it when pages leave the process. Without an mpool each
 * message registers its own buffer.
 *
 * What a registration needs depends on the domain:
 *   FI_MR_PROV_KEY    the provider makes the key; otherwise we count
 *   FI_MR_ENDPOINT    it belongs to an endpoint, and has to be enabled
 *   FI_MR_MMU_NOTIFY  the provider is told when pages of a registration may have come
 */
#include <inttypes.h>

#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"

static ompi_mpool_t *pool; /* NULL: there is none */
static uint64_t next_key;
static bool is_told; /* that registering failed: once is enough */

static uint64_t access_bits(unsigned access)
{
    uint64_t bits = 0;
    if ((access & OMPI_MPOOL_LOCAL_READ) != 0)
        bits |= FI_SEND;
    if ((access & OMPI_MPOOL_LOCAL_WRITE) != 0)
        bits |= FI_RECV;
    return bits;
}

/* It is of the endpoint before it can be used. */
static int enable(struct fid_mr *mr)
{
    int result = fi_mr_bind(mr, &ofi.ep->fid, 0);
    return result != 0 ? result : fi_mr_enable(mr);
}

static int register_pages(void *base, size_t bytes, unsigned access, struct fid_mr **mr)
{
    int mode = ofi.info->domain_attr->mr_mode;
    uint64_t key = (mode & FI_MR_PROV_KEY) != 0 ? 0 : ++next_key;
    int result = fi_mr_reg(ofi.domain, base, bytes, access_bits(access), 0, key, 0, mr, NULL);
    if (result != 0 || (mode & FI_MR_ENDPOINT) == 0)
        return result;
    result = enable(*mr);
    if (result != 0)
        fi_close(&(*mr)->fid);
    return result;
}

static opal_status_t pin(void *context OPAL_UNUSED, void *base, size_t bytes, unsigned access,
                         void **handle)
{
    struct fid_mr *mr;
    int result = register_pages(base, bytes, access, &mr);
    if (result == -FI_ENOMEM || result == -FI_ENOSPC || result == -FI_EAGAIN)
        return OPAL_ERR_NO_MEMORY;
    if (result != 0) {
        if (!is_told)
            opal_log_error("mtl/ofi: the provider %s cannot register memory: %s",
                           ofi.info->fabric_attr->prov_name, fi_strerror(-result));
        is_told = true;
        return OPAL_ERR_SYSTEM;
    }
    *handle = mr;
    return OPAL_SUCCESS;
}

static void unpin(void *context OPAL_UNUSED, void *handle, void *base OPAL_UNUSED,
                  size_t bytes OPAL_UNUSED)
{
    struct fid_mr *mr = handle;
    fi_close(&mr->fid);
}

static const ompi_mpool_device_t device = {
    .name = "mtl/ofi",
    .pin = pin,
    .unpin = unpin,
    .gains = true,
};

void ofi_pins_start(void)
{
    is_told = false;
    next_key = 0;
    if (!ofi.needs_registration || ompi_mpool_create(&device, &pool) != OPAL_SUCCESS)
        pool = NULL;
}

void ofi_pins_stop(void)
{
    ompi_mpool_destroy(pool);
    pool = NULL;
}

/* The pages are there by now, which they need not have been when they were registered. */
static void refresh(struct fid_mr *mr, const void *start, size_t bytes)
{
    struct iovec pages = {.iov_base = (void *)(uintptr_t)start, .iov_len = bytes};
    if ((ofi.info->domain_attr->mr_mode & FI_MR_MMU_NOTIFY) != 0)
        fi_mr_refresh(mr, &pages, 1, 0);
}

bool ofi_pin(ofi_pin_t *pin_, const void *start, size_t bytes, void **descriptor)
{
    unsigned access = OMPI_MPOOL_LOCAL_READ | OMPI_MPOOL_LOCAL_WRITE;
    struct fid_mr *mr;
    *pin_ = (ofi_pin_t){0};
    if (pool != NULL &&
        ompi_mpool_acquire(pool, start, bytes, access, &pin_->use) == OPAL_SUCCESS) {
        mr = pin_->use.registration->handle;
    } else {
        void *own;
        pin_->use.registration = NULL;
        if (pin(NULL, (void *)(uintptr_t)start, bytes, access, &own) != OPAL_SUCCESS)
            return false;
        mr = pin_->own = own;
    }
    refresh(mr, start, bytes);
    *descriptor = fi_mr_desc(mr);
    return true;
}

void ofi_unpin(ofi_pin_t *pin_)
{
    if (pin_->use.registration != NULL)
        ompi_mpool_release(&pin_->use);
    if (pin_->own != NULL)
        fi_close(&pin_->own->fid);
    *pin_ = (ofi_pin_t){0};
}
