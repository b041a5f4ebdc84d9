/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/self: which frames of its queue it uses. The rest is in contract.c. */
#include "opal/mca/btl/btl.h"
#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_self_component;

enum { LENGTH = 100, ROUNDS = 200, TOGETHER = 3 };

static unsigned received;

static void count(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    CREW_MUST(rank == 0 && kind == 0 && length == LENGTH);
    CREW_MUST(*(const unsigned char *)bytes == received % 256);
    received++;
}

/* Sends a frame that begins with its number; returns where it lay. */
static const void *send_one(unsigned number)
{
    opal_btl_peer_t *peer = crew.peers[0];
    unsigned char *room = peer->ops->reserve(peer, LENGTH);
    CREW_MUST(room != NULL);
    memset(room, (int)(number % 256), LENGTH);
    peer->ops->commit(peer, room, 0, LENGTH);
    return room;
}

static void send_by_threes(void)
{
    const void *rooms[TOGETHER];
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < TOGETHER; j++) {
            const void *room = send_one(i * TOGETHER + j);
            CREW_MUST(i == 0 || room == rooms[j]);
            rooms[j] = room;
        }
        while (received < (i + 1) * TOGETHER)
            opal_progress();
    }
}

/* Those that are in the cache, not all in turn. */
START_TEST(an_empty_queue_begins_with_the_same_frame)
{
    ck_assert_uint_eq(crew_run(&mca_btl_self_component, 1, count, send_by_threes), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_empty_queue_begins_with_the_same_frame},
};

UNIT_MAIN("btl/self", tests, NULL);
