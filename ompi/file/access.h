/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's access: bytes between its memory and the pieces of its view.
 *
 *   a piece after the other   each is one transfer, out of or into the program's buffer
 *   data sieving              where the pieces are short and lie close together: a window of the
 *                             file is read into a buffer and, for a write, changed and written back
 *                             under a lock of its range; pieces that are not so short are read from
 *                             it straight into the program's buffer
 *
 * Threading: any thread, without ompi_lock; an access is used by one thread at a time.
 */
#ifndef OMPI_FILE_ACCESS_H
#define OMPI_FILE_ACCESS_H

#include "ompi/file/file.h"

typedef struct ompi_access {
    ompi_file_t *file;
    ompi_view_t *view; /* the access has a reference */
    bool is_write, is_atomic;
    uint64_t position, bytes; /* of the view's data in the file */
    void *buffer;
    size_t count;
    ompi_datatype_t *type;

    /* What has become of it. */
    uint64_t done_bytes; /* of `bytes`, from the first one on; fewer: the file ended, or an error */
    int error;           /* MPI error code */
    int system_error;    /* errno, or 0: `error` is none of the system */
    uint64_t error_byte; /* of the file */
} ompi_access_t;

/* Moves the pointer that the call uses, and fills in an access, which has retained the view. */
int ompi_access_prepare(const ompi_file_call_t *call, ompi_access_t *access);
void ompi_access_fini(ompi_access_t *access);

/* How many etypes it is about, and where it begins, in etypes. */
int64_t ompi_access_etypes(const ompi_access_t *access);
int ompi_access_place(ompi_access_t *access, int64_t etype);

/* Carries it out. */
void ompi_access_run(ompi_access_t *access);

/* Whether it is one piece of the file and needs no lock: then `first` is its byte. */
bool ompi_access_is_one_transfer(const ompi_access_t *access, uint64_t *first);

/* Between the program's buffer and a window: memory that stands for the file from byte `first` on.
 * Of an access to native data; `done` is where its bytes begin. */
void ompi_access_move_window(const ompi_access_t *access, uint64_t done, size_t bytes, void *window,
                             uint64_t first);

/* Transfers a range of the file for an access. Returns how many bytes were moved. */
uint64_t ompi_access_transfer(ompi_access_t *access, bool is_write, ompi_run_t range, void *memory);

/* Memory for a part of the file: that of before, if nobody uses it, else new. NULL: there is none.
 */
void *ompi_access_take_buffer(ompi_file_t *file, size_t bytes);
void ompi_access_give_buffer(ompi_file_t *file, void *buffer); /* back; may be NULL */
void ompi_access_free_buffer(ompi_file_t *file);               /* the last one */

/* The system has refused something at that byte of the file. */
void ompi_access_fail_system(ompi_access_t *access, int error, uint64_t byte);

/* Its error code, whose sentence is set; and the status of what was moved. */
int ompi_access_result(const ompi_access_t *access, MPI_Status *status);

#endif
