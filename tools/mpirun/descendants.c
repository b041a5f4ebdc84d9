/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walking the process tree in /proc. See descendants.h.
 *
 * One pass over /proc reads each process's parent; descendants are then what
 * reaches us by parent links. (/proc/PID/task/TID/children would be shorter but is
 * not in every kernel, and is documented to be unreliable for running processes.)
 */
#include "tools/mpirun/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/util/text.h"

typedef struct table {
    descendant_t *items;
    size_t count, capacity;
} table_t;

void descendants_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool descendant_read(pid_t pid, descendant_t *process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    /* "17 (name) S 1 17 ...": the name may hold anything, so look for the last ')'. */
    const char *rest = strrchr(text, ')');
    char state;
    int parent, group;
    unsigned long long start;
    static const char fields[] =
        " %c %d %d" /* behind them, what nobody asks for, to field 22 */
        " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
    if (rest == NULL || sscanf(rest + 1, fields, &state, &parent, &group, &start) != 4)
        return false;
    *process = (descendant_t){.pid = pid,
                              .parent = parent,
                              .group = group,
                              .start = start,
                              .ended = state == 'Z' || state == 'X'};
    return true;
}

/* False: /proc shows no process. */
static bool read_table(table_t *table)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        descendant_t process;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !descendant_read((pid_t)strtol(entry->d_name, NULL, 10), &process))
            continue;
        if (table->count == table->capacity) {
            table->capacity = table->capacity == 0 ? 256 : 2 * table->capacity;
            table->items = opal_xrealloc(table->items, table->capacity * sizeof *table->items);
        }
        table->items[table->count++] = process;
    }
    closedir(proc);
    return table->count > 0;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const descendant_t *)a)->pid, y = ((const descendant_t *)b)->pid;
    return (x > y) - (x < y);
}

/* Marks the descendants of this process. A child may have a smaller pid than its parent, so the
 * passes are repeated until nothing changes. */
static void mark_ours(table_t *table)
{
    pid_t self = getpid();
    qsort(table->items, table->count, sizeof *table->items, by_pid);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < table->count; i++) {
            descendant_t *process = &table->items[i];
            if (process->is_ours)
                continue;
            descendant_t key = {.pid = process->parent};
            const descendant_t *parent =
                bsearch(&key, table->items, table->count, sizeof key, by_pid);
            if (process->parent == self || (parent != NULL && parent->is_ours))
                process->is_ours = changed = true;
        }
    }
}

bool descendant_signal(const descendant_t *listed, int signal)
{
    descendant_t now;
    int fd = (int)syscall(SYS_pidfd_open, listed->pid, 0);
    if (fd < 0 && errno == ESRCH)
        return false;
    bool same = descendant_read(listed->pid, &now) && now.start == listed->start &&
                (now.parent == listed->parent || now.parent == getpid());
    int error = ESRCH;
    /* Without a pidfd (too many open files; before Linux 5.3) a race with the pid's reuse remains.
     */
    if (same && (fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0)
                         : kill(listed->pid, signal)) == 0)
        error = 0;
    else if (same)
        error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return error == 0;
}

/* Signals all descendants. `*denied`: some may not be signalled, or /proc shows no process. */
static unsigned signal_all(int signal, bool other_groups_only, bool *denied)
{
    table_t table = {0};
    pid_t own_group = getpgrp();
    unsigned count = 0;
    *denied = !read_table(&table);
    if (table.count > 0)
        mark_ours(&table);
    for (size_t i = 0; i < table.count; i++) {
        const descendant_t *process = &table.items[i];
        if (!process->is_ours || process->ended ||
            (other_groups_only && process->group == own_group))
            continue;
        if (descendant_signal(process, signal))
            count++;
        else if (errno == EPERM)
            *denied = true;
    }
    free(table.items);
    return count;
}

unsigned descendants_signal(int signal, bool other_groups_only)
{
    bool denied;
    return signal_all(signal, other_groups_only, &denied);
}

/* Reaps the children that have ended, or waits for one. False: there are no children. */
static bool reap(bool wait, descendant_reaped_fn_t *reaped, void *context)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0) {
        wait = false;
        if (reaped != NULL)
            reaped(pid, status, context);
    }
    return pid == 0 || errno != ECHILD;
}

bool descendants_kill(descendant_reaped_fn_t *reaped, void *context)
{
    while (reap(false, reaped, context)) {
        bool denied;
        if (signal_all(SIGKILL, false, &denied) == 0 && denied)
            return false;
        reap(true, reaped, context);
    }
    return true;
}
