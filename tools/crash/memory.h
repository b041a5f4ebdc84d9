/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the process that crashes, which answers through a socket (opal/crash/notice.h).
 * Pages are cached: the process stands still. (Its other threads do not, but what is read is the
 * stack of the one that does.)
 */
#ifndef CRASH_MEMORY_H
#define CRASH_MEMORY_H

#include "opal/crash/notice.h"

/* An opal_read_memory_fn_t; the context is not used. */
bool memory_read(void *context, uintptr_t address, void *to, size_t bytes);

/* The string at an address, cut to `room` bytes with the 0; "" if it cannot be read. */
char *memory_string(uintptr_t address, char *text, size_t room);

#endif
