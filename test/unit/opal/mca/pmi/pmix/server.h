/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PMIx server for the tests: the functions of libpmix that would talk to one, in front of it.
 * What only handles values is libpmix's.
 */
#ifndef OPAL_UNIT_PMIX_SERVER_H
#define OPAL_UNIT_PMIX_SERVER_H

#include <pmix.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST_FACTS = 8, MOST_KEYS = 8 };

typedef struct pmix_server {
    pmix_status_t init, put, commit, fence, get, finalize, spawn, names,
        query; /* what goes wrong */
    pmix_rank_t rank;
    struct {
        const char *key;
        pmix_value_t value;
    } facts[MOST_FACTS]; /* about whomever */
    size_t fact_count;
    const char *nodes;       /* NULL: it does not tell */
    const char *ranks_of[3]; /* by the digit at the end of a node's name: "02", by rank */
    struct {
        char key[64];
        pmix_value_t value; /* its bytes are malloc'ed */
        bool is_visible;
    } puts[MOST_KEYS];
    size_t put_count;
    bool has_collected;
    char spawned[512];            /* the last request, as server.c writes it */
    char service[600], port[100]; /* what is published */
    const char *pset_names;       /* the answer; NULL: it has no such thing */
    pmix_proc_t members[4];       /* of the set "east" */
    size_t member_count;
    pmix_proc_info_t table[2]; /* of the job that was spawned */
    bool wraps_rows;           /* as Open MPI 4 does */
} pmix_server_t;

extern pmix_server_t server;

/* What the server tells about any rank. */
void server_know(const char *key, pmix_value_t value);

/* Frees what was put. */
void server_forget(void);

static inline pmix_value_t server_uint32(unsigned number)
{
    return (pmix_value_t){.type = PMIX_UINT32, .data.uint32 = number};
}

#endif
