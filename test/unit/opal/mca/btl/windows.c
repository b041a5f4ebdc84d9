/* SPDX-License-Identifier: BSD-3-Clause */
/* See windows.h. */
#include "test/unit/opal/mca/btl/windows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/mca/btl/base/base.h"
#include "opal/node/region.h"
#include "opal/node/region_file.h"

enum { PUBLISHED_WORD = CREW_SHARED_WORDS / 2 }; /* address and exposure of each rank */

struct windows windows;
unsigned operations_done;

/* As opal_init would find it: mapped by all ranks. */
static void make_region(void)
{
    static opal_region_pool_t pool;
    const size_t bytes = WINDOWS_MOST * (size_t)WINDOWS_BYTES;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    opal_region = (opal_region_t){
        .base = (uintptr_t)base, .bytes = bytes, .id = 7, .pools = &pool, .pool_count = 1};
}

unsigned windows_run(const windows_way_t *way, unsigned size, void (*work)(void))
{
    windows = (struct windows){.way = way};
    if (way->in_region)
        make_region();
    if (way->use_cma != NULL)
        setenv("OMPI_MCA_btl_sm_use_cma", way->use_cma, 1);
    return crew_run(way->component, size, NULL, work);
}

static bool receive(opal_process_t *from OPAL_UNUSED, unsigned kind, const void *bytes,
                    size_t length)
{
    CREW_MUST(kind == WINDOWS_MESSAGE);
    if (windows.on_message != NULL)
        windows.on_message(bytes, length);
    return true;
}

static void note_failure(opal_process_t *process OPAL_UNUSED, opal_status_t why OPAL_UNUSED)
{
    windows.failures++;
}

static void note_departure(opal_process_t *process OPAL_UNUSED)
{
    windows.departures++;
}

void windows_tell(void)
{
    volatile uint64_t *published = &crew.shared[PUBLISHED_WORD + 2 * crew.rank];
    published[0] = (uintptr_t)windows.own;
    published[1] = windows.exposure;
}

void windows_open(void)
{
    static const opal_btl_client_t client = {
        .receive = receive, .failed = note_failure, .left = note_departure};
    CREW_MUST(opal_btl_open(OPAL_BTL_ONE_SIDED, &client) == OPAL_SUCCESS);
    if (windows.way->in_region) {
        windows.own = (unsigned char *)opal_region.base + crew.rank * (size_t)WINDOWS_BYTES;
    } else {
        windows.own = malloc(WINDOWS_BYTES);
        windows.exposure =
            opal_btl_expose(windows.own, WINDOWS_BYTES, OPAL_BTL_READ | OPAL_BTL_WRITE);
        CREW_MUST(windows.own != NULL && windows.exposure != 0);
    }
    memset(windows.own, 0, WINDOWS_BYTES);
    windows_tell();
    crew_barrier();
}

void windows_close(void)
{
    crew_meet();
    crew_barrier();
    opal_btl_close(OPAL_BTL_ONE_SIDED);
    opal_btl_hide(windows.exposure);
    if (!windows.way->in_region)
        free(windows.own);
}

opal_btl_peer_t *windows_peer(unsigned rank)
{
    return opal_btl_connect(opal_process(rank));
}

operation_t windows_at(unsigned rank, size_t offset, size_t bytes)
{
    volatile uint64_t *published = &crew.shared[PUBLISHED_WORD + 2 * rank];
    return (operation_t){
        .base = {.address = published[0] + offset, .exposure = published[1], .bytes = bytes}};
}

static void note_done(opal_btl_operation_t *base)
{
    operation_t *operation = opal_container_of(base, operation_t, base);
    CREW_MUST(!operation->is_done);
    operation->is_done = true;
    operations_done++;
    if (operation->then != NULL)
        operation->then(operation);
}

void operation_begin(operation_kind_t kind, unsigned rank, operation_t *operation)
{
    opal_btl_peer_t *peer = windows_peer(rank);
    opal_btl_operate_fn_t *const begins[] = {peer->ops->put, peer->ops->get, peer->ops->atomic};
    operation->base.done = note_done;
    operation->base.status = OPAL_STATUS_COUNT;
    operation->is_done = false;
    if (begins[kind](peer, &operation->base))
        note_done(&operation->base);
}

void operation_end(const operation_t *operation)
{
    while (!operation->is_done)
        crew_poll();
}
