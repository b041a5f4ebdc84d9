/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes: values that a program caches on communicators, datatypes and windows.
 *
 * A keyval is a number that stands for a key: the kind of object that it is for, and the callbacks
 * that copy and delete its values. Keyvals are counted: one that is freed while values have it
 * lives on, under its number, until the last of these is deleted.
 *
 * For who makes and ends such objects:
 *
 *   duplicate    ompi_attributes_copy_all(old, new), before the user gets the new one
 *   free         ompi_attributes_delete_all(object); if it fails, the object is not freed
 *   window       ompi_attribute_predefine(window, MPI_WIN_BASE, base) and so on, when it is made;
 *                what the value points to lives as long as the window
 *
 * Functions return an MPI error code: one of their own, or what a callback returned.
 *
 * Threading: any thread. One lock guards keyvals and the values of all objects; it is not held
 * while a callback runs, which may call anything but the deletion of its own value.
 */
#ifndef OMPI_ATTRIBUTE_H
#define OMPI_ATTRIBUTE_H

#include "opal/mca/pmi/pmi.h"
#include "ompi/attribute/keyval.h"
#include "ompi/object/object.h"

/* MPI_ERR_NO_MEM: there is no room for another one. */
int ompi_keyval_create(ompi_kind_t kind, ompi_attribute_copy_fn_t copy,
                       ompi_attribute_delete_fn_t delete, void *extra_state, int *number);

/* MPI_ERR_KEYVAL: it is none of that kind, or predefined. A second time for one that lives on does
 * nothing. */
int ompi_keyval_free(ompi_kind_t kind, int number);

/*
 * MPI_ERR_KEYVAL: it is none for this kind of object, or it is predefined or freed and not for
 * setting. An older value is deleted first; if that fails, it stays.
 */
int ompi_attribute_set(ompi_object_t *object, int number, void *value);

/* *flag: whether there is a value. MPI_ERR_KEYVAL: likewise, but for any keyval in use. */
int ompi_attribute_get(ompi_object_t *object, int number, void **value, int *flag);

/* MPI_ERR_KEYVAL: likewise, or the object has no such value. If the callback fails, it stays. */
int ompi_attribute_delete(ompi_object_t *object, int number);

/* Copies what the callbacks say, the oldest first. If one fails, what was copied is deleted. */
int ompi_attributes_copy_all(ompi_object_t *from, ompi_object_t *to);

/* Deletes all, the newest first, or until a callback fails. */
int ompi_attributes_delete_all(ompi_object_t *object);

/* For an object that ends with MPI: its values go without a call. */
void ompi_attributes_forget_all(ompi_object_t *object);

/* Gives an object the value of a predefined keyval, which the program cannot change. */
int ompi_attribute_predefine(ompi_object_t *object, int number, void *value);

/* The predefined attributes of communicators, which all of them have: see predefined.c. */
void ompi_attributes_init(const opal_pmi_job_t *job);
void ompi_attributes_set_tag_ub(int value); /* known when messages have started */
bool ompi_attribute_of_comms(int number, void **value);

#endif
