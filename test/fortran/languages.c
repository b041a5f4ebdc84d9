/* SPDX-License-Identifier: BSD-3-Clause */
/* The C half of languages.f90, which declares these functions. Handles are Fortran's numbers. */
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

int c_init(void)
{
    return MPI_Init(NULL, NULL);
}

/* -- attributes ------------------------------------------------------------------------------- */

static char variable; /* its address is a value */
static MPI_Aint copied_aint;
static int copied_int;

void *c_variable(void)
{
    return &variable;
}

void c_set_attr(MPI_Fint comm, int keyval)
{
    MPI_Comm_set_attr(MPI_Comm_f2c(comm), keyval, &variable);
}

/* What C gets: the pointer, and what it points to as an int or an MPI_Aint. */
void *c_get_attr(MPI_Fint comm, int keyval)
{
    void *value;
    int flag;
    MPI_Comm_get_attr(MPI_Comm_f2c(comm), keyval, &value, &flag);
    return flag ? value : NULL;
}

int c_get_int(MPI_Fint comm, int keyval)
{
    const int *value = c_get_attr(comm, keyval);
    return value != NULL ? *value : -1;
}

MPI_Aint c_get_aint(MPI_Fint comm, int keyval)
{
    const MPI_Aint *value = c_get_attr(comm, keyval);
    return value != NULL ? *value : -1;
}

void *c_get_win_attr(MPI_Fint win, int keyval)
{
    void *value;
    int flag;
    MPI_Win_get_attr(MPI_Win_f2c(win), keyval, &value, &flag);
    return flag ? value : NULL;
}

static int copy_value(MPI_Comm comm, int keyval, void *extra_state, void *value, void *copy,
                      int *flag)
{
    (void)comm;
    (void)keyval;
    (void)copy;
    if (extra_state != NULL)
        copied_aint = *(MPI_Aint *)value;
    else
        copied_int = *(int *)value;
    *flag = 0;
    return MPI_SUCCESS;
}

/* A keyval with a copy function in C, which keeps what a value points to. */
int c_create_keyval(int is_new)
{
    int keyval;
    MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &keyval, is_new ? &variable : NULL);
    return keyval;
}

MPI_Aint c_copied_aint(void)
{
    return copied_aint;
}

int c_copied_int(void)
{
    return copied_int;
}

/* -- handles ---------------------------------------------------------------------------------- */

/* The number comes back by both names of the functions. */
#define COMES_BACK(kind, number)                                                                   \
    (MPI_##kind##_c2f(MPI_##kind##_f2c(number)) == (number) &&                                     \
     MPI_##kind##_toint(MPI_##kind##_fromint(number)) == (number) &&                               \
     MPI_##kind##_f2c(number) == MPI_##kind##_fromint(number))

bool c_knows_comm(MPI_Fint comm, int size)
{
    int found = -1;
    return COMES_BACK(Comm, comm) && MPI_Comm_size(MPI_Comm_f2c(comm), &found) == MPI_SUCCESS &&
           found == size;
}

bool c_knows_group(MPI_Fint group, int size)
{
    int found = -1;
    return COMES_BACK(Group, group) &&
           MPI_Group_size(MPI_Group_f2c(group), &found) == MPI_SUCCESS && found == size;
}

bool c_knows_type(MPI_Fint type, int size)
{
    int found = -1;
    return COMES_BACK(Type, type) && MPI_Type_size(MPI_Type_f2c(type), &found) == MPI_SUCCESS &&
           found == size;
}

bool c_knows_op(MPI_Fint op, int commutes)
{
    int found = -1;
    return COMES_BACK(Op, op) && MPI_Op_commutative(MPI_Op_f2c(op), &found) == MPI_SUCCESS &&
           found == commutes;
}

bool c_knows_info(MPI_Fint info, int keys)
{
    int found = -1;
    return COMES_BACK(Info, info) &&
           MPI_Info_get_nkeys(MPI_Info_f2c(info), &found) == MPI_SUCCESS && found == keys;
}

bool c_knows_errhandler(MPI_Fint errhandler, MPI_Fint comm)
{
    MPI_Errhandler found;
    bool is_same;
    MPI_Comm_get_errhandler(MPI_Comm_f2c(comm), &found);
    is_same = found == MPI_Errhandler_f2c(errhandler);
    MPI_Errhandler_free(&found);
    return COMES_BACK(Errhandler, errhandler) && is_same;
}

bool c_knows_win(MPI_Fint win, int size)
{
    MPI_Group group = MPI_GROUP_NULL;
    int found = -1;
    MPI_Win_get_group(MPI_Win_f2c(win), &group);
    MPI_Group_size(group, &found);
    MPI_Group_free(&group);
    return COMES_BACK(Win, win) && found == size;
}

bool c_knows_file(MPI_Fint file, int amode)
{
    int found = -1;
    return COMES_BACK(File, file) &&
           MPI_File_get_amode(MPI_File_f2c(file), &found) == MPI_SUCCESS && found == amode;
}

bool c_knows_session(MPI_Fint session)
{
    int sets = 0;
    return COMES_BACK(Session, session) &&
           MPI_Session_get_num_psets(MPI_Session_f2c(session), MPI_INFO_NULL, &sets) ==
               MPI_SUCCESS &&
           sets > 0;
}

bool c_knows_message(MPI_Fint message)
{
    return COMES_BACK(Message, message);
}

/* Completes a request of Fortran; the result is the number of what remains. */
MPI_Fint c_wait(MPI_Fint request)
{
    MPI_Request c_request = MPI_Request_f2c(request);
    if (!COMES_BACK(Request, request))
        return -1;
    MPI_Wait(&c_request, MPI_STATUS_IGNORE);
    return MPI_Request_c2f(c_request);
}

/* Objects that C makes. */
MPI_Fint c_dup(MPI_Fint comm)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_Comm_f2c(comm), &copy);
    return MPI_Comm_c2f(copy);
}

MPI_Fint c_type(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INTEGER, &type);
    MPI_Type_commit(&type);
    return MPI_Type_c2f(type);
}

static void sum_and_thousand(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i] + 1000;
}

MPI_Fint c_op(void)
{
    MPI_Op op;
    MPI_Op_create(sum_and_thousand, 1, &op);
    return MPI_Op_c2f(op);
}

/* Fortran's operation is used from C. */
int c_reduce(int in, int inout, MPI_Fint op)
{
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, MPI_Op_f2c(op));
    return inout;
}

/* An error in C whose handler is Fortran's. */
int c_fail(MPI_Fint comm)
{
    return MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_Comm_f2c(comm));
}

/* -- statuses --------------------------------------------------------------------------------- */

/* A status of Fortran, changed by C. */
int c_swap_status(MPI_Fint *f_status)
{
    MPI_Status status;
    int source, count;
    if (MPI_Status_f2c(f_status, &status) != MPI_SUCCESS ||
        MPI_Get_count(&status, MPI_INT, &count) != MPI_SUCCESS)
        return -1;
    source = status.MPI_SOURCE;
    status.MPI_SOURCE = status.MPI_TAG;
    status.MPI_TAG = source;
    MPI_Status_set_elements(&status, MPI_INT, count + 1);
    return MPI_Status_c2f(&status, f_status) == MPI_SUCCESS ? count : -1;
}
