/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as numbers: MPI_*_toint, MPI_*_fromint, MPI_*_c2f, MPI_*_f2c, and statuses. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

/* A predefined handle of each kind: its number is its value, both ways, by both names. */
#define CHECK_KIND(kind, type, handle, value)                                                      \
    tap_check(MPI_##kind##_toint(handle) == (value) && MPI_##kind##_c2f(handle) == (value) &&      \
                  MPI_##kind##_fromint(value) == (handle) &&                                       \
                  MPI_##kind##_f2c(value) == (handle) && MPI_##kind##_fromint(-5) == (type)0,      \
              #handle " is %d", value)

static void check_predefined(void)
{
    CHECK_KIND(Comm, MPI_Comm, MPI_COMM_WORLD, 0x101);
    CHECK_KIND(Comm, MPI_Comm, MPI_COMM_NULL, 0x100);
    CHECK_KIND(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN, 0x143);
    CHECK_KIND(File, MPI_File, MPI_FILE_NULL, 0x118);
    CHECK_KIND(Group, MPI_Group, MPI_GROUP_EMPTY, 0x109);
    CHECK_KIND(Info, MPI_Info, MPI_INFO_ENV, 0x131);
    CHECK_KIND(Message, MPI_Message, MPI_MESSAGE_NO_PROC, 0x129);
    CHECK_KIND(Op, MPI_Op, MPI_SUM, 0x21);
    CHECK_KIND(Request, MPI_Request, MPI_REQUEST_NULL, 0x180);
    CHECK_KIND(Session, MPI_Session, MPI_SESSION_NULL, 0x120);
    CHECK_KIND(Type, MPI_Datatype, MPI_DOUBLE, 0x214);
    CHECK_KIND(Win, MPI_Win, MPI_WIN_NULL, 0x110);
}

static void ignore(MPI_Comm *comm, int *error_code, ...)
{
    (void)comm;
    (void)error_code;
}

static void check_dynamic(void)
{
    enum { COUNT = 1000 };
    static MPI_Errhandler handlers[COUNT];
    static int numbers[COUNT];
    int right = 0, again;
    for (int i = 0; i < COUNT; i++) {
        MPI_Comm_create_errhandler(ignore, &handlers[i]);
        numbers[i] = MPI_Errhandler_toint(handlers[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        right += numbers[i] >= 4096 && MPI_Errhandler_toint(handlers[i]) == numbers[i] &&
                 MPI_Errhandler_c2f(handlers[i]) == numbers[i] &&
                 MPI_Errhandler_fromint(numbers[i]) == handlers[i] &&
                 (i == 0 || numbers[i] != numbers[i - 1]);
    }
    tap_check(right == COUNT, "%d of %d created handles have a number and come back", right, COUNT);
    tap_check(MPI_Comm_fromint(numbers[0]) == (MPI_Comm)0,
              "the number of an error handler is none of a communicator");

    again = numbers[COUNT / 2];
    MPI_Errhandler_free(&handlers[COUNT / 2]);
    tap_check(MPI_Errhandler_fromint(again) == (MPI_Errhandler)0, "a freed one has no handle");
    MPI_Comm_create_errhandler(ignore, &handlers[COUNT / 2]);
    tap_check(MPI_Errhandler_toint(handlers[COUNT / 2]) == again, "its number is used again");
    for (int i = 0; i < COUNT; i++)
        MPI_Errhandler_free(&handlers[i]);
    tap_check(MPI_Errhandler_fromint(1 << 30) == (MPI_Errhandler)0, "a number too large has none");
}

static void check_status(void)
{
    MPI_Status status, back;
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    int value = 0;
    memset(&status, 0x5a, sizeof status);
    MPI_Status_set_source(&status, 3);
    MPI_Status_set_tag(&status, 4);
    MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
    tap_check(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_TRUNCATE,
              "a status is set");
    tap_check(MPI_Status_get_source(&status, &value) == MPI_SUCCESS && value == 3, "its source");
    tap_check(MPI_Status_get_tag(&status, &value) == MPI_SUCCESS && value == 4, "its tag");
    tap_check(MPI_Status_get_error(&status, &value) == MPI_SUCCESS && value == MPI_ERR_TRUNCATE,
              "its error");
    tap_check(MPI_Status_c2f(&status, fortran) == MPI_SUCCESS && fortran[MPI_F_SOURCE] == 3 &&
                  fortran[MPI_F_TAG] == 4 && fortran[MPI_F_ERROR] == MPI_ERR_TRUNCATE,
              "a Fortran status has the same");
    tap_check(MPI_Status_f2c(fortran, &back) == MPI_SUCCESS &&
                  memcmp(&status, &back, sizeof status) == 0,
              "and becomes the same C status");
    MPI_F08_status f08;
    MPI_Fint again[MPI_F_STATUS_SIZE];
    tap_check(MPI_Status_c2f08(&status, &f08) == MPI_SUCCESS && f08.MPI_SOURCE == 3 &&
                  f08.MPI_TAG == 4 && f08.MPI_ERROR == MPI_ERR_TRUNCATE,
              "a status of mpi_f08 has the same");
    tap_check(MPI_Status_f082c(&f08, &back) == MPI_SUCCESS &&
                  memcmp(&status, &back, sizeof status) == 0,
              "and becomes the same C status");
    tap_check(MPI_Status_f082f(&f08, again) == MPI_SUCCESS &&
                  memcmp(again, fortran, sizeof again) == 0,
              "and the same integers");
    tap_check(MPI_Status_f2f08(again, &f08) == MPI_SUCCESS &&
                  memcmp(&status, &f08, sizeof status) == 0,
              "which become the same status of mpi_f08");
}

int main(int argc, char **argv)
{
    int rank = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    check_predefined();
    check_dynamic();
    check_status();
    MPI_Finalize();
    return tap_finish();
}
