! SPDX-License-Identifier: BSD-3-Clause
! Run by mpifort: prints the bit patterns that this compiler has for .TRUE. and .FALSE.
program probe_logical
  implicit none
  logical :: literals(2)
  literals = [.true., .false.]
  write (*, '(a, i0)') 'true: ', transfer(literals(1), 1)
  write (*, '(a, i0)') 'false: ', transfer(literals(2), 1)
end program
