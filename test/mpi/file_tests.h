/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the programs of files: who this rank is, names of files in $TMPDIR or the current folder that
 * no other job uses, and what is in a file as the system has it.
 *
 * Files return errors, as MPI presets it.
 */
#ifndef TEST_MPI_FILE_TESTS_H
#define TEST_MPI_FILE_TESTS_H

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

enum { PATH_BYTES = 512 };

static int rank, size;
static char file_folder[PATH_BYTES / 2], path[PATH_BYTES];

static inline int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static inline bool is_class(int error, int expected)
{
    int class = class_of(error);
    if (class != expected)
        fprintf(stderr, "rank %d: the class is %d, not %d\n", rank, class, expected);
    return class == expected;
}

#define REFUSED(class, call) tap_check(is_class(call, class), "%s: %s", #class, #call)
#define ACCEPTED(call)       tap_check(is_class(call, MPI_SUCCESS), "accepted: %s", #call)
/* Refused, whatever the class. */
#define REFUSED_ANYHOW(call) tap_check((call) != MPI_SUCCESS, "refused: %s", #call)
/* A call that must succeed, and is too frequent for a line of its own. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!is_class(call, MPI_SUCCESS))                                                          \
            tap_check(false, "line %d: %s", __LINE__, #call);                                      \
    } while (0)

/* `path` is the name of the job's file `name`. */
static inline const char *set_path(const char *name)
{
    snprintf(path, sizeof path, "%s-%s", file_folder, name);
    return path;
}

static inline void begin_files_at(int level, int *provided, int *argc, char ***argv)
{
    const char *folder = getenv("TMPDIR");
    MPI_Init_thread(argc, argv, level, provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    snprintf(file_folder, sizeof file_folder, "%s/mica-file-%ld", folder ? folder : ".",
             (long)getpid());
    MPI_Bcast(file_folder, sizeof file_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    set_path("data");
}

static inline void begin_files(int *argc, char ***argv)
{
    int provided;
    begin_files_at(MPI_THREAD_SINGLE, &provided, argc, argv);
}

/* Opens an empty file that goes with its last close. Collective. */
static inline MPI_File open_new(const char *name)
{
    MPI_File file = MPI_FILE_NULL;
    TRY(MPI_File_open(MPI_COMM_WORLD, set_path(name),
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file));
    return file;
}

/* What was written is seen by all ranks, and by the system. Collective. */
static inline void sync_all(MPI_File file)
{
    TRY(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_sync(file));
}

/* The size of the file `path` as the system has it; -1: it is not there. */
static inline long long size_of_path(void)
{
    struct stat status;
    return stat(path, &status) == 0 ? (long long)status.st_size : -1;
}

/* Reads from the file `path` past MPI; returns the bytes. */
static inline long read_path(long long offset, void *data, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long got = pread(fd, data, bytes, (off_t)offset);
    close(fd);
    return got;
}

/* Makes the file `path` of these bytes, past MPI. */
static inline void make_path(const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
        tap_check(false, "%s can be written", path);
    close(fd);
}

/* The same by rank 0. Collective. */
static inline void write_path(const void *data, size_t bytes)
{
    if (rank == 0)
        make_path(data, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void remove_path(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -1: it is undefined. */
static inline long count_in(const MPI_Status *status, MPI_Datatype type)
{
    int count = -2;
    MPI_Get_count(status, type, &count);
    return count == MPI_UNDEFINED ? -1 : count;
}

/* Any value of a byte, by its place and a key. */
static inline unsigned char byte_of(uint64_t place, uint64_t key)
{
    uint64_t x = (place + 1) * UINT64_C(0x9e3779b97f4a7c15) + key * UINT64_C(0x7fb5d329728ea185);
    return (unsigned char)(x >> 56 ^ x >> 31);
}

#endif
