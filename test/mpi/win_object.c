/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows as objects: creation, attributes, group, name, hints, error handler, end. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { ELEMENTS = 10 };

static int deleted, handled;

static int count_deletion(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval, (void)extra;
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

static int refuse_deletion(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval, (void)value, (void)extra;
    return deleted == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void count_error(MPI_Win *win, int *code, ...)
{
    (void)win;
    handled = *code;
}

static void *attribute(MPI_Win win, int keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Win_get_attr(win, keyval, &value, &flag);
    return flag ? value : NULL;
}

static void test_attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    tap_check(attribute(win, MPI_WIN_BASE) == base, "MPI_WIN_BASE is the memory");
    tap_check(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == bytes, "MPI_WIN_SIZE is its size");
    tap_check(*(int *)attribute(win, MPI_WIN_DISP_UNIT) == unit, "MPI_WIN_DISP_UNIT is the unit");
    tap_check(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor, "the flavor is told");
    tap_check(*(int *)attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED, "the model is unified");
}

static void test_own_attributes(MPI_Win *win)
{
    int keyval, refusing, value = 7, flag;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &keyval, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, refuse_deletion, &refusing, NULL);
    MPI_Win_set_attr(*win, keyval, &value);
    MPI_Win_set_attr(*win, refusing, &value);
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    tap_check(MPI_Win_free(win) != MPI_SUCCESS && *win != MPI_WIN_NULL,
              "a window whose attribute will not go is not freed");
    MPI_Win_get_attr(*win, keyval, &(void *){NULL}, &flag);
    tap_check(flag, "and keeps the others");
    deleted = 1;
    tap_check(MPI_Win_free(win) == MPI_SUCCESS && *win == MPI_WIN_NULL, "later it is");
    tap_check(deleted == 1 + value, "attributes are deleted then");
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free_keyval(&refusing);
}

static void test_group(MPI_Win win, MPI_Comm comm)
{
    MPI_Group group, wanted;
    int result;
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(comm, &wanted);
    MPI_Group_compare(group, wanted, &result);
    tap_check(result == MPI_IDENT, "the group is that of the communicator");
    MPI_Group_free(&group);
    MPI_Group_free(&wanted);
}

static void test_name(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length;
    MPI_Win_get_name(win, name, &length);
    tap_check(length == 0 && name[0] == 0, "a window begins without a name");
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    tap_check(length == 4 && strcmp(name, "halo") == 0, "and gets one");
    MPI_Win_get_name(MPI_WIN_NULL, name, &length);
    tap_check(strcmp(name, "MPI_WIN_NULL") == 0, "MPI_WIN_NULL has its own");
}

static void test_info(MPI_Win win)
{
    MPI_Info info, more;
    char value[32] = "";
    int length = sizeof value, flag;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "no_locks", &length, value, &flag);
    tap_check(flag && strcmp(value, "true") == 0, "a hint that was given is told");
    length = sizeof value;
    MPI_Info_get_string(info, "same_size", &length, value, &flag);
    tap_check(flag && strcmp(value, "false") == 0, "others have their defaults");
    length = sizeof value;
    MPI_Info_get_string(info, "colour", &length, value, &flag);
    tap_check(!flag, "unknown ones are ignored");
    MPI_Info_free(&info);
    MPI_Info_create(&more);
    MPI_Info_set(more, "same_size", "true");
    MPI_Win_set_info(win, more);
    MPI_Info_free(&more);
    MPI_Win_get_info(win, &info);
    length = sizeof value;
    MPI_Info_get_string(info, "same_size", &length, value, &flag);
    tap_check(flag && strcmp(value, "true") == 0, "hints can be given later");
    MPI_Info_free(&info);
}

static void test_errors(MPI_Win win)
{
    MPI_Errhandler first, own, got;
    MPI_Win_get_errhandler(win, &first);
    tap_check(first == MPI_ERRORS_ARE_FATAL, "errors of a window begin by being fatal");
    MPI_Win_create_errhandler(count_error, &own);
    MPI_Win_set_errhandler(win, own);
    MPI_Win_get_errhandler(win, &got);
    tap_check(got == own, "its error handler can be set");
    MPI_Errhandler_free(&got);
    MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC);
    tap_check(handled == MPI_ERR_RMA_SYNC, "and is called");
    MPI_Errhandler_free(&own);
}

static void test_create(MPI_Comm comm)
{
    double data[ELEMENTS];
    MPI_Win win;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "colour", "blue");
    MPI_Win_create(data, sizeof data, sizeof data[0], info, comm, &win);
    MPI_Info_free(&info);
    test_attributes(win, data, sizeof data, sizeof data[0], MPI_WIN_FLAVOR_CREATE);
    test_group(win, comm);
    test_name(win);
    test_info(win);
    test_errors(win);
    test_own_attributes(&win);
}

static void test_other_flavors(void)
{
    short data[ELEMENTS];
    char *memory = NULL;
    MPI_Win win;
    MPI_Win_allocate(100, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 1, 100);
    test_attributes(win, memory, 100, 4, MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    test_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_free(&win);
    MPI_Win_create_c(data, sizeof data, sizeof data[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    test_attributes(win, data, sizeof data, sizeof data[0], MPI_WIN_FLAVOR_CREATE);
    MPI_Win_free(&win);
    MPI_Win_allocate_c(100, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    test_attributes(win, memory, 100, 4, MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_free(&win);
}

static void test_refusals(void)
{
    char byte;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_check(MPI_Win_create(&byte, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_SIZE,
              "a negative size is refused");
    tap_check(MPI_Win_create(&byte, 1, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_DISP,
              "so is a unit of 0");
    tap_check(MPI_Win_free(&win) == MPI_ERR_WIN, "and the end of MPI_WIN_NULL");
    tap_check(win == MPI_WIN_NULL, "nothing is made of it");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    test_create(MPI_COMM_WORLD);
    deleted = 0;
    test_create(MPI_COMM_SELF);
    test_other_flavors();
    test_refusals();
    MPI_Finalize();
    return tap_finish();
}
