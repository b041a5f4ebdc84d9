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

static char *moved(const char *configured, const char *prefix)
{
    const char *rest = below(configured, WRAPPER_PREFIX);
    return rest != NULL ? opal_xprintf("%s%s", prefix, rest) : opal_xstrdup(configured);
}

void tree_free(tree_t *tree)
{
    free(tree->include_dir);
    free(tree->library_dir);
    *tree = (tree_t){0};
}

tree_t tree_find(void)
{
    tree_t tree = {0};
    char *prefix = moved_prefix();

    if (prefix != NULL) {
        tree.include_dir = moved(WRAPPER_INCLUDEDIR, prefix);
        tree.library_dir = moved(WRAPPER_LIBDIR, prefix);
        char *header = opal_xprintf("%s/mpi.h", tree.include_dir);
        bool is_there = access(header, R_OK) == 0;
        free(header);
        free(prefix);
        if (is_there)
            return tree;
        tree_free(&tree);
    }
    tree.include_dir = opal_xstrdup(WRAPPER_INCLUDEDIR);
    tree.library_dir = opal_xstrdup(WRAPPER_LIBDIR);
    return tree;
}
