/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction operations.
 *
 * For collectives and one-sided communication: ask once whether an operation is valid for a
 * datatype, then reduce any number of elements. Predefined operations are kernels (kernel.h);
 * others call the program's function. Code that uses an operation after the MPI call has returned
 * retains it: the program may free it meanwhile.
 *
 * Threading: any. An operation that the program has never changes.
 */
#ifndef OMPI_OP_H
#define OMPI_OP_H

#include "opal/include/compiler.h"
#include "ompi/datatype/datatype.h"
#include "ompi/object/object.h"
#include "ompi/op/kernel.h"

/* The program's function, in one of two forms. */
typedef struct ompi_op_fn {
    MPI_User_function *small;   /* NULL: it is large */
    MPI_User_function_c *large; /* NULL: it is small */
} ompi_op_fn_t;

/* What the wrappers of MPI_Op_create and MPI_Op_create_c make of their argument. */
static inline ompi_op_fn_t ompi_op_fn_small(MPI_User_function *function)
{
    return (ompi_op_fn_t){.small = function};
}

static inline ompi_op_fn_t ompi_op_fn_large(MPI_User_function_c *function)
{
    return (ompi_op_fn_t){.large = function};
}

typedef enum ompi_op_action {
    OMPI_OP_KERNELS, /* by the kind of the elements */
    OMPI_OP_REPLACE, /* a op b = a; for one-sided communication only */
    OMPI_OP_KEEP,    /* a op b = b; for one-sided communication only */
    OMPI_OP_CALL,    /* the program's function */
} ompi_op_action_t;

typedef struct ompi_op {
    ompi_object_t head;
    const char *name; /* of a predefined one */
    ompi_op_action_t action;
    bool is_commutative;
    bool is_fortran;                 /* OMPI_OP_CALL: the function, see ompi/object/language.h */
    unsigned classes;                /* OMPI_OP_KERNELS: bits of the classes of datatypes */
    const ompi_op_kernel_t *kernels; /* OMPI_OP_KERNELS: of each kind of elements */
    ompi_op_fn_t fn;                 /* OMPI_OP_CALL */
} ompi_op_t;

/* Makes the predefined operations reachable by their handles. */
void ompi_op_init(void);
void ompi_op_fini(void);

/* An operation that calls the program's function; NULL: no memory. */
ompi_op_t *ompi_op_create(ompi_op_fn_t fn, bool is_commutative);

/* The function of a new operation is in Fortran. */
OPAL_EXPORT void ompi_op_set_fortran(ompi_op_t *op);

static inline bool ompi_op_is_predefined(const ompi_op_t *op)
{
    return op->action != OMPI_OP_CALL;
}

static inline bool ompi_op_is_commutative(const ompi_op_t *op)
{
    return op->is_commutative;
}

/* Whether elements of that type can be reduced: a predefined operation and type must fit. */
static inline bool ompi_op_is_valid_for(const ompi_op_t *op, const ompi_datatype_t *type)
{
    if (op->action == OMPI_OP_CALL)
        return true;
    ompi_op_type_t what = ompi_op_type(type);
    return (op->classes & what.class) != 0 && op->kernels[what.kind].run != NULL;
}

/* Whether a window can be accumulated to with that operation, which is predefined, and type. */
OPAL_EXPORT bool ompi_op_is_valid_for_rma(const ompi_op_t *op, const ompi_datatype_t *type);

/*
 * inout = in op inout, for each of `count` elements of a type that the operation is valid for.
 * The areas do not overlap.
 */
OPAL_EXPORT void ompi_op_reduce(const ompi_op_t *op, const void *in, void *inout, size_t count,
                                ompi_datatype_t *type);

/*
 * out = a op b, of a predefined operation. `out` may be `a` or `b`; they do not overlap
 * otherwise.
 */
OPAL_EXPORT void ompi_op_combine(const ompi_op_t *op, const void *a, const void *b, void *out,
                                 size_t count, const ompi_datatype_t *type);

#endif
