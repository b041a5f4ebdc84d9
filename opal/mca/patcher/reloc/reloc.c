/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patcher/reloc: changes where the objects look a function up.
 *
 * An object calls a function of another one through a word of its own, which the loader fills in.
 * Every such word of every loaded object that has the address of libc's function gets that of the
 * replacement.
 *
 * Objects that are loaded later, and words that are bound later (at the first call, when they lead
 * to their own object's linkage table until then), are the loader's work: it asks
 * libc's symbol table. So the definition in that table is changed too, before everything else. Then
 * dlopen needs no hook, and knows its caller (whose RPATH, RUNPATH, $ORIGIN and namespace count) as
 * it always did; dlsym finds the replacement; a lazy word that is bound while we are at work, or
 * bound again by dlopen with RTLD_NOW, gets it; and nothing has to be undone by dlclose.
 *
 * A word with any other address is left alone: other code has patched it before. The exception is a
 * function of the same name that the linker prefers to libc's, if the patch names it (interposer):
 * words with its address, and its definition, are changed, too.
 *
 * Words in read-only pages (RELRO, the symbol table) are written with the protection lifted for the
 * moment, and given back what /proc/self/maps has shown.
 *
 * Threading: under the loader's lock of its list of objects, which keeps them from going. Another
 * thread may be in the middle of dlopen, relocating an object that is in the list already. Its
 * RELRO is still writable, and will not be at any moment: such words are passed over. What it has
 * bound before we came is found when apply is called the next time.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/arch/relocation.h"
#include "opal/mca/base/component.h"
#include "opal/mca/patcher/base/image.h"
#include "opal/mca/patcher/patcher.h"
#include "opal/util/maps.h"
#include "opal/util/say.h"

typedef _Atomic(uintptr_t) word_t;

enum { PRIORITY = 60, MOST_RANGES = 32 };

/* Pages with one protection. */
typedef struct range {
    uintptr_t start, end;
    int protection;
} range_t;

typedef struct pass {
    opal_patch_t *const *patches;
    size_t count;
    /* Of the object that was written to last, as they were then; perhaps not all of them. */
    uintptr_t base;
    range_t ranges[MOST_RANGES];
    size_t range_count;
} pass_t;

/* What came of a word. */
typedef enum outcome {
    WRITTEN,
    NOT_READY, /* another thread's dlopen has it in hand */
    REFUSED,   /* errno says why */
} outcome_t;

/* -- protections ------------------------------------------------------------------ */

typedef struct search {
    pass_t *pass;
    const opal_image_t *image;
} search_t;

static bool note_range(const opal_mapping_t *mapping, void *context)
{
    search_t *search = context;
    pass_t *pass = search->pass;
    /* A segment may begin behind the start of its first page, and end before that of its last. */
    if (opal_image_holds(search->image, mapping->start) ||
        opal_image_holds(search->image, mapping->end - 1))
        pass->ranges[pass->range_count++] =
            (range_t){mapping->start, mapping->end, mapping->protection};
    return pass->range_count < MOST_RANGES;
}

static const range_t *find_range(const pass_t *pass, uintptr_t address)
{
    for (size_t i = 0; i < pass->range_count; i++) {
        if (address - pass->ranges[i].start < pass->ranges[i].end - pass->ranges[i].start)
            return &pass->ranges[i];
    }
    return NULL;
}

/* The ranges of an object are read once: an old answer will do, since we put back what it says. */
static const range_t *range_of(pass_t *pass, const opal_image_t *image, uintptr_t address)
{
    opal_mapping_t mapping;
    if (pass->base != image->base || pass->range_count == 0) {
        search_t search = {pass, image};
        pass->base = image->base;
        pass->range_count = 0;
        opal_maps_walk(note_range, &search);
    }
    const range_t *found = find_range(pass, address);
    if (found != NULL || !opal_maps_find((void *)address, &mapping))
        return found;
    size_t last = pass->range_count < MOST_RANGES ? pass->range_count++ : MOST_RANGES - 1;
    pass->ranges[last] = (range_t){mapping.start, mapping.end, mapping.protection};
    return &pass->ranges[last];
}

/* -- words ------------------------------------------------------------------------ */

static outcome_t write_protected(const range_t *range, word_t *word, uintptr_t value)
{
    size_t page_bytes = (size_t)getpagesize();
    void *page = (void *)((uintptr_t)word & ~(page_bytes - 1));
    if (mprotect(page, page_bytes, range->protection | PROT_WRITE) != 0)
        return REFUSED;
    atomic_store(word, value);
    return mprotect(page, page_bytes, range->protection) == 0 ? WRITTEN : REFUSED;
}

static outcome_t write_word(pass_t *pass, const opal_image_t *image, word_t *word, uintptr_t value)
{
    uintptr_t address = (uintptr_t)word;
    if (address % sizeof *word != 0) {
        errno = EFAULT;
        return REFUSED;
    }
    const range_t *range = range_of(pass, image, address);
    if (range == NULL) {
        errno = ENOENT;
        return REFUSED;
    }
    if ((range->protection & PROT_WRITE) == 0)
        return write_protected(range, word, value);
    if (opal_image_is_relro(image, address))
        return NOT_READY;
    atomic_store(word, value);
    return WRITTEN;
}

static void give_reason(opal_patch_t *patch, const char *what, const char *where, const char *why)
{
    opal_say_into(patch->reason, sizeof patch->reason, "%s %s %s", what,
                  where[0] != 0 ? where : "the program", why);
}

/* -- relocations ------------------------------------------------------------------ */

static opal_patch_t *find_patch(const pass_t *pass, const char *symbol)
{
    for (size_t i = 0; i < pass->count; i++) {
        opal_patch_t *patch = pass->patches[i];
        if (patch != NULL && patch->original != NULL && strcmp(patch->symbol, symbol) == 0)
            return patch;
    }
    return NULL;
}

static void patch_relocation(pass_t *pass, const opal_image_t *image, const ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(relocation->r_info)];
    opal_patch_t *patch = find_patch(pass, image->strings + symbol->st_name);
    if (patch == NULL || relocation->r_addend != 0)
        return;
    word_t *word = (word_t *)(image->base + relocation->r_offset);
    uintptr_t value = atomic_load(word), replacement = (uintptr_t)patch->replacement;
    if (value == replacement)
        return;
    if (value != (uintptr_t)patch->original && value != (uintptr_t)patch->interposer) {
        opal_mapping_t owner;
        if (!opal_image_holds(image, value) && opal_maps_find((void *)value, &owner))
            give_reason(patch, "some calls go to", owner.name, "instead of libc");
        return;
    }
    outcome_t outcome = write_word(pass, image, word, replacement);
    patch->slots += outcome == WRITTEN;
    if (outcome == REFUSED)
        give_reason(patch, "a relocation of", image->name, "cannot be written");
}

static int visit_object(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    pass_t *pass = context;
    opal_image_t image;
    if (!opal_image_read(&image, info))
        return 0;
    for (size_t table = 0; table < OPAL_COUNT_OF(image.relocations); table++) {
        for (size_t i = 0; i < image.relocations[table].count; i++) {
            const ElfW(Rela) *relocation = &image.relocations[table].first[i];
            if (opal_relocation_is_address((unsigned)ELF64_R_TYPE(relocation->r_info)))
                patch_relocation(pass, &image, relocation);
        }
    }
    return 0;
}

/* -- definitions ------------------------------------------------------------------ */

static void patch_definition(pass_t *pass, const opal_image_t *image, opal_patch_t *patch,
                             const void *function)
{
    uintptr_t value = (uintptr_t)patch->replacement - image->base;
    for (ElfW(Sym) *symbol = NULL;
         (symbol = opal_image_definition(image, patch->symbol, symbol)) != NULL;) {
        if (image->base + symbol->st_value != (uintptr_t)function)
            continue;
        if (write_word(pass, image, (word_t *)(void *)&symbol->st_value, value) != WRITTEN)
            give_reason(patch, "the symbols of", image->name, "cannot be written");
    }
}

static int visit_definitions(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    pass_t *pass = context;
    opal_image_t image;
    if (!opal_image_read(&image, info))
        return 0;
    bool is_libc = opal_image_is_libc(&image);
    for (size_t i = 0; i < pass->count; i++) {
        opal_patch_t *patch = pass->patches[i];
        if (patch == NULL || patch->original == NULL)
            continue;
        if (is_libc)
            patch_definition(pass, &image, patch, patch->original);
        else if (patch->interposer != NULL &&
                 opal_image_holds(&image, (uintptr_t)patch->interposer))
            patch_definition(pass, &image, patch, patch->interposer);
    }
    return is_libc;
}

static void reloc_apply(void *state OPAL_UNUSED, opal_patch_t *const *patches, size_t count)
{
    int saved_errno = errno;
    pass_t pass = {.patches = patches, .count = count};
    for (size_t i = 0; i < count; i++) {
        if (patches[i] != NULL)
            patches[i]->reason[0] = 0;
    }
    dl_iterate_phdr(visit_definitions, &pass);
    dl_iterate_phdr(visit_object, &pass);
    errno = saved_errno;
}

/* -- the component ---------------------------------------------------------------- */

static const opal_patcher_ops_t reloc_ops = {.apply = reloc_apply};

/* By hand instead of by opal_answer_yes, which uses stdio. */
static void reloc_query(opal_answer_t *answer)
{
    *answer = (opal_answer_t){
        .usable = true,
        .priority = PRIORITY,
        .ops = &reloc_ops,
        .reason = "reaches what objects call, and needs no knowledge of the processor",
    };
    for (unsigned type = 0; !opal_relocation_is_address(type); type++) {
        enum { TYPES = 4096 };
        if (type == TYPES) {
            *answer = (opal_answer_t){.reason = "the relocations of this processor are not known"};
            return;
        }
    }
}

const opal_component_t mca_patcher_reloc_component = {
    OPAL_COMPONENT_HEAD(patcher, reloc),
    .prose = "changes where the loaded objects look functions up",
    .query = reloc_query,
};
