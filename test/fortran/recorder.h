/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the C functions that calls.py writes compare arguments with, and how they store results. A
 * difference is printed with the names of procedure and argument, and counted.
 *
 * Compiled with RECORD_PMPI, the functions are PMPI_X, and MPI_X are the library's.
 *
 * Threading: one thread.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* OTHERWISE: what a function does that Fortran has not called. With PMPI, the library's own calls
 * come, too, and go on. */
#ifdef RECORD_PMPI
#define RECORDED(name)             PMPI_##name
#define REAL(name)                 MPI_##name
#define OTHERWISE(name, arguments) MPI_##name arguments
#else
#define RECORDED(name)             MPI_##name
#define REAL(name)                 PMPI_##name
#define OTHERWISE(name, arguments) MPI_ERR_OTHER
#endif

/* See calls.py. */
enum pass { FAILING = 1, PLAIN, CONSTANTS };
extern enum pass pass;

enum { OBJECTS = 8, BUFFERS = 4, BUFFER_LENGTH = 8 };
extern MPI_Comm comms[OBJECTS];
extern MPI_Datatype datatypes[OBJECTS];
extern MPI_Errhandler errhandlers[OBJECTS];
extern MPI_File files[OBJECTS];
extern MPI_Group groups[OBJECTS];
extern MPI_Info infos[OBJECTS];
extern MPI_Message messages[OBJECTS];
extern MPI_Op ops[OBJECTS];
extern MPI_Request requests[OBJECTS];
extern MPI_Session sessions[OBJECTS];
extern MPI_Win wins[OBJECTS];

typedef void function_t(void);

/* Whether Fortran has called the procedure of this name. If not, that is reported, but with PMPI.
 */
bool has_arrived(const char *name);

/* What the C function returns. */
int outcome(void);

void expect_integer(const char *name, long long wanted, long long found);
void expect_pointer(const char *name, const void *wanted, const void *found);
void expect_buffer(const char *name, int buffer, const void *constant, const void *found);
void expect_handle(const char *name, void *const objects[], int object, const void *found);
void expect_flags(const char *name, bool first, const int *found, int count);
void expect_status(const char *name, int wanted, const MPI_Status *found);
void expect_function(const char *name, int function, function_t *found);

/* Strings are `wanted`; with `x` up to the length of a long one in the pass FAILING. */
void expect_text(const char *name, const char *wanted, const char *found);
void expect_string(const char *name, const char *wanted, const char *found);
/* The arguments of a command: those of calls.py, and behind the first command its number. */
void expect_argv(const char *name, int command, char *const found[]);

void store_flags(int *flags, bool first, int count);
void store_statuses(MPI_Status *statuses, int first, int count);

#define EXPECT_HANDLE(name, objects, object, found)                                                \
    expect_handle(name, (void *const *)(objects), object, found)

/* Elements count up from the first one. */
#define EXPECT_INTEGERS(name, first, found, count)                                                 \
    do {                                                                                           \
        for (int i = 0; i < (count); i++)                                                          \
            expect_integer(name, (first) + i, (found)[i]);                                         \
    } while (0)
#define STORE_INTEGERS(integers, first, count)                                                     \
    do {                                                                                           \
        for (int i = 0; i < (count); i++)                                                          \
            (integers)[i] = (first) + i;                                                           \
    } while (0)

#endif
