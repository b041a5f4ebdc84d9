/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line programs. "DWARF" below is the standard "DWARF Debugging Information Format", version 5,
 * section 6.2, and appendix E for what older versions have.
 *
 * Operations of machines with several operations in an instruction (VLIW) are not told apart.
 */
#include "opal/lines/line_table.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    OPCODES_MAX = 256,
    FORMATS_MAX = 16,
    HUGE_LINE = 1 << 30, /* damaged */
};

/* What an entry of the tables of files and directories has (version 5). */
enum { CONTENT_PATH = 1, CONTENT_DIRECTORY = 2 };

enum { /* forms of values */
       FORM_BLOCK2 = 0x03,
       FORM_BLOCK4 = 0x04,
       FORM_DATA2 = 0x05,
       FORM_DATA4 = 0x06,
       FORM_DATA8 = 0x07,
       FORM_STRING = 0x08,
       FORM_BLOCK = 0x09,
       FORM_BLOCK1 = 0x0a,
       FORM_DATA1 = 0x0b,
       FORM_STRP = 0x0e,
       FORM_UDATA = 0x0f,
       FORM_STRX = 0x1a,
       FORM_DATA16 = 0x1e,
       FORM_LINE_STRP = 0x1f,
       FORM_STRX1 = 0x25, /* and STRX2, STRX3, STRX4 behind it */
       FORM_STRX4 = 0x28,
};

enum { /* operations */
       OP_EXTENDED,
       OP_COPY,
       OP_ADVANCE_PC,
       OP_ADVANCE_LINE,
       OP_SET_FILE,
       OP_SET_COLUMN,
       OP_NEGATE_STMT,
       OP_SET_BASIC_BLOCK,
       OP_CONST_ADD_PC,
       OP_FIXED_ADVANCE_PC,
};

enum { EXTENDED_END_SEQUENCE = 1, EXTENDED_SET_ADDRESS = 2 };

typedef struct row {
    uint64_t address;
    uint64_t file, line; /* line 0: code that is of no line */
    bool is_end;         /* the first address behind the sequence */
} row_t;

typedef struct program {
    opal_cursor_t code;               /* what is left of it */
    opal_cursor_t directories, files; /* begin at the tables */
    unsigned version, offset_bytes, min_instruction, line_range, opcode_base;
    int line_base;
    unsigned char lengths[OPCODES_MAX]; /* the number of arguments of each operation */
    row_t row;                          /* the registers of the line machine */
} program_t;

typedef struct sequence {
    uint64_t low, high; /* high: the first address behind it */
    uint64_t unit;      /* offset of the program */
} sequence_t;

struct opal_line_table {
    opal_bytes_t lines, line_strings, strings;
    sequence_t *sequences; /* sorted by low */
    size_t count, room;
};

/* -- the head of a program ------------------------------------------------------------------- */

typedef struct format {
    unsigned count;
    struct {
        uint64_t content, form;
    } of[FORMATS_MAX];
} format_t;

static format_t read_format(opal_cursor_t *cursor)
{
    format_t format = {.count = (unsigned)opal_cursor_number(cursor, 1)};
    if (format.count > FORMATS_MAX)
        opal_cursor_fail(cursor);
    if (cursor->failed)
        format.count = 0;
    for (unsigned i = 0; i < format.count; i++) {
        format.of[i].content = opal_cursor_uleb(cursor);
        format.of[i].form = opal_cursor_uleb(cursor);
    }
    return format;
}

typedef struct entry {
    const char *path;
    uint64_t directory;
} entry_t;

/* A value of a form: as a string, else as a number. A form that is not known fails the cursor,
 * because its length is not known. */
static const char *read_value(const opal_line_table_t *table, unsigned offset_bytes,
                              opal_cursor_t *cursor, uint64_t form, uint64_t *number)
{
    *number = 0;
    switch (form) {
    case FORM_STRING:
        return opal_cursor_string(cursor);
    case FORM_LINE_STRP:
        return opal_bytes_string(table->line_strings, opal_cursor_number(cursor, offset_bytes));
    case FORM_STRP:
        return opal_bytes_string(table->strings, opal_cursor_number(cursor, offset_bytes));
    case FORM_UDATA:
    case FORM_STRX:
        *number = opal_cursor_uleb(cursor);
        return "";
    case FORM_DATA1:
    case FORM_DATA2:
    case FORM_DATA4:
    case FORM_DATA8:
        *number = opal_cursor_number(cursor, form == FORM_DATA1   ? 1
                                             : form == FORM_DATA2 ? 2
                                             : form == FORM_DATA4 ? 4
                                                                  : 8);
        return "";
    case FORM_DATA16:
        opal_cursor_take(cursor, 16);
        return "";
    case FORM_BLOCK:
        opal_cursor_take(cursor, opal_cursor_uleb(cursor));
        return "";
    case FORM_BLOCK1:
    case FORM_BLOCK2:
    case FORM_BLOCK4:
        opal_cursor_take(cursor, opal_cursor_number(cursor, form == FORM_BLOCK1   ? 1
                                                            : form == FORM_BLOCK2 ? 2
                                                                                  : 4));
        return "";
    default:
        if (form >= FORM_STRX1 && form <= FORM_STRX4)
            opal_cursor_take(cursor, form - FORM_STRX1 + 1);
        else
            opal_cursor_fail(cursor);
        return "";
    }
}

static entry_t read_entry(const opal_line_table_t *table, const program_t *program,
                          const format_t *format, opal_cursor_t *cursor)
{
    entry_t entry = {.path = ""};
    for (unsigned i = 0; i < format->count; i++) {
        uint64_t number;
        const char *string =
            read_value(table, program->offset_bytes, cursor, format->of[i].form, &number);
        if (format->of[i].content == CONTENT_PATH)
            entry.path = string;
        else if (format->of[i].content == CONTENT_DIRECTORY)
            entry.directory = number;
    }
    return entry;
}

/* The cursor is at the table of directories; the table of files is behind it. */
static void skip_directories(const opal_line_table_t *table, const program_t *program,
                             opal_cursor_t *cursor)
{
    if (program->version < 5) {
        while (*opal_cursor_string(cursor) != 0)
            continue;
        return;
    }
    format_t format = read_format(cursor);
    uint64_t count = opal_cursor_uleb(cursor);
    for (uint64_t i = 0; i < count && !cursor->failed && format.count > 0; i++)
        read_entry(table, program, &format, cursor);
}

/* The bytes of a unit, and the size of its offsets. Moves the cursor behind it. */
static opal_cursor_t take_unit(opal_cursor_t *cursor, unsigned *offset_bytes)
{
    uint64_t length = opal_cursor_number(cursor, 4);
    *offset_bytes = 4;
    if (length == 0xffffffff) {
        *offset_bytes = 8;
        length = opal_cursor_number(cursor, 8);
    }
    const unsigned char *at = opal_cursor_take(cursor, length);
    opal_cursor_t unit = {at, at + (at != NULL ? length : 0), at == NULL};
    return unit;
}

static void reset(row_t *row)
{
    *row = (row_t){.file = 1, .line = 1};
}

/* Moves the cursor behind the unit. False: it is damaged, or of a version that is not known. */
static bool read_head(const opal_line_table_t *table, opal_cursor_t *cursor, program_t *program)
{
    opal_cursor_t unit = take_unit(cursor, &program->offset_bytes);
    program->version = (unsigned)opal_cursor_number(&unit, 2);
    if (program->version < 2 || program->version > 5)
        return false;
    if (program->version == 5)
        opal_cursor_take(&unit, 2); /* sizes of addresses and of segment selectors */
    uint64_t length = opal_cursor_number(&unit, program->offset_bytes);
    program->code = unit;
    opal_cursor_take(&program->code, length);
    program->min_instruction = (unsigned)opal_cursor_number(&unit, 1);
    if (program->version >= 4)
        opal_cursor_take(&unit, 1); /* operations in an instruction */
    opal_cursor_take(&unit, 1);     /* default_is_stmt */
    program->line_base = (int)opal_cursor_number(&unit, 1);
    if (program->line_base >= 0x80) /* it is signed */
        program->line_base -= 0x100;
    program->line_range = (unsigned)opal_cursor_number(&unit, 1);
    program->opcode_base = (unsigned)opal_cursor_number(&unit, 1);
    memset(program->lengths, 0, sizeof program->lengths);
    for (unsigned i = 1; i < program->opcode_base; i++)
        program->lengths[i] = (unsigned char)opal_cursor_number(&unit, 1);
    program->directories = program->files = unit;
    skip_directories(table, program, &program->files);
    reset(&program->row);
    return !program->code.failed && !unit.failed && program->line_range > 0 &&
           program->opcode_base > 0;
}

/* -- running a program ------------------------------------------------------------------------- */

static void advance(program_t *program, uint64_t operations)
{
    program->row.address += operations * program->min_instruction;
}

/* True: it made a row. */
static bool run_extended(program_t *program)
{
    uint64_t length = opal_cursor_uleb(&program->code);
    const unsigned char *at = opal_cursor_take(&program->code, length);
    if (at == NULL || length == 0)
        return false;
    opal_cursor_t operation = {at + 1, at + length, false};
    if (*at == EXTENDED_SET_ADDRESS)
        program->row.address = opal_cursor_number(&operation, (unsigned)length - 1);
    program->row.is_end = *at == EXTENDED_END_SEQUENCE;
    return program->row.is_end;
}

/* True: it made a row. */
static bool run_standard(program_t *program, unsigned opcode)
{
    opal_cursor_t *code = &program->code;
    switch (opcode) {
    case OP_EXTENDED:
        return run_extended(program);
    case OP_COPY:
        return true;
    case OP_ADVANCE_PC:
        advance(program, opal_cursor_uleb(code));
        return false;
    case OP_ADVANCE_LINE:
        program->row.line += (uint64_t)opal_cursor_sleb(code);
        return false;
    case OP_SET_FILE:
        program->row.file = opal_cursor_uleb(code);
        return false;
    case OP_CONST_ADD_PC:
        advance(program, (255 - program->opcode_base) / program->line_range);
        return false;
    case OP_FIXED_ADVANCE_PC:
        program->row.address += opal_cursor_number(code, 2);
        return false;
    default:
        for (unsigned i = 0; i < program->lengths[opcode]; i++)
            opal_cursor_uleb(code);
        return false;
    }
}

/* The next row that the program makes. False: it has ended, or is damaged. */
static bool next_row(program_t *program, row_t *row)
{
    if (program->row.is_end)
        reset(&program->row);
    while (opal_cursor_left(&program->code) > 0) {
        unsigned opcode = (unsigned)opal_cursor_number(&program->code, 1);
        bool has_row = true;
        if (opcode >= program->opcode_base) {
            unsigned special = opcode - program->opcode_base;
            advance(program, special / program->line_range);
            program->row.line +=
                (uint64_t)(program->line_base + (int)(special % program->line_range));
        } else {
            has_row = run_standard(program, opcode);
        }
        if (program->code.failed)
            return false;
        if (has_row) {
            *row = program->row;
            return true;
        }
    }
    return false;
}

/* -- the table --------------------------------------------------------------------------------- */

static bool add_sequence(opal_line_table_t *table, sequence_t sequence)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : 2 * table->room;
        sequence_t *grown = realloc(table->sequences, room * sizeof *grown);
        if (grown == NULL)
            return false;
        table->sequences = grown;
        table->room = room;
    }
    table->sequences[table->count++] = sequence;
    return true;
}

/* Code that the linker has dropped begins at 0. */
static bool add_sequences(opal_line_table_t *table, program_t *program, uint64_t unit)
{
    row_t row;
    sequence_t sequence = {.unit = unit};
    for (bool is_first = true; next_row(program, &row); is_first = row.is_end) {
        if (is_first)
            sequence.low = row.address;
        sequence.high = row.address;
        if (row.is_end && sequence.low > 0 && sequence.low < sequence.high &&
            !add_sequence(table, sequence))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const sequence_t *left = a, *right = b;
    return left->low < right->low ? -1 : left->low > right->low;
}

static bool add_units(opal_line_table_t *table)
{
    program_t program;
    opal_cursor_t cursor = opal_cursor(table->lines);
    while (opal_cursor_left(&cursor) > 0) {
        uint64_t unit = (uint64_t)(cursor.at - table->lines.at);
        if (read_head(table, &cursor, &program) && !add_sequences(table, &program, unit))
            return false;
    }
    if (table->count > 0)
        qsort(table->sequences, table->count, sizeof *table->sequences, compare);
    return table->count > 0;
}

opal_line_table_t *opal_line_table_open(opal_elf_t *elf)
{
    opal_bytes_t lines = opal_elf_section(elf, ".debug_line").bytes;
    opal_line_table_t *table = lines.count > 0 ? calloc(1, sizeof *table) : NULL;
    if (table == NULL)
        return NULL;
    table->lines = lines;
    table->line_strings = opal_elf_section(elf, ".debug_line_str").bytes;
    table->strings = opal_elf_section(elf, ".debug_str").bytes;
    if (add_units(table))
        return table;
    opal_line_table_close(table);
    return NULL;
}

void opal_line_table_close(opal_line_table_t *table)
{
    if (table == NULL)
        return;
    free(table->sequences);
    free(table);
}

/* -- finding ----------------------------------------------------------------------------------- */

/* Entry `index` of the tables of files or directories, whose cursor is at its beginning. */
static entry_t find_entry(const opal_line_table_t *table, const program_t *program,
                          opal_cursor_t cursor, bool is_file, uint64_t index)
{
    const entry_t none = {.path = ""};
    entry_t entry = none;
    if (program->version >= 5) {
        format_t format = read_format(&cursor);
        uint64_t count = opal_cursor_uleb(&cursor);
        if (index >= count || format.count == 0)
            return none;
        for (uint64_t i = 0; i <= index && !cursor.failed; i++)
            entry = read_entry(table, program, &format, &cursor);
        return cursor.failed ? none : entry;
    }
    /* Counted from 1; directory 0 is that of the compiler, which .debug_info knows alone. */
    for (uint64_t i = 1; i <= index; i++) {
        entry.path = opal_cursor_string(&cursor);
        if (*entry.path == 0)
            return none;
        if (is_file) {
            entry.directory = opal_cursor_uleb(&cursor);
            opal_cursor_uleb(&cursor); /* time */
            opal_cursor_uleb(&cursor); /* size */
        }
    }
    return index == 0 || cursor.failed ? none : entry;
}

/* Puts `name` in front of the path, if the path is not absolute. */
static void prepend(char **path, const char *begin, const char *name)
{
    size_t length = strlen(name);
    if (**path == '/' || length == 0)
        return;
    if (**path != 0 && *path > begin)
        *--*path = '/';
    if (length > (size_t)(*path - begin)) {
        name += length - (size_t)(*path - begin);
        length = (size_t)(*path - begin);
    }
    *path -= length;
    memcpy(*path, name, length);
}

static void write_path(const opal_line_table_t *table, const program_t *program, uint64_t index,
                       char file[OPAL_LINES_FILE_BYTES])
{
    char text[OPAL_LINES_FILE_BYTES];
    char *path = text + sizeof text - 1;
    *path = 0;
    entry_t entry = find_entry(table, program, program->files, true, index);
    prepend(&path, text, entry.path);
    if (*path != 0) {
        prepend(&path, text,
                find_entry(table, program, program->directories, false, entry.directory).path);
        if (program->version >= 5)
            prepend(&path, text, find_entry(table, program, program->directories, false, 0).path);
    }
    memmove(file, path, strlen(path) + 1);
}

/* Line 0 is code that the compiler has made up: it counts to the line before it. */
static bool find_row(program_t *program, const sequence_t *sequence, uint64_t address, row_t *found)
{
    row_t row;
    bool is_first = true, is_inside = false;
    *found = (row_t){0};
    for (; next_row(program, &row); is_first = row.is_end) {
        if (is_first) {
            is_inside = row.address == sequence->low;
            *found = (row_t){0};
        }
        if (is_inside && row.address > address)
            return found->line > 0;
        if (row.line > 0 && row.line < HUGE_LINE)
            *found = row;
    }
    return false;
}

unsigned opal_line_table_find(const opal_line_table_t *table, uint64_t address,
                              char file[OPAL_LINES_FILE_BYTES])
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->sequences[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= table->sequences[low - 1].high)
        return 0;
    program_t program;
    row_t row;
    const sequence_t *sequence = &table->sequences[low - 1];
    opal_cursor_t cursor = opal_cursor_from(table->lines, sequence->unit);
    if (!read_head(table, &cursor, &program) || !find_row(&program, sequence, address, &row))
        return 0;
    write_path(table, &program, row.file, file);
    return (unsigned)row.line;
}
