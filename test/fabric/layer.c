/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layer in front of a provider's one-sided operations, preloaded into a process. The environment
 * says what it does to them:
 *
 *   LAYER_LOSES=N    of every n-th atomic operation of several elements, the last one is not done
 *   LAYER_AGAIN=N    every n-th call has no room: -FI_EAGAIN
 *   LAYER_LOCAL=1    memory here must be registered (FI_MR_LOCAL): an operation without a
 * descriptor ends the process with status 99
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REFUSED = 99 };

static struct fi_ops_fabric fabric_ops;
static struct fi_ops_domain domain_ops;
static struct fi_ops_rma rma_ops;
static struct fi_ops_atomic atomic_ops;
static const struct fi_ops_fabric *inner_fabric;
static const struct fi_ops_domain *inner_domain;
static const struct fi_ops_rma *inner_rma;
static const struct fi_ops_atomic *inner_atomic;

static unsigned setting(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? (unsigned)atoi(value) : 0;
}

static bool is_nth(const char *name, unsigned *count)
{
    unsigned n = setting(name);
    return n > 0 && ++*count % n == 0;
}

static bool has_no_room(void)
{
    static unsigned calls;
    return is_nth("LAYER_AGAIN", &calls);
}

static void check_descriptor(bool is_there)
{
    if (setting("LAYER_LOCAL") == 0 || is_there)
        return;
    fprintf(stderr, "layer: an operation on memory that is not registered\n");
    _exit(REFUSED);
}

/* -- reads and writes -- */

static ssize_t write_message(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags)
{
    check_descriptor(message->desc != NULL && message->desc[0] != NULL);
    return has_no_room() ? -FI_EAGAIN : inner_rma->writemsg(ep, message, flags);
}

static ssize_t read_bytes(struct fid_ep *ep, void *buffer, size_t bytes, void *descriptor,
                          fi_addr_t from, uint64_t address, uint64_t key, void *context)
{
    check_descriptor(descriptor != NULL);
    return has_no_room()
               ? -FI_EAGAIN
               : inner_rma->read(ep, buffer, bytes, descriptor, from, address, key, context);
}

/* -- atomics -- */

/* Shortens every n-th message of several elements. */
static struct fi_msg_atomic lose(const struct fi_msg_atomic *message, struct fi_ioc *here,
                                 struct fi_rma_ioc *there)
{
    static unsigned operations;
    struct fi_msg_atomic shorter = *message;
    *here = message->msg_iov[0];
    *there = message->rma_iov[0];
    bool loses = here->count > 1 && is_nth("LAYER_LOSES", &operations);
    here->count -= loses;
    there->count -= loses;
    shorter.msg_iov = here;
    shorter.rma_iov = there;
    return shorter;
}

static ssize_t atomic_message(struct fid_ep *ep, const struct fi_msg_atomic *message,
                              uint64_t flags)
{
    struct fi_ioc here;
    struct fi_rma_ioc there;
    check_descriptor(message->desc != NULL && message->desc[0] != NULL);
    if (has_no_room())
        return -FI_EAGAIN;
    struct fi_msg_atomic passed = lose(message, &here, &there);
    return inner_atomic->writemsg(ep, &passed, flags);
}

static ssize_t fetch_message(struct fid_ep *ep, const struct fi_msg_atomic *message,
                             struct fi_ioc *results, void **descriptors, size_t count,
                             uint64_t flags)
{
    struct fi_ioc here, result = results[0];
    struct fi_rma_ioc there;
    check_descriptor(message->desc != NULL && message->desc[0] != NULL && descriptors[0] != NULL);
    if (has_no_room())
        return -FI_EAGAIN;
    struct fi_msg_atomic passed = lose(message, &here, &there);
    result.count = here.count;
    return inner_atomic->readwritemsg(ep, &passed, &result, descriptors, count, flags);
}

/* -- what opens what -- */

static struct fi_info *without_demands(struct fi_info *info)
{
    struct fi_info *copy = fi_dupinfo(info);
    copy->domain_attr->mr_mode &= ~FI_MR_LOCAL;
    return copy;
}

static int open_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                         void *context)
{
    struct fi_info *inner = without_demands(info);
    int result = inner_domain->endpoint(domain, inner, ep, context);
    fi_freeinfo(inner);
    if (result != 0 || (info->caps & FI_RMA) == 0 || (info->caps & FI_TAGGED) != 0)
        return result;
    inner_rma = (*ep)->rma;
    rma_ops = *inner_rma;
    rma_ops.writemsg = write_message;
    rma_ops.read = read_bytes;
    (*ep)->rma = &rma_ops;
    if ((*ep)->atomic == NULL)
        return 0;
    inner_atomic = (*ep)->atomic;
    atomic_ops = *inner_atomic;
    atomic_ops.writemsg = atomic_message;
    atomic_ops.readwritemsg = fetch_message;
    (*ep)->atomic = &atomic_ops;
    return 0;
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    struct fi_info *inner = without_demands(info);
    int result = inner_fabric->domain(fabric, inner, domain, context);
    fi_freeinfo(inner);
    if (result != 0)
        return result;
    inner_domain = (*domain)->ops;
    domain_ops = *inner_domain;
    domain_ops.endpoint = open_endpoint;
    (*domain)->ops = &domain_ops;
    return 0;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    static int (*inner)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    static unsigned depth; /* a provider of layers opens another one */
    *(void **)&inner = dlsym(RTLD_NEXT, "fi_fabric");
    depth++;
    int result = inner(attr, fabric, context);
    if (--depth > 0 || result != 0)
        return result;
    inner_fabric = (*fabric)->ops;
    fabric_ops = *inner_fabric;
    fabric_ops.domain = open_domain;
    (*fabric)->ops = &fabric_ops;
    return 0;
}

EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                      const struct fi_info *hints, struct fi_info **list)
{
    static int (*inner)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                        struct fi_info **);
    *(void **)&inner = dlsym(RTLD_NEXT, "fi_getinfo");
    int result = inner(version, node, service, flags, hints, list);
    bool is_asked = hints != NULL && (hints->caps & FI_RMA) != 0;
    for (struct fi_info *info = result == 0 && is_asked ? *list : NULL; info != NULL;
         info = info->next)
        info->domain_attr->mr_mode |= setting("LAYER_LOCAL") > 0 ? FI_MR_LOCAL : 0;
    return result;
}
