/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit of an MPI over libfabric: a tagged message goes to and fro between two processes that
 * use libfabric and nothing else. Half of that time, by message size; measured in blocks as
 * measure.c does. Built without MPI: fi_ping.c, samples.c, -lfabric.
 *
 *   fi_ping [--quick] [--wait] [PROVIDER]     such as "tcp;ofi_rxm"; otherwise the first
 *
 * It polls, and the provider works in its calls (FI_PROGRESS_MANUAL): a thread of the provider's
 * would want a core, too. --wait: such a thread works, and this one is asleep in fi_cq_sread.
 *
 * As quick as a careful program is: what fits is injected, so that there is no completion to wait
 * for; the receive is posted while the message is on its way.
 */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

enum {
    MIN_BYTES = 8,
    MAX_BYTES = 4 << 20,
    ADDRESS_BYTES = 256,
    TAG = 1,
    PATIENCE = 512, /* times that nothing came, before the other process may have the core */
    MAX_ROUNDS = 1 << 20,
};

/* A case is done when it has its samples, or when its time is over and it has one. */
static const struct plan {
    double block_sec, case_sec;
    int samples, step;
} full = {0.002, 1.0, 21, 2}, quick = {0.0005, 0.2, 5, 8};

/* One process's end. Messages go from the lower half of the buffer into the upper one. */
static struct end {
    int me;
    bool asleep;
    const struct plan *plan;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    fi_addr_t peer;
    struct fid_mr *mr;
    void *descriptor; /* of the buffer, where the provider wants one */
    char *buffer;
    struct fi_context2 send, receive; /* libfabric's until the completion */
    bool sent, received;
} end;

/* The last word of a process that cannot go on. */
static void check(const char *call, ssize_t result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "fi_ping: %s: %s\n", call, fi_strerror((int)-result));
    exit(1);
}

static void check_system(const char *call, ssize_t result)
{
    check(call, result < 0 ? -errno : 0);
}

/* ---- the endpoint ---- */

static struct fi_info *find_provider(const char *provider)
{
    struct fi_info *hints = fi_allocinfo(), *found;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = end.asleep ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = provider == NULL ? NULL : strdup(provider);
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &found));
    fi_freeinfo(hints);
    return found;
}

/* Both send theirs first: it fits into the socket. */
static void swap_addresses(int link)
{
    struct {
        size_t bytes;
        char address[ADDRESS_BYTES];
    } mine = {.bytes = sizeof mine.address}, theirs;
    check("fi_getname", fi_getname(&end.ep->fid, mine.address, &mine.bytes));
    check_system("send", send(link, &mine, sizeof mine, 0));
    check_system("recv", recv(link, &theirs, sizeof theirs, MSG_WAITALL));
    if (fi_av_insert(end.av, theirs.address, 1, &end.peer, 0, NULL) != 1)
        check("fi_av_insert", -FI_EADDRNOTAVAIL);
}

static void register_buffer(void)
{
    end.buffer = bench_memory(2 * MAX_BYTES);
    if ((end.info->domain_attr->mr_mode & FI_MR_LOCAL) == 0)
        return;
    check("fi_mr_reg", fi_mr_reg(end.domain, end.buffer, 2 * MAX_BYTES, FI_SEND | FI_RECV, 0, 0, 0,
                                 &end.mr, NULL));
    end.descriptor = fi_mr_desc(end.mr);
}

static void open_end(const char *provider, int link)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT,
                            .wait_obj = end.asleep ? FI_WAIT_UNSPEC : FI_WAIT_NONE};
    struct fi_av_attr av = {.type = FI_AV_MAP};
    end.info = find_provider(provider);
    check("fi_fabric", fi_fabric(end.info->fabric_attr, &end.fabric, NULL));
    check("fi_domain", fi_domain(end.fabric, end.info, &end.domain, NULL));
    check("fi_cq_open", fi_cq_open(end.domain, &cq, &end.cq, NULL));
    check("fi_av_open", fi_av_open(end.domain, &av, &end.av, NULL));
    check("fi_endpoint", fi_endpoint(end.domain, end.info, &end.ep, NULL));
    check("fi_ep_bind", fi_ep_bind(end.ep, &end.cq->fid, FI_TRANSMIT | FI_RECV));
    check("fi_ep_bind", fi_ep_bind(end.ep, &end.av->fid, 0));
    check("fi_enable", fi_enable(end.ep));
    register_buffer();
    swap_addresses(link);
}

static void close_end(void)
{
    fi_close(&end.ep->fid);
    if (end.mr != NULL)
        fi_close(&end.mr->fid);
    fi_close(&end.av->fid);
    fi_close(&end.cq->fid);
    fi_close(&end.domain->fid);
    fi_close(&end.fabric->fid);
    fi_freeinfo(end.info);
    free(end.buffer);
}

/* ---- messages ---- */

/* Reads completions until `*done`, or once if there is nothing to wait for. */
static void progress(const bool *done)
{
    unsigned idle = 0;
    do {
        struct fi_cq_entry entries[4];
        ssize_t count = end.asleep && done != NULL ? fi_cq_sread(end.cq, entries, 4, NULL, -1)
                                                   : fi_cq_read(end.cq, entries, 4);
        if (count == -FI_EAVAIL) {
            struct fi_cq_err_entry error = {0};
            fi_cq_readerr(end.cq, &error, 0);
            check("a message", -error.err);
        } else if (count != -FI_EAGAIN) {
            check("fi_cq_read", count);
        } else if (++idle % PATIENCE == 0) {
            sched_yield();
        }
        for (ssize_t i = 0; i < count; i++)
            *(entries[i].op_context == &end.send ? &end.sent : &end.received) = true;
    } while (done != NULL && !*done);
}

static void start_send(size_t bytes)
{
    ssize_t result;
    end.sent = bytes <= end.info->tx_attr->inject_size;
    for (;;) {
        result = end.sent ? fi_tinject(end.ep, end.buffer, bytes, end.peer, TAG)
                          : fi_tsend(end.ep, end.buffer, bytes, end.descriptor, end.peer, TAG,
                                     &end.send);
        if (result != -FI_EAGAIN)
            break;
        progress(NULL);
    }
    check("sending", result);
}

static void start_receive(size_t bytes)
{
    ssize_t result;
    end.received = false;
    while ((result = fi_trecv(end.ep, end.buffer + MAX_BYTES, bytes, end.descriptor, FI_ADDR_UNSPEC,
                              TAG, 0, &end.receive)) == -FI_EAGAIN)
        progress(NULL);
    check("receiving", result);
}

static void wait_for(const bool *done)
{
    if (!*done)
        progress(done);
}

static void send_number(double number)
{
    memcpy(end.buffer, &number, sizeof number);
    start_send(sizeof number);
    wait_for(&end.sent);
}

static double receive_number(void)
{
    double number;
    start_receive(sizeof number);
    wait_for(&end.received);
    memcpy(&number, end.buffer + MAX_BYTES, sizeof number);
    return number;
}

static double ping_pong(size_t bytes, int rounds)
{
    double begin = bench_now();
    for (int i = 0; i < rounds; i++) {
        if (end.me == 0)
            start_send(bytes);
        start_receive(bytes);
        wait_for(&end.received);
        if (end.me == 1)
            start_send(bytes);
        wait_for(&end.sent);
    }
    return bench_now() - begin;
}

/* ---- blocks, as in measure.c: process 0 leads, no rounds are the end ---- */

static double lead_block(size_t bytes, int rounds)
{
    send_number(rounds);
    double mine = ping_pong(bytes, rounds), theirs = receive_number();
    return mine > theirs ? mine : theirs;
}

static int find_rounds(size_t bytes)
{
    int rounds = 1;
    for (;;) {
        double sec = lead_block(bytes, rounds);
        if (sec >= end.plan->block_sec || rounds >= MAX_ROUNDS)
            return rounds;
        double factor = 1.2 * end.plan->block_sec / sec;
        rounds = factor > 8 ? rounds * 8 : (int)(rounds * factor) + 1;
    }
}

static void measure(size_t bytes)
{
    if (end.me == 1) {
        for (int rounds; (rounds = (int)receive_number()) > 0;)
            send_number(ping_pong(bytes, rounds));
        return;
    }
    bench_samples_t samples = {.count = 0};
    double begin = bench_now();
    int rounds = find_rounds(bytes);
    do
        bench_add_sample(&samples, lead_block(bytes, rounds));
    while (samples.count < end.plan->samples && bench_now() - begin < end.plan->case_sec);
    send_number(0);
    bench_print("latency", (long)bytes, BENCH_USEC, 2.0 * rounds, &samples);
}

/* Nobody closes while the other one may still need something of it. What was injected may not have
 * left: the provider works in our calls. */
static void say_goodbye(int link)
{
    char goodbye = 0;
    ssize_t result;
    check_system("send", send(link, &goodbye, 1, MSG_NOSIGNAL));
    while ((result = recv(link, &goodbye, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
        progress(NULL);
    check_system("recv", result);
}

/* A core of its own, where there are two: the n-th of those that we may use. */
static void bind_core(int number)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
        return;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &all) && number-- == 0)
            CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    const char *provider = NULL;
    int links[2], status = 0;
    end.plan = &full;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            end.plan = &quick;
        else if (strcmp(argv[i], "--wait") == 0)
            end.asleep = true;
        else
            provider = argv[i];
    }
    check_system("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, links));
    pid_t child = fork();
    check_system("fork", child);
    end.me = child == 0;
    close(links[!end.me]); /* so that the end of the other is seen */
    bind_core(end.me);
    open_end(provider, links[end.me]);
    for (size_t bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= (size_t)end.plan->step)
        measure(bytes);
    say_goodbye(links[end.me]);
    close_end();
    if (end.me == 0)
        check_system("waitpid", waitpid(child, &status, 0));
    return status != 0;
}
