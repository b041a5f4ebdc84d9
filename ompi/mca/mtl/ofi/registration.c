/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that the provider has to know before it reads or writes them (FI_MR_LOCAL). The mpool
 * keeps the registrations, and drops one when its pages leave the process. Without an mpool each
 * message registers its own buffer.
 */
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"

static ompi_mpool_t *pool; /* NULL: there is none */
static bool is_reported;   /* that registering failed */

static uint64_t access_bits(unsigned access)
{
    uint64_t bits = 0;
    if ((access & OMPI_MPOOL_LOCAL_READ) != 0)
        bits |= FI_SEND;
    if ((access & OMPI_MPOOL_LOCAL_WRITE) != 0)
        bits |= FI_RECV;
    return bits;
}

static opal_status_t pin(void *context OPAL_UNUSED, void *base, size_t bytes, unsigned access,
                         void **handle)
{
    struct fid_mr *mr;
    int result = opal_fabric_register(&ofi.endpoint, base, bytes, access_bits(access), &mr);
    if (result == -FI_ENOMEM || result == -FI_ENOSPC || result == -FI_EAGAIN)
        return OPAL_ERR_NO_MEMORY;
    if (result != 0) {
        if (!is_reported)
            opal_log_error("mtl/ofi: the provider %s cannot register memory: %s",
                           ofi.endpoint.info->fabric_attr->prov_name, fi_strerror(-result));
        is_reported = true;
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

void ofi_registrations_start(void)
{
    is_reported = false;
    if (!ofi.needs_registration || ompi_mpool_create(&device, &pool) != OPAL_SUCCESS)
        pool = NULL;
}

void ofi_registrations_stop(void)
{
    ompi_mpool_destroy(pool);
    pool = NULL;
}

int ofi_register(ofi_registration_t *registration, const void *start, size_t bytes,
                 void **descriptor)
{
    unsigned access = OMPI_MPOOL_LOCAL_READ | OMPI_MPOOL_LOCAL_WRITE;
    struct fid_mr *mr;
    *registration = (ofi_registration_t){0};
    *descriptor = NULL;
    if (!ofi.needs_registration || bytes == 0)
        return MPI_SUCCESS;
    if (pool != NULL &&
        ompi_mpool_acquire(pool, start, bytes, access, &registration->use) == OPAL_SUCCESS) {
        mr = registration->use.registration->handle;
    } else {
        void *own;
        registration->use.registration = NULL;
        opal_status_t status = pin(NULL, (void *)(uintptr_t)start, bytes, access, &own);
        if (status != OPAL_SUCCESS)
            return status == OPAL_ERR_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
        mr = registration->own = own;
    }
    opal_fabric_refresh(mr, start, bytes);
    *descriptor = fi_mr_desc(mr);
    return MPI_SUCCESS;
}

void ofi_deregister(ofi_registration_t *registration)
{
    if (registration->use.registration != NULL)
        ompi_mpool_release(&registration->use);
    if (registration->own != NULL)
        fi_close(&registration->own->fid);
    *registration = (ofi_registration_t){0};
}
