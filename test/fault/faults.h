/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layer between a process and the system: calls of the library about files whose path contains
 * FAULTS_PATH fail as they may. It is preloaded, or linked in front of the library. The environment
 * says how calls fail that only have to be made again:
 *
 *   FAULTS_PATH=TEXT      which files; preset: "mica-file"
 *   FAULTS_INTERRUPTS=N   of N calls one, by chance, is interrupted (EINTR)
 *   FAULTS_AGAIN=N        of N transfers one, by chance, is to be made again (EAGAIN)
 *   FAULTS_SHORT=1        a transfer moves a part of its bytes, by chance
 *   FAULTS_URING=ERROR    io_uring is refused, by this errno value
 *   FAULTS_LOCKS=ERROR    every lock is refused, by this errno value
 *   FAULTS_KILL=RANK:N    that rank of the job gets SIGKILL instead of its n-th transfer
 *
 * and a program says which calls fail for good.
 */
#ifndef TEST_FAULT_FAULTS_H
#define TEST_FAULT_FAULTS_H

/* Kinds of calls. */
enum {
    FAULTS_TRANSFER = 1,
    FAULTS_OPEN = 2,
    FAULTS_SIZE = 4, /* ftruncate and fallocate */
    FAULTS_SYNC = 8,
    FAULTS_CLOSE = 16, /* the file is closed nevertheless */
    FAULTS_LOCK = 32,  /* not the end of a lock */
};

/* Of the calls of these kinds the n-th one from now on fails by this errno value. No kinds: none
 * does. The call is made by one thread, and not while the process uses a file. */
void faults_plan(int kinds, unsigned nth, int error);

/* Whether it has failed. */
int faults_has_failed(void);

#endif
