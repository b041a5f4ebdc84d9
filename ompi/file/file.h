/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files: what the MPI calls on them do.
 *
 *   file.c       opening, closing, sizes
 *   hints.c      hints
 *   error.c      errors of the system, and of other ranks
 *   view.c       which bytes a rank sees; datarep.c how they look; set_view.c changing views
 *   position.c   the pointers
 *   access.c     one rank's access: how the pieces of a view are read and written
 *   cost.c       what that takes
 *   request.c    accesses that go on while the program computes
 *   collective.c accesses of all ranks together
 *
 *   area.c       memory that the ranks of a node use together: range_lock.c, pointer.c (the shared
 *                pointer), conveyor.c (collective buffering)
 *
 * ompi/mca/io reads and writes. Functions return an MPI error code, and the sentence about it is
 * in ompi/check/finding.h. Those that are collective return the same code in all ranks.
 *
 * Threading: the caller does not hold ompi_lock. A file may be used by several threads; collective
 * calls by one at a time.
 */
#ifndef OMPI_FILE_H
#define OMPI_FILE_H

#include <pthread.h>

#include "ompi/communicator/communicator.h"
#include "ompi/file/area.h"
#include "ompi/file/cost.h"
#include "ompi/file/hints.h"
#include "ompi/file/pointer.h"
#include "ompi/file/view.h"
#include "ompi/mca/io/io.h"
#include "ompi/object/object.h"
#include "ompi/request/request.h"

typedef struct ompi_file {
    ompi_object_t head;
    ompi_communicator_t *comm; /* its own, with the ranks of the program's */
    char *path;
    int amode; /* MPI_MODE_... */
    ompi_io_file_t *io;
    ompi_file_hints_t hints;
    ompi_file_area_t *area;
    ompi_file_pointer_t *shared;
    struct ompi_file_peers *peers;    /* of a file with ranks on several nodes; else NULL */
    struct ompi_conveyor_part *parts; /* room for what all ranks say of a collective access */
    uint32_t collectives;             /* such accesses so far */
    bool has_run_views;               /* the view of each rank is one run */
    uint64_t key[2];                  /* of fingerprints; the same in all ranks */
    ompi_file_costs_t costs;
    atomic_bool is_atomic; /* MPI_File_set_atomicity */
    atomic_uint pending;   /* accesses that go on */
    void *_Atomic buffer;  /* of data sieving, that no thread uses; NULL: none */
    bool is_listed;        /* it is in the list of open files */
    opal_list_node_t node;
    const char *split_name; /* of the split collective that has begun: "read_all"; NULL: none has */
    ompi_request_t *split;  /* what of it goes on; NULL: it is over, with this status */
    MPI_Status split_status;

    pthread_mutex_t lock; /* of the two below */
    ompi_view_t *view;    /* never NULL */
    int64_t position;     /* the individual pointer, in etypes */
} ompi_file_t;

/* Has the default error handler of files, which a program gets and sets by MPI_FILE_NULL. New files
 * begin with that handler; it is also invoked for errors of calls that have no file. No handle
 * leads to this object. */
extern ompi_file_t ompi_file_default;

/* Before messages end: closes what the program has left open. */
void ompi_file_stop(void);

/* Sets the default handler to MPI_ERRORS_RETURN again, and forgets data representations. */
void ompi_file_fini(void);

/* The object whose error handler is invoked for a call about `object`, which may be no file. */
static inline ompi_file_t *ompi_file_handler_object(void *object)
{
    return ompi_object_is(object, OMPI_FILE) ? object : &ompi_file_default;
}

/* -- the file as a whole ------------------------------------------------------------------ */

/* Collective over comm, an intracommunicator. */
int ompi_file_open(ompi_communicator_t *comm, const char *path, int amode, ompi_info_t *info,
                   ompi_file_t **file);

/* Collective. *file is NULL afterwards, also after an error of the file system. */
int ompi_file_close(ompi_file_t **file);

int ompi_file_delete(const char *path);

int ompi_file_get_size(ompi_file_t *file, MPI_Offset *bytes);

/* Collective. */
int ompi_file_set_size(ompi_file_t *file, MPI_Offset bytes);
int ompi_file_preallocate(ompi_file_t *file, MPI_Offset bytes);
int ompi_file_sync(ompi_file_t *file);
int ompi_file_set_atomicity(ompi_file_t *file, bool is_atomic);
int ompi_file_set_hints(ompi_file_t *file, ompi_info_t *info);
int ompi_file_set_view(ompi_file_t *file, MPI_Offset disp, ompi_datatype_t *etype,
                       ompi_datatype_t *filetype, const char *datarep, ompi_info_t *info);

/* The view, with a reference for the caller. */
ompi_view_t *ompi_file_get_view(ompi_file_t *file);

/* -- pointers, in etypes (position.c) ------------------------------------------------------ */

int ompi_file_seek(ompi_file_t *file, MPI_Offset offset, int whence);
int ompi_file_seek_shared(ompi_file_t *file, MPI_Offset offset, int whence); /* collective */
int ompi_file_get_position(ompi_file_t *file, MPI_Offset *offset);
int ompi_file_get_position_shared(ompi_file_t *file, MPI_Offset *offset);
int ompi_file_get_byte_offset(ompi_file_t *file, MPI_Offset offset, MPI_Offset *byte);

/* Collective: all pointers of a file that was just opened go to its end. */
int ompi_file_append(ompi_file_t *file);

/* -- accesses ----------------------------------------------------------------------------- */

typedef enum ompi_file_where {
    OMPI_FILE_AT,         /* at `offset` */
    OMPI_FILE_INDIVIDUAL, /* at this rank's pointer, which moves */
    OMPI_FILE_SHARED,     /* at the shared pointer, which moves; of a collective, in rank order */
    OMPI_FILE_ORDERED,    /* for this folder: a collective's, whose place is not known yet */
} ompi_file_where_t;

typedef struct ompi_file_call {
    ompi_file_t *file;
    bool is_write;
    ompi_file_where_t where;
    MPI_Offset offset; /* OMPI_FILE_AT; in etypes */
    void *buffer;      /* only read by a write */
    MPI_Count count;
    ompi_datatype_t *type;
} ompi_file_call_t;

/* Of this rank alone: until it is done, or as a request, which may be one of a collective. */
int ompi_file_access(const ompi_file_call_t *call, MPI_Status *status);
int ompi_file_begin(const ompi_file_call_t *call, ompi_request_t **request);

/* Of all ranks. */
int ompi_file_access_all(const ompi_file_call_t *call, MPI_Status *status);

/* Of all ranks, in two calls, which have the same name ("read_all"). */
int ompi_file_split_begin(const ompi_file_call_t *call, const char *name);
int ompi_file_split_end(ompi_file_t *file, const char *name, MPI_Status *status);

/* -- for the sources of this folder -------------------------------------------------------- */

/* error.c: set the sentence, and return the code. `fail_system`: the class of an errno value. */
OPAL_PRINTF(2, 3) int ompi_file_fail(int code, const char *format, ...);
const char *ompi_file_shown_path(const char *path); /* the end of it, if it is long */
int ompi_file_fail_system(const char *path, int error, const char *what);
int ompi_file_class_of(int system_error);

/* position.c: whether the call is one that a file with MPI_MODE_SEQUENTIAL does not have. */
int ompi_file_refuse_sequential(const ompi_file_t *file);

/* Collective over comm: the first error of any rank, with its sentence, in all of them. */
int ompi_file_agree(ompi_communicator_t *comm, int error);

/* The same, and at the same time the greatest of each of some words. */
enum { OMPI_FILE_WORDS = 5 };
int ompi_file_agree_on(ompi_communicator_t *comm, int error, uint64_t *words, size_t count);

/* The same, and whether all ranks have the same values; `what` names them. *most, which may be
 * NULL, becomes the greatest of all. */
enum { OMPI_FILE_SAME_VALUES = 2 };
int ompi_file_check_same(ompi_communicator_t *comm, int error, const uint64_t values[],
                         size_t count, uint64_t *most, const char *what);

/* file.c: all ranks get the hints of rank 0; an error is one that rank 0 has. */
int ompi_file_share_hints(ompi_file_t *file, ompi_info_t *info, int error);

/* The same where all ranks know the rank and its error. */
int ompi_file_share_error(ompi_communicator_t *comm, int rank, int error);

/* Collectives on its communicator: the greatest of each word; bytes of one rank. */
int ompi_file_maximum(ompi_communicator_t *comm, uint64_t *words, size_t count);
int ompi_file_exchange(ompi_communicator_t *comm, const void *own, size_t bytes, void *all);
int ompi_file_broadcast(ompi_communicator_t *comm, int root, void *bytes, size_t count);

#endif
