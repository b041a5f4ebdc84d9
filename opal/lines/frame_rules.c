/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * .eh_frame is a list of entries: CIEs, which are what several functions have in common, and FDEs,
 * one for a function, with a small program each, whose result is the rules at an address.
 * .eh_frame_hdr is a sorted table of the FDEs; without it all entries are looked through.
 */
#include "opal/lines/frame_rules.h"

enum { /* how a pointer is written: its size, and what it is relative to */
       PTR_ABSOLUTE = 0x00,
       PTR_ULEB = 0x01,
       PTR_U2 = 0x02,
       PTR_U4 = 0x03,
       PTR_U8 = 0x04,
       PTR_SLEB = 0x09,
       PTR_S2 = 0x0a,
       PTR_S4 = 0x0b,
       PTR_S8 = 0x0c,
       PTR_SIZE_MASK = 0x0f,
       PTR_TO_ITSELF = 0x10,
       PTR_TO_TABLE = 0x30,
       PTR_TO_MASK = 0x70,
       PTR_OMITTED = 0xff,
};

enum { /* operations; the three with the argument in the low bits come first */
       OP_ADVANCE = 0x40,
       OP_OFFSET = 0x80,
       OP_RESTORE = 0xc0,
       OP_NOP = 0x00,
       OP_SET_LOCATION = 0x01,
       OP_ADVANCE_1 = 0x02,
       OP_ADVANCE_2 = 0x03,
       OP_ADVANCE_4 = 0x04,
       OP_OFFSET_EXTENDED = 0x05,
       OP_RESTORE_EXTENDED = 0x06,
       OP_UNDEFINED = 0x07,
       OP_SAME_VALUE = 0x08,
       OP_REGISTER = 0x09,
       OP_REMEMBER_STATE = 0x0a,
       OP_RESTORE_STATE = 0x0b,
       OP_CFA = 0x0c,
       OP_CFA_REGISTER = 0x0d,
       OP_CFA_OFFSET = 0x0e,
       OP_CFA_EXPRESSION = 0x0f,
       OP_EXPRESSION = 0x10,
       OP_OFFSET_SIGNED = 0x11,
       OP_CFA_SIGNED = 0x12,
       OP_CFA_OFFSET_SIGNED = 0x13,
       OP_VALUE_OFFSET = 0x14,
       OP_VALUE_OFFSET_SIGNED = 0x15,
       OP_VALUE_EXPRESSION = 0x16,
       OP_RETURN_IS_SIGNED = 0x2d, /* aarch64: the return address carries a signature */
       OP_ARGUMENTS_SIZE = 0x2e,
};

enum { REMEMBERED_MAX = 16 };

typedef struct cie {
    opal_bytes_t program;
    uint64_t code_factor;
    int64_t data_factor;
    unsigned return_register, pointers; /* how pointers in FDEs are written */
    bool has_augmentation, is_signal_frame;
} cie_t;

typedef struct runner {
    const cie_t *cie;
    opal_section_t frames;
    uint64_t location, wanted;
    opal_frame_rules_t *rules;
    const opal_frame_rules_t *initial; /* those of the CIE */
    opal_frame_rules_t remembered[REMEMBERED_MAX];
    unsigned depth;
} runner_t;

/* `section` is what the cursor reads, `table` what some pointers are relative to. */
static uint64_t read_pointer(opal_cursor_t *cursor, unsigned written, opal_section_t section,
                             uint64_t table)
{
    uint64_t own = section.address + (uint64_t)(cursor->at - section.bytes.at), value = 0;
    switch (written & PTR_SIZE_MASK) {
    case PTR_ABSOLUTE:
    case PTR_U8:
    case PTR_S8:
        value = opal_cursor_number(cursor, 8);
        break;
    case PTR_ULEB:
        value = opal_cursor_uleb(cursor);
        break;
    case PTR_SLEB:
        value = (uint64_t)opal_cursor_sleb(cursor);
        break;
    case PTR_U2:
        value = opal_cursor_number(cursor, 2);
        break;
    case PTR_S2:
        value = (uint64_t)(int64_t)(int16_t)opal_cursor_number(cursor, 2);
        break;
    case PTR_U4:
        value = opal_cursor_number(cursor, 4);
        break;
    case PTR_S4:
        value = (uint64_t)(int64_t)(int32_t)opal_cursor_number(cursor, 4);
        break;
    default:
        opal_cursor_fail(cursor);
        break;
    }
    switch (written & PTR_TO_MASK) {
    case PTR_TO_ITSELF:
        return value + own;
    case PTR_TO_TABLE:
        return value + table;
    default:
        return value;
    }
}

/* -- entries ----------------------------------------------------------------------------------- */

/* The bytes of an entry, its id included, which are empty for the end of the list; and the offset
 * of the id. Moves the cursor behind the entry. */
static opal_cursor_t take_entry(opal_cursor_t *cursor, opal_bytes_t frames, uint64_t *id_offset)
{
    uint64_t length = opal_cursor_number(cursor, 4);
    if (length == 0xffffffff)
        length = opal_cursor_number(cursor, 8);
    *id_offset = (uint64_t)(cursor->at - frames.at);
    const unsigned char *at = opal_cursor_take(cursor, length);
    if (at == NULL)
        length = 0;
    return (opal_cursor_t){at, at + length, at == NULL};
}

static void read_augmentation(opal_cursor_t *entry, const char *letters, opal_section_t frames,
                              cie_t *cie)
{
    uint64_t length = opal_cursor_uleb(entry);
    const unsigned char *data = opal_cursor_take(entry, length);
    if (data == NULL)
        return;
    opal_cursor_t cursor = {data, data + length, false};
    for (; *letters != 0; letters++) {
        if (*letters == 'R') {
            cie->pointers = (unsigned)opal_cursor_number(&cursor, 1);
        } else if (*letters == 'L') {
            opal_cursor_number(&cursor, 1);
        } else if (*letters == 'P') {
            unsigned written = (unsigned)opal_cursor_number(&cursor, 1);
            read_pointer(&cursor, written, frames, 0);
        } else if (*letters == 'S') {
            cie->is_signal_frame = true;
        } else if (*letters != 'B') {
            return; /* its length is not known; the program is behind it all the same */
        }
    }
}

static bool read_cie(opal_section_t frames, uint64_t offset, cie_t *cie)
{
    uint64_t id_offset;
    opal_cursor_t cursor = opal_cursor_from(frames.bytes, offset);
    opal_cursor_t entry = take_entry(&cursor, frames.bytes, &id_offset);
    *cie = (cie_t){0};
    if (opal_cursor_number(&entry, 4) != 0)
        return false;
    unsigned version = (unsigned)opal_cursor_number(&entry, 1);
    const char *letters = opal_cursor_string(&entry);
    cie->code_factor = opal_cursor_uleb(&entry);
    cie->data_factor = opal_cursor_sleb(&entry);
    cie->return_register =
        version == 1 ? (unsigned)opal_cursor_number(&entry, 1) : (unsigned)opal_cursor_uleb(&entry);
    cie->has_augmentation = *letters == 'z';
    if (cie->has_augmentation)
        read_augmentation(&entry, letters + 1, frames, cie);
    cie->program = (opal_bytes_t){entry.at, opal_cursor_left(&entry)};
    return !entry.failed && (version == 1 || version == 3) && (*letters == 0 || *letters == 'z') &&
           cie->return_register < OPAL_FRAME_REGISTERS;
}

typedef struct fde {
    cie_t cie;
    uint64_t begin, bytes; /* of the function */
    opal_bytes_t program;
} fde_t;

/* Moves the cursor behind the entry. False: it is no FDE, or damaged. */
static bool read_fde(opal_section_t frames, opal_cursor_t *cursor, fde_t *fde)
{
    uint64_t id_offset;
    opal_cursor_t entry = take_entry(cursor, frames.bytes, &id_offset);
    uint64_t back = opal_cursor_number(&entry, 4);
    if (entry.failed || back == 0 || back > id_offset ||
        !read_cie(frames, id_offset - back, &fde->cie))
        return false;
    fde->begin = read_pointer(&entry, fde->cie.pointers, frames, 0);
    fde->bytes = read_pointer(&entry, fde->cie.pointers & PTR_SIZE_MASK, frames, 0);
    if (fde->cie.has_augmentation)
        opal_cursor_take(&entry, opal_cursor_uleb(&entry));
    fde->program = (opal_bytes_t){entry.at, opal_cursor_left(&entry)};
    return !entry.failed;
}

static bool holds(const fde_t *fde, uint64_t address)
{
    return address >= fde->begin && address - fde->begin < fde->bytes;
}

/* By the sorted table. False: there is none, or not that function in it. */
static bool find_by_table(opal_elf_t *elf, opal_section_t frames, uint64_t address, fde_t *fde)
{
    enum { ROW_BYTES = 8 };
    opal_section_t table = opal_elf_section(elf, ".eh_frame_hdr");
    opal_cursor_t cursor = opal_cursor(table.bytes);
    unsigned version = (unsigned)opal_cursor_number(&cursor, 1);
    unsigned pointer = (unsigned)opal_cursor_number(&cursor, 1);
    unsigned counter = (unsigned)opal_cursor_number(&cursor, 1);
    unsigned rows = (unsigned)opal_cursor_number(&cursor, 1);
    read_pointer(&cursor, pointer, table, table.address);
    uint64_t count = read_pointer(&cursor, counter, table, table.address);
    if (cursor.failed || version != 1 || counter == PTR_OMITTED ||
        rows != (PTR_TO_TABLE | PTR_S4) || count == 0 ||
        count > opal_cursor_left(&cursor) / ROW_BYTES)
        return false;
    size_t low = 0, high = (size_t)count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        opal_cursor_t row = {cursor.at + middle * ROW_BYTES, cursor.end, false};
        if (read_pointer(&row, rows, table, table.address) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    opal_cursor_t row = {cursor.at + (low - 1) * ROW_BYTES, cursor.end, false};
    read_pointer(&row, rows, table, table.address);
    uint64_t at = read_pointer(&row, rows, table, table.address);
    opal_cursor_t entry = opal_cursor_from(frames.bytes, at - frames.address);
    return read_fde(frames, &entry, fde) && holds(fde, address);
}

static bool find_fde(opal_elf_t *elf, opal_section_t frames, uint64_t address, fde_t *fde)
{
    if (find_by_table(elf, frames, address, fde))
        return true;
    opal_cursor_t cursor = opal_cursor(frames.bytes);
    while (opal_cursor_left(&cursor) > 0) {
        if (read_fde(frames, &cursor, fde) && holds(fde, address))
            return true;
    }
    return false;
}

/* -- programs ---------------------------------------------------------------------------------- */

static opal_bytes_t take_expression(opal_cursor_t *cursor)
{
    uint64_t length = opal_cursor_uleb(cursor);
    const unsigned char *at = opal_cursor_take(cursor, length);
    return (opal_bytes_t){at, at != NULL ? (size_t)length : 0};
}

static void set_rule(runner_t *runner, uint64_t of, opal_rule_kind_t kind, int64_t offset)
{
    if (of < OPAL_FRAME_REGISTERS)
        runner->rules->of[of] = (opal_rule_t){.kind = kind, .offset = offset};
}

static void restore(runner_t *runner, uint64_t of)
{
    if (of < OPAL_FRAME_REGISTERS)
        runner->rules->of[of] = runner->initial->of[of];
}

static void set_cfa(runner_t *runner, uint64_t of, int64_t offset)
{
    runner->rules->cfa = (opal_rule_t){.kind = OPAL_RULE_REGISTER, .offset = (int64_t)of};
    runner->rules->cfa_offset = offset;
}

/* True: it moves the location; *by is how far. */
static bool is_advance(runner_t *runner, opal_cursor_t *code, unsigned op, uint64_t *by)
{
    uint64_t factor = runner->cie->code_factor;
    if ((op & 0xc0) == OP_ADVANCE)
        *by = (op & 0x3f) * factor;
    else if (op == OP_ADVANCE_1 || op == OP_ADVANCE_2 || op == OP_ADVANCE_4)
        *by = opal_cursor_number(code, 1u << (op - OP_ADVANCE_1)) * factor;
    else if (op == OP_SET_LOCATION)
        *by = read_pointer(code, runner->cie->pointers, runner->frames, 0) - runner->location;
    else
        return false;
    return true;
}

/* The operations on the CFA, and on the rules as a whole. False: it is none of them. */
static bool run_on_all(runner_t *runner, opal_cursor_t *code, unsigned op)
{
    int64_t factor = runner->cie->data_factor;
    uint64_t of;
    switch (op) {
    case OP_CFA:
        of = opal_cursor_uleb(code);
        set_cfa(runner, of, (int64_t)opal_cursor_uleb(code));
        return true;
    case OP_CFA_SIGNED:
        of = opal_cursor_uleb(code);
        set_cfa(runner, of, opal_cursor_sleb(code) * factor);
        return true;
    case OP_CFA_REGISTER:
        set_cfa(runner, opal_cursor_uleb(code), runner->rules->cfa_offset);
        return true;
    case OP_CFA_OFFSET:
        runner->rules->cfa_offset = (int64_t)opal_cursor_uleb(code);
        return true;
    case OP_CFA_OFFSET_SIGNED:
        runner->rules->cfa_offset = opal_cursor_sleb(code) * factor;
        return true;
    case OP_CFA_EXPRESSION:
        runner->rules->cfa =
            (opal_rule_t){.kind = OPAL_RULE_IS_EXPRESSION, .expression = take_expression(code)};
        return true;
    case OP_REMEMBER_STATE:
        if (runner->depth == REMEMBERED_MAX)
            opal_cursor_fail(code);
        else
            runner->remembered[runner->depth++] = *runner->rules;
        return true;
    case OP_RESTORE_STATE:
        if (runner->depth == 0)
            opal_cursor_fail(code);
        else
            *runner->rules = runner->remembered[--runner->depth];
        return true;
    case OP_ARGUMENTS_SIZE:
        opal_cursor_uleb(code);
        return true;
    case OP_NOP:
    case OP_RETURN_IS_SIGNED:
        return true;
    default:
        return false;
    }
}

/* The operations on one register. False: it is none that is known. */
static bool run_on_one(runner_t *runner, opal_cursor_t *code, unsigned op)
{
    int64_t factor = runner->cie->data_factor;
    if ((op & 0xc0) == OP_OFFSET) {
        set_rule(runner, op & 0x3f, OPAL_RULE_AT_OFFSET, (int64_t)opal_cursor_uleb(code) * factor);
        return true;
    }
    if ((op & 0xc0) == OP_RESTORE) {
        restore(runner, op & 0x3f);
        return true;
    }
    uint64_t of = opal_cursor_uleb(code);
    switch (op) {
    case OP_OFFSET_EXTENDED:
        set_rule(runner, of, OPAL_RULE_AT_OFFSET, (int64_t)opal_cursor_uleb(code) * factor);
        return true;
    case OP_OFFSET_SIGNED:
        set_rule(runner, of, OPAL_RULE_AT_OFFSET, opal_cursor_sleb(code) * factor);
        return true;
    case OP_VALUE_OFFSET:
        set_rule(runner, of, OPAL_RULE_IS_OFFSET, (int64_t)opal_cursor_uleb(code) * factor);
        return true;
    case OP_VALUE_OFFSET_SIGNED:
        set_rule(runner, of, OPAL_RULE_IS_OFFSET, opal_cursor_sleb(code) * factor);
        return true;
    case OP_RESTORE_EXTENDED:
        restore(runner, of);
        return true;
    case OP_UNDEFINED:
        set_rule(runner, of, OPAL_RULE_UNDEFINED, 0);
        return true;
    case OP_SAME_VALUE:
        set_rule(runner, of, OPAL_RULE_SAME, 0);
        return true;
    case OP_REGISTER:
        set_rule(runner, of, OPAL_RULE_REGISTER, (int64_t)opal_cursor_uleb(code));
        return true;
    case OP_EXPRESSION:
    case OP_VALUE_EXPRESSION:
        set_rule(runner, of,
                 op == OP_EXPRESSION ? OPAL_RULE_AT_EXPRESSION : OPAL_RULE_IS_EXPRESSION, 0);
        opal_bytes_t expression = take_expression(code);
        if (of < OPAL_FRAME_REGISTERS)
            runner->rules->of[of].expression = expression;
        return true;
    default:
        return false;
    }
}

/* Runs until the location is behind the wanted one. */
static bool run(runner_t *runner, opal_bytes_t program)
{
    uint64_t by;
    opal_cursor_t code = opal_cursor(program);
    while (opal_cursor_left(&code) > 0) {
        unsigned op = (unsigned)opal_cursor_number(&code, 1);
        if (is_advance(runner, &code, op, &by)) {
            if (runner->location + by > runner->wanted)
                break;
            runner->location += by;
        } else if (!run_on_all(runner, &code, op) && !run_on_one(runner, &code, op)) {
            return false;
        }
    }
    return !code.failed;
}

bool opal_frame_rules_find(opal_elf_t *elf, uint64_t address, opal_frame_rules_t *rules)
{
    fde_t fde;
    opal_frame_rules_t initial = {0};
    opal_section_t frames = opal_elf_section(elf, ".eh_frame");
    if (frames.bytes.count == 0 || !find_fde(elf, frames, address, &fde))
        return false;
    runner_t runner = {.cie = &fde.cie,
                       .frames = frames,
                       .location = fde.begin,
                       .wanted = address,
                       .rules = &initial,
                       .initial = &initial};
    initial.return_register = fde.cie.return_register;
    initial.is_signal_frame = fde.cie.is_signal_frame;
    if (!run(&runner, fde.cie.program))
        return false;
    *rules = initial;
    runner.rules = rules;
    return run(&runner, fde.program);
}
