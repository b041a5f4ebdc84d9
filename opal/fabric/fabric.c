/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared domain, and endpoints. See fabric.h. */
#include "opal/fabric/fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/fabric/monitor.h"
#include "opal/fabric/candidates.h"
#include "opal/fabric/select.h"
#include "opal/process/job.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

/* In endpoint->addresses: the process cannot be reached. */
#define ADDRESS_UNREACHABLE (FI_ADDR_NOTAVAIL - 1)

/* The domain, open while there are endpoints. */
static struct {
    unsigned endpoints;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    uint64_t last_key; /* of a registration, where the provider chooses none */
} shared;

static bool failed(const opal_fabric_endpoint_t *endpoint, const char *call, int result)
{
    if (result != 0)
        opal_log_error("%s: the provider %s failed in %s: %s", endpoint->user->name,
                       endpoint->info->fabric_attr->prov_name, call, fi_strerror(-result));
    return result != 0;
}

static void close_object(const char *provider, struct fid *object)
{
    int result = object != NULL ? fi_close(object) : 0;
    if (result != 0)
        opal_log_warning("libfabric: fi_close of the provider %s: %s", provider,
                         fi_strerror(-result));
}

/* -- the domain ---------------------------------------------------------------------------------
 */

static bool open_domain(const opal_fabric_endpoint_t *endpoint)
{
    struct fi_av_attr av = {
        .type = endpoint->info->domain_attr->av_type,
        .count = opal_job()->size,
    };
    shared.info = opal_fabric_ask_for_domain(endpoint->info);
    if (failed(endpoint, "fi_dupinfo", shared.info == NULL ? -FI_ENOMEM : 0))
        return false;
    opal_fabric_monitor_import();
    return !failed(endpoint, "fi_fabric",
                   fi_fabric(shared.info->fabric_attr, &shared.fabric, NULL)) &&
           !failed(endpoint, "fi_domain",
                   fi_domain(shared.fabric, shared.info, &shared.domain, NULL)) &&
           !failed(endpoint, "fi_av_open", fi_av_open(shared.domain, &av, &shared.av, NULL));
}

static bool is_open_domain(const struct fi_info *info)
{
    return opal_fabric_same_text(info->fabric_attr->prov_name,
                                 shared.info->fabric_attr->prov_name) &&
           opal_fabric_same_text(info->domain_attr->name, shared.info->domain_attr->name);
}

static bool hold_domain(const opal_fabric_endpoint_t *endpoint)
{
    if (shared.endpoints++ == 0)
        return open_domain(endpoint);
    if (is_open_domain(endpoint->info))
        return true;
    opal_log_error(
        "%s: this process has a domain of the provider %s open, and no other can be used",
        endpoint->user->name, shared.info->fabric_attr->prov_name);
    return false;
}

static void release_domain(void)
{
    if (--shared.endpoints > 0)
        return;
    const char *provider = shared.info != NULL ? shared.info->fabric_attr->prov_name : NULL;
    /* An object is closed before the objects that it uses. */
    close_object(provider, shared.av != NULL ? &shared.av->fid : NULL);
    close_object(provider, shared.domain != NULL ? &shared.domain->fid : NULL);
    close_object(provider, shared.fabric != NULL ? &shared.fabric->fid : NULL);
    opal_fabric_monitor_withdraw();
    fi_freeinfo(shared.info);
    memset(&shared, 0, sizeof shared);
}

const struct fi_info *opal_fabric_info(void)
{
    return shared.info;
}

/* -- endpoints ----------------------------------------------------------------------------------
 */

/* With `with_fd` the queue has a descriptor for sleeping, if the provider can do that. With ofi_rxm
 * a descriptor costs a fifth of a message's time, even if no thread sleeps. */
static int open_queue(opal_fabric_endpoint_t *endpoint, size_t depth, bool with_fd)
{
    struct fi_cq_attr attr = {
        .size = depth,
        .format = FI_CQ_FORMAT_TAGGED,
        .wait_obj = FI_WAIT_FD,
    };
    if (with_fd && fi_cq_open(shared.domain, &attr, &endpoint->cq, NULL) == 0) {
        if (fi_control(&endpoint->cq->fid, FI_GETWAIT, &endpoint->wait_fd) == 0)
            return 0;
        endpoint->wait_fd = -1;
        fi_close(&endpoint->cq->fid);
        endpoint->cq = NULL; /* also if opening the next one fails */
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(shared.domain, &attr, &endpoint->cq, NULL);
}

static bool open_objects(opal_fabric_endpoint_t *endpoint, size_t depth, bool with_fd)
{
    return !failed(endpoint, "fi_cq_open", open_queue(endpoint, depth, with_fd)) &&
           !failed(endpoint, "fi_endpoint",
                   fi_endpoint(shared.domain, endpoint->info, &endpoint->ep, NULL)) &&
           !failed(endpoint, "fi_ep_bind", fi_ep_bind(endpoint->ep, &shared.av->fid, 0)) &&
           !failed(endpoint, "fi_ep_bind",
                   fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_RECV)) &&
           !failed(endpoint, "fi_enable", fi_enable(endpoint->ep));
}

opal_status_t opal_fabric_endpoint_open(opal_fabric_endpoint_t *endpoint,
                                        const opal_fabric_user_t *user, struct fi_info *info,
                                        size_t depth, bool sleeps_on_fd)
{
    *endpoint = (opal_fabric_endpoint_t){.user = user, .info = info, .wait_fd = -1};
    opal_fabric_quirks_begin(info, &endpoint->quirks);
    bool is_open = hold_domain(endpoint) &&
                   open_objects(endpoint, depth, sleeps_on_fd && !endpoint->quirks.needs_polling);
    opal_fabric_quirks_end();
    if (is_open)
        return OPAL_SUCCESS;
    opal_fabric_endpoint_close(endpoint);
    return OPAL_ERR_SYSTEM;
}

void opal_fabric_endpoint_close(opal_fabric_endpoint_t *endpoint)
{
    if (endpoint->user == NULL)
        return;
    const char *provider = endpoint->info->fabric_attr->prov_name;
    close_object(provider, endpoint->ep != NULL ? &endpoint->ep->fid : NULL);
    close_object(provider, endpoint->cq != NULL ? &endpoint->cq->fid : NULL);
    release_domain();
    if (endpoint->user->kind < OPAL_MODEX_KINDS)
        opal_modex_forget(endpoint->user->kind);
    free(endpoint->addresses);
    *endpoint = (opal_fabric_endpoint_t){.wait_fd = -1};
}

bool opal_fabric_endpoint_may_sleep(const opal_fabric_endpoint_t *endpoint)
{
    struct fid *queue = &endpoint->cq->fid;
    return fi_trywait(shared.fabric, &queue, 1) == 0;
}

/* -- records ------------------------------------------------------------------------------------
 */

static void find_host(char *host, size_t bytes)
{
    if (gethostname(host, bytes - 1) != 0)
        snprintf(host, bytes, "localhost");
    host[bytes - 1] = 0;
    host[strcspn(host, ".")] = 0;
}

void *opal_fabric_own_address(opal_fabric_endpoint_t *endpoint, size_t *bytes)
{
    *bytes = 0;
    fi_getname(&endpoint->ep->fid, NULL, bytes);
    void *address = opal_xmalloc(*bytes + 1);
    endpoint->address_bytes = *bytes;
    if (!failed(endpoint, "fi_getname", fi_getname(&endpoint->ep->fid, address, bytes)))
        return address;
    free(address);
    return NULL;
}

/* Returns when the records of all ranks are there. */
static opal_status_t exchange_records(const opal_fabric_endpoint_t *endpoint,
                                      const opal_fabric_record_t *mine)
{
    size_t length;
    unsigned char *bytes = opal_fabric_record_encode(mine, &length);
    opal_status_t status = opal_modex_exchange(endpoint->user->kind, bytes, length);
    free(bytes);
    return status;
}

/* The record points into *bytes, for free(). OPAL_ERR_NOT_FOUND: the rank has published none; any
 * other error has been reported. */
static opal_status_t get_record(const opal_fabric_endpoint_t *endpoint, unsigned rank,
                                opal_fabric_record_t *record, void **bytes)
{
    size_t length;
    opal_status_t status = opal_modex_get(endpoint->user->kind, opal_process(rank), bytes, &length);
    if (status != OPAL_SUCCESS || opal_fabric_record_decode(record, *bytes, length))
        return status;
    opal_log_error("%s: the modex record of rank %u cannot be read: it runs another "
                   "version of Mica",
                   endpoint->user->name, rank);
    free(*bytes);
    return OPAL_ERR_PROTOCOL;
}

/* Compares the record of this rank with that of the next one. */
static opal_status_t compare_next(const opal_fabric_endpoint_t *endpoint,
                                  const opal_fabric_record_t *mine)
{
    const opal_pmi_job_t *job = opal_job();
    const opal_fabric_user_t *user = endpoint->user;
    unsigned other = (job->rank + 1) % job->size;
    opal_fabric_record_t others;
    opal_text_t message = {0};
    void *bytes;
    if (other == job->rank)
        return OPAL_SUCCESS;
    opal_status_t status = get_record(endpoint, other, &others, &bytes);
    if (status == OPAL_ERR_NOT_FOUND)
        opal_log_error("%s: rank %u on %s %s and the provider %s, and rank %u (node %u) does not; "
                       "all ranks need the same: %s",
                       user->name, job->rank, mine->host, user->use, mine->provider, other,
                       job->node_of[other], user->remedy);
    if (status != OPAL_SUCCESS)
        return OPAL_ERR_BAD_PARAM;
    bool agree = opal_fabric_records_agree(mine, job->rank, &others, other, user->prefix,
                                           user->compare, &message);
    /* Of two ranks, each is the next of the other: only one reports. */
    if (!agree && (job->size > 2 || job->rank == 0))
        opal_log_error("%s: %s", user->name, opal_text_string(&message));
    opal_text_free(&message);
    free(bytes);
    return agree ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM;
}

opal_status_t opal_fabric_endpoint_publish(opal_fabric_endpoint_t *endpoint, const void *added,
                                           size_t bytes)
{
    const struct fi_info *info = endpoint->info;
    const char *fabric = info->fabric_attr->name;
    char host[64];
    size_t length;
    void *address = opal_fabric_own_address(endpoint, &length);
    if (address == NULL)
        return OPAL_ERR_SYSTEM;
    find_host(host, sizeof host);
    const opal_fabric_record_t mine = {.address_format = info->addr_format,
                                       .version = fi_version(),
                                       .host = host,
                                       .provider = info->fabric_attr->prov_name,
                                       .fabric = fabric != NULL ? fabric : "",
                                       .added = added,
                                       .added_bytes = bytes,
                                       .address = address,
                                       .address_bytes = length};
    opal_status_t status = exchange_records(endpoint, &mine);
    if (status == OPAL_SUCCESS)
        status = compare_next(endpoint, &mine);
    free(address);
    return status;
}

/* -- addresses ----------------------------------------------------------------------------------
 */

/* False: no memory. */
static bool make_room(opal_fabric_endpoint_t *endpoint, unsigned process)
{
    unsigned count = endpoint->address_count;
    if (process < count)
        return true;
    unsigned wanted = process < 2 * count ? 2 * count : process + 1;
    fi_addr_t *grown = realloc(endpoint->addresses, wanted * sizeof *grown);
    if (grown == NULL)
        return false;
    for (unsigned i = count; i < wanted; i++)
        grown[i] = FI_ADDR_NOTAVAIL;
    endpoint->addresses = grown;
    endpoint->address_count = wanted;
    return true;
}

/* `bytes` NULL: the address cannot be one of this provider. */
static opal_status_t insert(const opal_fabric_endpoint_t *endpoint, unsigned process,
                            const void *bytes, fi_addr_t *address)
{
    const opal_fabric_user_t *user = endpoint->user;
    int inserted = bytes != NULL ? fi_av_insert(shared.av, bytes, 1, address, 0, NULL) : 0;
    if (inserted == -FI_ENOMEM || inserted == -FI_EAGAIN)
        return OPAL_ERR_NO_MEMORY;
    if (inserted != 1)
        opal_log_error("%s: the provider %s does not take the address of rank %u: %s", user->name,
                       endpoint->info->fabric_attr->prov_name, process,
                       inserted < 0 ? fi_strerror(-inserted) : "it cannot be used");
    return inserted == 1 ? OPAL_SUCCESS : OPAL_ERR_SYSTEM;
}

static opal_status_t insert_published(const opal_fabric_endpoint_t *endpoint, unsigned process,
                                      fi_addr_t *address)
{
    opal_fabric_record_t record;
    void *bytes;
    opal_status_t status = get_record(endpoint, process, &record, &bytes);
    if (status == OPAL_ERR_NOT_FOUND)
        opal_log_error("%s: rank %u has published no address", endpoint->user->name, process);
    if (status != OPAL_SUCCESS)
        return status;
    bool is_usable = opal_fabric_record_has_address(&record, endpoint->info->addr_format,
                                                    endpoint->address_bytes);
    status = insert(endpoint, process, is_usable ? record.address : NULL, address);
    free(bytes);
    return status;
}

opal_status_t opal_fabric_set_address(opal_fabric_endpoint_t *endpoint, unsigned process,
                                      const void *bytes)
{
    if (!make_room(endpoint, process))
        return OPAL_ERR_NO_MEMORY;
    fi_addr_t *known = &endpoint->addresses[process];
    return *known == FI_ADDR_NOTAVAIL ? insert(endpoint, process, bytes, known) : OPAL_SUCCESS;
}

opal_status_t opal_fabric_address(opal_fabric_endpoint_t *endpoint, unsigned process,
                                  fi_addr_t *address)
{
    if (!make_room(endpoint, process))
        return OPAL_ERR_NO_MEMORY;
    fi_addr_t *known = &endpoint->addresses[process];
    if (*known == FI_ADDR_NOTAVAIL) {
        opal_status_t status = insert_published(endpoint, process, known);
        if (status == OPAL_ERR_NO_MEMORY)
            return status;
        if (status != OPAL_SUCCESS)
            *known = ADDRESS_UNREACHABLE;
    }
    if (*known == ADDRESS_UNREACHABLE)
        return OPAL_ERR_NOT_AVAILABLE;
    *address = *known;
    return OPAL_SUCCESS;
}

/* -- registrations ------------------------------------------------------------------------------
 */

/* FI_MR_ENDPOINT: a registration is bound to an endpoint before it can be used. */
static int enable(const opal_fabric_endpoint_t *endpoint, struct fid_mr *mr)
{
    int result = fi_mr_bind(mr, &endpoint->ep->fid, 0);
    return result != 0 ? result : fi_mr_enable(mr);
}

int opal_fabric_register(const opal_fabric_endpoint_t *endpoint, const void *base, size_t bytes,
                         uint64_t access, struct fid_mr **mr)
{
    int mode = shared.info->domain_attr->mr_mode;
    uint64_t key = (mode & FI_MR_PROV_KEY) != 0 ? 0 : ++shared.last_key;
    int result = fi_mr_reg(shared.domain, base, bytes, access, 0, key, 0, mr, NULL);
    if (result != 0 || (mode & FI_MR_ENDPOINT) == 0)
        return result;
    result = enable(endpoint, *mr);
    if (result != 0)
        fi_close(&(*mr)->fid);
    return result;
}

void opal_fabric_refresh(struct fid_mr *mr, const void *start, size_t bytes)
{
    struct iovec pages = {.iov_base = (void *)(uintptr_t)start, .iov_len = bytes};
    if ((shared.info->domain_attr->mr_mode & FI_MR_MMU_NOTIFY) != 0)
        fi_mr_refresh(mr, &pages, 1, 0);
}
