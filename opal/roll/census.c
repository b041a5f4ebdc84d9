/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a job has the node's segment open, or a roll of its own (memfd). Each segment is
 * mapped once, however many processes have it.
 */
#include "opal/roll/census.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/node/node.h"
#include "opal/util/text.h"

enum { PATH_BYTES = 64, MOST_ANCESTORS = 64, COPIES = 8 };

/* A loop that has not gone round for so long has ended: it writes every quarter of a second. */
static const uint64_t loop_ended_nsec = 2 * OPAL_NSEC_PER_SEC;

/* Segments that were looked at. */
typedef struct seen {
    ino_t inodes[64];
    size_t count;
} seen_t;

/* -- /proc ------------------------------------------------------------------------------------- */

static bool read_file(int pid, const char *name, char *text, size_t room)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, room - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static int parent_of(int pid)
{
    char text[1024];
    int parent = 0;
    read_file(pid, "stat", text, sizeof text);
    const char *behind = strrchr(text, ')'); /* of the name, which may hold anything */
    return behind != NULL && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool opal_census_descends_from(int pid, int ancestor)
{
    for (int i = 0; pid > 0 && i < MOST_ANCESTORS; i++, pid = parent_of(pid)) {
        if (pid == ancestor)
            return true;
    }
    return false;
}

static void read_state(opal_census_process_t *process)
{
    char text[4096];
    unsigned long long user = 0, system = 0;
    long pages = 0;
    process->state = 0;
    if (!read_file(process->pid, "stat", text, sizeof text))
        return;
    char *open = strchr(text, '('), *behind = strrchr(text, ')');
    if (open == NULL || behind == NULL)
        return;
    sscanf(behind + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &process->state,
           &user, &system);
    *behind = 0;
    snprintf(process->command, sizeof process->command, "%s", open + 1);
    process->cpu_seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    if (read_file(process->pid, "statm", text, sizeof text) && sscanf(text, "%*d %ld", &pages) == 1)
        process->memory_bytes = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    const char *tracer =
        read_file(process->pid, "status", text, sizeof text) ? strstr(text, "TracerPid:") : NULL;
    process->tracer = tracer != NULL ? atoi(tracer + strlen("TracerPid:")) : 0;
}

/* -- rolls ------------------------------------------------------------------------------------- */

static void read_text(char *text, const _Atomic uint64_t *from, size_t length)
{
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = atomic_load_explicit(&from[at / 8], memory_order_relaxed);
        memcpy(text + at, &word, length - at < 8 ? length - at : 8);
    }
}

/* Copies an entry. False: nothing waits there. The other process may write it meanwhile. */
static bool copy_wait(const opal_roll_entry_t *entry, opal_census_wait_t *wait)
{
    char *text = opal_xmalloc(OPAL_ROLL_TEXT_BYTES + 1);
    for (int i = 0; i < COPIES; i++) {
        unsigned version = atomic_load_explicit(&entry->version, memory_order_acquire);
        size_t length = atomic_load_explicit(&entry->length, memory_order_relaxed);
        wait->since_nsec = atomic_load_explicit(&entry->since, memory_order_relaxed);
        wait->written_nsec = atomic_load_explicit(&entry->written, memory_order_relaxed);
        wait->thread = atomic_load_explicit(&entry->thread, memory_order_relaxed);
        if (length > OPAL_ROLL_TEXT_BYTES)
            length = 0;
        read_text(text, entry->text, length);
        text[length] = 0;
        atomic_thread_fence(memory_order_acquire);
        if (length == 0)
            break;
        if ((version & 1) == 0 && version == atomic_load(&entry->version)) {
            wait->text = text;
            return true;
        }
    }
    free(text);
    return false;
}

/* Whether a thread waits for other threads of its process, without a limit of time. */
static bool waits_for_thread(int pid, int thread)
{
    char name[PATH_BYTES], text[256];
    long number = -1;
    unsigned long limit = 1;
    snprintf(name, sizeof name, "task/%d/syscall", thread);
    return read_file(pid, name, text, sizeof text) &&
           sscanf(text, "%ld %*x %*x %*x %lx", &number, &limit) == 2 && number == SYS_futex &&
           limit == 0;
}

static bool waits_in_mpi(const opal_census_process_t *process, int thread)
{
    for (unsigned i = 0; i < process->wait_count; i++) {
        if (process->waits[i].thread == thread)
            return true;
    }
    return false;
}

/* Whether the rank may go on by what that thread does. The library's own threads only see to what
 * comes, but for those that read and write files. */
static bool may_act(int pid, int thread, bool has_threads)
{
    char name[PATH_BYTES], text[64];
    snprintf(name, sizeof name, "task/%d/comm", thread);
    read_file(pid, name, text, sizeof text);
    if (strncmp(text, "mica-io", strlen("mica-io")) == 0)
        return true;
    return has_threads && strncmp(text, "mica-", strlen("mica-")) != 0;
}

/* Whether the process has a thread that may act, and neither waits in MPI nor for other threads.
 * One that may not be looked at counts. */
static bool is_elsewhere(const opal_census_process_t *process, bool has_threads)
{
    char path[PATH_BYTES];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && !found && (entry = readdir(folder)) != NULL;) {
        int thread = atoi(entry->d_name);
        found = thread > 0 && !waits_in_mpi(process, thread) &&
                may_act(process->pid, thread, has_threads) &&
                !waits_for_thread(process->pid, thread);
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* The main thread first. */
static int by_thread(const void *left, const void *right)
{
    const opal_census_wait_t *a = left, *b = right;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* After the state. */
static void read_roll(const opal_roll_t *roll, opal_census_process_t *process)
{
    uint64_t now = opal_clock_nsec();
    for (unsigned i = 0; i < OPAL_ROLL_ENTRIES; i++) {
        opal_census_wait_t wait = {.is_loop = i == OPAL_ROLL_LOOP};
        if (!copy_wait(&roll->entries[i], &wait))
            continue;
        /* Of a process that is stopped, it is as it was. */
        bool is_over = wait.is_loop && now > wait.written_nsec + loop_ended_nsec &&
                       process->state != 'T' && process->state != 't';
        if (is_over)
            free(wait.text);
        else
            process->waits[process->wait_count++] = wait;
    }
    qsort(process->waits, process->wait_count, sizeof process->waits[0], by_thread);
    process->is_elsewhere = process->wait_count > 0 && is_elsewhere(process, roll->has_threads);
}

static opal_census_process_t *add(opal_census_t *census, int pid, unsigned rank, const char *job_id)
{
    census->processes =
        opal_xrealloc(census->processes, (census->count + 1) * sizeof *census->processes);
    opal_census_process_t *process = &census->processes[census->count++];
    *process = (opal_census_process_t){.pid = pid, .rank = rank};
    snprintf(process->job_id, sizeof process->job_id, "%s", job_id);
    read_state(process);
    return process;
}

/* Of a segment of `bytes`. */
static void read_slot(const opal_node_slot_t *slot, const char *job_id, const void *base,
                      size_t bytes, opal_census_t *census)
{
    int pid = atomic_load(&slot->pid);
    if (pid <= 0) /* not yet, or not any more */
        return;
    opal_census_process_t *process = add(census, pid, slot->rank, job_id);
    uint64_t offset = atomic_load(&slot->roll);
    if (offset == 0 || offset > bytes - sizeof(opal_roll_t))
        return;
    const opal_roll_t *roll = (const void *)((const char *)base + offset);
    if (roll->magic == OPAL_ROLL_MAGIC)
        read_roll(roll, process);
}

static void read_segment(int fd, int ancestor, opal_census_t *census)
{
    opal_node_segment_t segment = {.fd = -1};
    if (!opal_node_view_segment(fd, &segment))
        return;
    for (unsigned i = 0; i < opal_segment_ranks(&segment); i++) {
        const opal_node_slot_t *slot = opal_segment_slot(&segment, i);
        if (ancestor == 0 || opal_census_descends_from(atomic_load(&slot->pid), ancestor))
            read_slot(slot, opal_segment_job_id(&segment), segment.base, segment.bytes, census);
    }
    opal_node_destroy(&segment);
}

static void read_alone(int fd, int pid, opal_census_t *census)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || (size_t)status.st_size < sizeof(opal_roll_t))
        return;
    opal_roll_t *roll = mmap(NULL, sizeof *roll, PROT_READ, MAP_SHARED, fd, 0);
    if (roll == MAP_FAILED)
        return;
    if (roll->magic == OPAL_ROLL_MAGIC && roll->pid == pid)
        read_roll(roll, add(census, pid, roll->rank, roll->job_id));
    munmap(roll, sizeof *roll);
}

/* -- finding them ------------------------------------------------------------------------------ */

static bool is_new(seen_t *seen, ino_t inode)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->inodes[i] == inode)
            return false;
    }
    if (seen->count < OPAL_COUNT_OF(seen->inodes))
        seen->inodes[seen->count++] = inode;
    return true;
}

static void look_at_descriptor(int folder, const char *name, int pid, int ancestor,
                               opal_census_t *census, seen_t *seen)
{
    static const char segment[] = "/memfd:" OPAL_NODE_SEGMENT_NAME,
                      roll[] = "/memfd:" OPAL_ROLL_NAME;
    char target[PATH_BYTES];
    struct stat status;
    ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    bool is_segment = strncmp(target, segment, sizeof segment - 1) == 0;
    if (!is_segment && strncmp(target, roll, sizeof roll - 1) != 0)
        return;
    if (is_segment && (fstatat(folder, name, &status, 0) != 0 || !is_new(seen, status.st_ino)))
        return;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_segment)
        read_segment(fd, ancestor, census);
    else
        read_alone(fd, pid, census);
    close(fd);
}

static void look_at_process(int pid, int ancestor, opal_census_t *census, seen_t *seen)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.')
            look_at_descriptor(dirfd(folder), entry->d_name, pid, ancestor, census, seen);
    }
    if (folder != NULL)
        closedir(folder);
}

static int in_order(const void *left, const void *right)
{
    const opal_census_process_t *a = left, *b = right;
    int jobs = strcmp(a->job_id, b->job_id);
    return jobs != 0 ? jobs : (a->rank > b->rank) - (a->rank < b->rank);
}

void opal_census_sort(opal_census_t *census)
{
    if (census->count > 0)
        qsort(census->processes, census->count, sizeof *census->processes, in_order);
}

/* One process may be found twice: by the segment, and by a roll of its own. */
static void unite(opal_census_t *census)
{
    size_t last = 0;
    for (size_t i = 1; i < census->count; i++) {
        opal_census_process_t *first = &census->processes[last], *next = &census->processes[i];
        if (first->pid != next->pid) {
            census->processes[++last] = *next;
            continue;
        }
        for (unsigned k = 0; k < next->wait_count; k++) {
            if (first->wait_count < OPAL_ROLL_ENTRIES)
                first->waits[first->wait_count++] = next->waits[k];
            else
                free(next->waits[k].text); /* nobody has looked its place up */
        }
    }
    if (census->count > 0)
        census->count = last + 1;
}

void opal_census_take(int ancestor, opal_census_t *census)
{
    seen_t seen = {.count = 0};
    *census = (opal_census_t){0};
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid > 0 && (ancestor == 0 || opal_census_descends_from(pid, ancestor)))
            look_at_process(pid, ancestor, census, &seen);
    }
    if (folder != NULL)
        closedir(folder);
    opal_census_sort(census);
    unite(census);
}

void opal_census_take_node(const opal_pmi_job_t *job, opal_census_t *census)
{
    const opal_roll_t *alone = opal_roll_alone();
    *census = (opal_census_t){0};
    for (unsigned i = 0; i < opal_node_ranks(); i++)
        read_slot(opal_node_slot(i), job->job_id, opal_node_base(), opal_node_bytes(), census);
    if (alone != NULL)
        read_roll(alone, add(census, (int)getpid(), job->rank, job->job_id));
    opal_census_sort(census);
    unite(census);
}

void opal_census_free_process(opal_census_process_t *process)
{
    for (unsigned i = 0; i < process->wait_count; i++) {
        free(process->waits[i].text);
        free(process->waits[i].where);
    }
    process->wait_count = 0;
}

void opal_census_free(opal_census_t *census)
{
    for (size_t i = 0; i < census->count; i++)
        opal_census_free_process(&census->processes[i]);
    free(census->processes);
    *census = (opal_census_t){0};
}
