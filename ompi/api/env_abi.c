/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter env: properties of the ABI, and those of a Fortran compiler, which a
 * Fortran library sets.
 *
 * libmpi_abi knows nothing of a Fortran compiler by itself. libmpifort_abi, in programs that are
 * linked with it, tells the properties before main (ompi/fortran/logical.c); in a program with
 * another Fortran binding the binding may. The first call sets the properties, if they agree with
 * the sizes of the Fortran datatypes, which cannot change any more. A refused call sets nothing.
 *
 * Threading: any thread, at any time, before MPI_Init and after MPI_Finalize too.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "opal/include/compiler.h"
#include "ompi/api/bodies.h"
#include "ompi/datatype/predefined.h"
#include "ompi/info/info.h"

enum { LOGICAL_BYTES_MAX = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static ompi_info_t *fortran;                             /* NULL: not set */
static struct {
    int bytes; /* 0: not set */
    unsigned char yes[LOGICAL_BYTES_MAX], no[LOGICAL_BYTES_MAX];
} booleans;

int ompi_api_abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

static int set_size(ompi_info_t *info, const char *key, size_t bytes)
{
    char number[sizeof "18446744073709551615"];
    snprintf(number, sizeof number, "%zu", bytes);
    return ompi_info_set(info, key, number);
}

int ompi_api_abi_get_info(ompi_info_t **info)
{
    ompi_info_t *made = ompi_info_create();
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    int error = set_size(made, "mpi_aint_size", sizeof(MPI_Aint));
    if (error == MPI_SUCCESS)
        error = set_size(made, "mpi_count_size", sizeof(MPI_Count));
    if (error == MPI_SUCCESS)
        error = set_size(made, "mpi_offset_size", sizeof(MPI_Offset));
    if (error == MPI_SUCCESS)
        *info = made;
    else
        ompi_object_release(&made->head);
    return error;
}

/* -- Fortran's types --------------------------------------------------------------------- */

/* Whether an info has no size for the type, or the right one. */
static bool agrees(ompi_info_t *info, const char *key, MPI_Datatype type)
{
    char value[32], wanted[32];
    size_t length;
    if (!ompi_info_get(info, key, value, sizeof value, &length))
        return true;
    snprintf(wanted, sizeof wanted, "%zu", ompi_datatype_predefined_bytes(type));
    return strcmp(value, wanted) == 0;
}

int ompi_api_abi_set_fortran_info(ompi_info_t *info)
{
    static const struct {
        const char *key;
        MPI_Datatype type;
    } sizes[] = {{"mpi_logical_size", MPI_LOGICAL},
                 {"mpi_integer_size", MPI_INTEGER},
                 {"mpi_real_size", MPI_REAL},
                 {"mpi_double_precision_size", MPI_DOUBLE_PRECISION}};
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        if (!agrees(info, sizes[i].key, sizes[i].type))
            return ompi_api_set_error_detail(MPI_ERR_ABI,
                                             "A type has another size here than the info says: "
                                             "see MPI_Type_size.");
    }
    ompi_info_t *copy = ompi_info_dup(info);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    pthread_mutex_lock(&lock);
    bool is_first = fortran == NULL;
    if (is_first)
        fortran = copy;
    pthread_mutex_unlock(&lock);
    if (is_first)
        return MPI_SUCCESS;
    ompi_object_release(&copy->head);
    return ompi_api_set_error_detail(MPI_ERR_ABI, "This was set before.");
}

int ompi_api_abi_get_fortran_info(ompi_info_t **info)
{
    pthread_mutex_lock(&lock);
    ompi_info_t *stored = fortran; /* stays for ever */
    pthread_mutex_unlock(&lock);
    *info = NULL;
    if (stored == NULL)
        return MPI_SUCCESS;
    *info = ompi_info_dup(stored);
    return *info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* -- Fortran's booleans ------------------------------------------------------------------ */

static bool is_logical_size(int bytes)
{
    return bytes > 0 && bytes <= LOGICAL_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

static int refuse_size(void)
{
    return ompi_api_set_error_detail(MPI_ERR_ARG, "A LOGICAL has 1, 2, 4, 8 or 16 bytes.");
}

/* Operators take 0 for false, so another literal would give wrong results. */
static bool is_usable(const void *literal_false, int bytes)
{
    static const unsigned char zeros[LOGICAL_BYTES_MAX];
    return memcmp(literal_false, zeros, (size_t)bytes) == 0;
}

int ompi_api_abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
    if (!is_logical_size(logical_size))
        return refuse_size();
    if (logical_true == NULL || logical_false == NULL)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "A literal is NULL.");
    if (!is_usable(logical_false, logical_size) || is_usable(logical_true, logical_size))
        return ompi_api_set_error_detail(MPI_ERR_ABI,
                                         "MPI's operators take 0 for false and others for true.");
    pthread_mutex_lock(&lock);
    bool is_first = booleans.bytes == 0;
    if (is_first) {
        booleans.bytes = logical_size;
        memcpy(booleans.yes, logical_true, (size_t)logical_size);
        memcpy(booleans.no, logical_false, (size_t)logical_size);
    }
    pthread_mutex_unlock(&lock);
    return is_first ? MPI_SUCCESS : ompi_api_set_error_detail(MPI_ERR_ABI, "This was set before.");
}

/* A literal as one of another length: the number stays the same, with its sign. */
static void copy_literal(unsigned char *to, int to_bytes, const unsigned char *from, int from_bytes)
{
    int sign = from[from_bytes - 1] & 0x80 ? 0xff : 0;
    for (int i = 0; i < to_bytes; i++)
        to[i] = i < from_bytes ? from[i] : (unsigned char)sign;
}

int ompi_api_abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false,
                                      int *is_set)
{
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the sign is in the last byte");
    if (!is_logical_size(logical_size))
        return refuse_size();
    pthread_mutex_lock(&lock);
    bool is_known = booleans.bytes != 0;
    if (is_known && logical_true != NULL)
        copy_literal(logical_true, logical_size, booleans.yes, booleans.bytes);
    if (is_known && logical_false != NULL)
        copy_literal(logical_false, logical_size, booleans.no, booleans.bytes);
    pthread_mutex_unlock(&lock);
    *is_set = is_known;
    return MPI_SUCCESS;
}
