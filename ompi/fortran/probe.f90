! SPDX-License-Identifier: BSD-3-Clause
! Run by mpifort: does this compiler pass TYPE(*), DIMENSION(..) as the descriptor that libmpifort_abi
! reads? Ends with status 0 if it does; otherwise it prints the first array that was described wrongly.
program probe
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    ! ompi/fortran/probe.c; 0, or the number of what differs.
    function mpifort_probe_array(array, base, element_bytes, rank, extents, strides) bind(C) result(differs)
      import :: c_ptr, c_int, c_size_t, c_intptr_t
      type(*), dimension(..), intent(in), asynchronous :: array
      type(c_ptr), value :: base
      integer(c_size_t), value :: element_bytes
      integer(c_int), value :: rank
      integer(c_intptr_t), intent(in) :: extents(*), strides(*)
      integer(c_int) :: differs
    end function
  end interface

  integer, parameter :: wide = c_intptr_t
  integer(wide), parameter :: none(1) = 0_wide

  call probe_sections
  call probe_types

contains

  subroutine expect(what, differs)
    character(*), intent(in) :: what
    integer(c_int), intent(in) :: differs
    character(14), parameter :: parts(5) = [character(14) :: 'address', 'element length', 'rank', 'extent', 'stride']
    if (differs == 0) return
    write (*, '(5a)') 'the ', trim(parts(differs)), ' of ', what, ' has another place or value'
    stop 1
  end subroutine

  subroutine probe_open(open_array, open_matrix)
    integer, target :: open_array(*), open_matrix(2, *)
    call expect('an array x(*)', mpifort_probe_array(open_array, c_loc(open_array), 4_c_size_t, 1, &
      [-1_wide], [4_wide]))
    call expect('an array x(2,*)', mpifort_probe_array(open_matrix, c_loc(open_matrix), 4_c_size_t, 2, &
      [2_wide, -1_wide], [4_wide, 8_wide]))
  end subroutine

  subroutine probe_shape(shaped, base)
    integer :: shaped(:)
    type(c_ptr), intent(in) :: base
    call expect('a section that was passed on', mpifort_probe_array(shaped, base, 4_c_size_t, 1, &
      [4_wide], [12_wide]))
  end subroutine

  subroutine probe_sections
    integer, target :: line(10), matrix(4, 5)
    integer, pointer :: part(:)
    integer, allocatable, target :: heap(:, :)
    call expect('a row of elements', mpifort_probe_array(line, c_loc(line), 4_c_size_t, 1, [10_wide], [4_wide]))
    call expect('a matrix', mpifort_probe_array(matrix, c_loc(matrix), 4_c_size_t, 2, &
      [4_wide, 5_wide], [4_wide, 16_wide]))
    call expect('every second element', mpifort_probe_array(line(2:9:2), c_loc(line(2)), 4_c_size_t, 1, &
      [4_wide], [8_wide]))
    call expect('elements backwards', mpifort_probe_array(line(10:1:-3), c_loc(line(10)), 4_c_size_t, 1, &
      [4_wide], [-12_wide]))
    call expect('a block of a matrix', mpifort_probe_array(matrix(2:3, 1:5:2), c_loc(matrix(2, 1)), &
      4_c_size_t, 2, [2_wide, 3_wide], [4_wide, 32_wide]))
    call expect('a row of a matrix', mpifort_probe_array(matrix(3, :), c_loc(matrix(3, 1)), 4_c_size_t, 1, &
      [5_wide], [16_wide]))
    call expect('no elements', mpifort_probe_array(line(1:0), c_null_ptr, 4_c_size_t, 1, [0_wide], [4_wide]))
    part => line(1:10:3)
    call expect('a pointer to a section', mpifort_probe_array(part, c_loc(line), 4_c_size_t, 1, &
      [4_wide], [12_wide]))
    call probe_shape(line(1:10:3), c_loc(line))
    allocate (heap(-1:1, 0:3))
    call expect('an allocated matrix', mpifort_probe_array(heap, c_loc(heap), 4_c_size_t, 2, &
      [3_wide, 4_wide], [4_wide, 12_wide]))
    call probe_open(line, matrix)
  end subroutine

  subroutine probe_types
    type, bind(C) :: pair
      integer(c_int) :: number
      real(c_double) :: fraction
    end type
    type(pair), target :: pairs(3)
    character(7), target :: word
    character(3), target :: words(4)
    logical, target :: flag
    complex(kind(0d0)), target :: deep(2, 2, 2, 2, 2, 2, 2)
    integer :: i
    call expect('a scalar', mpifort_probe_array(flag, c_loc(flag), 4_c_size_t, 0, none, none))
    call expect('a string', mpifort_probe_array(word, address(word), 7_c_size_t, 0, none, none))
    call expect('strings', mpifort_probe_array(words, address(words(1)), 3_c_size_t, 1, [4_wide], [3_wide]))
    call expect('structures', mpifort_probe_array(pairs, c_loc(pairs), 16_c_size_t, 1, [3_wide], [16_wide]))
    call expect('a component', mpifort_probe_array(pairs%fraction, c_loc(pairs(1)%fraction), 8_c_size_t, 1, &
      [3_wide], [16_wide]))
    call expect('seven dimensions', mpifort_probe_array(deep, c_loc(deep), 16_c_size_t, 7, &
      [(2_wide, i=1, 7)], [(2_wide**(i + 3), i=1, 7)]))
  end subroutine

  ! c_loc takes a character of another length than 1 in Fortran 2018 only.
  function address(string) result(base)
    character(*), intent(in), target :: string
    type(c_ptr) :: base
    base = c_loc(string(1:1))
  end function

end program
