/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic section, and lookups in either hash table. */
#include "opal/mca/patcher/base/image.h"

#include <string.h>
#include <unistd.h>

/* The loader adds the base to the addresses of a dynamic section, where that can be written. */
static uintptr_t dynamic_address(const opal_image_t *image, uintptr_t value)
{
    return opal_image_holds(image, value) ? value : value + image->base;
}

static void read_relocations(opal_image_t *image, size_t which, uintptr_t address, size_t bytes)
{
    image->relocations[which].first = (const ElfW(Rela) *)address;
    image->relocations[which].count = address != 0 ? bytes / sizeof(ElfW(Rela)) : 0;
}

static void read_dynamic(opal_image_t *image, const ElfW(Dyn) * entry)
{
    uintptr_t plt = 0, other = 0;
    size_t plt_bytes = 0, other_bytes = 0;
    bool plt_is_rela = true;
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
        case DT_SYMTAB:
            image->symbols = (ElfW(Sym) *)dynamic_address(image, value);
            break;
        case DT_STRTAB:
            image->strings = (const char *)dynamic_address(image, value);
            break;
        case DT_GNU_HASH:
            image->gnu_hash = (const uint32_t *)dynamic_address(image, value);
            break;
        case DT_HASH:
            image->sysv_hash = (const uint32_t *)dynamic_address(image, value);
            break;
        case DT_VERSYM:
            image->versions = (const ElfW(Versym) *)dynamic_address(image, value);
            break;
        case DT_JMPREL:
            plt = dynamic_address(image, value);
            break;
        case DT_PLTRELSZ:
            plt_bytes = value;
            break;
        case DT_PLTREL:
            plt_is_rela = value == DT_RELA;
            break;
        case DT_RELA:
            other = dynamic_address(image, value);
            break;
        case DT_RELASZ:
            other_bytes = value;
            break;
        default:
            break;
        }
    }
    read_relocations(image, 0, plt_is_rela ? plt : 0, plt_bytes);
    read_relocations(image, 1, other, other_bytes);
}

bool opal_image_read(opal_image_t *image, const struct dl_phdr_info *info)
{
    *image = (opal_image_t){
        .name = info->dlpi_name != NULL ? info->dlpi_name : "",
        .base = info->dlpi_addr,
        .headers = info->dlpi_phdr,
        .header_count = info->dlpi_phnum,
    };
    for (size_t i = 0; i < image->header_count; i++) {
        const ElfW(Phdr) *header = &image->headers[i];
        if (header->p_type == PT_DYNAMIC)
            read_dynamic(image, (const ElfW(Dyn) *)(image->base + header->p_vaddr));
    }
    return image->symbols != NULL && image->strings != NULL;
}

bool opal_image_holds(const opal_image_t *image, uintptr_t address)
{
    for (size_t i = 0; i < image->header_count; i++) {
        const ElfW(Phdr) *header = &image->headers[i];
        if (header->p_type == PT_LOAD && address - image->base - header->p_vaddr < header->p_memsz)
            return true;
    }
    return false;
}

bool opal_image_is_relro(const opal_image_t *image, uintptr_t address)
{
    uintptr_t mask = (uintptr_t)getpagesize() - 1;
    for (size_t i = 0; i < image->header_count; i++) {
        const ElfW(Phdr) *header = &image->headers[i];
        uintptr_t start = (image->base + header->p_vaddr) & ~mask;
        uintptr_t end = (image->base + header->p_vaddr + header->p_memsz) & ~mask;
        if (header->p_type == PT_GNU_RELRO && start <= address && address < end)
            return true;
    }
    return false;
}

bool opal_image_is_libc(const opal_image_t *image)
{
    return opal_image_definition(image, "__libc_start_main", NULL) != NULL;
}

/* -- lookup --------------------------------------------------------------------- */

static bool is_definition(const opal_image_t *image, const ElfW(Sym) * symbol, const char *name)
{
    return symbol->st_shndx != SHN_UNDEF && strcmp(image->strings + symbol->st_name, name) == 0;
}

/* Layout: buckets, index of the first symbol that is hashed, words of the filter, its shift; then
 * the filter, the buckets, and a chain word for each symbol whose lowest bit ends the chain. */
static ElfW(Sym) * find_gnu(const opal_image_t *image, const char *name, const ElfW(Sym) * last)
{
    const uint32_t *table = image->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], filter_words = table[2], hash = 5381;
    const uint32_t *buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    for (const unsigned char *c = (const unsigned char *)name; *c != 0; c++)
        hash = hash * 33 + *c;
    if (bucket_count == 0)
        return NULL;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first)
        return NULL;
    for (;; index++) {
        ElfW(Sym) *symbol = &image->symbols[index];
        if ((chains[index - first] | 1) == (hash | 1) && is_definition(image, symbol, name) &&
            (last == NULL || symbol > last))
            return symbol;
        if ((chains[index - first] & 1) != 0)
            return NULL;
    }
}

/* Layout: buckets, symbols; then the buckets and a chain word for each symbol, 0 ends it. Here it
 * only serves to know how many symbols there are. */
static ElfW(Sym) * find_sysv(const opal_image_t *image, const char *name, const ElfW(Sym) * last)
{
    uint32_t count = image->sysv_hash[1];
    for (uint32_t i = last != NULL ? (uint32_t)(last - image->symbols) + 1 : 1; i < count; i++) {
        if (is_definition(image, &image->symbols[i], name))
            return &image->symbols[i];
    }
    return NULL;
}

ElfW(Sym) *
    opal_image_definition(const opal_image_t *image, const char *name, const ElfW(Sym) * last)
{
    if (image->gnu_hash != NULL)
        return find_gnu(image, name, last);
    return image->sysv_hash != NULL ? find_sysv(image, name, last) : NULL;
}

void *opal_image_function(const opal_image_t *image, const char *name)
{
    enum { HIDDEN_VERSION = 0x8000 };
    for (const ElfW(Sym) *symbol = NULL;
         (symbol = opal_image_definition(image, name, symbol)) != NULL;) {
        bool is_default = image->versions == NULL ||
                          (image->versions[symbol - image->symbols] & HIDDEN_VERSION) == 0;
        if (is_default && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
            return (void *)(image->base + symbol->st_value);
    }
    return NULL;
}
