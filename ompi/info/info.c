/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects. See info.h. */
#include "ompi/info/info.h"

#include <stdlib.h>
#include <string.h>

#include "opal/include/compiler.h"

enum { LONGEST_ALIGNMENT = 1 << 30 };

ompi_info_t ompi_info_env = {.head = OMPI_OBJECT_PREDEFINED(OMPI_INFO, MPI_INFO_ENV),
                             .lock = PTHREAD_MUTEX_INITIALIZER};

static void destroy(ompi_object_t *object)
{
    ompi_info_t *info = opal_container_of(object, ompi_info_t, head);
    for (size_t i = 0; i < info->count; i++) {
        free(info->entries[i].key);
        free(info->entries[i].value);
    }
    free(info->entries);
    pthread_mutex_destroy(&info->lock);
    free(info);
}

ompi_info_t *ompi_info_create(void)
{
    ompi_info_t *info = calloc(1, sizeof *info);
    if (info == NULL)
        return NULL;
    ompi_object_init(&info->head, OMPI_INFO, destroy);
    pthread_mutex_init(&info->lock, NULL);
    return info;
}

/* The lock is held, in this and the functions below that look at entries. */
static ompi_info_entry_t *find(const ompi_info_t *info, const char *key)
{
    for (size_t i = 0; i < info->count; i++) {
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    }
    return NULL;
}

static bool grow(ompi_info_t *info)
{
    size_t capacity = info->capacity == 0 ? 8 : info->capacity * 2;
    ompi_info_entry_t *entries = realloc(info->entries, capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    info->entries = entries;
    info->capacity = capacity;
    return true;
}

/* Adds an entry at the end. */
static int append(ompi_info_t *info, const char *key, const char *value)
{
    if (info->count == info->capacity && !grow(info))
        return MPI_ERR_NO_MEM;
    ompi_info_entry_t entry = {strdup(key), strdup(value)};
    if (entry.key == NULL || entry.value == NULL) {
        free(entry.key);
        free(entry.value);
        return MPI_ERR_NO_MEM;
    }
    info->entries[info->count++] = entry;
    return MPI_SUCCESS;
}

static int replace(ompi_info_entry_t *entry, const char *value)
{
    char *copy = strdup(value);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    free(entry->value);
    entry->value = copy;
    return MPI_SUCCESS;
}

ompi_info_t *ompi_info_dup(ompi_info_t *info)
{
    ompi_info_t *copy = ompi_info_create();
    if (copy == NULL)
        return NULL;
    int error = MPI_SUCCESS;
    pthread_mutex_lock(&info->lock);
    for (size_t i = 0; i < info->count && error == MPI_SUCCESS; i++)
        error = append(copy, info->entries[i].key, info->entries[i].value);
    pthread_mutex_unlock(&info->lock);
    if (error != MPI_SUCCESS) {
        ompi_object_release(&copy->head);
        return NULL;
    }
    return copy;
}

int ompi_info_set(ompi_info_t *info, const char *key, const char *value)
{
    if (*key == 0 || strnlen(key, MPI_MAX_INFO_KEY) == MPI_MAX_INFO_KEY)
        return MPI_ERR_INFO_KEY;
    if (strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL)
        return MPI_ERR_INFO_VALUE;
    pthread_mutex_lock(&info->lock);
    ompi_info_entry_t *entry = find(info, key);
    int error = entry != NULL ? replace(entry, value) : append(info, key, value);
    pthread_mutex_unlock(&info->lock);
    return error;
}

int ompi_info_delete(ompi_info_t *info, const char *key)
{
    pthread_mutex_lock(&info->lock);
    ompi_info_entry_t *entry = find(info, key);
    if (entry != NULL) {
        free(entry->key);
        free(entry->value);
        ompi_info_entry_t *end = info->entries + --info->count;
        memmove(entry, entry + 1, (size_t)(end - entry) * sizeof *entry);
    }
    pthread_mutex_unlock(&info->lock);
    return entry != NULL ? MPI_SUCCESS : MPI_ERR_INFO_NOKEY;
}

bool ompi_info_get(ompi_info_t *info, const char *key, char *value, size_t size, size_t *length)
{
    pthread_mutex_lock(&info->lock);
    const ompi_info_entry_t *entry = find(info, key);
    if (entry != NULL) {
        *length = strlen(entry->value);
        if (size > 0) {
            size_t bytes = *length < size ? *length : size - 1;
            memcpy(value, entry->value, bytes);
            value[bytes] = 0;
        }
    }
    pthread_mutex_unlock(&info->lock);
    return entry != NULL;
}

size_t ompi_info_count(ompi_info_t *info)
{
    pthread_mutex_lock(&info->lock);
    size_t count = info->count;
    pthread_mutex_unlock(&info->lock);
    return count;
}

bool ompi_info_key(ompi_info_t *info, size_t number, char key[MPI_MAX_INFO_KEY])
{
    pthread_mutex_lock(&info->lock);
    bool is_there = number < info->count;
    if (is_there)
        strcpy(key, info->entries[number].key);
    pthread_mutex_unlock(&info->lock);
    return is_there;
}

/* -- values -------------------------------------------------------------------------- */

bool ompi_info_read_number(const char *value, uint64_t *number)
{
    uint64_t sum = 0;
    for (const char *digit = value; *digit != 0; digit++) {
        if (*digit < '0' || *digit > '9' || sum > INT64_MAX / 10 - 1)
            return false;
        sum = 10 * sum + (uint64_t)(*digit - '0');
    }
    *number = sum;
    return *value != 0;
}

bool ompi_info_read_alignment(const char *value, size_t *alignment)
{
    uint64_t number;
    bool is_good = ompi_info_read_number(value, &number) && (number & (number - 1)) == 0 &&
                   number <= LONGEST_ALIGNMENT;
    if (is_good)
        *alignment = (size_t)number;
    return is_good;
}
