/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program learns of the ABI and of the hardware, and what a Fortran library tells of its
 * compiler: once, before or after MPI_Init (argument "early": before it).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

static bool has(MPI_Info info, const char *key, const char *wanted)
{
    char value[64] = "";
    int length = sizeof value, flag = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag && strcmp(value, wanted) == 0;
}

static void check_abi(void)
{
    int major = -1, minor = -1, keys = 0;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Abi_get_version(&major, &minor);
    tap_check(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION,
              "the version is the header's");
    tap_check(MPI_Abi_get_info(&info) == MPI_SUCCESS && has(info, "mpi_aint_size", "8") &&
                  has(info, "mpi_count_size", "8") && has(info, "mpi_offset_size", "8"),
              "the sizes of three types are told");
    MPI_Info_set(info, "mpi_aint_size", "2");
    MPI_Info_free(&info);
    MPI_Abi_get_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    tap_check(keys == 3 && has(info, "mpi_aint_size", "8"), "nobody changes them");
    MPI_Info_free(&info);
}

/* The errors before MPI_Init go to a handler that ends the program, so they are tried after it. */
static void check_refused_types(void)
{
    MPI_Info info;
    const char *const wrong[] = {"8", "", "four", "4x", "999999999999999999999999"};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_logical_size", "4");
        if (MPI_Info_set(info, "mpi_integer_size", wrong[i]) == MPI_SUCCESS)
            tap_check(is_class(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI),
                      "an INTEGER of '%s' bytes is refused", wrong[i]);
        MPI_Info_free(&info);
    }
    tap_check(is_class(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO),
              "MPI_INFO_NULL tells nothing");
    tap_check(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL,
              "after what was refused nothing is known");
}

static void tell_types(void)
{
    MPI_Info info = MPI_INFO_ENV;
    tap_check(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL,
              "at first nothing is known of Fortran's types");
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "4");
    MPI_Info_set(info, "mpi_double_precision_size", "8");
    MPI_Info_set(info, "mpi_real16_supported", "false");
    tap_check(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS, "they are told");
    MPI_Info_set(info, "mpi_integer_size", "16"); /* a copy was made */
    MPI_Info_free(&info);
}

static void check_told_types(void)
{
    MPI_Info info = MPI_INFO_NULL, again;
    int keys = 0;
    MPI_Abi_get_fortran_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    tap_check(keys == 3 && has(info, "mpi_integer_size", "4") &&
                  has(info, "mpi_real16_supported", "false"),
              "and told again");
    tap_check(is_class(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI), "they are told once only");
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&again);
    tap_check(has(again, "mpi_double_precision_size", "8"), "who asks gets a copy");
    MPI_Info_free(&again);
}

static void check_refused_booleans(void)
{
    int64_t yes[2] = {1, 0}, no[2] = {0, 0};
    const int wrong[] = {0, -4, 3, 12, 32};
    int is_set = 0;
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++)
        tap_check(
            is_class(MPI_Abi_set_fortran_booleans(wrong[i], yes, no), MPI_ERR_ARG) &&
                is_class(MPI_Abi_get_fortran_booleans(wrong[i], yes, no, &is_set), MPI_ERR_ARG),
            "no LOGICAL has %d bytes", wrong[i]);
    tap_check(is_class(MPI_Abi_set_fortran_booleans(4, NULL, no), MPI_ERR_ARG) &&
                  is_class(MPI_Abi_set_fortran_booleans(4, yes, NULL), MPI_ERR_ARG),
              "NULL is no literal");
    tap_check(is_class(MPI_Abi_set_fortran_booleans(4, no, yes), MPI_ERR_ABI) &&
                  is_class(MPI_Abi_set_fortran_booleans(4, no, no), MPI_ERR_ABI),
              "false must be 0, as for operators, and true not");
    tap_check(MPI_Abi_get_fortran_booleans(4, yes, no, &is_set) == MPI_SUCCESS && is_set == 0,
              "after what was refused they are not known");
}

static void tell_booleans(void)
{
    int32_t yes = 77, no = 78;
    int is_set = -1;
    tap_check(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) == MPI_SUCCESS && is_set == 0 &&
                  yes == 77 && no == 78,
              "at first nothing is known of Fortran's booleans");
    yes = -1;
    no = 0;
    tap_check(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no) == MPI_SUCCESS, "they are told");
}

static void check_told_booleans(void)
{
    int8_t short_yes = 0, short_no = 1;
    int32_t yes = 0, no = 1;
    int64_t long_yes[2] = {0, 0}, long_no[2] = {1, 1};
    int is_set = 0;
    MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set);
    tap_check(is_set && yes == -1 && no == 0, "and told again");
    MPI_Abi_get_fortran_booleans(sizeof short_yes, &short_yes, &short_no, &is_set);
    tap_check(is_set && short_yes == -1 && short_no == 0, "as shorter ones");
    MPI_Abi_get_fortran_booleans(sizeof long_yes, long_yes, long_no, &is_set);
    tap_check(is_set && long_yes[0] == -1 && long_yes[1] == -1 && long_no[0] == 0 &&
                  long_no[1] == 0,
              "and as longer ones");
    is_set = 0;
    MPI_Abi_get_fortran_booleans(4, NULL, NULL, &is_set);
    tap_check(is_set == 1, "whether they are known can be asked alone");
    tap_check(is_class(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI),
              "they are told once only");
}

static void check_hardware(void)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm;
    cpu_set_t one;
    int keys = 0, bound = 0, members = 0;
    char key[MPI_MAX_INFO_KEY];
    tap_check(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS &&
                  has(info, "hwloc://Machine", "true"),
              "a process runs on one machine");
    MPI_Info_free(&info);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return;
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(info, i, key);
        bound += strncmp(key, "hwloc://", 8) == 0 && has(info, key, "true");
    }
    tap_check(keys >= 2 && bound == keys && has(info, "hwloc://PU", "true"),
              "one bound to a CPU in one of each of %d parts", keys);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", key);
    MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
    MPI_Info_free(&info);
    MPI_Comm_size(comm, &members);
    tap_check(members == 1, "a key is a resource to split by");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    bool early = argc > 1 && strcmp(argv[1], "early") == 0;
    int rank;
    check_abi();
    if (early) {
        tell_types();
        tell_booleans();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!early) {
        check_refused_types();
        check_refused_booleans();
        tell_types();
        tell_booleans();
    }
    check_hardware();
    check_told_types();
    check_told_booleans();
    MPI_Finalize();
    check_abi();
    return tap_finish();
}
