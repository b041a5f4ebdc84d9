/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --host and --hostfile: which hosts, is one of them another than this machine, and how many slots
 * do they have? A name counts as this machine when it is "localhost", a loopback address, one of
 * its addresses, or its host name with or without the domain. Nothing is asked of the network.
 */
#ifndef MPIRUN_HOSTS_H
#define MPIRUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct host {
    char *name;
    unsigned slots;  /* 0: all its cores */
    bool has_number; /* of slots, written */
} host_t;

typedef struct hosts {
    host_t *items; /* as they were written */
    size_t count;
    const char *other; /* the first of them that is not this machine; NULL: there is none */
    unsigned slots;    /* the sum of those that are told */
    bool whole_node;   /* a host file named one without a number: all its cores */
} hosts_t;

/* "a,b:3": a name without a number is one slot. False: it has said what is wrong. */
bool hosts_add_list(hosts_t *hosts, const char *list, const char *this_host);

/* Lines of "name", "name slots=4" or "name:4", with '#' comments; same result. `option` begins
 * messages; `slots` is for hosts without a number, 0: all their cores. */
bool hosts_add_file(hosts_t *hosts, const char *option, const char *path, const char *this_host,
                    unsigned slots);

void hosts_free(hosts_t *hosts);

bool host_is_this_machine(const char *name, const char *this_host);

#endif
