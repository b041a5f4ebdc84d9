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
 * Threading: any thread unmaps and any thread asks; what oracle_take returns goes to one of them.
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

/*
 * For who cannot ask after each call: `left` is called for each range instead, by the oracle's
 * thread, which neither allocates nor unmaps. NULL ends it. oracle_sync returns when it was called
 * for all that the calls before have taken away.
 */
typedef void oracle_left_fn_t(uintptr_t start, uintptr_t end);
void oracle_tell(oracle_left_fn_t *left);
void oracle_sync(void);

#endif
