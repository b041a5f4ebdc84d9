/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What providers of libfabric do otherwise than its manual says: libfabric and nothing else. What
 * mtl/ofi does about it is in doc/CONFORMANCE.md.
 *
 *   defects          the names, one a line, with the provider
 *   defects NAME     "there: ..." or "gone: ...", and the exit status 0
 *                    77: this libfabric does not have the provider; 1: it cannot be found out
 *   defects NAME PROVIDER
 *                    the same of another one, which does as the manual says: that the program is
 *                    right is seen where it says "gone"
 *
 * The endpoints a, b and c of one process send to each other over the loopback. With manual
 * progress nothing goes on in one of them but when it is called, so that the program says what has
 * arrived when. A child does it: a crash is an answer, too, and so is what does not end.
 */
#include <malloc.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 100, MIDDLE = 4000, SEGMENTED = 100000, LONG = 1 << 20 }; /* bytes of messages */
enum {
    ADDRESS_BYTES = 256,
    MOMENTS = 20,
};
enum { IS_GONE, IS_UNKNOWN, IS_THERE, NO_PROVIDER = 77 };

typedef struct operation {
    struct fi_context2 context; /* first: its completion has this address */
    int error;                  /* libfabric's; 0: none */
    bool is_over;
    bool is_repeated; /* it was over before */
} operation_t;

typedef struct end {
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    char address[ADDRESS_BYTES];
} end_t;

static int patience_sec = 5;
static enum fi_wait_obj wait_object = FI_WAIT_NONE;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static end_t a, b, c;
static unsigned char out[LONG], in[2][LONG];

static void must(const char *call, ssize_t result)
{
    if (result >= 0)
        return;
    printf("%s: %s\n", call, fi_strerror((int)-result));
    exit(IS_UNKNOWN);
}

/* ---- endpoints ---- */

static void find(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();
    hints->fabric_attr->prov_name = strdup(provider);
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (fi_getinfo(FI_VERSION(1, 11), "127.0.0.1", NULL, FI_SOURCE, hints, &info) != 0)
        exit(NO_PROVIDER);
    fi_freeinfo(hints);
}

static void open_end(end_t *end)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait_object};
    struct fi_av_attr av = {.type = info->domain_attr->av_type};
    size_t length = sizeof end->address;
    must("fi_cq_open", fi_cq_open(domain, &cq, &end->cq, NULL));
    must("fi_av_open", fi_av_open(domain, &av, &end->av, NULL));
    must("fi_endpoint", fi_endpoint(domain, info, &end->ep, NULL));
    must("fi_ep_bind", fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
    must("fi_ep_bind", fi_ep_bind(end->ep, &end->av->fid, 0));
    must("fi_enable", fi_enable(end->ep));
    must("fi_getname", fi_getname(&end->ep->fid, end->address, &length));
}

static fi_addr_t insert(end_t *end, const end_t *other)
{
    fi_addr_t address;
    must("fi_av_insert", fi_av_insert(end->av, other->address, 1, &address, 0, NULL) - 1);
    return address;
}

static void open_ends(const char *provider)
{
    find(provider);
    must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    must("fi_domain", fi_domain(fabric, info, &domain, NULL));
    open_end(&a);
    open_end(&b);
    open_end(&c);
}

/* ---- progress ---- */

static void is_over(void *context, int error)
{
    operation_t *operation = context;
    operation->is_repeated = operation->is_over;
    operation->is_over = true;
    operation->error = error;
}

static void turn(end_t *end)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t result = fi_cq_read(end->cq, &entry, 1);
    if (result == 1)
        is_over(entry.op_context, 0);
    else if (result == -FI_EAVAIL && fi_cq_readerr(end->cq, &error, 0) == 1)
        is_over(error.op_context, error.err);
}

static void turn_all(void)
{
    turn(&a);
    turn(&b);
    turn(&c);
}

/* False: it does not end. */
static bool ends(const operation_t *operation)
{
    time_t begin = time(NULL);
    while (!operation->is_over && time(NULL) - begin < patience_sec)
        turn_all();
    return operation->is_over;
}

/* ---- messages ---- */

static void fill(unsigned char *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251 + (size_t)seed);
}

static bool is_filled(const unsigned char *bytes, size_t length, int seed)
{
    static unsigned char wanted[LONG];
    fill(wanted, length, seed);
    return memcmp(bytes, wanted, length) == 0;
}

/* What it sends is there until it ends: filled by the tag. */
static void send_to(end_t *end, fi_addr_t to, size_t bytes, uint64_t tag, operation_t *operation)
{
    ssize_t result;
    while ((result = fi_tsend(end->ep, out, bytes, NULL, to, tag, operation)) == -FI_EAGAIN)
        turn_all();
    must("fi_tsend", result);
}

static void receive_from(end_t *end, fi_addr_t from, unsigned char *to, size_t bytes, uint64_t tag,
                         operation_t *operation)
{
    ssize_t result;
    while ((result = fi_trecv(end->ep, to, bytes, NULL, from, tag, 0, operation)) == -FI_EAGAIN)
        turn_all();
    must("fi_trecv", result);
}

static ssize_t receive_message(end_t *end, void *to, size_t bytes, uint64_t tag, uint64_t flags,
                               operation_t *operation)
{
    struct iovec segment = {to, bytes};
    struct fi_msg_tagged message = {
        .msg_iov = &segment,
        .iov_count = bytes > 0,
        .addr = FI_ADDR_UNSPEC,
        .tag = tag,
        .context = operation,
    };
    ssize_t result;
    while ((result = fi_trecvmsg(end->ep, &message, flags)) == -FI_EAGAIN)
        turn(end);
    return result;
}

/* Whether a message is there that no receive is for; with FI_CLAIM or FI_DISCARD. */
static bool finds(end_t *end, uint64_t tag, uint64_t flags, operation_t *operation)
{
    *operation = (operation_t){0};
    ssize_t result = receive_message(end, NULL, 0, tag, FI_PEEK | flags, operation);
    if (result == -FI_ENOMSG)
        return false;
    must("fi_trecvmsg with FI_PEEK", result);
    while (!operation->is_over)
        turn(end);
    return operation->error == 0;
}

static void find_at_last(end_t *end, uint64_t tag, uint64_t flags, operation_t *operation)
{
    time_t begin = time(NULL);
    while (!finds(end, tag, flags, operation)) {
        turn_all();
        if (time(NULL) - begin > patience_sec)
            must("a message that was sent", -FI_ENOMSG);
    }
}

/* So that a connection is there, and nothing but one's own calls moves what comes later. */
static void say_hello(end_t *from, end_t *to)
{
    static operation_t sent, received;
    sent = received = (operation_t){0};
    receive_from(to, FI_ADDR_UNSPEC, in[0], SHORT, 99, &received);
    send_to(from, insert(from, to), SHORT, 99, &sent);
    if (!ends(&sent) || !ends(&received))
        must("the first message", -FI_ETIMEDOUT);
    insert(to, from);
}

/* ---- udp;ofi_rxd ---- */

static bool rxd_claim(void)
{
    operation_t sent[2] = {0}, claim, other;
    say_hello(&a, &b);
    send_to(&a, 0, SHORT, 1, &sent[0]);
    find_at_last(&b, 1, FI_CLAIM, &claim);
    send_to(&a, 0, SHORT, 2, &sent[1]);
    find_at_last(&b, 2, 0, &other);
    claim.is_over = false;
    must("FI_CLAIM", receive_message(&b, in[0], SHORT, 1, FI_CLAIM, &claim));
    return !ends(&claim) || !finds(&b, 2, 0, &other);
}

static bool rxd_discard(void)
{
    operation_t sent[2] = {0}, discarded, received = {0};
    say_hello(&a, &b);
    send_to(&a, 0, LONG, 1, &sent[0]);
    find_at_last(&b, 1, 0, &discarded); /* of its beginning */
    if (!finds(&b, 1, FI_DISCARD, &discarded))
        must("FI_DISCARD", -FI_ENOMSG);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], LONG, 2, &received);
    send_to(&a, 0, LONG, 2, &sent[1]);
    return !ends(&received) || !is_filled(in[0], LONG, 0);
}

static bool rxd_mixed(void)
{
    operation_t sent[2] = {0}, found, received[2] = {0};
    say_hello(&a, &b);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], LONG, 2, &received[0]);
    send_to(&a, 0, SHORT, 1, &sent[0]);
    send_to(&a, 0, LONG, 2, &sent[1]);
    for (int i = 0; i < MOMENTS; i++)
        turn(&b); /* and not a: the long one is not there as a whole */
    find_at_last(&b, 1, 0, &found);
    receive_from(&b, FI_ADDR_UNSPEC, in[1], SHORT, 1, &received[1]);
    return !ends(&received[1]) || !ends(&received[0]) || received[1].is_repeated ||
           !is_filled(in[0], LONG, 0) || !is_filled(in[1], SHORT, 0);
}

/* Accepts messages that it has no room for. */
static bool rxd_room(void)
{
    enum { MANY = 4000 };
    static operation_t sent[MANY], received[MANY];
    int accepted = 0;
    say_hello(&a, &b);
    while (accepted < MANY && fi_tsend(a.ep, out, SHORT, NULL, 0, 1, &sent[accepted]) == 0)
        accepted++;
    for (int i = 0; i < accepted; i++) {
        receive_from(&b, FI_ADDR_UNSPEC, in[0], SHORT, 1, &received[i]);
        if (!ends(&received[i]))
            return true;
    }
    return false;
}

static bool rxd_truncation(void)
{
    operation_t sent = {0}, received = {0};
    say_hello(&a, &b);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], SHORT / 2, 1, &received);
    send_to(&a, 0, SHORT, 1, &sent);
    return !ends(&received) || received.error != FI_ETRUNC;
}

/* ---- sockets ---- */

static bool sockets_peek(void)
{
    operation_t sent = {0}, found, received = {0};
    say_hello(&a, &b);
    send_to(&a, 0, SHORT, 1, &sent);
    find_at_last(&b, 1, 0, &found);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], SHORT, 1, &received);
    return finds(&b, 1, 0, &found);
}

/* c sends, whom b does not know, and b wants a message from a. */
static bool sockets_stranger(void)
{
    operation_t sent = {0}, found, received = {0};
    receive_from(&b, insert(&b, &a), in[0], SHORT, 1, &received);
    send_to(&c, insert(&c, &b), SHORT, 1, &sent);
    while (!received.is_over && !finds(&b, 1, 0, &found))
        turn_all();
    return received.is_over;
}

/* It goes on from a message that is no more; of which it finds here what M_PERTURB has left. */
static bool sockets_discard(void)
{
    enum { MANY = 100 };
    operation_t sent[MANY] = {0}, discarded, received = {0};
    mallopt(M_PERTURB, 0xa5);
    say_hello(&a, &b);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], SHORT, 99, &received);
    for (unsigned i = 0; i < MANY; i++)
        send_to(&a, 0, MIDDLE, 100 + i, &sent[i]);
    for (unsigned i = 0; i < MANY; i++)
        find_at_last(&b, 100 + i, 0, &discarded);
    for (unsigned i = 0; i < MANY; i++)
        find_at_last(&b, 100 + i * 37 % MANY, FI_DISCARD, &discarded);
    return false;
}

/* It looks whether the head of a message is there as a whole, and takes nothing until it is. What
 * has come of it stays in the socket then, together with the memory of all that the kernel has put
 * into one piece with it; with too much of that there, the socket takes nothing more. */
static bool sockets_head(void)
{
    enum { MANY = 20000, ROUNDS = 20, IN_VAIN = 2000, BYTES = 4 };
    static operation_t received[MANY];
    say_hello(&a, &b);
    for (int round = 0, sent = 0; round < ROUNDS; round++, sent = 0) {
        for (int failed = 0; sent < MANY && failed < IN_VAIN;) {
            if (fi_tinject(a.ep, out, BYTES, 0, 1) == 0)
                sent++, failed = 0;
            else
                turn(&a), failed++;
        }
        for (int i = 0; i < sent; i++) {
            received[i] = (operation_t){0};
            receive_from(&b, FI_ADDR_UNSPEC, in[0], BYTES, 1, &received[i]);
            if (!ends(&received[i]))
                return true;
        }
    }
    return false;
}

/* ---- ofi_rxm ---- */

static bool rxm_truncation(void)
{
    operation_t sent[2] = {0}, received[2] = {0};
    say_hello(&a, &b);
    receive_from(&b, FI_ADDR_UNSPEC, in[0], SHORT / 2, 1, &received[0]);
    receive_from(&b, FI_ADDR_UNSPEC, in[1], SHORT, 2, &received[1]);
    send_to(&a, 0, SHORT, 1, &sent[0]);
    send_to(&a, 0, SHORT, 2, &sent[1]);
    return !ends(&received[1]) || received[1].error != 0;
}

static bool rxm_claim(void)
{
    operation_t sent = {0}, claim;
    say_hello(&a, &b);
    send_to(&a, 0, SEGMENTED, 1, &sent);
    find_at_last(&b, 1, FI_CLAIM, &claim);
    claim.is_over = false;
    must("FI_CLAIM", receive_message(&b, in[0], SEGMENTED, 1, FI_CLAIM, &claim));
    return !ends(&claim) || claim.error != 0 || !is_filled(in[0], SEGMENTED, 0);
}

/* Whether the descriptor of a queue without anything in it, nor on its way, lets anybody sleep. */
static bool net_awake(void)
{
    enum { TRIALS = 50, QUIET_TURNS = 100, SLEEP_MSEC = 10 };
    struct pollfd queue = {.events = POLLIN};
    wait_object = FI_WAIT_FD;
    open_end(&a);
    open_end(&b);
    must("FI_GETWAIT", fi_control(&b.cq->fid, FI_GETWAIT, &queue.fd));
    say_hello(&a, &b);
    for (int i = 0; i < TRIALS; i++) {
        struct fid *fid = &b.cq->fid;
        for (int j = 0; j < QUIET_TURNS; j++)
            turn_all();
        if (fi_trywait(fabric, &fid, 1) == 0 && poll(&queue, 1, SLEEP_MSEC) == 0)
            return false;
    }
    return true;
}

/* ---- the program ---- */

static const struct {
    const char *name, *provider;
    bool (*is_there)(void);
    const char *text;
} defects[] = {
    {"rxd-claim", "udp;ofi_rxd", rxd_claim,
     "a message that comes before one that FI_PEEK has claimed is received gets lost"},
    {"rxd-discard", "udp;ofi_rxd", rxd_discard,
     "nothing comes behind a message that was discarded while it arrived"},
    {"rxd-mixed", "udp;ofi_rxd", rxd_mixed,
     "a receive of a message that has come spoils a longer one that is coming"},
    {"rxd-room", "udp;ofi_rxd", rxd_room,
     "fi_tsend accepts messages that it has no room for, and they are never sent"},
    {"rxd-truncation", "udp;ofi_rxd", rxd_truncation, "no FI_ETRUNC when a message was cut"},
    {"sockets-discard", "sockets", sockets_discard,
     "memory of a discarded message is used when it is free"},
    {"sockets-head", "sockets", sockets_head,
     "where many short messages wait to be read, nothing comes any more"},
    {"sockets-peek", "sockets", sockets_peek,
     "FI_PEEK finds a message that an earlier receive is to get"},
    {"sockets-stranger", "sockets", sockets_stranger,
     "a receive from one address takes a message of another, unknown one"},
    {"rxm-truncation", "tcp;ofi_rxm", rxm_truncation,
     "a message longer than its receive ends the connection"},
    {"rxm-claim", "net;ofi_rxm", rxm_claim, "a claimed message in segments never ends"},
    {"net-awake", "net;ofi_rxm", net_awake,
     "the descriptor of an empty queue ends every sleep at once"},
};

static int child(size_t which, const char *provider)
{
    alarm(3 * (unsigned)patience_sec);
    fill(out, sizeof out, 0);
    open_ends(provider);
    signal(SIGSEGV, SIG_DFL); /* libraries of some providers catch them */
    signal(SIGBUS, SIG_DFL);
    return defects[which].is_there() ? IS_THERE : IS_GONE;
}

static int tell(size_t which, const char *provider, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROVIDER) {
        printf("%s is not here\n", provider);
        return NO_PROVIDER;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == IS_UNKNOWN)
        return 1;
    bool is_gone = WIFEXITED(status) && WEXITSTATUS(status) == IS_GONE;
    printf("%s: %s, %s", is_gone ? "gone" : "there", provider, defects[which].text);
    if (WIFSIGNALED(status))
        printf(" (%s)", strsignal(WTERMSIG(status)));
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof defects / sizeof defects[0];
    int status;
    for (size_t i = 0; i < count; i++) {
        const char *provider = argc > 2 ? argv[2] : defects[i].provider;
        if (argc < 2)
            printf("%s %s\n", defects[i].name, provider);
        if (argc < 2 || strcmp(argv[1], defects[i].name) != 0)
            continue;
        patience_sec *= argc > 2 ? 6 : 1;
        if (fork() == 0)
            exit(child(i, provider));
        if (wait(&status) > 0)
            return tell(i, provider, status);
    }
    return argc > 1;
}
