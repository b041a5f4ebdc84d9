/* SPDX-License-Identifier: BSD-3-Clause */
/* Panes and windows. See terminal.h. */
#include "tools/mpirun/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/number.h"
#include "tools/mpirun/program.h"

/* A display or a tmux that does not answer for so long does not work. */
enum { OPEN_TIMEOUT_MSEC = 60 * 1000 };

/* Where panes connect to: a name in Linux' abstract space of sockets, chosen by the kernel. */
typedef struct meeting {
    int fd;
    char name[16]; /* without the 0 in front of it */
} meeting_t;

/* What a pane sends, with its terminal. */
typedef struct offer {
    unsigned rank;
} offer_t;

static socklen_t fill_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strnlen(name, sizeof address->sun_path - 1);
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static bool open_meeting(meeting_t *meeting, unsigned count)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    meeting->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (meeting->fd < 0 || bind(meeting->fd, (void *)&address, sizeof(sa_family_t)) != 0 ||
        listen(meeting->fd, (int)count) != 0 ||
        getsockname(meeting->fd, (void *)&address, &length) != 0) {
        opal_log_error("--debug: cannot make a socket for the terminals: %s", strerror(errno));
        return false;
    }
    size_t bytes = length - offsetof(struct sockaddr_un, sun_path) - 1;
    if (bytes >= sizeof meeting->name)
        return false;
    memcpy(meeting->name, address.sun_path + 1, bytes);
    meeting->name[bytes] = 0;
    return true;
}

/* -- the process in the pane ------------------------------------------------------------------ */

static bool send_terminal(int link, unsigned rank)
{
    offer_t offer = {.rank = rank};
    struct iovec part = {&offer, sizeof offer};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    int fd = STDIN_FILENO;
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(link, &message, MSG_NOSIGNAL) == (ssize_t)sizeof offer;
}

int terminal_lend(const char *address, const char *rank)
{
    struct sockaddr_un name;
    socklen_t length = fill_address(&name, address);
    unsigned number;
    int link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!number_parse_unsigned(rank, 0, MAX_RANKS - 1, &number) || link < 0 ||
        connect(link, (void *)&name, length) != 0)
        return STATUS_TROUBLE;
    signal(SIGHUP, SIG_IGN); /* giving the terminal up sends it, too */
    if (ioctl(STDIN_FILENO, TIOCNOTTY) != 0 || !send_terminal(link, number))
        return STATUS_TROUBLE;
    struct pollfd ends[] = {{.fd = link, .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR)
        continue;
    return 0;
}

/* -- opening panes ------------------------------------------------------------------------------
 */

/* Starts a program; -1: that failed. `output`: its standard output; -1: mpirun's own. */
static pid_t start_tool(const opal_strings_t *words, int output)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    execvp(words->items[0], words->items);
    opal_log_error("--debug: cannot execute %s: %s", words->items[0], strerror(errno));
    _exit(1);
}

/* Runs a program to its end. Returns the first line of its output; NULL: it has failed. */
static char *run_tool(const opal_strings_t *words)
{
    int ends[2], status = 0;
    char bytes[256];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    pid_t pid = start_tool(words, ends[1]);
    close(ends[1]);
    opal_text_t text = {0};
    for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) != 0;) {
        if (got > 0)
            opal_text_append(&text, bytes, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    char *line = opal_text_take(&text);
    line[strcspn(line, "\n")] = 0;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return line;
    free(line);
    return NULL;
}

/* Adds words that are separated by blanks. */
static void add_words(opal_strings_t *list, const char *words)
{
    opal_strings_split(list, words, " ");
}

/* The command in a pane. */
static void add_lender(opal_strings_t *words, const meeting_t *meeting, unsigned rank)
{
    char self[4096], number[16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    snprintf(number, sizeof number, "%u", rank);
    opal_strings_add(words, self);
    opal_strings_add(words, "--terminal");
    opal_strings_add(words, meeting->name);
    opal_strings_add(words, number);
}

/* tmux with `words`, and the value of %s in them. */
static bool tell_tmux(const char *words, const char *target, const char *last)
{
    opal_strings_t command = {0};
    add_words(&command, words);
    opal_strings_add(&command, "-t");
    opal_strings_add(&command, target);
    if (last != NULL)
        add_words(&command, last);
    char *answer = run_tool(&command);
    opal_strings_free(&command);
    free(answer);
    return answer != NULL;
}

/* The first pane makes a session, or in tmux a window; the others split its window. */
static bool open_panes(const job_t *job, const meeting_t *meeting, const char *name)
{
    const terminals_t *terminals = &job->terminals;
    char *window = NULL;
    bool good = true;
    for (unsigned i = 0; good && i < terminals->count; i++) {
        opal_strings_t words = {0};
        if (window != NULL)
            add_words(&words, "tmux split-window -d -P -F #{pane_id} -t");
        else if (getenv("TMUX") != NULL)
            add_words(&words, "tmux new-window -P -F #{window_id}:#{pane_id} -n");
        else
            add_words(&words, "tmux new-session -d -x 200 -y 60 -P -F #{window_id}:#{pane_id} -s");
        opal_strings_add(&words, window != NULL ? window : name);
        add_lender(&words, meeting, terminals->items[i].rank);
        char *answer = run_tool(&words);
        opal_strings_free(&words);
        good = answer != NULL;
        char *colon = good ? strchr(answer, ':') : NULL;
        if (window == NULL && colon != NULL)
            window = opal_xstrndup(answer, (size_t)(colon - answer));
        char title[32];
        snprintf(title, sizeof title, "-T rank_%u", terminals->items[i].rank);
        if (good)
            good = tell_tmux("tmux select-layout", window, "tiled") &&
                   tell_tmux("tmux select-pane", colon != NULL ? colon + 1 : answer, title);
        free(answer);
    }
    if (good)
        tell_tmux("tmux set-option -w", window, "pane-border-status top");
    free(window);
    return good;
}

static bool open_windows(const job_t *job, const meeting_t *meeting)
{
    const terminals_t *terminals = &job->terminals;
    bool good = true;
    for (unsigned i = 0; good && i < terminals->count; i++) {
        opal_strings_t words = {0};
        char *title = opal_xprintf("rank %u", terminals->items[i].rank);
        opal_strings_split(&words, "xterm -T", " ");
        opal_strings_add(&words, title);
        opal_strings_add(&words, "-e");
        add_lender(&words, meeting, terminals->items[i].rank);
        good = start_tool(&words, -1) > 0;
        opal_strings_free(&words);
        free(title);
    }
    return good;
}

/* -- meeting them -------------------------------------------------------------------------------
 */

/* Takes the terminal that a pane sends. */
static bool take_terminal(terminals_t *terminals, int link)
{
    offer_t offer;
    struct iovec part = {&offer, sizeof offer};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof peer;
    if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != getuid())
        return false;
    if (recvmsg(link, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof offer)
        return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_type != SCM_RIGHTS)
        return false;
    int fd;
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    for (unsigned i = 0; i < terminals->count; i++) {
        terminal_t *terminal = &terminals->items[i];
        if (terminal->rank == offer.rank && terminal->fd < 0) {
            terminal->fd = fd;
            terminal->link = link;
            return true;
        }
    }
    close(fd);
    return false;
}

static bool meet(terminals_t *terminals, const meeting_t *meeting)
{
    for (unsigned met = 0; met < terminals->count;) {
        struct pollfd waiting = {.fd = meeting->fd, .events = POLLIN};
        int ready = poll(&waiting, 1, OPEN_TIMEOUT_MSEC);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            opal_log_error("--debug: %u of %u terminals have not opened", terminals->count - met,
                           terminals->count);
            return false;
        }
        int link = accept4(meeting->fd, NULL, NULL, SOCK_CLOEXEC);
        if (link >= 0 && take_terminal(terminals, link))
            met++;
        else if (link >= 0)
            close(link);
    }
    return true;
}

static bool has_tool(const char *name)
{
    char ignored[OPAL_LOG_MAX_BYTES], *path = NULL;
    opal_log_collect(ignored, sizeof ignored);
    int status = program_find(name, NULL, NULL, &path);
    opal_log_collect(NULL, 0);
    free(path);
    return status == 0;
}

/* Opens what this machine has, and says where it is. */
static bool open_all(const job_t *job, const meeting_t *meeting)
{
    char *name = opal_xprintf("mica-%d", (int)getpid());
    bool good = false, is_inside = getenv("TMUX") != NULL;
    if (has_tool("tmux")) {
        good = open_panes(job, meeting, name);
        if (!good)
            opal_log_error("--debug: tmux cannot open a pane for each of %u ranks",
                           job->terminals.count);
        else if (is_inside)
            opal_log_note("the debuggers are in the window %s of this tmux", name);
        else
            opal_log_note("the debuggers wait; see them with: tmux attach -t %s", name);
    } else if (getenv("DISPLAY") != NULL && has_tool("xterm")) {
        good = open_windows(job, meeting);
    } else {
        opal_log_error("--debug needs tmux, or xterm and the variable DISPLAY, and finds neither.\n"
                       "Install tmux, or attach to a rank that runs: gdb -p PID; mpirun --verbose "
                       "prints the pids");
    }
    free(name);
    return good;
}

bool terminals_open(job_t *job)
{
    terminals_t *terminals = &job->terminals;
    meeting_t meeting = {.fd = -1};
    if (!job->options.debug.is_wanted)
        return true;
    terminals->items = opal_xcalloc(job->size, sizeof *terminals->items);
    for (unsigned i = 0; i < job->size; i++) {
        if (rank_set_has(&job->options.debug.ranks, i))
            terminals->items[terminals->count++] = (terminal_t){.rank = i, .fd = -1, .link = -1};
    }
    bool good = open_meeting(&meeting, terminals->count) && open_all(job, &meeting) &&
                meet(terminals, &meeting);
    if (meeting.fd >= 0)
        close(meeting.fd);
    if (!good)
        terminals_free(terminals);
    return good;
}

terminal_t *terminal_find(const job_t *job, unsigned rank)
{
    for (unsigned i = 0; i < job->terminals.count; i++) {
        if (job->terminals.items[i].rank == rank)
            return &job->terminals.items[i];
    }
    return NULL;
}

void terminals_free(terminals_t *terminals)
{
    for (unsigned i = 0; i < terminals->count; i++) {
        if (terminals->items[i].fd >= 0)
            close(terminals->items[i].fd);
        if (terminals->items[i].link >= 0)
            close(terminals->items[i].link);
    }
    free(terminals->items);
    *terminals = (terminals_t){0};
}
