/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/wrapper/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/include/compiler.h"

static void prefer_libraries(const char *directory)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    char *path =
        old != NULL && *old != 0 ? opal_xprintf("%s:%s", directory, old) : opal_xstrdup(directory);
    setenv("LD_LIBRARY_PATH", path, 1);
    free(path);
}

/* In the child. A failure is written to `report`, which exec closes. */
OPAL_NORETURN static void become(char *const *words, const process_options_t *options, int report)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int output = options->output > 0 ? options->output : nothing;
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 &&
        (options->directory == NULL || chdir(options->directory) == 0)) {
        setenv("LC_ALL", "C", 1);
        if (options->library_dir != NULL)
            prefer_libraries(options->library_dir);
        alarm(options->seconds); /* exec keeps it */
        execvp(words[0], words);
    }
    int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Starts a program. Returns its process, or -1 with errno. */
static pid_t start(char *const *words, const process_options_t *options)
{
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        become(words, options, report[1]);
    error = child < 0 ? errno : 0;
    close(report[1]);
    while (child > 0 && read(report[0], &error, sizeof error) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (error == 0)
        return child;
    if (child > 0)
        waitpid(child, NULL, 0);
    errno = error;
    return -1;
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int process_run(char *const *words, const process_options_t *options)
{
    pid_t child = start(words, options);
    return child < 0 ? -1 : wait_for(child);
}

int process_read(char *const *words, process_options_t options, opal_text_t *text)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    options.output = ends[1];
    pid_t child = start(words, &options);
    int error = errno;
    close(ends[1]);
    char bytes[4096];
    for (ssize_t got; child > 0 && (got = read(ends[0], bytes, sizeof bytes)) != 0;) {
        if (got > 0)
            opal_text_append(text, bytes, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    close(ends[0]);
    errno = error;
    return child < 0 ? -1 : wait_for(child);
}
