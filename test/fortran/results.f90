! SPDX-License-Identifier: BSD-3-Clause

! Fortran's side of recorder.c: what the subroutines that calls.py writes compare results with.
module results
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: wide = c_int64_t
  integer, parameter :: failing = 1, plain = 2, constants = 3  ! see calls.py
  integer(c_int), bind(C, name='recorder_buffers') :: buffers(8, 4)
  type(c_funptr), bind(C, name='recorder_functions') :: functions(3)

  interface
    subroutine recorder_begin(name, error, pass) bind(C)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: error, pass
    end subroutine recorder_begin
    subroutine finish(ierror) bind(C, name='recorder_finish')
      import
      integer(c_int), value :: ierror
    end subroutine finish
    subroutine recorder_finish_without_c(name, ierror) bind(C)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ierror
    end subroutine recorder_finish_without_c
    subroutine recorder_difference(name, wanted, found) bind(C)
      import
      character(kind=c_char), intent(in) :: name(*), wanted(*), found(*)
    end subroutine recorder_difference
  end interface

  ! Compares a result with what was wanted.
  interface got
    module procedure got_integer, got_integers, got_wide, got_wides, got_logical, got_real
  end interface got
contains
  ! The procedure that is called next: the C function must return this error in the pass failing.
  subroutine begin(name, error, pass)
    character(len=*), intent(in) :: name
    integer, intent(in) :: error, pass
    call recorder_begin(name // c_null_char, error, pass)
  end subroutine begin

  subroutine finish_without_c(name, ierror)
    character(len=*), intent(in) :: name
    integer, intent(in) :: ierror
    call recorder_finish_without_c(name // c_null_char, ierror)
  end subroutine finish_without_c

  subroutine difference(name, wanted, found)
    character(len=*), intent(in) :: name, wanted, found
    call recorder_difference(name // c_null_char, wanted // c_null_char, found // c_null_char)
  end subroutine difference

  subroutine got_wide(name, wanted, found)
    character(len=*), intent(in) :: name
    integer(wide), intent(in) :: wanted, found
    character(len=24) :: texts(2)
    if (wanted == found) return
    write (texts, '(i0)') wanted, found
    call difference(name, trim(texts(1)), trim(texts(2)))
  end subroutine got_wide

  subroutine got_integer(name, wanted, found)
    character(len=*), intent(in) :: name
    integer, intent(in) :: wanted, found
    call got_wide(name, int(wanted, wide), int(found, wide))
  end subroutine got_integer

  subroutine got_wides(name, wanted, found)
    character(len=*), intent(in) :: name
    integer(wide), intent(in) :: wanted(:), found(:)
    integer :: i
    do i = 1, size(wanted)
      call got_wide(name, wanted(i), found(i))
    end do
  end subroutine got_wides

  subroutine got_integers(name, wanted, found)
    character(len=*), intent(in) :: name
    integer, intent(in) :: wanted(:), found(:)
    call got_wides(name, int(wanted, wide), int(found, wide))
  end subroutine got_integers

  subroutine got_logical(name, wanted, found)
    character(len=*), intent(in) :: name
    logical, intent(in) :: wanted, found
    if (wanted .neqv. found) &
      call difference(name, trim(merge('true ', 'false', wanted)), &
                      trim(merge('true ', 'false', found)))
  end subroutine got_logical

  subroutine got_real(name, wanted, found)
    character(len=*), intent(in) :: name
    real(8), intent(in) :: wanted, found
    call got_wide(name, int(wanted, wide), int(found, wide))
  end subroutine got_real

  ! A string of which `used` characters were given: they have what is wanted and blanks; the others
  ! are as they were.
  subroutine got_text(name, wanted, found, used)
    character(len=*), intent(in) :: name, wanted, found
    integer, intent(in) :: used
    character(len=used) :: filled
    filled = wanted
    if (found(:used) /= filled .or. verify(found(used + 1:), '#') /= 0) &
      call difference(name, wanted, trim(found))
  end subroutine got_text

  ! A string with blanks at the end; a long one in the pass failing.
  subroutine set_text(pass, text, variable)
    integer, intent(in) :: pass
    character(len=*), intent(in) :: text
    character(len=*), intent(out) :: variable
    variable = text
    if (pass == failing) variable = text // repeat('x', len(variable) - len(text))
  end subroutine set_text
end module results
