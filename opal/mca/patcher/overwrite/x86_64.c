/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x86-64. A naturally aligned store of eight bytes is seen by other processors' fetches as a whole
 * or not at all, so one instruction can become another one under running threads as long as both
 * lie in one aligned word. An instruction of five bytes or more becomes
 *
 *     entry:    e9 <rel32>          jmp island
 *
 * a shorter one a short jump to what the compiler has left free before the function (functions are
 * aligned, and the gap is filled with instructions that are never executed):
 *
 *     padding:  e9 <rel32>          jmp island
 *     entry:    eb <rel8>           jmp padding
 *
 * No thread executes the rest of the old instruction behind the jump: threads are before the old
 * instruction or behind it. The old instruction is never needed again, so only its
 * length has to be understood.
 */
#ifdef __x86_64__

#include "opal/mca/patcher/overwrite/code.h"

#include <string.h>

enum { LONG_JUMP_BYTES = 5, SHORT_JUMP_BYTES = 2, WORD_BYTES = 8, ENDBR_BYTES = 4 };
enum { LONG_JUMP = 0xe9, SHORT_JUMP = 0xeb, BREAKPOINT = 0xcc, FUNCTION_ALIGNMENT = 16 };

const char *const overwrite_obstacle = NULL;
const size_t overwrite_reach_bytes = (size_t)1 << 30;
const size_t overwrite_island_bytes = 16;

/*     ff 25 00 00 00 00    jmp *0(%rip)
 *     <address>                                  */
void overwrite_make_island(unsigned char *island, const void *target)
{
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(island, jump, sizeof jump);
    memcpy(island + sizeof jump, &target, sizeof target);
}

/* -- reading code ---------------------------------------------------------------- */

/* Bytes of ModRM, SIB and displacement. */
static size_t operand_bytes(const unsigned char *modrm)
{
    unsigned mod = *modrm >> 6, rm = *modrm & 7;
    size_t sib = mod != 3 && rm == 4 ? 1 : 0;
    bool bare_displacement = mod == 0 && (rm == 5 || (sib != 0 && (modrm[1] & 7) == 5));
    if (mod == 2 || bare_displacement)
        return 1 + sib + 4;
    return 1 + sib + (mod == 1 ? 1 : 0);
}

/* Operations between registers and memory, without an immediate: add, or, and, sub, xor, cmp, mov
 * in the forms of 32 and 64 bits, test, lea, movslq. */
static bool has_only_operands(unsigned char opcode)
{
    static const unsigned char opcodes[] = {0x01, 0x03, 0x09, 0x0b, 0x21, 0x23, 0x29,
                                            0x2b, 0x31, 0x33, 0x39, 0x3b, 0x63, 0x84,
                                            0x85, 0x88, 0x89, 0x8a, 0x8b, 0x8d};
    return memchr(opcodes, opcode, sizeof opcodes) != NULL;
}

/* 0: not understood. Only what compilers begin a function with, and nothing that jumps. */
static size_t instruction_bytes(const unsigned char *code)
{
    size_t prefix = (code[0] & 0xf0) == 0x40 ? 1 : 0; /* REX */
    bool wide = prefix != 0 && (code[0] & 8) != 0;
    unsigned char opcode = code[prefix];
    const unsigned char *operands = code + prefix + 1;
    size_t start = prefix + 1;

    if (has_only_operands(opcode))
        return start + operand_bytes(operands);
    if (opcode >= 0x50 && opcode <= 0x5f) /* push, pop */
        return start;
    if (opcode >= 0xb8 && opcode <= 0xbf) /* mov immediate */
        return start + (wide ? 8 : 4);
    switch (opcode) {
    case 0x80: /* arithmetic with an immediate of a byte */
    case 0x83:
        return start + operand_bytes(operands) + 1;
    case 0x81: /* with one of four */
    case 0xc7: /* mov */
        return start + operand_bytes(operands) + 4;
    case 0xf6: /* test has an immediate, not and neg have none */
        return start + operand_bytes(operands) + ((*operands >> 3 & 7) < 2 ? 1 : 0);
    case 0xf7:
        return start + operand_bytes(operands) + ((*operands >> 3 & 7) < 2 ? 4 : 0);
    default:
        return 0;
    }
}

/* What a patch of other code looks like: a jump, direct or by memory; a breakpoint; an address that
 * is loaded and jumped to. */
static bool is_patched(const unsigned char *code)
{
    static const unsigned char jump_by_r11[] = {0x41, 0xff, 0xe3};
    if (code[0] == LONG_JUMP || code[0] == SHORT_JUMP || code[0] == BREAKPOINT)
        return true;
    if (code[0] == 0xff && (code[1] & 0x38) == 0x20) /* jmp by register or memory */
        return true;
    if (code[0] == 0x68) /* push, with ret behind it */
        return true;
    bool loads = (code[0] == 0x48 || code[0] == 0x49) && (code[1] & 0xf8) == 0xb8;
    enum { LOAD_BYTES = 10 };
    return loads && (memcmp(code + LOAD_BYTES, jump_by_r11, sizeof jump_by_r11) == 0 ||
                     (code[LOAD_BYTES] == 0xff && (code[LOAD_BYTES + 1] & 0xf8) == 0xe0));
}

/* The bytes of the longest instruction of padding that ends here; 0: there is none. */
static size_t padding_before(const unsigned char *end, size_t most)
{
    static const struct {
        size_t length;
        unsigned char bytes[11];
    } fillers[] = {
        {11, {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
        {10, {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
        {9, {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
        {8, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
        {7, {0x0f, 0x1f, 0x80, 0, 0, 0, 0}},
        {6, {0x66, 0x0f, 0x1f, 0x44, 0, 0}},
        {5, {0x0f, 0x1f, 0x44, 0, 0}},
        {4, {0x0f, 0x1f, 0x40, 0}},
        {3, {0x0f, 0x1f, 0}},
        {2, {0x66, 0x90}},
        {1, {0x90}},
        {1, {BREAKPOINT}},
    };
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
        if (fillers[i].length <= most &&
            memcmp(end - fillers[i].length, fillers[i].bytes, fillers[i].length) == 0)
            return fillers[i].length;
    }
    return 0;
}

static bool has_padding(const unsigned char *code)
{
    size_t total = 0, more;
    while (total < LONG_JUMP_BYTES &&
           (more = padding_before(code - total, FUNCTION_ALIGNMENT - 1 - total)) != 0)
        total += more;
    return total >= LONG_JUMP_BYTES;
}

/* -- planning -------------------------------------------------------------------- */

static void make_long_jump(unsigned char *bytes, uintptr_t from, uintptr_t to)
{
    int32_t distance = (int32_t)(to - from - LONG_JUMP_BYTES);
    bytes[0] = LONG_JUMP;
    memcpy(bytes + 1, &distance, sizeof distance);
}

static void plan_store(overwrite_plan_t *plan, uintptr_t at, const unsigned char *bytes,
                       size_t count)
{
    unsigned char word[WORD_BYTES];
    plan->store_at = at & ~(uintptr_t)(WORD_BYTES - 1);
    plan->store_bytes = WORD_BYTES;
    memcpy(word, (const void *)plan->store_at, sizeof word);
    memcpy(&plan->store_expected, word, sizeof word);
    memcpy(word + at % WORD_BYTES, bytes, count);
    memcpy(&plan->store_value, word, sizeof word);
}

const char *overwrite_make_plan(overwrite_plan_t *plan, const unsigned char *code, uintptr_t island)
{
    static const unsigned char endbr[ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};
    unsigned char bytes[LONG_JUMP_BYTES];
    uintptr_t function = (uintptr_t)code;

    *plan = (overwrite_plan_t){0};
    if (memcmp(code, endbr, sizeof endbr) == 0) /* stays: indirect calls have to land on it */
        code += sizeof endbr;
    uintptr_t entry = (uintptr_t)code, room = WORD_BYTES - entry % WORD_BYTES;
    if (is_patched(code))
        return "begins with a jump: other code has patched it";
    size_t length = instruction_bytes(code);
    if (length == 0)
        return "begins with an instruction that is not understood";
    if (length >= LONG_JUMP_BYTES && room >= LONG_JUMP_BYTES) {
        make_long_jump(bytes, entry, island);
        plan_store(plan, entry, bytes, LONG_JUMP_BYTES);
        return NULL;
    }
    if (length < SHORT_JUMP_BYTES || room < SHORT_JUMP_BYTES)
        return "begins with an instruction that is too short for a jump";
    if (function % FUNCTION_ALIGNMENT != 0 || !has_padding((const unsigned char *)function))
        return "has no room before it for a jump";

    plan->padding_at = function - LONG_JUMP_BYTES;
    plan->padding_bytes = LONG_JUMP_BYTES;
    make_long_jump(plan->padding, plan->padding_at, island);
    bytes[0] = SHORT_JUMP;
    bytes[1] = (unsigned char)(plan->padding_at - entry - SHORT_JUMP_BYTES);
    plan_store(plan, entry, bytes, SHORT_JUMP_BYTES);
    return NULL;
}

#endif
