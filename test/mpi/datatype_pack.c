/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing by hand, in the own representation and in external32; counts and elements of statuses. */
#include <mpi.h>
#include <string.h>
#include <wchar.h>

#include "tap.h"

static void check_pack(void)
{
    int numbers[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0, 0, 0, 0, 0, 0}, position = 0, size;
    double value = 2.5, value_back = 0;
    char buffer[64];
    MPI_Count position_c = 0, size_c;
    MPI_Datatype odd;
    MPI_Type_vector(3, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Pack_size(2, odd, MPI_COMM_WORLD, &size);
    MPI_Pack_size_c(2, odd, MPI_COMM_WORLD, &size_c);
    tap_check(size >= 24 && size_c == size, "Pack_size");
    MPI_Pack(numbers, 1, odd, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(&value, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    tap_check(position == 20, "Pack moves the position");
    position = 0;
    MPI_Unpack(buffer, sizeof buffer, &position, back, 1, odd, MPI_COMM_WORLD);
    MPI_Unpack(buffer, sizeof buffer, &position, &value_back, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    tap_check(position == 20 && back[0] == 1 && back[1] == 0 && back[2] == 3 && back[3] == 0 &&
                  back[4] == 5 && back[5] == 0 && value_back == 2.5,
              "Unpack brings back what was packed and nothing else");
    MPI_Pack_c(numbers, 1, odd, buffer, sizeof buffer, &position_c, MPI_COMM_WORLD);
    memset(back, 0, sizeof back);
    position_c = 0;
    MPI_Unpack_c(buffer, sizeof buffer, &position_c, back, 1, odd, MPI_COMM_WORLD);
    tap_check(position_c == 12 && back[4] == 5, "Pack_c and Unpack_c");

    position = 56;
    tap_check(MPI_Pack(numbers, 1, odd, buffer, sizeof buffer, &position, MPI_COMM_WORLD) ==
                      MPI_ERR_TRUNCATE &&
                  MPI_Unpack(buffer, sizeof buffer, &position, back, 1, odd, MPI_COMM_WORLD) ==
                      MPI_ERR_TRUNCATE &&
                  position == 56,
              "a buffer that is too short");
    position = 65;
    tap_check(MPI_Pack(numbers, 0, odd, buffer, sizeof buffer, &position, MPI_COMM_WORLD) ==
                  MPI_ERR_ARG,
              "a position outside of the buffer");
    MPI_Type_free(&odd);
}

static void check_external(void)
{
    struct {
        int number;
        long big;
        short small;
        wchar_t wide;
        long double exact;
    } item = {-2, -3, 0x1234, L'z', -1.5L}, back;
    static const int lengths[] = {1, 1, 1, 1, 1};
    static const unsigned char wanted[] = {
        0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0x12, 0x34, 0x00, 'z', 0xbf, 0xff,
        0x80, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,   0,    0};
    unsigned char external[64];
    MPI_Datatype type, types[] = {MPI_INT, MPI_LONG, MPI_SHORT, MPI_WCHAR, MPI_LONG_DOUBLE};
    MPI_Aint places[5], base, size, position = 0;
    MPI_Count size_c, position_c = 0;
    memset(&back, 0, sizeof back);
    MPI_Get_address(&item, &base);
    MPI_Get_address(&item.number, &places[0]);
    MPI_Get_address(&item.big, &places[1]);
    MPI_Get_address(&item.small, &places[2]);
    MPI_Get_address(&item.wide, &places[3]);
    MPI_Get_address(&item.exact, &places[4]);
    for (int i = 0; i < 5; i++)
        places[i] = MPI_Aint_diff(places[i], base);
    MPI_Type_create_struct(5, lengths, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size("external32", 1, type, &size);
    MPI_Pack_external_size_c("external32", 1, type, &size_c);
    tap_check(size == sizeof wanted && size_c == size, "Pack_external_size");
    MPI_Pack_external("external32", &item, 1, type, external, sizeof external, &position);
    tap_check(position == size && memcmp(external, wanted, sizeof wanted) == 0,
              "external32 is big-endian, with the standard's sizes");
    position = 0;
    MPI_Unpack_external("external32", external, size, &position, &back, 1, type);
    tap_check(position == size && back.number == -2 && back.big == -3 && back.small == 0x1234 &&
                  back.wide == L'z' && back.exact == -1.5L,
              "Unpack_external brings back the numbers, with their signs");
    memset(&back, 0, sizeof back);
    MPI_Pack_external_c("external32", &item, 1, type, external, sizeof external, &position_c);
    position_c = 0;
    MPI_Unpack_external_c("external32", external, size_c, &position_c, &back, 1, type);
    tap_check(position_c == size_c && back.exact == -1.5L && back.big == -3,
              "Pack_external_c and Unpack_external_c");
    position = 0;
    tap_check(MPI_Pack_external("external64", &item, 1, type, external, sizeof external,
                                &position) == MPI_ERR_UNSUPPORTED_DATAREP,
              "another representation is refused");
    tap_check(MPI_Pack_external("external32", &item, 1, type, external, size - 1, &position) ==
                      MPI_ERR_TRUNCATE &&
                  position == 0,
              "an external buffer that is too short");
    MPI_Type_free(&type);
}

/* Many numbers, of a type that is not contiguous: longer than what is converted at a time. */
static void check_external_many(void)
{
    enum { COUNT = 5000 };
    static double numbers[2 * COUNT], back[2 * COUNT];
    static char external[COUNT * 8];
    MPI_Aint position = 0;
    MPI_Datatype type;
    int right = 1;
    for (int i = 0; i < 2 * COUNT; i++)
        numbers[i] = i * 0.25;
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external("external32", numbers, 1, type, external, sizeof external, &position);
    position = 0;
    MPI_Unpack_external("external32", external, sizeof external, &position, back, 1, type);
    for (int i = 0; i < 2 * COUNT; i++)
        right &= back[i] == (i % 2 == 0 ? numbers[i] : 0);
    tap_check(right && position == sizeof external, "%d numbers through external32", COUNT);
    MPI_Type_free(&type);
}

static void check_elements(void)
{
    static const int lengths[] = {2, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype type, empty, types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Status status;
    MPI_Count large;
    int count;
    memset(&status, 0, sizeof status);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Status_set_elements(&status, type, 6);
    MPI_Get_count(&status, type, &count);
    tap_check(count == 2, "6 elements are 2 of 3 each");
    MPI_Get_elements(&status, type, &count);
    tap_check(count == 6, "and 6 elements");
    MPI_Status_set_elements(&status, type, 5);
    MPI_Get_count(&status, type, &count);
    tap_check(count == MPI_UNDEFINED, "5 elements are no whole number of them");
    MPI_Get_elements(&status, type, &count);
    tap_check(count == 5, "but 5 elements");
    MPI_Get_elements(&status, MPI_BYTE, &count);
    tap_check(count == 24, "which are 24 bytes");
    MPI_Status_set_elements(&status, MPI_BYTE, 6);
    MPI_Get_elements(&status, type, &count);
    tap_check(count == MPI_UNDEFINED, "6 bytes are no whole number of elements");
    MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)1 << 40);
    MPI_Get_count_c(&status, MPI_INT, &large);
    tap_check(large == (MPI_Count)1 << 40, "Status_set_elements_c, Get_count_c");
    MPI_Get_elements_c(&status, MPI_INT, &large);
    tap_check(large == (MPI_Count)1 << 40, "Get_elements_c");
    tap_check(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == MPI_UNDEFINED,
              "a count that is no int is MPI_UNDEFINED");
    MPI_Status_set_elements_x(&status, MPI_DOUBLE_INT, 4);
    MPI_Get_elements_x(&status, MPI_DOUBLE_INT, &large);
    MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
    tap_check(large == 4 && count == 2, "a pair has two elements");
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Status_set_elements(&status, MPI_BYTE, 0);
    MPI_Get_count(&status, empty, &count);
    tap_check(count == 0, "none of a type without data");
    MPI_Status_set_elements(&status, MPI_BYTE, 3);
    MPI_Get_elements(&status, empty, &count);
    tap_check(count == MPI_UNDEFINED, "3 bytes are no number of a type without data");
    MPI_Type_free(&type);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_pack();
    check_external();
    check_external_many();
    check_elements();
    MPI_Finalize();
    return tap_finish();
}
