/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each predefined datatype is for operations: its kind and its class.
 *
 * More than the standard asks for: MPI_CHAR counts as a C integer, since programs reduce flags
 * as such and other libraries let them.
 */
#include "ompi/op/kernel.h"

#define SIZED(type, of1, of2, of4, of8)                                                            \
    (sizeof(type) == 1   ? OMPI_OP_##of1                                                           \
     : sizeof(type) == 2 ? OMPI_OP_##of2                                                           \
     : sizeof(type) == 4 ? OMPI_OP_##of4                                                           \
                         : OMPI_OP_##of8)
#define SIGNED_KIND(type)   SIZED(type, INT8, INT16, INT32, INT64)
#define UNSIGNED_KIND(type) SIZED(type, UINT8, UINT16, UINT32, UINT64)

#define TYPE(name, kind, class_name)                                                               \
    [(uintptr_t)MPI_##name - OMPI_OP_FIRST_HANDLE] = {(kind), OMPI_OP_##class_name}
#define SIGNED(name, type)   TYPE(name, SIGNED_KIND(type), INTEGER)
#define UNSIGNED(name, type) TYPE(name, UNSIGNED_KIND(type), INTEGER)
#define LOGICAL(name, type)  TYPE(name, SIGNED_KIND(type), LOGICAL)
#define REAL(name, kind)     TYPE(name, OMPI_OP_##kind, REAL)
#define COMPLEX(name, kind)  TYPE(name, OMPI_OP_COMPLEX_##kind, COMPLEX)
#define PAIR(name, kind)     TYPE(name, OMPI_OP_##kind, PAIR)

const ompi_op_type_t ompi_op_types[OMPI_OP_HANDLES] = {
    SIGNED(SIGNED_CHAR, char),
    SIGNED(SHORT, short),
    SIGNED(INT, int),
    SIGNED(LONG, long),
    SIGNED(LONG_LONG, long long),
    UNSIGNED(UNSIGNED_CHAR, char),
    UNSIGNED(UNSIGNED_SHORT, short),
    UNSIGNED(UNSIGNED, int),
    UNSIGNED(UNSIGNED_LONG, long),
    UNSIGNED(UNSIGNED_LONG_LONG, long long),
    TYPE(CHAR, (char)-1 < 0 ? OMPI_OP_INT8 : OMPI_OP_UINT8, INTEGER),
    SIGNED(INT8_T, int8_t),
    SIGNED(INT16_T, int16_t),
    SIGNED(INT32_T, int32_t),
    SIGNED(INT64_T, int64_t),
    UNSIGNED(UINT8_T, uint8_t),
    UNSIGNED(UINT16_T, uint16_t),
    UNSIGNED(UINT32_T, uint32_t),
    UNSIGNED(UINT64_T, uint64_t),
    SIGNED(AINT, MPI_Aint),
    SIGNED(COUNT, MPI_Count),
    SIGNED(OFFSET, MPI_Offset),
    SIGNED(INTEGER, int32_t),
    SIGNED(INTEGER1, int8_t),
    SIGNED(INTEGER2, int16_t),
    SIGNED(INTEGER4, int32_t),
    SIGNED(INTEGER8, int64_t),
    TYPE(INTEGER16, OMPI_OP_INT128, INTEGER),

    REAL(FLOAT, FLOAT),
    REAL(DOUBLE, DOUBLE),
    REAL(LONG_DOUBLE, LONG_DOUBLE),
    REAL(REAL, FLOAT),
    REAL(DOUBLE_PRECISION, DOUBLE),
    REAL(REAL2, FLOAT16),
    REAL(REAL4, FLOAT),
    REAL(REAL8, DOUBLE),
    REAL(REAL16, FLOAT128),

    COMPLEX(C_FLOAT_COMPLEX, FLOAT),
    COMPLEX(C_DOUBLE_COMPLEX, DOUBLE),
    COMPLEX(C_LONG_DOUBLE_COMPLEX, LONG_DOUBLE),
    COMPLEX(CXX_FLOAT_COMPLEX, FLOAT),
    COMPLEX(CXX_DOUBLE_COMPLEX, DOUBLE),
    COMPLEX(CXX_LONG_DOUBLE_COMPLEX, LONG_DOUBLE),
    COMPLEX(COMPLEX, FLOAT),
    COMPLEX(DOUBLE_COMPLEX, DOUBLE),
    COMPLEX(COMPLEX4, FLOAT16),
    COMPLEX(COMPLEX8, FLOAT),
    COMPLEX(COMPLEX16, DOUBLE),
    COMPLEX(COMPLEX32, FLOAT128),

    LOGICAL(C_BOOL, _Bool),
    LOGICAL(CXX_BOOL, _Bool),
    LOGICAL(LOGICAL, int32_t),
    LOGICAL(LOGICAL1, int8_t),
    LOGICAL(LOGICAL2, int16_t),
    LOGICAL(LOGICAL4, int32_t),
    LOGICAL(LOGICAL8, int64_t),
    TYPE(LOGICAL16, OMPI_OP_INT128, LOGICAL),

    TYPE(BYTE, OMPI_OP_UINT8, BYTE),

    PAIR(FLOAT_INT, FLOAT_INT),
    PAIR(DOUBLE_INT, DOUBLE_INT),
    PAIR(LONG_INT, LONG_INT),
    PAIR(2INT, INT_INT),
    PAIR(SHORT_INT, SHORT_INT),
    PAIR(LONG_DOUBLE_INT, LONG_DOUBLE_INT),
    PAIR(2REAL, FLOAT_FLOAT),
    PAIR(2DOUBLE_PRECISION, DOUBLE_DOUBLE),
    PAIR(2INTEGER, INT_INT),
};
