/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter datatype: addresses, commit and free, properties of types. */
#include <limits.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"
#include "ompi/datatype/envelope.h"
#include "ompi/datatype/predefined.h"

/* Addresses are whole numbers modulo 2^64; unsigned arithmetic has no overflow. */
MPI_Aint ompi_api_aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint ompi_api_aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

int ompi_api_get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

int ompi_api_type_commit(ompi_datatype_t **datatype)
{
    ompi_datatype_commit(*datatype);
    return MPI_SUCCESS;
}

int ompi_api_type_free(ompi_datatype_t **datatype)
{
    if ((*datatype)->is_predefined)
        return ompi_api_set_error_detail(MPI_ERR_TYPE, "A predefined datatype cannot be freed.");
    int outcome = ompi_attributes_delete_all(&(*datatype)->head);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_datatype_release(*datatype);
    *datatype = NULL;
    return MPI_SUCCESS;
}

int ompi_api_type_get_name(ompi_datatype_t *datatype, char *type_name, int *resultlen)
{
    if (datatype != NULL)
        ompi_datatype_get_name(datatype, type_name);
    else
        strcpy(type_name, "MPI_DATATYPE_NULL");
    *resultlen = (int)strlen(type_name);
    return MPI_SUCCESS;
}

int ompi_api_type_set_name(ompi_datatype_t *datatype, const char *type_name)
{
    return ompi_datatype_set_name(datatype, type_name);
}

int ompi_api_type_size(ompi_datatype_t *datatype, MPI_Count *size)
{
    /* The standard's result for an optional type that does not exist. */
    *size =
        ompi_datatype_is_type(datatype) ? (MPI_Count)ompi_datatype_size(datatype) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int ompi_api_type_get_extent(ompi_datatype_t *datatype, MPI_Count *lb, MPI_Count *extent)
{
    *lb = ompi_datatype_lb(datatype);
    *extent = ompi_datatype_extent(datatype);
    return MPI_SUCCESS;
}

int ompi_api_type_get_true_extent(ompi_datatype_t *datatype, MPI_Count *true_lb,
                                  MPI_Count *true_extent)
{
    *true_lb = ompi_datatype_true_lb(datatype);
    *true_extent = ompi_datatype_true_extent(datatype);
    return MPI_SUCCESS;
}

int ompi_api_type_match_size(int typeclass, int size, ompi_datatype_t **datatype)
{
    *datatype = size > 0 ? ompi_datatype_match_size(typeclass, (size_t)size) : NULL;
    if (*datatype == NULL)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "There is no type of that class and size.");
    return MPI_SUCCESS;
}

int ompi_api_type_get_value_index(ompi_datatype_t *value_type, ompi_datatype_t *index_type,
                                  ompi_datatype_t **pair_type)
{
    *pair_type = ompi_datatype_value_index(value_type, index_type);
    return MPI_SUCCESS;
}

static int create_f90(int combiner, int precision, int range, ompi_datatype_t **newtype)
{
    int outcome = ompi_datatype_f90(combiner, precision, range, newtype);
    if (outcome == MPI_ERR_ARG)
        return ompi_api_set_error_detail(outcome, "No kind has that precision and range.");
    return outcome;
}

int ompi_api_type_create_f90_real(int p, int r, ompi_datatype_t **newtype)
{
    return create_f90(MPI_COMBINER_F90_REAL, p, r, newtype);
}

int ompi_api_type_create_f90_complex(int p, int r, ompi_datatype_t **newtype)
{
    return create_f90(MPI_COMBINER_F90_COMPLEX, p, r, newtype);
}

int ompi_api_type_create_f90_integer(int r, ompi_datatype_t **newtype)
{
    return create_f90(MPI_COMBINER_F90_INTEGER, 0, r, newtype);
}

/* Envelopes. */

/* A type that was made with large counts can be described by the large functions only. */
static int check_form(const ompi_envelope_t *envelope, bool large)
{
    if (envelope->large_counts > 0 && !large)
        return ompi_api_set_error_detail(MPI_ERR_TYPE,
                                         "The type was made with large counts: ask the _c "
                                         "form of this function.");
    return MPI_SUCCESS;
}

int ompi_api_type_get_envelope(ompi_datatype_t *datatype, MPI_Count *num_integers,
                               MPI_Count *num_addresses, MPI_Count *num_large_counts,
                               MPI_Count *num_datatypes, int *combiner, bool large)
{
    static const ompi_envelope_t named = {.combiner = MPI_COMBINER_NAMED};
    const ompi_envelope_t *envelope = datatype->envelope != NULL ? datatype->envelope : &named;
    int outcome = check_form(envelope, large);
    if (outcome != MPI_SUCCESS)
        return outcome;
    *num_integers = (MPI_Count)envelope->integers;
    *num_addresses = (MPI_Count)envelope->addresses;
    *num_datatypes = (MPI_Count)envelope->datatypes;
    if (large)
        *num_large_counts = (MPI_Count)envelope->large_counts;
    *combiner = envelope->combiner;
    return MPI_SUCCESS;
}

static void copy_list(void *to, const void *from, size_t count, size_t item_bytes)
{
    if (count > 0)
        memcpy(to, from, count * item_bytes);
}

int ompi_api_type_get_contents(ompi_datatype_t *datatype, MPI_Count max_integers,
                               MPI_Count max_addresses, MPI_Count max_large_counts,
                               MPI_Count max_datatypes, int array_of_integers[],
                               MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                               MPI_Datatype array_of_datatypes[], bool large)
{
    const ompi_envelope_t *envelope = datatype->envelope;
    if (envelope == NULL)
        return ompi_api_set_error_detail(MPI_ERR_TYPE,
                                         "A named predefined datatype has no contents.");
    int outcome = check_form(envelope, large);
    if (outcome != MPI_SUCCESS)
        return outcome;
    if ((size_t)max_integers < envelope->integers || (size_t)max_addresses < envelope->addresses ||
        (size_t)max_large_counts < envelope->large_counts ||
        (size_t)max_datatypes < envelope->datatypes)
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "An array is shorter than MPI_Type_get_envelope says.");
    copy_list(array_of_integers, envelope->integer_list, envelope->integers, sizeof(int));
    copy_list(array_of_addresses, envelope->address_list, envelope->addresses, sizeof(MPI_Aint));
    copy_list(array_of_large_counts, envelope->large_count_list, envelope->large_counts,
              sizeof(MPI_Count));
    for (size_t i = 0; i < envelope->datatypes; i++) {
        ompi_datatype_retain(envelope->datatype_list[i]); /* the caller frees it */
        array_of_datatypes[i] = ompi_object_handle(envelope->datatype_list[i]);
    }
    return MPI_SUCCESS;
}
