/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter info. */
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/info/env.h"

/* Makes MPI_INFO_ENV say what it knows. */
static void prepare(const ompi_info_t *info)
{
    if (info == &ompi_info_env)
        ompi_info_env_prepare();
}

static int env_is_constant(void)
{
    return ompi_api_set_error_detail(MPI_ERR_INFO,
                                     "MPI_INFO_ENV cannot be changed; MPI_Info_dup makes a "
                                     "copy that can.");
}

/* A key that can be in an object. One that is too long is an error of every function. */
static int check_key(const char *key)
{
    if (*key == 0)
        return ompi_api_set_error_detail(MPI_ERR_INFO_KEY, "The key is empty.");
    if (strnlen(key, MPI_MAX_INFO_KEY) == MPI_MAX_INFO_KEY)
        return ompi_api_set_error_detail(MPI_ERR_INFO_KEY,
                                         "The key is longer than MPI_MAX_INFO_KEY - 1 bytes.");
    return MPI_SUCCESS;
}

int ompi_api_info_create(ompi_info_t **info)
{
    *info = ompi_info_create();
    return *info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_info_dup(ompi_info_t *info, ompi_info_t **newinfo)
{
    prepare(info);
    *newinfo = ompi_info_dup(info);
    return *newinfo != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_info_create_env(int argc, char *argv[], ompi_info_t **info)
{
    if (argc < 0 || (argc > 0 && argv == NULL))
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "There are not as many arguments as argc says.");
    int error = ompi_api_info_dup(&ompi_info_env, info);
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_info_set_command(*info, argc, argv);
    if (error != MPI_SUCCESS)
        ompi_object_release(&(*info)->head);
    return error;
}

int ompi_api_info_free(ompi_info_t **info)
{
    if (*info == &ompi_info_env)
        return ompi_api_set_error_detail(MPI_ERR_INFO,
                                         "MPI_INFO_ENV is predefined and cannot be freed.");
    ompi_object_release(&(*info)->head);
    *info = NULL;
    return MPI_SUCCESS;
}

int ompi_api_info_set(ompi_info_t *info, const char *key, const char *value)
{
    if (info == &ompi_info_env)
        return env_is_constant();
    int error = check_key(key);
    return error == MPI_SUCCESS ? ompi_info_set(info, key, value) : error;
}

int ompi_api_info_delete(ompi_info_t *info, const char *key)
{
    if (info == &ompi_info_env)
        return env_is_constant();
    int error = check_key(key);
    return error == MPI_SUCCESS ? ompi_info_delete(info, key) : error;
}

/* The lookup of all three functions that get a value. */
static int get(ompi_info_t *info, const char *key, char *value, size_t size, size_t *length,
               int *flag)
{
    int error = check_key(key);
    if (error != MPI_SUCCESS)
        return error;
    prepare(info);
    *flag = ompi_info_get(info, key, value, size, length);
    return MPI_SUCCESS;
}

int ompi_api_info_get(ompi_info_t *info, const char *key, int valuelen, char *value, int *flag)
{
    size_t length;
    return get(info, key, value, (size_t)valuelen + 1, &length, flag);
}

int ompi_api_info_get_valuelen(ompi_info_t *info, const char *key, int *valuelen, int *flag)
{
    size_t length = 0;
    int error = get(info, key, NULL, 0, &length, flag);
    if (error == MPI_SUCCESS && *flag)
        *valuelen = (int)length;
    return error;
}

int ompi_api_info_get_string(ompi_info_t *info, const char *key, int *buflen, char *value,
                             int *flag)
{
    size_t length = 0;
    if (*buflen < 0 || (*buflen > 0 && value == NULL))
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The buffer is not as long as buflen says.");
    int error = get(info, key, value, (size_t)*buflen, &length, flag);
    if (error == MPI_SUCCESS && *flag)
        *buflen = (int)length + 1;
    return error;
}

int ompi_api_info_get_nkeys(ompi_info_t *info, int *nkeys)
{
    prepare(info);
    *nkeys = (int)ompi_info_count(info);
    return MPI_SUCCESS;
}

int ompi_api_info_get_nthkey(ompi_info_t *info, int n, char *key)
{
    prepare(info);
    if (!ompi_info_key(info, (size_t)n, key))
        return ompi_api_set_error_detail(MPI_ERR_ARG, "There are not so many keys.");
    return MPI_SUCCESS;
}
