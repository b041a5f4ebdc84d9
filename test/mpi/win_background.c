/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that serves a window while the program computes: whether it is there, that there is
 * one for all windows and none without, and that it costs nothing while nothing comes.
 *
 *   win_background there|absent    whether a window of all ranks needs it in this run
 *
 * Ranks look at their own threads, in /proc.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "tap.h"

/* How often the thread may run in the time of a look in which nothing comes for it. */
enum { MOST_WAKES = 20 };

static int rank, size;
static bool is_expected;

/* -- this process' threads ------------------------------------------------------------------- */

enum { NAME_BYTES = 256 };

/* How many have that name; the last one of them. */
static int count_threads(const char *name, char thread[NAME_BYTES])
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const char *found =
            entry->d_name[0] != '.' ? status_of(getpid(), entry->d_name, "Name:\t") : NULL;
        if (found == NULL || strncmp(found, name, strlen(name)) != 0)
            continue;
        snprintf(thread, NAME_BYTES, "%s", entry->d_name);
        count++;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Whether there are so many now; the last one of them. A listing of /proc ends early if a thread in
 * it ends, such as one that was joined just now. */
static bool find_threads(int wanted, char thread[NAME_BYTES])
{
    enum { MOST_LOOKS = 5000 };
    int found = count_threads("mica-progress", thread);
    for (int looks = 0; found != wanted && looks < MOST_LOOKS; looks++) {
        poll(NULL, 0, 1);
        found = count_threads("mica-progress", thread);
    }
    return found == wanted;
}

static bool has_threads(int wanted)
{
    char thread[NAME_BYTES];
    return find_threads(wanted, thread);
}

/* How often the thread has gone to sleep. */
static long sleeps(void)
{
    char thread[NAME_BYTES];
    const char *value = NULL;
    if (find_threads(is_expected, thread) && is_expected)
        value = status_of(getpid(), thread, "voluntary_ctxt_switches:");
    return value != NULL ? atol(value) : 0;
}

/* All ranks call this. */
static void check_all(bool good, const char *what)
{
    int mine = good, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    tap_check(all == 1, "%s", what);
}

/* -- what is checked --------------------------------------------------------------------------- */

static MPI_Win make_window(MPI_Comm comm, long **memory)
{
    MPI_Win win;
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, memory, &win);
    memset(*memory, 0, 64);
    return win;
}

static void check_lifetime(void)
{
    long *memory;
    check_all(has_threads(0), "no thread before there is a window");
    MPI_Win own = make_window(MPI_COMM_SELF, &memory);
    check_all(has_threads(0), "none for a window of one rank");
    MPI_Win first = make_window(MPI_COMM_WORLD, &memory);
    check_all(has_threads(is_expected), "a window of all ranks");
    MPI_Win second = make_window(MPI_COMM_WORLD, &memory);
    check_all(has_threads(is_expected), "one thread for two windows");
    MPI_Win_free(&first);
    check_all(has_threads(is_expected), "the first one has ended");
    MPI_Win_free(&second);
    check_all(has_threads(0), "none after the last one has ended");
    MPI_Win_free(&own);
}

/* A signal for the program is not delivered to the thread. */
static void check_signals(void)
{
    char thread[NAME_BYTES];
    const char *value = NULL;
    if (find_threads(is_expected, thread) && is_expected)
        value = status_of(getpid(), thread, "SigBlk:");
    unsigned long long blocked = value != NULL ? strtoull(value, NULL, 16) : 0;
    bool blocks = true;
    const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        blocks = blocks && (blocked >> (signals[i] - 1) & 1) != 0;
    check_all(blocks || !is_expected, "it takes no signals");
}

static void check_fork(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    check_all(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child of the process ends");
}

static void compute(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        continue;
}

static void await_thread_sleep(void)
{
    char thread[NAME_BYTES];
    const char *value;
    do {
        value = count_threads("mica-progress", thread) == 1
                    ? status_of(getpid(), thread, "State:\t")
                    : NULL;
    } while (value != NULL && *value != 'S');
}

/* The first part is for what is left of the last messages. */
static void check_computing(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    compute(0.1);
    await_thread_sleep();
    long before = sleeps();
    compute(0.3);
    long more = sleeps() - before;
    check_all(more <= MOST_WAKES, "it sleeps while the program computes and nothing comes");
}

/* The others wait for the last rank's message. */
static void check_waiting(void)
{
    const int last = size - 1;
    int value = 0;
    long more = 0;
    if (rank == last) {
        compute(0.4);
        for (int other = 0; other < last; other++)
            MPI_Send(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    } else {
        long before = sleeps();
        MPI_Recv(&value, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        more = sleeps() - before;
    }
    check_all(more <= MOST_WAKES, "it sleeps while the program waits");
}

TAP_READS_WINDOW static long word(const long *memory)
{
    return __atomic_load_n(memory, __ATOMIC_ACQUIRE);
}

/* All ranks but 0 add to its memory, while it is not in MPI. */
static void add_to_computing(MPI_Win win, const long *memory, long sum)
{
    const long one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        while (word(memory) != sum)
            continue;
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(0, win);
    }
}

/* Accumulates make it serve, and it sleeps again. Several tries, since rank 0 may be in the barrier
 * yet when they come, and carry them out itself. */
static void check_serving(MPI_Win win, const long *memory)
{
    enum { MOST_TRIES = 100 };
    int has_served = 0;
    for (int tries = 1; !has_served && tries <= MOST_TRIES; tries++) {
        long before = sleeps();
        add_to_computing(win, memory, (long)tries * (size - 1));
        await_thread_sleep();
        has_served = sleeps() > before;
        MPI_Bcast(&has_served, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    check_all(has_served, "it has carried out accumulates");
}

int main(int argc, char **argv)
{
    long *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    is_expected = argc > 1 && strcmp(argv[1], "there") == 0;
    check_lifetime();
    MPI_Win win = make_window(MPI_COMM_WORLD, &memory);
    check_signals();
    check_fork();
    check_computing();
    check_waiting();
    if (is_expected)
        check_serving(win, memory);
    MPI_Win_free(&win);
    make_window(MPI_COMM_WORLD, &memory);
    MPI_Finalize(); /* with a window: the thread ends all the same */
    tap_check(has_threads(0), "none after MPI");
    return tap_finish();
}
