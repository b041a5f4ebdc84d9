/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More than an int can count: messages over 2 GiB by MPI_X_c and by long datatypes, little data
 * spread over more than 4 GiB, displacements of billions, and what statuses say of all this. With
 * the argument "plain" the long message is sent once.
 *
 * What is sent is 64 MiB of memory, mapped many times in a row; each copy has a page of its own,
 * which tells its place. What spreads far lies in memory that is only reserved. So two ranks need
 * little more than the one long buffer that is received into.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#if defined __SANITIZE_THREAD__ /* each byte has four of its own */
enum { NEEDED_MIB = 16 << 10 };
#else
enum { NEEDED_MIB = 4 << 10 };
#endif

#define PIECE  ((int64_t)64 << 20)
#define PIECES 33
#define LENGTH (((int64_t)1 << 31) + 13) /* of the long message, in bytes */
#define FAR    ((int64_t)3 << 30)        /* a distance */

static int rank;
static char *data; /* rank 0: the long message; rank 1: where it comes to */

static long available_mib(void)
{
    char line[128];
    long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return kib >> 10;
}

static char *reserve(int64_t bytes)
{
    char *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void fill_piece(int64_t *piece)
{
    for (int64_t i = 0; i < PIECE / 8; i++)
        piece[i] = i * 0x100000001 + 7;
}

/* The pieces in a row, each with its number in front; the end of the last one is not sent. */
static bool make_data(void)
{
    int fd = memfd_create("piece", MFD_CLOEXEC);
    data = reserve(PIECES * PIECE);
    if (fd < 0 || data == NULL || ftruncate(fd, PIECE) != 0)
        return false;
    int64_t *piece = mmap(NULL, (size_t)PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (piece == MAP_FAILED)
        return false;
    fill_piece(piece);
    munmap(piece, (size_t)PIECE);
    for (int64_t i = 0; i < PIECES; i++) {
        char *place = data + i * PIECE;
        if (mmap(place, (size_t)PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
            place)
            return false;
        memcpy(place, &i, sizeof i);
    }
    close(fd);
    return true;
}

/* Whether the long message is there, and nothing behind it. Forgets it. */
static bool is_data(void)
{
    int64_t *piece = malloc((size_t)PIECE);
    bool right = true;
    fill_piece(piece);
    for (int64_t i = 0; i < PIECES; i++) {
        int64_t length = i < PIECES - 1 ? PIECE : LENGTH - i * PIECE;
        piece[0] = i;
        right &= memcmp(data + i * PIECE, piece, (size_t)length) == 0;
    }
    for (int64_t i = LENGTH; i < LENGTH + 64; i++)
        right &= data[i] == 0;
    free(piece);
    for (int64_t i = 0; i < LENGTH; i += 512)
        data[i] = ~data[i];
    memset(data + LENGTH - 64, 0, 64);
    return right;
}

/* What is said of the long message: bytes are too many for an int, its halves are not. */
static void check_status(const MPI_Status *status, MPI_Datatype half, const char *what)
{
    int count = -1, halves = -1, elements = -1;
    MPI_Count large = -1, large_elements = -1, x_elements = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Get_count(status, half, &halves);
    MPI_Get_count_c(status, MPI_BYTE, &large);
    MPI_Get_elements(status, half, &elements);
    MPI_Get_elements_c(status, half, &large_elements);
    MPI_Get_elements_x(status, half, &x_elements);
    tap_check(count == MPI_UNDEFINED && elements == MPI_UNDEFINED && large == LENGTH &&
                  large_elements == LENGTH && x_elements == LENGTH && halves == MPI_UNDEFINED,
              "%s: the status tells %" PRId64 " bytes", what, (int64_t)large);
}

/* -- the long message -------------------------------------------------------------------- */

static void check_plain(MPI_Datatype half)
{
    MPI_Status status;
    if (rank == 0) {
        tap_check(MPI_Send_c(data, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS,
                  "MPI_Send_c");
        return;
    }
    tap_check(MPI_Recv_c(data, LENGTH + 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS,
              "MPI_Recv_c");
    check_status(&status, half, "MPI_Recv_c");
    tap_check(is_data(), "it has got the data");
}

/* Two halves and a rest by an int, in a type; a probe; received as another type. */
static void check_typed(MPI_Datatype half)
{
    MPI_Datatype whole;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
        MPI_Aint displs[] = {0, (MPI_Aint)1 << 30, (MPI_Aint)2 << 30};
        MPI_Type_create_struct(3, (int[]){1, 1, 13}, displs, (MPI_Datatype[]){half, half, MPI_BYTE},
                               &whole);
        MPI_Type_commit(&whole);
        MPI_Isend(data, 1, whole, 1, 2, MPI_COMM_WORLD, &request);
        tap_check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Isend of a long type");
        MPI_Type_free(&whole);
        return;
    }
    MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, &status);
    check_status(&status, half, "MPI_Mprobe");
    memset(&status, 0, sizeof status);
    tap_check(MPI_Mrecv_c(data, LENGTH, MPI_BYTE, &message, &status) == MPI_SUCCESS, "MPI_Mrecv_c");
    check_status(&status, half, "MPI_Mrecv_c");
    tap_check(is_data(), "it has got the data");
}

static void check_truncation(void)
{
    char small[10] = "";
    MPI_Status status;
    int class;
    if (rank == 0) {
        MPI_Send_c(data, LENGTH, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        return;
    }
    MPI_Error_class(MPI_Recv(small, 9, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status), &class);
    tap_check(class == MPI_ERR_TRUNCATE && small[9] == 0, "received into 9 bytes");
}

static void check_bcast(void)
{
    int error = MPI_Bcast_c(data, LENGTH, MPI_BYTE, 0, MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS && (rank == 0 || is_data()), "MPI_Bcast_c");
}

/* -- far apart --------------------------------------------------------------------------- */

enum { POINTS = 3 };

/* Three ints over more than 4 GiB, as a message and as a broadcast. */
static void check_span(char *space, MPI_Datatype type, int64_t distance, const char *what)
{
    MPI_Status status;
    int count = -1;
    bool right = true;
    for (int i = 0; i < POINTS; i++)
        *(int *)(space + i * distance) = rank == 0 ? 1000 + i : 0;
    if (rank == 0) {
        MPI_Send(space, 1, type, 1, 4, MPI_COMM_WORLD);
        MPI_Bcast(space, 1, type, 0, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(space, 1, type, 0, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    for (int i = 0; i < POINTS; i++) {
        right &= *(int *)(space + i * distance) == 1000 + i;
        *(int *)(space + i * distance) = 0;
    }
    MPI_Bcast(space, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < POINTS; i++)
        right &= *(int *)(space + i * distance) == 1000 + i;
    tap_check(right && count == POINTS, "%s spans %" PRId64 " bytes", what,
              (POINTS - 1) * distance + 4);
}

static void check_spans(char *space)
{
    enum { INTS = 700000000 };
    MPI_Datatype type;
    MPI_Type_create_hvector_c(POINTS, 1, FAR, MPI_INT, &type);
    MPI_Type_commit(&type);
    check_span(space, type, FAR, "MPI_Type_create_hvector_c");
    MPI_Type_free(&type);
    MPI_Type_vector(POINTS, 1, INTS, MPI_INT, &type);
    MPI_Type_commit(&type);
    check_span(space, type, (int64_t)INTS * 4, "MPI_Type_vector");
    MPI_Type_free(&type);
}

/* Displacements of billions of elements, and extents of gigabytes, on the receiving side. */
static void check_displacements(char *space)
{
    MPI_Count counts[] = {5, 5};
    MPI_Aint displs[] = {FAR, 0}, back[] = {0, 5};
    char own[10], got[10] = "";
    MPI_Datatype far_byte;
    memset(own, 'a' + rank, sizeof own);
    MPI_Allgatherv_c(own, 5, MPI_BYTE, space, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
    tap_check(memcmp(space + FAR, "aaaaa", 6) == 0 && memcmp(space, "bbbbb", 6) == 0,
              "MPI_Allgatherv_c with a displacement of %" PRId64, FAR);
    memcpy(space + FAR, rank == 0 ? "01234" : "56789", 5);
    memcpy(space, rank == 0 ? "ABCDE" : "FGHIJ", 5);
    MPI_Alltoallv_c(space, counts, displs, MPI_BYTE, got, counts, back, MPI_BYTE, MPI_COMM_WORLD);
    tap_check(memcmp(got, rank == 0 ? "0123456789" : "ABCDEFGHIJ", 10) == 0,
              "MPI_Alltoallv_c with the same");
    MPI_Type_create_resized(MPI_BYTE, 0, FAR, &far_byte);
    MPI_Type_commit(&far_byte);
    memset(space, 0, 2);
    memset(space + FAR, 0, 2);
    MPI_Allgather(own, 1, MPI_BYTE, space, 1, far_byte, MPI_COMM_WORLD);
    tap_check(memcmp(space, "a", 2) == 0 && memcmp(space + FAR, "b", 2) == 0,
              "MPI_Allgather of blocks %" PRId64 " bytes apart", FAR);
    MPI_Type_free(&far_byte);
}

static void check_all(bool only_plain)
{
    MPI_Datatype half;
    char *space = reserve((POINTS - 1) * FAR + 4096);
    bool ready = rank == 0 ? make_data() : (data = reserve(LENGTH + 4096)) != NULL;
    int all_ready = ready && space != NULL, bytes = 0;
    MPI_Allreduce(MPI_IN_PLACE, &all_ready, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!tap_check(all_ready, "there are addresses for all of it"))
        return;
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &half);
    MPI_Type_commit(&half);
    check_plain(half);
    check_truncation();
    if (!only_plain) {
        check_typed(half);
        check_bcast();
    }
    check_spans(space);
    check_displacements(space);
    MPI_Type_free(&half);
    MPI_Type_contiguous_c(LENGTH, MPI_BYTE, &half);
    tap_check(MPI_Type_size(half, &bytes) == MPI_SUCCESS && bytes == MPI_UNDEFINED,
              "the size of a long type is no int");
    MPI_Type_free(&half);
}

int main(int argc, char **argv)
{
    int size, is_enough;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    is_enough = available_mib() > NEEDED_MIB;
    MPI_Bcast(&is_enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_enough)
        tap_skip("more than an int can count", "less than %d MiB of memory are free", NEEDED_MIB);
    else if (tap_check(size == 2, "two ranks"))
        check_all(argc > 1 && strcmp(argv[1], "plain") == 0);
    MPI_Finalize();
    return tap_finish();
}
