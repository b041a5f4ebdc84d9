/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of ranks, as options name it: "0,3-5". */
#ifndef MPIRUN_RANK_SET_H
#define MPIRUN_RANK_SET_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rank_set {
    struct rank_range {
        unsigned first, last;
    } * ranges; /* as they were named: in any order, and a rank may be in several */
    size_t count;
} rank_set_t;

/* Reads `length` bytes. False: they are no such list, and the set is empty. */
bool rank_set_parse(rank_set_t *set, const char *text, size_t length);
void rank_set_copy(rank_set_t *to, const rank_set_t *from);
void rank_set_free(rank_set_t *set);

bool rank_set_has(const rank_set_t *set, unsigned rank);

/* The highest rank of a set that is not empty. */
unsigned rank_set_highest(const rank_set_t *set);

#endif
