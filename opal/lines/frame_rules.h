/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the registers of a caller are found from those of a function at an instruction: .eh_frame
 * (DWARF 5, section 6.4; the Linux Standard Base says what differs).
 *
 * Threading: functions of their arguments.
 */
#ifndef OPAL_LINES_FRAME_RULES_H
#define OPAL_LINES_FRAME_RULES_H

#include "opal/lines/unwind.h"

typedef enum opal_rule_kind {
    OPAL_RULE_SAME,          /* the caller's register is this one's */
    OPAL_RULE_UNDEFINED,     /* it is lost */
    OPAL_RULE_AT_OFFSET,     /* it was saved at CFA + offset */
    OPAL_RULE_IS_OFFSET,     /* it is CFA + offset */
    OPAL_RULE_REGISTER,      /* it is in that other register (offset) */
    OPAL_RULE_AT_EXPRESSION, /* it was saved where the expression says */
    OPAL_RULE_IS_EXPRESSION, /* it is what the expression says */
} opal_rule_kind_t;

typedef struct opal_rule {
    opal_rule_kind_t kind;
    int64_t offset;
    opal_bytes_t expression;
} opal_rule_t;

typedef struct opal_frame_rules {
    opal_rule_t cfa; /* OPAL_RULE_REGISTER with `cfa_offset`, or OPAL_RULE_IS_EXPRESSION */
    int64_t cfa_offset;
    opal_rule_t of[OPAL_FRAME_REGISTERS];
    unsigned return_register; /* holds the return address */
    bool is_signal_frame;     /* the caller was interrupted, and made no call */
} opal_frame_rules_t;

/* The rules at an address of an ELF file. False: it has none for it. */
OPAL_EXPORT bool opal_frame_rules_find(opal_elf_t *elf, uint64_t address,
                                       opal_frame_rules_t *rules);

#endif
