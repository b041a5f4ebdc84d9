/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two jobs that have never met, but have one job in common, get an intercommunicator: the parents
 * spawn two jobs, and introduce one to the other.
 *
 *          parents
 *         /       \            first and second get to know each other by MPI_Intercomm_create,
 *      first     second        whose leaders are a parent and a process of `second`
 *
 * Children are this program with an argument.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { FIRST = 2, SECOND = 3, TAG = 7 };

static int rank, size;

static bool is_class(int code, int wanted)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == wanted;
}

static int sum_of(MPI_Comm comm, int value)
{
    int sum = -1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* Each process of one side talks with each of the other side. Returns the faults. */
static int talk(MPI_Comm inter)
{
    int remote, own, faults = 0;
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_rank(inter, &own);
    for (int peer = 0; peer < remote; peer++) {
        int theirs = -1;
        MPI_Sendrecv(&own, 1, MPI_INT, peer, 1, &theirs, 1, MPI_INT, peer, 1, inter,
                     MPI_STATUS_IGNORE);
        faults += theirs != peer;
    }
    return faults;
}

/* What can be made of the merged communicator, whose processes are of three jobs. */
static int derive(MPI_Comm all, int total)
{
    int own, faults = 0, wanted = 0;
    char name[64];
    MPI_Comm half, again;
    MPI_Group group;
    MPI_Comm_rank(all, &own);
    MPI_Comm_split(all, own % 2, own, &half);
    for (int i = own % 2; i < total; i += 2)
        wanted += i;
    faults += sum_of(half, own) != wanted;
    MPI_Comm_group(half, &group);
    snprintf(name, sizeof name, "half %d", own % 2);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &again);
    faults += sum_of(again, own) != wanted;
    MPI_Comm_free(&again);
    MPI_Comm_create_group(all, group, TAG, &again);
    faults += sum_of(again, own) != wanted;
    MPI_Comm_free(&again);
    MPI_Group_free(&group);
    MPI_Comm_free(&half);
    return faults;
}

/* comm: parents and `first`, whose leader is parent 0, or `second`; peer: parents and `second`.
 * Returns the faults of all. */
static int introduce(MPI_Comm comm, MPI_Comm peer, int remote_leader, bool is_second, int total)
{
    int faults, local, remote;
    MPI_Comm inter, all;
    if (MPI_Intercomm_create(comm, 0, peer, remote_leader, TAG, &inter) != MPI_SUCCESS)
        return 1;
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    faults = local + remote != total;
    faults += talk(inter);
    MPI_Intercomm_merge(inter, is_second, &all);
    faults += sum_of(all, 1) != total;
    faults += derive(all, total);
    faults = sum_of(all, faults);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&inter);
    return faults;
}

static MPI_Comm merge(MPI_Comm inter, int high)
{
    MPI_Comm merged;
    MPI_Intercomm_merge(inter, high, &merged);
    return merged;
}

enum { ROUNDS = 3 };

static void be_child(MPI_Comm parent, bool is_second, int total)
{
    MPI_Comm merged = merge(parent, 1);
    for (int round = 0; round < ROUNDS; round++) {
        if (is_second)
            introduce(MPI_COMM_WORLD, merged, 0, true, total);
        else
            introduce(merged, MPI_COMM_NULL, 0, false, total);
    }
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, first, second;
    char total[16], *arguments[] = {"first", total, NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(parent, strcmp(argv[1], "second") == 0, atoi(argv[2]));
        MPI_Finalize();
        return 0;
    }
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    snprintf(total, sizeof total, "%d", size + FIRST + SECOND);
    int code = MPI_Comm_spawn(argv[0], arguments, FIRST, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &first,
                              MPI_ERRCODES_IGNORE);
    if (is_class(code, MPI_ERR_UNSUPPORTED_OPERATION)) {
        tap_skip("spawning", "this launcher starts no further processes");
    } else {
        arguments[0] = "second";
        MPI_Comm_spawn(argv[0], arguments, SECOND, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &second,
                       MPI_ERRCODES_IGNORE);
        MPI_Comm with_first = merge(first, 0), with_second = merge(second, 0);
        for (int round = 0; round < ROUNDS; round++)
            tap_check(introduce(with_first, with_second, size, false, size + FIRST + SECOND) == 0,
                      "three jobs become one communicator, time %d", round + 1);
        MPI_Comm_disconnect(&with_first);
        MPI_Comm_disconnect(&with_second);
        MPI_Comm_disconnect(&first);
        MPI_Comm_disconnect(&second);
    }
    MPI_Finalize();
    return tap_finish();
}
