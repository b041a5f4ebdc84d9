/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the modules are: keys, places, the lock, and the renaming that publishes a folder. */
#include "tools/wrapper/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/wrapper/process.h"

/* Changes when this program makes another folder of the same sources. */
static const char format[] = "1";

/* -- the key -------------------------------------------------------------------------------- */

/*
 * Like FNV-1a, eight bytes at a time: the sources are megabytes, and each call of mpifort reads
 * them. It is enough where nobody is to be deceived.
 */
static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < sizeof word ? count - i : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint64_t hash_string(uint64_t hash, const char *string)
{
    return hash_bytes(hash, string, strlen(string) + 1);
}

/* A file that is not there is as good as an empty one: what needs it will say so. */
static uint64_t hash_file(uint64_t hash, const char *path)
{
    char bytes[1 << 16];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0;)
        hash = hash_bytes(hash, bytes, (size_t)got);
    if (file >= 0)
        close(file);
    return hash;
}

static int is_source(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".f90") == 0;
}

static uint64_t hash_sources(uint64_t hash, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_source, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = opal_xprintf("%s/%s", folder, entries[i]->d_name);
        hash = hash_file(hash_string(hash, entries[i]->d_name), path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return hash;
}

static char *make_key(const opal_strings_t *compiler, const char *version, const tree_t *tree)
{
    const char *slash = strrchr(compiler->items[0], '/');
    uint64_t hash = hash_string(UINT64_C(0xcbf29ce484222325), format);
    hash = hash_string(hash, version);
    for (size_t i = 1; i < compiler->count; i++)
        hash = hash_string(hash, compiler->items[i]);
    hash = hash_sources(hash, tree->fortran_dir);
    return opal_xprintf("%s-%016llx", slash != NULL ? slash + 1 : compiler->items[0],
                        (unsigned long long)hash);
}

/* -- places --------------------------------------------------------------------------------- */

/* Makes a folder and those above it. */
static bool make_folders(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    const char *slash = strrchr(path, '/');
    if (errno != ENOENT || slash == NULL || slash == path)
        return false;
    char *above = opal_xstrndup(path, (size_t)(slash - path));
    bool is_made = make_folders(above);
    free(above);
    return is_made && (mkdir(path, 0777) == 0 || errno == EEXIST);
}

/*
 * $TMPDIR is open to others, so the folder there has to be the user's alone: an object file that
 * somebody else had put there would be linked into the user's programs.
 */
static char *temporary_place(void)
{
    const char *temporary = getenv("TMPDIR");
    char *own =
        opal_xprintf("%s/mica-%lu", temporary != NULL && *temporary == '/' ? temporary : "/tmp",
                     (unsigned long)geteuid());
    struct stat found;
    char *place = NULL;
    (void)mkdir(own, 0700); /* what is there is looked at */
    if (lstat(own, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
        (found.st_mode & 077) == 0)
        place = opal_xprintf("%s/fortran", own);
    free(own);
    return place;
}

/* NULL: there is no such place. */
static char *cache_place(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && *cache == '/') /* others are to be ignored */
        return opal_xprintf("%s/mica/fortran", cache);
    if (home != NULL && *home == '/')
        return opal_xprintf("%s/.cache/mica/fortran", home);
    return NULL;
}

static char *place_at(int index, const tree_t *tree)
{
    switch (index) {
    case 0:
        return opal_xstrdup(tree->modules_dir);
    case 1:
        return cache_place();
    default:
        return temporary_place();
    }
}

enum { PLACES = 3 };

static bool has_modules(const char *folder)
{
    char *features = opal_xprintf("%s/features", folder);
    bool is_there = access(features, R_OK) == 0;
    free(features);
    return is_there;
}

/* The lock of a place that can be written; -1 with errno if it cannot. */
static int lock_place(const char *place)
{
    if (!make_folders(place) || access(place, W_OK) != 0)
        return -1;
    char *path = opal_xprintf("%s/lock", place);
    /* Read only: another user who may write into the folder can lock it, too. */
    int lock = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    free(path);
    while (lock >= 0 && flock(lock, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        int error = errno;
        close(lock);
        errno = error;
        return -1;
    }
    return lock;
}

/* -- making --------------------------------------------------------------------------------- */

static void remove_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries != NULL)
        closedir(entries);
    rmdir(folder);
}

static void report_failure(const char *what, const char *log, const opal_strings_t *compiler)
{
    enum { SHOWN_BYTES = 2000 };
    char tail[SHOWN_BYTES + 1] = "";
    int file = open(log, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        off_t size = lseek(file, 0, SEEK_END);
        ssize_t got = pread(file, tail, SHOWN_BYTES, size > SHOWN_BYTES ? size - SHOWN_BYTES : 0);
        tail[got > 0 ? got : 0] = 0;
        close(file);
    }
    for (size_t end = strlen(tail); end > 0 && tail[end - 1] == '\n';)
        tail[--end] = 0;
    opal_log_error("the Fortran modules cannot be compiled by '%s': %s%s%s\nAll of it is in %s",
                   compiler->items[0], what, *tail != 0 ? "\n" : "", tail, log);
}

/* Makes the folder of a key. The caller holds the place's lock. False: it was logged. */
static bool make_in_place(const char *folder, const opal_strings_t *compiler, const char *version,
                          const tree_t *tree)
{
    char *making = opal_xprintf("%s.making", folder), *log_path = opal_xprintf("%s.log", folder);
    const char *failed = NULL;

    remove_folder(making); /* of a process that was killed */
    int log =
        open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (log < 0 || mkdir(making, 0777) != 0)
        failed = strerror(errno);
    else
        failed = modules_make(making, compiler, version, tree, log);
    if (failed == NULL && rename(making, folder) != 0)
        failed = strerror(errno);
    if (log >= 0)
        close(log);
    if (failed == NULL) {
        unlink(log_path);
    } else {
        remove_folder(making);
        report_failure(failed, log_path, compiler);
    }
    free(making);
    free(log_path);
    return failed == NULL;
}

static modules_status_t make_once(const char *folder, int lock, const opal_strings_t *compiler,
                                  const char *version, const tree_t *tree)
{
    mode_t mask = umask(022); /* the installation's are for everybody */
    /* Another process may have made it while this one waited for the lock. */
    bool is_made = has_modules(folder) || make_in_place(folder, compiler, version, tree);
    umask(mask);
    close(lock);
    return is_made ? MODULES_FOUND : MODULES_FAILED;
}

/* Sets *folder to where the modules are, if they are found or were made. */
static modules_status_t find_folder(char **folder, const char *key, const opal_strings_t *compiler,
                                    const char *version, const tree_t *tree)
{
    opal_text_t refused = {0};
    for (int i = 0; i < PLACES; i++) {
        char *place = place_at(i, tree);
        if (place == NULL)
            continue;
        *folder = opal_xprintf("%s/%s", place, key);
        int lock = -1;
        bool is_found = has_modules(*folder);
        if (!is_found && (lock = lock_place(place)) < 0)
            opal_text_printf(&refused, "\n  %s: %s", place, strerror(errno));
        free(place);
        if (is_found || lock >= 0) {
            opal_text_free(&refused);
            return is_found ? MODULES_FOUND : make_once(*folder, lock, compiler, version, tree);
        }
        free(*folder);
        *folder = NULL;
    }
    opal_log_error("there is no place for the compiled Fortran modules:%s\nSet XDG_CACHE_HOME to a "
                   "folder that can be written",
                   opal_text_string(&refused));
    opal_text_free(&refused);
    return MODULES_FAILED;
}

static char *read_text(const char *folder, const char *name)
{
    char *path = opal_xprintf("%s/%s", folder, name), bytes[4096];
    opal_text_t text = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0;)
        opal_text_append(&text, bytes, (size_t)got);
    if (file >= 0)
        close(file);
    free(path);
    return opal_text_take(&text);
}

modules_status_t modules_find(modules_t *modules, const opal_strings_t *compiler,
                              const tree_t *tree)
{
    char *words[] = {compiler->items[0], (char[]){"--version"}, NULL};
    opal_text_t version = {0};
    *modules = (modules_t){0};
    if (process_read(words, (process_options_t){0}, &version) < 0) {
        opal_text_free(&version);
        return MODULES_NO_COMPILER;
    }
    char *key = make_key(compiler, opal_text_string(&version), tree);
    modules_status_t status =
        find_folder(&modules->folder, key, compiler, opal_text_string(&version), tree);
    if (status == MODULES_FOUND)
        modules->features = read_text(modules->folder, "features");
    free(key);
    opal_text_free(&version);
    return status;
}

void modules_free(modules_t *modules)
{
    free(modules->folder);
    free(modules->features);
    *modules = (modules_t){0};
}

char *modules_feature(const modules_t *modules, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = modules->features; line != NULL && *line != 0;) {
        size_t end = strcspn(line, "\n");
        if (strncmp(line, name, length) == 0 && strncmp(line + length, ": ", 2) == 0)
            return opal_xstrndup(line + length + 2, end - length - 2);
        line += end + (line[end] != 0);
    }
    return opal_xstrdup("");
}
