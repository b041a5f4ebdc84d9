/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory/smheap: malloc takes large blocks from memory that all ranks of the node have mapped, so
 * that a message in them is copied once, or not at all.
 *
 *   before main   the decision (decision.h); the region is handed down by mpirun, or made by the
 *                 first of the ranks (election.h), mapped (attach.h, map_region.h), a heap is
 *                 opened on it (source.h), and malloc's family is redirected
 *   MPI_Init      open() tests that by real calls
 *
 * Smaller blocks than memory_smheap_min_bytes are libc's, or memory/ptmalloc2's if that is enabled.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/mca/base/component.h"
#include "opal/memory/malloc/family.h"
#include "opal/memory/hooks/settings.h"
#include "opal/mca/memory/base/shared.h"
#include "opal/mca/memory/base/trial.h"
#include "opal/mca/memory/memory.h"
#include "opal/mca/memory/smheap/attach.h"
#include "opal/mca/memory/smheap/decision.h"
#include "opal/mca/memory/smheap/election.h"
#include "opal/mca/memory/smheap/fork.h"
#include "opal/mca/memory/smheap/source.h"
#include "opal/mca/memory/smheap/statics.h"
#include "opal/node/region.h"
#include "opal/util/say.h"

static smheap_decision_t decision;
static smheap_election_t election = {.region_fd = -1, .listener = -1};
static smheap_region_t region = {.fd = -1};
static opal_heap_t heap;
static const char *statics_reason; /* why the static data is private; NULL: it is shared */
static unsigned support;           /* FREE and CHUNK */

/* -- before main -------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
    return getenv(name);
}

static bool open_heap(void)
{
    opal_heap_config_t config = {
        .ops = &smheap_source,
        .context = &region,
        .base = region.header,
        .bytes = region.bytes,
        .alignment = opal_memory_settings()->alloc_align,
    };
    if (opal_heap_open(&heap, &config) == 0)
        return true;
    opal_say_into(decision.reason, sizeof decision.reason, "there is no memory for a heap");
    return false;
}

static void enter_region(const opal_memory_shared_t *settings)
{
    statics_reason = smheap_share_statics(&region, &heap, settings->static_bytes);
    smheap_watch_forks(&region, &heap, &election);
    opal_region = (opal_region_t){.base = (uintptr_t)region.header,
                                  .bytes = region.bytes,
                                  .id = region.id,
                                  .fd = region.fd,
                                  .heap = &heap,
                                  .pools = opal_region_pools(region.header),
                                  .owners = opal_region_owners(region.header, region.pool_count),
                                  .pool_count = region.pool_count,
                                  .number = region.number,
                                  .statics = (uintptr_t)region.statics.start,
                                  .statics_bytes = region.statics.bytes,
                                  .statics_offset = region.statics.offset};
}

/* Under a launcher that does not make regions. */
static bool elect(const opal_memory_shared_t *settings)
{
    smheap_launcher_t launcher;
    const opal_region_request_t request = {.bytes = (uint64_t)settings->size_mib << 20,
                                           .ranks = (unsigned)decision.ranks,
                                           .shares = settings->shares};
    if (smheap_find_launcher("/proc", variable, decision.rank_name, &launcher))
        return smheap_elect(&launcher, &request, settings->wait_msec, &election, decision.reason,
                            sizeof decision.reason);
    opal_say_into(decision.reason, sizeof decision.reason,
                  "the launcher cannot be found by /proc, so its other ranks cannot, either");
    return false;
}

/* False: everything is as it was, with a reason. */
static bool take_part(const opal_memory_shared_t *settings)
{
    char *reason = decision.reason;
    const size_t room = sizeof decision.reason;
    const char *obstacle = opal_memory_family_obstacle();
    if (obstacle != NULL) {
        opal_say_into(reason, room, "%s", obstacle);
        return false;
    }
    election = (smheap_election_t){.region_fd = decision.fd, .listener = -1};
    if (decision.fd < 0 && !elect(settings))
        return false;
    bool good = smheap_attach(&region, election.region_fd, decision.rank, settings, reason, room);
    if (good && !open_heap()) {
        smheap_detach(&region);
        good = false;
    }
    if (decision.fd < 0)
        close(election.region_fd); /* the region has a descriptor of its own */
    if (!good) {
        smheap_stop_listening(&election);
        return false;
    }
    /* Blocks of the region may be in use already: it stays mapped. */
    return opal_memory_family_serve(&heap, settings->min_bytes, reason, room);
}

__attribute__((constructor)) static void decide_before_main(void)
{
    const opal_memory_shared_t *settings = opal_memory_shared();
    smheap_decide(variable, settings, &decision);
    if (decision.enabled && take_part(settings))
        enter_region(settings);
}

/* -- in MPI_Init -------------------------------------------------------------------------- */

static opal_status_t smheap_open(void)
{
    opal_memory_shared_check();
    if (opal_region.bytes == 0)
        return OPAL_SUCCESS;
    /* Programs that this process starts are no ranks. */
    if (decision.fd != region.fd && smheap_is_region(&region, decision.fd))
        fcntl(decision.fd, F_SETFD, FD_CLOEXEC);
    opal_memory_try_unmapping();
    support = opal_memory_try_family();
    return OPAL_SUCCESS;
}

/* Called in MPI_Finalize at the latest: no rank attaches any more. */
static void smheap_close(void)
{
    smheap_stop_listening(&election);
}

static unsigned smheap_support(void *state OPAL_UNUSED)
{
    return opal_memory_with_munmap(support);
}

static const opal_memory_ops_t ops = {.support = smheap_support};

static void smheap_query(opal_answer_t *answer)
{
    if (opal_region.bytes == 0) {
        opal_answer_no(answer, "%s",
                       region.is_private ? "after fork this process has a copy of its own"
                                         : decision.reason);
        return;
    }
    opal_answer_yes(answer, 20, &ops, NULL,
                    "malloc from %zu bytes on takes from the node's region: %zu MiB of addresses "
                    "at %p, %s; smaller blocks are %s; static data is %s%s",
                    opal_memory_shared()->min_bytes, opal_region.bytes >> 20,
                    (void *)opal_region.base,
                    region.agreed ? "where the others have it" : "not where the others have it",
                    opal_memory_family_is_whole() ? "memory/ptmalloc2's" : "libc's",
                    statics_reason == NULL ? "there, too" : "private: ",
                    statics_reason == NULL ? "" : statics_reason);
}

extern const opal_component_t mca_memory_smheap_component;
const opal_component_t mca_memory_smheap_component = {
    OPAL_COMPONENT_HEAD(memory, smheap),
    .prose = "malloc from memory that all ranks of the node see, so that messages are copied once",
    .params = opal_memory_shared_params,
    .open = smheap_open,
    .query = smheap_query,
    .close = smheap_close,
};
