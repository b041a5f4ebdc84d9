/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directories of the installed files. If the installation was moved or mounted elsewhere, the
 * directory of this program gives the new prefix.
 */
#ifndef MICA_WRAPPER_TREE_H
#define MICA_WRAPPER_TREE_H

typedef struct tree {
    char *include_dir; /* holds mpi.h */
    char *library_dir;
    char *fortran_dir; /* sources of the Fortran modules */
    char *modules_dir; /* the modules, compiled */
} tree_t;

/* Never fails; tree_free gives back what it allocated. */
tree_t tree_find(void);
void tree_free(tree_t *tree);

#endif
