/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the file of a program. Done once for each app before anything is started, so that a wrong
 * name causes one message and not one for each rank.
 */
#ifndef MPIRUN_PROGRAM_H
#define MPIRUN_PROGRAM_H

/*
 * A name with a '/' is a path, relative to `wdir` (NULL: the current directory); any other name is
 * looked up in the directories of `first` (separated by ':'; NULL: none), then of PATH. Returns 0
 * with a malloc'ed path, which may be relative to `wdir`, or STATUS_NOT_FOUND or
 * STATUS_NOT_EXECUTABLE after an error was reported.
 */
int program_find(const char *name, const char *wdir, const char *first, char **path);

#endif
