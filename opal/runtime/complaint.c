/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a node complains. */
#include "opal/runtime/complaint.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/include/clock.h"
#include "opal/node/fd_pass.h"
#include "opal/util/shortage.h"

enum { LISTENS_MSEC = 10000 };

static int64_t now_msec(void)
{
    return (int64_t)(opal_clock_nsec() / OPAL_NSEC_PER_MSEC);
}

typedef struct name {
    struct sockaddr_un address;
    socklen_t length;
} name_t;

/* False: the launcher has not named the job. */
static bool make_name(uint64_t findings, name_t *name)
{
    char job[64];
    *name = (name_t){.address = {.sun_family = AF_UNIX}};
    char *text = name->address.sun_path + 1;
    size_t room = sizeof name->address.sun_path - 1;
    if (!opal_pmi_announced_name(job, sizeof job))
        return false;
    int written = snprintf(text, room, "mica-complaint-%u-%llx-%s", (unsigned)getuid(),
                           (unsigned long long)findings, job);
    name->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)written);
    return true;
}

typedef enum answer { SAID, UNANSWERED, STRANGER } answer_t;

static answer_t wait_for_answer(int fd)
{
    char byte;
    ssize_t got;
    struct ucred owner;
    socklen_t length = sizeof owner;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0 || owner.uid != getuid())
        return STRANGER;
    while ((got = read(fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1 ? SAID : UNANSWERED;
}

/* Waits for the process that has the name. Any user may bind an abstract name, so the answer of
 * another user is ignored. */
static answer_t ask(const name_t *name)
{
    answer_t answer = STRANGER;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return STRANGER;
    if (connect(fd, (const struct sockaddr *)&name->address, name->length) == 0)
        answer = wait_for_answer(fd);
    else if (errno == ECONNREFUSED || errno == EINTR)
        answer = UNANSWERED;
    close(fd);
    return answer;
}

opal_complaint_t opal_complaint_claim(uint64_t findings)
{
    name_t name;
    opal_complaint_t complaint = {.is_mine = true, .name = -1};
    if (!make_name(findings, &name))
        return complaint;
    /* A process that does not answer has ended, or does not listen yet. That of another user may
     * never listen. */
    for (int64_t end = now_msec() + LISTENS_MSEC; now_msec() < end; sched_yield()) {
        complaint.name = opal_pass_listen(&name.address, name.length, SOCK_NONBLOCK);
        if (complaint.name >= 0 || errno != EADDRINUSE)
            return complaint;
        answer_t answer = ask(&name);
        complaint.is_mine = answer != SAID;
        if (answer != UNANSWERED)
            return complaint;
    }
    return complaint;
}

/* False: errno says why; no rank is waiting for an answer, or no descriptor is left for one. */
static bool answer_one(int name)
{
    int fd = accept4(name, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    (void)!send(fd, "", 1, MSG_NOSIGNAL); /* a rank that has ended needs no answer */
    close(fd);
    return true;
}

void opal_complaint_release(opal_complaint_t *complaint, unsigned others, unsigned wait_msec)
{
    int64_t end = now_msec() + wait_msec;
    struct pollfd asked = {.fd = complaint->name, .events = POLLIN};
    if (complaint->name < 0)
        return;
    for (int64_t left = wait_msec; others > 0 && left > 0; left = end - now_msec()) {
        poll(&asked, 1, (int)left);
        while (answer_one(complaint->name))
            others -= others > 0;
        if (opal_is_shortage(errno)) /* other threads may close some */
            poll(NULL, 0, OPAL_SHORTAGE_NSEC / OPAL_NSEC_PER_MSEC);
    }
    while (answer_one(complaint->name)) {
    }
    close(complaint->name);
    complaint->name = -1;
}
