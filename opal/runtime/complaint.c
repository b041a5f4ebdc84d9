/* SPDX-License-Identifier: BSD-3-Clause */
/* One of a node complains. See complaint.h. */
#include "opal/runtime/complaint.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"

/* False: the launcher has not named the job. */
static bool make_name(struct sockaddr_un *name, socklen_t *length)
{
    char job[sizeof name->sun_path / 2 + 1];
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!opal_pmi_announced_name(job, sizeof job))
        return false;
    int written = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "mica-complaint-%u-%s",
                           (unsigned)getuid(), job);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)written);
    return true;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* The name, if nobody has it; else -1. */
static int bind_name(const struct sockaddr_un *name, socklen_t length)
{
    int fd = open_socket();
    if (fd >= 0 && bind(fd, (const struct sockaddr *)name, length) == 0 && listen(fd, 1) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* To whoever has the name; one sign is enough, so nothing is lost if there is one already. */
static void give_sign(const struct sockaddr_un *name, socklen_t length)
{
    int fd = open_socket();
    if (fd < 0)
        return;
    (void)connect(fd, (const struct sockaddr *)name, length);
    close(fd);
}

opal_complaint_t opal_complaint_claim(bool is_reporter, unsigned wait_msec)
{
    struct sockaddr_un name;
    socklen_t length;
    bool named = make_name(&name, &length);
    opal_complaint_t complaint = {.name = named ? bind_name(&name, length) : -1};
    if (is_reporter) {
        complaint.is_mine = true;
        if (named && complaint.name < 0)
            give_sign(&name, length);
        return complaint;
    }
    struct pollfd sign = {.fd = complaint.name, .events = POLLIN};
    bool is_told = poll(&sign, 1, (int)wait_msec) > 0;
    complaint.is_mine = !is_told && (complaint.name >= 0 || !named);
    return complaint;
}

void opal_complaint_release(opal_complaint_t *complaint, unsigned wait_msec)
{
    if (complaint->name < 0)
        return;
    poll(NULL, 0, (int)wait_msec);
    close(complaint->name);
    complaint->name = -1;
}
