/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other code patches munmap or a function of malloc's family after us and before MPI_Init: the
 * argument names it, or is "none". Prints the support flags that MPI_Init then finds.
 */
#include <link.h>
#include <malloc.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/mca/memory/base/base.h"

extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static void keep(void *block)
{
    (void)block;
}

/* That of libc would not know our blocks. */
static void *move(void *block, size_t bytes)
{
    void *copy = __libc_malloc(bytes);
    size_t old_bytes = malloc_usable_size(block);
    if (copy != NULL && block != NULL)
        memcpy(copy, block, old_bytes < bytes ? old_bytes : bytes);
    free(block);
    return copy;
}

/* Not by libc, whose code leads to us. */
static int unmap(void *address, size_t bytes)
{
    return (int)syscall(SYS_munmap, address, bytes);
}

static int changed;

static void put(ElfW(Addr) slot, void *function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = slot / page * page;
    mprotect((void *)begin, page, PROT_READ | PROT_WRITE);
    *(void **)slot = function;
    changed++;
}

typedef struct change {
    const char *symbol;
    void *function;
} change_t;

static int change_object(struct dl_phdr_info *info, size_t size, void *context)
{
    const change_t *change = context;
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    struct {
        const ElfW(Rela) * first;
        size_t bytes;
    } tables[2] = {{0}};
    (void)size;
    if (strstr(info->dlpi_name, "libopen-pal.so") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *pointer = (const void *)dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = pointer;
        else if (dynamic->d_tag == DT_STRTAB)
            strings = pointer;
        else if (dynamic->d_tag == DT_JMPREL)
            tables[0].first = pointer;
        else if (dynamic->d_tag == DT_PLTRELSZ)
            tables[0].bytes = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELA)
            tables[1].first = pointer;
        else if (dynamic->d_tag == DT_RELASZ)
            tables[1].bytes = dynamic->d_un.d_val;
    }
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < tables[k].bytes / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *entry = &tables[k].first[i];
            if (ELF64_R_SYM(entry->r_info) != 0 &&
                strcmp(strings + symbols[ELF64_R_SYM(entry->r_info)].st_name, change->symbol) == 0)
                put(info->dlpi_addr + entry->r_offset, change->function);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *symbol;
        void *function;
    } changes[] = {{"malloc", __libc_malloc},
                   {"free", keep},
                   {"realloc", move},
                   {"memalign", __libc_memalign},
                   {"munmap", unmap}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        change_t change = {changes[i].symbol, changes[i].function};
        if (strcmp(argv[1], change.symbol) == 0)
            dl_iterate_phdr(change_object, &change);
    }
    MPI_Init(&argc, &argv);
    unsigned support = opal_memory_support();
    printf("changed=%d free=%d chunk=%d munmap=%d\n", changed > 0,
           (support & OPAL_MEMORY_FREE_SUPPORT) != 0, (support & OPAL_MEMORY_CHUNK_SUPPORT) != 0,
           (support & OPAL_MEMORY_MUNMAP_SUPPORT) != 0);
    return MPI_Finalize();
}
