/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing what carries messages. */
#include "ompi/runtime/messages.h"

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/btl/base/base.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/buffer/buffer.h"
#include "ompi/mca/mpool/base/base.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/object/handle.h"
#include "ompi/request/request.h"
#include "ompi/runtime/params.h"

static opal_framework_t *const frameworks[] = {&mca_mpool_framework, &mca_btl_framework,
                                               &mca_pml_framework, &mca_coll_framework};

static opal_status_t open_frameworks(void)
{
    opal_status_t status = OPAL_SUCCESS;
    for (size_t i = 0; i < OPAL_COUNT_OF(frameworks); i++) {
        opal_status_t opened = opal_framework_open(frameworks[i]);
        if (opened == OPAL_SUCCESS)
            opened = opal_framework_select(frameworks[i]);
        if (status == OPAL_SUCCESS)
            status = opened;
    }
    /* A component whose settings make no sense is out, and others could do without it. */
    if (status == OPAL_SUCCESS && opal_diagnostic_has_error())
        status = OPAL_ERR_BAD_PARAM;
    return status;
}

static void close_frameworks(void)
{
    for (size_t i = OPAL_COUNT_OF(frameworks); i > 0; i--)
        opal_framework_close(frameworks[i - 1]);
}

static void *pml_state(void)
{
    return opal_framework_best(&mca_pml_framework)->answer.state;
}

static uint32_t communicator_limit(void)
{
    uint32_t wanted = ompi_params_max_communicators();
    return wanted <= ompi_pml->max_context ? wanted : ompi_pml->max_context + 1;
}

opal_status_t ompi_messages_start(bool threads)
{
    opal_status_t status = open_frameworks();
    if (status == OPAL_SUCCESS) {
        ompi_mpool_start(
            (ompi_mpool_pinned_t){ompi_params_leave_pinned(), ompi_params_leave_pinned_pipeline()});
        ompi_lock_needed = threads;
        ompi_pml = opal_framework_best(&mca_pml_framework)->answer.ops;
        status = ompi_pml->start(pml_state());
    }
    if (status == OPAL_SUCCESS) {
        ompi_coll_start();
        if (ompi_comm_start_messages(communicator_limit()) != MPI_SUCCESS)
            status = OPAL_ERR_NO_MEMORY;
    }
    if (status != OPAL_SUCCESS)
        close_frameworks();
    else
        ompi_handle_define(&ompi_message_no_process.head);
    return status;
}

void ompi_messages_stop(void)
{
    ompi_handle_undefine(&ompi_message_no_process.head);
    ompi_lock();
    ompi_bsend_fini();
    ompi_unlock();
    ompi_pml->flush();
    ompi_comm_stop_messages();
    ompi_pml->stop(pml_state());
    ompi_pml = NULL;
    ompi_lock_needed = false;
    close_frameworks();
}
