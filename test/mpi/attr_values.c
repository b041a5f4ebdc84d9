/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of communicators: keyvals, values, callbacks, what is predefined, what is refused. */
#include <mpi.h>
#include <limits.h>

#include "place.h"
#include "tap.h"

static struct {
    int calls, result;
    MPI_Comm comm;
    int keyval;
    void *value, *extra;
} deleted;

static int forget_value(MPI_Comm comm, int keyval, void *value, void *extra)
{
    deleted.calls++;
    deleted.comm = comm;
    deleted.keyval = keyval;
    deleted.value = value;
    deleted.extra = extra;
    return deleted.result;
}

static char place[8]; /* addresses for values */

static bool has(MPI_Comm comm, int keyval, void *wanted)
{
    void *value = NULL;
    int flag = 0;
    return MPI_Comm_get_attr(comm, keyval, &value, &flag) == MPI_SUCCESS && flag && value == wanted;
}

static bool has_none(MPI_Comm comm, int keyval)
{
    void *value = place;
    int flag = 1;
    return MPI_Comm_get_attr(comm, keyval, &value, &flag) == MPI_SUCCESS && !flag && value == place;
}

static void check_values(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int keyval = MPI_KEYVAL_INVALID, other;
    tap_check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_value, &keyval, place) ==
                      MPI_SUCCESS &&
                  keyval != MPI_KEYVAL_INVALID,
              "a keyval is created");
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    tap_check(other != keyval && has_none(comm, keyval), "it has no value yet");
    tap_check(MPI_Comm_set_attr(comm, keyval, &place[1]) == MPI_SUCCESS &&
                  has(comm, keyval, &place[1]) && has_none(MPI_COMM_SELF, keyval) &&
                  has_none(comm, other),
              "a value belongs to one communicator and one keyval");
    MPI_Comm_set_attr(comm, other, NULL);
    tap_check(has(comm, other, NULL), "it may be NULL");

    tap_check(MPI_Comm_set_attr(comm, keyval, &place[2]) == MPI_SUCCESS && deleted.calls == 1 &&
                  deleted.comm == comm && deleted.keyval == keyval && deleted.value == &place[1] &&
                  deleted.extra == place && has(comm, keyval, &place[2]),
              "another one replaces it, the first is deleted");
    deleted.result = MPI_ERR_IO;
    tap_check(MPI_Comm_set_attr(comm, keyval, &place[3]) == MPI_ERR_IO &&
                  has(comm, keyval, &place[2]),
              "unless its callback fails");
    tap_check(MPI_Comm_delete_attr(comm, keyval) == MPI_ERR_IO && has(comm, keyval, &place[2]),
              "nor is it deleted then");
    deleted.result = MPI_SUCCESS;
    tap_check(MPI_Comm_delete_attr(comm, keyval) == MPI_SUCCESS && deleted.calls == 4 &&
                  has_none(comm, keyval),
              "it is deleted");
    tap_check(MPI_Comm_delete_attr(comm, keyval) == MPI_ERR_KEYVAL, "but not twice");
    MPI_Comm_delete_attr(comm, other);
    tap_check(MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID,
              "a keyval is freed");
    MPI_Comm_free_keyval(&other);
}

/* A keyval that is freed lives on while values have it. */
static void check_freed_keyval(void)
{
    int keyval, copy, next;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_value, &keyval, NULL);
    copy = keyval;
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &place[4]);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_value, &next, NULL);
    tap_check(next != copy && has(MPI_COMM_WORLD, copy, &place[4]), "a freed keyval is still used");
    tap_check(MPI_Comm_set_attr(MPI_COMM_SELF, copy, NULL) == MPI_ERR_KEYVAL,
              "not for another value");
    keyval = copy;
    tap_check(MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS, "it can be freed once more");
    deleted.calls = 0;
    tap_check(MPI_Comm_delete_attr(MPI_COMM_WORLD, copy) == MPI_SUCCESS && deleted.calls == 1 &&
                  deleted.keyval == copy && deleted.value == &place[4],
              "its callback is still called");
    tap_check(MPI_Comm_free_keyval(&copy) == MPI_ERR_KEYVAL, "then it is gone");
    MPI_Comm_free_keyval(&next);
}

/* What a delete callback may do with its own value. */
static int meddle(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int copy = keyval, *wrong = extra;
    *wrong += !has(comm, keyval, value);
    *wrong += MPI_Comm_delete_attr(comm, keyval) != MPI_ERR_KEYVAL;
    *wrong += MPI_Comm_set_attr(comm, keyval, NULL) != MPI_ERR_KEYVAL;
    *wrong += MPI_Comm_free_keyval(&copy) != MPI_SUCCESS;
    return MPI_SUCCESS;
}

static void check_meddling(void)
{
    int keyval, wrong = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meddle, &keyval, &wrong);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, place);
    tap_check(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval) == MPI_SUCCESS && wrong == 0,
              "a callback sees its value, cannot delete it again, and frees the keyval");
    tap_check(MPI_Comm_free_keyval(&keyval) == MPI_ERR_KEYVAL, "which is gone then");
}

static void check_names_of_mpi1(void)
{
    int keyval, flag = 0;
    void *value = NULL;
    tap_check(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &keyval, NULL) ==
                      MPI_SUCCESS &&
                  MPI_Attr_put(MPI_COMM_WORLD, keyval, &place[5]) == MPI_SUCCESS &&
                  MPI_Attr_get(MPI_COMM_WORLD, keyval, &value, &flag) == MPI_SUCCESS && flag &&
                  value == &place[5] && has(MPI_COMM_WORLD, keyval, &place[5]),
              "the names of MPI-1 mean the same");
    tap_check(MPI_Attr_delete(MPI_COMM_WORLD, keyval) == MPI_SUCCESS &&
                  has_none(MPI_COMM_WORLD, keyval) && MPI_Keyval_free(&keyval) == MPI_SUCCESS &&
                  keyval == MPI_KEYVAL_INVALID,
              "to the end");
}

/* Whether there is such an attribute; its value is an int. */
static bool get_predefined(MPI_Comm comm, int keyval, int *value)
{
    int *address = NULL, flag = 0;
    bool found = MPI_Comm_get_attr(comm, keyval, &address, &flag) == MPI_SUCCESS && flag;
    if (found)
        *value = *address;
    return found;
}

static void check_predefined(bool has_launcher)
{
    int value = -1, class, code, last, *live, flag;
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_TAG_UB, &value) && value >= 32767, "MPI_TAG_UB %d",
              value);
    tap_check(get_predefined(MPI_COMM_SELF, MPI_TAG_UB, &code) && code == value,
              "the same on MPI_COMM_SELF");
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_HOST, &value) && value == MPI_PROC_NULL,
              "MPI_HOST");
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_IO, &value) && value == MPI_ANY_SOURCE, "MPI_IO");
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value) &&
                  value == place_is_one_node(),
              "MPI_WTIME_IS_GLOBAL: whether all ranks are on one node");
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_APPNUM, &value) == has_launcher,
              "MPI_APPNUM is known if there is a launcher");
    tap_check(!has_launcher || value == 0, "and 0");
    tap_check(!get_predefined(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value) || value >= 1,
              "MPI_UNIVERSE_SIZE is positive, or not known");

    tap_check(get_predefined(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last) && last == MPI_ERR_LASTCODE,
              "MPI_LASTUSEDCODE");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &live, &flag);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    tap_check(get_predefined(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value) && value == code &&
                  code > class && *live == code,
              "it follows what is added");
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
    tap_check(*live == last, "and removed");
}

#define REFUSED(call, code) tap_check((call) == (code), "%s: %s", #call, #code)

static void check_errors(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int keyval = MPI_KEYVAL_INVALID, typed, windowed, flag, predefined = MPI_TAG_UB;
    void *value;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &typed, NULL);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &windowed, NULL);
    REFUSED(MPI_Comm_set_attr(world, keyval, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_set_attr(world, typed, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, typed, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, keyval, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, -1, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, INT_MAX, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, MPI_WIN_BASE, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_set_attr(world, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_delete_attr(world, MPI_TAG_UB), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_free_keyval(&predefined), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_free_keyval(&typed), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_free_keyval(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_value, NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, MPI_TAG_UB, NULL, &flag), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, MPI_TAG_UB, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &value, &flag), MPI_ERR_COMM);
    REFUSED(MPI_Comm_set_attr(MPI_COMM_NULL, MPI_TAG_UB, NULL), MPI_ERR_COMM);
    REFUSED(MPI_Comm_delete_attr(MPI_COMM_NULL, MPI_TAG_UB), MPI_ERR_COMM);
    REFUSED(MPI_Attr_get(MPI_COMM_NULL, MPI_TAG_UB, &value, &flag), MPI_ERR_COMM);
    REFUSED(MPI_Attr_put(world, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Attr_delete(world, MPI_TAG_UB), MPI_ERR_KEYVAL);
    REFUSED(MPI_Keyval_free(&keyval), MPI_ERR_KEYVAL);
    REFUSED(MPI_Type_set_attr(MPI_DATATYPE_NULL, typed, NULL), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_attr(MPI_DATATYPE_NULL, typed, &value, &flag), MPI_ERR_TYPE);
    REFUSED(MPI_Type_delete_attr(MPI_DATATYPE_NULL, typed), MPI_ERR_TYPE);
    REFUSED(MPI_Win_set_attr(MPI_WIN_NULL, windowed, NULL), MPI_ERR_WIN);
    REFUSED(MPI_Win_get_attr(MPI_WIN_NULL, windowed, &value, &flag), MPI_ERR_WIN);
    REFUSED(MPI_Win_delete_attr(MPI_WIN_NULL, windowed), MPI_ERR_WIN);
    REFUSED(MPI_Win_free_keyval(&typed), MPI_ERR_KEYVAL);
    REFUSED(MPI_Type_free_keyval(&windowed), MPI_ERR_KEYVAL);
    tap_check(MPI_Type_free_keyval(&typed) == MPI_SUCCESS && typed == MPI_KEYVAL_INVALID &&
                  MPI_Win_free_keyval(&windowed) == MPI_SUCCESS && windowed == MPI_KEYVAL_INVALID,
              "keyvals of datatypes and windows are freed");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_values();
    check_freed_keyval();
    check_meddling();
    check_names_of_mpi1();
    check_predefined(argc > 1);
    check_errors();
    MPI_Finalize();
    return tap_finish();
}
