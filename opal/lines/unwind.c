/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies the rules of frame_rules.h to registers and memory. */
#include "opal/lines/unwind.h"

#include <signal.h>
#include <ucontext.h>

#include "opal/lines/frame_rules.h"

#if defined(__x86_64__)
enum { SP = 7, FP = 6 };
#else
enum { SP = 31, FP = 29 };
#endif

typedef struct memory {
    opal_read_memory_fn_t *read;
    void *context;
} memory_t;

void opal_frame_of_signal(opal_frame_t *frame, const void *ucontext)
{
    *frame = (opal_frame_t){.is_exact = true};
#if defined(__x86_64__)
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const ucontext_t *context = ucontext;
    for (size_t i = 0; i < OPAL_COUNT_OF(order); i++)
        frame->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    frame->registers[OPAL_FRAME_PC] = frame->registers[16];
#elif defined(__aarch64__)
    const ucontext_t *context = ucontext;
    for (size_t i = 0; i < 31; i++)
        frame->registers[i] = context->uc_mcontext.regs[i];
    frame->registers[SP] = context->uc_mcontext.sp;
    frame->registers[OPAL_FRAME_PC] = context->uc_mcontext.pc;
#else
    (void)ucontext;
#endif
}

static bool read_word(const memory_t *memory, uint64_t address, uint64_t *word)
{
    return memory->read(memory->context, (uintptr_t)address, word, sizeof *word);
}

/* -- expressions: a machine with a stack (DWARF 5, section 2.5) ---------------------------------
 */

enum {
    EX_ADDRESS = 0x03,
    EX_DEREF = 0x06,
    EX_CONST1U = 0x08,
    EX_CONST1S,
    EX_CONST2U,
    EX_CONST2S,
    EX_CONST4U,
    EX_CONST4S,
    EX_CONST8U,
    EX_CONST8S,
    EX_CONSTU,
    EX_CONSTS,
    EX_DUP,
    EX_DROP,
    EX_OVER,
    EX_SWAP = 0x16,
    EX_AND = 0x1a,
    EX_MINUS = 0x1c,
    EX_MUL = 0x1e,
    EX_NEG,
    EX_NOT,
    EX_OR,
    EX_PLUS,
    EX_PLUS_CONST,
    EX_SHL,
    EX_SHR,
    EX_XOR = 0x27,
    EX_EQ = 0x29,
    EX_GE,
    EX_GT,
    EX_LE,
    EX_LT,
    EX_NE,
    EX_LIT0 = 0x30,
    EX_LIT31 = 0x4f,
    EX_BREG0 = 0x70,
    EX_BREG31 = 0x8f,
    EX_NOP = 0x96,
};

enum { DEPTH_MAX = 32 };

typedef struct machine {
    const opal_frame_t *frame;
    const memory_t *memory;
    opal_cursor_t code;
    uint64_t stack[DEPTH_MAX];
    unsigned depth;
} machine_t;

static void push(machine_t *machine, uint64_t value)
{
    if (machine->depth == DEPTH_MAX)
        opal_cursor_fail(&machine->code);
    else
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(machine_t *machine)
{
    if (machine->depth > 0)
        return machine->stack[--machine->depth];
    opal_cursor_fail(&machine->code);
    return 0;
}

/* The operations that have no argument, or it on the stack alone. */
static bool compute(machine_t *machine, unsigned op)
{
    uint64_t b = pop(machine), a;
    switch (op) {
    case EX_DUP:
        push(machine, b);
        push(machine, b);
        return true;
    case EX_DROP:
        return true;
    case EX_DEREF:
        if (!read_word(machine->memory, b, &a))
            return false;
        push(machine, a);
        return true;
    case EX_NEG:
        push(machine, 0 - b);
        return true;
    case EX_NOT:
        push(machine, ~b);
        return true;
    default:
        break;
    }
    a = pop(machine);
    switch (op) {
    case EX_OVER:
        push(machine, a);
        push(machine, b);
        push(machine, a);
        return true;
    case EX_SWAP:
        push(machine, b);
        push(machine, a);
        return true;
    case EX_AND:
        push(machine, a & b);
        return true;
    case EX_MINUS:
        push(machine, a - b);
        return true;
    case EX_MUL:
        push(machine, a * b);
        return true;
    case EX_OR:
        push(machine, a | b);
        return true;
    case EX_PLUS:
        push(machine, a + b);
        return true;
    case EX_SHL:
        push(machine, b < 64 ? a << b : 0);
        return true;
    case EX_SHR:
        push(machine, b < 64 ? a >> b : 0);
        return true;
    case EX_XOR:
        push(machine, a ^ b);
        return true;
    case EX_EQ:
        push(machine, a == b);
        return true;
    case EX_NE:
        push(machine, a != b);
        return true;
    case EX_GE:
        push(machine, (int64_t)a >= (int64_t)b);
        return true;
    case EX_GT:
        push(machine, (int64_t)a > (int64_t)b);
        return true;
    case EX_LE:
        push(machine, (int64_t)a <= (int64_t)b);
        return true;
    case EX_LT:
        push(machine, (int64_t)a < (int64_t)b);
        return true;
    default:
        return false;
    }
}

/* The operations with an argument in the expression. False: it is none of them. */
static bool load(machine_t *machine, unsigned op)
{
    opal_cursor_t *code = &machine->code;
    if (op >= EX_LIT0 && op <= EX_LIT31) {
        push(machine, op - EX_LIT0);
    } else if (op >= EX_BREG0 && op <= EX_BREG31) {
        int64_t offset = opal_cursor_sleb(code);
        push(machine, machine->frame->registers[op - EX_BREG0] + (uint64_t)offset);
    } else if (op >= EX_CONST1U && op <= EX_CONST8S) {
        unsigned bytes = 1u << ((op - EX_CONST1U) / 2);
        uint64_t value = opal_cursor_number(code, bytes);
        bool is_negative = (op - EX_CONST1U) % 2 == 1 && bytes < 8 && value >> (8 * bytes - 1) != 0;
        push(machine, is_negative ? value | ~UINT64_C(0) << (8 * bytes) : value);
    } else if (op == EX_ADDRESS) {
        push(machine, opal_cursor_number(code, 8));
    } else if (op == EX_CONSTU) {
        push(machine, opal_cursor_uleb(code));
    } else if (op == EX_CONSTS) {
        push(machine, (uint64_t)opal_cursor_sleb(code));
    } else if (op == EX_PLUS_CONST) {
        uint64_t constant = opal_cursor_uleb(code);
        push(machine, pop(machine) + constant);
    } else {
        return op == EX_NOP;
    }
    return true;
}

/* `cfa` is on the stack at the beginning, unless the expression computes it. */
static bool evaluate(const opal_frame_t *frame, const memory_t *memory, opal_bytes_t expression,
                     const uint64_t *cfa, uint64_t *value)
{
    machine_t machine = {.frame = frame, .memory = memory, .code = opal_cursor(expression)};
    if (cfa != NULL)
        push(&machine, *cfa);
    while (opal_cursor_left(&machine.code) > 0) {
        unsigned op = (unsigned)opal_cursor_number(&machine.code, 1);
        if (!load(&machine, op) && !compute(&machine, op))
            return false;
    }
    *value = pop(&machine);
    return !machine.code.failed;
}

/* -- one step ---------------------------------------------------------------------------------- */

static bool find_cfa(const opal_frame_t *frame, const memory_t *memory,
                     const opal_frame_rules_t *rules, uint64_t *cfa)
{
    if (rules->cfa.kind == OPAL_RULE_IS_EXPRESSION)
        return evaluate(frame, memory, rules->cfa.expression, NULL, cfa);
    if (rules->cfa.kind != OPAL_RULE_REGISTER || rules->cfa.offset < 0 ||
        rules->cfa.offset >= OPAL_FRAME_REGISTERS)
        return false;
    *cfa = frame->registers[rules->cfa.offset] + (uint64_t)rules->cfa_offset;
    return true;
}

static bool apply(const opal_frame_t *frame, const memory_t *memory, const opal_rule_t *rule,
                  uint64_t cfa, uint64_t *value)
{
    uint64_t at;
    switch (rule->kind) {
    case OPAL_RULE_SAME:
        return true;
    case OPAL_RULE_UNDEFINED:
        *value = 0;
        return true;
    case OPAL_RULE_AT_OFFSET:
        return read_word(memory, cfa + (uint64_t)rule->offset, value);
    case OPAL_RULE_IS_OFFSET:
        *value = cfa + (uint64_t)rule->offset;
        return true;
    case OPAL_RULE_REGISTER:
        if (rule->offset < 0 || rule->offset >= OPAL_FRAME_REGISTERS)
            return false;
        *value = frame->registers[rule->offset];
        return true;
    case OPAL_RULE_AT_EXPRESSION:
        return evaluate(frame, memory, rule->expression, &cfa, &at) && read_word(memory, at, value);
    case OPAL_RULE_IS_EXPRESSION:
        return evaluate(frame, memory, rule->expression, &cfa, value);
    }
    return false;
}

static bool step_by_rules(opal_frame_t *frame, const memory_t *memory,
                          const opal_frame_rules_t *rules)
{
    uint64_t cfa;
    opal_frame_t caller = *frame;
    if (!find_cfa(frame, memory, rules, &cfa))
        return false;
    caller.registers[SP] = cfa;
    for (unsigned i = 0; i < OPAL_FRAME_PC; i++) {
        if (!apply(frame, memory, &rules->of[i], cfa, &caller.registers[i]))
            return false;
    }
    /* The outermost function says that it has no caller. */
    if (rules->of[rules->return_register].kind == OPAL_RULE_UNDEFINED)
        return false;
    uint64_t pc = caller.registers[rules->return_register];
#if defined(__aarch64__)
    pc &= UINT64_C(0x0000ffffffffffff); /* without its signature */
#endif
    caller.registers[OPAL_FRAME_PC] = pc;
    caller.is_exact = rules->is_signal_frame;
    bool moves = caller.registers[SP] != frame->registers[SP] ||
                 caller.registers[OPAL_FRAME_PC] != frame->registers[OPAL_FRAME_PC];
    *frame = caller;
    return pc != 0 && moves;
}

/* By the frame pointer, which leads to the caller's one, with the return address behind it. */
static bool step_by_pointer(opal_frame_t *frame, const memory_t *memory)
{
    uint64_t fp = frame->registers[FP], words[2];
    if (fp < frame->registers[SP] || fp % sizeof fp != 0 || !read_word(memory, fp, &words[0]) ||
        !read_word(memory, fp + sizeof fp, &words[1]) || words[1] == 0)
        return false;
    frame->registers[SP] = fp + 2 * sizeof fp;
    frame->registers[FP] = words[0];
    frame->registers[OPAL_FRAME_PC] = words[1];
    frame->is_exact = false;
    return true;
}

/* A call through a bad pointer has just put the return address where calls put it. */
static bool step_out_of_nothing(opal_frame_t *frame, const memory_t *memory)
{
#if defined(__x86_64__)
    uint64_t pc;
    if (!read_word(memory, frame->registers[SP], &pc) || pc == 0)
        return false;
    frame->registers[SP] += sizeof pc;
    frame->registers[OPAL_FRAME_PC] = pc;
#else
    (void)memory;
    frame->registers[OPAL_FRAME_PC] = frame->registers[30];
#endif
    frame->is_exact = false;
    return frame->registers[OPAL_FRAME_PC] != 0;
}

bool opal_frame_step(opal_frame_t *frame, opal_lines_t *lines, opal_read_memory_fn_t *read,
                     void *context)
{
    const memory_t memory = {read, context};
    uintptr_t address = opal_frame_address(frame), bias;
    opal_frame_rules_t rules;
#if !defined(__x86_64__) && !defined(__aarch64__)
    return false;
#endif
    opal_elf_t *elf = opal_lines_elf(lines, address, &bias);
    if (elf == NULL && frame->is_exact)
        return step_out_of_nothing(frame, &memory);
    if (elf != NULL && opal_frame_rules_find(elf, address - bias, &rules))
        return step_by_rules(frame, &memory, &rules);
    return step_by_pointer(frame, &memory);
}
