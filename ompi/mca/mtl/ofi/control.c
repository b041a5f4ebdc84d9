/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes say to each other beside messages: news of a long message (long.c), that a send is
 * to be taken back, and whether it was (recall.c), and that one was refused (refuse.c). One receive
 * is always there for it; what comes while it is being posted again waits at the provider, as every
 * message does. So does what comes while a question (OFI_RECALL) is not answered yet, which nobody
 * has to be given memory for, however many are asked.
 */
#include <inttypes.h>

#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"

static ofi_operation_t ear;
static ofi_control_t heard;
static ofi_registration_t pin;
static void *descriptor;
static bool is_listening;

void ofi_control_listen(void)
{
    if (is_listening)
        ofi_receive_post(&ear);
}

static void control_completed(ofi_operation_t *operation OPAL_UNUSED,
                              const struct fi_cq_tagged_entry *entry)
{
    ofi_control_t control = heard;
    bool is_ours = entry->len == sizeof heard && ofi_control_is_ours(&control);
    if (!is_ours || control.kind != OFI_RECALL)
        ofi_control_listen();
    if (!is_ours) {
        ofi_report_stranger();
        return;
    }
    switch ((ofi_control_kind_t)control.kind) {
    case OFI_NEWS:
        ofi_long_news(&control);
        return;
    case OFI_ARRIVED:
        ofi_long_arrived(&control);
        return;
    case OFI_RECALL:
        ofi_recall_asked(&control);
        return;
    case OFI_RECALLED:
        ofi_recall_answered(&control);
        return;
    case OFI_REFUSED:
        ofi_refused(&control);
        return;
    }
    ofi_control_complain(&control, "says something of an unknown kind");
}

static void control_failed(ofi_operation_t *operation OPAL_UNUSED,
                           const struct fi_cq_err_entry *error)
{
    if (error->err == FI_ETRUNC) /* nobody of ours says so much */
        ofi_report_stranger();
    else
        ofi_log_failure("hearing from", OFI_ANY_PROCESS, error->err, error);
    if (error->err != FI_ECANCELED && !ofi_is_broken())
        ofi_control_listen(); /* it may have been a stranger's */
}

static bool post_ear(ofi_operation_t *operation)
{
    ssize_t result = fi_trecv(ofi.endpoint.ep, &heard, sizeof heard, descriptor, FI_ADDR_UNSPEC,
                              ofi_tag_of_control(&ofi.tags), 0, &operation->context);
    if (result == -FI_EAGAIN)
        return false;
    if (result == 0)
        ofi_operation_posted(operation);
    else
        ofi_log_failure("hearing from", OFI_ANY_PROCESS, (int)-result, NULL);
    return true;
}

static const ofi_operation_kind_t control_kind = {
    .completed = control_completed,
    .failed = control_failed,
    .post = post_ear,
    .is_idle = true,
};

opal_status_t ofi_control_start(void)
{
    if (ofi.needs_registration &&
        ofi_register(&pin, &heard, sizeof heard, &descriptor) != MPI_SUCCESS)
        return OPAL_ERR_SYSTEM;
    ear.kind = &control_kind;
    is_listening = true;
    ofi_control_listen();
    return OPAL_SUCCESS;
}

void ofi_control_stop(void)
{
    is_listening = false;
    ofi_deregister(&pin);
    descriptor = NULL;
}

bool ofi_control_send(ofi_peer_t *peer, const ofi_control_t *control)
{
    ofi_control_t proven = *control;
    proven.proof = ofi.proof;
    return ofi_tell(peer, ofi_tag_of_control(&ofi.tags), &proven, sizeof proven);
}

void ofi_control_complain(const ofi_control_t *control, const char *what)
{
    static bool is_told;
    if (!is_told)
        opal_log_error("mtl/ofi: rank %u %s (%u, %" PRIx64
                       "), which is dropped, and so are others like it; the provider %s has "
                       "delivered something twice, or wrong",
                       control->process, what, control->kind, control->name,
                       ofi.endpoint.info->fabric_attr->prov_name);
    is_told = true;
}
