/* SPDX-License-Identifier: BSD-3-Clause */
/* The launcher among the ancestors of this process. */
#include "opal/mca/memory/smheap/launcher.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/util/hash.h"
#include "opal/util/say.h"

enum { PATH_BYTES = 128, MOST_ANCESTORS = 64 };

static int open_of(const char *proc, pid_t pid, const char *file)
{
    char path[PATH_BYTES];
    opal_say_into(path, sizeof path, "%s/%d/%s", proc, (int)pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Whether NAME= begins one of the strings in an environment. One that cannot be read has none. */
static bool has_variable(const char *proc, pid_t pid, const char *name)
{
    char chunk[1024];
    ssize_t got;
    size_t length = strlen(name), matched = 0; /* SIZE_MAX: not in this string */
    bool found = false;
    int fd = open_of(proc, pid, "environ");
    while (fd >= 0 && !found && (got = read(fd, chunk, sizeof chunk)) > 0) {
        for (ssize_t i = 0; i < got && !found; i++) {
            char wanted = matched < length ? name[matched] : '=';
            found = matched == length && chunk[i] == '=';
            if (chunk[i] == 0)
                matched = 0;
            else
                matched = matched != SIZE_MAX && chunk[i] == wanted ? matched + 1 : SIZE_MAX;
        }
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static uint64_t number_at(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

/* Behind the name, which may have spaces and parentheses in it: field 3 comes first. */
static const char *field(const char *text, int number)
{
    const char *at = strrchr(text, ')');
    for (int i = 2; at != NULL && i < number; i++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at;
}

static bool read_parent(const char *proc, pid_t pid, pid_t *parent, uint64_t *started)
{
    char text[1024];
    int fd = open_of(proc, pid, "stat");
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = 0;
    const char *ppid = field(text, 4), *start = field(text, 22);
    if (ppid == NULL || start == NULL)
        return false;
    *parent = (pid_t)number_at(ppid);
    *started = number_at(start);
    return true;
}

/* A hash of variables that are equal in all ranks of a job. */
static uint64_t job_of(opal_memory_variable_fn_t *variable)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    uint64_t hash = OPAL_HASH_START;
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        const char *text = variable(names[i]);
        hash = opal_hash_byte(opal_hash_text(hash, text != NULL ? text : ""), 0xff);
    }
    return hash;
}

bool smheap_find_launcher(const char *proc, opal_memory_variable_fn_t *variable,
                          const char *rank_name, smheap_launcher_t *launcher)
{
    pid_t pid, parent;
    uint64_t started;
    if (!read_parent(proc, getpid(), &pid, &started))
        return false;
    for (int i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
        if (!read_parent(proc, pid, &parent, &started))
            return false;
        if (!has_variable(proc, pid, rank_name)) {
            *launcher =
                (smheap_launcher_t){.pid = pid, .started = started, .job = job_of(variable)};
            return true;
        }
        pid = parent;
    }
    return false;
}
