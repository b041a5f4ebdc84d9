/* SPDX-License-Identifier: BSD-3-Clause */
/* Which heap serves a size, and which one owns a block. */
#include "opal/memory/malloc/family.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/hooks/redirect.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/util/say.h"

/* -- the heaps ----------------------------------------------------------------------------- */

enum { LARGE, ALL, KINDS };

enum { PAGE_BYTES = 4096 };

static opal_heap_t nothing; /* owns no address */

/* Heaps of which blocks may be in use. */
static opal_heap_t *_Atomic known[KINDS] = {&nothing, &nothing};

/* Larger sizes than this go to the heap for large blocks, the others to serves_all; NULL: to the
 * original. */
static _Atomic size_t small_up_to = SIZE_MAX;
static opal_heap_t *_Atomic serves_all;

static inline opal_heap_t *known_heap(int kind)
{
    return atomic_load_explicit(&known[kind], memory_order_acquire);
}

static inline opal_heap_t *heap_of(const void *block)
{
    for (int kind = 0; kind < KINDS; kind++) {
        opal_heap_t *heap = known_heap(kind);
        if (opal_heap_owns(heap, block))
            return heap;
    }
    return NULL;
}

static inline bool is_large(size_t bytes)
{
    return bytes > atomic_load_explicit(&small_up_to, memory_order_relaxed);
}

static inline opal_heap_t *heap_for_small(void)
{
    return atomic_load_explicit(&serves_all, memory_order_relaxed);
}

opal_heap_t *opal_memory_family_heap_of(const void *block)
{
    return heap_of(block);
}

bool opal_memory_family_is_whole(void)
{
    return heap_for_small() != NULL;
}

void opal_memory_family_know(opal_heap_t *heap, size_t least)
{
    atomic_store_explicit(&known[least > 0 ? LARGE : ALL], heap, memory_order_release);
}

/* -- the original -------------------------------------------------------------------------- */

/* In the order of redirect.h: functions that free or look at a block first. */
enum {
    PATCH_FREE,
    PATCH_REALLOC,
    PATCH_USABLE_SIZE,
    PATCH_MALLOC,
    PATCH_CALLOC,
    PATCH_MEMALIGN,
    PATCH_TRIM,
    PATCH_STATS,
    PATCH_MALLINFO2,
    PATCH_MALLOPT,
    FIRST_STEP = PATCH_MALLOC
};

#define OURS(name)                                                                                 \
    {                                                                                              \
        .symbol = #name, .replacement = (void *)opal_memory_family_##name                          \
    }

static opal_patch_t family[] = {
    [PATCH_FREE] = OURS(free),
    [PATCH_REALLOC] = OURS(realloc),
    [PATCH_USABLE_SIZE] = OURS(malloc_usable_size),
    [PATCH_MALLOC] = OURS(malloc),
    [PATCH_CALLOC] = OURS(calloc),
    [PATCH_MEMALIGN] = OURS(memalign),
    [PATCH_TRIM] = OURS(malloc_trim),
    [PATCH_STATS] = OURS(malloc_stats),
    [PATCH_MALLINFO2] = OURS(mallinfo2),
    [PATCH_MALLOPT] = OURS(mallopt),
    OURS(reallocarray),
    OURS(posix_memalign),
    {.symbol = "aligned_alloc", .replacement = (void *)opal_memory_family_memalign},
    OURS(valloc),
    OURS(pvalloc),
    OURS(mallinfo),
};

/* In a static program there is nothing to look up, and nothing of it was patched: the names. */
static struct {
    __typeof__(&malloc) malloc;
    __typeof__(&free) free;
    __typeof__(&calloc) calloc;
    __typeof__(&realloc) realloc;
    __typeof__(&memalign) memalign;
    __typeof__(&malloc_usable_size) usable_size;
    __typeof__(&malloc_trim) trim;
    __typeof__(&malloc_stats) stats;
    __typeof__(&mallinfo2) mallinfo2;
    __typeof__(&mallopt) mallopt;
} original;
static pthread_once_t original_once = PTHREAD_ONCE_INIT;
static atomic_bool original_is_known;

#define CHOOSE(member, patch, name)                                                                \
    do {                                                                                           \
        original.member = (name);                                                                  \
        if (family[patch].original != NULL)                                                        \
            *(void **)&original.member = family[patch].original;                                   \
    } while (0)

static void learn_original(void)
{
    opal_patch_t *patches[OPAL_COUNT_OF(family)];
    for (size_t i = 0; i < OPAL_COUNT_OF(family); i++)
        patches[i] = &family[i];
    opal_memory_find_originals(patches, OPAL_COUNT_OF(family));
    CHOOSE(malloc, PATCH_MALLOC, malloc);
    CHOOSE(free, PATCH_FREE, free);
    CHOOSE(calloc, PATCH_CALLOC, calloc);
    CHOOSE(realloc, PATCH_REALLOC, realloc);
    CHOOSE(memalign, PATCH_MEMALIGN, memalign);
    CHOOSE(usable_size, PATCH_USABLE_SIZE, malloc_usable_size);
    CHOOSE(trim, PATCH_TRIM, malloc_trim);
    CHOOSE(stats, PATCH_STATS, malloc_stats);
    CHOOSE(mallinfo2, PATCH_MALLINFO2, mallinfo2);
    CHOOSE(mallopt, PATCH_MALLOPT, mallopt);
    atomic_store_explicit(&original_is_known, true, memory_order_release);
}

/* The originals, each called as ORIGINAL()->free(block). */
static inline const __typeof__(original) *the_original(void)
{
    if (opal_unlikely(!atomic_load_explicit(&original_is_known, memory_order_acquire)))
        pthread_once(&original_once, learn_original);
    return &original;
}

/* -- handing out --------------------------------------------------------------------------- */

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *malloc_small(size_t bytes)
{
    opal_heap_t *heap = heap_for_small();
    return opal_likely(heap != NULL) ? opal_heap_malloc(heap, bytes)
                                     : the_original()->malloc(bytes);
}

void *opal_memory_family_malloc(size_t bytes)
{
    if (is_large(bytes)) {
        int saved = errno;
        void *block = opal_heap_malloc(known_heap(LARGE), bytes);
        if (opal_likely(block != NULL))
            return block;
        errno = saved;
    }
    return malloc_small(bytes);
}

void *opal_memory_family_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (opal_unlikely(__builtin_mul_overflow(count, size, &bytes)))
        return no_memory();
    if (is_large(bytes)) {
        int saved = errno;
        void *block = opal_heap_calloc(known_heap(LARGE), count, size);
        if (opal_likely(block != NULL))
            return block;
        errno = saved;
    }
    opal_heap_t *heap = heap_for_small();
    return opal_likely(heap != NULL) ? opal_heap_calloc(heap, count, size)
                                     : the_original()->calloc(count, size);
}

/* A block at the beginning of a page is mostly a buffer, whatever its size, and takes as much as a
 * large one. */
static inline bool is_buffer(size_t alignment, size_t bytes)
{
    return is_large(bytes) || (alignment >= PAGE_BYTES && is_large(SIZE_MAX));
}

void *opal_memory_family_memalign(size_t alignment, size_t bytes)
{
    if (is_buffer(alignment, bytes)) {
        int saved = errno;
        void *block = opal_heap_memalign(known_heap(LARGE), alignment, bytes);
        if (opal_likely(block != NULL))
            return block;
        if (errno != ENOMEM)
            return NULL;
        errno = saved;
    }
    opal_heap_t *heap = heap_for_small();
    return opal_likely(heap != NULL) ? opal_heap_memalign(heap, alignment, bytes)
                                     : the_original()->memalign(alignment, bytes);
}

int opal_memory_family_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int saved = errno;
    void *found = opal_memory_family_memalign(alignment, bytes);
    errno = saved;
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

void *opal_memory_family_valloc(size_t bytes)
{
    return opal_memory_family_memalign((size_t)sysconf(_SC_PAGESIZE), bytes);
}

void *opal_memory_family_pvalloc(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX - page)
        return no_memory();
    return opal_memory_family_memalign(page, bytes == 0 ? page : (bytes + page - 1) / page * page);
}

/* -- giving back --------------------------------------------------------------------------- */

void opal_memory_family_free(void *block)
{
    opal_heap_t *heap = heap_of(block);
    if (opal_likely(heap != NULL))
        opal_heap_free(heap, block);
    else if (block != NULL)
        the_original()->free(block);
}

static size_t usable_size(opal_heap_t *heap, void *block)
{
    return heap != NULL ? opal_heap_usable_size(heap, block) : the_original()->usable_size(block);
}

size_t opal_memory_family_malloc_usable_size(void *block)
{
    return block != NULL ? usable_size(heap_of(block), block) : 0;
}

static void *move(opal_heap_t *from, void *block, size_t bytes)
{
    void *copy = opal_memory_family_malloc(bytes);
    if (copy == NULL)
        return NULL;
    size_t old_bytes = usable_size(from, block);
    memcpy(copy, block, old_bytes < bytes ? old_bytes : bytes);
    opal_memory_family_free(block);
    return copy;
}

/* Whether a block has to change its heap for its new size. A large one that becomes small stays. */
static bool has_to_move(opal_heap_t *from, size_t bytes)
{
    if (from == known_heap(LARGE))
        return false;
    return is_large(bytes) || (from == NULL && heap_for_small() != NULL);
}

void *opal_memory_family_realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return opal_memory_family_malloc(bytes);
    opal_heap_t *from = heap_of(block);
    if (bytes == 0) {
        opal_memory_family_free(block);
        return NULL;
    }
    if (has_to_move(from, bytes))
        return move(from, block, bytes);
    if (from == NULL)
        return the_original()->realloc(block, bytes);
    int saved = errno;
    void *resized = opal_heap_realloc(from, block, bytes);
    if (resized != NULL || from != known_heap(LARGE))
        return resized;
    errno = saved;
    return move(from, block, bytes);
}

void *opal_memory_family_reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return no_memory();
    return opal_memory_family_realloc(block, bytes);
}

/* -- looking and tuning -------------------------------------------------------------------- */

/* Calls for the heaps that serve. */
#define FOR_EACH_SERVING(heap)                                                                     \
    for (int kind = 0; kind < KINDS; kind++)                                                       \
        for (opal_heap_t *heap = serving(kind); heap != NULL; heap = NULL)

static opal_heap_t *serving(int kind)
{
    if (kind == ALL)
        return heap_for_small();
    return is_large(SIZE_MAX) ? known_heap(LARGE) : NULL;
}

int opal_memory_family_malloc_trim(size_t keep_bytes)
{
    int any = heap_for_small() == NULL ? the_original()->trim(keep_bytes) : 0;
    FOR_EACH_SERVING(heap)
    any |= opal_heap_trim(heap, keep_bytes);
    return any;
}

void opal_memory_family_malloc_stats(void)
{
    if (heap_for_small() == NULL)
        the_original()->stats();
    FOR_EACH_SERVING(heap)
    opal_heap_print_stats(heap);
}

struct mallinfo2 opal_memory_family_mallinfo2(void)
{
    struct mallinfo2 sum = {0};
    if (heap_for_small() == NULL)
        sum = the_original()->mallinfo2();
    FOR_EACH_SERVING(heap)
    {
        struct mallinfo2 more = opal_heap_mallinfo2(heap);
        sum.arena += more.arena;
        sum.hblks += more.hblks;
        sum.hblkhd += more.hblkhd;
        sum.uordblks += more.uordblks;
        sum.fordblks += more.fordblks;
        sum.keepcost += more.keepcost;
    }
    return sum;
}

struct mallinfo opal_memory_narrow(struct mallinfo2 wide)
{
    return (struct mallinfo){
        .arena = (int)wide.arena,
        .ordblks = (int)wide.ordblks,
        .smblks = (int)wide.smblks,
        .hblks = (int)wide.hblks,
        .hblkhd = (int)wide.hblkhd,
        .usmblks = (int)wide.usmblks,
        .fsmblks = (int)wide.fsmblks,
        .uordblks = (int)wide.uordblks,
        .fordblks = (int)wide.fordblks,
        .keepcost = (int)wide.keepcost,
    };
}

struct mallinfo opal_memory_family_mallinfo(void)
{
    return opal_memory_narrow(opal_memory_family_mallinfo2());
}

/* Accepted without effect, since programs take a refusal for a fault of theirs. */
int opal_memory_accept_mallopt(int name)
{
    switch (name) {
    case M_MXFAST:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_PERTURB:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
        return 1;
    default:
        return 0;
    }
}

int opal_memory_family_mallopt(int name, int value)
{
    return heap_for_small() == NULL ? the_original()->mallopt(name, value)
                                    : opal_memory_accept_mallopt(name);
}

/* -- taking the place of malloc ------------------------------------------------------------ */

/* Whose malloc the linker prefers to libc's: the program has brought an allocator of its own, by
   linking or preloading it. By definitions: what dlsym finds may be an entry in the program's
   linkage table, which leads to libc. */
static const char *foreign_allocator(void)
{
    Dl_info info;
    opal_patch_t probe = {.symbol = "malloc"}, *const probes[] = {&probe};
    opal_patcher_find_interposers(probes, OPAL_COUNT_OF(probes));
    if (probe.interposer == NULL)
        return NULL;
    return dladdr(probe.interposer, &info) != 0 ? info.dli_fname : "somebody";
}

const char *opal_memory_family_obstacle(void)
{
    static char text[OPAL_PATCH_REASON_MAX_BYTES];
    const char *watcher = opal_memory_watcher();
    the_original();
    if (watcher != NULL) {
        opal_say_into(text, sizeof text, "standing aside for %s", watcher);
        return text;
    }
    if (family[PATCH_MALLOC].original == NULL)
        return "libc was not found, as in a static program";
    const char *foreign = foreign_allocator();
    if (foreign == NULL)
        return NULL;
    opal_say_into(text, sizeof text, "malloc is that of %s, which stays", foreign);
    return text;
}

static void set_serving(opal_heap_t *heap, size_t least, bool serve)
{
    if (least > 0)
        atomic_store(&small_up_to, serve ? least - 1 : SIZE_MAX);
    else
        atomic_store(&serves_all, serve ? heap : NULL);
}

/* Not every member has to be there: an older libc lacks some. What counts is what is seen. */
static void redirect(opal_heap_t *heap, size_t least)
{
    static bool done;
    opal_patch_t *patches[OPAL_COUNT_OF(family)];
    for (size_t i = 0; i < OPAL_COUNT_OF(family); i++)
        patches[i] = &family[i];
    if (!done)
        opal_memory_redirect(patches, FIRST_STEP);
    set_serving(heap, least, true);
    if (!done)
        opal_memory_redirect(patches + FIRST_STEP, OPAL_COUNT_OF(family) - FIRST_STEP);
    done = true;
}

/* Calls malloc as any other code does. */
static bool comes_to_us(size_t bytes)
{
    void *volatile block = malloc(bytes);
    bool ours = block != NULL && heap_of(block) != NULL;
    free(block);
    return ours;
}

bool opal_memory_family_serve(opal_heap_t *heap, size_t least, char *reason, size_t room)
{
    const char *obstacle = opal_memory_family_obstacle();
    if (obstacle != NULL) {
        opal_say_into(reason, room, "%s", obstacle);
        return false;
    }
    opal_memory_family_know(heap, least);
    redirect(heap, least);
    if (comes_to_us(least > 0 ? least : 100))
        return true;
    set_serving(heap, least, false);
    const char *why = family[PATCH_MALLOC].reason;
    opal_say_into(reason, room, "%s", why[0] != 0 ? why : "no call of malloc was found");
    return false;
}
