/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads ELF files. All numbers of the file are checked before they are used: against the size of
 * the file, and tables against the size of their sections.
 */
#include "opal/lines/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/hex.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#else
#define MACHINE EM_NONE
#endif

enum {
    MOST_SECTION_BYTES = 0x7fffffff,
    MOST_PATH_BYTES = PATH_MAX,
    BUILD_ID_BYTES = 64, /* at most; mostly 20 */
};

typedef struct symbol {
    uint64_t address, bytes; /* bytes may be 0: not known */
    uint32_t name;           /* its offset in `strings` */
    unsigned rank;           /* of several at an address, the lowest is the best */
} symbol_t;

struct opal_elf {
    int fd;
    uint64_t bytes; /* of the file */
    Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Shdr *sections;
    unsigned char **contents; /* of each section; NULL: not read */
    size_t section_count, names;
    symbol_t *symbols; /* sorted by address, then by rank */
    size_t symbol_count;
    opal_bytes_t strings;
    bool has_symbols; /* they were looked for */
};

/* All of the bytes of the file, or NULL. The caller frees them. */
static void *read_at(const opal_elf_t *elf, uint64_t offset, uint64_t count)
{
    if (count == 0 || count > MOST_SECTION_BYTES || offset > elf->bytes ||
        count > elf->bytes - offset)
        return NULL;
    unsigned char *bytes = malloc(count);
    for (uint64_t have = 0; bytes != NULL && have < count;) {
        ssize_t got = pread(elf->fd, bytes + have, count - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        have += (uint64_t)got;
    }
    return bytes;
}

static bool is_ours(const Elf64_Ehdr *header)
{
    const uint16_t one = 1;
    unsigned order = *(const unsigned char *)&one == 1 ? ELFDATA2LSB : ELFDATA2MSB;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == order &&
           header->e_machine == MACHINE && header->e_phentsize == sizeof(Elf64_Phdr) &&
           (header->e_shnum == 0 || header->e_shentsize == sizeof(Elf64_Shdr));
}

/* A file without sections, or with damaged ones, is an ELF file, too. */
static void read_sections(opal_elf_t *elf, const Elf64_Ehdr *header)
{
    elf->sections = read_at(elf, header->e_shoff, header->e_shnum * sizeof *elf->sections);
    if (elf->sections == NULL)
        return;
    elf->contents = calloc(header->e_shnum, sizeof *elf->contents);
    elf->section_count = elf->contents != NULL ? header->e_shnum : 0;
    elf->names = header->e_shstrndx;
}

static bool read_headers(opal_elf_t *elf)
{
    Elf64_Ehdr *header = read_at(elf, 0, sizeof *header);
    bool is_good = header != NULL && is_ours(header);
    if (is_good) {
        elf->segments = read_at(elf, header->e_phoff, header->e_phnum * sizeof *elf->segments);
        elf->segment_count = elf->segments != NULL ? header->e_phnum : 0;
        read_sections(elf, header);
    }
    free(header);
    return is_good;
}

opal_elf_t *opal_elf_open(const char *path)
{
    struct stat status;
    opal_elf_t *elf = calloc(1, sizeof *elf);
    if (elf == NULL)
        return NULL;
    /* Non-blocking: a path of a damaged map may be that of a pipe. */
    elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (elf->fd >= 0 && fstat(elf->fd, &status) == 0 && S_ISREG(status.st_mode)) {
        elf->bytes = (uint64_t)status.st_size;
        if (read_headers(elf))
            return elf;
    }
    opal_elf_close(elf);
    return NULL;
}

void opal_elf_close(opal_elf_t *elf)
{
    if (elf == NULL)
        return;
    for (size_t i = 0; i < elf->section_count; i++)
        free(elf->contents[i]);
    free(elf->contents);
    free(elf->sections);
    free(elf->segments);
    free(elf->symbols);
    if (elf->fd >= 0)
        close(elf->fd);
    free(elf);
}

/* -- sections ---------------------------------------------------------------------------------- */

static opal_section_t section_at(opal_elf_t *elf, size_t index)
{
    if (index >= elf->section_count)
        return (opal_section_t){0};
    const Elf64_Shdr *header = &elf->sections[index];
    opal_section_t section = {.address = header->sh_addr,
                              .is_compressed = (header->sh_flags & SHF_COMPRESSED) != 0};
    if (section.is_compressed || header->sh_type == SHT_NOBITS)
        return section;
    if (elf->contents[index] == NULL)
        elf->contents[index] = read_at(elf, header->sh_offset, header->sh_size);
    if (elf->contents[index] != NULL)
        section.bytes = (opal_bytes_t){elf->contents[index], header->sh_size};
    return section;
}

opal_section_t opal_elf_section(opal_elf_t *elf, const char *name)
{
    opal_bytes_t names = section_at(elf, elf->names).bytes;
    for (size_t i = 1; i < elf->section_count; i++) {
        if (strcmp(opal_bytes_string(names, elf->sections[i].sh_name), name) == 0)
            return section_at(elf, i);
    }
    return (opal_section_t){0};
}

bool opal_elf_address(const opal_elf_t *elf, uint64_t file_offset, uint64_t *address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        /* The pages of a segment begin before it, and end behind it. The executable one is what is
         * asked for: another one may share a page with it. */
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        if (file_offset >= segment->p_offset &&
            file_offset - segment->p_offset < segment->p_filesz) {
            *address = file_offset - segment->p_offset + segment->p_vaddr;
            return true;
        }
    }
    return false;
}

/* -- symbols ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const symbol_t *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static unsigned rank_of(unsigned binding)
{
    return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

/* Of a section that is a symbol table. False: it has no function. */
static bool read_table(opal_elf_t *elf, size_t index)
{
    opal_bytes_t table = section_at(elf, index).bytes;
    size_t count = table.count / sizeof(Elf64_Sym), used = 0;
    symbol_t *symbols = count > 0 ? malloc(count * sizeof *symbols) : NULL;
    if (symbols == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym entry;
        memcpy(&entry, table.at + i * sizeof entry, sizeof entry);
        unsigned type = ELF64_ST_TYPE(entry.st_info);
        if (entry.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        symbols[used++] = (symbol_t){entry.st_value, entry.st_size, entry.st_name,
                                     rank_of(ELF64_ST_BIND(entry.st_info))};
    }
    if (used == 0) {
        free(symbols);
        return false;
    }
    qsort(symbols, used, sizeof *symbols, compare);
    elf->symbols = symbols;
    elf->symbol_count = used;
    elf->strings = section_at(elf, elf->sections[index].sh_link).bytes;
    return true;
}

static void find_symbols(opal_elf_t *elf)
{
    static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    elf->has_symbols = true;
    for (size_t t = 0; t < OPAL_COUNT_OF(types); t++) {
        for (size_t i = 0; i < elf->section_count; i++) {
            if (elf->sections[i].sh_type == types[t] && read_table(elf, i))
                return;
        }
    }
}

/* The index of the first symbol behind the address. */
static size_t find_above(const opal_elf_t *elf, uint64_t address)
{
    size_t low = 0, high = elf->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (elf->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *opal_elf_function(opal_elf_t *elf, uint64_t address, uint64_t *offset)
{
    if (!elf->has_symbols)
        find_symbols(elf);
    size_t above = find_above(elf, address);
    if (above == 0)
        return NULL;
    /* The best of those with this address. */
    const symbol_t *symbol = &elf->symbols[above - 1];
    while (symbol > elf->symbols && symbol[-1].address == symbol->address)
        symbol--;
    uint64_t inside = address - symbol->address;
    const char *name = opal_bytes_string(elf->strings, symbol->name);
    if ((symbol->bytes > 0 && inside >= symbol->bytes) || *name == 0)
        return NULL;
    *offset = inside;
    return name;
}

/* -- files with what was stripped ----------------------------------------------------------------
 */

opal_bytes_t opal_elf_build_id(opal_elf_t *elf)
{
    opal_cursor_t notes = opal_cursor(opal_elf_section(elf, ".note.gnu.build-id").bytes);
    uint64_t name_bytes = opal_cursor_number(&notes, 4);
    uint64_t id_bytes = opal_cursor_number(&notes, 4);
    uint64_t type = opal_cursor_number(&notes, 4);
    const unsigned char *name = opal_cursor_take(&notes, (name_bytes + 3) / 4 * 4);
    const unsigned char *id = opal_cursor_take(&notes, id_bytes);
    if (id == NULL || type != NT_GNU_BUILD_ID || name_bytes != 4 || memcmp(name, "GNU", 4) != 0 ||
        id_bytes < 2 || id_bytes > BUILD_ID_BYTES)
        return (opal_bytes_t){0};
    return (opal_bytes_t){id, (size_t)id_bytes};
}

/* One with this build id, or NULL. Without an id, every file will do. */
static opal_elf_t *open_same(const char *path, opal_bytes_t id)
{
    opal_elf_t *elf = opal_elf_open(path);
    if (elf == NULL)
        return NULL;
    opal_bytes_t other = opal_elf_build_id(elf);
    if (other.count == id.count && (id.count == 0 || memcmp(other.at, id.at, id.count) == 0))
        return elf;
    opal_elf_close(elf);
    return NULL;
}

static opal_elf_t *open_by_id(const char *root, const char *folder, opal_bytes_t id)
{
    char path[MOST_PATH_BYTES], name[2 * BUILD_ID_BYTES + 1];
    if (id.count == 0)
        return NULL;
    opal_hex_print(name, id.at, id.count);
    int length =
        snprintf(path, sizeof path, "%s%s/.build-id/%.2s/%s.debug", root, folder, name, name + 2);
    return length < (int)sizeof path ? open_same(path, id) : NULL;
}

opal_elf_t *opal_elf_open_debug(opal_elf_t *elf, const char *root, const char *folder,
                                const char *path)
{
    opal_bytes_t id = opal_elf_build_id(elf);
    opal_elf_t *debug = open_by_id(root, folder, id);
    const char *name = opal_bytes_string(opal_elf_section(elf, ".gnu_debuglink").bytes, 0);
    const char *slash = strrchr(path, '/');
    if (debug != NULL || *name == 0 || strchr(name, '/') != NULL || slash == NULL)
        return debug;
    const struct {
        const char *before, *behind;
    } places[] = {{"", ""}, {"", "/.debug"}, {folder, ""}};
    for (size_t i = 0; i < OPAL_COUNT_OF(places) && debug == NULL; i++) {
        char found[MOST_PATH_BYTES];
        int length = snprintf(found, sizeof found, "%s%s%.*s%s/%s", root, places[i].before,
                              (int)(slash - path), path, places[i].behind, name);
        if (length < (int)sizeof found && strcmp(found + strlen(root), path) != 0)
            debug = open_same(found, id);
    }
    return debug;
}
