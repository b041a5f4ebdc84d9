/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding programs as execvp does, with messages that say what is wrong. See program.h. */
#include "tools/mpirun/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/mpirun/job.h"

/* 0, or the errno that says why this file cannot be executed. */
static int try_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* A relative path is relative to the rank's directory. */
static char *seen_from(const char *wdir, const char *path)
{
    if (wdir == NULL || path[0] == '/')
        return opal_xstrdup(path);
    return opal_xprintf("%s/%s", wdir, path);
}

static int report_unusable(const char *name, const char *path, int error)
{
    if (error == EISDIR)
        opal_log_error("cannot execute %s: it is a directory", path);
    else
        opal_log_error(
            "cannot execute %s: %s\nIt is there but may not be executed; try: chmod +x %s", path,
            strerror(error), name);
    return STATUS_NOT_EXECUTABLE;
}

static int find_by_path(const char *name, const char *wdir, char **path)
{
    char *file = seen_from(wdir, name);
    int error = try_file(file);
    if (error == 0)
        *path = opal_xstrdup(name);
    int status = 0;
    if (error == ENOENT || error == ENOTDIR) {
        opal_log_error("program not found: %s%s%s", name, wdir != NULL ? " from directory " : "",
                       wdir != NULL ? wdir : "");
        status = STATUS_NOT_FOUND;
    } else if (error != 0) {
        status = report_unusable(name, file, error);
    }
    free(file);
    return status;
}

static int report_not_in_path(const char *name, const char *wdir, const char *first)
{
    char *here = seen_from(wdir, name);
    bool is_here = try_file(here) == 0;
    free(here);
    opal_log_error("program not found: %s is in no directory of %s%sPATH%s%s", name,
                   first != NULL ? first : "", first != NULL ? " and " : "",
                   is_here ? "; there is one in the current directory, write ./" : "",
                   is_here ? name : "");
    return STATUS_NOT_FOUND;
}

static int find_in_path(const char *name, const char *wdir, const char *first, char **path)
{
    const char *usual = getenv("PATH");
    if (usual == NULL)
        usual = "/usr/local/bin:/usr/bin:/bin";
    char *search = first != NULL ? opal_xprintf("%s:%s", first, usual) : opal_xstrdup(usual);
    char *unusable = NULL;
    int unusable_error = 0;

    for (const char *part = search;; part++) {
        size_t length = strcspn(part, ":");
        char *directory = length == 0 ? opal_xstrdup(".") : opal_xstrndup(part, length);
        char *relative = opal_xprintf("%s/%s", directory, name);
        char *file = seen_from(wdir, relative);
        free(directory);
        int error = try_file(file);
        if (error == 0) {
            free(unusable);
            free(file);
            free(search);
            *path = relative;
            return 0;
        }
        free(relative);
        if (unusable == NULL && error == EACCES) {
            unusable = file;
            unusable_error = error;
        } else {
            free(file);
        }
        part += length;
        if (*part == 0)
            break;
    }
    int status = unusable != NULL ? report_unusable(unusable, unusable, unusable_error)
                                  : report_not_in_path(name, wdir, first);
    free(unusable);
    free(search);
    return status;
}

int program_find(const char *name, const char *wdir, const char *first, char **path)
{
    if (name[0] == 0) {
        opal_log_error("program not found: its name is empty");
        return STATUS_NOT_FOUND;
    }
    return strchr(name, '/') != NULL ? find_by_path(name, wdir, path)
                                     : find_in_path(name, wdir, first, path);
}
