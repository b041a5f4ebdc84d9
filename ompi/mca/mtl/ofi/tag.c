/* SPDX-License-Identifier: BSD-3-Clause */
/* The layouts of the bits by which messages are matched. See tag.h. */
#include "ompi/mca/mtl/ofi/tag.h"

#include <inttypes.h>
#include <limits.h>

enum {
    BITS = 64,
    KIND_BITS = 2,
    MESSAGE_NUMBER_BITS = 20, /* long messages that a process receives at the same time */
    LEAST_CQ_DATA_BYTES = 4,  /* a rank */
};

enum { KIND_MESSAGE, KIND_SYNCHRONOUS, KIND_INTERNAL, KIND_PARTITIONED };

/* Widths in bits; tag includes the area. What is left of 64 is unused, between comm and kind. */
static const struct {
    const char *name;
    unsigned comm, source, tag;
} modes[OFI_TAG_MODE_COUNT] = {
    [OFI_TAG_AUTO] = {"auto", 0, 0, 0},
    [OFI_TAG_1] = {"ofi_tag_1", 12, 18, 32},
    [OFI_TAG_2] = {"ofi_tag_2", 24, 18, 20},
    [OFI_TAG_FULL] = {"ofi_tag_full", 28, 0, 32},
};

const char *ofi_tag_mode_name(ofi_tag_mode_t mode)
{
    return modes[mode].name;
}

unsigned ofi_tag_reserved_bits(uint64_t mem_tag_format)
{
    return mem_tag_format == 0 ? BITS : (unsigned)__builtin_clzll(mem_tag_format);
}

bool ofi_tag_decide(ofi_tag_mode_t wanted, size_t cq_data_bytes, bool has_directed_receive,
                    ofi_tag_mode_t *mode, opal_text_t *reason)
{
    bool has_data = cq_data_bytes >= LEAST_CQ_DATA_BYTES;
    if (wanted == OFI_TAG_AUTO) {
        *mode = has_data && has_directed_receive ? OFI_TAG_FULL : OFI_TAG_1;
        return true;
    }
    if (wanted == OFI_TAG_FULL && !(has_data && has_directed_receive)) {
        opal_text_add(reason, "ofi_tag_full needs ");
        if (!has_data)
            opal_text_printf(reason, "%d bytes of completion data, and it has %zu",
                             LEAST_CQ_DATA_BYTES, cq_data_bytes);
        if (!has_directed_receive)
            opal_text_printf(reason,
                             "%sreceives from one address (FI_DIRECTED_RECV), and it has "
                             "none",
                             has_data ? "" : "; ");
        return false;
    }
    *mode = wanted;
    return true;
}

/* How many bits a mode has for communicators. */
static unsigned comm_bits(ofi_tag_mode_t mode, unsigned reserved)
{
    return reserved < modes[mode].comm ? modes[mode].comm - reserved : 0;
}

static void say_too_few(ofi_tag_mode_t mode, uint64_t mem_tag_format, opal_text_t *reason)
{
    unsigned reserved = ofi_tag_reserved_bits(mem_tag_format);
    opal_text_printf(reason,
                     "of a tag's %d bits it keeps %u for itself (mem_tag_format 0x%016" PRIx64
                     "), which leaves %s %u for communicators; at least %d are needed",
                     BITS, reserved, mem_tag_format, modes[mode].name, comm_bits(mode, reserved),
                     OFI_TAG_LEAST_COMM_BITS);
    if (mode == OFI_TAG_1 && comm_bits(OFI_TAG_2, reserved) >= OFI_TAG_LEAST_COMM_BITS)
        opal_text_printf(reason, ", and mtl_ofi_tag_mode = %s would have %u", modes[OFI_TAG_2].name,
                         comm_bits(OFI_TAG_2, reserved));
}

static void set_contexts(ofi_tag_layout_t *layout, uint64_t area)
{
    uint64_t partitioned = (uint64_t)KIND_PARTITIONED << layout->kind_shift;
    layout->context_bits[OMPI_CONTEXT_USER] = 0;
    layout->context_bits[OMPI_CONTEXT_COLLECTIVE] = area;
    layout->context_bits[OMPI_CONTEXT_PARTITIONED] = partitioned;
    layout->context_bits[OMPI_CONTEXT_OWNERSHIP] = partitioned | area;
    layout->synchronous = (uint64_t)KIND_SYNCHRONOUS << layout->kind_shift;
    layout->receive_ignore[OMPI_CONTEXT_USER] = layout->synchronous;
    layout->part_bits = (uint64_t)KIND_INTERNAL << layout->kind_shift | area;
}

bool ofi_tag_layout_make(ofi_tag_layout_t *layout, ofi_tag_mode_t mode, uint64_t mem_tag_format,
                         opal_text_t *reason)
{
    unsigned bits = comm_bits(mode, ofi_tag_reserved_bits(mem_tag_format));
    if (bits < OFI_TAG_LEAST_COMM_BITS) {
        say_too_few(mode, mem_tag_format, reason);
        return false;
    }
    unsigned source = modes[mode].source, tag = modes[mode].tag - 1; /* without the area */
    *layout = (ofi_tag_layout_t){.mode = mode, .comm_bits = bits};
    layout->kind_shift = modes[mode].tag;
    layout->comm_shift = BITS - modes[mode].comm;
    layout->source_shift = layout->comm_shift - source;
    layout->source_mask = ((UINT64_C(1) << source) - 1) << layout->source_shift;
    layout->tag_mask = (UINT64_C(1) << tag) - 1;
    set_contexts(layout, UINT64_C(1) << tag);

    unsigned part = bits + source + tag - MESSAGE_NUMBER_BITS;
    layout->part_number_bits = part < 32 ? part : 32;
    layout->max_message = (UINT32_C(1) << MESSAGE_NUMBER_BITS) - 1;
    layout->max_part = (uint32_t)((UINT64_C(1) << layout->part_number_bits) - 1);
    layout->max_tag = (int)layout->tag_mask;
    layout->max_comm = (UINT32_C(1) << bits) - 1;
    layout->max_rank = source > 0 ? (1U << source) - 1 : INT_MAX;
    return true;
}

void ofi_tag_set_secret(ofi_tag_layout_t *layout, uint64_t word)
{
    uint64_t comm = (uint64_t)layout->max_comm << layout->comm_shift;
    uint64_t behind_kind = UINT64_MAX << (layout->kind_shift + 2);
    uint64_t below_comm = (UINT64_C(1) << layout->comm_shift) - 1;
    layout->secret = word & (comm | (behind_kind & below_comm & ~layout->source_mask));
}

uint64_t ofi_tag_of_part(const ofi_tag_layout_t *layout, uint32_t message, uint32_t part)
{
    assert(message >= 1 && message <= layout->max_message && part <= layout->max_part);
    uint64_t number = (uint64_t)message << layout->part_number_bits | part;
    uint64_t above = number / (layout->tag_mask + 1);
    uint64_t bits = above << layout->source_shift | layout->part_bits | (number & layout->tag_mask);
    return bits ^ layout->secret;
}
