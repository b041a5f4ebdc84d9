/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process that crashes and its helper (tools/crash) say to each other, by a socket that
 * keeps records apart (SOCK_SEQPACKET):
 *
 *   process -> helper    opal_crash_notice_t, once
 *   helper -> process    opal_crash_ask_t: an address and a number of bytes
 *   process -> helper    these bytes; one byte if they cannot be read
 *   helper closes the socket: the report is printed
 *
 * The process stands still in its handler and answers; so its helper needs no permission to read
 * another process' memory, which containers and hardened systems do not give.
 */
#ifndef OPAL_CRASH_NOTICE_H
#define OPAL_CRASH_NOTICE_H

#include "opal/lines/unwind.h"

enum {
    OPAL_CRASH_SOCKET = 3, /* the descriptors of the helper */
    OPAL_CRASH_MAPS = 4,   /* of /proc/self/maps of the process */
    OPAL_CRASH_BOARD = 5,  /* of the job's board, if there is one */
    OPAL_CRASH_ASK_MAX = 4096,
};

#define OPAL_CRASH_NOTICE_VERSION 1u

typedef struct opal_crash_notice {
    uint32_t version;
    uint32_t bytes; /* of this structure: library and helper are of the same build */
    int32_t pid, thread;
    uint32_t rank, size;
    int32_t signal, code; /* si_code; signal 0: only the call is asked for */
    int32_t sender;       /* the pid that has sent the signal; 0: none did */
    uint32_t has_board;
    uint64_t address;       /* that the signal is about */
    uint64_t abort_message; /* the address of glibc's __abort_msg; 0: there is none */
    char host[64];
    opal_frame_t frame;
} opal_crash_notice_t;

typedef struct opal_crash_ask {
    uint64_t address;
    uint64_t bytes; /* 2 to OPAL_CRASH_ASK_MAX */
} opal_crash_ask_t;

#endif
