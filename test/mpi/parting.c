/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two jobs part: by MPI_Comm_disconnect of both sides, or by MPI_Finalize of one of them, in
 * any order and without a word; with requests that were freed while they were active; and with a
 * group that is used after it, also when the same processes meet again.
 *
 * Children are this program with an argument: how they part.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

enum { CHILDREN = 2, ROUNDS = 2, BIG = 1 << 22, TAG = 3 };

static int rank, size;
static char *self;

/* -- what is said ------------------------------------------------------------------------------ */

static int true_stderr;

static void listen_to_stderr(void)
{
    int heard = memfd_create("stderr", MFD_CLOEXEC);
    true_stderr = dup(STDERR_FILENO);
    dup2(heard, STDERR_FILENO);
    close(heard);
}

/* Whether the library has printed nothing. What it has printed goes to the real stderr. */
static bool was_silent(void)
{
    char text[1024];
    int heard = dup(STDERR_FILENO);
    dup2(true_stderr, STDERR_FILENO);
    close(true_stderr);
    ssize_t length = pread(heard, text, sizeof text, 0);
    close(heard);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        return false;
    return length == 0;
}

/* -- ways to part ------------------------------------------------------------------------------ */

static MPI_Comm spawn(char *way)
{
    char *argv[] = {way, NULL};
    MPI_Comm inter;
    MPI_Comm_spawn(self, argv, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    return inter;
}

static void fill(unsigned char *bytes, int seed)
{
    for (int i = 0; i < BIG; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

static unsigned char *filled(int seed)
{
    unsigned char *bytes = malloc(BIG);
    fill(bytes, seed);
    return bytes;
}

/* Each sends to each of the other side, and the requests are freed at once. After the communicator
 * the buffers are the caller's again. */
static bool part_with_freed(MPI_Comm *inter)
{
    int peers, wrong = 0;
    MPI_Request request;
    MPI_Comm_remote_size(*inter, &peers);
    unsigned char *sent = filled(rank), *want = malloc(BIG), *got = calloc((size_t)peers, BIG);
    for (int peer = 0; peer < peers; peer++) {
        MPI_Irecv(got + (size_t)peer * BIG, BIG, MPI_BYTE, peer, TAG, *inter, &request);
        MPI_Request_free(&request);
        MPI_Isend(sent, BIG, MPI_BYTE, peer, TAG, *inter, &request);
        MPI_Request_free(&request);
    }
    MPI_Comm_disconnect(inter);
    memset(sent, 0, BIG);
    for (int peer = 0; peer < peers; peer++) {
        fill(want, peer);
        wrong += memcmp(got + (size_t)peer * BIG, want, BIG) != 0;
    }
    free(sent);
    free(want);
    free(got);
    return wrong == 0;
}

static bool names(MPI_Group group, MPI_Comm inter, int wanted)
{
    MPI_Group remote;
    int result = -1;
    MPI_Comm_remote_group(inter, &remote);
    MPI_Group_compare(group, remote, &result);
    MPI_Group_free(&remote);
    return result == wanted;
}

/* The sides part, and meet again at the parents' port: the group that was kept names the same. */
static bool meet_again(MPI_Comm *inter, bool is_parent)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Group kept, own, both;
    int count = 0, peers;
    bool is_root = is_parent && rank == 0;
    if (is_root)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR,
              !is_parent ? 0
              : is_root  ? MPI_ROOT
                         : MPI_PROC_NULL,
              *inter);
    MPI_Comm_remote_size(*inter, &peers);
    MPI_Comm_remote_group(*inter, &kept);
    MPI_Comm_disconnect(inter);
    MPI_Comm_group(MPI_COMM_WORLD, &own);
    MPI_Group_union(own, kept, &both);
    MPI_Group_size(both, &count);
    if (is_parent)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
    bool is_good = count == size + peers && names(kept, *inter, MPI_IDENT);
    MPI_Group_free(&own);
    MPI_Group_free(&kept);
    int sum = 0;
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, *inter);
    is_good &= sum == peers;
    MPI_Comm_disconnect(inter);
    MPI_Group_free(&both);
    if (is_root)
        MPI_Close_port(port);
    return is_good;
}

/* -- children and parents ---------------------------------------------------------------------- */

static int be_child(MPI_Comm parent, const char *way)
{
    bool is_good = true;
    listen_to_stderr();
    if (strcmp(way, "disconnect") == 0)
        MPI_Comm_disconnect(&parent);
    else if (strcmp(way, "freed") == 0)
        is_good = part_with_freed(&parent);
    else if (strcmp(way, "again") == 0)
        is_good = meet_again(&parent, false);
    MPI_Finalize();
    return was_silent() && is_good ? 0 : 1; /* the job's status */
}

static void test_ways(void)
{
    bool is_silent = true;
    MPI_Group kept[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm inter = spawn("finalize"), merged;
        MPI_Comm_remote_group(inter, &kept[round]);
        listen_to_stderr();
        MPI_Comm_disconnect(&inter);
        inter = spawn("finalize");
        MPI_Comm_free(&inter);
        inter = spawn("disconnect");
        MPI_Comm_dup(MPI_COMM_SELF, &merged); /* between two steps of the children */
        MPI_Comm_free(&merged);
        MPI_Comm_disconnect(&inter);
        is_silent &= was_silent();
    }
    tap_check(is_silent, "jobs part without a word");
    int count = 0, result = -1;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Group_size(kept[round], &count);
        MPI_Group_compare(kept[0], kept[round], &result);
        tap_check(count == CHILDREN && result == (round == 0 ? MPI_IDENT : MPI_UNEQUAL),
                  "the group of processes that have ended, %d", round);
    }
    for (int round = 0; round < ROUNDS; round++)
        MPI_Group_free(&kept[round]);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return be_child(parent, argv[1]);
    tap_rank(rank);
    test_ways();
    inter = spawn("freed");
    tap_check(part_with_freed(&inter), "what was freed ends before the communicator does");
    inter = spawn("again");
    tap_check(meet_again(&inter, true), "a group outlives its communicator");
    inter = spawn("disconnect"); /* while its parents finalize */
    listen_to_stderr();
    MPI_Finalize();
    tap_check(was_silent(), "the last ones part without a word");
    return tap_finish();
}
