/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the newest first, while MPI still
 * works, and then those of MPI_COMM_WORLD.
 */
#include <mpi.h>

#include "tap.h"

enum { COUNT = 10 };

static int order[2 * COUNT], calls, unusable, keyvals[COUNT];

static int note(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int finalized = -1, size = -1;
    MPI_Group group = MPI_GROUP_NULL;
    (void)keyval;
    (void)extra;
    MPI_Finalized(&finalized);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(comm, &group);
    unusable += finalized != 0 || size < 1 || group == MPI_GROUP_NULL;
    MPI_Group_free(&group);
    if (calls < 2 * COUNT)
        order[calls] = *(int *)value;
    calls++;
    return MPI_SUCCESS;
}

/* Fails the first time. */
static int hesitate(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int *asked = value;
    (void)comm;
    (void)keyval;
    (void)extra;
    return ++*asked == 1 ? MPI_ERR_PENDING : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int numbers[2 * COUNT];
    int rank, keyval, asked = 0, finalized = -1, in_order = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &keyvals[i], NULL);
        numbers[i] = i;
        numbers[COUNT + i] = COUNT + i;
        MPI_Comm_set_attr(MPI_COMM_WORLD, keyvals[i], &numbers[i]);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[i], &numbers[COUNT + i]);
    }
    /* It is newer now; its old value is deleted at once. */
    MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[0], &numbers[COUNT]);
    tap_check(calls == 1 && order[0] == COUNT, "a value that is replaced is deleted");
    calls = 0;
    for (int i = 0; i < COUNT; i++)
        MPI_Comm_free_keyval(&keyvals[i]);

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, hesitate, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &asked);
    tap_check(MPI_Finalize() == MPI_ERR_PENDING && asked == 1, "a callback holds MPI_Finalize up");
    MPI_Finalized(&finalized);
    tap_check(!finalized && calls == 0, "nothing has ended");
    MPI_Comm_free_keyval(&keyval);

    tap_check(MPI_Finalize() == MPI_SUCCESS && asked == 2, "MPI_Finalize");
    tap_check(calls == 2 * COUNT, "%d values are deleted", calls);
    tap_check(unusable == 0, "MPI works meanwhile");
    in_order += order[0] == COUNT;
    for (int i = 1; i < COUNT; i++)
        in_order += order[i] == 2 * COUNT - i && order[COUNT + i - 1] == COUNT - i;
    in_order += order[2 * COUNT - 1] == 0;
    tap_check(in_order == COUNT + 1, "those of MPI_COMM_SELF first, the newest first");
    return tap_finish();
}
