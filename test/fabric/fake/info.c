/* SPDX-License-Identifier: BSD-3-Clause */
/* What the provider says of itself, and how its fabric, domain and addresses are opened. */
#include <rdma/providers/fi_prov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define CAPS (FI_TAGGED | FI_SEND | FI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM)

static struct fi_provider provider;

static uint64_t all_caps(void)
{
    return CAPS | (fake.directed ? FI_DIRECTED_RECV : 0);
}

static uint64_t wanted_mode(void)
{
    return fake.context == 0 ? 0 : fake.context == 1 ? FI_CONTEXT : FI_CONTEXT2;
}

static int wanted_mr_mode(void)
{
    return (fake.mr_local ? FI_MR_LOCAL : 0) | (fake.mr_endpoint ? FI_MR_ENDPOINT : 0);
}

/* Whether the hints can be met. */
static bool serves_domain(const struct fi_domain_attr *attr)
{
    if (attr == NULL)
        return true;
    if (attr->threading != FI_THREAD_UNSPEC && attr->threading != FI_THREAD_DOMAIN &&
        !fake.thread_safe)
        return false;
    if (attr->data_progress == FI_PROGRESS_AUTO || attr->cq_data_size > fake.cq_data)
        return false;
    return (wanted_mr_mode() & ~attr->mr_mode) == 0;
}

static bool serves(const struct fi_info *hints)
{
    if (hints == NULL)
        return wanted_mode() == 0;
    if ((hints->caps & ~all_caps()) != 0 || (wanted_mode() & ~hints->mode) != 0)
        return false;
    if (hints->ep_attr != NULL && hints->ep_attr->type != FI_EP_UNSPEC &&
        hints->ep_attr->type != FI_EP_RDM)
        return false;
    if (hints->ep_attr != NULL && hints->ep_attr->max_msg_size > fake.max_msg)
        return false;
    if (hints->tx_attr != NULL &&
        (hints->tx_attr->inject_size > fake.inject || hints->tx_attr->iov_limit > fake.iov ||
         (hints->tx_attr->msg_order & ~FI_ORDER_SAS) != 0 ||
         (hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0))
        return false;
    return serves_domain(hints->domain_attr);
}

static struct fi_info *make_info(const struct fi_info *hints, unsigned number)
{
    struct fi_info *info = fi_allocinfo();
    char name[16];
    if (info == NULL)
        return NULL;
    info->caps = hints != NULL && hints->caps != 0 ? hints->caps | (CAPS & ~FI_SOURCE) : all_caps();
    info->mode = wanted_mode();
    info->addr_format = FI_ADDR_STR;
    *info->tx_attr =
        (struct fi_tx_attr){.caps = info->caps & ~(FI_RECV | FI_DIRECTED_RECV | FI_SOURCE),
                            .mode = info->mode,
                            .msg_order = FI_ORDER_SAS,
                            .inject_size = fake.inject,
                            .size = fake.tx_size,
                            .iov_limit = fake.iov};
    *info->rx_attr = (struct fi_rx_attr){.caps = info->caps & ~FI_SEND,
                                         .mode = info->mode,
                                         .msg_order = FI_ORDER_SAS,
                                         .size = fake.rx_size,
                                         .iov_limit = fake.iov};
    if (hints != NULL && hints->tx_attr != NULL)
        info->tx_attr->op_flags = hints->tx_attr->op_flags;
    if (hints != NULL && hints->rx_attr != NULL)
        info->rx_attr->op_flags = hints->rx_attr->op_flags;
    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->protocol = 0xfa4e;
    info->ep_attr->protocol_version = 1;
    info->ep_attr->max_msg_size = fake.max_msg;
    info->ep_attr->mem_tag_format = fake.tag_format;
    info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
    struct fi_domain_attr *domain = info->domain_attr;
    snprintf(name, sizeof name, "fake%u", number);
    domain->name = strdup(name);
    domain->threading = fake.thread_safe ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    domain->control_progress = domain->data_progress = FI_PROGRESS_MANUAL;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = FI_AV_MAP;
    domain->mr_mode = wanted_mr_mode();
    domain->mr_key_size = 8;
    domain->cq_data_size = fake.cq_data;
    domain->cq_cnt = domain->ep_cnt = domain->tx_ctx_cnt = domain->rx_ctx_cnt = 64;
    domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = 1;
    domain->mr_iov_limit = 1;
    domain->mr_cnt = 65536;
    domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
    info->fabric_attr->name = strdup("fake");
    info->fabric_attr->prov_version = FI_VERSION(1, (uint32_t)fake.version);
    return info;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info)
{
    (void)version, (void)node, (void)service, (void)flags;
    fake_read_settings();
    int error = fake_call_error(FAKE_GETINFO);
    if (error != 0 || !serves(hints))
        return error != 0 ? error : -FI_ENODATA;
    const char *domain =
        hints != NULL && hints->domain_attr != NULL ? hints->domain_attr->name : NULL;
    struct fi_info **last = info;
    *info = NULL;
    for (unsigned i = 0; i < fake.infos; i++) {
        struct fi_info *one = make_info(hints, i);
        if (one == NULL)
            return -FI_ENOMEM;
        if (domain != NULL && strcmp(domain, one->domain_attr->name) != 0) {
            fi_freeinfo(one);
            continue;
        }
        *last = one;
        last = &one->next;
    }
    return *info != NULL ? 0 : -FI_ENODATA;
}

/* ---- addresses: fi_addr_t is no index, so that nobody takes it for one ---- */

static fi_addr_t address_of(size_t index)
{
    return 0x100 + 3 * index;
}

const struct sockaddr_un *fake_av_peer(const fake_av_t *av, fi_addr_t address)
{
    size_t index = (address - 0x100) / 3;
    return index < av->count && address == address_of(index) ? &av->peers[index] : NULL;
}

fi_addr_t fake_av_find(const fake_av_t *av, const struct sockaddr_un *peer)
{
    for (size_t i = 0; i < av->count; i++) {
        if (memcmp(av->peers[i].sun_path, peer->sun_path, FAKE_ADDRESS_BYTES) == 0)
            return address_of(i);
    }
    return FI_ADDR_NOTAVAIL;
}

static int av_insert_one(fake_av_t *self, const char *address, fi_addr_t *result)
{
    struct sockaddr_un peer = {.sun_family = AF_UNIX};
    memcpy(peer.sun_path + 1, address, FAKE_ADDRESS_BYTES - 1);
    void *more = realloc(self->peers, (self->count + 1) * sizeof *self->peers);
    if (more == NULL)
        return -FI_ENOMEM;
    self->peers = more;
    self->peers[self->count] = peer;
    *result = address_of(self->count++);
    return 0;
}

/* A failure without a named error is told as some providers do: fewer were inserted. */
static int av_insert(struct fid_av *av, const void *addresses, size_t count, fi_addr_t *results,
                     uint64_t flags, void *context)
{
    (void)flags, (void)context;
    int done = 0;
    fake_enter();
    for (size_t i = 0; i < count; i++) {
        int error = fake_call_error(FAKE_AV_INSERT);
        if (error == 0)
            error = av_insert_one((fake_av_t *)av, (const char *)addresses + i * fake.address_bytes,
                                  &results[i]);
        if (error == 0)
            done++;
        else
            results[i] = FI_ADDR_NOTAVAIL;
        if (error != 0 && error != -FI_EIO)
            done = error;
    }
    fake_leave();
    return done;
}

static int av_remove(struct fid_av *av, fi_addr_t *addresses, size_t count, uint64_t flags)
{
    (void)av, (void)addresses, (void)count, (void)flags;
    return 0;
}

static int av_lookup(struct fid_av *av, fi_addr_t address, void *bytes, size_t *length)
{
    const struct sockaddr_un *peer = fake_av_peer((fake_av_t *)av, address);
    if (peer == NULL)
        return -FI_EINVAL;
    memset(bytes, 0, *length);
    memcpy(bytes, peer->sun_path + 1,
           *length < FAKE_ADDRESS_BYTES - 1 ? *length : FAKE_ADDRESS_BYTES - 1);
    *length = fake.address_bytes;
    return 0;
}

static const char *av_straddr(struct fid_av *av, const void *address, char *text, size_t *length)
{
    (void)av;
    int needed = snprintf(text, *length, "fake://%s", (const char *)address);
    *length = (size_t)needed + 1;
    return text;
}

static int av_close(struct fid *fid)
{
    fake_av_t *self = container_of(fid, fake_av_t, fid.fid);
    self->domain->children--;
    fake_open_objects--;
    free(self->peers);
    free(self);
    return fake_call_error(FAKE_CLOSE);
}

static struct fi_ops av_fid_ops = {.size = sizeof av_fid_ops, .close = av_close};
static struct fi_ops_av av_ops = {.size = sizeof av_ops,
                                  .insert = av_insert,
                                  .remove = av_remove,
                                  .lookup = av_lookup,
                                  .straddr = av_straddr};

int fake_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                 void *context)
{
    int error = fake_call_error(FAKE_AV_OPEN);
    if (error != 0)
        return error;
    fake_av_t *self = calloc(1, sizeof *self);
    self->fid.fid = (struct fid){FI_CLASS_AV, context, &av_fid_ops};
    self->fid.ops = &av_ops;
    self->domain = (fake_domain_t *)domain;
    self->domain->children++;
    fake_open_objects++;
    attr->type = FI_AV_MAP;
    *av = &self->fid;
    return 0;
}

/* ---- domain and fabric ---- */

static int domain_close(struct fid *fid)
{
    fake_domain_t *self = container_of(fid, fake_domain_t, fid.fid);
    if (self->children > 0)
        return -FI_EBUSY;
    self->fabric->children--;
    fake_open_objects--;
    free(self);
    return fake_call_error(FAKE_CLOSE);
}

static int no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    (void)fid, (void)name, (void)flags, (void)ops, (void)context;
    return -FI_ENOSYS;
}

static int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)fid, (void)other, (void)flags;
    return -FI_ENOSYS;
}

static int no_control(struct fid *fid, int command, void *argument)
{
    (void)fid, (void)command, (void)argument;
    return -FI_ENOSYS;
}

static struct fi_ops domain_fid_ops = {.size = sizeof domain_fid_ops,
                                       .close = domain_close,
                                       .bind = no_bind,
                                       .control = no_control,
                                       .ops_open = no_ops};
static struct fi_ops_domain domain_ops = {.size = sizeof domain_ops,
                                          .av_open = fake_av_open,
                                          .cq_open = fake_cq_open,
                                          .endpoint = fake_endpoint_open};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    int error = fake_call_error(FAKE_DOMAIN);
    if (error != 0)
        return error;
    if ((wanted_mr_mode() & ~info->domain_attr->mr_mode) != 0)
        return -FI_EINVAL;
    fake_domain_t *self = calloc(1, sizeof *self);
    self->fid.fid = (struct fid){FI_CLASS_DOMAIN, context, &domain_fid_ops};
    self->fid.ops = &domain_ops;
    self->fid.mr = &fake_mr_ops;
    self->fabric = (fake_fabric_t *)fabric;
    self->fabric->children++;
    fake_open_objects++;
    *domain = &self->fid;
    return 0;
}

static int fabric_close(struct fid *fid)
{
    fake_fabric_t *self = container_of(fid, fake_fabric_t, fid.fid);
    if (self->children > 0)
        return -FI_EBUSY;
    fake_open_objects--;
    free(self);
    return fake_call_error(FAKE_CLOSE);
}

static struct fi_ops fabric_fid_ops = {.size = sizeof fabric_fid_ops,
                                       .close = fabric_close,
                                       .bind = no_bind,
                                       .control = no_control,
                                       .ops_open = no_ops};
static struct fi_ops_fabric fabric_ops = {
    .size = sizeof fabric_ops, .domain = domain_open, .trywait = fake_trywait};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    int error = fake_call_error(FAKE_FABRIC);
    if (error != 0)
        return error;
    fake_fabric_t *self = calloc(1, sizeof *self);
    self->fid.fid = (struct fid){FI_CLASS_FABRIC, context, &fabric_fid_ops};
    self->fid.ops = &fabric_ops;
    self->fid.api_version = attr->api_version;
    fake_open_objects++;
    *fabric = &self->fid;
    return 0;
}

static void cleanup(void)
{
    if (fake.leaks && fake_open_objects > 0)
        fprintf(stderr, "fake: %d objects are open at the end\n", fake_open_objects);
}

static struct fi_provider provider = {.version = FI_VERSION(1, 0),
                                      .fi_version = FI_VERSION(1, 17),
                                      .name = "fake",
                                      .getinfo = getinfo,
                                      .fabric = fabric_open,
                                      .cleanup = cleanup};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
    return &provider;
}
