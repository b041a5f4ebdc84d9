/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of a folder, read without allocating as opendir does: for code before main and inside
 * malloc.
 *
 * Threading: any thread; each walk has a descriptor of its own.
 */
#ifndef OPAL_UTIL_FOLDER_H
#define OPAL_UTIL_FOLDER_H

#include <stdbool.h>

/* Gets an entry, except "." and ".."; `folder` is a descriptor for openat. False: the walk ends. */
typedef bool opal_folder_fn_t(int folder, const char *entry, void *context);

/* Calls `call` for every entry, in no order. False: the folder cannot be read. errno may change. */
bool opal_folder_walk(const char *path, opal_folder_fn_t *call, void *context);

#endif
