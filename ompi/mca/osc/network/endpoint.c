/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoint of osc/network, its completions, and what ends a sleep: the descriptor of the queue,
 * if the provider has one, since what comes in for the memory of this rank leaves no completion;
 * else a timer. */
#include <stdlib.h>

#include "opal/fabric/monitor.h"
#include "opal/mca/btl/btl.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/wait.h"
#include "opal/util/hash.h"
#include "opal/util/log.h"
#include "ompi/mca/osc/base/area.h"
#include "ompi/mca/osc/network/network.h"

enum { BATCH = 32, IDLE_POLLS = 4, POLLS_BEFORE_NAP = 16, NAP_NSEC = 500000 };

network_t network;

/* -- completions ------------------------------------------------------------------------------- */

/* Errors of a connection mean that the target has ended, of which others will tell, too. */
static int error_of(const struct fi_cq_err_entry *entry)
{
    switch (entry->err) {
    case FI_EACCES:
    case FI_EFAULT:
    case FI_EINVAL:
    case FI_EPERM:
    case FI_ENOKEY:
    case FI_EOPNOTSUPP:
        opal_log_error("osc/network: the provider %s has refused an operation: %s",
                       network.endpoint.info->fabric_attr->prov_name, fi_strerror(entry->err));
        return MPI_ERR_OTHER;
    case FI_ENOMEM:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_PROC_ABORTED;
    }
}

static bool read_failure(void)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(network.endpoint.cq, &entry, 0) != 1)
        return false;
    if (entry.op_context != NULL)
        network_piece_end(entry.op_context, error_of(&entry));
    return true;
}

/* No completions will come any more. */
static int fail_all(int failure)
{
    opal_log_error("osc/network: the provider's completions cannot be read: %s",
                   fi_strerror(failure));
    network.is_broken = true;
    for (opal_list_node_t *node = opal_list_first(&network_windows); node != NULL;
         node = opal_list_next(&network_windows, node))
        network_pieces_abandon(opal_container_of(node, network_window_t, node), -1, MPI_ERR_OTHER);
    return 1;
}

static int read_queue(void)
{
    int count = 0;
    while (!network.is_broken) {
        struct fi_cq_tagged_entry entries[BATCH];
        ssize_t result = fi_cq_read(network.endpoint.cq, entries, BATCH);
        if (result > 0) {
            for (ssize_t i = 0; i < result; i++)
                network_piece_end(entries[i].op_context, MPI_SUCCESS);
            count += (int)result;
            if (result < BATCH)
                break;
        } else if (result == -FI_EAVAIL && read_failure()) {
            count++;
        } else if (result == 0 || result == -FI_EAGAIN || result == -FI_EAVAIL) {
            break;
        } else {
            count += fail_all((int)-result);
        }
    }
    if (opal_unlikely(atomic_load_explicit(&opal_fabric_monitor_pending, memory_order_relaxed)))
        opal_fabric_monitor_notify();
    return count;
}

/* The provider may not notice that a process has died, or late. */
static void look_for_deaths(void)
{
    static unsigned seen;
    unsigned deaths = opal_node_deaths() + (unsigned)opal_btl_failures;
    if (opal_likely(deaths == seen))
        return;
    seen = deaths;
    for (opal_list_node_t *node = opal_list_first(&network_windows); node != NULL;
         node = opal_list_next(&network_windows, node)) {
        network_window_t *window = opal_container_of(node, network_window_t, node);
        for (int rank = 0; rank < window->window->size; rank++) {
            if (window->ranks[rank].pending > 0 && ompi_osc_has_ended(window->window, rank))
                network_pieces_abandon(window, rank, MPI_ERR_PROC_ABORTED);
        }
    }
}

/* -- sleeping ---------------------------------------------------------------------------------- */

static bool may_sleep(void)
{
    return opal_fabric_endpoint_may_sleep(&network.endpoint);
}

static int readable(opal_descriptor_t *descriptor OPAL_UNUSED, unsigned events OPAL_UNUSED)
{
    read_queue();
    return 0;
}

static bool arm(opal_descriptor_t *descriptor OPAL_UNUSED)
{
    return may_sleep() || (read_queue() == 0 && may_sleep());
}

static opal_descriptor_t descriptor = {.wants = OPAL_READABLE, .ready = readable, .arm = arm};

static bool needs_nap(void)
{
    return network.endpoint.wait_fd < 0 || network.waiting > 0;
}

static void nap_over(opal_timer_t *timer)
{
    read_queue();
    if (needs_nap())
        opal_timer_set(timer, opal_timer_now() + NAP_NSEC);
}

static opal_timer_t nap = {.expired = nap_over};

void network_wake_sleeper(void)
{
    if (opal_wait_is_asleep() && (needs_nap() || !may_sleep()))
        opal_wait_poke();
}

static int poll_queue(void *state OPAL_UNUSED)
{
    static unsigned skipped, in_vain;
    int count = 0;
    look_for_deaths();
    if (network.pending > 0 || ++skipped % IDLE_POLLS == 0)
        count = read_queue();
    if (count > 0) {
        in_vain = 0;
        opal_timer_cancel(&nap);
    } else if (needs_nap() &&
               (++in_vain == POLLS_BEFORE_NAP || (!nap.is_set && opal_wait_sleeps_next()))) {
        opal_timer_set(&nap, opal_timer_now() + NAP_NSEC);
    }
    return count;
}

int network_watch(void)
{
    if (network.watches++ > 0)
        return MPI_SUCCESS;
    if (opal_progress_add(poll_queue, NULL) != OPAL_SUCCESS) {
        network.watches--;
        return MPI_ERR_INTERN;
    }
    descriptor.fd = network.endpoint.wait_fd;
    if (network.endpoint.wait_fd >= 0 && opal_descriptor_add(&descriptor) != OPAL_SUCCESS)
        network.endpoint.wait_fd = -1; /* which was told; the timer will do */
    return MPI_SUCCESS;
}

void network_unwatch(void)
{
    if (--network.watches > 0)
        return;
    if (network.endpoint.wait_fd >= 0)
        opal_descriptor_remove(&descriptor);
    opal_timer_cancel(&nap);
    opal_progress_remove(poll_queue, NULL);
}

/* -- opening and closing ----------------------------------------------------------------------- */

static const opal_fabric_user_t user = {
    .name = "osc/network", .prefix = "mtl_ofi", .kind = OPAL_MODEX_KINDS};

static void set_limits(void)
{
    const struct fi_info *info = network.endpoint.info;
    int mode = info->domain_attr->mr_mode;
    network.needs_registration = (mode & FI_MR_LOCAL) != 0;
    network.is_virtual = (mode & FI_MR_VIRT_ADDR) != 0;
    network.inject_bytes = network.endpoint.quirks.never_injects ? 0 : info->tx_attr->inject_size;
    network.max_bytes = info->ep_attr->max_msg_size;
    network.signature =
        opal_hash_text(OPAL_HASH_START + info->addr_format, info->fabric_attr->prov_name);
    network.has_atomics = (info->caps & FI_ATOMIC) != 0;
}

bool network_open(void)
{
    if (network.is_tried)
        return network.is_open;
    network.is_tried = true;
    struct fi_info *info = network_select(&network.refusal);
    if (info == NULL)
        return false;
    if (info->domain_attr->mr_key_size > sizeof(uint64_t)) {
        opal_text_printf(&network.refusal, "keys of the provider %s are too long",
                         info->fabric_attr->prov_name);
    } else {
        network.is_open =
            opal_fabric_endpoint_open(&network.endpoint, &user, info, 0, true) == OPAL_SUCCESS;
        if (!network.is_open)
            opal_text_printf(&network.refusal, "the provider %s cannot be opened",
                             info->fabric_attr->prov_name);
    }
    if (network.is_open)
        set_limits();
    else
        fi_freeinfo(info);
    return network.is_open;
}

/* Windows of ranks that have died cannot end before the endpoint does. */
static void leave_windows(void)
{
    opal_list_node_t *next, *node = opal_list_first(&network_windows);
    for (; node != NULL; node = next) {
        next = opal_list_next(&network_windows, node);
        network_window_leave(opal_container_of(node, network_window_t, node));
    }
}

void network_close(void)
{
    struct fi_info *info = network.endpoint.info;
    opal_text_free(&network.refusal);
    if (network.is_open) {
        leave_windows();
        network_pieces_drop(false);
        opal_fabric_endpoint_close(&network.endpoint);
        network_pieces_drop(true);
        fi_freeinfo(info);
    }
    network = (network_t){0};
}
