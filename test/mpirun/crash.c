/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crashes in the way that its first argument says. The rank to do it is the second argument, or
 * "all"; the others wait for it. The line that crashes ends in a comment, which
 * test/mpirun/crash.py looks for.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;
static char *volatile nowhere;
static int *volatile numbers;

static void null_write(void)
{
    *nowhere = 1; /* here: null_write */
}

static void wild_read(void)
{
    numbers = (int *)(uintptr_t)0x123456789000;
    zero = *numbers; /* here: wild_read */
}

static int overflow(int depth)
{
    volatile char room[512];
    room[0] = (char)depth; /* here: overflow */
    return overflow(depth + 1) + room[0];
}

static void divide(void)
{
    zero = 7 / zero; /* here: divide */
}

static void illegal(void)
{
    __builtin_trap(); /* here: illegal */
}

static void beyond_the_file(void)
{
    char name[] = "crash-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memory[4096] = 1; /* here: bus */
}

static void no_code(void)
{
    void (*volatile function)(void) = NULL;
    function(); /* here: no_code */
}

static void user_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
    *nowhere = 1; /* here: callback */
}

static void callback(void)
{
    MPI_Op op;
    int one = 1, all;
    MPI_Op_create(user_op, 1, &op);
    MPI_Reduce_local(&one, &all, 1, MPI_INT, op); /* here: callback_call */
}

static void bad_buffer(void)
{
    static char text[100000];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *there = (char *)(uintptr_t)16;
    MPI_Request request;
    MPI_Irecv(there, 100, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(text, 100, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: inside */
}

static void bad_free(void)
{
    volatile int offset = 16;
    char *volatile memory = malloc(100);
    free(memory + offset); /* here: heap */
}

static void *run_thread(void *unused)
{
    null_write(); /* here: thread */
    return unused;
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_thread, NULL);
    pthread_join(thread, NULL);
}

static void handler(int number)
{
    (void)number;
    *nowhere = 1; /* here: handler */
}

static void in_handler(void)
{
    signal(SIGUSR1, handler);
    raise(SIGUSR1); /* here: handler_raise */
}

static void own_handler(int number)
{
    (void)number;
    static const char text[] = "the program's own handler\n";
    _exit(write(2, text, sizeof text - 1) > 0 ? 33 : 34);
}

static void own(void)
{
    signal(SIGSEGV, own_handler);
    *nowhere = 1;
}

static void *crash_too(void *barrier)
{
    pthread_barrier_wait(barrier);
    null_write();
    return NULL;
}

static void many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, crash_too, &barrier);
    pthread_join(threads[0], NULL);
}

static void wait_to_be_killed(void)
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause(); /* here: outside */
}

static void smashed(void)
{
    char *volatile blocks[64];
    for (int i = 0; i < 64; i++) {
        blocks[i] = malloc(40);
        memset(blocks[i], 0x41, 200);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]); /* here: smashed */
}

static void lasting(void)
{
    MPI_Finalize();
    null_write(); /* here: after_finalize */
}

static void assertion(void)
{
    assert(zero == 1); /* here: assertion */
}

static void give_up(void)
{
    abort(); /* here: abort */
}

static void child(void)
{
    if (fork() == 0)
        null_write();
}

static void give_up_by_mpi(void)
{
    MPI_Abort(MPI_COMM_WORLD, 42); /* here: mpi_abort */
}

static void fatal(void)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 77, 5, MPI_COMM_WORLD); /* here: fatal */
}

static const struct {
    const char *name;
    void (*crash)(void);
} kinds[] = {
    {"null", null_write}, {"wild", wild_read},       {"abort", give_up},
    {"divide", divide},   {"illegal", illegal},      {"bus", beyond_the_file},
    {"no_code", no_code}, {"callback", callback},    {"inside", bad_buffer},
    {"heap", bad_free},   {"thread", in_thread},     {"handler", in_handler},
    {"own", own},         {"threads", many_threads}, {"outside", wait_to_be_killed},
    {"smashed", smashed}, {"finalized", lasting},    {"assert", assertion},
    {"child", child},     {"fatal", fatal},          {"mpi_abort", give_up_by_mpi},
};

static void crash(const char *kind)
{
    if (strcmp(kind, "overflow") == 0)
        zero = overflow(0); /* here: overflow_call */
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i].name) == 0)
            kinds[i].crash(); /* here: main */
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2 && (strcmp(argv[2], "all") == 0 || atoi(argv[2]) == rank))
        crash(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
