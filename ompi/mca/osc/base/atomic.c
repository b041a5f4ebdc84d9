/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic instructions by size and operation. See atomic.h. */
#include "ompi/mca/osc/base/atomic.h"

#include <string.h>

/* Memory of any type is accessed as an integer of its size. */
typedef uint8_t __attribute__((may_alias)) word1_t;
typedef uint16_t __attribute__((may_alias)) word2_t;
typedef uint32_t __attribute__((may_alias)) word4_t;
typedef uint64_t __attribute__((may_alias)) word8_t;

typedef enum action {
    LOOP, /* no instruction does it */
    ADD,
    AND,
    OR,
    XOR,
    SWAP,
    LOAD,
} action_t;

static action_t action_of(const ompi_op_t *op, const ompi_datatype_t *element)
{
    if (op->action != OMPI_OP_KERNELS)
        return op->action == OMPI_OP_REPLACE ? SWAP : LOAD;
    if ((ompi_op_type(element).class & (OMPI_OP_INTEGER | OMPI_OP_BYTE)) == 0)
        return LOOP;
    return op->kernels == ompi_op_sum    ? ADD
           : op->kernels == ompi_op_band ? AND
           : op->kernels == ompi_op_bor  ? OR
           : op->kernels == ompi_op_bxor ? XOR
                                         : LOOP;
}

/* A function for a size. Operations that a program calls expect all that came before to be visible,
 * so they are sequentially consistent, which costs nothing here. */
#define APPLY(bytes)                                                                               \
    static void apply##bytes(action_t action, const ompi_op_t *op, const ompi_datatype_t *element, \
                             word##bytes##_t *where, const void *in, void *before)                 \
    {                                                                                              \
        word##bytes##_t operand = 0, old, wanted;                                                  \
        if (action != LOAD)                                                                        \
            memcpy(&operand, in, (bytes));                                                         \
        switch (action) {                                                                          \
        case ADD:                                                                                  \
            old = __atomic_fetch_add(where, operand, __ATOMIC_SEQ_CST);                            \
            break;                                                                                 \
        case AND:                                                                                  \
            old = __atomic_fetch_and(where, operand, __ATOMIC_SEQ_CST);                            \
            break;                                                                                 \
        case OR:                                                                                   \
            old = __atomic_fetch_or(where, operand, __ATOMIC_SEQ_CST);                             \
            break;                                                                                 \
        case XOR:                                                                                  \
            old = __atomic_fetch_xor(where, operand, __ATOMIC_SEQ_CST);                            \
            break;                                                                                 \
        case SWAP:                                                                                 \
            old = __atomic_exchange_n(where, operand, __ATOMIC_SEQ_CST);                           \
            break;                                                                                 \
        case LOAD:                                                                                 \
            old = __atomic_load_n(where, __ATOMIC_SEQ_CST);                                        \
            break;                                                                                 \
        case LOOP:                                                                                 \
            old = __atomic_load_n(where, __ATOMIC_RELAXED);                                        \
            do                                                                                     \
                ompi_op_combine(op, &operand, &old, &wanted, 1, element);                          \
            while (!__atomic_compare_exchange_n(where, &old, wanted, true, __ATOMIC_SEQ_CST,       \
                                                __ATOMIC_RELAXED));                                \
            break;                                                                                 \
        }                                                                                          \
        if (before != NULL)                                                                        \
            memcpy(before, &old, (bytes));                                                         \
    }

APPLY(1)
APPLY(2)
APPLY(4)
APPLY(8)

void ompi_osc_atomic(const ompi_op_t *op, const ompi_datatype_t *element, size_t bytes, void *where,
                     const void *in, void *before)
{
    action_t action = action_of(op, element);
    switch (bytes) {
    case 1:
        apply1(action, op, element, where, in, before);
        break;
    case 2:
        apply2(action, op, element, where, in, before);
        break;
    case 4:
        apply4(action, op, element, where, in, before);
        break;
    default:
        apply8(action, op, element, where, in, before);
    }
}

#define COMPARE(bytes)                                                                             \
    case bytes: {                                                                                  \
        word##bytes##_t found, wanted;                                                             \
        memcpy(&found, with, (bytes));                                                             \
        memcpy(&wanted, in, (bytes));                                                              \
        __atomic_compare_exchange_n((word##bytes##_t *)where, &found, wanted, false,               \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                           \
        memcpy(before, &found, (bytes));                                                           \
        break;                                                                                     \
    }

void ompi_osc_atomic_compare(size_t bytes, void *where, const void *in, const void *with,
                             void *before)
{
    switch (bytes) {
        COMPARE(1)
        COMPARE(2)
        COMPARE(4)
        COMPARE(8)
    }
}
