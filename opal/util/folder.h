/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of a folder for those who may not allocate, as opendir does: before main, inside of
 * malloc.
 *
 * Threading: any thread; each walk has a descriptor of its own.
 */
#ifndef OPAL_UTIL_FOLDER_H
#define OPAL_UTIL_FOLDER_H

#include <stdbool.h>

/* Takes an entry, but for "." and ".."; `folder` is for openat and its like. False: that is enough.
 */
typedef bool opal_folder_fn_t(int folder, const char *entry, void *context);

/* Calls for every entry, in no order. False: the folder cannot be read. errno may change. */
bool opal_folder_walk(const char *path, opal_folder_fn_t *call, void *context);

#endif
