/* SPDX-License-Identifier: BSD-3-Clause */
/* In what two collective calls differ, and the sentences that say so. */
#include <stdio.h>

#include "ompi/check/check.h"
#include "ompi/datatype/datatype.h"
#include "ompi/handle/handle.h"
#include "ompi/op/op.h"

enum { CALL_BYTES = 96 };

/* "I" and a small letter follow in the names of the other forms. */
static const char *const names[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHER] = "Allgather",
    [OMPI_ALLGATHERV] = "Allgatherv",
    [OMPI_ALLREDUCE] = "Allreduce",
    [OMPI_ALLTOALL] = "Alltoall",
    [OMPI_ALLTOALLV] = "Alltoallv",
    [OMPI_ALLTOALLW] = "Alltoallw",
    [OMPI_BARRIER] = "Barrier",
    [OMPI_BCAST] = "Bcast",
    [OMPI_EXSCAN] = "Exscan",
    [OMPI_GATHER] = "Gather",
    [OMPI_GATHERV] = "Gatherv",
    [OMPI_REDUCE] = "Reduce",
    [OMPI_REDUCE_SCATTER] = "Reduce_scatter",
    [OMPI_REDUCE_SCATTER_BLOCK] = "Reduce_scatter_block",
    [OMPI_SCAN] = "Scan",
    [OMPI_SCATTER] = "Scatter",
    [OMPI_SCATTERV] = "Scatterv",
    [OMPI_NEIGHBOR_ALLGATHER] = "Neighbor_allgather",
    [OMPI_NEIGHBOR_ALLGATHERV] = "Neighbor_allgatherv",
    [OMPI_NEIGHBOR_ALLTOALL] = "Neighbor_alltoall",
    [OMPI_NEIGHBOR_ALLTOALLV] = "Neighbor_alltoallv",
    [OMPI_NEIGHBOR_ALLTOALLW] = "Neighbor_alltoallw",
};

const char *ompi_check_kind_name(ompi_coll_kind_t kind)
{
    return names[kind];
}

/* -- differences ----------------------------------------------------------------------------- */

static const ompi_datatype_t *type_of(unsigned handle)
{
    return handle != 0 ? (const ompi_datatype_t *)ompi_handle_predefined[handle] : NULL;
}

/* Programs pass data of any type as bytes, and every MPI lets them. */
static bool goes_with_all(unsigned handle)
{
    return handle == (uintptr_t)MPI_BYTE || handle == (uintptr_t)MPI_PACKED;
}

/* Whether elements of both types are the same kind of number: MPI_INT and MPI_INT32_T, and
 * MPI_INTEGER of Fortran. */
bool ompi_check_types_agree(unsigned one, unsigned other)
{
    const ompi_datatype_t *a = type_of(one), *b = type_of(other);
    if (one == other || a == NULL || b == NULL || goes_with_all(one) || goes_with_all(other))
        return true;
    const ompi_basic_t *basic = a->shape.signature->basic, *wanted = b->shape.signature->basic;
    if (basic == NULL || wanted == NULL)
        return false;
    return basic->format == wanted->format && basic->numbers == wanted->numbers &&
           basic->bytes == wanted->bytes;
}

ompi_difference_t ompi_check_difference(const ompi_check_record_t *a, const ompi_check_record_t *b)
{
    if (a->kind != b->kind || a->form != b->form)
        return OMPI_DIFFERS_KIND;
    if (a->root != b->root)
        return OMPI_DIFFERS_ROOT;
    if (a->history != b->history)
        return OMPI_DIFFERS_BEFORE;
    if (a->op != b->op)
        return OMPI_DIFFERS_OP;
    if (a->bytes != b->bytes)
        return OMPI_DIFFERS_COUNT;
    if (a->bytes == 0)
        return OMPI_DIFFERS_NOT;
    if (!ompi_check_types_agree(a->type, b->type))
        return OMPI_DIFFERS_TYPE;
    /* Of an array of counts, or of two types that both have several kinds of elements. */
    if (a->hash != 0 && b->hash != 0 && a->hash != b->hash)
        return a->type != 0 || b->type != 0 ? OMPI_DIFFERS_COUNT : OMPI_DIFFERS_TYPE;
    return OMPI_DIFFERS_NOT;
}

int ompi_check_error_of(ompi_difference_t difference)
{
    static const int errors[] = {
        [OMPI_DIFFERS_NOT] = MPI_SUCCESS,        [OMPI_DIFFERS_KIND] = MPI_ERR_OTHER,
        [OMPI_DIFFERS_ROOT] = MPI_ERR_ROOT,      [OMPI_DIFFERS_BEFORE] = MPI_ERR_OTHER,
        [OMPI_DIFFERS_OP] = MPI_ERR_OP,          [OMPI_DIFFERS_TYPE] = MPI_ERR_TYPE,
        [OMPI_DIFFERS_COUNT] = MPI_ERR_TRUNCATE,
    };
    return errors[difference];
}

/* -- text ------------------------------------------------------------------------------------ */

static const char *op_name(unsigned handle)
{
    if (handle == OMPI_CHECK_OWN_OP)
        return "an operation of the program's";
    const ompi_op_t *op = (const ompi_op_t *)ompi_handle_predefined[handle];
    return op != NULL && op->name != NULL ? op->name : "an operation";
}

static void describe_name(const ompi_check_record_t *record, char *text, size_t bytes)
{
    const char *name = names[record->kind];
    char first = name[0];
    if (record->form == OMPI_CHECK_NONBLOCKING)
        first = (char)(first - 'A' + 'a');
    snprintf(text, bytes, "MPI_%s%c%s%s", record->form == OMPI_CHECK_NONBLOCKING ? "I" : "", first,
             name + 1, record->form == OMPI_CHECK_PERSISTENT ? "_init" : "");
}

void ompi_check_describe_data(unsigned handle, uint64_t elements, uint64_t bytes,
                              char text[OMPI_CHECK_DATA_BYTES])
{
    const ompi_datatype_t *type = type_of(handle);
    size_t size = type != NULL ? ompi_datatype_size(type) : 0;
    if (size > 0)
        snprintf(text, OMPI_CHECK_DATA_BYTES, "%llu %s", (unsigned long long)(bytes / size),
                 type->predefined_name);
    else
        snprintf(text, OMPI_CHECK_DATA_BYTES, "%llu elements, %llu bytes",
                 (unsigned long long)elements, (unsigned long long)bytes);
}

void ompi_check_describe(const ompi_check_record_t *record, char *text, size_t bytes)
{
    char name[32], data[OMPI_CHECK_DATA_BYTES] = "", op[40] = "", root[24] = "";
    describe_name(record, name, sizeof name);
    if (record->type != 0 || record->bytes > 0 || record->count > 0)
        ompi_check_describe_data(record->type, record->count, record->bytes, data);
    if (record->op != 0)
        snprintf(op, sizeof op, "%s%s", data[0] != 0 ? ", " : "", op_name(record->op));
    if (record->root != OMPI_CHECK_NO_ROOT)
        snprintf(root, sizeof root, "%sroot %d", data[0] != 0 || op[0] != 0 ? ", " : "",
                 (int)record->root);
    snprintf(text, bytes, "%s(%s%s%s)", name, data, op, root);
}

static const char *what_differs(ompi_difference_t difference)
{
    switch (difference) {
    case OMPI_DIFFERS_ROOT:
        return "The ranks give different roots";
    case OMPI_DIFFERS_BEFORE:
        return "The ranks have made different calls before, in number or order";
    case OMPI_DIFFERS_OP:
        return "The ranks give different operations";
    case OMPI_DIFFERS_TYPE:
        return "The ranks give different datatypes";
    case OMPI_DIFFERS_COUNT:
        return "The ranks give different amounts of data";
    default:
        return "The ranks make different calls";
    }
}

void ompi_check_explain(ompi_difference_t difference, const ompi_check_record_t *own, int own_rank,
                        const ompi_check_record_t *other, int other_rank, char *text, size_t bytes)
{
    char first[CALL_BYTES], second[CALL_BYTES];
    ompi_check_describe(own, first, sizeof first);
    ompi_check_describe(other, second, sizeof second);
    snprintf(text, bytes, "%s: rank %d calls %s, rank %d %s.", what_differs(difference), own_rank,
             first, other_rank, second);
}
