/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All data access routines of files behind one call: a way, and whether it writes.
 */
#ifndef TEST_MPI_FILE_CALLS_H
#define TEST_MPI_FILE_CALLS_H

#include <mpi.h>
#include <stdbool.h>

typedef enum file_way {
    AT,
    AT_ALL,
    IAT,
    IAT_ALL,
    AT_ALL_SPLIT,
    OWN,
    ALL,
    I_OWN,
    I_ALL,
    ALL_SPLIT,
    SHARED,
    I_SHARED,
    ORDERED,
    ORDERED_SPLIT,
    WAYS
} file_way_t;

static const struct {
    const char *read, *write;
    bool is_collective, is_nonblocking, is_split;
} file_ways[WAYS] = {
    [AT] = {"read_at", "write_at", false, false, false},
    [AT_ALL] = {"read_at_all", "write_at_all", true, false, false},
    [IAT] = {"iread_at", "iwrite_at", false, true, false},
    [IAT_ALL] = {"iread_at_all", "iwrite_at_all", true, true, false},
    [AT_ALL_SPLIT] = {"read_at_all_begin", "write_at_all_begin", true, false, true},
    [OWN] = {"read", "write", false, false, false},
    [ALL] = {"read_all", "write_all", true, false, false},
    [I_OWN] = {"iread", "iwrite", false, true, false},
    [I_ALL] = {"iread_all", "iwrite_all", true, true, false},
    [ALL_SPLIT] = {"read_all_begin", "write_all_begin", true, false, true},
    [SHARED] = {"read_shared", "write_shared", false, false, false},
    [I_SHARED] = {"iread_shared", "iwrite_shared", false, true, false},
    [ORDERED] = {"read_ordered", "write_ordered", true, false, false},
    [ORDERED_SPLIT] = {"read_ordered_begin", "write_ordered_begin", true, false, true},
};

static inline bool has_offset(file_way_t way)
{
    return way <= AT_ALL_SPLIT;
}

static inline bool has_shared_pointer(file_way_t way)
{
    return way >= SHARED;
}

typedef struct file_call {
    file_way_t way;
    bool is_write, is_large; /* X_c, where the library has it */
    MPI_File file;
    MPI_Offset offset; /* in etypes; for the ways that have one */
    void *buffer;
    int count;
    MPI_Datatype type;
    MPI_Status *status;  /* of a blocking one */
    MPI_Request request; /* of a nonblocking one */
} file_call_t;

static inline const char *file_call_name(const file_call_t *c)
{
    return c->is_write ? file_ways[c->way].write : file_ways[c->way].read;
}

#if MPI_VERSION >= 4
#define CALL_EITHER(name, ...)                                                                     \
    (c->is_large ? MPI_File_##name##_c(__VA_ARGS__) : MPI_File_##name(__VA_ARGS__))
#else
#define CALL_EITHER(name, ...) MPI_File_##name(__VA_ARGS__)
#endif
#define START(way, name, ...)                                                                      \
    case way:                                                                                      \
        return c->is_write ? CALL_EITHER(write##name, __VA_ARGS__)                                 \
                           : CALL_EITHER(read##name, __VA_ARGS__);
#define START_NONBLOCKING(way, name, ...)                                                          \
    case way:                                                                                      \
        return c->is_write ? CALL_EITHER(iwrite##name, __VA_ARGS__)                                \
                           : CALL_EITHER(iread##name, __VA_ARGS__);
#define WHOLE c->buffer, c->count, c->type

static inline int file_call_start(file_call_t *c)
{
    switch (c->way) {
        START(AT, _at, c->file, c->offset, WHOLE, c->status)
        START(AT_ALL, _at_all, c->file, c->offset, WHOLE, c->status)
        START_NONBLOCKING(IAT, _at, c->file, c->offset, WHOLE, &c->request)
        START_NONBLOCKING(IAT_ALL, _at_all, c->file, c->offset, WHOLE, &c->request)
        START(AT_ALL_SPLIT, _at_all_begin, c->file, c->offset, WHOLE)
        START(OWN, , c->file, WHOLE, c->status)
        START(ALL, _all, c->file, WHOLE, c->status)
        START_NONBLOCKING(I_OWN, , c->file, WHOLE, &c->request)
        START_NONBLOCKING(I_ALL, _all, c->file, WHOLE, &c->request)
        START(ALL_SPLIT, _all_begin, c->file, WHOLE)
        START(SHARED, _shared, c->file, WHOLE, c->status)
        START_NONBLOCKING(I_SHARED, _shared, c->file, WHOLE, &c->request)
        START(ORDERED, _ordered, c->file, WHOLE, c->status)
        START(ORDERED_SPLIT, _ordered_begin, c->file, WHOLE)
    default:
        return MPI_ERR_OTHER;
    }
}

/* Completes it; of a blocking call nothing is left to do. */
static inline int file_call_finish(file_call_t *c)
{
    if (file_ways[c->way].is_nonblocking)
        return MPI_Wait(&c->request, c->status);
    if (c->way == AT_ALL_SPLIT)
        return c->is_write ? MPI_File_write_at_all_end(c->file, c->buffer, c->status)
                           : MPI_File_read_at_all_end(c->file, c->buffer, c->status);
    if (c->way == ALL_SPLIT)
        return c->is_write ? MPI_File_write_all_end(c->file, c->buffer, c->status)
                           : MPI_File_read_all_end(c->file, c->buffer, c->status);
    if (c->way == ORDERED_SPLIT)
        return c->is_write ? MPI_File_write_ordered_end(c->file, c->buffer, c->status)
                           : MPI_File_read_ordered_end(c->file, c->buffer, c->status);
    return MPI_SUCCESS;
}

#endif
