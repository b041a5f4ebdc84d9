/* SPDX-License-Identifier: BSD-3-Clause */
/* The process sets of a session, and what its info object says. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static MPI_Session session;

static int size_of(const char *pset)
{
    char value[16] = "";
    int flag = 0, length = sizeof value;
    MPI_Info info = MPI_INFO_NULL;
    if (MPI_Session_get_pset_info(session, pset, &info) != MPI_SUCCESS)
        return -1;
    MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
    MPI_Info_free(&info);
    return flag ? atoi(value) : -1;
}

static int members_of(const char *pset)
{
    int members = -1;
    MPI_Group group;
    if (MPI_Group_from_session_pset(session, pset, &group) != MPI_SUCCESS)
        return -1;
    MPI_Group_size(group, &members);
    MPI_Group_free(&group);
    return members;
}

static bool has_level(const char *level)
{
    char value[MPI_MAX_INFO_VAL] = "", kinds[MPI_MAX_INFO_VAL] = "";
    int flag = 0, has_kinds = 0, length = sizeof value, room = sizeof kinds;
    MPI_Info info;
    MPI_Session_get_info(session, &info);
    MPI_Info_get_string(info, "thread_level", &length, value, &flag);
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, kinds, &has_kinds);
    MPI_Info_free(&info);
    return flag && strcmp(value, level) == 0 && has_kinds && strstr(kinds, "system") != NULL;
}

static void check_names(void)
{
    int count = 0, alike = 0, cut = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    tap_check(count >= 3, "there are %d process sets", count);
    for (int i = 0; i < count; i++) {
        char name[MPI_MAX_PSET_NAME_LEN], part[5] = "????";
        int length = 0, again = sizeof name, few = 3;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &again, name);
        alike +=
            length == again && length == (int)strlen(name) + 1 && size_of(name) == members_of(name);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &few, part);
        cut += few == length && part[2] == 0 && strncmp(part, name, 2) == 0 && part[3] == '?';
    }
    tap_check(alike == count, "each has a length, a name, and a group of its mpi_size");
    tap_check(cut == count, "a name that does not fit is cut and ended");
}

static void check_sizes(int size, int here)
{
    tap_check(members_of("mpi://WORLD") == size, "world has %d processes", size);
    tap_check(members_of("MPI://world") == size, "names are not case-sensitive");
    tap_check(members_of("mpi://SELF") == 1, "self has one");
    tap_check(members_of("mpix://SHARED") == here, "this node has %d", here);
}

static void check_errors(void)
{
    int length = 0;
    MPI_Info info;
    MPI_Group group;
    tap_check(
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &length, NULL) == MPI_ERR_ARG &&
            MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, NULL) == MPI_ERR_ARG,
        "a number without a set is refused");
    length = 8;
    tap_check(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL) == MPI_ERR_ARG,
              "so is a length without room");
    tap_check(MPI_Session_get_pset_info(session, "mica://none", &info) == MPI_ERR_ARG &&
                  MPI_Group_from_session_pset(session, "mica://none", &group) == MPI_ERR_ARG,
              "so is an unknown name");
}

static void check_levels(void)
{
    MPI_Info info;
    MPI_Session refused = MPI_SESSION_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    tap_check(has_level("MPI_THREAD_FUNNELED") || has_level("MPI_THREAD_MULTIPLE"),
              "a level that permits less is accepted");
    MPI_Session_finalize(&session);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MANY");
    tap_check(MPI_Session_init(info, MPI_ERRORS_RETURN, &refused) == MPI_ERR_INFO_VALUE &&
                  refused == MPI_SESSION_NULL,
              "another one is refused");
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 1, here = argc > 2 ? atoi(argv[2]) : size;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    int rank;
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_free(&group);
    tap_rank(rank);
    check_names();
    check_sizes(size, here);
    check_errors();
    tap_check(has_level("MPI_THREAD_MULTIPLE"), "any thread may use it");
    MPI_Session_finalize(&session);
    check_levels();
    return tap_finish();
}
