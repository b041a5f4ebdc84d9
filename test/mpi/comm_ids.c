/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_max_communicators=12: how many communicators there can be, what happens when there is none
 * left, and that none is lost, whatever became of it. Some are left to MPI_Finalize.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { LIMIT = 12, FREE = LIMIT - 2 };

static int rank, size, explained;

static void explain(MPI_Comm *comm, int *code, ...)
{
    va_list rest;
    (void)comm;
    va_start(rest, code);
    va_arg(rest, const char *); /* the function */
    const char *detail = va_arg(rest, const char *);
    explained += detail != NULL && strstr(detail, "12 of 12") != NULL &&
                 strstr(detail, "mpi_max_communicators") != NULL;
    va_end(rest);
}

static bool is_other(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_OTHER;
}

/* Makes as many as there can be and frees them; how many there were. */
static int count_free(void)
{
    MPI_Comm comms[LIMIT];
    int count = 0;
    while (count < LIMIT && MPI_Comm_dup(MPI_COMM_WORLD, &comms[count]) == MPI_SUCCESS)
        count++;
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&comms[(i * 7 + 3) % count]);
    return count;
}

static void check_limit(void)
{
    MPI_Comm comms[FREE], extra = MPI_COMM_SELF, begun;
    MPI_Request request;
    bool all = true;
    for (int i = 0; i < FREE; i++)
        all &= MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS;
    tap_check(all, "%d communicators", FREE);
    explained = 0;
    tap_check(is_other(MPI_Comm_dup(MPI_COMM_WORLD, &extra)) && extra == MPI_COMM_NULL,
              "one more is an error");
    tap_check(explained == 1, "which names the limit and the parameter");
    tap_check(is_other(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &extra)), "also for MPI_Comm_split");
    tap_check(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &extra) == MPI_SUCCESS,
              "but not for who wants none");
    MPI_Comm_idup(MPI_COMM_WORLD, &begun, &request);
    tap_check(is_other(MPI_Wait(&request, MPI_STATUS_IGNORE)), "the wait says it of MPI_Comm_idup");
    MPI_Comm_free(&begun);
    MPI_Comm_free(&comms[4]);
    tap_check(MPI_Comm_dup(MPI_COMM_WORLD, &comms[4]) == MPI_SUCCESS, "one is free again");
    for (int i = 0; i < FREE; i++)
        MPI_Comm_free(&comms[i]);
}

/* An error of a call that makes nothing. */
static bool is_refused(int result, MPI_Comm *comm)
{
    bool is_null = *comm == MPI_COMM_NULL;
    *comm = MPI_COMM_SELF; /* for the next one */
    return is_null && is_other(result);
}

/* The first `count` ranks. */
static MPI_Group group_of(int count)
{
    MPI_Group world, group;
    int range[1][3] = {{0, count - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_free(&world);
    return group;
}

/* Rank 0 alone has none left: all ranks hear of it, whether they would be in what is made or not,
 * and all are together in the calls behind. */
static void check_everybody_hears(void)
{
    MPI_Comm own[FREE], grid, comm = MPI_COMM_SELF;
    MPI_Group one = group_of(1), most = group_of(size - 1);
    int dims[2] = {size - 1, 1}, periods[2] = {0}, keep[2] = {0, 1}, index[1] = {1}, edge[1] = {0};
    int whole[2] = {size, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, whole, periods, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    for (int i = 0; rank == 0 && i < FREE - 1; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    tap_check(is_refused(MPI_Comm_create(MPI_COMM_WORLD, one, &comm), &comm), "MPI_Comm_create, 1");
    tap_check(is_refused(MPI_Comm_create(MPI_COMM_WORLD, most, &comm), &comm), "all but the last");
    tap_check(is_refused(MPI_Comm_create(MPI_COMM_WORLD, rank == 0 ? one : MPI_GROUP_EMPTY, &comm),
                         &comm),
              "a group of rank 0, and none");
    tap_check(is_refused(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm), &comm),
              "MPI_Cart_create");
    tap_check(is_refused(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edge, 0, &comm), &comm),
              "MPI_Graph_create");
    tap_check(is_refused(MPI_Cart_sub(grid, keep, &comm), &comm), "MPI_Cart_sub, a part each");
    tap_check(
        is_refused(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL,
                                                  MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
                   &comm),
        "MPI_Dist_graph_create_adjacent");
    if (rank == 0)
        MPI_Comm_free(&own[2]);
    tap_check(MPI_Comm_create(MPI_COMM_WORLD, most, &comm) == MPI_SUCCESS &&
                  (comm != MPI_COMM_NULL) == (rank < size - 1),
              "with one more it is made");
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    for (int i = 0; rank == 0 && i < FREE - 1; i++) {
        if (i != 2)
            MPI_Comm_free(&own[i]);
    }
    MPI_Comm_free(&grid);
    MPI_Group_free(&one);
    MPI_Group_free(&most);
    tap_check(count_free() == FREE, "and no id is lost");
}

/* What costs no id, or gives it back. */
static void check_nothing_lost(void)
{
    MPI_Comm comm, part, inter;
    MPI_Request request;
    for (int i = 0; i < 3 * LIMIT; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
        MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm); /* an error */
        MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    tap_check(count_free() == FREE, "after parts, errors and duplicates: %d", FREE);
    if (size > 1) {
        for (int i = 0; i < LIMIT; i++) {
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
            MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, i, &inter);
            MPI_Comm_split(inter, rank % 2, 0, &comm); /* nobody on the other side */
            MPI_Intercomm_merge(inter, 0, &comm);
            MPI_Comm_free(&comm);
            MPI_Comm_free(&part);
            MPI_Comm_free(&inter);
        }
        tap_check(count_free() == FREE, "after intercommunicators");
    }
}

/* Ids that are free in each, but not in all, are of no use; those that are free in all are found,
 * wherever they are. */
static void check_uneven(void)
{
    MPI_Comm own[FREE], comm;
    int count = rank % 2 == 0 ? FREE - 1 : 3;
    for (int i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    if (rank % 2 != 0) /* all but the lowest one are free again */
        for (int i = 1; i < count; i++)
            MPI_Comm_free(&own[i]);
    tap_check(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS, "the last id of some ranks");
    MPI_Comm extra;
    int result = MPI_Comm_dup(MPI_COMM_WORLD, &extra);
    tap_check(is_other(result), "then there is none, though other ranks have some");
    MPI_Comm_free(&comm);
    if (rank % 2 != 0)
        count = 1;
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&own[i]);
    tap_check(count_free() == FREE, "and nothing is lost");
}

static int deleted;

static int never(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* A program that frees nothing. */
static void leave_some(void)
{
    MPI_Comm comm, part, inter;
    MPI_Request request;
    int keyval, dims[1] = {size}, periods[1] = {1};
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, never, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, &deleted);
    MPI_Comm_idup(comm, &part, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &part);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
        MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    }
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(explain, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    tap_rank(rank);
    check_limit();
    check_nothing_lost();
    if (size > 1) {
        check_uneven();
        check_everybody_hears();
    }
    leave_some();
    tap_check(MPI_Finalize() == MPI_SUCCESS && deleted == 0, "what is left ends with MPI");
    return tap_finish();
}
