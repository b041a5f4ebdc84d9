/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of windows' memory: MPI_Win_allocate has the same one in all ranks, aligned as the
 * program wants it; messages from there take the ways that other shared memory takes.
 *
 *   win_address             "apart": under a path where peers have no memory in common
 */
#include <mpi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tap.h"

enum { WINDOWS = 3, THREADS = 3, ROUNDS = 20, MIB = 1 << 20 };

static int rank, size;

/* ThreadSanitizer allows a few addresses only. */
static bool may_choose(void)
{
#if defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

/* Where malloc is a sanitizer's, ranks have no memory in common. */
static bool has_common_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

/* Whether all ranks that have memory have it at the same address. */
static bool is_common(MPI_Comm comm, const void *base)
{
    unsigned long own = (uintptr_t)base, least = base != NULL ? own : ~0UL, most = own;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, comm);
    return !may_choose() || least == most || most == 0;
}

/* Each rank puts its number into the last byte of the next one that has memory. */
static bool works(MPI_Win win, MPI_Comm comm, char *memory, MPI_Aint bytes)
{
    int own, count;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    int right = (own + 1) % count, left = (own + count - 1) % count;
    MPI_Aint there = bytes;
    char value = (char)(own + 1);
    MPI_Sendrecv(&bytes, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, comm,
                 MPI_STATUS_IGNORE);
    if (bytes > 0)
        memory[0] = memory[bytes - 1] = 0;
    MPI_Win_fence(0, win);
    if (there > 0)
        MPI_Put(&value, 1, MPI_CHAR, right, there - 1, 1, MPI_CHAR, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return bytes == 0 || memory[bytes - 1] == left + 1;
}

/* The same bytes in all ranks, or fewer in the later ones. */
static void check_sizes(void)
{
    static const MPI_Aint sizes[] = {1, 4096, 100000, 5 * MIB + 1};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int is_same = 0; is_same < 2; is_same++) {
            char *memory = NULL;
            MPI_Win win;
            MPI_Aint bytes = is_same ? sizes[i] : sizes[i] * (size - 1 - rank) / size;
            MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
            void *told = NULL;
            int flag = 0;
            MPI_Win_get_attr(win, MPI_WIN_BASE, &told, &flag);
            tap_check(is_common(MPI_COMM_WORLD, bytes > 0 ? memory : NULL) && told == memory,
                      "%ld bytes, %s, have one address", (long)sizes[i],
                      is_same ? "the same in all ranks" : "fewer in later ranks");
            tap_check(works(win, MPI_COMM_WORLD, memory, bytes), "accesses go there");
            MPI_Win_free(&win);
        }
    }
}

/* Ranks that have allocated different numbers of windows make one together. */
static void check_groups(void)
{
    MPI_Comm half;
    char *memory, *of_half[WINDOWS];
    MPI_Win win, wins[WINDOWS];
    bool good = true;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < WINDOWS - rank % 2; i++) {
        MPI_Win_allocate(1000 * (i + 1), 1, MPI_INFO_NULL, half, &of_half[i], &wins[i]);
        good &= is_common(half, of_half[i]);
    }
    tap_check(good, "windows of some of the ranks");
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    tap_check(is_common(MPI_COMM_WORLD, memory) && works(win, MPI_COMM_WORLD, memory, 100),
              "and one of all of them");
    MPI_Win_free(&wins[0]);
    MPI_Win_allocate(1000, 1, MPI_INFO_NULL, half, &of_half[0], &wins[0]);
    tap_check(is_common(half, of_half[0]) && works(wins[0], half, of_half[0], 1000),
              "a window after another one has ended");
    for (int i = 0; i < WINDOWS - rank % 2; i++)
        MPI_Win_free(&wins[i]);
    MPI_Win_free(&win);
    MPI_Comm_free(&half);
}

static void check_alignment(MPI_Aint alignment, MPI_Aint bytes)
{
    char text[32], *memory;
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%ld", (long)alignment);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
    MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &memory, &win);
    MPI_Info_free(&info);
    tap_check((uintptr_t)memory % (uintptr_t)alignment == 0, "%ld bytes are aligned to %s",
              (long)bytes, text);
    tap_check(is_common(MPI_COMM_WORLD, memory) && works(win, MPI_COMM_WORLD, memory, bytes),
              "and have one address");
    MPI_Win_free(&win);
}

/* -- threads ----------------------------------------------------------------------------------- */

static MPI_Comm comms[THREADS];

static void *make_windows(void *which)
{
    MPI_Comm comm = *(MPI_Comm *)which;
    for (int i = 0; i < ROUNDS; i++) {
        char *memory;
        MPI_Win win;
        MPI_Win_allocate(5000, 1, MPI_INFO_NULL, comm, &memory, &win);
        memset(memory, rank, 5000);
        bool good = works(win, comm, memory, 5000);
        MPI_Win_free(&win);
        if (!good)
            return which;
    }
    return NULL;
}

/* Windows that are made at the same time do not get each other's memory. */
static void check_threads(void)
{
    pthread_t threads[THREADS];
    bool good = true;
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_windows, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        good &= failed == NULL;
        MPI_Comm_free(&comms[i]);
    }
    tap_check(good, "threads that make windows at the same time");
}

/* -- messages ---------------------------------------------------------------------------------- */

static bool exchange(char *out, char *in, int bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    bool good = true;
    memset(out, rank + 1, (size_t)bytes);
    memset(in, 0, (size_t)bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++)
        good &= in[i] == left + 1;
    MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i++)
        good &= in[i] == size;
    MPI_Bcast(out, bytes, MPI_CHAR, size - 1, MPI_COMM_WORLD);
    return good && out[0] == size && out[bytes - 1] == size;
}

/* From now on a copy from or to another process ends this one. False: the system has no seccomp. */
static bool forbid_copies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Peers have the memory mapped, so no system call copies it. */
static void check_messages(bool is_mapped)
{
    enum { BYTES = 3 * MIB };
    char *out, *in;
    MPI_Win wins[2];
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &out, &wins[0]);
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &in, &wins[1]);
    tap_check(exchange(out, in, BYTES), "messages from and to windows");
    /* Windows find out what they may do with their first fence. */
    MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[0]);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[1]);
    if (is_mapped && forbid_copies())
        tap_check(exchange(out, in, BYTES), "and no system call copies them");
    MPI_Win_free(&wins[0]);
    MPI_Win_free(&wins[1]);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    check_sizes();
    check_groups();
    check_alignment(64, 100);
    check_alignment(2 * MIB, 100);
    check_alignment(2 * MIB, 5 * MIB);
    check_alignment((MPI_Aint)512 * MIB, 5000);
    check_threads();
    check_messages(argc == 1 && has_common_memory());
    MPI_Finalize();
    return tap_finish();
}
