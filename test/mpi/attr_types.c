/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of datatypes: copied by MPI_Type_dup, deleted by MPI_Type_free. */
#include <mpi.h>

#include "tap.h"

enum { COUNT = 4 };

static char place[8]; /* addresses for values */
static int copied[COUNT + 1], deleted[2 * COUNT + 1], copies, deletions, copy_result, delete_result;

static int copy(MPI_Datatype type, int keyval, void *extra, void *value, void *value_out, int *flag)
{
    (void)type;
    (void)extra;
    if (copies < COUNT)
        copied[copies++] = keyval;
    *(void **)value_out = (char *)value + 1;
    *flag = value != &place[3];
    return copy_result;
}

static int forget(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type;
    (void)value;
    (void)extra;
    if (deletions < 2 * COUNT)
        deleted[deletions++] = keyval;
    return delete_result;
}

static bool has(MPI_Datatype type, int keyval, void *wanted)
{
    void *value = NULL;
    int flag = 0;
    return MPI_Type_get_attr(type, keyval, &value, &flag) == MPI_SUCCESS &&
           flag == (wanted != NULL) && value == wanted;
}

static void check_dup_and_free(void)
{
    MPI_Datatype type, dup;
    int keyvals[COUNT], numbers[COUNT], in_order = 0;
    MPI_Type_contiguous(3, MPI_INT, &type);
    for (int i = 0; i < COUNT; i++) {
        MPI_Type_create_keyval(copy, forget, &keyvals[i], NULL);
        numbers[i] = keyvals[i];
        MPI_Type_set_attr(type, keyvals[i], &place[i]);
    }
    tap_check(has(type, keyvals[2], &place[2]), "a type that is not committed has values");
    MPI_Type_dup(type, &dup);
    for (int i = 0; i < COUNT; i++)
        in_order += copied[i] == keyvals[i];
    tap_check(copies == COUNT && in_order == COUNT, "they are copied, the oldest first");
    tap_check(has(dup, keyvals[0], &place[1]) && has(dup, keyvals[2], &place[3]) &&
                  has(dup, keyvals[3], NULL) && has(type, keyvals[0], &place[0]),
              "as the callback says");
    for (int i = 0; i < COUNT; i++)
        MPI_Type_free_keyval(&keyvals[i]);

    delete_result = MPI_ERR_IO;
    tap_check(MPI_Type_free(&type) == MPI_ERR_IO && type != MPI_DATATYPE_NULL &&
                  has(type, numbers[3], &place[3]),
              "a failing callback keeps the type");
    delete_result = MPI_SUCCESS;
    deletions = in_order = 0;
    tap_check(MPI_Type_free(&type) == MPI_SUCCESS && type == MPI_DATATYPE_NULL, "MPI_Type_free");
    for (int i = 0; i < COUNT; i++)
        in_order += deleted[i] == numbers[COUNT - 1 - i];
    tap_check(deletions == COUNT && in_order == COUNT, "deletes the newest first");
    tap_check(has(dup, numbers[1], &place[2]), "the copy has its own");
    MPI_Type_free(&dup);
    tap_check(deletions == 2 * COUNT - 1, "which go with it");
}

static void check_failing_copy(void)
{
    MPI_Datatype type, dup = MPI_INT;
    int keyval;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_create_keyval(copy, forget, &keyval, NULL);
    MPI_Type_set_attr(type, keyval, place);
    copies = 0;
    copy_result = MPI_ERR_QUOTA;
    tap_check(MPI_Type_dup(type, &dup) == MPI_ERR_QUOTA && copies == 1, "a copy fails");
    MPI_Type_delete_attr(type, keyval);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&keyval);
}

/* Nobody frees it: MPI_Finalize deletes the value. */
static void set_predefined(void)
{
    int keyval;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, forget, &keyval, NULL);
    tap_check(MPI_Type_set_attr(MPI_DOUBLE, keyval, place) == MPI_SUCCESS &&
                  has(MPI_DOUBLE, keyval, place) && has(MPI_FLOAT, keyval, NULL),
              "a predefined type has values, too");
    MPI_Type_free_keyval(&keyval);
    deletions = 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tap_rank(0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_dup_and_free();
    check_failing_copy();
    set_predefined();
    MPI_Finalize();
    tap_check(deletions == 1, "to the end");
    return tap_finish();
}
