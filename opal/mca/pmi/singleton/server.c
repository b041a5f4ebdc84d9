/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts "mpirun --serve FD" (tools/mpirun/client.c), which talks PMI-1 through the socket FD as to
 * any rank. It goes into the background at once: this process has no child that would surprise the
 * program. It has a session of its own, since an interrupt of the terminal or of a notebook is
 * meant for the program, which may go on; it ends when this process does, however that ends.
 */
#include "opal/mca/pmi/singleton/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/mca/base/dso.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

/* Where mpirun finds its socket. */
#define SERVE_FD              20
#define TEXT_OF(number)       TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

char *server_mpirun;

static struct {
    pthread_mutex_t lock; /* of the connection, and of starting */
    opal_pmi_connection_t connection;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .connection = {.fd = -1}};

/* The mpirun of this library, in the folder bin of its prefix; malloc'ed. NULL: there is none. */
static char *find_mpirun(void)
{
    static const char *const ways[] = {"/../../bin/mpirun", "/../../../bin/mpirun"};
    if (server_mpirun != NULL && server_mpirun[0] != 0)
        return opal_xstrdup(server_mpirun);
    for (size_t i = 0; i < OPAL_COUNT_OF(ways); i++) {
        char *path = opal_xprintf("%s%s", opal_dso_directory(), ways[i]);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    opal_log_error("pmi/singleton: this program has no launcher, and there is no mpirun to start: "
                   "not in bin beside %s. Run the program by mpirun -n 1, or set "
                   "OMPI_MCA_pmi_singleton_mpirun to its path.",
                   opal_dso_directory());
    return NULL;
}

/* Signals as a shell would hand them down. Returns an errno. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, handled;
    sigemptyset(&none);
    sigfillset(&handled);
    int error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    return error == 0 ? posix_spawnattr_setsigdefault(attributes, &handled) : error;
}

static int set_files(posix_spawn_file_actions_t *files, int fd)
{
    int error = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    return error == 0 ? posix_spawn_file_actions_adddup2(files, fd, SERVE_FD) : error;
}

/* Returns an errno; 0: it runs in the background. */
static int execute(const char *path, int fd)
{
    char *argv[] = {(char *)path, "--serve", TEXT_OF(SERVE_FD), NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    int error = set_attributes(&attributes);
    if (error == 0)
        error = set_files(&files, fd);
    if (error == 0)
        error = posix_spawn(&pid, path, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        return error;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return 0; /* how it ended is unknown where SIGCHLD is ignored; the socket tells */
}

static opal_status_t start(void)
{
    int ends[2];
    char *path = find_mpirun();
    if (path == NULL)
        return OPAL_ERR_NOT_AVAILABLE;
    int error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ? errno : 0;
    if (error == 0) {
        error = execute(path, ends[1]);
        close(ends[1]);
        if (error != 0)
            close(ends[0]);
    }
    if (error != 0)
        opal_log_error("pmi/singleton: cannot start %s, which this program needs to start "
                       "processes and to publish names: %s",
                       path, strerror(error));
    free(path);
    if (error != 0)
        return OPAL_ERR_SYSTEM;
    server.connection.fd = ends[0];
    server.connection.used = server.connection.length = 0;
    return opal_pmi_ask(&server.connection, "response_to_init",
                        "cmd=init pmi_version=1 pmi_subversion=1");
}

static void drop(void)
{
    if (server.connection.fd >= 0)
        close(server.connection.fd);
    server.connection.fd = -1;
}

/* It ends when a process that it has started fails; then another one is started on need. */
static bool is_connected(void)
{
    struct pollfd end = {.fd = server.connection.fd, .events = POLLIN};
    if (server.connection.fd >= 0 && poll(&end, 1, 0) > 0)
        drop();
    return server.connection.fd >= 0;
}

opal_status_t server_enter(opal_pmi_launcher_t *launcher)
{
    pthread_mutex_lock(&server.lock);
    opal_status_t status = is_connected() ? OPAL_SUCCESS : start();
    if (status != OPAL_SUCCESS) {
        drop();
        pthread_mutex_unlock(&server.lock);
        return status;
    }
    *launcher = (opal_pmi_launcher_t){&server.connection, true};
    return OPAL_SUCCESS;
}

void server_leave(void)
{
    pthread_mutex_unlock(&server.lock);
}

bool server_runs(void)
{
    pthread_mutex_lock(&server.lock);
    bool runs = is_connected();
    pthread_mutex_unlock(&server.lock);
    return runs;
}

void server_end(void)
{
    pthread_mutex_lock(&server.lock);
    if (is_connected())
        opal_pmi_ask(&server.connection, "finalize_ack", "cmd=finalize");
    drop();
    pthread_mutex_unlock(&server.lock);
}
