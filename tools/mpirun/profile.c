/* SPDX-License-Identifier: BSD-3-Clause */
/* See profile.h. */
#include "tools/mpirun/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/profile/layout.h"
#include "opal/util/log.h"

/* -- before the job --------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Records of an earlier job would be taken for those of this one. */
static void remove_records(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (begins_with(entry->d_name, OPAL_PROFILE_PREFIX) &&
            (strstr(entry->d_name, OPAL_PROFILE_SUFFIX) != NULL ||
             strstr(entry->d_name, ".trace") != NULL))
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries != NULL)
        closedir(entries);
}

static bool prepare_folder(const char *option, const char *folder)
{
    struct stat status;
    bool is_good = (mkdir(folder, 0777) == 0 || errno == EEXIST) && stat(folder, &status) == 0;
    if (is_good && !S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        is_good = false;
    }
    if (is_good && access(folder, W_OK | X_OK) == 0) {
        remove_records(folder);
        return true;
    }
    opal_log_error("%s: nothing can be written into the directory '%s': %s", option, folder,
                   strerror(errno));
    return false;
}

static bool prepare_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        opal_log_error("--trace: the file '%s' cannot be written: %s", path, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

bool profile_prepare(const options_t *options)
{
    if (options->profile != NULL && !prepare_folder("--profile", options->profile))
        return false;
    if (options->trace == NULL)
        return true;
    if (!prepare_file(options->trace))
        return false;
    char *parts = opal_xprintf("%s.parts", options->trace);
    bool is_good = options->profile != NULL || prepare_folder("--trace", parts);
    free(parts);
    return is_good;
}

/* -- behind it -------------------------------------------------------------------------------- */

/* The program beside this one. */
static char *tool_path(void)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = 0;
    char *slash = strrchr(own, '/');
    return opal_xprintf("%.*s/mica-profile", slash != NULL ? (int)(slash - own) : 0, own);
}

/* Its output goes where errors go: standard output is the program's. Signals are not blocked in it.
 */
static int start_tool(char *const arguments[], pid_t *pid)
{
    char *path = tool_path();
    sigset_t none;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int error = posix_spawn(pid, path, &actions, &attributes, arguments, environ);
    if (error != 0)
        opal_log_error("cannot start %s, which makes the report: %s", path, strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(path);
    return error;
}

static void run_tool(char *const arguments[])
{
    pid_t pid;
    int status;
    if (start_tool(arguments, &pid) != 0)
        return;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
}

void profile_report(const options_t *options)
{
    char *folder = options->profile, *trace = options->trace;
    if (folder != NULL)
        run_tool((char *[]){"mica-profile", folder, NULL});
    if (trace != NULL)
        run_tool((char *[]){"mica-profile", "--trace", trace, folder, NULL});
}
