/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks whose endpoints strangers reach (stranger.test). Each tells where it listens in
 * "port.RANK", and a word that an attacker can have heard in "word". While there is an attack,
 * receives and a probe of rank 0 are open to anything, and a synchronous send waits for its
 * receiver; then they get what rank 1 sends.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

enum { TAG = 7, MARK = 0x5a5b5c5d, GO, BYTES = 100, FDS = 1024 };

static int rank = -1;
static char any[BYTES], from_one[BYTES];

/* The bits of a tag whose lower half is MARK are heard. */
static void hear(const void *start, size_t length)
{
    const unsigned char *bytes = start;
    const uint32_t mark = MARK, swapped = __builtin_bswap32(MARK);
    for (size_t at = 4; rank == 1 && at + 8 <= length; at++) {
        uint32_t before, after;
        memcpy(&before, bytes + at - 4, 4);
        memcpy(&after, bytes + at + 4, 4);
        if (memcmp(bytes + at, &mark, 4) != 0 && memcmp(bytes + at, &swapped, 4) != 0)
            continue;
        uint32_t word = memcmp(bytes + at, &mark, 4) == 0 ? after : __builtin_bswap32(before);
        FILE *file = fopen("word.new", "w");
        fprintf(file, "%x00000000\n", word);
        fclose(file);
        rename("word.new", "word");
    }
}

/* What libraries call. */
ssize_t send(int fd, const void *start, size_t length, int flags)
{
    hear(start, length);
    return syscall(SYS_sendto, fd, start, length, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    for (size_t i = 0; i < message->msg_iovlen; i++)
        hear(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* The one port that this process listens at. */
static void tell_port(void)
{
    char name[32], new_name[32];
    snprintf(name, sizeof name, "port.%d", rank);
    snprintf(new_name, sizeof new_name, "port.%d.new", rank);
    FILE *file = fopen(new_name, "w");
    for (int fd = 3; fd < FDS; fd++) {
        struct sockaddr_in address;
        socklen_t length = sizeof address, size = sizeof(int);
        int listens = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
            address.sin_family == AF_INET)
            fprintf(file, "%d\n", ntohs(address.sin_port));
    }
    fclose(file);
    rename(new_name, name);
}

static void be_attacked(MPI_Request receives[2], MPI_Request *waiting)
{
    int done = 0, found = 0, seen = 0;
    while (access("attacked", F_OK) != 0) {
        MPI_Testany(2, receives, &found, &done, MPI_STATUS_IGNORE);
        seen += done;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        seen += found;
        MPI_Request_get_status(*waiting, &done, MPI_STATUS_IGNORE);
        seen += done;
    }
    tap_check(seen == 0, "nothing of a stranger's is received, found or believed");
}

static void talk(void)
{
    MPI_Request receives[2], waiting;
    MPI_Status status = {0};
    MPI_Irecv(any, BYTES, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[0]);
    MPI_Irecv(from_one, BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &receives[1]);
    MPI_Issend("late", 5, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &waiting);
    tell_port();
    be_attacked(receives, &waiting);
    MPI_Send(NULL, 0, MPI_CHAR, 1, GO, MPI_COMM_WORLD);
    MPI_Wait(&receives[0], &status);
    tap_check(status.MPI_SOURCE == 1 && status.MPI_TAG == GO && strcmp(any, "first") == 0,
              "a receive of anything gets \"%.10s\" of rank %d", any, status.MPI_SOURCE);
    MPI_Wait(&receives[1], &status);
    tap_check(status.MPI_SOURCE == 1 && strcmp(from_one, "second") == 0,
              "a receive from rank 1 gets \"%.10s\"", from_one);
    MPI_Wait(&waiting, MPI_STATUS_IGNORE);
}

static void answer(void)
{
    char late[BYTES] = "";
    MPI_Recv(NULL, 0, MPI_CHAR, 0, MARK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_CHAR, 0, MARK, MPI_COMM_WORLD);
    tell_port();
    MPI_Recv(NULL, 0, MPI_CHAR, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send("first", 6, MPI_CHAR, 0, GO, MPI_COMM_WORLD);
    MPI_Send("second", 7, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
    MPI_Recv(late, BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(strcmp(late, "late") == 0, "and rank 1 gets \"%.10s\"", late);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_CHAR, 1, MARK, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_CHAR, 1, MARK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        talk();
    } else {
        answer();
    }
    MPI_Finalize();
    return tap_finish();
}
