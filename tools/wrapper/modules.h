/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled Fortran modules, mpi and mpi_f08, for the compiler at hand.
 *
 * A .mod file can be read by one version of one compiler only, so the modules are installed as
 * sources and compiled when a compiler first needs them. Each compiler has a folder, named by a key
 * of the compiler's name, what it prints for --version, its options, and the sources:
 *
 *   <place>/lock               held by the process that compiles
 *   <place>/<key>/             complete: it was renamed from <key>.making
 *       *.mod                  mpi, mpi_f08, and modules that these use
 *       libmpifort_modules.a   objects of theirs: constants, descriptions of types
 *       features               what is known of the compiler, "name: value", for people too
 *   <place>/<key>.log          if it failed: the commands, and what they printed
 *
 * A place is a folder of the installation, else of the user's cache, else of $TMPDIR: the first one
 * that has the key, or that can be written.
 */
#ifndef MICA_WRAPPER_MODULES_H
#define MICA_WRAPPER_MODULES_H

#include <stdbool.h>

#include "opal/util/text.h"
#include "tools/wrapper/tree.h"

typedef struct modules {
    char *folder;
    char *features; /* the file's text */
} modules_t;

typedef enum modules_status {
    MODULES_FOUND,
    MODULES_NO_COMPILER, /* it cannot be started: errno; nothing was logged */
    MODULES_FAILED,      /* logged */
} modules_status_t;

/* Finds the modules for a compiler, or makes them. modules_free gives back what it allocated. */
modules_status_t modules_find(modules_t *modules, const opal_strings_t *compiler,
                              const tree_t *tree);
void modules_free(modules_t *modules);

/* The value of a feature, malloc'ed; "" if the file does not have it. */
char *modules_feature(const modules_t *modules, const char *name);

/* -- modules_make.c -- */

/*
 * Compiles the modules into a folder, which exists and is empty. Commands, and what they print, are
 * written to the file descriptor `log`. Returns NULL, or what could not be made.
 */
const char *modules_make(const char *folder, const opal_strings_t *compiler, const char *version,
                         const tree_t *tree, int log);

#endif
