/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of internal results: name, text for a person, and the MPI
 * error class (the part behind MPI_ERR_) that it becomes at the API.
 *
 * Internals return an opal_status_t. The first function that decides that
 * something is an error logs it; its callers pass the status on silently.
 */
#ifndef OPAL_STATUS_H
#define OPAL_STATUS_H

#include "opal/include/compiler.h"

/* clang-format off */
#define OPAL_STATUS_TABLE(X)                                                    \
    X(ERROR,          OTHER,                 "error")                           \
    X(NO_MEMORY,      NO_MEM,                "out of memory")                   \
    X(BAD_PARAM,      ARG,                   "invalid argument or parameter")   \
    X(NOT_FOUND,      OTHER,                 "not found")                       \
    X(NOT_AVAILABLE,  UNSUPPORTED_OPERATION, "not available here")              \
    X(NOT_SUPPORTED,  UNSUPPORTED_OPERATION, "not supported")                   \
    X(EXISTS,         OTHER,                 "exists already")                  \
    X(TOO_LARGE,      VALUE_TOO_LARGE,       "too large")                       \
    X(TRUNCATED,      TRUNCATE,              "truncated")                       \
    X(PROTOCOL,       INTERN,                "peer broke the protocol")         \
    X(DISCONNECTED,   PROC_ABORTED,          "peer is gone")                    \
    X(TIMEOUT,        OTHER,                 "timed out")                       \
    X(SYSTEM,         OTHER,                 "system call failed")              \
    X(BUSY,           OTHER,                 "busy")
/* clang-format on */

typedef enum opal_status {
    OPAL_SUCCESS = 0,
#define OPAL_STATUS_ENUM(name, mpi_class, text) OPAL_ERR_##name,
    OPAL_STATUS_TABLE(OPAL_STATUS_ENUM)
#undef OPAL_STATUS_ENUM
        OPAL_STATUS_COUNT
} opal_status_t;

/* "NOT_FOUND"; never NULL. */
OPAL_EXPORT const char *opal_status_name(opal_status_t status);

/* "not found"; never NULL. */
OPAL_EXPORT const char *opal_status_text(opal_status_t status);

#endif
