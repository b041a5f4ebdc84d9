/* SPDX-License-Identifier: BSD-3-Clause */
/* WRAPPER_PREFIX and its kin come from the makefile, as configure was told. */
#include "tools/wrapper/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/text.h"

/* The directory of this program, symbolic links resolved; false: /proc does not tell. */
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

/* What is left of path behind prefix ("/lib"), or NULL if it is not below it. */
static const char *below(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 && path[length] == '/' ? path + length : NULL;
}

/*
 * The prefix as it is now: our directory without its configured rest ("/bin"). malloc'ed; NULL if
 * this program is not in such a place, which is so in the build tree.
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
