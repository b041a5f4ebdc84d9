/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The literals of LOGICAL come from the program: mpifort asks the compiler, and where they are not
 * 1 and 0 it links with -Wl,--defsym=mpifort_logical_true=VALUE, and _false. These symbols have an
 * address and no memory. In all other programs they are undefined, and weak.
 *
 * libmpi_abi is told the literals, and the sizes of Fortran's types.
 */
#include "ompi/fortran/logical.h"

#include <stdint.h>

extern const char mpifort_logical_true[] __attribute__((weak));
extern const char mpifort_logical_false[] __attribute__((weak));

ompi_fortran_literals_t ompi_fortran_literals = {.true_value = 1, .false_value = 0};

/* False is what an undefined symbol has, too, so it needs no default. */
static void read_literals(void)
{
    MPI_Fint true_value = (MPI_Fint)(intptr_t)mpifort_logical_true;
    MPI_Fint false_value = (MPI_Fint)(intptr_t)mpifort_logical_false;
    if (true_value != false_value)
        ompi_fortran_literals = (ompi_fortran_literals_t){true_value, false_value};
}

/* A program that has loaded this library late, by dlopen, may have told all this before. */
static void tell_literals(void)
{
    int is_set = 0;
    ompi_fortran_literals_t copy = ompi_fortran_literals;
    PMPI_Abi_get_fortran_booleans(sizeof copy.true_value, NULL, NULL, &is_set);
    if (!is_set)
        PMPI_Abi_set_fortran_booleans(sizeof copy.true_value, &copy.true_value, &copy.false_value);
}

static void tell_sizes(void)
{
    MPI_Info info = MPI_INFO_NULL;
    PMPI_Abi_get_fortran_info(&info);
    if (info == MPI_INFO_NULL) {
        PMPI_Info_create(&info);
        PMPI_Info_set(info, "mpi_logical_size", "4");
        PMPI_Info_set(info, "mpi_integer_size", "4");
        PMPI_Info_set(info, "mpi_real_size", "4");
        PMPI_Info_set(info, "mpi_double_precision_size", "8");
        PMPI_Abi_set_fortran_info(info);
    }
    PMPI_Info_free(&info);
}

/* Runs after the constructors of libmpi_abi, which this library is linked to. */
__attribute__((constructor)) static void tell_about_fortran(void)
{
    read_literals();
    tell_literals();
    tell_sizes();
}
