/* SPDX-License-Identifier: BSD-3-Clause */
/* The rare half of a ring: its beginning, its end of a lap, and looking for room. See ring.h. */
#include "opal/mca/btl/sm/ring.h"

#include "opal/node/node.h"

/*
 * Memory is taken while the first lap goes through the ring, as much again as there is, and at most
 * so much at a time. A page that is new to the system takes some us, so the first message must not
 * pay for memory that later ones need.
 */
enum { MOST_POPULATE_BYTES = 32 << 10, PAGE = 4096 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t to_page_end(const void *address)
{
    return -(uint64_t)(uintptr_t)address % PAGE;
}

static void set_populated(ring_writer_t *writer, uint64_t populated)
{
    writer->populated = populated < writer->size ? populated : UINT64_MAX;
    atomic_store_explicit(&writer->ring->populated, writer->populated, memory_order_relaxed);
}

void ring_writer_init(ring_writer_t *writer, ring_t *ring, size_t size)
{
    ring->size = size;
    *writer = (ring_writer_t){.ring = ring, .size = size};
    set_populated(writer, to_page_end(ring->bytes)); /* with the ring's head */
}

/* The peer may write at any time: what it says is read once. */
bool ring_reader_init(ring_reader_t *reader, ring_t *ring, size_t room, struct opal_process *writer)
{
    uint64_t size = *(const volatile uint64_t *)&ring->size;
    *reader = (ring_reader_t){.ring = ring, .size = size, .process = writer};
    return size >= RING_MIN_BYTES && (size & (size - 1)) == 0 && size <= room - sizeof *ring;
}

/* Makes memory be there up to a position of the first lap. */
static opal_status_t populate(ring_writer_t *writer, uint64_t end)
{
    while (writer->populated < end) {
        unsigned char *begin = writer->ring->bytes + writer->populated;
        uint64_t wanted = smaller(writer->populated | 1, MOST_POPULATE_BYTES);
        uint64_t chunk = wanted + to_page_end(begin + wanted);
        chunk = smaller(chunk, writer->size - writer->populated);
        opal_status_t status = opal_node_populate(begin, (size_t)chunk);
        if (status != OPAL_SUCCESS)
            return status;
        set_populated(writer, writer->populated + chunk);
    }
    return OPAL_SUCCESS;
}

opal_status_t ring_populate_all(ring_writer_t *writer)
{
    return populate(writer, writer->size);
}

/*
 * Sets the limit for the quick look so that a frame of these bytes passes it, or goes as far as
 * it must by itself: a frame that ends exactly with the lap is let through here, since the word
 * behind it lies at the ring's beginning.
 */
opal_status_t ring_make_room(ring_writer_t *writer, uint64_t frame_bytes)
{
    ring_t *ring = writer->ring;
    uint64_t free_end = atomic_load_explicit(&ring->freed, memory_order_acquire) + writer->size;
    uint64_t lap_end = (writer->tail / writer->size + 1) * writer->size;
    uint64_t begin = writer->tail + frame_bytes <= lap_end ? writer->tail : lap_end;
    uint64_t end = begin + frame_bytes;
    if (end + RING_LINE > free_end)
        return OPAL_ERR_BUSY;

    opal_status_t status = populate(writer, smaller(end + RING_LINE, writer->size));
    if (status != OPAL_SUCCESS)
        return status;
    if (begin != writer->tail) {
        atomic_store_explicit(ring_word(ring, writer->size, lap_end), 0, memory_order_relaxed);
        atomic_store_explicit(ring_word(ring, writer->size, writer->tail), RING_VALID | RING_SKIP,
                              memory_order_release);
        writer->tail = lap_end;
        lap_end += writer->size;
    }
    writer->limit = smaller(free_end, smaller(lap_end, writer->populated));
    return OPAL_SUCCESS;
}
