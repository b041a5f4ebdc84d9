/* SPDX-License-Identifier: BSD-3-Clause */
/* The layouts of bench/datatype.c and bench/datatype_send.c; see layouts.h. */
#include "layouts.h"

#include <stdlib.h>

/* The same on every machine. */
static int number(void)
{
    static unsigned state = 12345;
    state = state * 1103515245 + 12345;
    return (int)(state >> 8 & 0x7fffff);
}

static MPI_Datatype vector_of_doubles(int bytes, int length)
{
    MPI_Datatype type;
    MPI_Type_vector(bytes / 8 / length, length, 2 * length, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype vector_1(int bytes)
{
    return vector_of_doubles(bytes, 1);
}

static MPI_Datatype vector_2(int bytes)
{
    return vector_of_doubles(bytes, 2);
}

static MPI_Datatype vector_8(int bytes)
{
    return vector_of_doubles(bytes, 8);
}

static MPI_Datatype vector_64(int bytes)
{
    return vector_of_doubles(bytes, 64);
}

/* Blocks of 1 to 7 doubles, 0 to 7 apart. */
static MPI_Datatype indexed(int bytes)
{
    int left = bytes / 8, count = 0, place = 0;
    int *lengths = malloc(sizeof(int) * (size_t)left), *places = malloc(sizeof(int) * (size_t)left);
    MPI_Datatype type;
    for (; left > 0; count++) {
        int length = 1 + number() % 7;
        lengths[count] = length < left ? length : left;
        places[count] = place;
        place += length + number() % 8;
        left -= lengths[count];
    }
    MPI_Type_indexed(count, lengths, places, MPI_DOUBLE, &type);
    free(lengths);
    free(places);
    return type;
}

static MPI_Datatype indexed_block(int bytes, int length)
{
    int count = bytes / 8 / length, place = 0, *places = malloc(sizeof(int) * (size_t)count);
    MPI_Datatype type;
    for (int i = 0; i < count; i++) {
        places[i] = place;
        place += length + number() % (2 * length + 1);
    }
    MPI_Type_create_indexed_block(count, length, places, MPI_DOUBLE, &type);
    free(places);
    return type;
}

static MPI_Datatype indexed_block_1(int bytes)
{
    return indexed_block(bytes, 1);
}

static MPI_Datatype indexed_block_4(int bytes)
{
    return indexed_block(bytes, 4);
}

/* Particles: 3 doubles, an int, a char, with gaps between them. */
static MPI_Datatype structure(int bytes)
{
    int lengths[] = {3, 1, 1};
    MPI_Aint places[] = {0, 32, 40};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, particle, spaced, type;
    MPI_Type_create_struct(3, lengths, places, types, &particle);
    MPI_Type_create_resized(particle, 0, 48, &spaced);
    MPI_Type_contiguous(bytes / 29, spaced, &type);
    MPI_Type_free(&particle);
    MPI_Type_free(&spaced);
    return type;
}

/* Columns 6 to 9 of a matrix with 16. */
static MPI_Datatype face(int bytes)
{
    int rows = bytes / 8 / 4, sizes[2] = {rows, 16}, parts[2] = {rows, 4}, starts[2] = {0, 6};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype nested_vector(int bytes)
{
    MPI_Datatype inner, type;
    MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector(bytes / 64, 1, 192, inner, &type);
    MPI_Type_free(&inner);
    return type;
}

static MPI_Datatype contiguous(int bytes)
{
    MPI_Datatype type;
    MPI_Type_contiguous(bytes / 8, MPI_DOUBLE, &type);
    return type;
}

const bench_layout_t bench_layouts[] = {
    {"vector-1", vector_1},
    {"vector-2", vector_2},
    {"vector-8", vector_8},
    {"vector-64", vector_64},
    {"indexed", indexed},
    {"indexed_block-1", indexed_block_1},
    {"indexed_block-4", indexed_block_4},
    {"struct", structure},
    {"subarray-face", face},
    {"nested-vector", nested_vector},
    {"contiguous", contiguous},
    {NULL, NULL},
};
