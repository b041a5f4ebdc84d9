/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions, and what ends a sleep. The queue's descriptor does, if the provider has one, once
 * fi_trywait has agreed; a timer does where there is none, and for what waits for room, which no
 * completion may announce.
 */
#include <stdlib.h>

#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "opal/fabric/monitor.h"
#include "ompi/mca/mtl/ofi/ofi.h"

enum {
    NAP_PART = 16, /* of the time since something came: what ends a wait is late by that at most */
    SHORTEST_NAP_NSEC = 20000,
    LONGEST_NAP_NSEC = 16000000, /* an idle process uses next to nothing */
    QUEUED_NAP_NSEC = 1000000,   /* something waits for room; or may be on its way in pieces, each
                                     of which needs a call: a socket has room for so long */
    POLLS_BEFORE_NAP = 16,
    IDLE_POLLS = 16, /* nothing is under way: then every so manieth poll looks */
};

opal_list_t ofi_posted = {{&ofi_posted.head, &ofi_posted.head}};
size_t ofi_under_way;

static struct fi_cq_tagged_entry *entries; /* NULL while they are worked on, or queues are */
static unsigned batch;
static bool is_broken; /* the queue cannot be read, which was told */

/* -- reading ------------------------------------------------------------------------- */

/* It is ours again. */
static ofi_operation_t *returned(void *context)
{
    ofi_operation_t *operation = context;
    opal_list_remove(&operation->node);
    if (opal_likely(!operation->kind->is_idle))
        ofi_under_way--;
    return operation;
}

/* One that has failed. Returns whether there was one. */
static bool read_failure(void)
{
    struct fi_cq_err_entry error = {0};
    if (fi_cq_readerr(ofi.endpoint.cq, &error, 0) != 1)
        return false;
    if (error.op_context == NULL) { /* of what was injected */
        ofi_log_failure("a message to", OFI_ANY_PROCESS, error.err, &error);
        return true;
    }
    ofi_operation_t *operation = returned(error.op_context);
    operation->kind->failed(operation, &error);
    return true;
}

/* There will be no completions any more: everything has failed. */
static int fail_all(int failure)
{
    const struct fi_cq_err_entry error = {.err = failure};
    int count = 0;
    if (!is_broken)
        opal_log_error("mtl/ofi: the provider's completions cannot be read: %s",
                       fi_strerror(failure));
    is_broken = true;
    for (opal_list_node_t *node; (node = opal_list_first(&ofi_posted)) != NULL; count++) {
        ofi_operation_t *operation = opal_container_of(node, ofi_operation_t, node);
        returned(&operation->context);
        operation->kind->failed(operation, &error);
    }
    return count;
}

static int read_queue(struct fi_cq_tagged_entry *read)
{
    int count = 0;
    for (;;) {
        ssize_t result = fi_cq_read(ofi.endpoint.cq, read, batch);
        if (opal_likely(result > 0)) {
            for (ssize_t i = 0; i < result; i++) {
                ofi_operation_t *operation = returned(read[i].op_context);
                operation->kind->completed(operation, &read[i]);
            }
            count += (int)result;
            if (result < batch)
                return count;
        } else if (result == -FI_EAGAIN || result == 0) {
            return count;
        } else if (result == -FI_EAVAIL) {
            if (!read_failure())
                return count;
            count++;
        } else {
            return count + fail_all((int)-result);
        }
    }
}

bool ofi_is_broken(void)
{
    return is_broken;
}

bool ofi_is_progressing(void)
{
    return entries == NULL;
}

int ofi_progress(void)
{
    struct fi_cq_tagged_entry *read = entries;
    if (opal_unlikely(read == NULL))
        return 0;
    entries = NULL;
    int count = read_queue(read);
    if (opal_unlikely(ofi_has_queued()))
        count += ofi_push();
    entries = read;
    if (opal_unlikely(atomic_load_explicit(&opal_fabric_monitor_pending, memory_order_relaxed)))
        opal_fabric_monitor_notify();
    return count;
}

/* -- sleeping ------------------------------------------------------------------------ */

static int readable(opal_descriptor_t *descriptor OPAL_UNUSED, unsigned events OPAL_UNUSED)
{
    ofi_progress();
    return 0; /* who waits polls; to be looked at more often would cost more than it helps */
}

static bool may_sleep(void)
{
    return opal_fabric_endpoint_may_sleep(&ofi.endpoint);
}

/* The first time it may speak of what has been read: of the answer to a probe. */
static bool arm(opal_descriptor_t *descriptor OPAL_UNUSED)
{
    return may_sleep() || (ofi_progress() == 0 && may_sleep());
}

static opal_descriptor_t descriptor = {.wants = OPAL_READABLE, .ready = readable, .arm = arm};

static void nap_over(opal_timer_t *timer);
static opal_timer_t nap = {.expired = nap_over};
static uint64_t quiet_since;
static unsigned in_vain; /* polls, since something came or a nap was over */

static bool needs_nap(void)
{
    return ofi_has_queued() || ofi.endpoint.wait_fd < 0;
}

static void set_nap(uint64_t now)
{
    bool has_pieces = ofi_has_queued() || ofi_large_requests > 0;
    uint64_t longest = has_pieces ? QUEUED_NAP_NSEC : LONGEST_NAP_NSEC;
    uint64_t nsec = (now - quiet_since) / NAP_PART;
    if (nsec < SHORTEST_NAP_NSEC)
        nsec = SHORTEST_NAP_NSEC;
    opal_timer_set(&nap, now + (nsec < longest ? nsec : longest));
}

static void nap_over(opal_timer_t *timer OPAL_UNUSED)
{
    bool found = ofi_progress() > 0;
    in_vain = 0;
    if (!needs_nap())
        return;
    uint64_t now = opal_timer_now();
    if (found)
        quiet_since = now;
    set_nap(now);
}

void ofi_wake_sleeper(void)
{
    if (opal_wait_is_asleep() && (needs_nap() || !may_sleep()))
        opal_wait_poke();
}

/* So many polls that found nothing mean that somebody has begun to wait. The clock is left alone
 * until then, or until a sleep, which may come sooner: of several threads, one may have found
 * something, and taken the nap back, while another one slept. */
static bool begins_to_wait(void)
{
    return ++in_vain == POLLS_BEFORE_NAP || (!nap.is_set && opal_wait_sleeps_next());
}

static int poll_queue(void *state OPAL_UNUSED)
{
    static unsigned skipped;
    int count = 0;
    if (opal_likely(ofi_under_way > 0) || ofi_has_queued() || ++skipped % IDLE_POLLS == 0)
        count = ofi_progress();
    if (count > 0) {
        in_vain = 0;
        opal_timer_cancel(&nap);
    } else if (needs_nap() && begins_to_wait()) {
        quiet_since = opal_timer_now();
        set_nap(quiet_since);
    }
    return count;
}

/* -- starting and stopping ----------------------------------------------------------- */

opal_status_t ofi_progress_start(unsigned per_read)
{
    opal_list_init(&ofi_posted);
    ofi_under_way = 0;
    is_broken = false;
    batch = per_read;
    opal_status_t status = opal_progress_add(poll_queue, NULL);
    if (status != OPAL_SUCCESS)
        return status;
    entries = opal_xcalloc(batch, sizeof *entries);
    descriptor.fd = ofi.endpoint.wait_fd;
    if (ofi.endpoint.wait_fd >= 0 && opal_descriptor_add(&descriptor) != OPAL_SUCCESS)
        ofi.endpoint.wait_fd = -1; /* which was told; the timer will do */
    return OPAL_SUCCESS;
}

void ofi_progress_stop(void)
{
    if (ofi.endpoint.wait_fd >= 0)
        opal_descriptor_remove(&descriptor);
    opal_timer_cancel(&nap);
    opal_progress_remove(poll_queue, NULL);
    free(entries);
    entries = NULL;
}
