! SPDX-License-Identifier: BSD-3-Clause
! Compiled by mpifort: a program with mpif.h passes buffers of several types to one procedure.
subroutine probe_mismatch(number, fraction)
  implicit none
  integer :: number
  real :: fraction(2)
  external :: takes_buffer
  call takes_buffer(number)
  call takes_buffer(fraction)
end subroutine
