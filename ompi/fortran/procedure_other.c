/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Procedures that C lacks or has in another form: strings whose length is an argument, sizes of
 * variables, statuses of mpi and mpi_f08.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/fortran/fortran.h"
#include "ompi/fortran/section.h"

/* -- strings whose length is an argument ------------------------------------------------------- */

/* C's buffer has a null character more than `length` says. NULL: no memory. */
static char *room_for(int length)
{
    return calloc((size_t)(length < 0 ? 0 : length) + 1, 1);
}

PROCEDURE(mpi_info_get_)
(const MPI_Fint *info, const char *key, const MPI_Fint *valuelen, char *value, MPI_Fint *flag,
 MPI_Fint *ierror, size_t key_length, size_t value_length)
{
    ompi_fortran_text_t c_key;
    int c_flag = 0;
    char *c_value = room_for(*valuelen);
    ompi_fortran_text_get_trimmed(&c_key, key, key_length);
    int outcome = c_value == NULL ? ompi_fortran_fail(MPI_ERR_NO_MEM, "MPI_Info_get")
                                  : CALL(MPI_Info_get)(ompi_fortran_handle(OMPI_INFO, *info),
                                                       c_key.chars, *valuelen, c_value, &c_flag);
    if (c_flag)
        ompi_fortran_text_put(value, value_length, c_value);
    free(c_value);
    ompi_fortran_text_free(&c_key);
    *flag = ompi_fortran_logical(c_flag);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_info_get, MPI_INFO_GET)
SPELL_AS(mpi_info_get, mpi_info_get_f08, MPI_INFO_GET_F08)

/* C counts the final null character in both lengths; a length of 0 asks for the length alone. */

PROCEDURE(mpi_info_get_string_)
(const MPI_Fint *info, const char *key, MPI_Fint *buflen, char *value, MPI_Fint *flag,
 MPI_Fint *ierror, size_t key_length, size_t value_length)
{
    ompi_fortran_text_t c_key;
    int c_flag = 0, length = *buflen > 0 ? *buflen + 1 : *buflen;
    bool is_wanted = length > 0;
    char *c_value = room_for(*buflen);
    ompi_fortran_text_get_trimmed(&c_key, key, key_length);
    int outcome = c_value == NULL
                      ? ompi_fortran_fail(MPI_ERR_NO_MEM, "MPI_Info_get_string")
                      : CALL(MPI_Info_get_string)(ompi_fortran_handle(OMPI_INFO, *info),
                                                  c_key.chars, &length, c_value, &c_flag);
    if (c_flag) {
        *buflen = length - 1;
        if (is_wanted)
            ompi_fortran_text_put(value, value_length, c_value);
    }
    free(c_value);
    ompi_fortran_text_free(&c_key);
    *flag = ompi_fortran_logical(c_flag);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_info_get_string, MPI_INFO_GET_STRING)
SPELL_AS(mpi_info_get_string, mpi_info_get_string_f08, MPI_INFO_GET_STRING_F08)

PROCEDURE(mpi_session_get_nth_pset_)
(const MPI_Fint *session, const MPI_Fint *info, const MPI_Fint *n, MPI_Fint *pset_len,
 char *pset_name, MPI_Fint *ierror, size_t pset_name_length)
{
    int length = *pset_len > 0 ? *pset_len + 1 : *pset_len;
    bool is_wanted = length > 0;
    char *c_name = room_for(*pset_len);
    int outcome = c_name == NULL
                      ? ompi_fortran_fail(MPI_ERR_NO_MEM, "MPI_Session_get_nth_pset")
                      : CALL(MPI_Session_get_nth_pset)(ompi_fortran_handle(OMPI_SESSION, *session),
                                                       ompi_fortran_handle(OMPI_INFO, *info), *n,
                                                       &length, c_name);
    if (outcome == MPI_SUCCESS) {
        *pset_len = length - 1;
        if (is_wanted)
            ompi_fortran_text_put(pset_name, pset_name_length, c_name);
    }
    free(c_name);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_session_get_nth_pset, MPI_SESSION_GET_NTH_PSET)
SPELL_AS(mpi_session_get_nth_pset, mpi_session_get_nth_pset_f08, MPI_SESSION_GET_NTH_PSET_F08)

/* -- statuses: both are C's -------------------------------------------------------------------- */

#define COPY_STATUS(lower, upper)                                                                  \
    PROCEDURE(lower##_)(const MPI_Status *from, MPI_Status *to, MPI_Fint *ierror)                  \
    {                                                                                              \
        memmove(to, from, sizeof *to);                                                             \
        ompi_fortran_return(ierror, MPI_SUCCESS);                                                  \
    }                                                                                              \
    SPELL(lower, upper)

COPY_STATUS(mpi_status_f2f08, MPI_STATUS_F2F08)
SPELL_AS(mpi_status_f2f08, mpi_status_f2f08_f08, MPI_STATUS_F2F08_F08)
COPY_STATUS(mpi_status_f082f, MPI_STATUS_F082F)
SPELL_AS(mpi_status_f082f, mpi_status_f082f_f08, MPI_STATUS_F082F_F08)

/* -- variables --------------------------------------------------------------------------------- */

PROCEDURE(mpi_pcontrol_)(const MPI_Fint *level)
{
    CALL(MPI_Pcontrol)(*level);
}
SPELL(mpi_pcontrol, MPI_PCONTROL)
SPELL_AS(mpi_pcontrol, mpi_pcontrol_f08, MPI_PCONTROL_F08)

/* A call that may change the buffer, as far as the compiler can see: that is its effect. */
PROCEDURE(mpi_f_sync_reg_)(void *buf)
{
    (void)buf;
}
SPELL(mpi_f_sync_reg, MPI_F_SYNC_REG)
SPELL_AS(mpi_f_sync_reg, mpi_f_sync_reg_f08, MPI_F_SYNC_REG_F08)

PROCEDURE(mpi_f_sync_reg_f08ts)(const ompi_fortran_array_t *buf)
{
    (void)buf;
}

PROCEDURE(mpi_sizeof_f08ts)(const ompi_fortran_array_t *x, MPI_Fint *size, MPI_Fint *ierror)
{
    *size = (MPI_Fint)x->element_bytes;
    ompi_fortran_return(ierror, MPI_SUCCESS);
}

/* For compilers whose arrays come without a descriptor. */
#define SIZEOF(bytes)                                                                              \
    PROCEDURE(mpi_sizeof_##bytes)(const void *x, MPI_Fint *size, MPI_Fint *ierror)                 \
    {                                                                                              \
        (void)x;                                                                                   \
        *size = bytes;                                                                             \
        ompi_fortran_return(ierror, MPI_SUCCESS);                                                  \
    }

SIZEOF(1)
SIZEOF(2)
SIZEOF(4)
SIZEOF(8)
SIZEOF(16)
