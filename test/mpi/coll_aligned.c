/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators of the user's see elements at the alignment of their C type, also where the datatype
 * describes only what lies behind the beginning.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

typedef struct element {
    int skipped;
    float x;
    _Alignas(16) double y;
} element_t;

static int misaligned;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    element_t *a = in, *b = inout;
    (void)type;
    misaligned +=
        (uintptr_t)in % _Alignof(element_t) != 0 || (uintptr_t)inout % _Alignof(element_t) != 0;
    for (int i = 0; i < *count && misaligned == 0; i++) {
        b[i].x += a[i].x;
        b[i].y += a[i].y;
    }
}

static MPI_Datatype make_type(void)
{
    int lengths[] = {1, 1};
    MPI_Aint places[] = {offsetof(element_t, x), offsetof(element_t, y)};
    MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE}, parts, type;
    MPI_Type_create_struct(2, lengths, places, types, &parts);
    MPI_Type_create_resized(parts, 0, sizeof(element_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&parts);
    return type;
}

static int rank, size;

static void fill(element_t *elements, int count)
{
    for (int i = 0; i < count; i++)
        elements[i] = (element_t){-1, (float)(rank + i), rank * 2.0 + i};
}

static bool is_sum(const element_t *elements, int count)
{
    double ranks = size * (size - 1) / 2.0;
    bool good = true;
    for (int i = 0; i < count; i++)
        good &= elements[i].x == (float)(ranks + (double)size * i) &&
                elements[i].y == 2 * ranks + (double)size * i;
    return good && misaligned == 0;
}

static void check_count(MPI_Datatype type, MPI_Op op, int count)
{
    size_t bytes = ((size_t)count * sizeof(element_t) + 63) / 64 * 64;
    element_t *in = aligned_alloc(64, bytes), *out = aligned_alloc(64, bytes);
    MPI_Request request;
    fill(in, count);
    MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
    tap_check(is_sum(out, count), "allreduce of %d", count);
    fill(out, count);
    MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, MPI_COMM_WORLD);
    tap_check(is_sum(out, count), "allreduce of %d in place", count);
    fill(out, count);
    MPI_Iallreduce(in, out, count, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(is_sum(out, count), "iallreduce of %d", count);
    MPI_Reduce(in, out, count, type, op, 0, MPI_COMM_WORLD);
    tap_check(rank != 0 || is_sum(out, count), "reduce of %d", count);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 10, 1000, 20000};
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Datatype type = make_type();
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 5; i++)
        check_count(type, op, counts[i]);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Finalize();
    return tap_finish();
}
