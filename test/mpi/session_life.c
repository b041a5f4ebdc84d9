/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions begin and end any number of times, before, between and after MPI_Init and MPI_Finalize,
 * and nothing grows. While one is open MPI is usable, but for MPI_COMM_WORLD and what MPI_Init has
 * begun. What derives from a session may be freed in any order.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resident.h"
#include "tap.h"

enum { ROUNDS = 50, WARM = 10, MOST_GROWTH_KIB = 512 };

static int rank = -1, size;

static MPI_Session begin(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    tap_check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS &&
                  session != MPI_SESSION_NULL,
              "a session begins");
    return session;
}

static MPI_Comm make_comm(MPI_Session session, const char *pset)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group_from_session_pset(session, pset, &group);
    MPI_Comm_create_from_group(group, "org.mica.life", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static bool adds_up(MPI_Comm comm)
{
    int members = 0, sum = 1;
    MPI_Comm_size(comm, &members);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    return members > 0 && sum == members;
}

static long data_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %*d %*d %*d %*d %ld", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Errors of calls without an object are returned: the test sets mpi_initial_errhandler. */
static void check_what_is_usable(void)
{
    int flag = -1, members, level;
    MPI_Initialized(&flag);
    tap_check(flag == 0, "MPI is not initialized");
    tap_check(MPI_Comm_size(MPI_COMM_WORLD, &members) != MPI_SUCCESS &&
                  MPI_Comm_size(MPI_COMM_SELF, &members) != MPI_SUCCESS,
              "world and self are not valid communicators");
    tap_check(MPI_Query_thread(&level) != MPI_SUCCESS && MPI_Finalize() != MPI_SUCCESS,
              "what MPI_Init would have begun is an error");
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    tap_check(MPI_Type_size(pair, &members) == MPI_SUCCESS && members == 2 * (int)sizeof(int),
              "datatypes are usable");
    MPI_Type_free(&pair);
}

static void check_one(void)
{
    MPI_Session session = begin(), again;
    check_what_is_usable();
    MPI_Comm world = make_comm(session, "mpi://WORLD");
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    tap_rank(rank);
    tap_check(adds_up(world), "the ranks meet");
    MPI_Comm_free(&world);

    tap_check(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL,
              "the session ends, and its handle is null");
    again = begin();
    int count;
    tap_check(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count) == MPI_ERR_SESSION,
              "a null handle is refused");
    MPI_Session_finalize(&again);
    tap_check(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count) != MPI_SUCCESS,
              "nothing is usable without a session");
}

/* Two sessions; the first one ends before what was made of it is used and freed. */
static void check_any_order(void)
{
    MPI_Session first = begin(), second = begin();
    MPI_Group group, part;
    MPI_Group_from_session_pset(first, "mpi://WORLD", &group);
    MPI_Comm comm = make_comm(first, "mpi://WORLD"), other = make_comm(second, "mpi://WORLD");
    MPI_Session_finalize(&first);
    tap_check(adds_up(comm) && adds_up(other), "communicators outlive the first of two sessions");
    int zero = 0, members = -1;
    tap_check(MPI_Group_incl(group, 1, &zero, &part) == MPI_SUCCESS &&
                  MPI_Group_size(part, &members) == MPI_SUCCESS && members == 1,
              "so do groups");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    MPI_Session_finalize(&second);
    tap_check(MPI_Group_free(&part) == MPI_SUCCESS && MPI_Group_free(&group) == MPI_SUCCESS,
              "groups may be freed after the last session");
}

static void check_rounds(void)
{
    int descriptors = 0, failed = 0;
    long kib = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Comm comm = make_comm(session, "mpi://WORLD");
        failed += !adds_up(comm);
        if (i % 2 == 0) /* every second one is left to the end of the session */
            MPI_Comm_free(&comm);
        failed += MPI_Session_finalize(&session) != MPI_SUCCESS;
        if (i == WARM) {
            descriptors = count_descriptors();
            kib = data_kib();
        }
    }
    tap_check(failed == 0, "%d sessions one after the other", ROUNDS);
    int now = count_descriptors(); /* a peer that is ahead may have connected already */
    tap_check(now < descriptors + size, "and no descriptor is left (%d, then %d)", descriptors,
              now);
    tap_check(TAP_HAS_SANITIZER || data_kib() - kib < MOST_GROWTH_KIB,
              "and the data has not grown (%ld KiB)", data_kib() - kib);
}

static void check_beside_world(void)
{
    int provided, flag;
    MPI_Session before = begin();
    tap_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS &&
                  provided >= MPI_THREAD_SERIALIZED,
              "MPI_Init beside a session");
    MPI_Comm comm = make_comm(before, "mpi://WORLD");
    tap_check(adds_up(MPI_COMM_WORLD) && adds_up(MPI_COMM_SELF) && adds_up(comm),
              "world, self and a communicator of the session");
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&before);
    MPI_Session within = begin();
    tap_check(adds_up(MPI_COMM_WORLD), "world outlives a session");
    MPI_Finalize();
    MPI_Finalized(&flag);
    tap_check(flag == 1, "MPI_Finalize beside a session");
    comm = make_comm(within, "mpi://WORLD");
    tap_check(adds_up(comm), "a session outlives world");
    tap_check(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS, "which is not valid any more");
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&within);
}

int main(void)
{
    check_one();
    check_any_order();
    check_rounds();
    check_beside_world();
    check_rounds();
    return tap_finish();
}
