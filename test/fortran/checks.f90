! SPDX-License-Identifier: BSD-3-Clause
!
! TAP for MPI programs in Fortran, as test/mpi/tap.h is for C: every rank checks, rank 0 prints. A
! check that fails on another rank is told on stderr and by that rank's exit status.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  implicit none
  private
  public :: check, same, checks_begin, checks_finish

  ! same(got, wanted, text): a failure shows both.
  interface same
    module procedure same_integer, same_long, same_text, same_logical
  end interface

  integer :: made = 0, failed = 0, this_rank = 0
contains
  subroutine checks_begin(rank)
    integer, intent(in) :: rank
    this_rank = rank
  end subroutine checks_begin

  subroutine check(passed, text)
    logical, intent(in) :: passed
    character(len=*), intent(in) :: text
    made = made + 1
    if (.not. passed) failed = failed + 1
    if (this_rank == 0) then
      print '(a,i0,2a)', trim(merge('ok     ', 'not ok ', passed)) // ' ', made, ' - ', text
    else if (.not. passed) then
      write (error_unit, '(a,i0,a,i0,2a)') 'rank ', this_rank, ': not ok ', made, ' - ', text
    end if
  end subroutine check

  subroutine same_long(got, wanted, text)
    integer(int64), intent(in) :: got, wanted
    character(len=*), intent(in) :: text
    character(len=60) :: both
    both = ''
    if (got /= wanted) write (both, '(a,i0,a,i0)') ': it is ', got, ', not ', wanted
    call check(got == wanted, text // trim(both))
  end subroutine same_long

  subroutine same_integer(got, wanted, text)
    integer, intent(in) :: got, wanted
    character(len=*), intent(in) :: text
    call same_long(int(got, int64), int(wanted, int64), text)
  end subroutine same_integer

  subroutine same_logical(got, wanted, text)
    logical, intent(in) :: got, wanted
    character(len=*), intent(in) :: text
    call check(got .eqv. wanted, text)
  end subroutine same_logical

  ! Texts of different lengths differ.
  subroutine same_text(got, wanted, text)
    character(len=*), intent(in) :: got, wanted, text
    if (got == wanted .and. len(got) == len(wanted)) then
      call check(.true., text)
    else
      call check(.false., text // ': it is [' // got // '], not [' // wanted // ']')
    end if
  end subroutine same_text

  ! The plan; ends the program if a check failed.
  subroutine checks_finish
    if (this_rank == 0 .and. made > 0) print '(a,i0)', '1..', made
    if (failed > 0) stop 1
  end subroutine checks_finish
end module checks
