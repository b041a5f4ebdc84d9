/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of this process, the modex records of its peers, and the pairs of addresses that
 * lead from one to the other.
 *
 *   sock_addresses_list      what the system has                      (the only system calls)
 *   sock_addresses_choose    ... without what the user, or a default, excludes
 *   sock_modex_encode        the modex record of this process: host, addresses, ports
 *   sock_modex_decode        the modex record of a peer, strictly checked
 *   sock_pairs_choose        (my address, its address) to be tried, best first
 *   sock_links_choose        the pairs for striping, one for each link
 *   sock_attempts_describe   the attempts that have failed, for a log message
 *
 * Pairs are chosen from two modex records by a rule that is symmetric: both ends get the same
 * order, so link number k joins the same two addresses, whichever end connects.
 *
 * On one host (same boot, same network namespace) loopback comes first, and an address leads to
 * itself. Between hosts loopback leads nowhere, and neither does an address that both ends have,
 * which is a private bridge of each (docker0, virbr0). Processes of one boot in different
 * namespaces are on different hosts in this sense. So loopback is in every modex record, and
 * whether it is used is decided for each pair.
 *
 * IPv6 link-local addresses are excluded: they have a meaning only together with an interface, and
 * the modex record cannot say which interface of this host that is. All other addresses of both
 * families are included. Threading: start-up, one thread.
 */
#ifndef OPAL_MCA_BTL_SOCK_ADDRESSES_H
#define OPAL_MCA_BTL_SOCK_ADDRESSES_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "opal/include/status.h"
#include "opal/mca/btl/sock/handshake.h"
#include "opal/util/text.h"

/* -- addresses ------------------------------------------------------------------------- */

typedef struct sock_ip {
    uint8_t family;    /* 4 or 6; 0: none */
    uint8_t bytes[16]; /* in network order; behind the first 4 of family 4 zeros */
} sock_ip_t;

/* "10.0.0.2", "fd00::1"; with a port "10.0.0.2:4000", "[fd00::1]:4000". */
enum { SOCK_IP_TEXT_BYTES = 64 };
const char *sock_ip_text(const sock_ip_t *ip, char text[SOCK_IP_TEXT_BYTES]);
const char *sock_end_text(const sock_ip_t *ip, uint16_t port, char text[SOCK_IP_TEXT_BYTES]);

/* For system calls; an IPv4-mapped IPv6 address becomes family 4. */
socklen_t sock_ip_to_system(const sock_ip_t *ip, uint16_t port, struct sockaddr_storage *address);
bool sock_ip_from_system(const struct sockaddr *address, sock_ip_t *ip, uint16_t *port);

/* 127.0.0.0/8 and ::1, not other addresses of the interface lo. */
bool sock_ip_is_loopback(const sock_ip_t *ip);

/* Whether a process of another host can have it: no multicast, no IPv6 link-local, ... */
bool sock_ip_is_usable(const sock_ip_t *ip);

/* Whether both begin with the same `prefix` bits. */
bool sock_ip_in_network(const sock_ip_t *ip, const sock_ip_t *network, unsigned prefix);

/* An address of this process. */
typedef struct sock_address {
    sock_ip_t ip;
    uint8_t prefix;         /* bits */
    uint32_t speed_mbits;   /* 0: not known */
    char name[IF_NAMESIZE]; /* of the interface, without the label of an alias */
} sock_address_t;

typedef struct sock_addresses {
    sock_address_t *items;
    size_t count;
} sock_addresses_t;

void sock_addresses_free(sock_addresses_t *list);

/* The addresses of interfaces that are up, in the system's order. A failure is logged. */
opal_status_t sock_addresses_list(sock_addresses_t *list);

/*
 * The part of `there` that is to be used. The items of include and exclude are names of
 * interfaces, with '*' for any letters, or networks: "eth0", "virbr*", "10.1.0.0/16", "fd00::/8",
 * "10.1.2.3". With include only what it names is used; with exclude, what it does not name; with
 * neither, what is no bridge to virtual machines or containers of the host (SOCK_VIRTUAL), unless
 * there is nothing else.
 *
 * OPAL_ERR_BAD_PARAM: both are set, an item is neither, or nothing is left; then `message` is the
 * error. OPAL_ERR_NOT_AVAILABLE: the host has no address. On success `message` is empty, or a
 * warning about items that match nothing here, with the addresses there are and the nearest name.
 */
#define SOCK_VIRTUAL                                                                               \
    "docker0,docker_gwbridge,virbr*,lxcbr*,lxdbr*,podman*,cni-podman*,cni0,vmnet*,vboxnet*"
opal_status_t sock_addresses_choose(const sock_addresses_t *there, const opal_strings_t *include,
                                    const opal_strings_t *exclude, sock_addresses_t *chosen,
                                    opal_text_t *message);

/* -- modex records --------------------------------------------------------------------- */

enum {
    SOCK_MODEX_ADDRESSES = 32, /* more are left off, the slowest first */
    SOCK_HOST_BYTES = 64,      /* of a host's name, with its zero; a longer one is cut */
    SOCK_MODEX_BYTES = 2 + SOCK_HOST_BYTES - 1 + 32 + 1 + SOCK_MODEX_ADDRESSES * 25, /* at most */
};

typedef struct sock_modex_address {
    sock_ip_t ip;
    uint8_t prefix;
    uint8_t interface; /* which of the host's; addresses of one have the same number */
    uint16_t port;     /* where it listens; 0: it does not there, but can connect from there */
    uint32_t speed_mbits;
} sock_modex_address_t;

typedef struct sock_modex {
    char host[SOCK_HOST_BYTES]; /* for messages */
    unsigned char boot[16];     /* id of the kernel's boot */
    uint64_t space[2];          /* the network namespace: device and inode of it; 0: not known */
    size_t count;
    sock_modex_address_t addresses[SOCK_MODEX_ADDRESSES];
} sock_modex_t;

/* Host, boot and namespace of this process, and the chosen addresses, all with port 0. */
void sock_modex_fill(sock_modex_t *modex, const sock_addresses_t *chosen);

/* Sets the port where it listens, for all addresses of a family, 4 or 6. */
void sock_modex_set_port(sock_modex_t *modex, uint8_t family, uint16_t port);

/* Returns how many bytes. */
size_t sock_modex_encode(const sock_modex_t *modex, unsigned char bytes[SOCK_MODEX_BYTES]);

/* False: these bytes are no modex record, and *modex is unchanged. */
bool sock_modex_decode(sock_modex_t *modex, const void *bytes, size_t length);

bool sock_modex_same_host(const sock_modex_t *one, const sock_modex_t *other);

/* -- pairs ----------------------------------------------------------------------------- */

/* Indices into the two modex records' addresses. */
typedef struct sock_pair {
    uint8_t mine, peers;
} sock_pair_t;

enum { SOCK_MAX_PAIRS = SOCK_MODEX_ADDRESSES * SOCK_MODEX_ADDRESSES };

/*
 * All pairs of one family between which a connection could be made, best first; returns how many.
 * On one host loopback, and then each address with itself. Then those in one network; then those
 * that need a router, both private or both public; then the rest. Among equals the faster, then
 * IPv4. Pairs in which neither end listens are left out: `peers` listens (its port is not 0) if I
 * begin, and `mine` if the peer does. An address of one bridge that both hosts have, and what is
 * like a host but is another one (a copy of a virtual machine), cost a try each, no more: the
 * handshake tells.
 */
size_t sock_pairs_choose(const sock_modex_t *mine, const sock_modex_t *peers, sock_pair_t *pairs,
                         size_t most);

/*
 * The pairs for up to `most` links, from what sock_pairs_choose wrote: the best one and, if that is
 * in a common network of two hosts, others that are in one too, and have interfaces that no
 * earlier one has, at both ends. Returns how many, 0 only if `count` is.
 */
size_t sock_links_choose(const sock_modex_t *mine, const sock_modex_t *peers,
                         const sock_pair_t *pairs, size_t count, sock_pair_t *links, size_t most);

/* -- log messages ---------------------------------------------------------------------- */

/* One try to connect, and how it ended: by errno, or by a reason of the handshake. */
typedef struct sock_attempt {
    sock_ip_t from, to; /* from: family 0 if it was not bound */
    uint16_t port;
    int error; /* errno; 0: see reason */
    sock_reason_t reason;
} sock_attempt_t;

/*
 * "rank 3 on node1 cannot reach rank 5 on node2: tried 10.0.0.1 -> 10.0.0.2:4000 (Connection timed
 * out), ..."; without attempts it says that there is no pair to try, and what both have. `peer`:
 * "rank 5".
 */
void sock_attempts_describe(opal_text_t *text, unsigned rank, const sock_modex_t *mine,
                            const char *peer, const sock_modex_t *peers,
                            const sock_attempt_t *attempts, size_t count);

#endif
