/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_spawn and MPI_Comm_spawn_multiple: arrays of strings, which matter at the root alone. */
#include <stdlib.h>

#include "ompi/fortran/fortran.h"

static bool is_root(MPI_Comm comm, int root)
{
    int rank = MPI_PROC_NULL;
    if (ompi_object_is(ompi_handle_object(comm), OMPI_COMM))
        PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

PROCEDURE(mpi_comm_spawn_)
(const char *command, const char *argv, const MPI_Fint *maxprocs, const MPI_Fint *info,
 const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *errcodes,
 MPI_Fint *ierror, size_t command_length, size_t argv_length)
{
    MPI_Comm c_comm = ompi_fortran_handle(OMPI_COMM, *comm), c_intercomm = MPI_COMM_NULL;
    ompi_fortran_text_t c_command = {0};
    char **c_argv = MPI_ARGV_NULL;
    bool is_lost = false;
    if (is_root(c_comm, *root)) {
        ompi_fortran_text_get_trimmed(&c_command, command, command_length);
        if (!ompi_fortran_is_argv_null(argv)) {
            c_argv = ompi_fortran_texts(argv, argv_length, -1, 1);
            is_lost = c_argv == NULL;
        }
    }
    int outcome = is_lost
                      ? ompi_fortran_fail(MPI_ERR_NO_MEM, "MPI_Comm_spawn")
                      : CALL(MPI_Comm_spawn)(c_command.chars, c_argv, *maxprocs,
                                             ompi_fortran_handle(OMPI_INFO, *info), *root, c_comm,
                                             &c_intercomm, ompi_fortran_errcodes(errcodes));
    free(c_argv);
    ompi_fortran_text_free(&c_command);
    *intercomm = ompi_fortran_number(OMPI_COMM, c_intercomm);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_comm_spawn, MPI_COMM_SPAWN)
SPELL_AS(mpi_comm_spawn, mpi_comm_spawn_f08, MPI_COMM_SPAWN_F08)

/* The arguments of all commands: array_of_argv(count, *), a row each. NULL: no memory. */
static char ***all_arguments(const char *argvs, size_t length, int count)
{
    char ***all = calloc((size_t)count + 1, sizeof *all);
    for (int i = 0; i < count && all != NULL; i++) {
        all[i] = ompi_fortran_texts(argvs + (size_t)i * length, length, -1, (size_t)count);
        if (all[i] == NULL) {
            while (i-- > 0)
                free(all[i]);
            free(all);
            all = NULL;
        }
    }
    return all;
}

static void free_arguments(char ***all)
{
    for (char ***each = all; all != NULL && *each != NULL; each++)
        free(*each);
    free(all);
}

PROCEDURE(mpi_comm_spawn_multiple_)
(const MPI_Fint *count, const char *commands, const char *argvs, const MPI_Fint *maxprocs,
 const MPI_Fint *infos, const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *intercomm,
 MPI_Fint *errcodes, MPI_Fint *ierror, size_t commands_length, size_t argvs_length)
{
    MPI_Comm c_comm = ompi_fortran_handle(OMPI_COMM, *comm), c_intercomm = MPI_COMM_NULL;
    ompi_fortran_handles_t c_infos = {0};
    char **c_commands = NULL, ***c_argvs = MPI_ARGVS_NULL;
    bool is_lost = false;
    if (is_root(c_comm, *root) && *count > 0) {
        c_commands = ompi_fortran_texts(commands, commands_length, *count, 1);
        ompi_fortran_handles_get(&c_infos, OMPI_INFO, infos, *count);
        if (!ompi_fortran_is_argv_null(argvs)) {
            c_argvs = all_arguments(argvs, argvs_length, *count);
            is_lost = c_argvs == NULL;
        }
        is_lost |= c_commands == NULL || c_infos.handles == NULL;
    }
    int outcome =
        is_lost ? ompi_fortran_fail(MPI_ERR_NO_MEM, "MPI_Comm_spawn_multiple")
                : CALL(MPI_Comm_spawn_multiple)(*count, c_commands, c_argvs, maxprocs,
                                                (const MPI_Info *)c_infos.handles, *root, c_comm,
                                                &c_intercomm, ompi_fortran_errcodes(errcodes));
    free_arguments(c_argvs);
    free(c_commands);
    ompi_fortran_handles_free(&c_infos);
    *intercomm = ompi_fortran_number(OMPI_COMM, c_intercomm);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_comm_spawn_multiple, MPI_COMM_SPAWN_MULTIPLE)
SPELL_AS(mpi_comm_spawn_multiple, mpi_comm_spawn_multiple_f08, MPI_COMM_SPAWN_MULTIPLE_F08)
