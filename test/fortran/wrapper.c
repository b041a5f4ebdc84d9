/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool in C that stands before MPI_Send. */
#include <mpi.h>

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int c_sends(void)
{
    return sends;
}
