! SPDX-License-Identifier: BSD-3-Clause
!
! Procedures that c_main.c calls: a handle by value and by reference.
#include "interface.fh"
integer(c_int) function fortran_sum(number, value) bind(C)
  use, intrinsic :: iso_c_binding
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer(c_int), value :: number, value
  HANDLE(MPI_Comm) :: comm
  integer :: ierror
  NUMBER(comm) = number
  call MPI_Allreduce(value, fortran_sum, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
end function fortran_sum

subroutine fortran_negate(comm, value) bind(C)
  use, intrinsic :: iso_c_binding
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  HANDLE(MPI_Comm), intent(in) :: comm
  integer(c_int), intent(inout) :: value
  integer :: size, ierror
  call MPI_Comm_size(comm, size, ierror)
  value = -value * size
end subroutine fortran_negate
