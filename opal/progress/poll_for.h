/* SPDX-License-Identifier: BSD-3-Clause */
/* ppoll for so many nanoseconds, where poll and epoll_wait count milliseconds; negative: without a
 * limit. Signals stay as they are. */
#ifndef OPAL_PROGRESS_POLL_FOR_H
#define OPAL_PROGRESS_POLL_FOR_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

static inline int opal_poll_for(struct pollfd *fds, nfds_t count, int64_t nsec)
{
    struct timespec limit = {.tv_sec = nsec / 1000000000, .tv_nsec = nsec % 1000000000};
    return ppoll(fds, count, nsec < 0 ? NULL : &limit, NULL);
}

#endif
