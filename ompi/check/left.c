/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An entry for each handle that the program has, in a tree by the object's address (a keyval's
 * number). An object whose handle was given twice has two.
 *
 * Requests have no call that all of them end in. So the entry stands in for the request's
 * `destroy`, and calls it.
 */
#include "ompi/check/left.h"

#include <pthread.h>
#include <stdlib.h>

#include "opal/util/interval.h"
#include "opal/util/log.h"
#include "ompi/check/caller.h"

enum {
    KEYVAL = OMPI_KIND_COUNT,
    KINDS,
    LINES = 20, /* of a rank, and one with the sum */
};

static const struct {
    const char *one, *many, *call;
} names[KINDS] = {
    [OMPI_COMM] = {"communicator", "communicators", "MPI_Comm_free"},
    [OMPI_DATATYPE] = {"datatype", "datatypes", "MPI_Type_free"},
    [OMPI_ERRHANDLER] = {"error handler", "error handlers", "MPI_Errhandler_free"},
    [OMPI_FILE] = {"file", "files", "MPI_File_close"},
    [OMPI_GROUP] = {"group", "groups", "MPI_Group_free"},
    [OMPI_INFO] = {"info object", "info objects", "MPI_Info_free"},
    [OMPI_OP] = {"operation", "operations", "MPI_Op_free"},
    [OMPI_REQUEST] = {"request", "requests", "MPI_Wait or MPI_Request_free"},
    [OMPI_SESSION] = {"session", "sessions", "MPI_Session_finalize"},
    [OMPI_WIN] = {"window", "windows", "MPI_Win_free"},
    [KEYVAL] = {"keyval", "keyvals", "MPI_Comm_free_keyval or the like"},
};

struct ompi_check_entry {
    opal_interval_t key; /* [address, address + 1) */
    unsigned kind;
    bool was_reported;
    ompi_check_caller_t caller;
    uintptr_t call;                         /* the caller's address, known in the report */
    void (*destroy)(ompi_object_t *object); /* a request's own; NULL: no request */
};

static opal_interval_tree_t entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the tree and its entries */

/* -- entries --------------------------------------------------------------------------------- */

static void insert(ompi_check_entry_t *entry)
{
    pthread_mutex_lock(&lock);
    opal_interval_insert(&entries, &entry->key);
    pthread_mutex_unlock(&lock);
}

/* False: there is no memory, and the handle is not counted. */
static bool add(uintptr_t key, unsigned kind, void (*destroy)(ompi_object_t *object))
{
    ompi_check_entry_t *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return false;
    entry->key.begin = key;
    entry->key.end = key + 1;
    entry->kind = kind;
    entry->destroy = destroy;
    ompi_check_caller_here(&entry->caller);
    insert(entry);
    return true;
}

/* Takes an entry out of the tree. NULL: the handle was given when nobody counted. */
static ompi_check_entry_t *take(uintptr_t key)
{
    pthread_mutex_lock(&lock);
    opal_interval_t *node = opal_interval_first(&entries, key, key + 1);
    if (node != NULL)
        opal_interval_remove(&entries, node);
    pthread_mutex_unlock(&lock);
    return node != NULL ? opal_container_of(node, ompi_check_entry_t, key) : NULL;
}

void ompi_check_add_object(ompi_object_t *object)
{
    if (object != NULL && object->destroy != NULL)
        add((uintptr_t)object, ompi_object_kind(object), NULL);
}

ompi_check_entry_t *ompi_check_take_object(const void *object)
{
    return object != NULL ? take((uintptr_t)object) : NULL;
}

void ompi_check_settle_object(ompi_check_entry_t *entry, bool is_freed)
{
    if (is_freed)
        free(entry);
    else
        insert(entry);
}

/* Numbers of keyvals are no addresses of objects. */
void ompi_check_add_keyval(int keyval)
{
    add((uintptr_t)(unsigned)keyval, KEYVAL, NULL);
}

void ompi_check_remove_keyval(int keyval)
{
    free(take((uintptr_t)(unsigned)keyval));
}

static void destroy_request(ompi_object_t *object)
{
    ompi_check_entry_t *entry = take((uintptr_t)object);
    object->destroy = entry->destroy;
    free(entry);
    object->destroy(object);
}

void ompi_check_add_request(ompi_request_t *request)
{
    ompi_object_t *object = &request->head;
    if (object->destroy != NULL && add((uintptr_t)object, OMPI_REQUEST, object->destroy))
        object->destroy = destroy_request;
}

/* -- the report ------------------------------------------------------------------------------ */

/* A request that the program has freed ends alone. */
static bool is_left(const ompi_check_entry_t *entry)
{
    if (entry->was_reported)
        return false;
    return entry->kind != OMPI_REQUEST ||
           !opal_container_of((ompi_object_t *)entry->key.begin, ompi_request_t, head)->orphan;
}

static bool are_alike(const ompi_check_entry_t *a, const ompi_check_entry_t *b)
{
    return a->kind == b->kind && a->call == b->call;
}

static int by_kind_and_call(const void *one, const void *other)
{
    const ompi_check_entry_t *a = *(ompi_check_entry_t *const *)one;
    const ompi_check_entry_t *b = *(ompi_check_entry_t *const *)other;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

static void report_alike(const ompi_check_entry_t *first, size_t count)
{
    char place[OMPI_CHECK_CALLER_BYTES];
    ompi_check_caller_describe(&first->caller, place);
    opal_log_warning("mpi_check: %zu %s, made at %s, %s not freed; see %s.", count,
                     count == 1 ? names[first->kind].one : names[first->kind].many, place,
                     count == 1 ? "was" : "were", names[first->kind].call);
}

static void report(ompi_check_entry_t *const left[], size_t count)
{
    size_t places = 0;
    for (size_t first = 0, behind; first < count; first = behind, places++) {
        for (behind = first + 1; behind < count && are_alike(left[first], left[behind]);)
            behind++;
        if (places < LINES)
            report_alike(left[first], behind - first);
    }
    if (places > 1)
        opal_log_warning("mpi_check: %zu objects and requests in all were not freed, from %zu "
                         "places%s.",
                         count, places, places > LINES ? ", the first of which are listed" : "");
}

void ompi_check_report_left(void)
{
    pthread_mutex_lock(&lock);
    size_t count = 0;
    ompi_check_entry_t **left = malloc((entries.count + 1) * sizeof(ompi_check_entry_t *));
    opal_interval_t *node = left != NULL ? opal_interval_first(&entries, 0, UINTPTR_MAX) : NULL;
    for (; node != NULL; node = opal_interval_next(node, 0, UINTPTR_MAX)) {
        ompi_check_entry_t *entry = opal_container_of(node, ompi_check_entry_t, key);
        if (!is_left(entry))
            continue;
        entry->was_reported = true;
        entry->call = ompi_check_caller_address(&entry->caller);
        left[count++] = entry;
    }
    if (count > 0)
        qsort(left, count, sizeof *left, by_kind_and_call);
    report(left, count);
    pthread_mutex_unlock(&lock);
    free(left);
}
