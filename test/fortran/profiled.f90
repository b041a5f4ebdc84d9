! SPDX-License-Identifier: BSD-3-Clause
!
! Tools that stand before MPI_Send: wrapper.c alone, and with FORTRAN_WRAPPER wrapper.f90, too. On
! one rank.
#include "interface.fh"
program profiled
  use, intrinsic :: iso_c_binding
  use checks
#ifdef FORTRAN_WRAPPER
  use wrapper_count
#endif
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  interface
    integer(c_int) function c_sends() bind(C)
      import c_int
    end function c_sends
  end interface
  HANDLE(MPI_Request) :: request
  integer, BUFFER :: got
  integer :: ierror

  call MPI_Init(ierror)
  call MPI_Irecv(got, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, request, ierror)
  call MPI_Send(17, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_F_sync_reg(got)
  call same(got, 17, 'the message arrives')
#ifdef FORTRAN_WRAPPER
  call same(sends, 1, 'the tool in Fortran sees the call')
  call same(c_sends(), 0, 'and the tool in C does not see it again')
#else
  call same(c_sends(), 1, 'the tool in C sees the call of Fortran, once')
#endif
  call MPI_Irecv(got, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, request, ierror)
  call PMPI_Send(18, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_F_sync_reg(got)
  call same(got, 18, 'PMPI_Send')
#ifdef FORTRAN_WRAPPER
  call same(sends, 1, 'PMPI_Send goes past both')
  call same(c_sends(), 0, 'tools')
#else
  call same(c_sends(), 1, 'PMPI_Send goes past the tool')
#endif
  call MPI_Finalize(ierror)
  call checks_finish
end program profiled
