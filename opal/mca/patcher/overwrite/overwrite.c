/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patcher/overwrite: changes the first instruction of libc's function into a jump to the
 * replacement. So it sees the calls that libc makes itself, and pointers that were taken before.
 *
 * In three steps, during which a thread may execute the code at any time:
 *
 *   1  islands are written, then made executable; no code leads to them yet
 *   2  the padding before functions becomes jumps to them; no thread executes it yet
 *   3  one aligned store for each function: a thread executes the old instruction or the new one
 *
 * Behind 2 and 3 membarrier makes every processor that runs a thread of this process fetch its code
 * anew: when apply returns, no thread enters by the old instruction any more. Without membarrier
 * nothing is changed. Threads that are in the old function finish it.
 *
 * A patch is never undone. The old function is not called any more, not by the replacement either,
 * so no old instruction has to be moved.
 *
 * Threading: one apply at a time; other threads may execute anything.
 */
#include "opal/mca/patcher/overwrite/code.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/mca/base/component.h"
#include "opal/mca/patcher/patcher.h"
#include "opal/threads/membarrier.h"
#include "opal/util/maps.h"
#include "opal/util/say.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PRIORITY = 40, MOST_PATCHES = 32 };

/* A function on its way. */
typedef struct job {
    opal_patch_t *patch; /* NULL: given up, the patch has the reason */
    overwrite_plan_t plan;
    opal_mapping_t mapping; /* that the code is in */
} job_t;

static void refuse(job_t *job, const char *why)
{
    opal_say_into(job->patch->reason, sizeof job->patch->reason, "its code in libc %s", why);
    job->patch = NULL;
}

/* -- islands -------------------------------------------------------------------- */

/* A page of our own, as close as possible. */
static unsigned char *map_near(uintptr_t near, size_t bytes)
{
    const uintptr_t step = (uintptr_t)1 << 16;
    near &= ~(step - 1);
    for (uintptr_t distance = step; distance < overwrite_reach_bytes; distance += step) {
        const uintptr_t candidates[] = {near - distance, near + distance};
        for (size_t i = 0; i < OPAL_COUNT_OF(candidates); i++) {
            void *page = (void *)syscall(SYS_mmap, candidates[i], bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
            if (page == (void *)candidates[i])
                return page;
            if (page != MAP_FAILED) /* an old kernel, which takes it for a wish */
                syscall(SYS_munmap, page, bytes);
        }
    }
    return NULL;
}

/* The page for all islands of this time; never written again once it can be executed. */
static bool make_islands(job_t *jobs, size_t count)
{
    size_t bytes = (size_t)getpagesize();
    unsigned char *page = map_near((uintptr_t)jobs[0].patch->original, bytes);
    for (size_t i = 0; page != NULL && i < count; i++) {
        unsigned char *island = page + i * overwrite_island_bytes;
        const char *why =
            overwrite_make_plan(&jobs[i].plan, jobs[i].patch->original, (uintptr_t)island);
        overwrite_make_island(island, jobs[i].patch->replacement);
        if (why != NULL)
            refuse(&jobs[i], why);
    }
    if (page != NULL && mprotect(page, bytes, PROT_READ | PROT_EXEC) != 0) {
        syscall(SYS_munmap, page, bytes);
        page = NULL;
    }
    if (page != NULL)
        __builtin___clear_cache((char *)page, (char *)page + bytes);
    return page != NULL;
}

/* -- writing code --------------------------------------------------------------- */

/* Makes the pages of the change writable, or as they were. */
static bool protect(const job_t *job, int added)
{
    uintptr_t mask = (uintptr_t)getpagesize() - 1;
    const overwrite_plan_t *plan = &job->plan;
    uintptr_t start = (plan->padding_at != 0 ? plan->padding_at : plan->store_at) & ~mask;
    uintptr_t end = (plan->store_at + plan->store_bytes + mask) & ~mask;
    return mprotect((void *)start, end - start, job->mapping.protection | added) == 0;
}

static bool store(const overwrite_plan_t *plan)
{
    uint64_t word = plan->store_expected;
    uint32_t half = (uint32_t)plan->store_expected;
    bool stored = plan->store_bytes == sizeof word
                      ? atomic_compare_exchange_strong((_Atomic uint64_t *)plan->store_at, &word,
                                                       plan->store_value)
                      : atomic_compare_exchange_strong((_Atomic uint32_t *)plan->store_at, &half,
                                                       (uint32_t)plan->store_value);
    char *start = (char *)plan->store_at;
    __builtin___clear_cache(start, start + plan->store_bytes);
    return stored;
}

static void write_padding(job_t *job)
{
    char *padding = (char *)job->plan.padding_at;
    if (padding == NULL)
        return;
    if (!protect(job, PROT_WRITE)) {
        refuse(job, "cannot be made writable");
        return;
    }
    memcpy(padding, job->plan.padding, job->plan.padding_bytes);
    __builtin___clear_cache(padding, padding + job->plan.padding_bytes);
    protect(job, 0);
}

static void write_entry(job_t *job)
{
    if (!protect(job, PROT_WRITE)) {
        refuse(job, "cannot be made writable");
        return;
    }
    if (store(&job->plan))
        job->patch->overwritten = true;
    else
        refuse(job, "was changed by other code meanwhile");
    protect(job, 0);
}

/* Every processor that runs a thread of ours does so before this returns. The kernel wants to know
 * of the intention first; repeated, that costs nothing. */
static bool fetch_anew(void)
{
    return opal_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) &&
           opal_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

/* Gives up without a change, but for the reason. */
static void refuse_all(job_t *jobs, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].patch != NULL)
            refuse(&jobs[i], why);
    }
}

static void change_code(job_t *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].patch != NULL && !opal_maps_find(jobs[i].patch->original, &jobs[i].mapping))
            refuse(&jobs[i], "is in no mapping that /proc/self/maps shows");
        if (jobs[i].patch != NULL)
            write_padding(&jobs[i]);
    }
    if (!fetch_anew()) {
        refuse_all(jobs, count, "cannot be made known to other threads (membarrier)");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].patch != NULL)
            write_entry(&jobs[i]);
    }
    fetch_anew();
}

/* -- the component -------------------------------------------------------------- */

/* Names of one function: the first is the one that is worked on. */
static const opal_patch_t *find_namesake(opal_patch_t *const *patches, size_t before,
                                         const opal_patch_t *patch)
{
    for (size_t i = 0; i < before; i++) {
        if (patches[i] != NULL && patches[i]->original == patch->original &&
            patches[i]->replacement == patch->replacement)
            return patches[i];
    }
    return NULL;
}

static void overwrite_apply(void *state OPAL_UNUSED, opal_patch_t *const *patches, size_t count)
{
    int saved_errno = errno;
    job_t jobs[MOST_PATCHES];
    size_t job_count = 0;
    for (size_t i = 0; i < count && job_count < MOST_PATCHES; i++) {
        opal_patch_t *patch = patches[i];
        if (patch != NULL && patch->original != NULL && !patch->overwritten &&
            find_namesake(patches, i, patch) == NULL)
            jobs[job_count++] = (job_t){.patch = patch};
    }
    if (job_count > 0 && !make_islands(jobs, job_count))
        refuse_all(jobs, job_count, "has no free memory near it that can be made executable");
    else if (job_count > 0)
        change_code(jobs, job_count);
    for (size_t i = 0; i < count; i++) {
        const opal_patch_t *namesake =
            patches[i] != NULL ? find_namesake(patches, i, patches[i]) : NULL;
        if (namesake != NULL && namesake->original != NULL)
            patches[i]->overwritten = namesake->overwritten;
    }
    errno = saved_errno;
}

static const opal_patcher_ops_t overwrite_ops = {.apply = overwrite_apply};

/* By hand instead of by opal_answer_yes, which uses stdio. */
static void overwrite_query(opal_answer_t *answer)
{
    if (overwrite_obstacle != NULL)
        opal_say_into(answer->reason, sizeof answer->reason, "%s", overwrite_obstacle);
    else if (!opal_membarrier_knows(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
        opal_say_into(answer->reason, sizeof answer->reason,
                      "this kernel has no membarrier for changes of code");
    else
        *answer = (opal_answer_t){
            .usable = true,
            .priority = PRIORITY,
            .ops = &overwrite_ops,
            .reason = "reaches what libc calls itself as well",
        };
}

const opal_component_t mca_patcher_overwrite_component = {
    OPAL_COMPONENT_HEAD(patcher, overwrite),
    .prose = "changes the code of libc's functions",
    .query = overwrite_query,
};
