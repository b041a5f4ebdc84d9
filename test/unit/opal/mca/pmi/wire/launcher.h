/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launcher for the tests: a thread at the other end of a socketpair that speaks
 * PMI-1 as MPICH's Hydra does, and gives one wrong answer when it is told to.
 */
#ifndef OPAL_UNIT_LAUNCHER_H
#define OPAL_UNIT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct launcher_fault {
    const char *command; /* "put": it is this command's answer that is wrong */
    unsigned skip;       /* so many of them are answered well before */
    const char *answer;  /* the whole of it; NULL: the connection is closed instead */
    bool half;           /* the connection is closed behind the answer */
} launcher_fault_t;

/*
 * Starts it for rank `rank` of `size` and tells where in PMI_FD, PMI_RANK and PMI_SIZE. `fault`
 * may be NULL. Returns the rank's end.
 */
int launcher_start(unsigned rank, unsigned size, const launcher_fault_t *fault);

/* Waits for its end, which the rank's closing brings, and returns the commands that it got. */
const char *launcher_stop(void);

/* Changes a value that was put; false: there is no such key. Between two requests only. */
bool launcher_replace(const char *key, const char *value);

#endif
