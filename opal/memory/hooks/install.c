/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Installing the hooks: the methods in their order, each followed by the event test, and what is
 * known of each call.
 *
 *   1  own symbols   nothing to do; the test shows whether the linker prefers them to libc's
 *   2  reloc         calls that the test missed
 *   3  overwrite     calls that are still missed; for VM events also the calls of libc itself: its
 *                    malloc, its threads and its stdio need no relocation
 *
 * The hooks call libc's own functions until their code is overwritten, so code that has patched
 * these functions sees the calls. They also call the functions of an object that the linker prefers
 * to libc.
 *
 * Threading: everything here is under OPAL_MEMORY_INSTALL_LOCK, and not called inside a handler:
 * the test waits for handlers.
 */
#include <string.h>
#include <sys/mman.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/events/dispatch.h"
#include "opal/memory/hooks/probe.h"
#include "opal/memory/hooks/settings.h"
#include "opal/memory/events/system.h"
#include "opal/memory/hooks/unload.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/util/say.h"

/* -- events and hooks ---------------------------------------------------------------- */

#define BIT(call) (1U << OPAL_MEMORY_CALL_##call)

enum {
    TESTABLE = (1U << OPAL_MEMORY_CALL_COUNT) - 1 - (1U << OPAL_MEMORY_CALL_REMAP_FILE_PAGES),
    /* The calls that libc makes itself. */
    INNER = 1U << OPAL_MEMORY_CALL_MMAP | 1U << OPAL_MEMORY_CALL_MUNMAP |
            1U << OPAL_MEMORY_CALL_MREMAP | 1U << OPAL_MEMORY_CALL_SBRK |
            1U << OPAL_MEMORY_CALL_BRK | 1U << OPAL_MEMORY_CALL_MADVISE,
    VM_EVENTS = OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED,
};

/* By bit: the event, and the calls that must be caught for it. */
static const struct {
    const char *name;
    unsigned calls;
} events_by_bit[OPAL_MEMORY_EVENT_COUNT] = {
    {"mmap", BIT(MMAP)},
    {"munmap", BIT(MUNMAP)},
    {"mremap", BIT(MREMAP)},
    {"shmat", BIT(SHMAT)},
    {"shmdt", BIT(SHMDT)},
    {"sbrk", BIT(SBRK) | BIT(BRK)},
    {"vm_mapped", BIT(MMAP) | BIT(MREMAP) | BIT(SHMAT) | BIT(SBRK) | BIT(BRK)},
    {"vm_unmapped", TESTABLE},
};

typedef struct hook {
    opal_memory_call_t call;
    opal_patch_t patch;
} hook_t;

static hook_t hooks[] = {
    {OPAL_MEMORY_CALL_MMAP, {.symbol = "mmap", .replacement = opal_memory_mmap}},
    {OPAL_MEMORY_CALL_MMAP, {.symbol = "mmap64", .replacement = opal_memory_mmap}},
    {OPAL_MEMORY_CALL_MUNMAP, {.symbol = "munmap", .replacement = opal_memory_munmap}},
    {OPAL_MEMORY_CALL_MREMAP, {.symbol = "mremap", .replacement = opal_memory_mremap}},
    {OPAL_MEMORY_CALL_SHMAT, {.symbol = "shmat", .replacement = opal_memory_shmat}},
    {OPAL_MEMORY_CALL_SHMDT, {.symbol = "shmdt", .replacement = opal_memory_shmdt}},
    {OPAL_MEMORY_CALL_SBRK, {.symbol = "sbrk", .replacement = opal_memory_sbrk}},
    {OPAL_MEMORY_CALL_BRK, {.symbol = "brk", .replacement = opal_memory_brk}},
    {OPAL_MEMORY_CALL_MADVISE, {.symbol = "madvise", .replacement = opal_memory_madvise}},
    {OPAL_MEMORY_CALL_REMAP_FILE_PAGES,
     {.symbol = "remap_file_pages", .replacement = opal_memory_remap_file_pages}},
};

enum { HOOK_COUNT = sizeof hooks / sizeof hooks[0] };

static struct {
    unsigned asked_for; /* events */
    unsigned external;  /* events */
    unsigned caught;    /* calls: the test by name has seen them */
    unsigned inner;     /* calls: the test by libc's own address has seen them */
    opal_memory_method_t method[OPAL_MEMORY_CALL_COUNT]; /* of what is caught */
    char obstacle[OPAL_MEMORY_REASON_MAX_BYTES];         /* for all calls; "" if none */
    bool complained;
} state;

const char *opal_memory_event_name(unsigned event)
{
    for (unsigned i = 0; i < OPAL_MEMORY_EVENT_COUNT; i++) {
        if (event == 1U << i)
            return events_by_bit[i].name;
    }
    return "none";
}

const char *opal_memory_method_name(opal_memory_method_t method)
{
    switch (method) {
    case OPAL_MEMORY_BY_SYMBOLS:
        return "symbols";
    case OPAL_MEMORY_BY_RELOC:
        return "reloc";
    case OPAL_MEMORY_BY_OVERWRITE:
        return "overwrite";
    case OPAL_MEMORY_BY_OTHERS:
        return "others";
    case OPAL_MEMORY_BY_NOBODY:
        break;
    }
    return "nobody";
}

static unsigned calls_of(unsigned events)
{
    unsigned calls = 0;
    for (unsigned i = 0; i < OPAL_MEMORY_EVENT_COUNT; i++) {
        if ((events & 1U << i) != 0)
            calls |= events_by_bit[i].calls;
    }
    return calls;
}

/* -- the methods --------------------------------------------------------------------- */

/* Tests the calls that are not caught yet; those that are now are caught by `method`. */
static void test_by_name(unsigned calls, opal_memory_method_t method)
{
    unsigned caught = opal_memory_probe(calls & ~state.caught & TESTABLE, NULL);
    for (unsigned call = 0; call < OPAL_MEMORY_CALL_COUNT; call++) {
        if ((caught & 1U << call) != 0)
            state.method[call] = method;
    }
    state.caught |= caught;
}

/* The patches of these calls; NULL instead of the others. */
static void choose_patches(unsigned calls, opal_patch_t *patches[HOOK_COUNT])
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        patches[i] = (calls & 1U << hooks[i].call) != 0 ? &hooks[i].patch : NULL;
}

/* remap_file_pages has no event of its own, and is patched with the others. */
static unsigned with_untestable(unsigned calls)
{
    return calls != 0 ? calls | BIT(REMAP_FILE_PAGES) : 0;
}

/* The hooks call the functions that were there before: those of an object that the linker prefers,
 * or libc's, except where their code leads to the hook. sbrk calls brk, which would raise the event
 * twice. */
static void choose_system(void)
{
    bool break_is_ours = false;
    for (size_t i = 0; i < HOOK_COUNT; i++)
        break_is_ours |= hooks[i].call == OPAL_MEMORY_CALL_BRK && hooks[i].patch.overwritten;
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        const opal_patch_t *patch = &hooks[i].patch;
        bool ours = patch->overwritten || (hooks[i].call == OPAL_MEMORY_CALL_SBRK && break_is_ours);
        if (patch->interposer != NULL)
            opal_memory_system_use(hooks[i].call, patch->interposer);
        else
            opal_memory_system_use(hooks[i].call, ours ? NULL : patch->original);
    }
}

/* Patches calls by one method. A call that it cannot patch keeps its state, with a reason. */
static void apply(const char *method, unsigned calls)
{
    void *patcher = NULL;
    opal_patch_t *patches[HOOK_COUNT];
    const opal_patcher_ops_t *ops = opal_patcher_method(method, &patcher, state.obstacle);
    if (ops == NULL)
        return;
    choose_patches(with_untestable(calls), patches);
    opal_patcher_resolve(patches, HOOK_COUNT);
    ops->apply(patcher, patches, HOOK_COUNT);
}

/* The functions that the names lead to, if not libc's: the hooks call them. Only before relocations
 * are patched. */
static void find_interposers(unsigned calls)
{
    opal_patch_t *patches[HOOK_COUNT];
    choose_patches(with_untestable(calls), patches);
    opal_patcher_find_interposers(patches, HOOK_COUNT);
}

/* By relocations, whatever method catches the rest: it is no call of an event, and calls the
 * original.
 */
static void catch_unloading(void)
{
    void *patcher = NULL;
    char reason[OPAL_PATCH_REASON_MAX_BYTES];
    opal_patch_t *const patches[] = {&opal_memory_unload_patch};
    const opal_patcher_ops_t *ops = opal_patcher_method("reloc", &patcher, reason);
    opal_patcher_resolve(patches, OPAL_COUNT_OF(patches));
    if (ops == NULL || opal_memory_unload_patch.original == NULL)
        return;
    opal_memory_unload_prepare();
    ops->apply(patcher, patches, OPAL_COUNT_OF(patches));
}

/* Calls the functions of libc by their addresses, as libc itself does. */
static unsigned test_inside(unsigned calls)
{
    void *functions[OPAL_MEMORY_CALL_COUNT] = {0};
    unsigned overwritten = 0;
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        if (hooks[i].patch.overwritten) {
            functions[hooks[i].call] = hooks[i].patch.original;
            overwritten |= 1U << hooks[i].call;
        }
    }
    return opal_memory_probe(calls & overwritten & TESTABLE, functions);
}

static void overwrite(unsigned calls)
{
    /* A hook must not call code that leads back to it. */
    for (unsigned call = 0; call < OPAL_MEMORY_CALL_COUNT; call++) {
        if ((with_untestable(calls) & 1U << call) != 0 || call == OPAL_MEMORY_CALL_SBRK)
            opal_memory_system_use((opal_memory_call_t)call, NULL);
    }
    apply("overwrite", calls);
    choose_system();
    state.inner |= test_inside(calls & ~state.inner);
}

static bool is_allowed(void)
{
    const char *watcher = opal_memory_watcher();
    if (!opal_memory_settings()->events)
        opal_say_into(state.obstacle, sizeof state.obstacle, "memory_events is no");
    else if (watcher != NULL)
        opal_say_into(state.obstacle, sizeof state.obstacle, "standing aside for %s", watcher);
    else
        return true;
    return false;
}

/* Each step does what the steps before it have left. */
static void install(unsigned events)
{
    const opal_memory_settings_t *settings = opal_memory_settings();
    unsigned calls = calls_of(events) & TESTABLE;
    unsigned inner = (events & VM_EVENTS) != 0 ? calls & INNER : 0;
    if (!is_allowed())
        return;
    state.obstacle[0] = 0;
    test_by_name(calls, OPAL_MEMORY_BY_SYMBOLS);
    if (settings->reloc_hooks && (events & OPAL_MEMORY_VM_UNMAPPED) != 0)
        catch_unloading();
    if (settings->reloc_hooks && (calls & ~state.caught) != 0) {
        find_interposers(calls & ~state.caught);
        apply("reloc", calls & ~state.caught);
        choose_system();
        test_by_name(calls, OPAL_MEMORY_BY_RELOC);
    }
    unsigned left = (calls & ~state.caught) | (inner & ~state.inner);
    if (settings->overwrite_hooks && left != 0) {
        overwrite(left);
        test_by_name(calls, OPAL_MEMORY_BY_OVERWRITE);
    }
}

/* -- reports ------------------------------------------------------------------------- */

static unsigned verified(unsigned events)
{
    unsigned result = events & state.external;
    for (unsigned i = 0; i < OPAL_MEMORY_EVENT_COUNT; i++) {
        if ((events & 1U << i) != 0 && (events_by_bit[i].calls & ~state.caught) == 0)
            result |= 1U << i;
    }
    return result;
}

/* Why the first of these calls is not caught. */
static void describe_missing(unsigned missing, char reason[OPAL_MEMORY_REASON_MAX_BYTES])
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        const opal_patch_t *patch = &hooks[i].patch;
        if ((missing & 1U << hooks[i].call) == 0)
            continue;
        const char *why = patch->reason[0] != 0     ? patch->reason
                          : state.obstacle[0] != 0  ? state.obstacle
                          : patch->original == NULL ? "libc's function was not found"
                                                    : "the methods that would catch it are off";
        opal_say_into(reason, OPAL_MEMORY_REASON_MAX_BYTES, "%s: %s", patch->symbol, why);
        return;
    }
}

/* Once for a process, which may add many handlers. */
static void complain(unsigned missing)
{
    char reason[OPAL_MEMORY_REASON_MAX_BYTES] = "";
    if (missing == 0 || state.complained)
        return;
    state.complained = true;
    describe_missing(calls_of(missing) & TESTABLE & ~state.caught, reason);
    opal_say(OPAL_SAY_INFO,
             "not every unmapping of memory can be seen in this process (%s), so nothing may be "
             "remembered about memory; ompi_info --memory says more",
             reason);
}

unsigned opal_memory_events_install(unsigned events)
{
    events &= OPAL_MEMORY_ALL_EVENTS;
    if (opal_memory_inside_handler())
        return verified(events);
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
    state.asked_for |= events;
    install(events & ~state.external);
    unsigned result = verified(events);
    complain(events & ~result);
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
    return result;
}

void opal_memory_events_external(unsigned events)
{
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
    state.external |= events & OPAL_MEMORY_ALL_EVENTS;
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
}

unsigned opal_memory_events_test(unsigned events)
{
    if (opal_memory_inside_handler())
        return verified(events);
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
    unsigned calls = calls_of(events) & TESTABLE;
    state.caught = (state.caught & ~calls) | opal_memory_probe(calls & state.caught, NULL);
    state.inner = (state.inner & ~calls) | test_inside(calls & state.inner);
    unsigned result = verified(events);
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
    return result;
}

void opal_memory_events_report(unsigned event, opal_memory_report_t *report)
{
    unsigned calls = calls_of(event) & TESTABLE;
    *report = (opal_memory_report_t){.finding = OPAL_MEMORY_NOT_ASKED_FOR};
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
    if ((state.external & event) != 0)
        report->method = OPAL_MEMORY_BY_OTHERS;
    /* Of several calls, the last method that was needed. */
    for (unsigned call = 0; call < OPAL_MEMORY_CALL_COUNT; call++) {
        if ((calls & state.caught & 1U << call) != 0 && state.method[call] > report->method)
            report->method = state.method[call];
    }
    report->inside_libc = (calls & INNER) != 0 && (calls & INNER & ~state.inner) == 0;
    if (verified(event) != 0)
        report->finding = OPAL_MEMORY_VERIFIED;
    else if ((state.asked_for & event) != 0)
        report->finding = OPAL_MEMORY_MISSING;
    unsigned missing = calls & ~state.caught;
    if (report->finding == OPAL_MEMORY_VERIFIED)
        missing = calls & INNER & ~state.inner;
    if (report->finding != OPAL_MEMORY_NOT_ASKED_FOR && missing != 0)
        describe_missing(missing, report->reason);
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
}

opal_status_t opal_memory_handler_add(opal_memory_handler_t *handler)
{
    unsigned events = handler->events & OPAL_MEMORY_ALL_EVENTS;
    opal_memory_handler_add_passive(handler);
    return opal_memory_events_install(events) == events ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}
