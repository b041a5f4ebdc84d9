/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_INFO_ENV. See env.h. Values that are too long for an info object are cut. */
#include "ompi/info/env.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "ompi/info/memory_kinds.h"

/* Sets a value that may be as long as it likes. */
static int set(ompi_info_t *info, const char *key, const char *value)
{
    char cut[MPI_MAX_INFO_VAL];
    size_t length = strlen(value);
    if (length >= sizeof cut)
        length = sizeof cut - 1;
    memcpy(cut, value, length);
    cut[length] = 0;
    return ompi_info_set(info, key, cut);
}

/* /proc/self/cmdline has the arguments with a 0 behind each. What does not fit is not read. */
static void describe_command(ompi_info_t *info)
{
    char line[2 * MPI_MAX_INFO_VAL];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0)
        return;
    line[length] = 0;
    set(info, "command", line);
    char *arguments = line + strlen(line) + 1, *end = line + length - 1;
    for (char *byte = arguments; byte < end; byte++) {
        if (*byte == 0)
            *byte = ' ';
    }
    if (arguments <= end)
        set(info, "argv", arguments);
}

static void describe_job(unsigned size)
{
    char number[sizeof "4294967295"];
    snprintf(number, sizeof number, "%u", size);
    ompi_info_set(&ompi_info_env, "maxprocs", number);
    ompi_info_set(&ompi_info_env, "soft", number);
}

static void describe_process(void)
{
    struct utsname system;
    char folder[PATH_MAX];
    describe_command(&ompi_info_env);
    if (uname(&system) == 0) {
        set(&ompi_info_env, "host", system.nodename);
        set(&ompi_info_env, "arch", system.machine);
    }
    if (getcwd(folder, sizeof folder) != NULL)
        set(&ompi_info_env, "wdir", folder);
    unsigned size = opal_pmi_announced_size();
    if (size > 0)
        describe_job(size);
}

void ompi_info_env_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe_process);
}

void ompi_info_env_set_job(unsigned size, const char *memory_kinds)
{
    ompi_info_env_prepare();
    describe_job(size);
    if (memory_kinds != NULL)
        set(&ompi_info_env, OMPI_MEMORY_KINDS, memory_kinds);
}

int ompi_info_set_command(ompi_info_t *info, int argc, char *const argv[])
{
    char arguments[MPI_MAX_INFO_VAL] = "";
    size_t length = 0;
    if (argc == 0)
        return MPI_SUCCESS;
    for (int i = 1; i < argc && length < sizeof arguments; i++)
        length += (size_t)snprintf(arguments + length, sizeof arguments - length, "%s%s",
                                   i > 1 ? " " : "", argv[i]);
    int error = set(info, "command", argv[0]);
    if (error != MPI_SUCCESS)
        return error;
    if (argc > 1)
        return ompi_info_set(info, "argv", arguments);
    ompi_info_delete(info, "argv"); /* those of this process */
    return MPI_SUCCESS;
}
