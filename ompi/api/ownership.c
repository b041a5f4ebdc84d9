/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter ownership. How a block changes its owner: ompi/ownership/pass.h. */
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/ownership/pass.h"
#include "ompi/request/status.h"

static int complain_of_block(void)
{
    return ompi_api_set_error_detail(
        MPI_ERR_BUFFER, "no block of this process begins there: MICA_Alloc and MICA_Take make "
                        "blocks its own, MICA_Give and MICA_Free end that");
}

static int own_new(size_t bytes, ompi_block_t *block)
{
    if (!ompi_block_reserve())
        return MPI_ERR_NO_MEM;
    if (!ompi_block_allocate(bytes, block)) {
        ompi_block_unreserve();
        return MPI_ERR_NO_MEM;
    }
    ompi_block_own(block);
    return MPI_SUCCESS;
}

int ompi_api_mica_alloc(MPI_Aint size, void *baseptr)
{
    ompi_block_t block;
    ompi_lock();
    int error = own_new((size_t)size, &block);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        memcpy(baseptr, &block.start, sizeof block.start); /* a pointer to any kind of pointer */
    return error;
}

int ompi_api_mica_free(void *buffer)
{
    ompi_block_t block;
    if (buffer == NULL)
        return MPI_SUCCESS;
    ompi_lock();
    bool is_ours = ompi_block_disown(buffer, &block);
    if (is_ours) {
        ompi_block_unreserve();
        ompi_block_free(&block);
    }
    ompi_unlock();
    return is_ours ? MPI_SUCCESS : complain_of_block();
}

/* While the block is on its way no process owns it: a second thread that gives it finds nothing. */
static int give(const ompi_block_t *block, size_t bytes, int dest, int tag,
                ompi_communicator_t *comm)
{
    int error = MPI_SUCCESS;
    if (dest == MPI_PROC_NULL)
        ompi_block_free(block);
    else
        error = ompi_ownership_give(block, bytes, dest, tag, comm);
    if (error != MPI_SUCCESS)
        ompi_block_own(block);
    else
        ompi_block_unreserve();
    return error;
}

int ompi_api_mica_give(void *buffer, MPI_Count bytes, int dest, int tag, ompi_communicator_t *comm)
{
    ompi_block_t block;
    int error;
    ompi_lock();
    if (!ompi_block_find(buffer, &block)) {
        error = complain_of_block();
    } else if ((size_t)bytes > block.bytes) {
        error = ompi_api_set_error_detail(MPI_ERR_COUNT, "the block has fewer bytes");
    } else {
        ompi_block_disown(buffer, &block);
        error = give(&block, (size_t)bytes, dest, tag, comm);
    }
    ompi_unlock();
    return error;
}

static int take(ompi_block_t *block, int source, int tag, ompi_communicator_t *comm,
                MPI_Status *status)
{
    if (!ompi_block_reserve())
        return MPI_ERR_NO_MEM;
    int error = ompi_ownership_take(block, source, tag, comm, status);
    if (error == MPI_SUCCESS)
        ompi_block_own(block);
    else
        ompi_block_unreserve();
    return error;
}

int ompi_api_mica_take(void *bufferptr, MPI_Count *bytes, int source, int tag,
                       ompi_communicator_t *comm, MPI_Status *status)
{
    ompi_block_t block = {0};
    MPI_Status taken;
    int error = MPI_SUCCESS;
    if (source == MPI_PROC_NULL) {
        ompi_status_set(&taken, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0);
    } else {
        ompi_lock();
        error = take(&block, source, tag, comm, &taken);
        ompi_unlock();
    }
    if (error != MPI_SUCCESS)
        return error;
    ompi_status_fill(status, &taken);
    memcpy(bufferptr, &block.start, sizeof block.start);
    *bytes = (MPI_Count)ompi_status_bytes(&taken);
    return MPI_SUCCESS;
}
