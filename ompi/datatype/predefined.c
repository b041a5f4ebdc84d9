/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined datatypes: a table of elements, a table of pairs, and those that Fortran makes by
 * asking for precision and range.
 *
 * An optional type that the compiler has no counterpart for is an object without a shape:
 * MPI_Type_size of it is MPI_UNDEFINED, and nothing else takes it.
 *
 * Threading: init and fini belong to the start and the end of MPI. The list of Fortran's types has
 * a lock.
 */
#include "ompi/datatype/predefined.h"

#include <pthread.h>
#include <stdlib.h>
#include <wchar.h>

#include "opal/include/compiler.h"
#include "ompi/datatype/envelope.h"
#include "ompi/object/number.h"

/* Fortran's kinds of the sizes that C may not have. */
typedef struct absent { /* a type of no bytes */
} absent_t;
#ifdef __SIZEOF_INT128__
typedef __int128 int16_bytes_t;
#else
typedef absent_t int16_bytes_t;
#endif
#if defined __SIZEOF_FLOAT128__
typedef __float128 float16_bytes_t;
#elif __LDBL_MANT_DIG__ == 113
typedef long double float16_bytes_t;
#else
typedef absent_t float16_bytes_t;
#endif
/* clang defines the limits of a type that it refuses on some machines. */
#if defined __FLT16_MANT_DIG__ && !(defined __clang__ && __clang_major__ < 15 && defined __x86_64__)
typedef _Float16 float2_bytes_t;
#else
typedef absent_t float2_bytes_t;
#endif

typedef struct element {
    MPI_Datatype handle;
    const char *name;
    size_t bytes, alignment; /* of one number; 0 bytes: there is no such type here */
    ompi_format_t format;
    unsigned numbers;
    size_t external_bytes; /* of one number */
} element_t;

#define ELEMENT(name, type, format, numbers, external_bytes)                                       \
    {                                                                                              \
        MPI_##name, "MPI_" #name, sizeof(type), _Alignof(type), OMPI_FORMAT_##format, numbers,     \
            external_bytes                                                                         \
    }
#define INTEGER(name, type)        ELEMENT(name, type, INTEGER, 1, sizeof(type))
#define UNSIGNED(name, type)       ELEMENT(name, type, UNSIGNED, 1, sizeof(type))
#define REAL(name, type)           ELEMENT(name, type, FLOAT, 1, sizeof(type))
#define COMPLEX(name, type)        ELEMENT(name, type, FLOAT, 2, sizeof(type))
#define LONG_REAL(name, type)      ELEMENT(name, type, LONG_DOUBLE, 1, 16)
#define LONG_COMPLEX(name, type)   ELEMENT(name, type, LONG_DOUBLE, 2, 16)
#define SIZED(kind, name, c, size) ELEMENT(name, c, kind, 1, size)

/* Of two names for one handle the table has the one that the standard does not call a synonym.
 * external32 was made for a long of 4 bytes and a wchar_t of 2. */
static const element_t elements[] = {
    INTEGER(AINT, MPI_Aint),
    INTEGER(COUNT, MPI_Count),
    INTEGER(OFFSET, MPI_Offset),
    UNSIGNED(PACKED, char),
    UNSIGNED(BYTE, char),
    INTEGER(SHORT, short),
    INTEGER(INT, int),
    SIZED(INTEGER, LONG, long, 4),
    INTEGER(LONG_LONG_INT, long long),
    UNSIGNED(UNSIGNED_SHORT, unsigned short),
    UNSIGNED(UNSIGNED, unsigned),
    SIZED(UNSIGNED, UNSIGNED_LONG, unsigned long, 4),
    UNSIGNED(UNSIGNED_LONG_LONG, unsigned long long),
    UNSIGNED(CHAR, char),
    INTEGER(SIGNED_CHAR, signed char),
    UNSIGNED(UNSIGNED_CHAR, unsigned char),
    SIZED(INTEGER, WCHAR, wchar_t, 2),
    UNSIGNED(C_BOOL, _Bool),
    UNSIGNED(CXX_BOOL, _Bool),
    INTEGER(INT8_T, int8_t),
    INTEGER(INT16_T, int16_t),
    INTEGER(INT32_T, int32_t),
    INTEGER(INT64_T, int64_t),
    UNSIGNED(UINT8_T, uint8_t),
    UNSIGNED(UINT16_T, uint16_t),
    UNSIGNED(UINT32_T, uint32_t),
    UNSIGNED(UINT64_T, uint64_t),
    REAL(FLOAT, float),
    REAL(DOUBLE, double),
    LONG_REAL(LONG_DOUBLE, long double),
    COMPLEX(C_COMPLEX, float),
    COMPLEX(C_DOUBLE_COMPLEX, double),
    LONG_COMPLEX(C_LONG_DOUBLE_COMPLEX, long double),
    COMPLEX(CXX_FLOAT_COMPLEX, float),
    COMPLEX(CXX_DOUBLE_COMPLEX, double),
    LONG_COMPLEX(CXX_LONG_DOUBLE_COMPLEX, long double),

    /* Fortran's default kinds, as compilers have them without options that change them. */
    UNSIGNED(CHARACTER, char),
    INTEGER(LOGICAL, int32_t),
    INTEGER(INTEGER, int32_t),
    REAL(REAL, float),
    REAL(DOUBLE_PRECISION, double),
    COMPLEX(COMPLEX, float),
    COMPLEX(DOUBLE_COMPLEX, double),

    INTEGER(LOGICAL1, int8_t),
    INTEGER(LOGICAL2, int16_t),
    INTEGER(LOGICAL4, int32_t),
    INTEGER(LOGICAL8, int64_t),
    INTEGER(LOGICAL16, int16_bytes_t),
    INTEGER(INTEGER1, int8_t),
    INTEGER(INTEGER2, int16_t),
    INTEGER(INTEGER4, int32_t),
    INTEGER(INTEGER8, int64_t),
    INTEGER(INTEGER16, int16_bytes_t),
    REAL(REAL2, float2_bytes_t),
    REAL(REAL4, float),
    REAL(REAL8, double),
    REAL(REAL16, float16_bytes_t),
    COMPLEX(COMPLEX4, float2_bytes_t),
    COMPLEX(COMPLEX8, float),
    COMPLEX(COMPLEX16, double),
    COMPLEX(COMPLEX32, float16_bytes_t),
};

/* A value and an index, as a C structure has them. */
typedef struct pair {
    MPI_Datatype handle;
    const char *name;
    MPI_Datatype value, index;
    size_t index_offset;
} pair_t;

#define PAIR(name, value_name, value_type, index_name, index_type)                                 \
    {                                                                                              \
        MPI_##name, "MPI_" #name, MPI_##value_name, MPI_##index_name,                              \
            offsetof(                                                                              \
                struct {                                                                           \
                    value_type value;                                                              \
                    index_type index;                                                              \
                },                                                                                 \
                index)                                                                             \
    }

static const pair_t pairs[] = {
    PAIR(FLOAT_INT, FLOAT, float, INT, int),
    PAIR(DOUBLE_INT, DOUBLE, double, INT, int),
    PAIR(LONG_INT, LONG, long, INT, int),
    PAIR(2INT, INT, int, INT, int),
    PAIR(SHORT_INT, SHORT, short, INT, int),
    PAIR(LONG_DOUBLE_INT, LONG_DOUBLE, long double, INT, int),
    PAIR(2REAL, REAL, float, REAL, float),
    PAIR(2DOUBLE_PRECISION, DOUBLE_PRECISION, double, DOUBLE_PRECISION, double),
    PAIR(2INTEGER, INTEGER, int32_t, INTEGER, int32_t),
};

enum {
    ELEMENTS = OPAL_COUNT_OF(elements),
    PAIRS = OPAL_COUNT_OF(pairs),
};

static ompi_datatype_t element_types[ELEMENTS], pair_types[PAIRS];
static ompi_layout_t element_layouts[ELEMENTS];
static ompi_signature_t element_signatures[ELEMENTS];
static ompi_basic_t element_basics[ELEMENTS];

static void define(ompi_datatype_t *type, MPI_Datatype handle, const char *name)
{
    type->head = (ompi_object_t)OMPI_OBJECT_PREDEFINED(OMPI_DATATYPE, handle);
    type->is_predefined = true;
    type->predefined_name = name;
    atomic_init(&type->is_committed, type->shape.layout != NULL);
    ompi_handle_define(&type->head);
}

/* Once: types that outlive the end of MPI refer to them. */
static void define_element_parts(size_t i)
{
    const element_t *element = &elements[i];
    if (element_layouts[i].bytes > 0)
        return;
    element_basics[i] = (ompi_basic_t){element->format, element->numbers, (unsigned)element->bytes,
                                       (unsigned)element->external_bytes};
    ompi_signature_init(&element_signatures[i], &element_basics[i],
                        (unsigned)(uintptr_t)element->handle);
    element_layouts[i] = (ompi_layout_t)OMPI_LAYOUT_STATIC_RUN(element->bytes * element->numbers);
}

static void define_element(size_t i)
{
    const element_t *element = &elements[i];
    ompi_datatype_t *type = &element_types[i];
    MPI_Count bytes = (MPI_Count)(element->bytes * element->numbers);
    *type = (ompi_datatype_t){0};
    if (bytes > 0) {
        define_element_parts(i);
        ompi_datatype_set_shape(type,
                                &(ompi_shape_t){
                                    .layout = &element_layouts[i],
                                    .signature = &element_signatures[i],
                                    .bounds = {.ub = bytes, .true_ub = bytes, .has_data = true},
                                    .alignment = element->alignment,
                                    .element = type,
                                });
    }
    define(type, element->handle, element->name);
}

static int define_pair(size_t i)
{
    const pair_t *pair = &pairs[i];
    ompi_datatype_t *type = &pair_types[i];
    ompi_shape_join_t join;
    ompi_shape_t shape;
    *type = (ompi_datatype_t){0};
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &ompi_datatype_of(pair->value)->shape, 0, 1);
    ompi_shape_join_add(&join, &ompi_datatype_of(pair->index)->shape, (MPI_Count)pair->index_offset,
                        1);
    int outcome = ompi_shape_join_finish(&join, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    shape.element = type;
    ompi_datatype_set_shape(type, &shape);
    define(type, pair->handle, pair->name);
    return MPI_SUCCESS;
}

/* Fortran's types that have no names. */

typedef struct f90 {
    struct f90 *next;
    int combiner, precision, range;
    ompi_datatype_t type;
} f90_t;

static f90_t *f90_types;
static pthread_mutex_t f90_lock = PTHREAD_MUTEX_INITIALIZER;

int ompi_datatype_init(void)
{
    int outcome = MPI_SUCCESS;
    for (size_t i = 0; i < ELEMENTS; i++)
        define_element(i);
    for (size_t i = 0; i < PAIRS && outcome == MPI_SUCCESS; i++)
        outcome = define_pair(i);
    if (outcome != MPI_SUCCESS)
        ompi_datatype_fini();
    return outcome;
}

static void undefine(ompi_datatype_t *type)
{
    if (type->head.mark == 0)
        return; /* init did not come so far */
    ompi_handle_undefine(&type->head);
    free(type->name);
    *type = (ompi_datatype_t){0};
}

void ompi_datatype_fini(void)
{
    while (f90_types != NULL) {
        f90_t *f90 = f90_types;
        f90_types = f90->next;
        ompi_object_release_number(&f90->type.head);
        ompi_envelope_destroy(f90->type.envelope);
        free(f90->type.name);
        free(f90);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        ompi_shape_release(&pair_types[i].shape);
        undefine(&pair_types[i]);
    }
    for (size_t i = 0; i < ELEMENTS; i++)
        undefine(&element_types[i]);
}

size_t ompi_datatype_predefined_bytes(MPI_Datatype handle)
{
    size_t i = 0;
    while (i < ELEMENTS && elements[i].handle != handle)
        i++;
    return i < ELEMENTS ? elements[i].bytes * elements[i].numbers : 0;
}

ompi_datatype_t *ompi_datatype_of_basic(const ompi_basic_t *basic)
{
    return &element_types[basic - element_basics];
}

/* The first supported type of a list that ends with MPI_DATATYPE_NULL and has that many bytes. */
static ompi_datatype_t *of_size(const MPI_Datatype *candidates, size_t bytes)
{
    for (; *candidates != MPI_DATATYPE_NULL; candidates++) {
        ompi_datatype_t *type = ompi_datatype_of(*candidates);
        if (ompi_datatype_is_type(type) && ompi_datatype_size(type) == bytes)
            return type;
    }
    return NULL;
}

ompi_datatype_t *ompi_datatype_match_size(int typeclass, size_t bytes)
{
    static const MPI_Datatype integers[] = {MPI_INTEGER1, MPI_INTEGER2,  MPI_INTEGER4,
                                            MPI_INTEGER8, MPI_INTEGER16, MPI_DATATYPE_NULL};
    static const MPI_Datatype reals[] = {MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16,
                                         MPI_DATATYPE_NULL};
    static const MPI_Datatype complexes[] = {MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16,
                                             MPI_COMPLEX32, MPI_DATATYPE_NULL};
    static const MPI_Datatype logicals[] = {MPI_LOGICAL1, MPI_LOGICAL2,  MPI_LOGICAL4,
                                            MPI_LOGICAL8, MPI_LOGICAL16, MPI_DATATYPE_NULL};
    switch (typeclass) {
    case MPI_TYPECLASS_INTEGER:
        return of_size(integers, bytes);
    case MPI_TYPECLASS_REAL:
        return of_size(reals, bytes);
    case MPI_TYPECLASS_COMPLEX:
        return of_size(complexes, bytes);
    case MPIX_TYPECLASS_LOGICAL:
        return of_size(logicals, bytes);
    default:
        return NULL;
    }
}

ompi_datatype_t *ompi_datatype_value_index(const ompi_datatype_t *value,
                                           const ompi_datatype_t *index)
{
    for (size_t i = 0; i < PAIRS; i++) {
        if (pairs[i].value == value->head.handle && pairs[i].index == index->head.handle)
            return &pair_types[i];
    }
    return NULL;
}

/* The smallest kind that has them, as SELECTED_REAL_KIND and SELECTED_INT_KIND choose it. */
typedef struct kind {
    int precision, range;
    MPI_Datatype real, complex;
} kind_t;

static ompi_datatype_t *real_kind(int combiner, int precision, int range)
{
    static const kind_t kinds[] = {{6, 37, MPI_REAL4, MPI_COMPLEX8},
                                   {15, 307, MPI_REAL8, MPI_COMPLEX16},
                                   {33, 4931, MPI_REAL16, MPI_COMPLEX32}};
    for (size_t i = 0; i < OPAL_COUNT_OF(kinds); i++) {
        if (precision <= kinds[i].precision && range <= kinds[i].range)
            return ompi_datatype_of(combiner == MPI_COMBINER_F90_REAL ? kinds[i].real
                                                                      : kinds[i].complex);
    }
    return NULL;
}

static ompi_datatype_t *integer_kind(int range)
{
    static const kind_t kinds[] = {{0, 2, MPI_INTEGER1, NULL},
                                   {0, 4, MPI_INTEGER2, NULL},
                                   {0, 9, MPI_INTEGER4, NULL},
                                   {0, 18, MPI_INTEGER8, NULL},
                                   {0, 38, MPI_INTEGER16, NULL}};
    for (size_t i = 0; i < OPAL_COUNT_OF(kinds); i++) {
        if (range <= kinds[i].range)
            return ompi_datatype_of(kinds[i].real);
    }
    return NULL;
}

static f90_t *create_f90(int combiner, int precision, int range, const ompi_datatype_t *kind)
{
    f90_t *f90 = calloc(1, sizeof *f90);
    bool is_integer = combiner == MPI_COMBINER_F90_INTEGER;
    ompi_envelope_t *envelope = ompi_envelope_create(combiner, is_integer ? 1 : 2, 0, 0, 0);
    if (f90 == NULL || envelope == NULL) {
        ompi_envelope_destroy(envelope);
        free(f90);
        return NULL;
    }
    if (!is_integer)
        ompi_envelope_add_integer(envelope, precision);
    ompi_envelope_add_integer(envelope, range);
    f90->combiner = combiner;
    f90->precision = precision;
    f90->range = range;
    f90->type.head = (ompi_object_t)OMPI_OBJECT_PREDEFINED(OMPI_DATATYPE, &f90->type);
    ompi_datatype_set_shape(&f90->type, &kind->shape); /* static, as long as this one lives */
    f90->type.envelope = envelope;
    f90->type.is_predefined = true;
    atomic_init(&f90->type.is_committed, true);
    return f90;
}

static f90_t *find_f90(int combiner, int precision, int range)
{
    f90_t *f90 = f90_types;
    while (f90 != NULL &&
           (f90->combiner != combiner || f90->precision != precision || f90->range != range))
        f90 = f90->next;
    return f90;
}

int ompi_datatype_f90(int combiner, int precision, int range, ompi_datatype_t **type)
{
    bool is_integer = combiner == MPI_COMBINER_F90_INTEGER;
    if (!is_integer && precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
        return MPI_ERR_ARG;
    /* MPI_UNDEFINED is less than anything that could be asked for. */
    const ompi_datatype_t *kind =
        is_integer ? integer_kind(range) : real_kind(combiner, precision, range);
    if (!ompi_datatype_is_type(kind))
        return MPI_ERR_ARG;
    pthread_mutex_lock(&f90_lock);
    f90_t *f90 = find_f90(combiner, precision, range);
    if (f90 == NULL) {
        f90 = create_f90(combiner, precision, range, kind);
        if (f90 != NULL) {
            f90->next = f90_types;
            f90_types = f90;
        }
    }
    pthread_mutex_unlock(&f90_lock);
    *type = f90 != NULL ? &f90->type : NULL;
    return f90 != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}
