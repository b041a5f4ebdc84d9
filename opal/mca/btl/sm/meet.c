/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake by which the writer of a ring hands it to a process of another job.
 *
 *   writer, which calls                         reader, which listens on an abstract socket
 *   HELLO    a nonce, a proof           ---->
 *                                       <----   WELCOME  a nonce, a proof
 *   RING     a proof; its seat, the     ---->
 *            ring, its region
 *                                       <----   SEAT     a proof; its seat, its region
 *
 * Each proves that it knows the keys of both jobs, which only their records have, before it gets a
 * descriptor, and before it is believed anything. Both must be of the same user, and the reader
 * must be the process that its record names. A caller that is not known yet is kept waiting for a
 * while: its record may come to it earlier than the other way round.
 *
 * No step blocks. Sleeps watch the sockets; progress looks at them now and then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/sm/foreign.h"
#include "opal/node/fd_pass.h"
#include "opal/node/region.h"
#include "opal/process/job.h"
#include "opal/process/process_record.h"
#include "opal/util/bytes.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "opal/util/shortage.h"

enum { NONCE_BYTES = 32, RANDOM_BYTES = 16, NAME_BYTES = 64 };

typedef enum step { HELLO = 1, WELCOME, RING, SEAT } step_t;

/* Between processes of one host and one version of this library. */
typedef struct message {
    uint64_t layout;
    uint32_t step;
    uint32_t maps_region; /* of SEAT: the sender has mapped the other's region */
    opal_process_name_t caller, called;
    uint64_t seat_offset, ring_bytes;
    unsigned char nonce[NONCE_BYTES];
    unsigned char mac[OPAL_SHA256_BYTES]; /* of all before, and of the nonce that it answers */
} message_t;

/* Of everything that both ends must see in the same way. */
static const uint64_t layout = UINT64_C(0x316d732d6163696d) + (sizeof(ring_t) << 16) +
                               (sizeof(opal_node_slot_t) << 32) + (sizeof(message_t) << 48);

typedef struct sm_call {
    opal_descriptor_t descriptor; /* fd -1: the reader does not accept it yet */
    opal_list_node_t node;
    bool is_incoming;
    bool is_broken; /* progress ends it: a caller's failure is reported from there */
    step_t awaits;
    sm_foreign_t
        *foreign; /* NULL: an incoming call whose HELLO has not come, or not been accepted */
    int pidfd;    /* of the other process, until the peer has it; else -1 */
    opal_process_name_t caller, called;
    unsigned char key[OPAL_SHA256_BYTES];                     /* of this pair of jobs */
    unsigned char own_nonce[NONCE_BYTES], nonce[NONCE_BYTES]; /* nonce: the other's */
    message_t hello;
    uint64_t give_up_nsec; /* of an incoming call */
} sm_call_t;

static struct {
    opal_descriptor_t listener; /* token 0: none */
    opal_timer_t pause;         /* of the listener, while descriptors have run out */
    unsigned char offer[SM_OFFER_BYTES];
    unsigned char key[OPAL_JOB_KEY_BYTES];
    opal_list_t calls;
} meet;

/* -- where processes are -------------------------------------------------------------------- */

static void name_socket(const unsigned char offer[SM_OFFER_BYTES], char name[NAME_BYTES])
{
    const unsigned char *pid = offer + 8 + OPAL_HOST_BYTES, *random = pid + 4;
    int at = snprintf(name, NAME_BYTES, "mica-sm-%u-", opal_get_le32(pid));
    for (int i = 0; i < RANDOM_BYTES; i++)
        at += snprintf(name + at, (size_t)(NAME_BYTES - at), "%02x", random[i]);
}

static const unsigned char *offer_of(const opal_process_t *process)
{
    return opal_process_record(process)->modex[OPAL_MODEX_SM].bytes;
}

static uint32_t pid_of(const opal_process_t *process)
{
    return opal_get_le32(offer_of(process) + 8 + OPAL_HOST_BYTES);
}

bool sm_meet_reaches(const opal_process_t *process)
{
    return meet.listener.token != 0 &&
           opal_process_record(process)->modex[OPAL_MODEX_SM].length == SM_OFFER_BYTES &&
           memcmp(offer_of(process), meet.offer, 8 + OPAL_HOST_BYTES) == 0;
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Whether the process at the other end is of this user; a pidfd of it, else -1. */
static int identify(int fd, pid_t *pid)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid() ||
        peer.pid <= 0)
        return -1;
    *pid = peer.pid;
    return open_pidfd(peer.pid);
}

/* -- proofs --------------------------------------------------------------------------------- */

static void make_key(sm_call_t *call, const opal_process_t *other)
{
    const unsigned char *theirs = opal_process_record(other)->key;
    opal_hmac_t hmac;
    opal_hmac_begin(&hmac, call->is_incoming ? theirs : meet.key, OPAL_JOB_KEY_BYTES);
    opal_hmac_add(&hmac, call->is_incoming ? meet.key : theirs, OPAL_JOB_KEY_BYTES);
    opal_hmac_end(&hmac, call->key);
}

static void sign(const sm_call_t *call, const message_t *message,
                 const unsigned char answered[NONCE_BYTES], unsigned char mac[OPAL_SHA256_BYTES])
{
    opal_hmac_t hmac;
    opal_hmac_begin(&hmac, call->key, sizeof call->key);
    opal_hmac_add(&hmac, message, offsetof(message_t, mac));
    if (message->step != HELLO)
        opal_hmac_add(&hmac, answered, NONCE_BYTES);
    opal_hmac_end(&hmac, mac);
}

static bool is_proven(const sm_call_t *call, const message_t *message)
{
    unsigned char mac[OPAL_SHA256_BYTES];
    sign(call, message, call->own_nonce, mac);
    return opal_secret_equal(mac, message->mac, sizeof mac);
}

/* -- sending -------------------------------------------------------------------------------- */

static message_t make_message(const sm_call_t *call, step_t step)
{
    message_t message;
    memset(&message, 0, sizeof message); /* the bytes between members are signed, too */
    message.layout = layout;
    message.step = step;
    message.caller = call->caller;
    message.called = call->called;
    memcpy(message.nonce, call->own_nonce, NONCE_BYTES);
    return message;
}

static bool send_message(const sm_call_t *call, message_t *message, const int fds[], unsigned count)
{
    sign(call, message, call->nonce, message->mac);
    return opal_pass_send(call->descriptor.fd, message, sizeof *message, fds, count) ==
           (ssize_t)sizeof *message;
}

/* With the seat and the region of this process; in RING with the ring between them. */
static bool send_memory(const sm_call_t *call, step_t step)
{
    opal_seat_t seat;
    int fds[OPAL_PASS_FDS];
    unsigned count = 0;
    message_t message = make_message(call, step);
    if (opal_seat_take(opal_process_self()->rank, &seat) != OPAL_SUCCESS)
        return false;
    message.seat_offset = seat.offset;
    message.maps_region = call->foreign->region != NULL;
    fds[count++] = seat.fd;
    if (step == RING) {
        message.ring_bytes = call->foreign->out.bytes;
        fds[count++] = call->foreign->out.fd;
    }
    if (opal_region.bytes > 0)
        fds[count++] = opal_region.fd;
    /* The descriptor of the region is the program's to close: without it, nothing is mapped. */
    return send_message(call, &message, fds, count) ||
           (opal_region.bytes > 0 && errno == EBADF &&
            send_message(call, &message, fds, count - 1));
}

/* -- calls ---------------------------------------------------------------------------------- */

static int call_ready(opal_descriptor_t *descriptor, unsigned events);

/* Sockets are looked at by sm_meet_progress; only sleeps watch them. */
static bool is_always_armed(opal_descriptor_t *descriptor OPAL_UNUSED)
{
    return true;
}

static void end_call(sm_call_t *call)
{
    if (call->descriptor.token != 0)
        opal_descriptor_remove(&call->descriptor);
    if (call->descriptor.fd >= 0)
        close(call->descriptor.fd);
    if (call->pidfd >= 0)
        close(call->pidfd);
    if (call->foreign != NULL && call->foreign->call == call)
        call->foreign->call = NULL;
    opal_list_remove(&call->node);
    explicit_bzero(call->key, sizeof call->key);
    free(call);
}

static void fail_call(sm_call_t *call)
{
    sm_foreign_t *foreign = call->is_incoming ? NULL : call->foreign;
    end_call(call);
    if (foreign != NULL)
        sm_foreign_lose(foreign);
}

static sm_call_t *make_call(int fd, bool is_incoming)
{
    sm_call_t *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->descriptor = (opal_descriptor_t){
        .fd = fd, .wants = OPAL_READABLE, .ready = call_ready, .arm = is_always_armed};
    call->is_incoming = is_incoming;
    call->awaits = is_incoming ? HELLO : WELCOME;
    call->pidfd = -1;
    opal_list_append(&meet.calls, &call->node);
    return call;
}

static bool watch_call(sm_call_t *call)
{
    return opal_secret_random(call->own_nonce, NONCE_BYTES) == OPAL_SUCCESS &&
           opal_descriptor_add(&call->descriptor) == OPAL_SUCCESS;
}

/* Connects to the reader, unless it has too many callers now. False: it cannot be reached. */
static bool dial(sm_call_t *call)
{
    char name[NAME_BYTES];
    struct sockaddr_un address;
    pid_t pid = 0;
    const opal_process_t *process = call->foreign->peer->base.process;
    if (call->foreign->is_over)
        return false;
    name_socket(offer_of(process), name);
    socklen_t length = opal_pass_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, length) != 0) {
        bool is_busy = errno == EAGAIN;
        close(fd);
        return is_busy;
    }
    call->descriptor.fd = fd;
    call->pidfd = identify(fd, &pid);
    message_t hello;
    if (call->pidfd < 0 || (uint32_t)pid != pid_of(process) || !watch_call(call))
        return false;
    hello = make_message(call, HELLO);
    return send_message(call, &hello, NULL, 0);
}

bool sm_meet_call(sm_foreign_t *foreign)
{
    sm_call_t *call = make_call(-1, false);
    if (call == NULL)
        return false;
    call->foreign = foreign;
    foreign->call = call;
    call->caller = opal_process_name(opal_process_self()->index);
    call->called = opal_process_name(foreign->peer->base.process->index);
    make_key(call, foreign->peer->base.process);
    call->is_broken = !dial(call);
    return true;
}

void sm_meet_hang_up(const sm_foreign_t *foreign)
{
    for (opal_list_node_t *node = opal_list_first(&meet.calls), *next; node != NULL; node = next) {
        sm_call_t *call = opal_container_of(node, sm_call_t, node);
        next = opal_list_next(&meet.calls, node);
        if (foreign == NULL || call->foreign == foreign)
            end_call(call);
    }
}

/* -- steps; false: the call has failed -------------------------------------------------------- */

static bool is_same(const opal_process_name_t *one, const opal_process_name_t *other)
{
    return memcmp(one->job, other->job, sizeof one->job) == 0 && one->rank == other->rank;
}

/* Keeps the call waiting until the caller is known. */
static bool try_hello(sm_call_t *call)
{
    bool is_never = false;
    sm_foreign_t *foreign = sm_foreign_of_caller(&call->caller, &is_never);
    if (foreign == NULL)
        return !is_never && opal_clock_nsec() < call->give_up_nsec;
    call->foreign = foreign;
    make_key(call, foreign->peer->base.process);
    if (!is_proven(call, &call->hello))
        return false;
    message_t welcome = make_message(call, WELCOME);
    call->awaits = RING;
    return send_message(call, &welcome, NULL, 0);
}

static bool take_hello(sm_call_t *call, const message_t *message)
{
    opal_process_name_t own = opal_process_name(opal_process_self()->index);
    if (!is_same(&message->called, &own))
        return false;
    call->hello = *message;
    call->caller = message->caller;
    call->called = message->called;
    memcpy(call->nonce, message->nonce, NONCE_BYTES);
    return try_hello(call);
}

static bool take_welcome(sm_call_t *call, const message_t *message)
{
    memcpy(call->nonce, message->nonce, NONCE_BYTES);
    call->awaits = SEAT;
    if (!send_memory(call, RING))
        return false;
    sm_ring_file_close(&call->foreign->out); /* the peer has a descriptor of its own */
    return true;
}

static void give_pidfd(sm_call_t *call)
{
    sm_foreign_watch(call->foreign, call->pidfd);
    call->pidfd = -1;
}

/* What a proven process has passed cannot be used. */
static bool complain(const sm_foreign_t *foreign)
{
    const opal_process_t *process = foreign->peer->base.process;
    opal_log_error(
        "cannot use the shared memory that rank %u of job %s has passed to this one; the "
        "limit of open files (ulimit -n) or of addresses (ulimit -v) may be too low, "
        "and btl_sm_between_jobs = no needs neither",
        process->rank, opal_process_record(process)->job_id);
    return false;
}

static bool take_ring(sm_call_t *call, const message_t *message, const int fds[], unsigned count)
{
    sm_foreign_t *foreign = call->foreign;
    if (foreign->is_over || foreign->in.ring != NULL)
        return false;
    if (count < 2 ||
        !sm_foreign_meet(foreign, fds[0], message->seat_offset, count > 2 ? fds[2] : -1) ||
        !sm_foreign_take_ring(foreign, fds[1], message->ring_bytes))
        return complain(foreign);
    give_pidfd(call);
    return send_memory(call, SEAT);
}

static bool take_seat(sm_call_t *call, const message_t *message, const int fds[], unsigned count)
{
    sm_foreign_t *foreign = call->foreign;
    if (foreign->is_over)
        return true; /* the ring has come, and nothing else matters */
    if (count < 1 ||
        !sm_foreign_meet(foreign, fds[0], message->seat_offset, count > 1 ? fds[1] : -1))
        return complain(foreign);
    foreign->maps_us = message->maps_region != 0;
    give_pidfd(call);
    return true;
}

/* *is_over: it was the last step. */
static bool take(sm_call_t *call, const message_t *message, const int fds[], unsigned count,
                 bool *is_over)
{
    if (message->layout != layout || message->step != (uint32_t)call->awaits)
        return false;
    if (message->step == HELLO)
        return take_hello(call, message);
    if (!is_proven(call, message) || !is_same(&message->caller, &call->caller) ||
        !is_same(&message->called, &call->called))
        return false;
    *is_over = message->step != WELCOME;
    switch (message->step) {
    case WELCOME:
        return take_welcome(call, message);
    case RING:
        return take_ring(call, message, fds, count);
    default:
        return take_seat(call, message, fds, count);
    }
}

/* Whether a HELLO was read that waits for its caller to become known. */
static bool is_held(const sm_call_t *call)
{
    return call->awaits == HELLO && call->hello.layout != 0;
}

/* Returns how many steps were taken. */
static int look_at(sm_call_t *call)
{
    message_t message = {0};
    int fds[OPAL_PASS_FDS];
    unsigned count;
    bool is_over = false;
    if (call->is_broken || call->descriptor.fd < 0 || is_held(call)) {
        bool is_good = !call->is_broken && (is_held(call) ? try_hello(call) : dial(call));
        if (!is_good)
            fail_call(call);
        else
            opal_btl_retry_soon();
        return 0;
    }
    ssize_t got = opal_pass_receive(call->descriptor.fd, &message, sizeof message, fds, &count);
    if (got < 0 && errno == EAGAIN)
        return 0;
    bool is_good = got == (ssize_t)sizeof message && take(call, &message, fds, count, &is_over);
    while (count > 0)
        close(fds[--count]);
    if (!is_good)
        fail_call(call);
    else if (is_over)
        end_call(call);
    return 1;
}

static int call_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    return look_at(opal_container_of(descriptor, sm_call_t, descriptor));
}

/* -- listening ------------------------------------------------------------------------------ */

static void listen_again(opal_timer_t *timer OPAL_UNUSED)
{
    opal_descriptor_want(&meet.listener, OPAL_READABLE);
}

static int accept_one(void)
{
    pid_t pid;
    if (meet.pause.is_set)
        return 0;
    int fd = accept4(meet.listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && opal_is_shortage(errno)) {
        opal_descriptor_want(&meet.listener, 0);
        opal_timer_set(&meet.pause, opal_timer_now() + OPAL_SHORTAGE_NSEC);
    }
    if (fd < 0)
        return 0;
    sm_call_t *call = make_call(fd, true);
    if (call == NULL) {
        close(fd);
        return 0;
    }
    call->give_up_nsec = opal_clock_nsec() + sm_connect_sec * OPAL_NSEC_PER_SEC;
    call->pidfd = identify(fd, &pid);
    if (call->pidfd < 0 || !watch_call(call))
        end_call(call);
    return 1;
}

static int listener_ready(opal_descriptor_t *descriptor OPAL_UNUSED, unsigned events OPAL_UNUSED)
{
    return accept_one();
}

/* Writes all but the layout: the host, and a name that nobody has. */
static opal_status_t make_offer(unsigned char offer[SM_OFFER_BYTES])
{
    unsigned char *pid = offer + 8 + OPAL_HOST_BYTES;
    opal_put_le64(offer, layout);
    opal_put_le32(pid, (uint32_t)getpid());
    if (!opal_host_identity(offer + 8))
        return OPAL_ERR_NOT_AVAILABLE;
    return opal_secret_random(pid + 4, RANDOM_BYTES);
}

static int open_listener(void)
{
    char name[NAME_BYTES];
    struct sockaddr_un address;
    name_socket(meet.offer, name);
    socklen_t length = opal_pass_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    opal_log_error("cannot listen for processes of other jobs on the socket @%s: %s", name,
                   strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

opal_status_t sm_meet_start(unsigned char offer[SM_OFFER_BYTES])
{
    opal_status_t status = OPAL_SUCCESS;
    int probe = open_pidfd(getpid());
    if (probe < 0) /* before Linux 5.3, or forbidden */
        return OPAL_ERR_NOT_AVAILABLE;
    close(probe);
    opal_list_init(&meet.calls);
    meet.pause = (opal_timer_t){.expired = listen_again};
    status = make_offer(meet.offer);
    if (status == OPAL_SUCCESS)
        status = opal_job_key(meet.key);
    int fd = status == OPAL_SUCCESS ? open_listener() : -1;
    if (fd < 0)
        return status != OPAL_SUCCESS ? status : OPAL_ERR_SYSTEM;
    meet.listener = (opal_descriptor_t){
        .fd = fd, .wants = OPAL_READABLE, .ready = listener_ready, .arm = is_always_armed};
    status = opal_descriptor_add(&meet.listener);
    if (status != OPAL_SUCCESS) {
        close(fd);
        return status;
    }
    memcpy(offer, meet.offer, SM_OFFER_BYTES);
    return OPAL_SUCCESS;
}

void sm_meet_stop(void)
{
    if (meet.listener.token == 0)
        return;
    sm_meet_hang_up(NULL);
    opal_timer_cancel(&meet.pause);
    opal_descriptor_remove(&meet.listener);
    close(meet.listener.fd);
    explicit_bzero(meet.key, sizeof meet.key);
}

bool sm_meet_has_calls(void)
{
    return !opal_list_is_empty(&meet.calls);
}

int sm_meet_progress(void)
{
    int count = accept_one();
    for (opal_list_node_t *node = opal_list_first(&meet.calls), *next; node != NULL; node = next) {
        next = opal_list_next(&meet.calls, node);
        count += look_at(opal_container_of(node, sm_call_t, node));
    }
    return count;
}
