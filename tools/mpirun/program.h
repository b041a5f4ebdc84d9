/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which file a program's name means. Done once per app and before anything is
 * started, so that a wrong name is one message and not one a rank.
 */
#ifndef MPIRUN_PROGRAM_H
#define MPIRUN_PROGRAM_H

/*
 * A name with a '/' is a path, seen from `wdir` (NULL: the current directory); any
 * other is looked up in PATH. 0 with a malloc'ed path, which is relative to wdir if
 * it is relative, or STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE after it has said why.
 */
int program_find(const char *name, const char *wdir, char **path);

#endif
