/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's segment, as memory of the test. The linker wraps the functions of the node
 * (unit_segment_ldflags in test/unit/opal/local.mk).
 */
#ifndef OPAL_UNIT_FAKE_SEGMENT_H
#define OPAL_UNIT_FAKE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "opal/node/node.h"

enum { SEGMENT = 4 << 20 };

static _Alignas(64) char segment[SEGMENT];
static size_t carved = 64, limit = SEGMENT; /* of the segment; no memory is at offset 0 */
static opal_status_t populated;             /* what opal_node_populate returns */

void *__wrap_opal_node_base(void);
uint64_t __wrap_opal_node_carve_spare(size_t bytes);
opal_status_t __wrap_opal_node_populate(void *begin, size_t bytes);

void *__wrap_opal_node_base(void)
{
    return segment;
}

uint64_t __wrap_opal_node_carve_spare(size_t bytes)
{
    if (bytes > limit - carved)
        return 0;
    uint64_t offset = carved;
    carved += (bytes + 63) / 64 * 64;
    return offset;
}

opal_status_t __wrap_opal_node_populate(void *begin OPAL_UNUSED, size_t bytes OPAL_UNUSED)
{
    return populated;
}

#endif
