/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of one that sends to itself by mtl/ofi over a real provider, without pml/cm. */
#ifndef OMPI_UNIT_OFI_SELF_H
#define OMPI_UNIT_OFI_SELF_H

#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

#include "opal/fabric/select.h"
#include "ompi/api/mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

static const char *provider = "tcp;ofi_rxm";
static ompi_mtl_ops_t ops;
static ofi_choice_t choice;
static unsigned char out[1 << 20], in[1 << 20];

/* -- what the component does in a job ---------------------------------------------------------- */

static inline void find(ofi_tag_mode_t mode)
{
    struct fi_info *hints = fi_allocinfo();
    opal_text_t reason = {0};
    hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    hints->mode = OPAL_FABRIC_MODES;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = OPAL_FABRIC_MR_MODES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = strdup(provider);
    ck_assert_int_eq(fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &choice.info), 0);
    fi_freeinfo(hints);
    ck_assert(
        ofi_tag_layout_make(&choice.tags, mode, choice.info->ep_attr->mem_tag_format, &reason));
    choice.batch = 3;
    choice.sleeps_on_fd = mode != OFI_TAG_2;
}

static inline void start(void)
{
    ofi_set_ops(&ops, &choice, false, NULL);
    ck_assert_int_eq(ops.start(&choice), OPAL_SUCCESS);
}

static inline void finish(void)
{
    ops.flush();
    ops.stop(&choice);
    fi_freeinfo(choice.info);
}

/* -- requests ------------------------------------------------------------------------------------
 */

static inline ofi_request_t *request_of(int rank, int tag, void *buffer, size_t count,
                                        MPI_Datatype type)
{
    ofi_request_t *request = calloc(1, sizeof *request);
    ompi_request_init_bare(&request->base.base, NULL, &ompi_comm_world);
    request->base.route = (ompi_route_t){&ompi_comm_world, OMPI_CONTEXT_USER, rank, tag};
    ompi_datatype_t *object = (uintptr_t)type < 4096 ? ompi_datatype_of(type) : (void *)type;
    request->base.data = (ompi_data_t){buffer, count, object};
    return request;
}

static inline ofi_request_t *send_as(ompi_send_mode_t mode, int tag, void *buffer, size_t count,
                                     MPI_Datatype type)
{
    ofi_request_t *request = request_of(0, tag, buffer, count, type);
    request->base.is_send = true;
    request->base.mode = mode;
    ck_assert_int_eq(ops.send(&request->base), MPI_SUCCESS);
    return request;
}

static inline ofi_request_t *receive(int rank, int tag, void *buffer, size_t count,
                                     MPI_Datatype type)
{
    ofi_request_t *request = request_of(rank, tag, buffer, count, type);
    ck_assert_int_eq(ops.receive(&request->base), MPI_SUCCESS);
    return request;
}

static inline MPI_Status wait_for(ofi_request_t *request)
{
    opal_wait_until(&request->base.base.done, NULL);
    MPI_Status status = request->base.base.status;
    ops.release(&request->base);
    free(request);
    return status;
}

static inline bool is_done(const ofi_request_t *request)
{
    for (int i = 0; i < 200; i++)
        opal_progress();
    return ompi_request_is_done(&request->base.base);
}

static inline void fill(void)
{
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 7 + i / 251);
    memset(in, 0, sizeof in);
}

static inline void check_status(const MPI_Status *status, int tag, int error, size_t bytes)
{
    ck_assert_int_eq(status->MPI_SOURCE, 0);
    ck_assert_int_eq(status->MPI_TAG, tag);
    ck_assert_int_eq(status->MPI_ERROR, error);
    ck_assert_uint_eq(ompi_status_bytes(status), bytes);
}

static inline bool probe(int tag, ompi_mtl_message_t **message, MPI_Status *status)
{
    ompi_route_t from = {&ompi_comm_world, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, tag};
    bool found = false;
    status->MPI_ERROR = MPI_SUCCESS; /* which a probe leaves alone */
    for (int i = 0; i < 10000 && !found; i++)
        ck_assert_int_eq(ops.probe(&from, &found, message, status), MPI_SUCCESS);
    return found;
}

static inline bool is_there(int tag)
{
    ompi_route_t from = {&ompi_comm_world, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, tag};
    bool found;
    MPI_Status status;
    for (int i = 0; i < 100; i++)
        opal_progress();
    ck_assert_int_eq(ops.probe(&from, &found, NULL, &status), MPI_SUCCESS);
    return found;
}

/* In this process, since MPI is initialized once. main's result. */
static inline int run_cases(TCase *cases)
{
    MPI_Init(NULL, NULL);
    Suite *suite = suite_create("mtl/ofi");
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    MPI_Finalize();
    return failed > 0;
}

#endif
