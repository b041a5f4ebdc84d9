/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/attribute/value.h and callback.c: values that one language sets and another one gets, and
 * callbacks in Fortran, which are C functions with the prototypes of Fortran here.
 */
#include "ompi/attribute/attribute.h"

#include "ompi/handle/handle.h"
#include "test/unit/opal/support.h"

enum { C = OMPI_LANGUAGE_C, FORTRAN = OMPI_LANGUAGE_FORTRAN, MPI1 = OMPI_LANGUAGE_FORTRAN_MPI1 };

/* Does not fit an INTEGER, in which it is -5. */
#define LARGE ((MPI_Aint)0x12345678fffffffb)

static void destroy(ompi_object_t *object)
{
    free(object);
}

static ompi_object_t *create(ompi_kind_t kind)
{
    ompi_object_t *object = malloc(sizeof *object);
    ck_assert_ptr_nonnull(object);
    ompi_object_init(object, kind, destroy);
    return object;
}

static void end(ompi_object_t *object)
{
    ck_assert_int_eq(ompi_attributes_delete_all(object), MPI_SUCCESS);
    ompi_object_release(object);
}

static void set(ompi_object_t *object, int keyval, int language, MPI_Aint value)
{
    ck_assert_int_eq(ompi_attribute_set(object, keyval, (void *)value), MPI_SUCCESS);
    if (language != C)
        ompi_attribute_set_language(object, keyval, (ompi_language_t)language);
}

static void *get(ompi_object_t *object, int keyval)
{
    void *value = NULL;
    int flag = 0;
    ck_assert_int_eq(ompi_attribute_get(object, keyval, &value, &flag), MPI_SUCCESS);
    ck_assert(flag);
    return value;
}

static MPI_Aint get_in_fortran(ompi_object_t *object, int keyval)
{
    return ompi_attribute_in_fortran(object, keyval, get(object, keyval));
}

/* Whether C gets a value as one that was set in a language. */
static bool is_in_c(int language, void *got, MPI_Aint value)
{
    switch (language) {
    case FORTRAN:
        return *(MPI_Aint *)got == value;
    case MPI1:
        return *(MPI_Fint *)got == (MPI_Fint)value;
    default:
        return (MPI_Aint)got == value;
    }
}

/* What Fortran gets of it. */
static MPI_Aint in_fortran(int language, MPI_Aint value)
{
    return language == MPI1 ? (MPI_Fint)value : value;
}

/* -- values ---------------------------------------------------------------------------- */

static int make_dup_keyval(ompi_kind_t kind)
{
    int keyval;
    ck_assert_int_eq(ompi_keyval_create(kind, (ompi_attribute_copy_fn_t){.comm = MPI_COMM_DUP_FN},
                                        (ompi_attribute_delete_fn_t){.comm = NULL}, NULL, &keyval),
                     MPI_SUCCESS);
    return keyval;
}

START_TEST(a_value_is_set_in_each_language_and_got_in_each)
{
    static const ompi_kind_t kinds[] = {OMPI_COMM, OMPI_DATATYPE, OMPI_WIN};
    ompi_kind_t kind = kinds[_i / 3];
    int language = _i % 3, keyval = make_dup_keyval(kind);
    ompi_object_t *from = create(kind), *to = create(kind);
    set(from, keyval, language, LARGE);
    ck_assert(is_in_c(language, get(from, keyval), LARGE));
    ck_assert_int_eq(get_in_fortran(from, keyval), in_fortran(language, LARGE));
    ck_assert_int_eq((MPI_Fint)get_in_fortran(from, keyval), -5);

    /* A copy is as the original, and does not end with it. */
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_SUCCESS);
    end(from);
    ck_assert(is_in_c(language, get(to, keyval), LARGE));
    ck_assert_int_eq(get_in_fortran(to, keyval), in_fortran(language, LARGE));

    /* The language is that of the last value. */
    set(to, keyval, (language + 1) % 3, 77);
    ck_assert(is_in_c((language + 1) % 3, get(to, keyval), 77));
    ck_assert_int_eq(get_in_fortran(to, keyval), 77);
    end(to);
    ompi_keyval_free(kind, keyval);
}
END_TEST

START_TEST(c_changes_an_integer_of_fortran)
{
    int keyval = make_dup_keyval(OMPI_COMM);
    ompi_object_t *comm = create(OMPI_COMM);
    set(comm, keyval, FORTRAN, LARGE);
    *(MPI_Aint *)get(comm, keyval) += 2;
    ck_assert_int_eq(get_in_fortran(comm, keyval), LARGE + 2);
    /* Not what the library has given to C: a pointer of a tool. */
    ck_assert_int_eq(ompi_attribute_in_fortran(comm, keyval, comm), (MPI_Aint)comm);
    end(comm);
    ompi_keyval_free(OMPI_COMM, keyval);
}
END_TEST

START_TEST(fortran_gets_predefined_values)
{
    int unit = -3, flavor = MPI_WIN_FLAVOR_CREATE, model = MPI_WIN_UNIFIED;
    MPI_Aint size = LARGE;
    ompi_object_t *win = create(OMPI_WIN), *comm = create(OMPI_COMM);
    ompi_attribute_predefine(win, MPI_WIN_BASE, &unit);
    ompi_attribute_predefine(win, MPI_WIN_SIZE, &size);
    ompi_attribute_predefine(win, MPI_WIN_DISP_UNIT, &unit);
    ompi_attribute_predefine(win, MPI_WIN_CREATE_FLAVOR, &flavor);
    ompi_attribute_predefine(win, MPI_WIN_MODEL, &model);
    ck_assert_int_eq(get_in_fortran(win, MPI_WIN_BASE), (MPI_Aint)&unit);
    ck_assert_int_eq(get_in_fortran(win, MPI_WIN_SIZE), LARGE);
    ck_assert_int_eq(get_in_fortran(win, MPI_WIN_DISP_UNIT), -3);
    ck_assert_int_eq(get_in_fortran(win, MPI_WIN_CREATE_FLAVOR), MPI_WIN_FLAVOR_CREATE);
    ck_assert_int_eq(get_in_fortran(win, MPI_WIN_MODEL), MPI_WIN_UNIFIED);

    ompi_attributes_init(&(opal_pmi_job_t){.node_count = 1, .app_number = 3, .universe_size = 9});
    ompi_attributes_set_tag_ub(1 << 30);
    ck_assert_int_eq(get_in_fortran(comm, MPI_TAG_UB), 1 << 30);
    ck_assert_int_eq(get_in_fortran(comm, MPI_WTIME_IS_GLOBAL), 1);
    ck_assert_int_eq(get_in_fortran(comm, MPI_APPNUM), 3);
    ck_assert_int_eq(get_in_fortran(comm, MPI_UNIVERSE_SIZE), 9);
    ck_assert_int_eq(get_in_fortran(comm, MPI_HOST), MPI_PROC_NULL);
    ck_assert_int_eq(get_in_fortran(comm, MPI_IO), MPI_ANY_SOURCE);
    ck_assert_int_ge(get_in_fortran(comm, MPI_LASTUSEDCODE), MPI_ERR_LASTCODE);
    end(win);
    end(comm);
}
END_TEST

/* -- callbacks ------------------------------------------------------------------------- */

/* What the last callbacks got. */
static struct {
    void *handle; /* of C's, or of the number that Fortran got */
    int keyval;
    MPI_Aint extra, value;
    void *in_c;
} copied, deleted;

static ompi_kind_t callback_kind;
static MPI_Aint result; /* of a copy */
static int flag, copy_error, delete_error;

static int copy_c(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *flag_out)
{
    copied.handle = comm;
    copied.keyval = keyval;
    copied.extra = (MPI_Aint)extra;
    copied.in_c = value;
    *(void **)copy = (void *)result;
    *flag_out = flag;
    return copy_error;
}

static int delete_c(MPI_Comm comm, int keyval, void *value, void *extra)
{
    deleted.handle = comm;
    deleted.keyval = keyval;
    deleted.extra = (MPI_Aint)extra;
    deleted.in_c = value;
    return delete_error;
}

static void copy_fortran(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                         MPI_Aint *copy, MPI_Fint *flag_out, MPI_Fint *error)
{
    copied.handle = ompi_handle_from_int(callback_kind, *handle);
    copied.keyval = *keyval;
    copied.extra = *extra;
    copied.value = *value;
    *copy = result;
    *flag_out = flag;
    *error = copy_error;
}

static void delete_fortran(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                           MPI_Fint *error)
{
    deleted.handle = ompi_handle_from_int(callback_kind, *handle);
    deleted.keyval = *keyval;
    deleted.extra = *extra;
    deleted.value = *value;
    *error = delete_error;
}

static void copy_mpi1(MPI_Fint *handle, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *value,
                      MPI_Fint *copy, MPI_Fint *flag_out, MPI_Fint *error)
{
    copied.handle = ompi_handle_from_int(callback_kind, *handle);
    copied.keyval = *keyval;
    copied.extra = *extra;
    copied.value = *value;
    *copy = (MPI_Fint)result;
    *flag_out = flag;
    *error = copy_error;
}

static void delete_mpi1(MPI_Fint *handle, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra,
                        MPI_Fint *error)
{
    deleted.handle = ompi_handle_from_int(callback_kind, *handle);
    deleted.keyval = *keyval;
    deleted.extra = *extra;
    deleted.value = *value;
    *error = delete_error;
}

/* With LARGE as the extra state. As the Fortran library does it, by the types of C. */
static int make_keyval(ompi_kind_t kind, int language)
{
    static const ompi_attribute_copy_fn_t copies[] = {
        {.comm = copy_c}, {.fortran = copy_fortran}, {.fortran_mpi1 = copy_mpi1}};
    static const ompi_attribute_delete_fn_t deletes[] = {
        {.comm = delete_c}, {.fortran = delete_fortran}, {.fortran_mpi1 = delete_mpi1}};
    int keyval;
    callback_kind = kind;
    ck_assert_int_eq(
        ompi_keyval_create(kind, copies[language], deletes[language], (void *)LARGE, &keyval),
        MPI_SUCCESS);
    if (language != C)
        ompi_keyval_set_language(kind, keyval, (ompi_language_t)language);
    return keyval;
}

/* A value that is set in one language comes to callbacks in another one. */
START_TEST(callbacks_get_values_as_their_language_does)
{
    int set_in = _i % 3, callback_in = _i / 3;
    int keyval = make_keyval(OMPI_COMM, callback_in);
    MPI_Aint expected = in_fortran(callback_in, in_fortran(set_in, LARGE));
    ompi_object_t *from = create(OMPI_COMM), *to = create(OMPI_COMM);
    set(from, keyval, set_in, LARGE);
    flag = 4; /* not the .TRUE. of every compiler */
    result = LARGE - 1;
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_SUCCESS);
    ck_assert_ptr_eq(copied.handle, from);
    ck_assert_int_eq(copied.keyval, keyval);
    ck_assert_int_eq(copied.extra, in_fortran(callback_in, LARGE));
    if (callback_in == C)
        ck_assert_ptr_eq(copied.in_c, get(from, keyval)); /* it may keep the pointer */
    else
        ck_assert_int_eq(copied.value, expected);

    /* What the callback gives is of its own language. */
    ck_assert(is_in_c(callback_in, get(to, keyval), LARGE - 1));
    ck_assert_int_eq(get_in_fortran(to, keyval), in_fortran(callback_in, LARGE - 1));

    void *in_c = get(from, keyval);
    ck_assert_int_eq(ompi_attribute_delete(from, keyval), MPI_SUCCESS);
    ck_assert_ptr_eq(deleted.handle, from);
    ck_assert_int_eq(deleted.keyval, keyval);
    ck_assert_int_eq(deleted.extra, in_fortran(callback_in, LARGE));
    if (callback_in == C)
        ck_assert_ptr_eq(deleted.in_c, in_c);
    else
        ck_assert_int_eq(deleted.value, expected);
    end(to);
    end(from);
    ompi_keyval_free(OMPI_COMM, keyval);
}
END_TEST

START_TEST(callbacks_in_fortran_fail_and_refuse)
{
    static const ompi_kind_t kinds[] = {OMPI_COMM, OMPI_DATATYPE, OMPI_WIN};
    ompi_kind_t kind = kinds[_i / 2];
    int keyval = make_keyval(kind, _i % 2 == 0 ? FORTRAN : MPI1);
    ompi_object_t *from = create(kind), *to = create(kind);
    set(from, keyval, FORTRAN, 8);
    flag = 0;
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_SUCCESS);
    ck_assert_ptr_eq(copied.handle, from);
    ck_assert_ptr_null(to->attributes);
    flag = 1;
    copy_error = MPI_ERR_IO;
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_ERR_IO);
    ck_assert_ptr_null(to->attributes);

    delete_error = MPI_ERR_ACCESS;
    ck_assert_int_eq(ompi_attribute_delete(from, keyval), MPI_ERR_ACCESS);
    ck_assert_int_eq(ompi_attribute_set(from, keyval, NULL), MPI_ERR_ACCESS);
    ck_assert_int_eq(get_in_fortran(from, keyval), 8);
    delete_error = MPI_SUCCESS;
    end(from);
    ck_assert_ptr_eq(deleted.handle, from);
    end(to);
    ompi_keyval_free(kind, keyval);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_value_is_set_in_each_language_and_got_in_each, .repeats = 9},
    {.test = &c_changes_an_integer_of_fortran},
    {.test = &fortran_gets_predefined_values},
    {.test = &callbacks_get_values_as_their_language_does, .repeats = 9},
    {.test = &callbacks_in_fortran_fail_and_refuse, .repeats = 6},
};

UNIT_MAIN("callback", tests, NULL);
