/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose main is in C and calls procedures of c_main.f90. */
#include <mpi.h>
#include <stdio.h>

int fortran_sum(MPI_Fint comm, int value);
void fortran_negate(const MPI_Fint *comm, int *value);

int main(int argc, char **argv)
{
    int rank, size, sum, negated = 5;
    MPI_Comm comm;
    MPI_Fint number;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    number = MPI_Comm_c2f(comm);
    sum = fortran_sum(number, rank + 1);
    fortran_negate(&number, &negated);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    if (rank == 0)
        printf("%sok 1 - a sum in Fortran\n%sok 2 - an argument by reference\n1..2\n",
               sum == size * (size + 1) / 2 ? "" : "not ", negated == -5 * size ? "" : "not ");
    return sum != size * (size + 1) / 2 || negated != -5 * size;
}
