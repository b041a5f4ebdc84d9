/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoint that matches, its limits, and what of it has to be alike in all ranks. */
#include <stdio.h>
#include <stdlib.h>

#include "opal/util/text.h"
#include "ompi/mca/mtl/ofi/ofi.h"

ofi_network_t ofi = {.endpoint.wait_fd = -1};

/* -- what ranks have to do alike --------------------------------------------------------------- */

enum { ADDED_MODE, ADDED_COMM_BITS, ADDED_WORD_BITS, ADDED_BYTES };

static const char *name_of_mode(unsigned mode)
{
    return mode < OFI_TAG_MODE_COUNT ? ofi_tag_mode_name((ofi_tag_mode_t)mode) : "an unknown one";
}

/* Numbers of bits. */
static bool compare_bits(const char *what, unsigned mine, unsigned others,
                         opal_fabric_difference_t *difference)
{
    if (mine == others)
        return true;
    difference->what = what;
    difference->advice = "another mtl_ofi_tag_mode, or mtl_ofi_provider_include,";
    snprintf(difference->mine, sizeof difference->mine, "%u", mine);
    snprintf(difference->others, sizeof difference->others, "%u", others);
    return false;
}

static bool compare_tags(const void *mine_, size_t mine_bytes, const void *others_,
                         size_t other_bytes, opal_fabric_difference_t *difference)
{
    const unsigned char *mine = mine_, *others = others_;
    const unsigned other_mode = other_bytes == mine_bytes ? others[ADDED_MODE] : OFI_TAG_MODE_COUNT;
    if (mine[ADDED_MODE] != other_mode) {
        difference->what = "the tag mode";
        difference->advice = "mtl_ofi_tag_mode";
        snprintf(difference->mine, sizeof difference->mine, "%s", name_of_mode(mine[ADDED_MODE]));
        snprintf(difference->others, sizeof difference->others, "%s", name_of_mode(other_mode));
        return false;
    }
    return compare_bits("as the bits of a tag for communicators", mine[ADDED_COMM_BITS],
                        others[ADDED_COMM_BITS], difference) &&
           compare_bits("as the bits of a message's data for the job's word", mine[ADDED_WORD_BITS],
                        others[ADDED_WORD_BITS], difference);
}

opal_status_t ofi_endpoint_publish(void)
{
    const unsigned char added[ADDED_BYTES] = {
        [ADDED_MODE] = (unsigned char)ofi.tags.mode,
        [ADDED_COMM_BITS] = (unsigned char)ofi.tags.comm_bits,
        [ADDED_WORD_BITS] = (unsigned char)ofi_data_word_bits(ofi.endpoint.info),
    };
    return opal_fabric_endpoint_publish(&ofi.endpoint, added, sizeof added);
}

/* -- opening and closing ----------------------------------------------------------------------- */

static const opal_fabric_user_t user = {
    .name = "mtl/ofi",
    .prefix = "mtl_ofi",
    .kind = OPAL_MODEX_MTL,
    .compare = compare_tags,
    .use = "sends by pml = cm",
    .remedy = "set pml to cm or to ob1 for all of them, and see ompi_info --why mtl there",
};

static size_t cut(size_t limit)
{
    return limit < OFI_MAX_SEGMENTS ? limit : OFI_MAX_SEGMENTS;
}

static void set_limits(const ofi_tag_layout_t *tags)
{
    const struct fi_info *info = ofi.endpoint.info;
    const opal_fabric_quirks_t *quirks = &ofi.endpoint.quirks;
    ofi.tags = *tags;
    ofi.source_is_data = tags->mode == OFI_TAG_FULL;
    ofi.needs_registration = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    ofi.max_bytes = quirks->max_bytes > 0 ? quirks->max_bytes : info->ep_attr->max_msg_size;
    /* Nobody has a buffer of half of all addresses. */
    ofi.has_long = ofi.max_bytes < SIZE_MAX / 2;
    ofi.inject_below = quirks->never_injects ? 0 : info->tx_attr->inject_size + 1;
    ofi.eager_below = ofi.inject_below < ofi.max_bytes ? ofi.inject_below : ofi.max_bytes;
    ofi.send_segments = cut(info->tx_attr->iov_limit);
    ofi.receive_segments = cut(info->rx_attr->iov_limit);
    if (quirks->spill_below > 0) {
        ofi.receive_segments--;
        ofi.spill = opal_xmalloc(quirks->spill_bytes);
    }
}

opal_status_t ofi_endpoint_open(const ofi_choice_t *choice)
{
    opal_status_t status = opal_fabric_endpoint_open(&ofi.endpoint, &user, choice->info,
                                                     choice->queue_depth, choice->sleeps_on_fd);
    if (status == OPAL_SUCCESS)
        set_limits(&choice->tags);
    return status;
}

void ofi_endpoint_close(void)
{
    opal_fabric_endpoint_close(&ofi.endpoint);
    free(ofi.spill);
    ofi = (ofi_network_t){.endpoint.wait_fd = -1};
}
