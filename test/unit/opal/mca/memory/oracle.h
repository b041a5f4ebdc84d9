/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's own word on which pages leave: userfaultfd, asked for its events of unmapping,
 * removing and moving. It sees system calls whoever makes them, so hooks can be held against it.
 * Only shmat and shmdt it does not see.
 *
 * A watched mapping behaves as before. What replaces it is not watched until it is watched again.
 * The call that makes pages leave waits for a thread of ours to hear of it, so nothing is missed
 * when it has returned.
 *
 * Threading: one thread asks; any thread unmaps.
 */
#ifndef UNIT_MEMORY_ORACLE_H
#define UNIT_MEMORY_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oracle_range {
    uintptr_t start, end;
} oracle_range_t;

/* False: this kernel does not have it, or not for us. */
bool oracle_open(void);
void oracle_close(void);

/* Private anonymous memory, or shared memory, all of it mapped. */
bool oracle_watch(void *address, size_t length);

/* What has left since the last question, in its order; returns how many, at most `most`. */
size_t oracle_take(oracle_range_t *ranges, size_t most);

#endif
