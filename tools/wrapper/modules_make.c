/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of a Fortran compiler, and the compilation of the modules.
 *
 * All commands run in the new folder and name files without a path, so that the result does not
 * depend on where the sources are: a folder staged by DESTDIR is the installed one.
 *
 * Two of the probes are programs, since only a program that runs shows how its compiler passes an
 * array. If that one is not compiled, linked or run, or sees something else than it should, the
 * modules are compiled of the sources that take arrays by their address.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/text.h"
#include "tools/wrapper/modules.h"
#include "tools/wrapper/process.h"
#include "tools/wrapper/shell.h"

#define ARCHIVE "libmpifort_modules.a"

/* A probe that hangs must not hang the builds of everybody. */
enum { PROBE_SECONDS = 60 };

typedef struct maker {
    const char *folder;
    const opal_strings_t *compiler;
    const tree_t *tree;
    int log;
    opal_text_t features;
} maker_t;

/* Runs a command in the folder; what it prints is in the log, and appended to a text if not NULL.
 */
static bool run(maker_t *maker, const opal_strings_t *command, opal_text_t *text)
{
    opal_text_t output = {0}, shown = {0};
    process_options_t options = {.directory = maker->folder,
                                 .library_dir = text != NULL ? maker->tree->library_dir : NULL,
                                 .seconds = text != NULL ? PROBE_SECONDS : 0};
    for (size_t i = 0; i < command->count; i++)
        shell_quote(&shown, command->items[i]);
    int status = process_read(command->items, options, &output);
    if (status < 0)
        opal_text_printf(&output, "%s\n", strerror(errno));
    dprintf(maker->log, "$ %s\n%s", opal_text_string(&shown), opal_text_string(&output));
    if (text != NULL && status >= 0)
        opal_text_add(text, opal_text_string(&output));
    opal_text_free(&shown);
    opal_text_free(&output);
    return status == 0;
}

/* Runs the compiler with these words; the last one is NULL. */
static bool compile(maker_t *maker, const char *const *words)
{
    opal_strings_t command = {0};
    for (size_t i = 0; i < maker->compiler->count; i++)
        opal_strings_add(&command, maker->compiler->items[i]);
    for (; *words != NULL; words++)
        opal_strings_add(&command, *words);
    bool succeeds = run(maker, &command, NULL);
    opal_strings_free(&command);
    return succeeds;
}

/* -- files of the folder -------------------------------------------------------------------- */

/* Makes a link in the folder to a source. */
static bool bring(maker_t *maker, const char *name)
{
    char *source = opal_xprintf("%s/%s", maker->tree->fortran_dir, name);
    char *link = opal_xprintf("%s/%s", maker->folder, name);
    bool is_there = access(source, R_OK) == 0 && symlink(source, link) == 0;
    if (!is_there)
        dprintf(maker->log, "%s: %s\n", source, strerror(errno));
    free(source);
    free(link);
    return is_there;
}

static void drop(maker_t *maker, const char *name)
{
    char *path = opal_xprintf("%s/%s", maker->folder, name);
    unlink(path);
    free(path);
}

/* -- probes --------------------------------------------------------------------------------- */

/* Compiles, links and runs a program; true if it ends well. What it prints is appended to `text`.
 */
static bool probe(maker_t *maker, const char *source, opal_text_t *text)
{
    char *search = opal_xprintf("-L%s", maker->tree->library_dir);
    char *rpath = opal_xprintf("-Wl,-rpath,%s", maker->tree->library_dir);
    const char *const words[] = {source,          "-o",        "probe", search, rpath,
                                 "-lmpifort_abi", "-lmpi_abi", NULL};
    opal_strings_t command = {0};
    opal_strings_add(&command, "./probe");
    bool succeeds = bring(maker, source) && compile(maker, words) && run(maker, &command, text);
    opal_strings_free(&command);
    drop(maker, "probe");
    drop(maker, source);
    free(search);
    free(rpath);
    return succeeds;
}

/* Whether a source is compiled with an option, which may be NULL. */
static bool accepts(maker_t *maker, const char *source, const char *option)
{
    const char *const words[] = {"-c", source, "-o", "accepted.o", option, NULL};
    bool succeeds = bring(maker, source) && compile(maker, words);
    drop(maker, "accepted.o");
    drop(maker, source);
    return succeeds;
}

/* The literals; without an answer the library has its own, which are those of most compilers. */
static void probe_logical(maker_t *maker)
{
    opal_text_t answer = {0};
    if (probe(maker, "probe_logical.f90", &answer))
        opal_text_add(&maker->features, opal_text_string(&answer));
    else
        opal_text_add(&maker->features, "true: 1\nfalse: 0\nassumed: true, false\n");
    opal_text_free(&answer);
}

/*
 * mpif.h has no interfaces, so one program calls a function with buffers of several types. Newer
 * versions of gfortran refuse that without an option, which other compilers do not know.
 */
static void probe_mismatch(maker_t *maker)
{
    static const char option[] = "-fallow-argument-mismatch", source[] = "probe_mismatch.f90";
    if (!accepts(maker, source, NULL) && accepts(maker, source, option))
        opal_text_printf(&maker->features, "mismatch: %s\n", option);
}

/* True: the modules can have TYPE(*), DIMENSION(..). */
static bool probe_arrays(maker_t *maker)
{
    opal_text_t answer = {0};
    bool succeeds = probe(maker, "probe.f90", &answer);
    if (succeeds)
        opal_text_add(&maker->features, "subarrays: yes\n");
    else
        opal_text_printf(&maker->features, "subarrays: no, %.*s\n",
                         answer.length > 0 ? (int)strcspn(answer.bytes, "\n") : 100,
                         answer.length > 0
                             ? answer.bytes
                             : "no program with TYPE(*), DIMENSION(..) was made and run");
    opal_text_free(&answer);
    return succeeds;
}

/* -- modules -------------------------------------------------------------------------------- */

static bool compile_module(maker_t *maker, const char *name)
{
    char *source = opal_xprintf("%s.f90", name), *object = opal_xprintf("%s.o", name);
    const char *const words[] = {"-c", "-fPIC", source, "-o", object, NULL};
    bool succeeds = bring(maker, source) && compile(maker, words);
    drop(maker, source);
    free(source);
    free(object);
    return succeeds;
}

/* Programs refer to what is in the objects: arrays that are constants, descriptions of types. */
static bool make_archive(maker_t *maker, const char *const *names)
{
    opal_strings_t command = {0};
    shell_split(&command, WRAPPER_AR " rcs " ARCHIVE);
    for (; *names != NULL; names++) {
        char *object = opal_xprintf("%s.o", *names);
        opal_strings_add(&command, object);
        free(object);
    }
    bool succeeds = run(maker, &command, NULL);
    for (size_t i = command.count; i-- > 0 && strcmp(command.items[i], ARCHIVE) != 0;)
        drop(maker, command.items[i]);
    opal_strings_free(&command);
    return succeeds;
}

/* The last file to be written: it stands for all of them. */
static bool write_features(maker_t *maker)
{
    char *path = opal_xprintf("%s/features", maker->folder);
    FILE *file = fopen(path, "w");
    bool is_written = file != NULL && fputs(opal_text_string(&maker->features), file) >= 0;
    if (file != NULL && fclose(file) != 0)
        is_written = false;
    if (!is_written)
        dprintf(maker->log, "%s: %s\n", path, strerror(errno));
    free(path);
    return is_written;
}

const char *modules_make(const char *folder, const opal_strings_t *compiler, const char *version,
                         const tree_t *tree, int log)
{
    static const char *const by_descriptor[] = {"mpi", "mpi_f08", NULL};
    static const char *const by_address[] = {"mpi_address", "mpi_f08_address", NULL};
    maker_t maker = {.folder = folder, .compiler = compiler, .tree = tree, .log = log};
    const char *failed = NULL;

    opal_text_printf(&maker.features, "compiler: %.*s\n", (int)strcspn(version, "\n"), version);
    probe_logical(&maker);
    probe_mismatch(&maker);
    const char *const *names = probe_arrays(&maker) ? by_descriptor : by_address;
    for (int i = 0; failed == NULL && names[i] != NULL; i++)
        if (!compile_module(&maker, names[i]))
            failed = names[i];
    if (failed == NULL && !make_archive(&maker, names))
        failed = ARCHIVE;
    if (failed == NULL && !write_features(&maker))
        failed = "features";
    opal_text_free(&maker.features);
    return failed;
}
