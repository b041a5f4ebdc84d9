/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, accept, connect and join, errors of them, and names. The halves of the job meet; MPI knows
 * no difference to two jobs but what test/mpirun/connect.test sees.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "resident.h"
#include "tap.h"

static int rank, size;
static MPI_Comm half; /* ranks below size / 2, and the others */
static bool is_server;

static bool is_class(int code, int wanted)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == wanted;
}

/* The name of the port goes from rank 0 of the job to the leader of the other half. */
static void hand_over(char port[MPI_MAX_PORT_NAME])
{
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int meet(const char *port, MPI_Comm *inter)
{
    return is_server ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, inter)
                     : MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, inter);
}

static void talk(MPI_Comm inter)
{
    int local, remote, theirs = -1, sum = -1, own;
    MPI_Comm merged;
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    tap_check(local + remote == size, "%d and %d processes have met", local, remote);
    MPI_Comm_rank(inter, &own);
    int wrong = 0;
    for (int peer = 0; peer < remote; peer++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, peer, 1, &theirs, 1, MPI_INT, peer, 1, inter,
                     MPI_STATUS_IGNORE);
        wrong += theirs != peer + (is_server ? size / 2 : 0);
    }
    tap_check(wrong == 0, "each talks with each");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    int servers = size / 2, low = servers * (servers - 1) / 2, all = size * (size - 1) / 2;
    tap_check(sum == (is_server ? all - low : low), "the other side's sum is %d", sum);
    MPI_Intercomm_merge(inter, !is_server, &merged);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    tap_check(sum == all, "the sum of both sides is %d", sum);
    MPI_Comm_rank(merged, &own);
    tap_check(own == rank, "the low side comes first");
    MPI_Comm_disconnect(&merged);
}

static void test_meeting(void)
{
    enum { ROUNDS = 60 };
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_NULL;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    hand_over(port);
    tap_check(meet(port, &inter) == MPI_SUCCESS, "the halves meet at a port");
    talk(inter);
    tap_check(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL,
              "and part again");
    int good = 0, descriptors = 0;
    long ids = ids_taken();
    for (int round = 0; round < ROUNDS; round++) {
        good += meet(port, &inter) == MPI_SUCCESS;
        if (round % 2 == 0) {
            MPI_Comm merged;
            MPI_Intercomm_merge(inter, is_server, &merged);
            MPI_Comm_free(&merged);
        }
        MPI_Comm_disconnect(&inter);
        if (round == ROUNDS / 2)
            descriptors = count_descriptors();
    }
    tap_check(good == ROUNDS && count_descriptors() <= descriptors, "%d times", ROUNDS);
    tap_check(ids > 0 && ids_taken() == ids, "without a further id (%ld)", ids);
    if (rank == 0)
        MPI_Close_port(port);
}

static void test_join(void)
{
    int fds[2] = {-1, -1}, listener = -1;
    MPI_Comm inter = MPI_COMM_NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (rank == 0) { /* an abstract name that the system chooses */
        listener = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t));
        listen(listener, 1);
        getsockname(listener, (struct sockaddr *)&address, &length);
    }
    MPI_Bcast(&length, sizeof length, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        fds[0] = accept(listener, NULL, NULL);
        close(listener);
    } else if (rank == 1) {
        fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
        connect(fds[0], (struct sockaddr *)&address, length);
    }
    if (rank < 2) {
        int other = -1, peers = 0;
        tap_check(MPI_Comm_join(fds[0], &inter) == MPI_SUCCESS, "two processes join by a socket");
        MPI_Comm_remote_size(inter, &peers);
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        tap_check(peers == 1 && other == 1 - rank, "each has the other one");
        MPI_Comm_disconnect(&inter);
        close(fds[0]);
    }
    tap_check(is_class(MPI_Comm_join(-1, &inter), MPI_ERR_ARG) && inter == MPI_COMM_NULL,
              "what is no socket is refused");
}

/* Greets as a process that joins (opal/process/port_link.h), and says nothing more. */
static void test_silence(void)
{
    int fds[2];
    char string[MPI_MAX_ERROR_STRING] = "";
    unsigned char hello[48] = {[8] = 1 /* version */, [16] = 1 /* its nonce */};
    MPI_Comm inter = MPI_COMM_NULL;
    memcpy(hello, "MicaJoin", 8);
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    tap_check(write(fds[1], hello, sizeof hello) == sizeof hello, "a peer greets");
    int error = MPI_Comm_join(fds[0], &inter);
    MPI_Error_string(error, string, &(int){0});
    tap_check(is_class(error, MPI_ERR_OTHER) && inter == MPI_COMM_NULL,
              "mpi_connect_timeout ends the wait for its answer: %s", string);
    close(fds[0]);
    close(fds[1]);
}

/* An error of the root is one of all. */
static void test_errors(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_SELF;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.05");
    MPI_Open_port(MPI_INFO_NULL, port);
    tap_check(is_class(MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT) &&
                  inter == MPI_COMM_NULL,
              "nobody accepts");
    tap_check(is_class(MPI_Comm_accept(port, info, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT),
              "nobody connects");
    tap_check(MPI_Close_port(port) == MPI_SUCCESS, "a port is closed");
    tap_check(is_class(MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT),
              "it is not there any more");
    tap_check(is_class(MPI_Comm_accept(port, info, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT),
              "nobody accepts at it");
    tap_check(is_class(MPI_Close_port(port), MPI_ERR_PORT), "it is closed once");
    tap_check(is_class(MPI_Comm_connect("no port", info, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT),
              "a name that is none");
    MPI_Info_set(info, "timeout", "soon");
    tap_check(is_class(MPI_Comm_connect(rank == 0 ? port : NULL, rank == 0 ? info : MPI_INFO_NULL,
                                        0, MPI_COMM_WORLD, &inter),
                       MPI_ERR_INFO_VALUE),
              "a time limit that is none, which the root alone has");
    MPI_Info_free(&info);
}

/* Where the launcher has no names, the error says so. */
static void test_names(void)
{
    char port[MPI_MAX_PORT_NAME] = "", name[32], found[MPI_MAX_PORT_NAME];
    snprintf(name, sizeof name, "connect-%d-%d", (int)getpid(), rank);
    MPI_Open_port(MPI_INFO_NULL, port);
    int code = MPI_Publish_name(name, MPI_INFO_NULL, port);
    if (is_class(code, MPI_ERR_UNSUPPORTED_OPERATION)) {
        tap_check(
            is_class(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_UNSUPPORTED_OPERATION) &&
                is_class(MPI_Unpublish_name(name, MPI_INFO_NULL, port),
                         MPI_ERR_UNSUPPORTED_OPERATION),
            "this launcher has no names");
    } else {
        tap_check(code == MPI_SUCCESS, "a name is published");
        tap_check(MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS &&
                      strcmp(found, port) == 0,
                  "it leads to the port");
        tap_check(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "it is taken back");
        tap_check(is_class(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_NAME),
                  "then nobody finds it");
        tap_check(is_class(MPI_Unpublish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE),
                  "nor takes it back");
    }
    MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    is_server = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_server, 0, &half);
    tap_check(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL,
              "this job has no parents");
    if (argc > 1) {
        test_silence();
    } else {
        test_meeting();
        test_join();
        test_errors();
        test_names();
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    return tap_finish();
}
