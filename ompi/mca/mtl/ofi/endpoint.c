/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider's objects:
 *
 *   fabric --- domain --+-- address vector --+
 *                       +-- queue -----------+-- endpoint
 *
 * One queue for what was sent and what was received. It can be waited for by a file descriptor if
 * the provider has that; with ofi_rxm that costs a fifth of a message's time, even if nobody
 * sleeps.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/runtime/init.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/mca/mtl/ofi/monitor.h"
#include "ompi/mca/mtl/ofi/ofi.h"

ofi_network_t ofi = {.wait_fd = -1};

static bool failed(const char *call, int result)
{
    if (result != 0)
        opal_log_error("mtl/ofi: the provider %s failed in %s: %s",
                       ofi.info->fabric_attr->prov_name, call, fi_strerror(-result));
    return result != 0;
}

static int open_queue(size_t depth, bool with_fd)
{
    struct fi_cq_attr attr = {
        .size = depth,
        .format = FI_CQ_FORMAT_TAGGED,
        .wait_obj = FI_WAIT_FD,
    };
    ofi.wait_fd = -1;
    if (with_fd && fi_cq_open(ofi.domain, &attr, &ofi.cq, NULL) == 0) {
        if (fi_control(&ofi.cq->fid, FI_GETWAIT, &ofi.wait_fd) == 0)
            return 0;
        ofi.wait_fd = -1;
        fi_close(&ofi.cq->fid);
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(ofi.domain, &attr, &ofi.cq, NULL);
}

static bool open_objects(size_t depth, bool with_fd)
{
    struct fi_av_attr av = {
        .type = ofi.info->domain_attr->av_type,
        .count = opal_job()->size,
    };
    return !failed("fi_fabric", fi_fabric(ofi.info->fabric_attr, &ofi.fabric, NULL)) &&
           !failed("fi_domain", fi_domain(ofi.fabric, ofi.info, &ofi.domain, NULL)) &&
           !failed("fi_av_open", fi_av_open(ofi.domain, &av, &ofi.av, NULL)) &&
           !failed("fi_cq_open", open_queue(depth, with_fd)) &&
           !failed("fi_endpoint", fi_endpoint(ofi.domain, ofi.info, &ofi.ep, NULL)) &&
           !failed("fi_ep_bind", fi_ep_bind(ofi.ep, &ofi.av->fid, 0)) &&
           !failed("fi_ep_bind", fi_ep_bind(ofi.ep, &ofi.cq->fid, FI_TRANSMIT | FI_RECV)) &&
           !failed("fi_enable", fi_enable(ofi.ep));
}

/* What the others insert. */
static bool learn_address(void)
{
    size_t bytes = 0;
    fi_getname(&ofi.ep->fid, NULL, &bytes);
    ofi.address = opal_xmalloc(bytes + 1);
    ofi.address_bytes = bytes;
    return !failed("fi_getname", fi_getname(&ofi.ep->fid, ofi.address, &ofi.address_bytes));
}

static size_t cut(size_t limit)
{
    return limit < OFI_MAX_SEGMENTS ? limit : OFI_MAX_SEGMENTS;
}

static void set_limits(const ofi_tag_layout_t *tags)
{
    const struct fi_info *info = ofi.info;
    ofi.tags = *tags;
    ofi.source_is_data = tags->mode == OFI_TAG_FULL;
    ofi.needs_registration = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    ofi.inject_bytes = info->tx_attr->inject_size;
    ofi.max_bytes = info->ep_attr->max_msg_size;
    if (ofi.quirks.only_injects)
        ofi.max_bytes = ofi.inject_bytes;
    /* Nobody has a buffer of half of all addresses. */
    ofi.has_long = ofi.max_bytes < SIZE_MAX / 2;
    if (ofi.has_long && ofi.inject_bytes >= ofi.max_bytes)
        ofi.inject_bytes = ofi.max_bytes - 1; /* one of max_bytes is a beginning: long.c */
    ofi.send_segments = ofi.quirks.only_injects ? 1 : cut(info->tx_attr->iov_limit);
    ofi.receive_segments = cut(info->rx_attr->iov_limit);
    if (ofi.quirks.spill_below > 0) {
        ofi.receive_segments--;
        ofi.spill = opal_xmalloc(ofi.quirks.spill_bytes);
    }
}

opal_status_t ofi_network_open(struct fi_info *info, const ofi_tag_layout_t *tags, size_t depth,
                               bool sleeps_on_fd)
{
    ofi.info = info;
    ofi_monitor_import();
    ofi_quirks_begin(info, &ofi.quirks);
    set_limits(tags);
    bool is_open = open_objects(depth, sleeps_on_fd && !ofi.quirks.needs_polling);
    ofi_quirks_end();
    if (is_open && learn_address())
        return OPAL_SUCCESS;
    ofi_network_close();
    return OPAL_ERR_SYSTEM;
}

static void close_object(struct fid *object)
{
    int result = object != NULL ? fi_close(object) : 0;
    if (result != 0)
        opal_log_warning("mtl/ofi: fi_close of the provider %s: %s",
                         ofi.info->fabric_attr->prov_name, fi_strerror(-result));
}

void ofi_network_close(void)
{
    /* What is used by another one after it. */
    close_object(ofi.ep != NULL ? &ofi.ep->fid : NULL);
    close_object(ofi.cq != NULL ? &ofi.cq->fid : NULL);
    close_object(ofi.av != NULL ? &ofi.av->fid : NULL);
    close_object(ofi.domain != NULL ? &ofi.domain->fid : NULL);
    close_object(ofi.fabric != NULL ? &ofi.fabric->fid : NULL);
    ofi_monitor_withdraw();
    free(ofi.address);
    free(ofi.spill);
    ofi = (ofi_network_t){.wait_fd = -1};
}
