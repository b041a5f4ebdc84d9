/* SPDX-License-Identifier: BSD-3-Clause */
/* The makefile defines WRAPPER_PREFIX and the other directories as they were configured. */
#include "tools/wrapper/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/text.h"

/* The directory of this program, with symbolic links resolved. False: /proc is not there. */
static bool own_directory(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = 0;
    return true;
}

/* The rest of a path below prefix ("/lib"); NULL: the path is not below prefix. */
static const char *below(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 && path[length] == '/' ? path + length : NULL;
}

/*
 * The present prefix: the directory of this program without the configured rest ("/bin").
 * malloc'ed; NULL if the directory does not end in that rest, as in the build tree.
 */
static char *moved_prefix(void)
{
    char directory[PATH_MAX];
    const char *bin = below(WRAPPER_BINDIR, WRAPPER_PREFIX);
    if (bin == NULL || !own_directory(directory, sizeof directory))
        return NULL;
    size_t length = strlen(directory), rest = strlen(bin);
    if (length < rest || strcmp(directory + length - rest, bin) != 0)
        return NULL;
    return opal_xstrndup(directory, length - rest);
}

/* A NULL prefix is the configured one. */
static char *moved(const char *configured, const char *prefix)
{
    const char *rest = prefix != NULL ? below(configured, WRAPPER_PREFIX) : NULL;
    return rest != NULL ? opal_xprintf("%s%s", prefix, rest) : opal_xstrdup(configured);
}

void tree_free(tree_t *tree)
{
    free(tree->include_dir);
    free(tree->library_dir);
    free(tree->fortran_dir);
    free(tree->modules_dir);
    *tree = (tree_t){0};
}

static tree_t tree_below(const char *prefix)
{
    return (tree_t){
        .include_dir = moved(WRAPPER_INCLUDEDIR, prefix),
        .library_dir = moved(WRAPPER_LIBDIR, prefix),
        .fortran_dir = moved(WRAPPER_FORTRANDIR, prefix),
        .modules_dir = moved(WRAPPER_LIBDIR "/mica/fortran", prefix),
    };
}

tree_t tree_find(void)
{
    char *prefix = moved_prefix();

    if (prefix != NULL) {
        tree_t tree = tree_below(prefix);
        char *header = opal_xprintf("%s/mpi.h", tree.include_dir);
        bool is_there = access(header, R_OK) == 0;
        free(header);
        free(prefix);
        if (is_there)
            return tree;
        tree_free(&tree);
    }
    return tree_below(NULL);
}
