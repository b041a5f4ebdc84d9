/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake provider by itself: two endpoints of one process, libfabric and nothing else.
 *
 *   provider             TAP: what holds in every mood
 *   provider order       the order in which completions and refusals come, for a comparison
 *   provider CALLS       one word for each of the first calls of a send: what it returned
 *   provider break RULE  breaks it: the provider has to end the program
 */
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MESSAGES = 64, BIG = 1 << 18, ADDRESS_BYTES = 256, TAG = 77, TIMES = 100000 };

typedef struct end {
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    fi_addr_t peer, self;
    char address[ADDRESS_BYTES];
} end_t;

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static end_t a, b;
static char *memory; /* one registration covers it: the halves are of a and b */
static struct fid_mr *registration;
static void *descriptor;
static int checks, failed;
static bool directed;

static void check(bool good, const char *text)
{
    checks++;
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", checks, text);
    fflush(stdout);
}

static void must(const char *call, ssize_t result)
{
    if (result >= 0)
        return;
    printf("%s: %s\n", call, fi_strerror((int)-result));
    exit(1);
}

/* ---- opening ---- */

static void open_end(end_t *end, enum fi_wait_obj wait)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait};
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    size_t length = sizeof end->address;
    must("fi_cq_open", fi_cq_open(domain, &cq, &end->cq, NULL));
    must("fi_av_open", fi_av_open(domain, &av, &end->av, NULL));
    must("fi_endpoint", fi_endpoint(domain, info, &end->ep, NULL));
    must("fi_ep_bind", fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
    must("fi_ep_bind", fi_ep_bind(end->ep, &end->av->fid, 0));
    must("fi_enable", fi_enable(end->ep));
    must("fi_getname", fi_getname(&end->ep->fid, end->address, &length));
}

static void meet(end_t *end, const end_t *other)
{
    if (fi_av_insert(end->av, end->address, 1, &end->self, 0, NULL) != 1 ||
        fi_av_insert(end->av, other->address, 1, &end->peer, 0, NULL) != 1)
        must("fi_av_insert", -FI_EADDRNOTAVAIL);
}

static void open_all(void)
{
    struct fi_info *hints = fi_allocinfo();
    hints->fabric_attr->prov_name = strdup("fake");
    hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT;
    directed = fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &info) == 0;
    hints->caps = FI_TAGGED;
    if (!directed)
        must("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &info));
    fi_freeinfo(hints);
    must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    must("fi_domain", fi_domain(fabric, info, &domain, NULL));
    const char *wait = getenv("FAKE_WAIT");
    enum fi_wait_obj object = wait != NULL && *wait == '0' ? FI_WAIT_NONE : FI_WAIT_FD;
    open_end(&a, object);
    open_end(&b, object);
    meet(&a, &b);
    meet(&b, &a);
    memory = mmap(NULL, 2 * BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must("fi_mr_reg",
         fi_mr_reg(domain, memory, 2 * BIG, FI_SEND | FI_RECV, 0, 0, 0, &registration, NULL));
    descriptor = fi_mr_desc(registration);
}

static void close_end(end_t *end)
{
    must("close endpoint", fi_close(&end->ep->fid));
    must("close av", fi_close(&end->av->fid));
    must("close cq", fi_close(&end->cq->fid));
}

static void close_all(void)
{
    check(fi_close(&domain->fid) == -FI_EBUSY, "a domain that is in use is not closed");
    close_end(&a);
    close_end(&b);
    must("close registration", fi_close(&registration->fid));
    must("close domain", fi_close(&domain->fid));
    must("close fabric", fi_close(&fabric->fid));
    fi_freeinfo(info);
    munmap(memory, 2 * BIG);
}

/* ---- messages ---- */

typedef struct result {
    int error;
    struct fi_cq_err_entry entry;
} result_t;

/* Reads one completion; both make progress meanwhile. */
static result_t wait_one(end_t *end)
{
    result_t result = {.error = -1};
    struct fi_cq_tagged_entry entry;
    end_t *other = end == &a ? &b : &a;
    for (int i = 0; i < TIMES; i++) {
        fi_cq_read(other->cq, NULL, 0);
        ssize_t count = fi_cq_read(end->cq, &entry, 1);
        if (count == 1) {
            result.error = 0;
            result.entry = (struct fi_cq_err_entry){.op_context = entry.op_context,
                                                    .flags = entry.flags,
                                                    .len = entry.len,
                                                    .data = entry.data,
                                                    .tag = entry.tag};
            return result;
        }
        if (count == -FI_EAVAIL) {
            while (fi_cq_readerr(end->cq, &result.entry, 0) == -FI_EAGAIN)
                ;
            result.error = result.entry.err;
            return result;
        }
        if (count != -FI_EAGAIN)
            must("fi_cq_read", count);
    }
    return result;
}

static void turn(void)
{
    fi_cq_read(a.cq, NULL, 0);
    fi_cq_read(b.cq, NULL, 0);
}

static void send_bytes(end_t *end, size_t bytes, fi_addr_t to, uint64_t tag,
                       struct fi_context2 *context)
{
    ssize_t result;
    while ((result =
                info->domain_attr->cq_data_size > 0
                    ? fi_tsenddata(end->ep, memory, bytes, descriptor, 0x1234567, to, tag, context)
                    : fi_tsend(end->ep, memory, bytes, descriptor, to, tag, context)) == -FI_EAGAIN)
        turn();
    must("fi_tsend", result);
}

static void receive_bytes(end_t *end, size_t at, size_t bytes, fi_addr_t from, uint64_t tag,
                          struct fi_context2 *context)
{
    ssize_t result;
    while ((result = fi_trecv(end->ep, memory + BIG + at, bytes, descriptor, from, tag, 0,
                              context)) == -FI_EAGAIN)
        turn();
    must("fi_trecv", result);
}

/* A receive without a buffer, with flags. */
static ssize_t receive_message(end_t *end, uint64_t flags, size_t bytes,
                               struct fi_context2 *context)
{
    struct iovec iov = {memory + BIG, bytes};
    struct fi_msg_tagged message = {.msg_iov = &iov,
                                    .desc = &descriptor,
                                    .iov_count = 1,
                                    .addr = FI_ADDR_UNSPEC,
                                    .tag = TAG,
                                    .context = context};
    ssize_t result;
    while ((result = fi_trecvmsg(end->ep, &message, flags)) == -FI_EAGAIN)
        turn();
    return result;
}

static int probe(end_t *end, uint64_t flags, result_t *result, struct fi_context2 *context)
{
    ssize_t direct = receive_message(end, flags | FI_PEEK, 0, context);
    if (direct == -FI_ENOMSG)
        return FI_ENOMSG;
    must("a probe", direct);
    *result = wait_one(end);
    return result->error;
}

/* Until it is there. */
static void probe_until(end_t *end, uint64_t flags, result_t *result, struct fi_context2 *context)
{
    for (int i = 0; i < TIMES && probe(end, flags, result, context) == FI_ENOMSG; i++)
        turn();
}

/* ---- what holds ---- */

static size_t size_of(int i)
{
    size_t size = i % 7 == 3 ? 40000 : (size_t)i * 11;
    return size < info->ep_attr->max_msg_size ? size : info->ep_attr->max_msg_size;
}

/* All with one tag. The receives are posted before or after. */
static void test_order(bool posted)
{
    static struct fi_context2 sends[MESSAGES], receives[MESSAGES];
    bool content = true, lengths = true;
    int done = 0;
    for (int i = 0; i < MESSAGES; i++) {
        if (posted)
            receive_bytes(&b, (size_t)i * 4000, 4000, b.peer, TAG, &receives[i]);
        memset(memory, i + 1, BIG);
        send_bytes(&a, size_of(i) < 4000 ? size_of(i) : 4000, a.peer, TAG, &sends[i]);
        wait_one(&a);
    }
    for (int i = 0; i < MESSAGES && !posted; i++)
        receive_bytes(&b, (size_t)i * 4000, 4000, b.peer, TAG, &receives[i]);
    for (; done < MESSAGES; done++) {
        result_t result = wait_one(&b);
        long i = (struct fi_context2 *)result.entry.op_context - receives;
        size_t wanted = size_of((int)i) < 4000 ? size_of((int)i) : 4000;
        if (result.error != 0)
            break;
        lengths = lengths && result.entry.len == wanted;
        for (size_t at = 0; at < wanted; at++)
            content = content && memory[BIG + i * 4000 + (long)at] == (char)(i + 1);
    }
    check(done == MESSAGES, posted ? "all messages come" : "all unexpected ones come");
    check(lengths && content, "the n-th to the n-th receive");
}

static void test_data(void)
{
    struct fi_context2 send, receive;
    size_t width = info->domain_attr->cq_data_size;
    receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receive);
    send_bytes(&a, 8, a.peer, TAG, &send);
    result_t result = wait_one(&b);
    check(result.entry.tag == TAG && (result.entry.flags & FI_RECV) != 0,
          "a completion has the tag");
    check(result.entry.data == (width == 0   ? 0
                                : width == 1 ? 0x67
                                             : 0x1234567) &&
              ((result.entry.flags & FI_REMOTE_CQ_DATA) != 0) == (width > 0),
          "and the data, as wide as they are");
    wait_one(&a);
    if (width == 0)
        check(fi_tsenddata(a.ep, memory, 8, descriptor, 1, a.peer, TAG, &send) != 0,
              "or no call for it");
}

static void test_probe(void)
{
    struct fi_context2 first, second, send, receive;
    result_t result;
    check(probe(&b, 0, &result, &first) == FI_ENOMSG, "nothing to find");
    memset(memory, 'x', 64);
    send_bytes(&a, 60, a.peer, TAG, &send);
    wait_one(&a);
    probe_until(&b, 0, &result, &first);
    check(result.error == 0 && result.entry.len == 60 && result.entry.tag == TAG,
          "a probe finds a message");
    check(probe(&b, FI_CLAIM, &result, &first) == 0, "another takes it");
    check(probe(&b, 0, &result, &second) == FI_ENOMSG, "a third does not find it");
    receive_bytes(&b, 4096, 64, FI_ADDR_UNSPEC, TAG, &receive);
    memset(memory, 'y', 64);
    send_bytes(&a, 50, a.peer, TAG, &send);
    wait_one(&a);
    result = wait_one(&b);
    check(result.entry.op_context == &receive && result.entry.len == 50, "nor does a receive");
    must("claim", receive_message(&b, FI_CLAIM, 64, &first));
    result = wait_one(&b);
    check(result.entry.op_context == &first && result.entry.len == 60 && memory[BIG + 59] == 'x',
          "it is received by its context");
}

static void test_discard(void)
{
    struct fi_context2 first, sends[2];
    result_t result;
    for (int i = 0; i < 2; i++) {
        send_bytes(&a, 40 + (size_t)i, a.peer, TAG, &sends[i]);
        wait_one(&a);
    }
    probe_until(&b, FI_CLAIM, &result, &first);
    must("discard", receive_message(&b, FI_CLAIM | FI_DISCARD, 0, &first));
    result = wait_one(&b);
    check(result.error == 0 && result.entry.op_context == &first,
          "a claimed message is thrown away");
    probe_until(&b, FI_DISCARD, &result, &first);
    check(result.error == 0 && result.entry.len == 41, "and one by the probe itself");
    check(probe(&b, 0, &result, &first) == FI_ENOMSG, "none is left");
}

static void test_cancel(void)
{
    struct fi_context2 receive, other;
    receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receive);
    check(fi_cancel(&b.ep->fid, &receive) == 0, "a receive is cancelled");
    result_t result = wait_one(&b);
    check(result.error == FI_ECANCELED && result.entry.op_context == &receive, "by its completion");
    check(fi_cancel(&b.ep->fid, &other) == -FI_ENOENT, "one that is not there is not");
}

static void test_truncation(void)
{
    struct fi_context2 send, receive;
    memset(memory + BIG, '-', 64);
    memset(memory, '+', 64);
    receive_bytes(&b, 0, 10, FI_ADDR_UNSPEC, TAG, &receive);
    send_bytes(&a, 64, a.peer, TAG, &send);
    result_t result = wait_one(&b);
    check(result.error == FI_ETRUNC && result.entry.len == 10 && result.entry.olen == 54,
          "what is too long is told");
    check(memory[BIG + 9] == '+' && memory[BIG + 10] == '-', "and what fits is there");
    wait_one(&a);
}

/* Without FI_DIRECTED_RECV the source of a receive is any. */
static void test_directed(void)
{
    struct fi_context2 mine, theirs, sends[2];
    receive_bytes(&b, 0, 64, b.peer, TAG, &theirs);
    receive_bytes(&b, 64, 64, b.self, TAG, &mine);
    send_bytes(&b, 20, b.self, TAG, &sends[0]);
    result_t results[2] = {wait_one(&b), wait_one(&b)};
    bool got_mine = results[0].entry.op_context == &mine || results[1].entry.op_context == &mine;
    send_bytes(&a, 30, a.peer, TAG, &sends[1]);
    result_t last = wait_one(&b);
    check(got_mine == directed, directed ? "a source is asked for" : "no source can be asked for");
    check(last.entry.op_context == (directed ? &theirs : &mine),
          "the other receive gets the other");
    wait_one(&a);
}

static void test_limits(void)
{
    struct fi_context2 context;
    struct iovec iov[8] = {{0}};
    void *desc[8] = {NULL};
    for (size_t i = 0; i < 8; i++)
        iov[i] = (struct iovec){memory, 1}, desc[i] = descriptor;
    ssize_t big = -FI_EAGAIN, injected = -FI_EAGAIN, pieces = -FI_EAGAIN;
    while (big == -FI_EAGAIN)
        big = fi_tsend(a.ep, memory, info->ep_attr->max_msg_size + 1, descriptor, a.peer, TAG,
                       &context);
    while (injected == -FI_EAGAIN)
        injected = fi_tinject(a.ep, memory, info->tx_attr->inject_size + 1, a.peer, TAG);
    while (pieces == -FI_EAGAIN)
        pieces = fi_tsendv(a.ep, iov, desc, info->tx_attr->iov_limit + 1, a.peer, TAG, &context);
    check(big == -FI_EMSGSIZE && injected == -FI_EMSGSIZE && pieces == -FI_EINVAL,
          "limits are kept");
}

/* Its buffer is free at once, and it has no completion. */
static void test_inject(void)
{
    struct fi_context2 receive;
    size_t bytes = info->tx_attr->inject_size < 8 ? info->tx_attr->inject_size : 8;
    ssize_t result;
    memcpy(memory, "injected", 8);
    while ((result = fi_tinject(a.ep, memory, bytes, a.peer, TAG)) == -FI_EAGAIN)
        turn();
    memset(memory, 0, 8);
    must("fi_tinject", result);
    receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receive);
    check(wait_one(&b).entry.len == bytes && memcmp(memory + BIG, "injected", bytes) == 0,
          "what is injected is copied");
}

/* Sleeps are permitted only when a message would end them. */
static void test_wait(void)
{
    struct fi_context2 send, receive;
    struct fid *fids[] = {&b.cq->fid};
    int fd = -1, result = -FI_EAGAIN;
    if (getenv("FAKE_WAIT") != NULL) {
        check(fi_control(&b.cq->fid, FI_GETWAIT, &fd) != 0, "there is no descriptor");
        return;
    }
    must("FI_GETWAIT", fi_control(&b.cq->fid, FI_GETWAIT, &fd));
    receive_bytes(&b, 0, 64, FI_ADDR_UNSPEC, TAG, &receive);
    for (int i = 0; i < TIMES && result == -FI_EAGAIN; i++)
        result = fi_trywait(fabric, fids, 1);
    struct pollfd look = {.fd = fd, .events = POLLIN};
    check(result == 0 && poll(&look, 1, 0) == 0, "one may sleep, and would");
    send_bytes(&a, 64, a.peer, TAG, &send);
    wait_one(&a);
    result = wait_one(&b).error;
    check(result == 0, "a message comes");
}

/* ---- in what order ---- */

static void print_order(void)
{
    static struct fi_context2 sends[MESSAGES], receives[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receives[i]);
    for (int i = 0; i < MESSAGES; i++) {
        while (fi_tsend(a.ep, memory, 8, descriptor, a.peer, TAG, &sends[i]) == -FI_EAGAIN)
            printf("again ");
    }
    for (int i = 0; i < MESSAGES; i++)
        printf("%ld ", (long)((struct fi_context2 *)wait_one(&b).entry.op_context - receives));
    printf("\n");
}

static void print_calls(void)
{
    static struct fi_context2 contexts[6];
    for (int i = 0; i < 6; i++)
        printf("%s, ",
               fi_strerror((int)-fi_tsend(a.ep, memory, 8, descriptor, a.peer, TAG, &contexts[i])));
    for (int i = 0; i < 6; i++)
        printf("%s ", fi_strerror(wait_one(&a).error));
    printf("\n");
}

/* ---- broken rules ---- */

/* Until two are there at once, which ends the process. */
static void *other_thread(void *nothing)
{
    for (;;)
        fi_cq_read(a.cq, NULL, 0);
    return nothing;
}

static void exchange_pages(size_t at, size_t bytes)
{
    munmap(memory + at, bytes);
    mmap(memory + at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
    memset(memory + at, 's', bytes);
}

static void break_rule(const char *rule)
{
    struct fi_context2 send, receive;
    pthread_t thread;
    if (strcmp(rule, "context") == 0) {
        receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receive);
        receive.internal[3] = NULL;
        fi_cancel(&b.ep->fid, &receive);
    } else if (strcmp(rule, "tag") == 0) {
        send_bytes(&a, 8, a.peer, 1UL << 63, &send);
    } else if (strcmp(rule, "address") == 0) {
        send_bytes(&a, 8, 1, TAG, &send);
    } else if (strcmp(rule, "claim") == 0) {
        receive_message(&b, FI_CLAIM, 8, &receive);
    } else if (strcmp(rule, "covered") == 0) {
        fi_trecv(b.ep, memory + 2 * BIG - 8, 9, descriptor, FI_ADDR_UNSPEC, TAG, 0, &receive);
    } else if (strcmp(rule, "descriptor") == 0) {
        fi_trecv(b.ep, memory, 9, &receive, FI_ADDR_UNSPEC, TAG, 0, &receive);
    } else if (strcmp(rule, "stale-send") == 0) {
        exchange_pages(4096, 8192);
        send_bytes(&a, 10000, a.peer, TAG, &send);
        turn();
    } else if (strcmp(rule, "stale-receive") == 0) {
        exchange_pages(BIG, 4096);
        receive_bytes(&b, 0, 8, FI_ADDR_UNSPEC, TAG, &receive);
        memcpy(memory, "contents", 8);
        send_bytes(&a, 8, a.peer, TAG, &send);
        wait_one(&b);
    } else if (strcmp(rule, "threads") == 0 &&
               pthread_create(&thread, NULL, other_thread, NULL) == 0) {
        other_thread(NULL);
    }
}

int main(int argc, char **argv)
{
    open_all();
    if (argc == 3) {
        break_rule(argv[2]);
        return 0;
    }
    if (argc == 2) {
        (strcmp(argv[1], "order") == 0 ? print_order : print_calls)();
        return 0;
    }
    test_order(true);
    test_order(false);
    test_data();
    test_probe();
    test_discard();
    test_cancel();
    test_truncation();
    test_directed();
    test_limits();
    test_inject();
    test_wait();
    close_all();
    printf("1..%d\n", checks);
    return failed > 0;
}
