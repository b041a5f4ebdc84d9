! SPDX-License-Identifier: BSD-3-Clause
!
! Datatypes of Fortran: the predefined ones and their sizes, those that are chosen by precision and
! range, reductions, topologies with logical arrays, and layouts in the order of Fortran's arrays.
! On four ranks.
#include "interface.fh"
program types
  use checks
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer, parameter :: ADDRESS = MPI_ADDRESS_KIND, UNKNOWN = MPI_UNDEFINED
  integer :: rank, ranks, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call checks_begin(rank)
  call same(ranks, 4, 'there are four ranks')

  call test_sizes
  call test_sized
  call test_by_precision
  call test_by_range
  call test_match_size
  call test_sizeof
  call test_logicals
  call test_locations
  call test_sums
  call test_characters
  call test_cart
  call test_subarray
  call test_darray
  call test_contents

  call MPI_Finalize(ierror)
  call checks_finish
contains

  ! -- predefined types -------------------------------------------------------------------------

  subroutine has_size(type, bits, name)
    HANDLE(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: bits
    character(len=*), intent(in) :: name
    integer :: bytes
    integer(ADDRESS) :: lower, extent
    call MPI_Type_size(type, bytes, ierror)
    call same(bytes * 8, bits, name // ' has the size of the variable')
    call MPI_Type_get_extent(type, lower, extent, ierror)
    call check(lower == 0 .and. extent * 8 == bits, name // ' has its extent')
  end subroutine has_size

  subroutine test_sizes
    integer :: i, pair(2)
    real :: r, real_pair(2)
    double precision :: d, double_pair(2)
    complex :: c
    logical :: l
    character :: a
    integer(MPI_ADDRESS_KIND) :: aint
    integer(MPI_OFFSET_KIND) :: offset
    integer(MPI_COUNT_KIND) :: count
    complex(kind(0d0)) :: double_complex

    call has_size(MPI_INTEGER, storage_size(i), 'MPI_INTEGER')
    call has_size(MPI_REAL, storage_size(r), 'MPI_REAL')
    call has_size(MPI_DOUBLE_PRECISION, storage_size(d), 'MPI_DOUBLE_PRECISION')
    call has_size(MPI_COMPLEX, storage_size(c), 'MPI_COMPLEX')
    call has_size(MPI_DOUBLE_COMPLEX, storage_size(double_complex), 'MPI_DOUBLE_COMPLEX')
    call has_size(MPI_LOGICAL, storage_size(l), 'MPI_LOGICAL')
    call has_size(MPI_CHARACTER, storage_size(a), 'MPI_CHARACTER')
    call has_size(MPI_BYTE, 8, 'MPI_BYTE')
    call has_size(MPI_AINT, storage_size(aint), 'MPI_AINT')
    call has_size(MPI_OFFSET, storage_size(offset), 'MPI_OFFSET')
    call has_size(MPI_COUNT, storage_size(count), 'MPI_COUNT')
    call has_size(MPI_2INTEGER, size(pair) * storage_size(pair), 'MPI_2INTEGER')
    call has_size(MPI_2REAL, size(real_pair) * storage_size(real_pair), 'MPI_2REAL')
    call has_size(MPI_2DOUBLE_PRECISION, size(double_pair) * storage_size(double_pair), &
        'MPI_2DOUBLE_PRECISION')
  end subroutine test_sizes

  subroutine test_sized
    integer, parameter :: quad = selected_real_kind(33, 4931)

    call has_size(MPI_INTEGER1, storage_size(0_1), 'MPI_INTEGER1')
    call has_size(MPI_INTEGER2, storage_size(0_2), 'MPI_INTEGER2')
    call has_size(MPI_INTEGER4, storage_size(0_4), 'MPI_INTEGER4')
    call has_size(MPI_INTEGER8, storage_size(0_8), 'MPI_INTEGER8')
    call has_size(MPI_INTEGER16, 128, 'MPI_INTEGER16')
    call has_size(MPI_REAL4, storage_size(0e0), 'MPI_REAL4')
    call has_size(MPI_REAL8, storage_size(0d0), 'MPI_REAL8')
    call has_size(MPI_COMPLEX8, storage_size((0e0, 0e0)), 'MPI_COMPLEX8')
    call has_size(MPI_COMPLEX16, storage_size((0d0, 0d0)), 'MPI_COMPLEX16')
    call has_size(MPI_LOGICAL1, storage_size(logical(.true., 1)), 'MPI_LOGICAL1')
    call has_size(MPI_LOGICAL2, storage_size(logical(.true., 2)), 'MPI_LOGICAL2')
    call has_size(MPI_LOGICAL4, storage_size(logical(.true., 4)), 'MPI_LOGICAL4')
    call has_size(MPI_LOGICAL8, storage_size(logical(.true., 8)), 'MPI_LOGICAL8')
    if (MPI_REAL2 /= MPI_DATATYPE_NULL) call has_size(MPI_REAL2, 16, 'MPI_REAL2')
    if (MPI_COMPLEX4 /= MPI_DATATYPE_NULL) call has_size(MPI_COMPLEX4, 32, 'MPI_COMPLEX4')
    if (quad > 0) then
      call has_size(MPI_REAL16, 128, 'MPI_REAL16')
      call has_size(MPI_COMPLEX32, 256, 'MPI_COMPLEX32')
    end if
  end subroutine test_sized

  ! -- types by precision and range -------------------------------------------------------------

  ! The type has the size of the kind that selected_real_kind chooses, and says how it was made.
  subroutine is_real(precision, range, kind_bits, is_complex)
    integer, intent(in) :: precision, range, kind_bits
    logical, intent(in) :: is_complex
    HANDLE(MPI_Datatype) :: type, again, types(1)
    integer :: bytes, numbers(2), integers, addresses, datatypes, combiner
    integer(ADDRESS) :: places(1)
    character(len=60) :: what

    write (what, '(a,i0,a,i0,a)') trim(merge('complex', 'real   ', is_complex)) // '(', precision, &
        ', ', range, '):'
    if (is_complex) then
      call MPI_Type_create_f90_complex(precision, range, type, ierror)
      call MPI_Type_create_f90_complex(precision, range, again, ierror)
    else
      call MPI_Type_create_f90_real(precision, range, type, ierror)
      call MPI_Type_create_f90_real(precision, range, again, ierror)
    end if
    call check(type == again, trim(what) // ' is made once')
    call MPI_Type_size(type, bytes, ierror)
    call same(bytes * 8, kind_bits, trim(what) // ' has the size of the kind')
    call MPI_Type_get_envelope(type, integers, addresses, datatypes, combiner, ierror)
    call check(integers == 2 .and. addresses == 0 .and. datatypes == 0, &
        trim(what) // ' its envelope')
    call same(combiner, merge(MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_REAL, is_complex), &
        trim(what) // ' its combiner')
    call MPI_Type_get_contents(type, 2, 0, 0, numbers, places, types, ierror)
    call check(all(numbers == [precision, range]), trim(what) // ' its contents')
  end subroutine is_real

  subroutine test_by_precision
    integer, parameter :: r6 = selected_real_kind(6), r15 = selected_real_kind(15), &
        r30 = selected_real_kind(6, 200), p33 = selected_real_kind(33)
    integer, parameter :: quad = merge(p33, kind(0d0), p33 > 0)

    call is_real(6, UNKNOWN, storage_size(real(0, r6)), .false.)
    call is_real(6, 30, storage_size(real(0, selected_real_kind(6, 30))), .false.)
    call is_real(6, 200, storage_size(real(0, r30)), .false.)
    call is_real(15, UNKNOWN, storage_size(real(0, r15)), .false.)
    call is_real(UNKNOWN, 300, storage_size(real(0, selected_real_kind(r=300))), .false.)
    call is_real(6, UNKNOWN, storage_size(cmplx(0, 0, r6)), .true.)
    call is_real(15, 100, storage_size(cmplx(0, 0, selected_real_kind(15, 100))), .true.)
    if (p33 > 0) then
      call is_real(33, UNKNOWN, storage_size(real(0, quad)), .false.)
      call is_real(33, UNKNOWN, storage_size(cmplx(0, 0, quad)), .true.)
    end if
  end subroutine test_by_precision

  subroutine test_by_range
    integer, parameter :: ranges(4) = [2, 4, 9, 18], bits(4) = [ &
        storage_size(int(0, selected_int_kind(2))), storage_size(int(0, selected_int_kind(4))), &
        storage_size(int(0, selected_int_kind(9))), storage_size(int(0, selected_int_kind(18)))]
    HANDLE(MPI_Datatype) :: type, types(1)
    HANDLE(MPI_Errhandler) :: before
    integer(ADDRESS) :: places(1)
    integer :: i, bytes, integers, addresses, datatypes, combiner, numbers(1), class
    integer(selected_int_kind(18)) :: one, sum

    do i = 1, 4
      call MPI_Type_create_f90_integer(ranges(i), type, ierror)
      call MPI_Type_size(type, bytes, ierror)
      call same(bytes * 8, bits(i), 'MPI_Type_create_f90_integer has the size of the kind')
      call MPI_Type_get_envelope(type, integers, addresses, datatypes, combiner, ierror)
      call check(integers == 1 .and. combiner == MPI_COMBINER_F90_INTEGER, 'its envelope')
      call MPI_Type_get_contents(type, 1, 0, 0, numbers, places, types, ierror)
      call same(numbers(1), ranges(i), 'its contents')
    end do
    one = 10_8**15 + rank
    call MPI_Allreduce(one, sum, 1, type, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(sum == 4 * 10_8**15 + 6, 'a sum of such a type')

    call MPI_Comm_get_errhandler(MPI_COMM_SELF, before, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    call MPI_Type_create_f90_real(500, UNKNOWN, type, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class /= MPI_SUCCESS, 'a precision that no kind has is an error')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, before, ierror)
  end subroutine test_by_range

  subroutine test_match_size
    HANDLE(MPI_Datatype) :: type
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, type, ierror)
    call check(type == MPI_REAL4 .or. type == MPI_REAL, 'MPI_Type_match_size of a real of 4 bytes')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, storage_size(0d0) / 8, type, ierror)
    call check(type == MPI_REAL8 .or. type == MPI_DOUBLE_PRECISION, 'of a real of 8')
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, type, ierror)
    call check(type == MPI_INTEGER8, 'of an integer of 8')
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, type, ierror)
    call check(type == MPI_COMPLEX16 .or. type == MPI_DOUBLE_COMPLEX, 'of a complex number of 16')
  end subroutine test_match_size

  ! The arguments may have any rank. mpif.h has no interface that could tell the size.
  subroutine test_sizeof
#ifndef USE_MPIF_H
    integer :: bytes, numbers(3, 3)
    real :: single
    double precision :: double(7)
    complex :: pair
    integer(selected_int_kind(18)) :: long
    integer(selected_int_kind(2)) :: short(5)
    logical :: flag
    character :: letter

    call MPI_Sizeof(bytes, bytes, ierror)
    call same(bytes, storage_size(bytes) / 8, 'MPI_Sizeof of an integer')
    call MPI_Sizeof(numbers, bytes, ierror)
    call same(bytes, storage_size(numbers) / 8, 'of an array of integers')
    call MPI_Sizeof(single, bytes, ierror)
    call same(bytes, storage_size(single) / 8, 'of a real')
    call MPI_Sizeof(double, bytes, ierror)
    call same(bytes, storage_size(double) / 8, 'of an array of double precision')
    call MPI_Sizeof(double(::2), bytes, ierror)
    call same(bytes, storage_size(double) / 8, 'of an array section')
    call MPI_Sizeof(pair, bytes, ierror)
    call same(bytes, storage_size(pair) / 8, 'of a complex number')
    call MPI_Sizeof(long, bytes, ierror)
    call same(bytes, storage_size(long) / 8, 'of a long integer')
    call MPI_Sizeof(short, bytes, ierror)
    call same(bytes, storage_size(short) / 8, 'of short integers')
    call MPI_Sizeof(flag, bytes, ierror)
    call same(bytes, storage_size(flag) / 8, 'of a logical')
    call MPI_Sizeof(letter, bytes, ierror)
    call same(bytes, storage_size(letter) / 8, 'of a character')
#endif
  end subroutine test_sizeof

  ! -- reductions -------------------------------------------------------------------------------

  ! Results are the compiler's own .true. and .false., bit by bit.
  subroutine test_logicals
    logical :: in(4), out(4)
    integer :: bits(4), wanted(4)
    logical(1) :: small_in(2), small_out(2)
    logical(8) :: large_in(2), large_out(2)

    in = [rank == 0, rank < 4, rank > 4, rank == 2 .or. rank == 3]
    call MPI_Allreduce(in, out, 4, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
    bits = transfer(out, bits)
    wanted = transfer([.false., .true., .false., .false.], wanted)
    call check(all(bits == wanted), 'MPI_LAND of logicals')
    call MPI_Allreduce(in, out, 4, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    bits = transfer(out, bits)
    wanted = transfer([.true., .true., .false., .true.], wanted)
    call check(all(bits == wanted), 'MPI_LOR of logicals')
    call MPI_Allreduce(in, out, 4, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierror)
    bits = transfer(out, bits)
    wanted = transfer([.true., .false., .false., .false.], wanted)
    call check(all(bits == wanted), 'MPI_LXOR of logicals')

    small_in = [rank == 0, rank < 4]
    call MPI_Allreduce(small_in, small_out, 2, MPI_LOGICAL1, MPI_LAND, MPI_COMM_WORLD, ierror)
    call check(all(logical(small_out) .eqv. [.false., .true.]), 'MPI_LAND of MPI_LOGICAL1')
    large_in = [rank == 0, rank > 4]
    call MPI_Allreduce(large_in, large_out, 2, MPI_LOGICAL8, MPI_LOR, MPI_COMM_WORLD, ierror)
    call check(all(logical(large_out) .eqv. [.true., .false.]), 'MPI_LOR of MPI_LOGICAL8')
  end subroutine test_logicals

  subroutine test_locations
    integer :: in(2, 2), out(2, 2)
    real :: real_in(2), real_out(2)
    double precision :: double_in(2), double_out(2)

    in = reshape([10 - rank, rank, 5, rank], [2, 2])
    call MPI_Allreduce(in, out, 2, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierror)
    call check(all(reshape(out, [4]) == [7, 3, 5, 0]), 'MPI_MINLOC of MPI_2INTEGER')
    call MPI_Allreduce(in, out, 2, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    call check(all(reshape(out, [4]) == [10, 0, 5, 0]), 'MPI_MAXLOC of MPI_2INTEGER')
    real_in = [-abs(rank - 2.5) + 0.25 * rank, real(rank)]
    call MPI_Allreduce(real_in, real_out, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    call check(all(real_out == [0.25, 3.]), 'MPI_MAXLOC of MPI_2REAL')
    double_in = [1d0 / (rank + 1), dble(rank)]
    call MPI_Allreduce(double_in, double_out, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, &
        MPI_COMM_WORLD, ierror)
    call check(all(double_out == [0.25d0, 3d0]), 'MPI_MINLOC of MPI_2DOUBLE_PRECISION')
  end subroutine test_locations

  subroutine test_sums
    complex :: c
    complex(kind(0d0)) :: z
    integer(selected_int_kind(2)) :: tiny
    integer(selected_int_kind(4)) :: small

    c = cmplx(rank, 1)
    call MPI_Allreduce(MPI_IN_PLACE, c, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(c == (6., 4.), 'a sum of MPI_COMPLEX')
    z = (0d0, 1d0)
    call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
    call check(z == (1d0, 0d0), 'a product of MPI_DOUBLE_COMPLEX')
    tiny = int(rank, kind(tiny))
    call MPI_Allreduce(MPI_IN_PLACE, tiny, 1, MPI_INTEGER1, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check(tiny == 3, 'a maximum of MPI_INTEGER1')
    small = int(2**rank, kind(small))
    call MPI_Allreduce(MPI_IN_PLACE, small, 1, MPI_INTEGER2, MPI_BOR, MPI_COMM_WORLD, ierror)
    call check(small == 15, 'bits of MPI_INTEGER2')
  end subroutine test_sums

  ! No operation is for characters.
  subroutine test_characters
    character(len=2) :: in, out
    integer :: class
    HANDLE(MPI_Comm) :: comm

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
    in = 'ab'
    out = 'xx'
    call MPI_Allreduce(in, out, 2, MPI_CHARACTER, MPI_MAX, comm, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class == MPI_ERR_OP .and. out == 'xx', 'MPI_MAX of MPI_CHARACTER is MPI_ERR_OP')
    call MPI_Comm_free(comm, ierror)
  end subroutine test_characters

  ! -- topologies -------------------------------------------------------------------------------

  subroutine test_cart
    HANDLE(MPI_Comm) :: cart, row
    integer :: dims(2), coords(2), got_dims(2), there, before, behind, count
    logical :: periods(2), got_periods(2)

    dims = 0
    call MPI_Dims_create(4, 2, dims, ierror)
    call check(all(dims == [2, 2]), 'MPI_Dims_create')
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, ierror)
    call MPI_Cartdim_get(cart, count, ierror)
    call same(count, 2, 'MPI_Cartdim_get')
    got_periods = [.false., .true.]
    call MPI_Cart_get(cart, 2, got_dims, got_periods, coords, ierror)
    call check(all(got_dims == dims) .and. all(coords == [rank / 2, mod(rank, 2)]), 'MPI_Cart_get')
    call check(got_periods(1) .and. .not. got_periods(2), 'its logicals')
    call MPI_Cart_coords(cart, rank, 2, coords, ierror)
    call check(all(coords == [rank / 2, mod(rank, 2)]), 'MPI_Cart_coords')
    call MPI_Cart_rank(cart, coords, there, ierror)
    call same(there, rank, 'MPI_Cart_rank')
    call MPI_Cart_shift(cart, 0, 1, before, behind, ierror)
    call check(before == mod(rank + 2, 4) .and. behind == mod(rank + 2, 4), &
        'MPI_Cart_shift, periodic')
    call MPI_Cart_shift(cart, 1, 1, before, behind, ierror)
    call check(before == merge(MPI_PROC_NULL, rank - 1, mod(rank, 2) == 0) .and. &
        behind == merge(rank + 1, MPI_PROC_NULL, mod(rank, 2) == 0), 'MPI_Cart_shift, not periodic')
    call MPI_Cart_sub(cart, [.false., .true.], row, ierror)
    call MPI_Cart_get(row, 1, got_dims, got_periods, coords, ierror)
    call check(got_dims(1) == 2 .and. .not. got_periods(1) .and. coords(1) == mod(rank, 2), &
        'MPI_Cart_sub')
    call MPI_Comm_free(row, ierror)
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, there, ierror)
    call check(there >= 0 .and. there < 4, 'MPI_Cart_map')
    call MPI_Comm_free(cart, ierror)
  end subroutine test_cart

  ! -- layouts ----------------------------------------------------------------------------------

  ! What a type takes out of an array, by MPI_Pack.
  subroutine pick(array, type, picked, count)
    integer, intent(in) :: array(*)
    HANDLE(MPI_Datatype) :: type
    integer, intent(out) :: picked(:)
    integer, intent(out) :: count
    integer :: position, packed(200)

    position = 0
    call MPI_Type_commit(type, ierror)
    call MPI_Pack(array, 1, type, packed, 800, position, MPI_COMM_SELF, ierror)
    count = position / 4
    picked(:count) = packed(:count)
    call MPI_Type_free(type, ierror)
  end subroutine pick

  subroutine test_subarray
    integer :: array(5, 6, 4), picked(200), count, i
    HANDLE(MPI_Datatype) :: type

    array = reshape([(i, i = 1, 120)], shape(array))
    call MPI_Type_create_subarray(3, shape(array), [2, 3, 2], [1, 2, 0], MPI_ORDER_FORTRAN, &
        MPI_INTEGER, type, ierror)
    call pick(array, type, picked, count)
    call same(count, 12, 'a subarray in the order of Fortran has its elements')
    call check(all(picked(:count) == reshape(array(2:3, 3:5, 1:2), [count])), &
        'which are the section''s')
    call MPI_Type_create_subarray(3, [4, 6, 5], [2, 3, 2], [0, 2, 1], MPI_ORDER_C, MPI_INTEGER, &
        type, ierror)
    call pick(array, type, picked, count)
    call check(count == 12 .and. all(picked(:12) == reshape(array(2:3, 3:5, 1:2), [12])), &
        'in the order of C, indices reversed, it is the same')
  end subroutine test_subarray

  ! A distribution of both kinds over a grid of 2 x 2 ranks. Darrays count ranks as C does: the last
  ! index of the grid runs fastest.
  subroutine test_darray
    integer, parameter :: rows = 7, columns = 8
    integer :: array(rows, columns), picked(200), wanted(200), count, i, j, wanted_count, block
    HANDLE(MPI_Datatype) :: type

    array = reshape([(i, i = 1, rows * columns)], shape(array))
    call MPI_Type_create_darray(4, rank, 2, [rows, columns], &
        [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC], [MPI_DISTRIBUTE_DFLT_DARG, 3], [2, 2], &
        MPI_ORDER_FORTRAN, MPI_INTEGER, type, ierror)
    call pick(array, type, picked, count)
    block = (rows + 1) / 2
    wanted_count = 0
    do j = 1, columns
      do i = 1, rows
        if ((i - 1) / block == rank / 2 .and. mod((j - 1) / 3, 2) == mod(rank, 2)) then
          wanted_count = wanted_count + 1
          wanted(wanted_count) = array(i, j)
        end if
      end do
    end do
    call same(count, wanted_count, 'a darray has the elements of the rank')
    call check(all(picked(:count) == wanted(:count)), 'which are those of loops over the indices')
  end subroutine test_darray

  ! Handles and indices that come back of a type.
  subroutine test_contents
    HANDLE(MPI_Datatype) :: type, inner, types(2)
    integer(ADDRESS) :: places(2)
    integer :: numbers(3), integers, addresses, datatypes, combiner, bytes

    call MPI_Type_vector(2, 3, 5, MPI_REAL, inner, ierror)
    places = [0_ADDRESS, 100_ADDRESS]
    call MPI_Type_create_struct(2, [1, 4], places, [inner, MPI_CHARACTER], type, ierror)
    call MPI_Type_get_envelope(type, integers, addresses, datatypes, combiner, ierror)
    call check(integers == 3 .and. addresses == 2 .and. datatypes == 2 .and. &
        combiner == MPI_COMBINER_STRUCT, 'the envelope of a struct')
    places = -1
    call MPI_Type_get_contents(type, 3, 2, 2, numbers, places, types, ierror)
    call check(all(numbers == [2, 1, 4]) .and. all(places == [0, 100]), 'its numbers')
    call check(types(2) == MPI_CHARACTER, 'a predefined type that comes back')
    call check(types(1) /= MPI_DATATYPE_NULL .and. types(1) /= MPI_REAL, 'a derived one')
    call MPI_Type_free(inner, ierror)
    call MPI_Type_size(types(1), bytes, ierror)
    call same(bytes, 24, 'which can be used')
    call MPI_Type_get_envelope(types(1), integers, addresses, datatypes, combiner, ierror)
    call same(combiner, MPI_COMBINER_VECTOR, 'and says what it is')
    call MPI_Type_free(types(1), ierror)
    call MPI_Type_free(type, ierror)
  end subroutine test_contents
end program types
