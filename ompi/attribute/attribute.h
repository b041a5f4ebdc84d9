/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes: values that a program caches on communicators, datatypes and windows.
 *
 * A keyval is a number that stands for a key: the kind of object that the key is for, and the
 * callbacks that copy and delete its values. Keyvals are counted: a keyval that is freed while
 * objects have values for it lives on, under its number, until the last of these values is deleted.
 *
 * Functions that make and end such objects call:
 *
 *   duplicate    ompi_attributes_copy_all(old, new), before the user gets the new object
 *   free         ompi_attributes_delete_all(object); if it fails, the object is not freed
 *   window       ompi_attribute_predefine(window, MPI_WIN_BASE, base) and so on, when the window is
 *                made; what the value points to lives as long as the window
 *
 * Functions return an MPI error code: one of their own, or what a callback returned.
 *
 * Threading: any thread. One lock guards the keyvals and the values of all objects. The lock is not
 * held while a callback runs; the callback may call anything but the deletion of its own value.
 */
#ifndef OMPI_ATTRIBUTE_H
#define OMPI_ATTRIBUTE_H

#include "opal/include/compiler.h"
#include "opal/mca/pmi/pmi.h"
#include "ompi/attribute/keyval.h"
#include "ompi/object/object.h"

/* MPI_ERR_NO_MEM: there is no room for another one. */
int ompi_keyval_create(ompi_kind_t kind, ompi_attribute_copy_fn_t copy,
                       ompi_attribute_delete_fn_t delete, void *extra_state, int *number);

/* The language of the callbacks of a keyval that the program has not got yet. */
OPAL_EXPORT void ompi_keyval_set_language(ompi_kind_t kind, int number, ompi_language_t language);

/* MPI_ERR_KEYVAL: there is no such keyval for that kind, or it is predefined. A second call for a
 * keyval that lives on does nothing. */
int ompi_keyval_free(ompi_kind_t kind, int number);

/*
 * MPI_ERR_KEYVAL: the keyval is not for this kind of object, is predefined, or was freed. An older
 * value is deleted first; if its callback fails, the older value stays.
 */
int ompi_attribute_set(ompi_object_t *object, int number, void *value);

/* After MPI_Comm_set_attr and so on with an integer that Fortran sets, cast to a pointer. */
OPAL_EXPORT void ompi_attribute_set_language(ompi_object_t *object, int number,
                                             ompi_language_t language);

/* *flag: whether the object has a value, which is as C gets it (value.h). MPI_ERR_KEYVAL: the
 * keyval is not for this kind of object. */
int ompi_attribute_get(ompi_object_t *object, int number, void **value, int *flag);

/* After MPI_Comm_get_attr and so on: what Fortran gets as a value that C gets as `in_c`. */
OPAL_EXPORT MPI_Aint ompi_attribute_in_fortran(ompi_object_t *object, int number, void *in_c);

/* MPI_ERR_KEYVAL: the keyval is not for this kind of object, or is predefined, or the object has no
 * value for it. If the callback fails, the value stays. */
int ompi_attribute_delete(ompi_object_t *object, int number);

/* Calls the copy callbacks, the oldest value first. If one fails, the copies are deleted. */
int ompi_attributes_copy_all(ompi_object_t *from, ompi_object_t *to);

/* Deletes all values, the newest first, or until a callback fails. */
int ompi_attributes_delete_all(ompi_object_t *object);

/* For an object that ends with MPI: frees its values without calling their callbacks. */
void ompi_attributes_forget_all(ompi_object_t *object);

/* Gives an object the value of a predefined keyval, which the program cannot change. */
int ompi_attribute_predefine(ompi_object_t *object, int number, void *value);

/* The predefined attributes of communicators, which all of them have: see predefined.c. */
void ompi_attributes_init(const opal_pmi_job_t *job);
void ompi_attributes_set_tag_ub(int value); /* known when messages have started */
bool ompi_attribute_of_comms(int number, void **value);

#endif
