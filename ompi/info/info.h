/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Info objects: keys with values, in the order in which the keys were first set.
 *
 * A key has 1 to MPI_MAX_INFO_KEY - 1 bytes, a value up to MPI_MAX_INFO_VAL - 1. An object has few
 * keys, so a search is linear.
 *
 * Threading: any thread, any object, at any time, also before MPI_Init and after MPI_Finalize.
 * Each object has a lock; while it is held, no other part of MPI is called.
 */
#ifndef OMPI_INFO_H
#define OMPI_INFO_H

#include <pthread.h>

#include "ompi/object/object.h"

typedef struct ompi_info_entry {
    char *key, *value; /* malloc'ed */
} ompi_info_entry_t;

typedef struct ompi_info {
    ompi_object_t head;
    pthread_mutex_t lock; /* of all below */
    ompi_info_entry_t *entries;
    size_t count, capacity;
} ompi_info_t;

/* Of memory that MPI allocates: a power of two of at most 1 GiB, or 0. */
#define OMPI_MINIMUM_ALIGNMENT "mpi_minimum_memory_alignment"

/* MPI_INFO_ENV: how the program was started. Only env.c changes it. */
extern ompi_info_t ompi_info_env;

/* An object without keys, or a copy of one; NULL: no memory. */
ompi_info_t *ompi_info_create(void);
ompi_info_t *ompi_info_dup(ompi_info_t *info);

/* Returns MPI_SUCCESS, MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE or MPI_ERR_NO_MEM. */
int ompi_info_set(ompi_info_t *info, const char *key, const char *value);

/* MPI_ERR_INFO_NOKEY: there is no such key. */
int ompi_info_delete(ompi_info_t *info, const char *key);

/*
 * Whether there is such a key. `*length` becomes the length of its value, of which at most
 * size - 1 bytes and a 0 are copied to `value`; with size 0, `value` may be NULL.
 */
bool ompi_info_get(ompi_info_t *info, const char *key, char *value, size_t size, size_t *length);

size_t ompi_info_count(ompi_info_t *info);

/* Copies the key with that index; false: the object has fewer keys. */
bool ompi_info_key(ompi_info_t *info, size_t number, char key[MPI_MAX_INFO_KEY]);

/* Read a value. False: it is no such number, or it is too large. */
bool ompi_info_read_number(const char *value, uint64_t *number);
bool ompi_info_read_alignment(const char *value, size_t *alignment);

#endif
