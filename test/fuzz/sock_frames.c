/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a connection of btl/sock that is up, from a peer that says anything. An input is
 *
 *   byte 0   the longest frame: 640, 641, ... bytes
 *   byte 1   by which the stream is cut into pieces, and answers into segments
 *   others   the stream
 *
 * Whatever comes: frames are not longer than they may be, a placement is followed by its end, and
 * what is delivered does not depend on how the stream was cut, nor on which frames the client has
 * refused at first. Operations on memory find some that is exposed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/mca/base/param.h"
#include "opal/mca/btl/sock/sock.h"
#include "test/unit/opal/mca/btl/hearing.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "opal/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { PEER = 1, SCRATCH_BYTES = 8192, EXPOSED_BYTES = 8192 };

/* Known to the inputs. */
#define EXPOSED_AT UINT64_C(0x200000000000)

static unsigned char *exposed; /* its first half */

static uint64_t digest;
static uint32_t seed;
static unsigned char scratch[SCRATCH_BYTES];
static size_t answered;
static bool is_asked;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static uint32_t next_odd(void)
{
    seed = seed * 1103515245 + 12345;
    return seed >> 8;
}

static void add(uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
}

/* -- what the upper layer does ----------------------------------------------------------------- */

static void take(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    require(!is_asked, "a placement ends before anything else comes");
    require(rank == PEER && kind < SOCK_BYE, "the frame is the peer's");
    require(length <= sock_ops.max_frame_bytes, "it is not too long");
    require((uintptr_t)bytes % 8 == 0, "it is aligned");
    add(kind << 16 | length);
    for (size_t i = 0; i < length; i++)
        add(((const unsigned char *)bytes)[i]);
}

static size_t place(unsigned rank, unsigned kind OPAL_UNUSED, uint64_t name OPAL_UNUSED,
                    size_t offset OPAL_UNUSED, size_t bytes, struct iovec *segments, size_t max)
{
    require(!is_asked && rank == PEER && bytes > 0 && max > 0, "a place is wanted for something");
    size_t count = 0, most = 1 + next_odd() % max;
    is_asked = true;
    answered = 0;
    while (count < most && answered < bytes && answered < SCRATCH_BYTES) {
        size_t length = 1 + next_odd() % 900;
        if (length > bytes - answered)
            length = bytes - answered;
        if (length > SCRATCH_BYTES - answered)
            length = SCRATCH_BYTES - answered;
        segments[count++] = (struct iovec){scratch + answered, length};
        answered += length;
    }
    return count;
}

static void placed(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes)
{
    require(is_asked && rank == PEER && bytes <= answered, "a placement ends that was begun");
    is_asked = false;
    for (size_t i = 0; i < bytes; i++) {
        add(kind ^ name);
        add(offset + i);
        add(scratch[i]);
    }
}

/* As one that is about to stop, it does not tell of connections that end. */
static void be_rank(void)
{
    static bool is_one;
    if (is_one)
        return;
    is_one = true;
    opal_param_init();
    require(opal_wait_register() == OPAL_SUCCESS, "there are parameters");
    hearing.place = place;
    hearing.placed = placed;
    hearing.frame = take;
    hear_as(1 - PEER, 2);
    exposed = mmap((void *)EXPOSED_AT, EXPOSED_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(exposed == (void *)EXPOSED_AT &&
                opal_btl_expose(exposed, EXPOSED_BYTES / 2, OPAL_BTL_READ | OPAL_BTL_WRITE) != 0,
            "memory is exposed");
    opal_list_init(&sock.peers);
    sock.is_stopping = true;
    sock.identity = (sock_identity_t){.size = 2, .links = SOCK_MAX_LINKS};
    sock_max_links = 1;
}

/* -- an input ---------------------------------------------------------------------------------- */

static void read_all(sock_peer_t *peer)
{
    int there = 1;
    while (peer->links[0] != NULL && there > 0) {
        hearing.refuses = next_odd() % 4 == 0;
        sock_link_read(peer->links[0]);
        if (peer->links[0] != NULL && ioctl(peer->links[0]->descriptor.fd, FIONREAD, &there) != 0)
            there = 0;
    }
}

/* The stream in pieces of at most so many bytes. Returns what has become of it. */
static uint64_t play(const uint8_t *bytes, size_t length, size_t most)
{
    int ends[2];
    digest = length;
    is_asked = false;
    memset(exposed, 0, EXPOSED_BYTES);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
            "there are sockets");
    sock_peer_t *peer = sock_peer(opal_process(PEER));
    sock_peer_connected(peer, 0, ends[0]);
    while (length > 0 && peer->links[0] != NULL) {
        size_t piece = most == 1 ? 1 : 1 + next_odd() % most;
        ssize_t sent = send(ends[1], bytes, piece < length ? piece : length, MSG_NOSIGNAL);
        require(sent > 0, "the socket takes it");
        bytes += sent;
        length -= (size_t)sent;
        read_all(peer);
    }
    hearing.refuses = false;
    if (peer->links[0] != NULL)
        sock_link_read(peer->links[0]);
    for (size_t i = 0; i < EXPOSED_BYTES; i++) {
        require(i < EXPOSED_BYTES / 2 || exposed[i] == 0, "only what is exposed is written");
        add(exposed[i]);
    }
    add(peer->links[0] == NULL);
    add(peer->state == SOCK_LEFT);
    close(ends[1]);
    if (peer->links[0] != NULL)
        sock_link_read(peer->links[0]);
    require(peer->links[0] == NULL, "the end of the stream is seen");
    sock_peer_free(peer);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 2 || length > 20000)
        return 0;
    be_rank();
    sock_ops.max_frame_bytes = 640 + bytes[0];
    seed = bytes[1];
    uint64_t whole = play(bytes + 2, length - 2, 20000);
    require(play(bytes + 2, length - 2, 40) == whole, "pieces are as good as the whole");
    require(play(bytes + 2, length - 2, 1) == whole, "bytes are as good as the whole");
    return 0;
}
