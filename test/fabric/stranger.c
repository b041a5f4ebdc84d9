/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is of no job and sends to the endpoint of a rank, with all that it can know of how
 * ranks of ofi_tag_full do that: messages as another rank, and as ranks that there are not, control
 * messages that name what there is not, answers, parts, nothing, too much, and noise.
 *
 *   stranger PROVIDER PORT [WORD]     a word in hex that it lays over every tag: what it has heard
 */
#include <inttypes.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG = 7,
    ROUNDS = 30,
    LONGEST = 5000,
    CONTROL = 40,
    SHORTER_CONTROL = 32,
    KINDS = 6, /* of control messages, and one that there is not */
};

/* Of ofi_tag_full. */
#define KIND(kind) ((uint64_t)(kind) << 32)
#define AREA       (UINT64_C(1) << 31)

static struct fid_ep *ep;
static struct fid_cq *cq;
static fi_addr_t victim;
static uint64_t word;
static unsigned char bytes[LONGEST];

static void need(const char *what, ssize_t result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "stranger: %s: %s\n", what, fi_strerror((int)-result));
    exit(1);
}

static void open_endpoint(const char *provider, const char *port)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->cq_data_size = 8;
    hints->fabric_attr->prov_name = strdup(provider);
    need("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), "127.0.0.1", port, 0, hints, &info));
    need("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    need("fi_domain", fi_domain(fabric, info, &domain, NULL));
    need("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
    need("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
    need("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
    need("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
    need("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    need("fi_enable", fi_enable(ep));
    need("fi_av_insert", fi_av_insert(av, info->dest_addr, 1, &victim, 0, NULL) == 1 ? 0 : -FI_EIO);
    fi_freeinfo(hints);
    fi_freeinfo(info);
}

/* Returns when the victim's provider has it. */
static void deliver(uint64_t bits, const uint64_t *data, size_t length)
{
    static struct fi_context2 context;
    struct iovec part = {bytes, length};
    struct fi_msg_tagged message = {
        .msg_iov = &part,
        .iov_count = 1,
        .addr = victim,
        .tag = bits ^ word,
        .context = &context,
        .data = data != NULL ? *data : 0,
    };
    uint64_t flags = FI_COMPLETION | FI_TRANSMIT_COMPLETE | (data != NULL ? FI_REMOTE_CQ_DATA : 0);
    struct fi_cq_tagged_entry entry;
    ssize_t result;
    while ((result = fi_tsendmsg(ep, &message, flags)) == -FI_EAGAIN)
        (void)fi_cq_read(cq, NULL, 0);
    need("fi_tsendmsg", result);
    while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        continue;
    if (result == -FI_EAVAIL) { /* it may be refused */
        struct fi_cq_err_entry error = {0};
        (void)fi_cq_readerr(cq, &error, 0);
    }
}

static void put(size_t at, uint64_t value, size_t length)
{
    memcpy(bytes + at, &value, length);
}

/* Ranks that there are, and not. */
static const uint64_t ranks[] = {0, 1, 2, 262143, UINT32_MAX, (uint64_t)INT32_MAX};
enum { RANKS = sizeof ranks / sizeof ranks[0] };

static void forge_messages(void)
{
    memset(bytes, 'F', sizeof bytes);
    for (size_t i = 0; i < RANKS; i++) {
        for (unsigned kind = 0; kind < 4; kind++) {
            deliver(KIND(kind) | TAG, &ranks[i], 8);
            deliver(KIND(kind) | TAG | AREA, &ranks[i], 8);
            deliver(KIND(kind) | TAG, &ranks[i], LONGEST);
            deliver(KIND(kind) | TAG, NULL, 8);
        }
    }
}

/* | kind 4 | process 4 | name 8 | bits 8 | number 4 | rank 4 | */
static void forge_control(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < RANKS; i++) {
            memset(bytes, 0x33, sizeof bytes);
            put(0, kind, 4);
            put(4, ranks[i], 4);
            put(24, 0, 4);
            deliver(KIND(2) | AREA, NULL, SHORTER_CONTROL);
            deliver(KIND(2) | AREA, NULL, CONTROL);
            deliver(KIND(2) | AREA, &ranks[i], LONGEST);
        }
    }
    deliver(KIND(2) | AREA, NULL, 0);
}

static void make_noise(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t bits = (uint64_t)rand() << 32 ^ (uint64_t)rand() << 8, data = (uint64_t)rand();
        for (int at = 0; at < LONGEST; at++)
            bytes[at] = (unsigned char)rand();
        deliver(bits, &data, (size_t)(rand() % LONGEST));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    word = argc > 3 ? strtoull(argv[3], NULL, 16) : 0;
    srand(17);
    open_endpoint(argv[1], argv[2]);
    forge_messages();
    forge_control();
    if (word == 0)
        make_noise();
    return 0;
}
