/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aarch64. Every instruction is an aligned word, and a branch reaches 128 MiB:
 *
 *     entry:    b island
 *
 * While other threads run, the architecture allows such a change only between a few instructions
 * (branches, nop, breakpoints and the like); for anything else it promises nothing. The first
 * instruction of a function is mostly none of them, so the change is made while the process has one
 * thread, as before main, and refused later.
 *
 * A landing pad for indirect branches (bti c) stays, and what is behind it is changed. paciasp is a
 * landing pad too, but what it has done to the return address must be undone by the function.
 */
#ifdef __aarch64__

#include "opal/mca/patcher/overwrite/code.h"

#include <string.h>
#include <sys/single_threaded.h>

enum { INSTRUCTION_BYTES = 4, BRANCH_SHIFT = 2 };

static const uint32_t bti_c = 0xd503245f, paciasp = 0xd503233f, nop = 0xd503201f;
static const uint32_t branch = 0x14000000, branch_distance = 0x03ffffff;

const char *const overwrite_obstacle = NULL;
const size_t overwrite_reach_bytes = (size_t)120 << 20;
const size_t overwrite_island_bytes = 16;

/*     ldr  x16, .+8
 *     br   x16
 *     <address>                  */
void overwrite_make_island(unsigned char *island, const void *target)
{
    static const uint32_t jump[] = {0x58000050, 0xd61f0200};
    memcpy(island, jump, sizeof jump);
    memcpy(island + sizeof jump, &target, sizeof target);
}

static bool is_branch(uint32_t instruction)
{
    return (instruction & 0x7c000000) == branch;
}

/* What a patch of other code looks like: a branch; a load of an address near the code, or a move
 * of a constant, into one of the registers that a call may destroy on its way (x9 to x17). */
static bool is_patched(uint32_t instruction)
{
    unsigned target = instruction & 31;
    bool scratch = target >= 9 && target <= 17;
    bool loads = (instruction & 0xff000000) == 0x58000000;
    bool moves = (instruction & 0xff800000) == 0xd2800000;
    bool forms_address = (instruction & 0x1f000000) == 0x10000000;
    return is_branch(instruction) || ((loads || moves || forms_address) && scratch);
}

/* Breakpoints and what else raises or returns. */
static bool is_understood(uint32_t instruction)
{
    bool exception = (instruction & 0xff000000) == 0xd4000000;
    bool by_register = (instruction & 0xfe000000) == 0xd6000000;
    bool conditional = (instruction & 0x7e000000) == 0x34000000 ||
                       (instruction & 0x7e000000) == 0x36000000 ||
                       (instruction & 0xff000000) == 0x54000000;
    return !exception && !by_register && !conditional && instruction != paciasp;
}

const char *overwrite_make_plan(overwrite_plan_t *plan, const unsigned char *code, uintptr_t island)
{
    uint32_t instruction;
    *plan = (overwrite_plan_t){0};
    memcpy(&instruction, code, sizeof instruction);
    if (instruction == bti_c) {
        code += INSTRUCTION_BYTES;
        memcpy(&instruction, code, sizeof instruction);
    }
    if (is_patched(instruction))
        return "begins with a jump: other code has patched it";
    if (!is_understood(instruction))
        return "begins with an instruction that is not understood";
    if (instruction != nop && !__libc_single_threaded)
        return "cannot be changed while threads run: it had to be done before main";

    int64_t distance = (int64_t)(island - (uintptr_t)code) >> BRANCH_SHIFT;
    plan->store_at = (uintptr_t)code;
    plan->store_bytes = INSTRUCTION_BYTES;
    plan->store_expected = instruction;
    plan->store_value = branch | ((uint32_t)distance & branch_distance);
    return NULL;
}

#endif
