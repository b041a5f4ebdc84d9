/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the standard's error classes, and the list of those that the program added.
 *
 * Our own codes are the classes themselves. Added classes and codes share one range of numbers
 * above MPI_ERR_LASTCODE, which index a list. A number is not reused while a later one is in use,
 * so that a stale code is seldom taken for a new one.
 *
 * Threading: one lock for the list. The list outlives MPI_Finalize, as the codes do.
 */
#include "ompi/errhandler/error_code.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/include/compiler.h"

/* clang-format off */
#define ERROR_TABLE(X)                                                                             \
    X(MPI_SUCCESS,                   "no error")                                                   \
    X(MPI_ERR_BUFFER,                "the buffer is not valid")                                    \
    X(MPI_ERR_COUNT,                 "the count is not valid")                                     \
    X(MPI_ERR_TYPE,                  "the datatype is not valid")                                  \
    X(MPI_ERR_TAG,                   "the tag is not valid")                                       \
    X(MPI_ERR_COMM,                  "the communicator is not valid")                              \
    X(MPI_ERR_RANK,                  "the rank is not valid")                                      \
    X(MPI_ERR_REQUEST,               "the request or message is not valid")                        \
    X(MPI_ERR_ROOT,                  "the root is not valid")                                      \
    X(MPI_ERR_GROUP,                 "the group is not valid")                                     \
    X(MPI_ERR_OP,                    "the reduction operation is not valid")                       \
    X(MPI_ERR_TOPOLOGY,              "the topology is not valid")                                  \
    X(MPI_ERR_DIMS,                  "the dimensions are not valid")                               \
    X(MPI_ERR_ARG,                   "an argument is not valid")                                   \
    X(MPI_ERR_UNKNOWN,               "the error is not known")                                     \
    X(MPI_ERR_TRUNCATE,              "the length of the message does not fit the receive buffer")  \
    X(MPI_ERR_OTHER,                 "an error without a class of its own")                        \
    X(MPI_ERR_INTERN,                "an error inside the MPI library")                            \
    X(MPI_ERR_PENDING,               "the request is still pending")                               \
    X(MPI_ERR_IN_STATUS,             "the error code is in the status")                            \
    X(MPI_ERR_ACCESS,                "permission denied")                                          \
    X(MPI_ERR_AMODE,                 "the access mode is not valid")                               \
    X(MPI_ERR_ASSERT,                "the assertion argument is not valid")                        \
    X(MPI_ERR_BAD_FILE,              "the file name is not valid")                                 \
    X(MPI_ERR_BASE,                  "the base address is not valid")                              \
    X(MPI_ERR_CONVERSION,            "a conversion function of the program failed")                \
    X(MPI_ERR_DISP,                  "the displacement is not valid")                              \
    X(MPI_ERR_DUP_DATAREP,           "a data representation of that name is defined already")      \
    X(MPI_ERR_FILE_EXISTS,           "the file exists already")                                    \
    X(MPI_ERR_FILE_IN_USE,           "the file is open")                                           \
    X(MPI_ERR_FILE,                  "the file handle is not valid")                               \
    X(MPI_ERR_INFO_KEY,              "the info key is too long")                                   \
    X(MPI_ERR_INFO_NOKEY,            "the info object does not have the key")                      \
    X(MPI_ERR_INFO_VALUE,            "the info value is too long")                                 \
    X(MPI_ERR_INFO,                  "the info object is not valid")                               \
    X(MPI_ERR_IO,                    "input or output failed")                                     \
    X(MPI_ERR_KEYVAL,                "the attribute key is not valid")                             \
    X(MPI_ERR_LOCKTYPE,              "the lock type is not valid")                                 \
    X(MPI_ERR_NAME,                  "the service name is not published")                          \
    X(MPI_ERR_NO_MEM,                "out of memory")                                              \
    X(MPI_ERR_NOT_SAME,              "the argument is not the same in all processes")              \
    X(MPI_ERR_NO_SPACE,              "no space left on the device")                                \
    X(MPI_ERR_NO_SUCH_FILE,          "the file does not exist")                                    \
    X(MPI_ERR_PORT,                  "the port name is not valid")                                 \
    X(MPI_ERR_QUOTA,                 "the disk quota is used up")                                  \
    X(MPI_ERR_READ_ONLY,             "the file or file system is read-only")                       \
    X(MPI_ERR_RMA_ATTACH,            "memory cannot be attached to the window")                    \
    X(MPI_ERR_RMA_CONFLICT,          "conflicting accesses to the window")                         \
    X(MPI_ERR_RMA_RANGE,             "the target memory is not part of the window")                \
    X(MPI_ERR_RMA_SHARED,            "the processes cannot share this memory")                     \
    X(MPI_ERR_RMA_SYNC,              "the window is not synchronized as the call needs it")        \
    X(MPI_ERR_SERVICE,               "the service name is not valid")                              \
    X(MPI_ERR_SIZE,                  "the size is not valid")                                      \
    X(MPI_ERR_SPAWN,                 "processes cannot be spawned")                                \
    X(MPI_ERR_UNSUPPORTED_DATAREP,   "the data representation is not supported")                   \
    X(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported")                             \
    X(MPI_ERR_WIN,                   "the window is not valid")                                    \
    X(MPI_ERR_RMA_FLAVOR,            "the window is of another flavor than the call needs")        \
    X(MPI_ERR_PROC_ABORTED,          "a process that takes part has ended")                        \
    X(MPI_ERR_VALUE_TOO_LARGE,       "a value is too large for its argument")                      \
    X(MPI_ERR_SESSION,               "the session is not valid")                                   \
    X(MPI_ERR_ERRHANDLER,            "the error handler is not valid")                             \
    X(MPI_ERR_ABI,                   "the Fortran properties are set already or not supported")    \
    X(MPI_T_ERR_CANNOT_INIT,         "the tool interface cannot be initialized")                   \
    X(MPI_T_ERR_NOT_ACCESSIBLE,      "the tool interface cannot be used at this time")             \
    X(MPI_T_ERR_NOT_INITIALIZED,     "the tool interface is not initialized")                      \
    X(MPI_T_ERR_NOT_SUPPORTED,       "the tool interface does not support this")                   \
    X(MPI_T_ERR_MEMORY,              "the tool interface is out of memory")                        \
    X(MPI_T_ERR_INVALID,             "a tool interface argument or its use is not valid")          \
    X(MPI_T_ERR_INVALID_INDEX,       "the tool interface index is not valid")                      \
    X(MPI_T_ERR_INVALID_ITEM,        "the tool interface item index is not valid")                 \
    X(MPI_T_ERR_INVALID_SESSION,     "the performance session is not valid")                       \
    X(MPI_T_ERR_INVALID_HANDLE,      "the tool interface handle is not valid")                     \
    X(MPI_T_ERR_INVALID_NAME,        "the tool interface name is not valid")                       \
    X(MPI_T_ERR_OUT_OF_HANDLES,      "no more tool interface handles")                             \
    X(MPI_T_ERR_OUT_OF_SESSIONS,     "no more performance sessions")                               \
    X(MPI_T_ERR_CVAR_SET_NOT_NOW,    "the control variable cannot be set at this time")            \
    X(MPI_T_ERR_CVAR_SET_NEVER,      "the control variable cannot be set")                         \
    X(MPI_T_ERR_PVAR_NO_WRITE,       "the performance variable cannot be written or reset")        \
    X(MPI_T_ERR_PVAR_NO_STARTSTOP,   "the performance variable cannot be started or stopped")      \
    X(MPI_T_ERR_PVAR_NO_ATOMIC,      "the performance variable cannot be read and reset at once")
/* clang-format on */

static const struct {
    int class;
    const char *name, *text;
} standard[] = {
#define ERROR_ROW(code, text) {code, #code, text},
    ERROR_TABLE(ERROR_ROW)
#undef ERROR_ROW
};

enum { FIRST_ADDED = MPI_ERR_LASTCODE + 1 };

typedef struct added {
    int class;    /* of a class: itself; 0: nothing has this number (any more) */
    int codes;    /* of a class: codes that belong to it */
    char *string; /* malloc'ed; NULL: none was given */
} added_t;

static added_t *list;
static size_t list_size, list_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int ompi_error_last_used = MPI_ERR_LASTCODE;

/* After a change of list_used. The lock is held; readers of the value do not take it. */
static void publish_last_used(void)
{
    __atomic_store_n(&ompi_error_last_used, MPI_ERR_LASTCODE + (int)list_used, __ATOMIC_RELAXED);
}

/* The entry that the program added under that number, or NULL. The lock is held. */
static added_t *find_added(int code)
{
    if (code < FIRST_ADDED || (size_t)(code - FIRST_ADDED) >= list_used)
        return NULL;
    added_t *added = &list[code - FIRST_ADDED];
    return added->class != 0 ? added : NULL;
}

static added_t *find_added_class(int class)
{
    added_t *added = find_added(class);
    return added != NULL && added->class == class ? added : NULL;
}

/* The row of the standard's class, or -1. */
static int find_standard(int class)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(standard); i++) {
        if (standard[i].class == class)
            return (int)i;
    }
    return -1;
}

/* A number for something new, 0 if there is none. The lock is held. */
static int take_number(void)
{
    if (list_used == (size_t)(INT_MAX - FIRST_ADDED))
        return 0;
    if (list_used == list_size) {
        size_t size = list_size == 0 ? 16 : list_size * 2;
        added_t *grown = realloc(list, size * sizeof *grown);
        if (grown == NULL)
            return 0;
        list = grown;
        list_size = size;
    }
    list[list_used] = (added_t){0};
    int number = FIRST_ADDED + (int)list_used++;
    publish_last_used();
    return number;
}

static void give_number_back(added_t *added)
{
    free(added->string);
    *added = (added_t){0};
    while (list_used > 0 && list[list_used - 1].class == 0)
        list_used--;
    publish_last_used();
    if (list_used == 0) {
        free(list);
        list = NULL;
        list_size = 0;
    }
}

int ompi_error_class(int code)
{
    if (find_standard(code) >= 0)
        return code;
    pthread_mutex_lock(&lock);
    const added_t *added = find_added(code);
    int class = added != NULL ? added->class : MPI_ERR_UNKNOWN;
    pthread_mutex_unlock(&lock);
    return class;
}

bool ompi_error_is_standard(int code)
{
    return find_standard(code) >= 0;
}

bool ompi_error_is_known(int code)
{
    return code == MPI_ERR_UNKNOWN || ompi_error_class(code) != MPI_ERR_UNKNOWN;
}

void ompi_error_string(int code, char string[MPI_MAX_ERROR_STRING])
{
    int row = find_standard(code);
    if (row >= 0) {
        snprintf(string, MPI_MAX_ERROR_STRING, "%s: %s", standard[row].name, standard[row].text);
        return;
    }
    pthread_mutex_lock(&lock);
    const added_t *added = find_added(code);
    if (added == NULL)
        snprintf(string, MPI_MAX_ERROR_STRING, "%d is not an error code", code);
    else
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", added->string != NULL ? added->string : "");
    pthread_mutex_unlock(&lock);
}

int ompi_error_of_status(opal_status_t status)
{
    static const int codes[] = {
        MPI_SUCCESS,
#define STATUS_CODE(name, mpi_class, text) MPI_ERR_##mpi_class,
        OPAL_STATUS_TABLE(STATUS_CODE)
#undef STATUS_CODE
    };
    return (unsigned)status < OPAL_COUNT_OF(codes) ? codes[status] : MPI_ERR_INTERN;
}

int ompi_error_add_class(int *class)
{
    pthread_mutex_lock(&lock);
    int number = take_number();
    if (number != 0) {
        list[number - FIRST_ADDED].class = number;
        *class = number;
    }
    pthread_mutex_unlock(&lock);
    return number != 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_error_add_code(int class, int *code)
{
    int error = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    if (class == MPI_SUCCESS || (find_standard(class) < 0 && find_added_class(class) == NULL)) {
        error = MPI_ERR_ARG;
    } else {
        int number = take_number();
        if (number == 0) {
            error = MPI_ERR_NO_MEM;
        } else {
            list[number - FIRST_ADDED].class = class;
            added_t *parent = find_added_class(class);
            if (parent != NULL)
                parent->codes++;
            *code = number;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int ompi_error_add_string(int code, const char *string)
{
    char *copy = strndup(string, MPI_MAX_ERROR_STRING - 1);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    pthread_mutex_lock(&lock);
    added_t *added = find_added(code);
    if (added != NULL) {
        char *before = added->string;
        added->string = copy;
        copy = before;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
    return added != NULL ? MPI_SUCCESS : MPI_ERR_ARG;
}

int ompi_error_remove_class(int class)
{
    int error = MPI_ERR_ARG;
    pthread_mutex_lock(&lock);
    added_t *added = find_added_class(class);
    if (added != NULL && added->codes == 0) {
        give_number_back(added);
        error = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int ompi_error_remove_code(int code)
{
    int error = MPI_ERR_ARG;
    pthread_mutex_lock(&lock);
    added_t *added = find_added(code);
    if (added != NULL && added->class != code && added->string == NULL) {
        added_t *parent = find_added_class(added->class);
        if (parent != NULL)
            parent->codes--;
        give_number_back(added);
        error = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int ompi_error_remove_string(int code)
{
    int error = MPI_ERR_ARG;
    pthread_mutex_lock(&lock);
    added_t *added = find_added(code);
    if (added != NULL && added->string != NULL) {
        free(added->string);
        added->string = NULL;
        error = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
}
