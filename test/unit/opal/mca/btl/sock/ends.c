/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How connections begin and end where something is wrong: one of two ranks cannot reach the other
 * one, a peer dies while this rank stops, memory cannot be sent, a start fails in the middle.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "opal/mca/btl/btl.h"
#include "opal/process/key.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sock_component;

enum { KIND = 3, STOPS_WORD = 1 };

static unsigned received;
static bool is_dead;

static void count_frame(unsigned rank, unsigned kind, const void *bytes OPAL_UNUSED, size_t length)
{
    CREW_MUST(rank == 1 - crew.rank && kind == KIND && length == 8);
    received++;
}

static void note_death(unsigned rank)
{
    CREW_MUST(rank == 1 - crew.rank);
    is_dead = true;
}

static opal_btl_peer_t *peer(void)
{
    return crew.peers[1 - crew.rank];
}

/* One frame in each direction. */
static void greet(void)
{
    void *room;
    while ((room = crew.ops->reserve(peer(), 8)) == NULL && !is_dead)
        crew_poll();
    CREW_MUST(room != NULL);
    memcpy(room, "greeting", 8);
    crew.ops->commit(peer(), room, KIND, 8);
    while (received < 1 && !is_dead)
        crew_poll();
    CREW_MUST(received == 1);
    crew_barrier();
}

static void in_a_crew(void (*work)(void))
{
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, 2, count_frame, work), 0);
}

/* -- where only one of two reaches the other --------------------------------------------------- */

static uint16_t hole; /* a port in network order where nobody answers; 0: none */

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_storage to;
    memcpy(&to, address, length);
    if (hole != 0 && to.ss_family == AF_INET)
        ((struct sockaddr_in *)&to)->sin_port = hole;
    else if (hole != 0)
        ((struct sockaddr_in6 *)&to)->sin6_port = hole;
    return __real_connect(fd, (struct sockaddr *)&to, length);
}

/* A socket whose queue is full drops who calls. */
static void dig_hole(void)
{
    enum { FILLERS = 4 };
    struct sockaddr_in6 own = {.sin6_family = AF_INET6};
    socklen_t length = sizeof own;
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        own = (struct sockaddr_in6){.sin6_family = AF_INET};
    }
    CREW_MUST(bind(fd, (struct sockaddr *)&own, sizeof own) == 0 && listen(fd, 0) == 0);
    CREW_MUST(getsockname(fd, (struct sockaddr *)&own, &length) == 0);
    for (int i = 0; i < FILLERS; i++) {
        int filler = socket(own.sin6_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        __real_connect(filler, (struct sockaddr *)&own, length);
    }
    hole = own.sin6_port; /* where a sockaddr_in has it too */
}

/* Both call at the same time. The one that gets through is enough. */
static void reach_with(unsigned blocked)
{
    if (crew.rank == blocked)
        dig_hole();
    crew_barrier();
    hearing.death = note_death;
    greet();
}

static void reach_without_lower(void)
{
    reach_with(0);
}

static void reach_without_higher(void)
{
    reach_with(1);
}

START_TEST(one_direction_is_enough)
{
    in_a_crew(_i == 0 ? reach_without_lower : reach_without_higher);
}
END_TEST

/* -- a peer that dies while this rank stops ---------------------------------------------------- */

static void stop_alone(void)
{
    void *room;
    greet();
    if (crew.rank == 1) { /* reads nothing any more, and is gone */
        while (__atomic_load_n(&crew.shared[STOPS_WORD], __ATOMIC_ACQUIRE) == 0)
            sched_yield();
        _exit(0);
    }
    while ((room = crew.ops->reserve(peer(), 4096)) != NULL) {
        memset(room, 0, 4096);
        crew.ops->commit(peer(), room, KIND, 4096);
    }
    __atomic_store_n(&crew.shared[STOPS_WORD], 1, __ATOMIC_RELEASE);
    crew.ops->stop(crew.state);
    _exit(0);
}

START_TEST(a_peer_may_die_while_this_rank_stops)
{
    in_a_crew(stop_alone);
}
END_TEST

/* -- memory that cannot be sent ------------------------------------------------------------ */

static bool is_done;

static void note_done(opal_btl_long_t *message OPAL_UNUSED)
{
    is_done = true;
}

static void send_nothing_there(void)
{
    enum { BYTES = 1 << 20 };
    greet();
    hearing.death = note_death;
    struct iovec segment = {.iov_base =
                                mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                            .iov_len = BYTES};
    opal_btl_long_t message = {.frame = {.kind = KIND,
                                         .is_placed = true,
                                         .segments = &segment,
                                         .segment_count = 1,
                                         .bytes = BYTES},
                               .done = note_done};
    if (crew.rank == 0)
        crew.ops->send_long(peer(), &message);
    while (!is_dead)
        crew_poll();
    CREW_MUST(!is_done);
}

static size_t place(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED, uint64_t name OPAL_UNUSED,
                    size_t offset OPAL_UNUSED, size_t bytes, struct iovec *segments,
                    size_t max OPAL_UNUSED)
{
    static unsigned char anywhere[4096];
    segments[0] = (struct iovec){anywhere, bytes < sizeof anywhere ? bytes : sizeof anywhere};
    return 1;
}

static void placed(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED, uint64_t name OPAL_UNUSED,
                   size_t offset OPAL_UNUSED, size_t bytes OPAL_UNUSED)
{
}

/* Nobody waits for ever: the connection counts as lost, at both ends. */
START_TEST(memory_that_cannot_be_sent_ends_the_connection)
{
    hearing.place = place;
    hearing.placed = placed;
    in_a_crew(send_nothing_there);
}
END_TEST

/* -- a start that fails ------------------------------------------------------------------------ */

static bool has_no_key;

opal_status_t __real_opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES]);
opal_status_t __wrap_opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES]);
opal_status_t __wrap_opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES])
{
    return has_no_key ? OPAL_ERR_PROTOCOL : __real_opal_job_key(key);
}

static void start_in_vain(void)
{
    greet();
    crew_meet();
    crew.ops->stop(crew.state);
    unsigned before = unit_descriptors();
    has_no_key = true;
    CREW_MUST(crew.ops->start(crew.state) == OPAL_ERR_PROTOCOL);
    CREW_MUST(unit_descriptors() == before);
    opal_progress();
    has_no_key = false;
    CREW_MUST(crew.ops->start(crew.state) == OPAL_SUCCESS);
    CREW_MUST(crew.ops->connect(crew.state, opal_process(1 - crew.rank),
                                &crew.peers[1 - crew.rank]) == OPAL_SUCCESS);
    received = 0;
    greet();
}

START_TEST(a_start_that_fails_leaves_nothing)
{
    in_a_crew(start_in_vain);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_direction_is_enough, .repeats = 2},
    {.test = &a_peer_may_die_while_this_rank_stops},
    {.test = &memory_that_cannot_be_sent_ends_the_connection},
    {.test = &a_start_that_fails_leaves_nothing},
};

UNIT_MAIN("btl_sock_ends", tests, NULL);
