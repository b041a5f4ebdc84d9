/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that meets another one: connect server|client FOLDER ROUNDS [die]. The name of the port is
 * in a file of the folder. With `die` the server's last rank is killed when they have met, and the
 * others get errors.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size, faults;
static int is_server, is_last;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s %d: %s\n", is_server ? "server" : "client", rank, what);
    faults++;
}

/* Over a FIFO, which both ends wait for. */
static void pass_name(const char *folder, char port[MPI_MAX_PORT_NAME])
{
    char path[512];
    snprintf(path, sizeof path, "%s/port", folder);
    FILE *file = fopen(path, is_server ? "w" : "r");
    if (is_server)
        fprintf(file, "%s\n", port);
    else
        check(fgets(port, MPI_MAX_PORT_NAME, file) != NULL, "no name");
    port[strcspn(port, "\n")] = 0;
    fclose(file);
}

static void use(MPI_Comm inter)
{
    MPI_Comm merged, part;
    int remote, all, sum = 0, ranks, shared;
    MPI_Win win;
    int *memory, value;
    MPI_Comm_remote_size(inter, &remote);
    for (int peer = 0; peer < remote; peer++) {
        int mine = 100 * is_server + rank, theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, peer, 0, &theirs, 1, MPI_INT, peer, 0, inter,
                     MPI_STATUS_IGNORE);
        check(theirs == 100 * !is_server + peer, "another message was expected");
    }
    MPI_Intercomm_merge(inter, is_server, &merged);
    MPI_Comm_rank(merged, &all);
    MPI_Comm_size(merged, &ranks);
    check(ranks == size + remote, "size of both");
    MPI_Allreduce(&all, &sum, 1, MPI_INT, MPI_SUM, merged);
    check(sum == ranks * (ranks - 1) / 2, "sum of both");
    MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &shared);
    check(shared == size, "each job shares memory");
    MPI_Comm_free(&part);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, merged, &memory, &win);
    *memory = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&all, 1, MPI_INT, (all + 1) % ranks, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    value = *memory;
    check(value == (all + ranks - 1) % ranks, "what was put");
    MPI_Win_free(&win);
    MPI_Comm_free(&merged);
}

static void die_or_see(MPI_Comm inter)
{
    int value = 0;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    if (is_server && is_last) {
        raise(SIGKILL);
    } else if (!is_server) {
        int remote;
        MPI_Comm_remote_size(inter, &remote);
        int code = MPI_Recv(&value, 1, MPI_INT, remote - 1, 0, inter, MPI_STATUS_IGNORE), class;
        MPI_Error_class(code, &class);
        check(class == MPI_ERR_PROC_ABORTED, "a receive from the dead");
        code = MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE);
        check(code != MPI_SUCCESS, "a receive from any");
        code = MPI_Bcast(&value, 1, MPI_INT, remote - 1, inter);
        check(code != MPI_SUCCESS, "a broadcast of the dead");
    }
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_server = strcmp(argv[1], "server") == 0;
    is_last = rank == size - 1;
    if (rank == 0 && is_server)
        MPI_Open_port(MPI_INFO_NULL, port);
    if (rank == 0)
        pass_name(argv[2], port);
    for (int round = 0; round < atoi(argv[3]); round++) {
        MPI_Comm inter;
        if (is_server)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        use(inter);
        if (argc > 4)
            die_or_see(inter);
        else
            MPI_Comm_disconnect(&inter);
    }
    if (!is_server && faults == 0 && rank == 0)
        printf("the jobs have met\n");
    MPI_Finalize();
    return faults > 0;
}
