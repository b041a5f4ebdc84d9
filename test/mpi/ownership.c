/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that change their owner (mica.h): what is in them, in which order they come, wildcards,
 * MPI_PROC_NULL, errors, many at a time, and that none is lost.
 *
 *   ownership [moved|copied]     what must become of a block that goes to another rank of the
 *                                node: the same memory, or another; without the word both are right
 */
#include <dlfcn.h>
#include <mica.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/node/region.h"
#include "place.h"
#include "tap.h"

enum { KIB = 1024, MIB = 1024 * KIB, TAG = 7, MANY = 300 };

static int rank, size, left, right;
static const char *manner = "";
static const opal_region_t *region;

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static unsigned char pattern(int sender, int number, size_t i)
{
    return (unsigned char)(sender * 31 + number * 17 + (int)(i * 7 + (i >> 8) + 1));
}

static unsigned char *make(int number, size_t bytes)
{
    unsigned char *block = NULL;
    MICA_Alloc((MPI_Aint)bytes, &block);
    for (size_t i = 0; i < bytes; i++)
        block[i] = pattern(rank, number, i);
    return block;
}

static bool is_made(const unsigned char *block, int sender, int number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != pattern(sender, number, i))
            return false;
    return true;
}

/* -- one block ---------------------------------------------------------------------------- */

/* To the right, from the left. What a rank has done to a page is seen where it has the same one. */
static void check_pass(size_t bytes)
{
    unsigned char *block = make(1, bytes), *taken = NULL, *theirs = NULL;
    MPI_Count count = -1;
    MPI_Status status;
    int elements = -1;
    MPI_Sendrecv(&block, sizeof block, MPI_BYTE, right, TAG, &theirs, sizeof theirs, MPI_BYTE, left,
                 TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool given = MICA_Give(block, (MPI_Count)bytes, right, TAG, MPI_COMM_WORLD) == MPI_SUCCESS;
    bool took = MICA_Take(&taken, &count, left, TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS;
    tap_check(given && took && count == (MPI_Count)bytes, "%zu bytes are given and taken", bytes);
    tap_check(is_made(taken, left, 1, bytes), "they are what they were");
    tap_check((uintptr_t)taken % 64 == 0, "the block is aligned to 64 bytes");
    MPI_Get_count(&status, MPI_BYTE, &elements);
    tap_check(status.MPI_SOURCE == left && status.MPI_TAG == TAG && elements == (int)bytes,
              "the status tells source, tag and length");
    if (strcmp(manner, "moved") == 0 || size == 1)
        tap_check(taken == theirs, "it is the same block");
    if (strcmp(manner, "copied") == 0 && size > 1)
        tap_check(taken != theirs, "it is another block");
    tap_check(MICA_Free(taken) == MPI_SUCCESS, "the taker frees it");
}

static void check_lengths(void)
{
    check_pass(1);
    check_pass(5000);
    check_pass(MIB);
    check_pass(9 * MIB);
}

/* Around the ring; each rank adds something. */
static void check_journey(void)
{
    enum { COUNT = 100000 };
    int *block = NULL, taken_well = 1;
    MPI_Count bytes = 0;
    MICA_Alloc(COUNT * sizeof(int), &block);
    for (int i = 0; i < COUNT; i++)
        block[i] = i;
    for (int hop = 0; hop < size; hop++) {
        MICA_Give(block, COUNT * sizeof(int), right, TAG, MPI_COMM_WORLD);
        MICA_Take(&block, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        taken_well &= bytes == COUNT * sizeof(int);
        for (int i = 0; i < COUNT; i++)
            block[i] += rank + 1;
    }
    for (int i = 0; i < COUNT && taken_well; i++)
        taken_well = block[i] == i + size * (size + 1) / 2;
    tap_check(taken_well, "a block goes around, and everybody has written to it");
    MICA_Free(block);
}

/* Less than all of it; nothing of it. */
static void check_parts(void)
{
    unsigned char *block = make(2, MIB), *taken = NULL;
    MPI_Count bytes = -1;
    MICA_Give(block, 1000, right, TAG, MPI_COMM_WORLD);
    MICA_Take(&taken, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(bytes == 1000 && is_made(taken, left, 2, 1000), "a part of a block is of interest");
    int error = MICA_Give(taken, 0, right, TAG, MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS, "a taken block is given on, with less in it");
    bytes = -1;
    MICA_Take(&taken, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(bytes == 0 && taken != NULL, "a block of no interest is a block all the same");
    MICA_Free(taken);
    void *empty = NULL;
    tap_check(MICA_Alloc(0, &empty) == MPI_SUCCESS && empty != NULL, "0 bytes are a block");
    MICA_Free(empty);
}

/* -- matching ----------------------------------------------------------------------------- */

static void check_order(void)
{
    enum { COUNT = 8 };
    bool in_order = true, by_tag = true;
    MPI_Status status;
    MPI_Count bytes;
    unsigned char *taken;
    for (int i = 0; i < 2 * COUNT; i++)
        MICA_Give(make(i, 5000 + (size_t)i), 5000 + i, right, 100 + i % COUNT, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        MICA_Take(&taken, &bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        in_order &= bytes == 5000 + i && status.MPI_TAG == 100 + i && status.MPI_SOURCE == left &&
                    is_made(taken, left, i, (size_t)bytes);
        MICA_Free(taken);
    }
    tap_check(in_order, "blocks come in the order in which they were given");
    for (int i = COUNT - 1; i >= 0; i--) {
        MICA_Take(&taken, &bytes, i % 2 ? left : MPI_ANY_SOURCE, 100 + i, MPI_COMM_WORLD, &status);
        by_tag &= bytes == 5000 + COUNT + i && is_made(taken, left, COUNT + i, (size_t)bytes);
        MICA_Free(taken);
    }
    tap_check(by_tag, "or by their tags");
}

/* Messages and blocks with the same tag do not meet. */
static void check_apart(void)
{
    int flag = -1, sent = rank, received = -1;
    unsigned char *taken = NULL;
    MPI_Count bytes = 0;
    MICA_Give(make(3, 100), 100, rank, TAG, MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    tap_check(flag == 0, "no probe sees a block");
    MPI_Request request;
    MPI_Isend(&sent, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, &request);
    MICA_Take(&taken, &bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(bytes == 100 && is_made(taken, rank, 3, 100) && received == rank,
              "a take takes the block, a receive the message");
    MICA_Free(taken);
}

/* Several communicators; two sides. */
static void check_communicators(void)
{
    MPI_Comm other, half, sides;
    unsigned char *first = NULL, *second = NULL;
    MPI_Count bytes[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MICA_Give(make(1, 10), 10, right, TAG, MPI_COMM_WORLD);
    MICA_Give(make(2, 20), 20, right, TAG, other);
    MICA_Take(&second, &bytes[1], left, TAG, other, MPI_STATUS_IGNORE);
    MICA_Take(&first, &bytes[0], left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(bytes[0] == 10 && bytes[1] == 20 && is_made(first, left, 1, 10) &&
                  is_made(second, left, 2, 20),
              "communicators are kept apart");
    MICA_Free(first);
    MICA_Free(second);
    MICA_Give(make(3, 30), 30, 0, TAG, MPI_COMM_SELF);
    MICA_Take(&first, &bytes[0], 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    tap_check(is_made(first, rank, 3, 30), "MPI_COMM_SELF passes them, too");
    MICA_Free(first);
    if (size % 2 == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, other, 1 - rank % 2, 5, &sides);
        int twin = rank % 2 == 0 ? rank + 1 : rank - 1;
        MICA_Give(make(4, 70000), 70000, rank / 2, TAG, sides);
        MICA_Take(&first, &bytes[0], rank / 2, TAG, sides, MPI_STATUS_IGNORE);
        tap_check(bytes[0] == 70000 && is_made(first, twin, 4, 70000), "and so do two sides");
        MICA_Free(first);
        MPI_Comm_free(&sides);
        MPI_Comm_free(&half);
    }
    MPI_Comm_free(&other);
}

static void check_no_process(void)
{
    MPI_Status status = {.MPI_SOURCE = 5};
    MPI_Count bytes = -1;
    int elements = -1;
    void *taken = &status;
    char *block = (char *)make(1, 100);
    tap_check(MICA_Give(block, 100, MPI_PROC_NULL, TAG, MPI_COMM_WORLD) == MPI_SUCCESS,
              "a block is given to MPI_PROC_NULL");
    tap_check(class_of(MICA_Free(block)) == MPI_ERR_BUFFER, "which frees it");
    int error = MICA_Take(&taken, &bytes, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &elements);
    tap_check(error == MPI_SUCCESS && taken == NULL && bytes == 0, "nothing comes from there");
    tap_check(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && elements == 0,
              "and the status says so");
}

/* -- errors ------------------------------------------------------------------------------- */

static int handled;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled = class_of(*error);
}

static void refuse(int error, int class, const char *what)
{
    tap_check(class_of(error) == class && handled == class, "%s is refused", what);
    handled = MPI_SUCCESS;
}

static void check_bad_blocks(MPI_Comm comm)
{
    char *block = (char *)make(1, 5000), *of_malloc = malloc(5000), *gone = (char *)make(2, 64);
    refuse(MICA_Give(block + 64, 64, 0, TAG, comm), MPI_ERR_BUFFER, "the middle of a block");
    refuse(MICA_Give(of_malloc, 64, 0, TAG, comm), MPI_ERR_BUFFER, "malloc's block");
    refuse(MICA_Give(&block, 8, 0, TAG, comm), MPI_ERR_BUFFER, "a variable");
    refuse(MICA_Give(NULL, 0, 0, TAG, comm), MPI_ERR_BUFFER, "NULL");
    refuse(MICA_Give(block, 5001, 0, TAG, comm), MPI_ERR_COUNT, "more than there is");
    refuse(MICA_Give(block, -1, 0, TAG, comm), MPI_ERR_COUNT, "less than nothing");
    MICA_Free(gone);
    refuse(MICA_Give(gone, 1, 0, TAG, comm), MPI_ERR_BUFFER, "what was freed");
    refuse(MICA_Free(gone), MPI_ERR_BUFFER, "a second free");
    refuse(MICA_Free(block + 8), MPI_ERR_BUFFER, "to free the middle of a block");
    refuse(MICA_Free(of_malloc), MPI_ERR_BUFFER, "to free malloc's block");
    tap_check(MICA_Free(NULL) == MPI_SUCCESS && MICA_Free(block) == MPI_SUCCESS, "NULL is freed");
    free(of_malloc);
    /* While it is under way nobody has it. */
    MPI_Count bytes;
    block = (char *)make(3, 200);
    MICA_Give(block, 200, 0, TAG, MPI_COMM_SELF);
    refuse(MICA_Give(block, 200, 0, TAG, comm), MPI_ERR_BUFFER, "what was given");
    refuse(MICA_Free(block), MPI_ERR_BUFFER, "to free what was given");
    MICA_Take(&block, &bytes, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    tap_check(MICA_Free(block) == MPI_SUCCESS, "who got it back frees it");
}

static void check_errors(void)
{
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    MPI_Count bytes;
    void *taken = NULL;
    MPI_Comm_create_errhandler(handle, &errhandler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    handled = MPI_SUCCESS;
    check_bad_blocks(comm);
    void *block = make(1, 64);
    refuse(MICA_Give(block, 64, size, TAG, comm), MPI_ERR_RANK, "a rank that there is not");
    refuse(MICA_Give(block, 64, MPI_ANY_SOURCE, TAG, comm), MPI_ERR_RANK, "to give to any rank");
    refuse(MICA_Give(block, 64, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG, "to give with any tag");
    refuse(MICA_Take(&taken, &bytes, size, TAG, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK,
           "to take from a rank that there is not");
    refuse(MICA_Take(&taken, &bytes, 0, -5, comm, MPI_STATUS_IGNORE), MPI_ERR_TAG, "a bad tag");
    refuse(MICA_Take(NULL, &bytes, 0, TAG, comm, MPI_STATUS_IGNORE), MPI_ERR_ARG, "no pointer");
    refuse(MICA_Take(&taken, NULL, 0, TAG, comm, MPI_STATUS_IGNORE), MPI_ERR_ARG, "no length");
    refuse(MICA_Give(block, 64, 0, TAG, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_COMM_NULL");
    refuse(MICA_Alloc(-1, &taken), MPI_ERR_SIZE, "to allocate less than nothing");
    refuse(MICA_Alloc(64, NULL), MPI_ERR_ARG, "no pointer for a block");
    refuse(MICA_Alloc(INTPTR_MAX - 64, &taken), MPI_ERR_NO_MEM, "more memory than there is");
    tap_check(taken == NULL && PMICA_Free(block) == MPI_SUCCESS, "nothing has happened");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&errhandler);
}

/* -- many --------------------------------------------------------------------------------- */

static size_t length_of(int sender, int receiver, int i)
{
    unsigned number = (unsigned)(sender * 7919 + receiver * 104729 + i * 31) * 2654435761u;
    return number >> 8 & 1 ? number % 3000 : number % 100000;
}

/* All to all, before anybody takes; then in any order. */
static void check_many(void)
{
    int taken_from[64] = {0};
    bool good = true;
    for (int i = 0; i < MANY; i++) {
        int to = (rank + i) % size;
        size_t bytes = length_of(rank, to, i / size);
        good &= MICA_Give(make(i / size, bytes), (MPI_Count)bytes, to, i / size, MPI_COMM_WORLD) ==
                MPI_SUCCESS;
    }
    for (int from = 0; from < size; from++)
        for (int i = (rank - from + size) % size; i < MANY; i += size) {
            MPI_Status status;
            MPI_Count bytes = -1;
            unsigned char *block = NULL;
            MICA_Take(&block, &bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            int number = taken_from[status.MPI_SOURCE]++;
            good &= status.MPI_TAG == number &&
                    bytes == (MPI_Count)length_of(status.MPI_SOURCE, rank, number) &&
                    is_made(block, status.MPI_SOURCE, number, (size_t)bytes);
            MICA_Free(block);
        }
    tap_check(good, "%d blocks of each rank are under way at a time", MANY);
}

/* A block is memory like any other: messages go from one taken block to another. */
static void check_messages(void)
{
    enum { BYTES = 300000 };
    unsigned char *out = make(1, BYTES), *in = make(2, BYTES);
    MPI_Count bytes;
    MICA_Give(out, BYTES, right, TAG, MPI_COMM_WORLD);
    MICA_Take(&out, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, BYTES, MPI_BYTE, left, TAG, in, BYTES, MPI_BYTE, right, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    tap_check(is_made(in, rank, 1, BYTES), "messages are sent from taken blocks");
    MICA_Free(out);
    MICA_Free(in);
}

/* A child sees what it was at the fork, of a small block and of one of which little was touched. */
static void check_children(void)
{
    enum { SMALL = 9000, LARGE = 5 << 20 };
    unsigned char *small = make(3, SMALL), *large, byte = 0;
    MPI_Count bytes;
    int wake[2], status = 0;
    MICA_Alloc(LARGE, &large);
    large[LARGE / 2] = 7;
    MICA_Give(small, SMALL, right, TAG, MPI_COMM_WORLD);
    MICA_Give(large, LARGE, right, TAG, MPI_COMM_WORLD);
    MICA_Take(&small, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MICA_Take(&large, &bytes, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int good = pipe(wake) == 0;
    pid_t child = fork();
    if (child == 0) {
        good &= read(wake[0], &byte, 1) == 1; /* the parent has written by now */
        good &= is_made(small, left, 3, SMALL) && large[LARGE / 2] == 7;
        memset(small, 2, SMALL);
        _exit(good ? 4 : 5);
    }
    memset(small, 1, SMALL);
    memset(large, 1, LARGE);
    good &= write(wake[1], &byte, 1) == 1 && waitpid(child, &status, 0) == child;
    tap_check(good && WIFEXITED(status) && WEXITSTATUS(status) == 4 && small[SMALL / 2] == 1,
              "a child of fork has copies of taken blocks");
    close(wake[0]);
    close(wake[1]);
    MICA_Free(small);
    MICA_Free(large);
}

/* -- nothing is lost ---------------------------------------------------------------------- */

typedef int trim_fn_t(opal_heap_t *, size_t);
typedef void stats_fn_t(opal_heap_t *, opal_heap_stats_t *);

/* Of all ranks, with everything home. */
static long long used_bytes(void)
{
    void *trim = dlsym(RTLD_DEFAULT, "opal_heap_trim"),
         *look = dlsym(RTLD_DEFAULT, "opal_heap_stats");
    trim_fn_t *call_trim;
    stats_fn_t *call_stats;
    opal_heap_stats_t stats;
    long long used, all = 0;
    *(void **)&call_trim = trim;
    *(void **)&call_stats = look;
    /* What others have freed is on its way until they have trimmed, too. */
    MPI_Barrier(MPI_COMM_WORLD);
    call_trim(region->heap, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    call_trim(region->heap, 0);
    call_stats(region->heap, &stats);
    used = (long long)stats.used_bytes;
    MPI_Allreduce(&used, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Blocks that are freed where they were not allocated. */
static void check_leaks(void)
{
    enum { ROUNDS = 200 };
    int has_heap = region->bytes > 0, all_have = 0;
    MPI_Allreduce(&has_heap, &all_have, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!all_have) {
        tap_skip("nothing is lost", "not every rank has a common heap");
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        long long before = used_bytes();
        for (int i = 0; i < ROUNDS; i++) {
            size_t bytes = (size_t)1000 << i % 12;
            unsigned char *taken;
            MPI_Count count;
            MICA_Give(make(i, bytes), (MPI_Count)bytes, right, TAG, MPI_COMM_WORLD);
            MICA_Take(&taken, &count, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MICA_Free(taken);
        }
        long long lost = used_bytes() - before;
        if (pass > 0) /* the first one makes what messages need */
            tap_check(lost < 1000 * ROUNDS / 2, "%d blocks of a rank leave %lld bytes behind",
                      ROUNDS, lost);
    }
}

static void (*const checks[])(void) = {
    check_lengths,  check_journey,       check_parts,      check_order,
    check_apart,    check_communicators, check_no_process, check_many,
    check_messages, check_children,      check_leaks,      check_errors,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    void *found = dlsym(RTLD_DEFAULT, "opal_region");
    tap_check(found != NULL, "the region can be looked at");
    region = found;
    if (place_is_near(left) && argc > 1 && region->bytes > 0)
        manner = argv[1];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD); /* who has not been heard of yet gets a copy */
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        checks[i]();
        MPI_Barrier(MPI_COMM_WORLD); /* wildcards take what comes */
    }
    /* Those that nobody has taken when MPI ends are no harm. */
    if (size > 1)
        MICA_Give(make(1, 2 * KIB), 2 * KIB, right, TAG, MPI_COMM_WORLD);
    MPI_Finalize();
    return tap_finish();
}
