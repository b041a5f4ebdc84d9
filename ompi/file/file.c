/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as a whole: opening, closing, sizes. See file.h. */
#include "ompi/file/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "opal/include/clock.h"
#include "ompi/comm_create/create.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/file/belt.h"
#include "ompi/file/file_lock.h"
#include "ompi/file/peers.h"
#include "ompi/file/request.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/io/base/base.h"

ompi_file_t ompi_file_default = {.head = {.mark = OMPI_OBJECT_MARK + OMPI_FILE,
                                          .handle = MPI_FILE_NULL,
                                          .errhandler = &ompi_errors_return.head}};

/* The open files of this process. Under ompi_lock. */
static opal_list_t open_files = {{&open_files.head, &open_files.head}};

/* -- communicators ------------------------------------------------------------------------ */

/*
 * The communicator of the file that was closed last. The next file that the same ranks open has it:
 * to make one takes as long as all the rest of opening. Not one of a session, which ends when
 * nothing derives from it, nor one between jobs, which it would connect. Under ompi_lock.
 */
static ompi_communicator_t *spare_comm;

static uint64_t identity_of(const ompi_communicator_t *comm)
{
    return (uint64_t)comm->generation << 32 | comm->context;
}

/* NULL: there is none for the ranks of comm. */
static ompi_communicator_t *take_spare(const ompi_communicator_t *comm)
{
    ompi_lock();
    ompi_communicator_t *spare = spare_comm;
    if (spare != NULL && ompi_group_compare(spare->group, comm->group) == MPI_IDENT)
        spare_comm = NULL;
    else
        spare = NULL;
    ompi_unlock();
    return spare;
}

static void keep_spare(ompi_communicator_t *comm)
{
    ompi_lock();
    ompi_communicator_t *before = spare_comm;
    spare_comm = comm;
    if (before != NULL)
        ompi_object_release(&before->head);
    ompi_unlock();
}

/* -- the end ------------------------------------------------------------------------------ */

static void destroy(ompi_object_t *head)
{
    ompi_file_t *file = opal_container_of(head, ompi_file_t, head);
    ompi_view_release(file->view);
    if (file->area != NULL)
        ompi_belt_leave(file->area);
    ompi_file_peers_destroy(file->peers);
    ompi_file_area_leave(file->area);
    if (file->comm != NULL)
        ompi_object_release(&file->comm->head);
    pthread_mutex_destroy(&file->lock);
    ompi_access_free_buffer(file);
    free(file->parts);
    free(file->path);
    free(file);
}

static void release(ompi_file_t *file)
{
    ompi_lock();
    if (file->is_listed)
        opal_list_remove(&file->node);
    ompi_object_release(&file->head);
    ompi_unlock();
}

/* What this process has of the file in the system. */
static int close_here(ompi_file_t *file)
{
    int error = file->io != NULL ? file->io->ops->close(file->io) : 0;
    file->io = NULL;
    return error == 0 ? MPI_SUCCESS : ompi_file_fail_system(file->path, error, "close");
}

static int remove_path(const char *path)
{
    int error = ompi_io()->remove(path);
    return error == 0 ? MPI_SUCCESS : ompi_file_fail_system(path, error, "delete");
}

int ompi_file_close(ompi_file_t **slot)
{
    ompi_file_t *file = *slot;
    int error = MPI_SUCCESS;
    if (file->split_name != NULL)
        error = ompi_file_fail(MPI_ERR_REQUEST, "MPI_File_%s_begin of the file %s has no end yet.",
                               file->split_name, file->path);
    error = ompi_file_agree(file->comm, error);
    if (error != MPI_SUCCESS)
        return error;
    ompi_file_wait_pending(file);
    error = ompi_file_agree(file->comm, close_here(file));
    if ((file->amode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
        int removed = file->comm->rank == 0 ? remove_path(file->path) : MPI_SUCCESS;
        removed = ompi_file_agree(file->comm, removed);
        error = error == MPI_SUCCESS ? removed : error;
    }
    ompi_file_pointer_destroy(file->shared);
    if (error == MPI_SUCCESS && file->comm->session == NULL && !ompi_comm_spans_jobs(file->comm)) {
        keep_spare(file->comm);
        file->comm = NULL;
    }
    release(file);
    *slot = NULL;
    return error;
}

void ompi_file_stop(void)
{
    if (spare_comm != NULL)
        keep_spare(NULL);
    for (opal_list_node_t *node; (node = opal_list_first(&open_files)) != NULL;) {
        ompi_file_t *file = opal_container_of(node, ompi_file_t, node);
        ompi_file_wait_pending(file);
        close_here(file);
        if (file->area->nodes == 1) /* else all ranks would have to take part */
            ompi_file_pointer_destroy(file->shared);
        release(file);
    }
}

void ompi_file_fini(void)
{
    ompi_errhandler_attach(&ompi_file_default.head, &ompi_errors_return);
    ompi_datarep_fini();
    ompi_file_locks_stop();
}

/* -- opening ------------------------------------------------------------------------------ */

static int check_amode(int amode)
{
    static const int known = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR | MPI_MODE_CREATE |
                             MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN |
                             MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;
    int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    if ((amode & ~known) != 0)
        return ompi_file_fail(MPI_ERR_AMODE, "The access mode has bits that are none: %#x.",
                              (unsigned)(amode & ~known));
    if (access == 0 || (access & (access - 1)) != 0)
        return ompi_file_fail(MPI_ERR_AMODE, "The access mode needs one of MPI_MODE_RDONLY, "
                                             "MPI_MODE_WRONLY and MPI_MODE_RDWR.");
    if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
        return ompi_file_fail(MPI_ERR_AMODE, "A file that is only read cannot be made: "
                                             "MPI_MODE_RDONLY with MPI_MODE_CREATE or _EXCL.");
    if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
        return ompi_file_fail(MPI_ERR_AMODE, "A sequential file is read or written: "
                                             "MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL.");
    return MPI_SUCCESS;
}

/* ROMIO's users may name the kind of file system in front: "ufs:/tmp/file". */
static const char *without_kind(const char *path)
{
    static const char *const kinds[] = {"ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "testfs:"};
    for (size_t i = 0; i < OPAL_COUNT_OF(kinds); i++) {
        if (strncmp(path, kinds[i], strlen(kinds[i])) == 0)
            return path + strlen(kinds[i]);
    }
    return path;
}

/* Whether the ranks of this node have opened the same file. */
static int check_identity(ompi_file_t *file)
{
    uint64_t before = 0, own = file->io->identity;
    if (atomic_compare_exchange_strong(&file->area->memory->identity, &before, own) ||
        before == own)
        return MPI_SUCCESS;
    return ompi_file_fail(MPI_ERR_NOT_SAME,
                          "The ranks open different files; that of rank %d is %s.",
                          file->comm->rank, file->path);
}

static int open_path(ompi_file_t *file, bool makes)
{
    return ompi_io()->open(file->path, file->amode, makes, &file->hints.io, &file->io);
}

/*
 * Rank 0 makes the file, and the others open it then. Where that is safe they try at the same time
 * whether it is there: not where another node would keep in mind that it is not, nor where they
 * could open it before it has its stripes.
 */
static int open_here(ompi_file_t *file)
{
    const bool is_first = file->comm->rank == 0, makes = (file->amode & MPI_MODE_CREATE) != 0;
    const bool tries =
        !makes || (file->area->nodes == 1 && (file->amode & MPI_MODE_EXCL) == 0 &&
                   file->hints.io.striping_unit == 0 && file->hints.io.striping_factor == 0);
    int code = is_first || tries ? open_path(file, is_first) : 0;
    uint64_t waits = file->io == NULL && !is_first && (code == 0 || (makes && code == ENOENT));
    int error =
        code == 0 || waits != 0 ? MPI_SUCCESS : ompi_file_fail_system(file->path, code, "open");
    error = ompi_file_agree(file->comm, error);
    if (error == MPI_SUCCESS && makes)
        error = ompi_file_maximum(file->comm, &waits, 1);
    if (error != MPI_SUCCESS || waits == 0)
        return error;
    code = file->io == NULL ? open_path(file, false) : 0;
    if (code != 0)
        error = ompi_file_fail_system(file->path, code, "open");
    return ompi_file_agree(file->comm, error);
}

/* NULL: no memory. */
static ompi_file_t *new_file(const char *path, int amode)
{
    ompi_file_t *file = calloc(1, sizeof *file);
    if (file == NULL)
        return NULL;
    ompi_object_init(&file->head, OMPI_FILE, destroy);
    pthread_mutex_init(&file->lock, NULL);
    file->path = strdup(without_kind(path));
    file->amode = amode;
    file->hints = ompi_file_hints_preset;
    ompi_file_costs_init(&file->costs);
    ompi_errhandler_t *handler = ompi_errhandler_get(&ompi_file_default.head);
    if (handler != NULL) {
        ompi_errhandler_attach(&file->head, handler);
        ompi_object_release(&handler->head);
    }
    return file;
}

/* The view of a new file: its bytes. */
static int view_bytes(ompi_file_t *file)
{
    const char *reason;
    ompi_datatype_t *byte = ompi_datatype_of(MPI_BYTE);
    return ompi_view_create(0, byte, byte, ompi_datarep_find("native"), &file->view, &reason);
}

/* What rank 0 decides for all. */
static int take_settings(ompi_file_t *file, ompi_info_t *info)
{
    struct {
        ompi_file_hints_t hints;
        uint64_t key[2];
    } settings = {.hints = file->hints};
    ompi_file_hints_read(&settings.hints, info, false);
    if (file->comm->rank == 0 &&
        getrandom(settings.key, sizeof settings.key, GRND_NONBLOCK) != sizeof settings.key)
        settings.key[0] = opal_clock_nsec();
    int error = ompi_file_broadcast(file->comm, 0, &settings, sizeof settings);
    file->hints = settings.hints;
    memcpy(file->key, settings.key, sizeof file->key);
    return error;
}

/* What every rank needs of its own. */
static int make_own(ompi_file_t *file)
{
    file->parts = calloc((size_t)file->comm->size, sizeof *file->parts);
    file->has_run_views = true;
    if (ompi_io() == NULL)
        return ompi_file_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                              "No component of io can be used; see ompi_info --why io.");
    if (file->parts == NULL)
        return MPI_ERR_NO_MEM;
    ompi_lock();
    bool has_locks = ompi_file_locks_start();
    ompi_unlock();
    return has_locks ? view_bytes(file) : MPI_ERR_NO_MEM;
}

/* Buffers that no hint asks for are as long as what the file system likes, on all nodes. */
static int adapt_buffers(ompi_file_t *file)
{
    uint64_t unit = file->io->unit;
    int error = file->area->nodes > 1 ? ompi_file_maximum(file->comm, &unit, 1) : MPI_SUCCESS;
    ompi_file_hints_grow(&file->hints, unit);
    return error;
}

static int make(ompi_file_t *file, ompi_info_t *info)
{
    int error = take_settings(file, info);
    if (error == MPI_SUCCESS)
        error = ompi_file_area_create(file->comm, make_own(file), &file->area);
    if (error == MPI_SUCCESS && file->area->nodes > 1) {
        file->peers = ompi_file_peers_create(file->comm->size);
        error = ompi_file_agree(file->comm, file->peers != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    }
    if (error == MPI_SUCCESS)
        error = open_here(file);
    if (error == MPI_SUCCESS)
        error =
            ompi_file_pointer_create(file->comm, file->area, check_identity(file), &file->shared);
    if (error == MPI_SUCCESS)
        error = adapt_buffers(file);
    if (error != MPI_SUCCESS)
        return error;
    ompi_file_probe_locks(file);
    file->io->ops->get_hints(file->io, &file->hints.io);
    return (file->amode & MPI_MODE_APPEND) != 0 ? ompi_file_append(file) : MPI_SUCCESS;
}

/* For a person who asks what ranks wait for. */
static void name_comm(const ompi_file_t *file)
{
    const char *slash = strrchr(file->path, '/');
    char name[MPI_MAX_OBJECT_NAME];
    snprintf(name, sizeof name, "the file %s", slash != NULL ? slash + 1 : file->path);
    ompi_comm_set_name(file->comm, name);
}

/* The communicator of the last file, if all ranks have the same one, or a new one. An error is one
 * of all ranks. */
static int find_comm(ompi_file_t *file, ompi_communicator_t *comm, int amode)
{
    ompi_communicator_t *spare = take_spare(comm);
    uint64_t mode = (unsigned)amode, own = spare != NULL ? identity_of(spare) : 0;
    uint64_t words[] = {mode, ~mode, own, ~own};
    int error = file != NULL && file->path != NULL ? check_amode(amode) : MPI_ERR_NO_MEM;
    error = ompi_file_agree_on(comm, error, words, OPAL_COUNT_OF(words));
    if (error == MPI_SUCCESS && words[0] != ~words[1])
        error = ompi_file_fail(MPI_ERR_NOT_SAME, "The ranks give different access modes.");
    bool is_alike = error == MPI_SUCCESS && spare != NULL && words[2] == ~words[3];
    if (spare != NULL && !is_alike)
        keep_spare(spare);
    if (error != MPI_SUCCESS || file == NULL)
        return error;
    if (is_alike)
        file->comm = spare;
    if (!is_alike)
        error = ompi_comm_split(comm, 0, comm->rank, NULL, &file->comm);
    if (error == MPI_SUCCESS)
        name_comm(file);
    return error;
}

int ompi_file_open(ompi_communicator_t *comm, const char *path, int amode, ompi_info_t *info,
                   ompi_file_t **result)
{
    ompi_file_t *file = new_file(path, amode);
    int error = find_comm(file, comm, amode);
    if (error == MPI_SUCCESS)
        error = make(file, info);
    if (error != MPI_SUCCESS) {
        if (file != NULL) {
            ompi_file_pointer_destroy(file->shared);
            close_here(file);
            release(file);
        }
        return error;
    }
    ompi_lock();
    opal_list_append(&open_files, &file->node);
    file->is_listed = true;
    ompi_unlock();
    *result = file;
    return MPI_SUCCESS;
}

int ompi_file_delete(const char *path)
{
    if (ompi_io() == NULL)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return remove_path(without_kind(path));
}

/* -- sizes ---------------------------------------------------------------------------------- */

int ompi_file_get_size(ompi_file_t *file, MPI_Offset *bytes)
{
    uint64_t size;
    int error = file->io->ops->size(file->io, &size);
    if (error != 0)
        return ompi_file_fail_system(file->path, error, "get the size of");
    *bytes = (MPI_Offset)size;
    return MPI_SUCCESS;
}

static int check_writable(const ompi_file_t *file)
{
    if ((file->amode & MPI_MODE_RDONLY) == 0)
        return MPI_SUCCESS;
    return ompi_file_fail(MPI_ERR_READ_ONLY, "The file %s was opened with MPI_MODE_RDONLY.",
                          file->path);
}

/* What rank 0 does for all: all have the same size, and what was written before is in the file. */
static int resize(ompi_file_t *file, MPI_Offset bytes, bool is_cut, const char *what)
{
    uint64_t word = (uint64_t)bytes;
    int error = check_writable(file);
    if (error == MPI_SUCCESS && bytes < 0)
        error = ompi_file_fail(MPI_ERR_ARG, "The size %lld of the file %s is negative.",
                               (long long)bytes, file->path);
    if (error == MPI_SUCCESS)
        error = ompi_file_refuse_sequential(file);
    error = ompi_file_check_same(file->comm, error, &word, 1, NULL, "sizes");
    if (error == MPI_SUCCESS && file->comm->rank == 0) {
        const ompi_io_ops_t *ops = file->io->ops;
        int code = (is_cut ? ops->set_size : ops->preallocate)(file->io, (uint64_t)bytes);
        if (code != 0)
            error = ompi_file_fail_system(file->path, code, what);
    }
    return ompi_file_agree(file->comm, error);
}

int ompi_file_set_size(ompi_file_t *file, MPI_Offset bytes)
{
    return resize(file, bytes, true, "set the size of");
}

int ompi_file_preallocate(ompi_file_t *file, MPI_Offset bytes)
{
    return resize(file, bytes, false, "preallocate");
}

int ompi_file_sync(ompi_file_t *file)
{
    int code = file->io->ops->sync(file->io);
    int error = code == 0 ? MPI_SUCCESS : ompi_file_fail_system(file->path, code, "sync");
    return ompi_file_agree(file->comm, error);
}

int ompi_file_set_atomicity(ompi_file_t *file, bool is_atomic)
{
    uint64_t word = is_atomic;
    int error = MPI_SUCCESS;
    if (is_atomic && file->area->nodes > 1 && !file->io->can_lock)
        error = ompi_file_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                               "The file %s is on a file system (%s) without locks, so that ranks "
                               "of several nodes cannot access it atomically.",
                               file->path, file->io->system);
    error = ompi_file_check_same(file->comm, error, &word, 1, NULL, "atomicities");
    if (error == MPI_SUCCESS)
        atomic_store(&file->is_atomic, is_atomic);
    return error;
}

int ompi_file_share_hints(ompi_file_t *file, ompi_info_t *info, int error)
{
    struct {
        ompi_file_hints_t hints;
        int error;
    } settings = {file->hints, error};
    ompi_file_hints_read(&settings.hints, info, true);
    error = ompi_file_broadcast(file->comm, 0, &settings, sizeof settings);
    if (error == MPI_SUCCESS)
        error = settings.error;
    if (error == MPI_SUCCESS)
        file->hints = settings.hints;
    return error;
}

int ompi_file_set_hints(ompi_file_t *file, ompi_info_t *info)
{
    return ompi_file_share_hints(file, info, MPI_SUCCESS);
}

ompi_view_t *ompi_file_get_view(ompi_file_t *file)
{
    pthread_mutex_lock(&file->lock);
    ompi_view_t *view = file->view;
    ompi_view_retain(view);
    pthread_mutex_unlock(&file->lock);
    return view;
}
