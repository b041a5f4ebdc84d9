/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading /proc, which changes meanwhile: a process that has ended is skipped. */
#include "tools/heap/find.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/node/region_file.h"
#include "opal/roll/census.h"
#include "opal/util/text.h"

enum { PATH_BYTES = 64 };

static const char link_start[] = "/memfd:" OPAL_REGION_NAME;

static bool is_number(const char *text)
{
    return text[0] != 0 && text[strspn(text, "0123456789")] == 0;
}

static void read_line(int pid, const char *file, char *line, size_t room)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    line[0] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, line, room - 1);
    close(fd);
    line[got > 0 ? got : 0] = 0;
    for (char *c = line; *c != 0; c++)
        if (!isprint((unsigned char)*c))
            *c = *c == '\n' ? 0 : '?';
}

/* Finds the region that a process has open. False: it has none. */
static bool look_at_process(int pid, found_region_t *found)
{
    char path[PATH_BYTES], target[PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    bool has_one = false;
    for (struct dirent *entry; folder != NULL && !has_one && (entry = readdir(folder)) != NULL;) {
        ssize_t length = is_number(entry->d_name)
                             ? readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1)
                             : -1;
        if (length < (ssize_t)strlen(link_start))
            continue;
        target[length] = 0;
        has_one = strncmp(target, link_start, strlen(link_start)) == 0 &&
                  fstatat(dirfd(folder), entry->d_name, &status, 0) == 0;
        if (has_one)
            *found = (found_region_t){
                .inode = status.st_ino, .pid = pid, .fd = atoi(entry->d_name), .holders = 1};
    }
    if (folder != NULL)
        closedir(folder);
    return has_one;
}

static int by_pid(const void *left, const void *right)
{
    const found_region_t *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

size_t find_regions(int pid, found_region_t **regions)
{
    found_region_t *list = NULL, found;
    size_t count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int other = is_number(entry->d_name) ? atoi(entry->d_name) : 0;
        if (other <= 0 || !look_at_process(other, &found) ||
            (pid != 0 && !opal_census_descends_from(other, pid)))
            continue;
        size_t i = 0;
        while (i < count && list[i].inode != found.inode)
            i++;
        if (i < count) {
            list[i].holders++;
            if (found.pid < list[i].pid) {
                list[i].pid = found.pid;
                list[i].fd = found.fd;
            }
            if (found.pid > list[i].youngest)
                list[i].youngest = found.pid;
            continue;
        }
        list = opal_xrealloc(list, (count + 1) * sizeof *list);
        found.youngest = found.pid;
        list[count++] = found;
    }
    if (folder != NULL)
        closedir(folder);
    for (size_t i = 0; i < count; i++)
        read_line(list[i].youngest, "comm", list[i].command, sizeof list[i].command);
    if (count > 0)
        qsort(list, count, sizeof *list, by_pid);
    *regions = list;
    return count;
}

int find_open(const found_region_t *region)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", region->pid, region->fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}
