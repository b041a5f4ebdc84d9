/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes say to each other beside messages (ofi_control_kind_t).
 *
 * One receive is always posted for it; control messages that come while it is being posted again
 * wait at the provider. A control message is injected, or sent from a bounce buffer. Without memory
 * there is one bounce buffer that was made at the start: so however little memory there is, control
 * messages leave, one after the other, and no peer waits for ever.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "opal/process/job.h"
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"

/* -- sending ------------------------------------------------------------------------- */

typedef struct bounce {
    ofi_operation_t operation;
    ofi_peer_t *peer;
    ofi_registration_t registration;
    void *descriptor;
    ofi_control_t control;
} bounce_t;

static bounce_t spare;
static bool is_spare_used;

/* False: the provider cannot read it. */
static bool make_known(bounce_t *bounce)
{
    return sizeof bounce->control < ofi.inject_below ||
           ofi_register(&bounce->registration, &bounce->control, sizeof bounce->control,
                        &bounce->descriptor) == MPI_SUCCESS;
}

/* NULL: no memory. */
static bounce_t *take_bounce(void)
{
    bounce_t *bounce = calloc(1, sizeof *bounce);
    if (bounce != NULL && make_known(bounce))
        return bounce;
    free(bounce);
    if (is_spare_used)
        return NULL;
    is_spare_used = true;
    return &spare;
}

static void end_bounce(bounce_t *bounce)
{
    if (bounce == &spare) {
        is_spare_used = false;
    } else {
        ofi_deregister(&bounce->registration);
        free(bounce);
    }
    ofi_has_left();
}

/* The peer may wait for it for ever, so that is reported. */
static void give_up(bounce_t *bounce, int failure, const struct fi_cq_err_entry *error)
{
    ofi_log_failure("an answer to", (int)bounce->peer->process, failure, error);
    end_bounce(bounce);
}

static void bounce_completed(ofi_operation_t *operation,
                             const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    end_bounce(opal_container_of(operation, bounce_t, operation));
}

static void bounce_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    give_up(opal_container_of(operation, bounce_t, operation), error->err, error);
}

static ssize_t send_control(const ofi_peer_t *peer, const ofi_control_t *control, void *descriptor,
                            void *context, bool *is_over)
{
    return ofi_send_bytes(peer, control, sizeof *control, descriptor, 0,
                          ofi_tag_of_control(&ofi.tags), context, is_over);
}

static bool post_bounce(ofi_operation_t *operation)
{
    bounce_t *bounce = opal_container_of(operation, bounce_t, operation);
    bool is_over;
    ssize_t result = send_control(bounce->peer, &bounce->control, bounce->descriptor,
                                  &operation->context, &is_over);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0)
        give_up(bounce, (int)-result, NULL);
    else if (is_over)
        end_bounce(bounce);
    else
        ofi_operation_posted(operation);
    return true;
}

static const ofi_operation_kind_t bounce_kind = {
    .completed = bounce_completed,
    .failed = bounce_failed,
    .post = post_bounce,
};

bool ofi_control_send(ofi_peer_t *peer, ofi_control_t control)
{
    bool is_over;
    control.process = opal_job()->rank;
    control.proof = ofi.proof;
    if (opal_likely(sizeof control < ofi.inject_below && !ofi_peer_has_queue(peer)) &&
        opal_likely(send_control(peer, &control, NULL, NULL, &is_over) == 0)) {
        ofi_handed_over();
        return true;
    }
    bounce_t *bounce = take_bounce();
    if (bounce == NULL)
        return false;
    bounce->operation.kind = &bounce_kind;
    bounce->peer = peer;
    bounce->control = control;
    ofi_outgoing++;
    ofi_peer_post(peer, &bounce->operation);
    return true;
}

void ofi_control_complain(const ofi_control_t *control, const char *what)
{
    static bool is_reported;
    if (!is_reported)
        opal_log_error("mtl/ofi: rank %u %s (%u, %" PRIx64
                       "), which is dropped, and so are others like it; the provider %s has "
                       "delivered something twice, or wrong",
                       control->process, what, control->kind, control->name,
                       ofi.endpoint.info->fabric_attr->prov_name);
    is_reported = true;
}

/* -- receiving ----------------------------------------------------------------------- */

static ofi_operation_t receive;
static ofi_control_t received;
static ofi_registration_t registration;
static void *descriptor;
static ofi_control_fn_t *const *control_handlers;

static void control_completed(ofi_operation_t *operation, const struct fi_cq_tagged_entry *entry)
{
    ofi_control_t control = received;
    ofi_receive_post(operation);
    if (entry->len != sizeof control || control.proof != ofi.proof ||
        control.process >= opal_job()->size)
        ofi_report_stranger();
    else if (control.kind >= OFI_CONTROL_KINDS)
        ofi_control_complain(&control, "says something of an unknown kind");
    else
        control_handlers[control.kind](&control);
}

static void control_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    if (error->err == FI_ETRUNC) /* no rank of the job sends so much */
        ofi_report_stranger();
    else
        ofi_log_failure("hearing from", OFI_ANY_PROCESS, error->err, error);
    if (error->err != FI_ECANCELED && !ofi_is_broken())
        ofi_receive_post(operation); /* it may have been a stranger's */
}

static bool post_control(ofi_operation_t *operation)
{
    ssize_t result =
        fi_trecv(ofi.endpoint.ep, &received, sizeof received, descriptor, FI_ADDR_UNSPEC,
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
    .post = post_control,
    .is_idle = true,
};

/* -- starting and stopping ----------------------------------------------------------- */

opal_status_t ofi_control_start(ofi_control_fn_t *const handlers[OFI_CONTROL_KINDS])
{
    is_spare_used = false;
    control_handlers = handlers;
    if (!make_known(&spare) ||
        ofi_register(&registration, &received, sizeof received, &descriptor) != MPI_SUCCESS)
        return OPAL_ERR_SYSTEM;
    receive.kind = &control_kind;
    ofi_receive_post(&receive);
    return OPAL_SUCCESS;
}

void ofi_control_stop(void)
{
    ofi_deregister(&spare.registration);
    ofi_deregister(&registration);
}
