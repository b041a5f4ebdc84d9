/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the predefined ones, and those of programs. See op.h. */
#include "ompi/op/op.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "opal/arch/copy.h"
#include "opal/include/compiler.h"
#include "ompi/handle/handle.h"
#include "ompi/object/language.h"

enum {
    ORDERED = OMPI_OP_INTEGER | OMPI_OP_REAL,
    NUMBERS = OMPI_OP_INTEGER | OMPI_OP_REAL | OMPI_OP_COMPLEX,
    /* The standard leaves out floating point, but programs reduce flags in it. */
    LOGICALS = OMPI_OP_INTEGER | OMPI_OP_LOGICAL | OMPI_OP_REAL,
    BITS = OMPI_OP_INTEGER | OMPI_OP_BYTE,
};

#define OP(word, op_kernels, op_classes)                                                           \
    {                                                                                              \
        .head = OMPI_OBJECT_PREDEFINED(OMPI_OP, MPI_##word), .name = "MPI_" #word,                 \
        .action = OMPI_OP_KERNELS, .is_commutative = true, .classes = (op_classes),                \
        .kernels = (op_kernels)                                                                    \
    }
#define RMA_OP(word, op_action)                                                                    \
    {                                                                                              \
        .head = OMPI_OBJECT_PREDEFINED(OMPI_OP, MPI_##word), .name = "MPI_" #word,                 \
        .action = (op_action)                                                                      \
    }

static ompi_op_t predefined[] = {
    OP(SUM, ompi_op_sum, NUMBERS),
    OP(PROD, ompi_op_prod, NUMBERS),
    OP(MAX, ompi_op_max, ORDERED),
    OP(MIN, ompi_op_min, ORDERED),
    OP(LAND, ompi_op_land, LOGICALS),
    OP(LOR, ompi_op_lor, LOGICALS),
    OP(LXOR, ompi_op_lxor, LOGICALS),
    OP(BAND, ompi_op_band, BITS),
    OP(BOR, ompi_op_bor, BITS),
    OP(BXOR, ompi_op_bxor, BITS),
    OP(MINLOC, ompi_op_minloc, OMPI_OP_PAIR),
    OP(MAXLOC, ompi_op_maxloc, OMPI_OP_PAIR),
    RMA_OP(REPLACE, OMPI_OP_REPLACE),
    RMA_OP(NO_OP, OMPI_OP_KEEP),
};

void ompi_op_init(void)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(predefined); i++)
        ompi_handle_define(&predefined[i].head);
}

void ompi_op_fini(void)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(predefined); i++)
        ompi_handle_undefine(&predefined[i].head);
}

static void destroy(ompi_object_t *object)
{
    free(opal_container_of(object, ompi_op_t, head));
}

ompi_op_t *ompi_op_create(ompi_op_fn_t fn, bool is_commutative)
{
    ompi_op_t *op = calloc(1, sizeof *op);
    if (op == NULL)
        return NULL;
    ompi_object_init(&op->head, OMPI_OP, destroy);
    op->action = OMPI_OP_CALL;
    op->is_commutative = is_commutative;
    op->fn = fn;
    return op;
}

void ompi_op_set_fortran(ompi_op_t *op)
{
    op->is_fortran = true;
}

bool ompi_op_is_valid_for_rma(const ompi_op_t *op, const ompi_datatype_t *type)
{
    switch (op->action) {
    case OMPI_OP_REPLACE:
    case OMPI_OP_KEEP:
        return type->is_predefined;
    default:
        return op->action == OMPI_OP_KERNELS && ompi_op_is_valid_for(op, type);
    }
}

void ompi_op_combine(const ompi_op_t *op, const void *a, const void *b, void *out, size_t count,
                     const ompi_datatype_t *type)
{
    assert(ompi_op_is_predefined(op));
    if (op->action == OMPI_OP_KERNELS) {
        ompi_op_kernel_t kernel = op->kernels[ompi_op_type(type).kind];
        kernel.run(a, b, out, count * kernel.units);
    } else {
        /* Predefined types have no negative and no partial extents. */
        const void *from = op->action == OMPI_OP_REPLACE ? a : b;
        if (out != from)
            opal_copy(out, from, count * (size_t)ompi_datatype_extent(type));
    }
}

/* Calls the function for as many elements as it can count. It may not write to `in`, but its
 * prototype does not say so. */
static void call(const ompi_op_t *op, const void *in, void *inout, MPI_Count count,
                 MPI_Datatype type)
{
    int small_count = (int)count;
    if (op->is_fortran) {
        MPI_Fint number = ompi_handle_to_int(OMPI_DATATYPE, type);
        if (op->fn.small != NULL)
            ((ompi_fortran_op_fn_t *)op->fn.small)((void *)in, inout, &small_count, &number);
        else
            ((ompi_fortran_op_c_fn_t *)op->fn.large)((void *)in, inout, &count, &number);
    } else if (op->fn.small != NULL) {
        op->fn.small((void *)in, inout, &small_count, &type);
    } else {
        op->fn.large((void *)in, inout, &count, &type);
    }
}

/* A function that counts in int gets as many elements at a time as it can count. */
static void call_by_parts(const ompi_op_t *op, const char *in, char *inout, size_t count,
                          ompi_datatype_t *type)
{
    ptrdiff_t extent = (ptrdiff_t)ompi_datatype_extent(type);
    do {
        size_t part = count < INT_MAX ? count : INT_MAX;
        call(op, in, inout, (MPI_Count)part, ompi_object_handle(type));
        in += (ptrdiff_t)part * extent;
        inout += (ptrdiff_t)part * extent;
        count -= part;
    } while (count > 0);
}

void ompi_op_reduce(const ompi_op_t *op, const void *in, void *inout, size_t count,
                    ompi_datatype_t *type)
{
    if (op->action != OMPI_OP_CALL)
        ompi_op_combine(op, in, inout, inout, count, type);
    else if (op->fn.small != NULL)
        call_by_parts(op, in, inout, count, type);
    else
        call(op, in, inout, (MPI_Count)count, ompi_object_handle(type));
}
