/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects: every function, the limits of keys and values, what is refused. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static bool has(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof value, flag = 0;
    return MPI_Info_get_string(info, key, &length, value, &flag) == MPI_SUCCESS && flag &&
           strcmp(value, wanted) == 0 && length == (int)strlen(wanted) + 1;
}

static void check_life(const char *when)
{
    MPI_Info info = MPI_INFO_NULL, copy = MPI_INFO_NULL;
    char key[MPI_MAX_INFO_KEY];
    int count = -1;
    tap_check(MPI_Info_create(&info) == MPI_SUCCESS && info != MPI_INFO_NULL, "%s: created", when);
    MPI_Info_get_nkeys(info, &count);
    tap_check(count == 0, "%s: without keys", when);
    MPI_Info_set(info, "colour", "green");
    MPI_Info_set(info, "size", "");
    MPI_Info_set(info, "shape", "round");
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_get_nkeys(info, &count);
    tap_check(count == 3 && has(info, "colour", "blue") && has(info, "size", "") &&
                  has(info, "shape", "round"),
              "%s: three keys, one with a second value, one with an empty one", when);
    tap_check(MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS && strcmp(key, "colour") == 0 &&
                  MPI_Info_get_nthkey(info, 2, key) == MPI_SUCCESS && strcmp(key, "shape") == 0,
              "%s: in the order in which they came", when);

    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "colour");
    MPI_Info_get_nkeys(info, &count);
    tap_check(count == 2 && MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS &&
                  strcmp(key, "size") == 0,
              "%s: one is deleted, the others move up", when);
    tap_check(has(copy, "colour", "blue") && has(copy, "shape", "round"),
              "%s: a copy is one of its own", when);
    MPI_Info_free(&info);
    tap_check(has(copy, "shape", "round") && info == MPI_INFO_NULL, "%s: and lives longer", when);
    MPI_Info_free(&copy);
}

static void check_lengths(void)
{
    char value[16];
    int length, flag;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "0123456789");

    memset(value, 'x', sizeof value);
    tap_check(MPI_Info_get(info, "key", 4, value, &flag) == MPI_SUCCESS && flag &&
                  strcmp(value, "0123") == 0 && value[5] == 'x',
              "MPI_Info_get cuts a value");
    MPI_Info_get(info, "key", 15, value, &flag);
    tap_check(strcmp(value, "0123456789") == 0, "or gives all of it");
    tap_check(MPI_Info_get_valuelen(info, "key", &length, &flag) == MPI_SUCCESS && flag &&
                  length == 10,
              "MPI_Info_get_valuelen");

    memset(value, 'x', sizeof value);
    length = 4;
    tap_check(MPI_Info_get_string(info, "key", &length, value, &flag) == MPI_SUCCESS && flag &&
                  strcmp(value, "012") == 0 && length == 11 && value[4] == 'x',
              "MPI_Info_get_string cuts a value and says what it needs");
    length = 0;
    tap_check(MPI_Info_get_string(info, "key", &length, NULL, &flag) == MPI_SUCCESS && flag &&
                  length == 11,
              "it says so without a buffer");
    length = 7;
    value[0] = 'x';
    tap_check(MPI_Info_get_string(info, "none", &length, value, &flag) == MPI_SUCCESS && !flag &&
                  length == 7 && value[0] == 'x',
              "a key that is not there leaves everything as it is");
    MPI_Info_get(info, "none", 10, value, &flag);
    tap_check(!flag && value[0] == 'x', "in MPI_Info_get, too");
    MPI_Info_get_valuelen(info, "KEY", &length, &flag);
    tap_check(!flag, "upper and lower case differ");
    MPI_Info_free(&info);
}

static void check_limits(void)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], got[MPI_MAX_INFO_KEY];
    int flag;
    MPI_Info info;
    MPI_Info_create(&info);
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY] = value[MPI_MAX_INFO_VAL] = 0;
    tap_check(MPI_Info_set(info, key, "x") == MPI_ERR_INFO_KEY, "a key can be too long");
    tap_check(MPI_Info_get(info, key, 1, got, &flag) == MPI_ERR_INFO_KEY, "in MPI_Info_get");
    tap_check(MPI_Info_get_valuelen(info, key, &flag, &flag) == MPI_ERR_INFO_KEY,
              "in MPI_Info_get_valuelen");
    tap_check(MPI_Info_delete(info, key) == MPI_ERR_INFO_KEY, "in MPI_Info_delete");
    tap_check(MPI_Info_set(info, "k", value) == MPI_ERR_INFO_VALUE, "a value can be too long");
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = 0;
    tap_check(MPI_Info_set(info, key, value) == MPI_SUCCESS && has(info, key, value) &&
                  MPI_Info_get_nthkey(info, 0, got) == MPI_SUCCESS && strcmp(got, key) == 0,
              "the longest ones fit");
    MPI_Info_free(&info);
}

static void check_errors(void)
{
    MPI_Info info, null = MPI_INFO_NULL, freed;
    char text[MPI_MAX_INFO_KEY];
    int number = -1, flag;
    MPI_Info_create(&info);
    tap_check(MPI_Info_set(info, "", "x") == MPI_ERR_INFO_KEY, "an empty key");
    tap_check(MPI_Info_set(info, NULL, "x") == MPI_ERR_ARG, "no key");
    tap_check(MPI_Info_set(info, "x", NULL) == MPI_ERR_ARG, "no value");
    tap_check(MPI_Info_delete(info, "x") == MPI_ERR_INFO_NOKEY, "a key that is not there");
    tap_check(MPI_Info_get_nthkey(info, 0, text) == MPI_ERR_ARG, "a number too large");
    tap_check(MPI_Info_get_nthkey(info, -1, text) == MPI_ERR_ARG, "a negative number");
    tap_check(MPI_Info_get(info, "x", -1, text, &flag) == MPI_ERR_ARG, "a negative length");
    tap_check(MPI_Info_get_string(info, "x", &number, text, &flag) == MPI_ERR_ARG,
              "a negative length of a string");
    number = 5;
    tap_check(MPI_Info_get_string(info, "x", &number, NULL, &flag) == MPI_ERR_ARG, "no buffer");
    tap_check(MPI_Info_get_nkeys(info, NULL) == MPI_ERR_ARG, "nowhere to put the count");
    tap_check(MPI_Info_create(NULL) == MPI_ERR_ARG, "nowhere to put the object");
    tap_check(MPI_Info_create_env(2, NULL, &freed) == MPI_ERR_ARG, "arguments that are not there");

    tap_check(MPI_Info_set(null, "a", "b") == MPI_ERR_INFO, "MPI_INFO_NULL has no keys");
    tap_check(MPI_Info_dup(null, &freed) == MPI_ERR_INFO, "and no copies");
    tap_check(MPI_Info_free(&null) == MPI_ERR_INFO, "and is not freed");
    tap_check(MPI_Info_set((MPI_Info)MPI_COMM_WORLD, "a", "b") == MPI_ERR_INFO,
              "a communicator is no info object");
    freed = MPI_INFO_ENV;
    tap_check(MPI_Info_free(&freed) == MPI_ERR_INFO && freed == MPI_INFO_ENV &&
                  MPI_Info_set(freed, "a", "b") == MPI_ERR_INFO &&
                  MPI_Info_delete(freed, "command") == MPI_ERR_INFO,
              "MPI_INFO_ENV does not change");
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int rank;
    check_life("before MPI_Init");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_life("after MPI_Init");
    check_lengths();
    check_limits();
    check_errors();
    MPI_Finalize();
    check_life("after MPI_Finalize");
    return tap_finish();
}
