/* SPDX-License-Identifier: BSD-3-Clause */
/* One name, one winner. */
#include "opal/mca/memory/smheap/election.h"

#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/util/folder.h"
#include "opal/util/hash.h"
#include "opal/util/say.h"

enum { PATH_BYTES = 64, BACKLOG = 4096, OWN_FD = 900, PAUSE_NSEC = 200000, MOST_LOOKS = 64 };

/* -- the name ----------------------------------------------------------------------------- */

static socklen_t make_name(const smheap_launcher_t *launcher, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    opal_say_into(name->sun_path + 1, sizeof name->sun_path - 1, OPAL_REGION_NAME "-%u-%d-%zu-%zx",
                  (unsigned)getuid(), (int)launcher->pid, (size_t)launcher->started,
                  (size_t)launcher->job);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name->sun_path + 1));
}

/* For the header: the name in one word, not 0. */
static uint64_t number_of(const struct sockaddr_un *name)
{
    return opal_hash_text(OPAL_HASH_START, name->sun_path + 1) | 1;
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int away = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, OWN_FD) : -1;
    if (away < 0)
        return fd;
    close(fd);
    return away;
}

/* -- the winner --------------------------------------------------------------------------- */

static bool is_region(int folder, const char *entry)
{
    static const char wanted[] = "/memfd:" OPAL_REGION_NAME;
    char link[sizeof wanted];
    ssize_t length = readlinkat(folder, entry, link, sizeof link);
    return length >= (ssize_t)sizeof wanted - 1 && memcmp(link, wanted, sizeof wanted - 1) == 0;
}

/* opal_folder_fn_t; the context is the descriptor that is looked for. */
static bool find_region(int folder, const char *entry, void *context)
{
    int *fd = context;
    if (is_region(folder, entry))
        *fd = openat(folder, entry, O_RDWR | O_CLOEXEC);
    return *fd < 0;
}

/* The region of a live process. It moves its descriptor once from one number to another: so there
 * is no region if that is not found, time after time. */
static int region_of(pid_t pid, bool *again)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NSEC};
    char path[PATH_BYTES];
    opal_say_into(path, sizeof path, "/proc/%d/fd", (int)pid);
    int fd = -1;
    *again = false;
    for (int i = 0; opal_folder_walk(path, find_region, &fd) && fd < 0 && i < MOST_LOOKS; i++)
        nanosleep(&pause, NULL);
    if (fd < 0)
        *again = kill(pid, 0) != 0 && errno == ESRCH;
    return fd;
}

/* Looking among all processes. */
typedef struct hunt {
    uint64_t election;
    int fd;
} hunt_t;

/* opal_folder_fn_t: a process of this user that has a region of this election. */
static bool try_process(int folder, const char *entry, void *context)
{
    hunt_t *hunt = context;
    opal_region_header_t header;
    struct stat status;
    char path[PATH_BYTES];
    if (entry[0] < '1' || entry[0] > '9' || fstatat(folder, entry, &status, 0) != 0 ||
        status.st_uid != geteuid())
        return true;
    int fd = -1;
    opal_say_into(path, sizeof path, "/proc/%s/fd", entry);
    opal_folder_walk(path, find_region, &fd);
    if (fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        atomic_load(&header.magic) != 0 && header.election == hunt->election &&
        atomic_load(&header.attached) > 0)
        hunt->fd = fd;
    else if (fd >= 0)
        close(fd);
    return hunt->fd < 0;
}

static int region_of_any_process(uint64_t election)
{
    hunt_t hunt = {.election = election, .fd = -1};
    opal_folder_walk("/proc", try_process, &hunt);
    return hunt.fd;
}

/* Finds the region of the process that has the name. NULL: found; else the reason, and in *again
 * whether to try again. */
static const char *ask_winner(const struct sockaddr_un *name, socklen_t length, int *region_fd,
                              bool *again)
{
    struct ucred winner = {.pid = 0};
    socklen_t size = sizeof winner;
    const char *complaint = NULL;
    int fd = open_socket();
    *again = true;
    if (fd < 0 || connect(fd, (const struct sockaddr *)name, length) != 0) {
        complaint = "it does not listen";
        if (fd >= 0 && errno == EAGAIN) { /* too many wait there */
            *region_fd = region_of_any_process(number_of(name));
            complaint = *region_fd >= 0 ? NULL : "too many ask it at once";
        }
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &winner, &size) != 0 || winner.pid <= 0 ||
               winner.uid != geteuid()) {
        *again = false;
        complaint = "it is another user's, or in another container";
    } else {
        *region_fd = region_of(winner.pid, again);
        if (*region_fd < 0)
            complaint = "its memory cannot be opened by /proc";
    }
    if (fd >= 0)
        close(fd);
    return complaint;
}

/* -- the election ------------------------------------------------------------------------- */

/* Binds the name. -1: another process has it. */
static int try_to_win(const struct sockaddr_un *name, socklen_t length)
{
    int fd = open_socket();
    if (fd >= 0 && bind(fd, (const struct sockaddr *)name, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool smheap_elect(const smheap_launcher_t *launcher, const opal_region_request_t *request,
                  unsigned wait_msec, smheap_election_t *election, char *reason, size_t room)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NSEC};
    const char *complaint = NULL, *step = "";
    struct sockaddr_un name;
    socklen_t length = make_name(launcher, &name);
    uint64_t end = opal_clock_nsec() + wait_msec * OPAL_NSEC_PER_MSEC;
    opal_region_request_t own_request = *request;
    bool again = true;
    int own = -1;
    own_request.election = number_of(&name);
    *election = (smheap_election_t){.region_fd = -1, .listener = -1};
    do {
        if (complaint != NULL)
            nanosleep(&pause, NULL);
        complaint = ask_winner(&name, length, &election->region_fd, &again);
        if (complaint == NULL || !again)
            break;
        if (own < 0)
            own = opal_region_create(&own_request, &step);
        if (own < 0) {
            complaint = step;
            break;
        }
        election->listener = try_to_win(&name, length);
        if (election->listener >= 0) {
            election->region_fd = own;
            return true;
        }
    } while (opal_clock_nsec() < end);
    if (own >= 0)
        close(own);
    if (complaint != NULL)
        opal_say_into(reason, room, "nothing comes from the process that makes the region%s: %s",
                      again ? ", after memory_smheap_wait" : "", complaint);
    return complaint == NULL;
}

void smheap_stop_listening(smheap_election_t *election)
{
    if (election->listener >= 0)
        close(election->listener);
    election->listener = -1;
}
