! SPDX-License-Identifier: BSD-3-Clause
!
! A tool in Fortran that stands before MPI_Send. The standard says by which name: that of mpi_f08
! with array sections is MPI_Send_f08ts.
#include "interface.fh"
module wrapper_count
  implicit none
  integer :: sends = 0
end module wrapper_count

#ifdef USE_MPI_F08
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror) bind(C, &
    name='mpi_send_f08ts')
  use wrapper_count
  use mpi_f08, only: MPI_Datatype, MPI_Comm, PMPI_Send
  implicit none
  type(*), dimension(..), intent(in), asynchronous :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  sends = sends + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine MPI_Send_f08ts
#else
subroutine MPI_Send(buf, count, datatype, dest, tag, comm, ierror)
  use wrapper_count
#ifdef USE_MPI
  use mpi, only: PMPI_Send
#endif
  implicit none
  integer :: buf(*), count, datatype, dest, tag, comm, ierror
  sends = sends + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine MPI_Send
#endif
