/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loaded object as the loader sees it: its relocations, its symbols and its addresses. For the
 * components of patcher.
 *
 * An image is a view of what dl_iterate_phdr reports, valid while its callback runs (the object may
 * be unloaded later). Nothing is allocated.
 */
#ifndef OPAL_MCA_PATCHER_BASE_IMAGE_H
#define OPAL_MCA_PATCHER_BASE_IMAGE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct opal_image {
    const char *name; /* path; "" for the program itself */
    uintptr_t base;   /* what the loader added to every address */
    const ElfW(Phdr) * headers;
    size_t header_count;
    ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;      /* NULL: none */
    const uint32_t *sysv_hash;     /* NULL: none */
    const ElfW(Versym) * versions; /* of `symbols`; NULL: none */
    struct {
        const ElfW(Rela) * first;
        size_t count;
    } relocations[2]; /* of the procedure linkage table, and all others */
} opal_image_t;

/* False: it has no dynamic symbols, or none in the format that we know. */
bool opal_image_read(opal_image_t *image, const struct dl_phdr_info *info);

/* Whether an address lies in one of its segments. */
bool opal_image_holds(const opal_image_t *image, uintptr_t address);

/* Whether the loader makes this address read-only when it is done with relocating. */
bool opal_image_is_relro(const opal_image_t *image, uintptr_t address);

bool opal_image_is_libc(const opal_image_t *image);

/*
 * Its definition of a symbol by any name and version; NULL: none. Behind `last` (NULL: from the
 * first on): one symbol may have several entries, one a version.
 */
ElfW(Sym) *
    opal_image_definition(const opal_image_t *image, const char *name, const ElfW(Sym) * last);

/* The address of the function that it defines by this name, in the version that a program linked
 * today gets; NULL: none, or one whose code is chosen by an indirection. */
void *opal_image_function(const opal_image_t *image, const char *name);

#endif
