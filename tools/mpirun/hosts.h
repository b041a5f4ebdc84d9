/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --host and --hostfile: the hosts, whether one of them is another machine than this one, and how
 * many slots they have. A name counts as this machine if it is "localhost", a loopback address, an
 * address of this machine, or its host name with or without the domain. No name service is asked.
 */
#ifndef MPIRUN_HOSTS_H
#define MPIRUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct host {
    char *name;
    unsigned slots;  /* 0: all its cores */
    bool has_number; /* the number of slots was given */
} host_t;

typedef struct hosts {
    host_t *items; /* in the order in which they were given */
    size_t count;
    const char *other; /* the first host that is not this machine; NULL: there is none */
    unsigned slots;    /* the sum of the given numbers */
    bool whole_node;   /* a host file named one without a number: all its cores */
} hosts_t;

/* Adds the hosts of "a,b:3"; a name without a number is one slot. False: an error was reported. */
bool hosts_add_list(hosts_t *hosts, const char *list, const char *this_host);

/* Adds the hosts of a file with lines "name", "name slots=4" or "name:4", and '#' comments.
 * `option` begins messages. `slots` is the number for hosts without one; 0: all their cores. False:
 * an error was reported. */
bool hosts_add_file(hosts_t *hosts, const char *option, const char *path, const char *this_host,
                    unsigned slots);

void hosts_free(hosts_t *hosts);

bool host_is_this_machine(const char *name, const char *this_host);

#endif
