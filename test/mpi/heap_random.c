/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of a node under stress: all ranks allocate, free, change the size of, send, receive and
 * give away blocks at random, of all sizes, and look whether each has kept what was written to it.
 *
 *   heap_random SEED SECONDS
 *
 * To watch it: mpirun -n 4 heap_random 1 60 & watch -n 1 mica-heap
 *
 * A rank never waits for a certain block: it takes what has been announced by a message, so nobody
 * waits in a circle. In the end each rank tells the others how many blocks it gave them.
 */
#include <mica.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

enum { MOST = 600, MOST_RANKS = 64, TAG_ANNOUNCE = 1, TAG_DATA, TAG_GIFT, MOST_MIB = 48 };

typedef struct piece {
    unsigned char *start;
    size_t bytes;
    unsigned mark;
    bool is_ours; /* MICA_Alloc's; else malloc's */
} piece_t;

static int rank, size;
static piece_t pieces[MOST];
static size_t piece_count, all_bytes;
static unsigned long long damaged, moves, given, taken, lost;
static int given_to[MOST_RANKS], taken_from[MOST_RANKS];
static uint64_t state;

static unsigned random_below(unsigned limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % limit;
}

static size_t random_bytes(void)
{
    switch (random_below(16)) {
    case 0:
        return 1 + random_below(6 << 20);
    case 1:
    case 2:
        return 1 + random_below(1 << 20);
    case 3:
    case 4:
    case 5:
    case 6:
        return 1 + random_below(64 << 10);
    default:
        return 1 + random_below(5000);
    }
}

/* At both ends and, sparsely, in between. */
static void paint(const piece_t *piece)
{
    for (size_t i = 0; i < piece->bytes; i += 509)
        piece->start[i] = (unsigned char)(piece->mark + i);
    piece->start[piece->bytes - 1] = (unsigned char)piece->mark;
}

static void verify(const piece_t *piece, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 509)
        if (i + 1 < piece->bytes && piece->start[i] != (unsigned char)(piece->mark + i))
            damaged++;
    if (bytes == piece->bytes)
        damaged += piece->start[bytes - 1] != (unsigned char)piece->mark;
}

/* -- what a rank does --------------------------------------------------------------------- */

static void keep(piece_t piece)
{
    pieces[piece_count++] = piece;
    all_bytes += piece.bytes;
}

static piece_t take_out(size_t at)
{
    piece_t piece = pieces[at];
    pieces[at] = pieces[--piece_count];
    all_bytes -= piece.bytes;
    return piece;
}

static void release(const piece_t *piece)
{
    verify(piece, piece->bytes);
    if (piece->is_ours)
        lost += MICA_Free(piece->start) != MPI_SUCCESS;
    else
        free(piece->start);
}

static void add(void)
{
    piece_t piece = {.bytes = random_bytes(), .mark = random_below(250)};
    if (piece_count == MOST || all_bytes + piece.bytes > (size_t)MOST_MIB << 20)
        return;
    piece.is_ours = random_below(2);
    if (piece.is_ours)
        lost += MICA_Alloc((MPI_Aint)piece.bytes, &piece.start) != MPI_SUCCESS;
    else if (random_below(4) == 0)
        lost += posix_memalign((void **)&piece.start, 64u << random_below(8), piece.bytes) != 0;
    else
        piece.start = malloc(piece.bytes);
    paint(&piece);
    keep(piece);
}

static void resize(void)
{
    size_t at = random_below((unsigned)piece_count), bytes = random_bytes();
    if (pieces[at].is_ours || all_bytes + bytes > (size_t)MOST_MIB << 20)
        return;
    piece_t piece = take_out(at);
    size_t kept = bytes < piece.bytes ? bytes : piece.bytes;
    verify(&piece, piece.bytes);
    unsigned char *moved = realloc(piece.start, bytes);
    if (kept > 0 && moved[0] != (unsigned char)piece.mark && piece.bytes > 1)
        damaged++;
    piece.start = moved;
    piece.bytes = bytes;
    paint(&piece);
    keep(piece);
}

static void give(void)
{
    size_t at = random_below((unsigned)piece_count);
    int to = (int)random_below((unsigned)size);
    if (!pieces[at].is_ours)
        return;
    piece_t piece = take_out(at);
    verify(&piece, piece.bytes);
    lost += MICA_Give(piece.start, (MPI_Count)piece.bytes, to, (int)piece.mark, MPI_COMM_WORLD) !=
            MPI_SUCCESS;
    MPI_Send(NULL, 0, MPI_INT, to, TAG_ANNOUNCE, MPI_COMM_WORLD);
    given_to[to]++;
    given++;
}

static void take(int source)
{
    MPI_Status status;
    MPI_Count bytes;
    piece_t piece = {.is_ours = true};
    lost += MICA_Take(&piece.start, &bytes, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status) !=
            MPI_SUCCESS;
    piece.bytes = (size_t)bytes;
    piece.mark = (unsigned)status.MPI_TAG;
    verify(&piece, piece.bytes);
    taken_from[source]++;
    taken++;
    if (piece_count < MOST)
        keep(piece);
    else
        release(&piece);
}

static bool take_announced(void)
{
    MPI_Status status;
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ANNOUNCE, MPI_COMM_WORLD, &flag, &status);
    if (!flag)
        return false;
    MPI_Recv(NULL, 0, MPI_INT, status.MPI_SOURCE, TAG_ANNOUNCE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    take(status.MPI_SOURCE);
    return true;
}

/* With all ranks at a time: a piece each to the next, from the one before. */
static void exchange(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    piece_t out = piece_count > 0 ? pieces[random_below((unsigned)piece_count)] : (piece_t){0};
    int sent[2] = {(int)out.bytes, (int)out.mark}, coming[2];
    MPI_Sendrecv(sent, 2, MPI_INT, right, TAG_DATA, coming, 2, MPI_INT, left, TAG_DATA,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    piece_t in = {.start = malloc((size_t)coming[0] + 1),
                  .bytes = (size_t)coming[0],
                  .mark = (unsigned)coming[1]};
    MPI_Sendrecv(out.start, sent[0], MPI_BYTE, right, TAG_DATA, in.start, coming[0], MPI_BYTE, left,
                 TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in.bytes > 0)
        verify(&in, in.bytes);
    free(in.start);
}

static void move(void)
{
    unsigned what = random_below(10);
    moves++;
    take_announced();
    if (what < 4 || piece_count == 0) {
        add();
    } else if (what < 7) {
        piece_t piece = take_out(random_below((unsigned)piece_count));
        release(&piece);
    } else if (what < 8) {
        resize();
    } else {
        give();
    }
}

/* Rank 0 says when it is over; everybody's moves between two exchanges are as many. */
static void run(double seconds)
{
    double end = MPI_Wtime() + seconds;
    for (int go_on = 1; go_on;) {
        for (int i = 0; i < 200; i++)
            move();
        exchange();
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* What is still on its way is taken; then everything goes home. */
static void finish(void)
{
    int expected[MOST_RANKS];
    MPI_Alltoall(given_to, 1, MPI_INT, expected, 1, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        while (taken_from[from] < expected[from]) {
            MPI_Recv(NULL, 0, MPI_INT, from, TAG_ANNOUNCE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            take(from);
        }
    while (piece_count > 0) {
        piece_t piece = take_out(piece_count - 1);
        release(&piece);
    }
}

int main(int argc, char **argv)
{
    unsigned long long mine[5], all[5];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (!tap_check(argc == 3 && size <= MOST_RANKS, "a seed and seconds are given"))
        return tap_finish();
    state = strtoull(argv[1], NULL, 10) * 1000 + (unsigned)rank;
    run(strtod(argv[2], NULL));
    finish();
    memcpy(mine, (unsigned long long[]){damaged, lost, moves, given, taken}, sizeof mine);
    MPI_Allreduce(mine, all, 5, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    tap_check(all[0] == 0, "no byte was damaged in %llu steps", all[2]);
    tap_check(all[1] == 0, "nothing was refused");
    tap_check(all[3] == all[4] && (all[3] > 0 || size == 1), "%llu blocks were given, %llu taken",
              all[3], all[4]);
    MPI_Finalize();
    return tap_finish();
}
