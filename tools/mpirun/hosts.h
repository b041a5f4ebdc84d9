/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --host and --hostfile on one node: are these names this machine, and how many
 * slots do they give it? A name counts as this machine when it is "localhost",
 * a loopback address, or its host name with or without the domain. Nothing is
 * asked of the network.
 */
#ifndef MPIRUN_HOSTS_H
#define MPIRUN_HOSTS_H

#include <stdbool.h>

typedef struct hosts {
    unsigned slots;  /* the sum of those that were given a number */
    bool whole_node; /* a host file named this machine without a number: all its cores */
} hosts_t;

/* "a,b:3": a name without a number is one slot. False: it has said what is wrong. */
bool hosts_add_list(hosts_t *hosts, const char *list, const char *this_host);

/* Lines of "name", "name slots=4" or "name:4", with '#' comments; same result. */
bool hosts_add_file(hosts_t *hosts, const char *path, const char *this_host);

#endif
