! SPDX-License-Identifier: BSD-3-Clause
!
! Array sections as buffers, in mpi_f08: what lies between the elements is neither sent nor changed.
! On two ranks.
#include "interface.fh"
program sections
  use, intrinsic :: iso_c_binding
  use checks
  use mpi_f08
  implicit none
  integer, parameter :: ADDRESS = MPI_ADDRESS_KIND, OFFSET = MPI_OFFSET_KIND, GAP = -1

  type, bind(C) :: item_t
    integer(c_int) :: number
    real(c_double) :: value
    character(c_char) :: letter
  end type item_t

  integer :: rank, other

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  other = 1 - rank
  call checks_begin(rank)
  if (MPI_SUBARRAYS_SUPPORTED) then
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call test_shapes
    call test_ranks
    call test_types
    call test_characters
    call test_components
    call test_counts
    call test_derived_type
    call test_dummies
    call test_empty_and_scalar
    call test_nonblocking
    call test_persistent
    call test_probed
    call test_replace
    call test_pack
    call test_bcast
    call test_reductions
    call test_nonblocking_reductions
    call test_persistent_reduction
    call test_reduce_scatter
    call test_gather
    call test_unused
    call test_alltoall
    call test_windows
    call test_get_accumulate
    call test_window_memory
    call test_files
    call test_split_files
  else
    call check(.true., 'array sections # SKIP MPI_SUBARRAYS_SUPPORTED is false')
  end if
  call MPI_Finalize()
  call checks_finish
contains

  ! -- messages ---------------------------------------------------------------------------------

  ! Numbers that tell the rank that has them.
  function numbers_of(owner, count) result(numbers)
    integer, intent(in) :: owner, count
    integer :: numbers(count), i
    numbers = [(1000 * (owner + 1) + i, i = 1, count)]
  end function numbers_of

  ! Sends a section to an array, and an array to a section. Both are passed on as assumed-shape.
  subroutine exchange(from, to, text)
    integer, intent(inout) :: from(:, :), to(:, :)
    character(len=*), intent(in) :: text
    integer :: flat(size(from)), all
    all = size(from)

    from = reshape(numbers_of(rank, all), shape(from))
    call MPI_Sendrecv(from, all, MPI_INTEGER, other, 1, flat, all, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all_same(flat, numbers_of(other, all)), text // ', sent')
    flat = numbers_of(rank, all)
    call MPI_Sendrecv(flat, all, MPI_INTEGER, other, 1, to, all, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all_same(reshape(to, [all]), numbers_of(other, all)), text // ', received')
    to = GAP
    call MPI_Sendrecv(from, all, MPI_INTEGER, other, 1, to, all, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all_same(reshape(to, [all]), numbers_of(other, all)), text // ', sent and received')
  end subroutine exchange

  logical function all_same(got, wanted)
    integer, intent(in) :: got(:), wanted(:)
    all_same = size(got) == size(wanted) .and. all(got == wanted)
  end function all_same

  subroutine test_shapes
    integer :: from(6, 8), to(6, 8)

    from = GAP
    to = GAP
    call exchange(from(::2, :), to(::2, :), 'every second row')
    call check(all(from(2::2, :) == GAP) .and. all(to(2::2, :) == GAP), 'the gaps are untouched')
    from = GAP
    to = GAP
    call exchange(from(2:5, 3:7), to(2:5, 3:7), 'a block')
    call check(count(from == GAP) == 28 .and. count(to == GAP) == 28, 'the gaps are untouched')
    to = GAP
    call exchange(from(:, 2::3), to(1:6, 2:8:3), 'every third column')
    call check(count(to == GAP) == 30, 'the gaps are untouched')
    to = GAP
    call exchange(from(6:1:-1, 8:1:-2), to(6:1:-1, 8:1:-2), 'backwards')
    call check(count(to == GAP) == 24 .and. to(6, 8) == 1001 + 1000 * other, &
        'from the last element')
    to = GAP
    call exchange(from(5:1:-2, 1:8:3), to(1:6:2, 8:1:-3), 'forwards and backwards')
    call check(count(to == GAP) == 39, 'the gaps are untouched')
    to = GAP
    call exchange(from(3:3, :), to(3:3, :), 'a row')
    call check(count(to == GAP) == 40, 'the gaps are untouched')
    to = GAP
    call exchange(from(:, :), to, 'a whole array')
    call exchange(from(:, 3:5), to(:, 6:8), 'columns one behind the other')
  end subroutine test_shapes

  ! Of one and of three dimensions, in the calls themselves.
  subroutine test_ranks
    integer :: line(20), cube(4, 5, 6), into(4, 5, 6), flat(60)
    integer, parameter :: part = 2 * 3 * 3

    line = numbers_of(rank, 20)
    flat = GAP
    call MPI_Sendrecv(line(18:2:-4), 5, MPI_INTEGER, other, 2, flat(2:20:4), 5, MPI_INTEGER, &
        other, &
        2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(flat(2:20:4) == 1000 * (other + 1) + [18, 14, 10, 6, 2]), 'lines')
    call check(count(flat == GAP) == 55, 'the gaps are untouched')

    cube = reshape(numbers_of(rank, 120), shape(cube))
    into = GAP
    call MPI_Sendrecv(cube(1:4:3, 2:4, 6:1:-2), part, MPI_INTEGER, other, 3, into(2:3, 5:1:-2, &
        ::2), &
        part, MPI_INTEGER, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    cube = reshape(numbers_of(other, 120), shape(cube))
    call check(all(into(2:3, 5:1:-2, ::2) == cube(1:4:3, 2:4, 6:1:-2)), 'cubes')
    call check(count(into == GAP) == 120 - part, 'the gaps are untouched')
    into = GAP
    call MPI_Sendrecv(cube(:, :, 2), 20, MPI_INTEGER, other, 3, into(1, :, :), 20, MPI_INTEGER, &
        other, &
        3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(reshape(into(1, :, 1:4), [20]) == numbers_of(rank, 20) + 20), 'slices')
    call check(count(into == GAP) == 100, 'the gaps are untouched')
  end subroutine test_ranks

  subroutine test_types
    real(8) :: reals(9), got(5)
    complex :: numbers(9), into(9)
    type(item_t) :: items(7), back(7)
    type(MPI_Datatype) :: type, resized
    integer(ADDRESS) :: places(3), start
    integer :: i, bytes

    reals = [(i + 0.5d0 + 100 * rank, i = 1, 9)]
    call MPI_Sendrecv(reals(::2), 5, MPI_DOUBLE_PRECISION, other, 1, got(5:1:-1), 5, &
        MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got == [9.5d0, 7.5d0, 5.5d0, 3.5d0, 1.5d0] + 100 * other), 'real(8)')

    numbers = [(cmplx(i, -i - rank), i = 1, 9)]
    into = (0., 0.)
    call MPI_Sendrecv(numbers(9:1:-3), 3, MPI_COMPLEX, other, 1, into(2:8:3), 3, MPI_COMPLEX, &
        other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(into(2:8:3) == [(cmplx(i, -i - other), i = 9, 1, -3)]), 'complex')
    call check(count(into == 0) == 6, 'the gaps are untouched')

    items = [(item_t(i, i + 0.25d0 + rank, achar(96 + i)), i = 1, 7)]
    back = item_t(GAP, 0d0, '-')
    bytes = int(storage_size(items) / 8)
    call MPI_Sendrecv(items(1:7:3), 3 * bytes, MPI_BYTE, other, 1, back(7:2:-2), 3 * bytes, &
        MPI_BYTE, &
        other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(back(7:2:-2)%number == [1, 4, 7]) .and. all(back(7:2:-2)%value == [1.25d0, &
        4.25d0, &
        7.25d0] + other) .and. all(back(7:2:-2)%letter == ['a', 'd', 'g']), 'structures as bytes')
    call check(count(back%number == GAP) == 4, 'the gaps are untouched')

    call MPI_Get_address(items(1), start)
    call MPI_Get_address(items(1)%number, places(1))
    call MPI_Get_address(items(1)%value, places(2))
    call MPI_Get_address(items(1)%letter, places(3))
    call MPI_Type_create_struct(3, [1, 1, 1], places - start, [MPI_INTEGER, MPI_DOUBLE_PRECISION, &
        MPI_CHARACTER], type)
    call MPI_Type_create_resized(type, 0_ADDRESS, int(bytes, ADDRESS), resized)
    call MPI_Type_commit(resized)
    back = item_t(GAP, 0d0, '-')
    call MPI_Sendrecv(items(2:7:2), 3, resized, other, 1, back(1:3), 3, resized, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(back(1:3)%number == [2, 4, 6]) .and. all(back(1:3)%letter == ['b', 'd', 'f']), &
        'structures as a datatype')
    call MPI_Type_free(type)
    call MPI_Type_free(resized)
  end subroutine test_types

  subroutine test_characters
    character(len=5) :: words(8), into(8)
    character(len=2) :: parts(8)
    integer :: i

    do i = 1, 8
      words(i) = repeat(achar(96 + i), 4) // achar(48 + rank)
    end do
    into = '-----'
    call MPI_Sendrecv(words(2:8:3), 15, MPI_CHARACTER, other, 1, into(8:4:-2), 15, MPI_CHARACTER, &
        other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(into(8:4:-2) == ['bbbb', 'eeee', 'hhhh'] // achar(48 + other)), &
        'character(len=5)')
    call check(count(into == '-----') == 5, 'the gaps are untouched')
    into = '-----'
    call MPI_Sendrecv(words(:)(4:5), 16, MPI_CHARACTER, other, 1, parts, 16, MPI_CHARACTER, other, &
        1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(parts(1) == 'a' // achar(48 + other) .and. parts(8) == 'h' // achar(48 + other), &
        'substrings are sent')
    call MPI_Sendrecv(parts, 16, MPI_CHARACTER, other, 1, into(:)(2:3), 16, MPI_CHARACTER, other, &
        1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(into(1) == '-a' // achar(48 + rank) // '--' .and. &
        into(8) == '-h' // achar(48 + rank) // '--', 'substrings are received')
  end subroutine test_characters

  subroutine test_components
    type(item_t) :: items(6)
    real(8) :: values(6)
    integer :: i

    items = [(item_t(i, i + 0.5d0, 'x'), i = 1, 6)]
    call MPI_Sendrecv(items%value, 6, MPI_DOUBLE_PRECISION, other, 1, values, 6, &
        MPI_DOUBLE_PRECISION, &
        other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(values == [(i + 0.5d0, i = 1, 6)]), 'components of structures are sent')
    call MPI_Sendrecv([7, 8, 9], 3, MPI_INTEGER, other, 1, items(6:1:-2)%number, 3, MPI_INTEGER, &
        other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(items%number == [1, 9, 3, 8, 5, 7]) .and. all(items%value == values), &
        'components of structures are received')
  end subroutine test_components

  ! The count may be smaller than the section, and more than one element may make one of the type.
  subroutine test_counts
    integer :: from(6, 8), to(6, 8), pairs(2, 3), count_got
    real(8) :: wide(9)
    type(MPI_Status) :: status

    from = reshape(numbers_of(rank, 48), shape(from))
    to = GAP
    call MPI_Sendrecv(from(::2, :), 5, MPI_INTEGER, other, 1, to(2::2, ::2), 12, MPI_INTEGER, &
        other, 1, &
        MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count_got)
    call same(count_got, 5, 'fewer elements than the sections have')
    call check(all(to(2::2, 1) == 1000 * (other + 1) + [1, 3, 5]) .and. &
        all(to(2:4:2, 3) == 1000 * (other + 1) + [7, 9]) .and. count(to == GAP) == 43, &
        'the first ones are transferred')

    pairs = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    to = GAP
    call MPI_Sendrecv(pairs, 3, MPI_2INTEGER, other, 1, to(1:2, 1:8:3), 3, MPI_2INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(1:2, 1:8:3) == pairs) .and. count(to == GAP) == 42, &
        'two elements of a section a pair')
    to = GAP
    call MPI_Sendrecv(pairs, 3, MPI_2INTEGER, other, 1, to(1:6:5, 1:8:3), 3, MPI_2INTEGER, other, &
        1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(1:6:5, 1:8:3) == pairs) .and. count(to == GAP) == 42, &
        'also if they are apart')

    wide = 0
    call MPI_Sendrecv([1, 2, 3, 4, 5, 6], 6, MPI_INTEGER, other, 1, wide(2:8:3), 6, MPI_INTEGER, &
        other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(transfer(wide(2:8:3), [integer ::]) == [1, 2, 3, 4, 5, 6]) .and. &
        count(wide == 0) == 6, 'elements of a type that is smaller than those of the section')
  end subroutine test_counts

  ! A datatype counts in the elements of the section, as if they lay one behind the other.
  subroutine test_derived_type
    integer :: line(24), to(24)
    type(MPI_Datatype) :: type

    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, type)
    call MPI_Type_commit(type)
    line = numbers_of(rank, 24)
    to = GAP
    ! Elements 1, 3, 4 and 6 of the section, which are 1, 5, 7 and 11 of the line.
    call MPI_Sendrecv(line(1:23:2), 2, type, other, 1, to(24:1:-3), 2, type, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to([24, 18, 15, 9]) == 1000 * (other + 1) + [1, 5, 7, 11]), &
        'a datatype with gaps on a section with gaps')
    call check(count(to == GAP) == 20, 'the gaps are untouched')
    call MPI_Type_free(type)
  end subroutine test_derived_type

  ! Dummy arguments that are passed on.
  subroutine test_dummies
    integer :: line(20), grid(4, 6)
    integer, allocatable :: allocated(:)
    integer, pointer :: pointer(:)
    integer, target :: memory(20)

    line = numbers_of(rank, 20)
    call send_assumed_size(line)
    call receive_assumed_shape(grid(2:3, 1:6:2))
    call check(all(reshape(grid(2:3, 1:6:2), [6]) == numbers_of(other, 6)), &
        'from an assumed-size argument to an assumed-shape one')
    memory = numbers_of(rank, 20)
    pointer => memory(20:1:-5)
    allocate (allocated(4))
    call MPI_Sendrecv(pointer, 4, MPI_INTEGER, other, 1, allocated, 4, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(allocated == 1000 * (other + 1) + [20, 15, 10, 5]), &
        'from a pointer to an allocated array')
  end subroutine test_dummies

  subroutine send_assumed_size(array)
    integer, intent(in) :: array(*)
    call MPI_Send(array, 6, MPI_INTEGER, other, 4, MPI_COMM_WORLD)
  end subroutine send_assumed_size

  subroutine receive_assumed_shape(array)
    integer, intent(out) :: array(0:, 5:)
    call MPI_Recv(array, 6, MPI_INTEGER, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine receive_assumed_shape

  subroutine test_empty_and_scalar
    integer :: line(20), grid(4, 6), number, length
    type(item_t) :: item
    type(MPI_Status) :: status

    line = GAP
    grid = GAP
    call MPI_Sendrecv(line(5:4), 0, MPI_INTEGER, other, 1, grid(1:0, ::2), 0, MPI_INTEGER, other, &
        1, &
        MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, length)
    call check(length == 0 .and. all(grid == GAP), 'sections without elements')
    call MPI_Sendrecv(rank + 7, 1, MPI_INTEGER, other, 1, number, 1, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call same(number, other + 7, 'an expression to a scalar')
    call MPI_Sendrecv(number, 1, MPI_INTEGER, other, 1, grid(3, 4), 1, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(grid(3, 4) == rank + 7 .and. count(grid == GAP) == 23, 'a scalar to an element')
    call MPI_Sendrecv(grid(3, 4), 1, MPI_INTEGER, other, 1, item%number, 1, MPI_INTEGER, other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call same(item%number, other + 7, 'an element to a component')
    call MPI_Sendrecv(grid(3, 4:4), 1, MPI_INTEGER, other, 1, line(20:1:-30), 1, MPI_INTEGER, &
        other, 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(line(20) == other + 7 .and. count(line == GAP) == 19, 'sections of one element')
  end subroutine test_empty_and_scalar

  ! -- requests ---------------------------------------------------------------------------------

  ! The compiler must not pass a copy, and MPI's description of the section must live as long as the
  ! request: several requests at a time.
  subroutine test_nonblocking
    integer, asynchronous :: from(10, 10), to(10, 10)
    type(MPI_Request) :: requests(20)
    integer :: i, index

    from = reshape(numbers_of(rank, 100), shape(from))
    to = GAP
    do i = 1, 10
      call MPI_Irecv(to(i, 10:1:-2), 5, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(i))
    end do
    do i = 1, 10
      call MPI_Isend(from(i, 1::2), 5, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(10 + i))
    end do
    call MPI_Waitany(20, requests, index, MPI_STATUS_IGNORE)
    call MPI_Waitall(20, requests, MPI_STATUSES_IGNORE)
    from = reshape(numbers_of(other, 100), shape(from))
    call check(all(to(:, 10:1:-2) == from(:, 1::2)), 'MPI_Isend and MPI_Irecv of rows')
    call check(all(to(:, 1::2) == GAP), 'the gaps are untouched')

    to = GAP
    call MPI_Issend(from(:, 2::4), 20, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv(to(:, 2::4), 20, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(count(to == GAP) == 80 .and. to(1, 2) == 1011 + 1000 * rank, 'MPI_Issend of columns')
    call MPI_Isend(from(1, ::3), 4, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Request_free(requests(1))
    to = GAP
    call MPI_Recv(to(1:4, 1), 4, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(1:4, 1) == 1000 * (rank + 1) + [1, 31, 61, 91]), 'a request that is freed')
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine test_nonblocking

  subroutine test_persistent
    integer, asynchronous :: from(12), to(12)
    type(MPI_Request) :: requests(2)
    integer :: i
    logical :: is_right

    call MPI_Send_init(from(1:11:2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(to(12:2:-2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2))
    is_right = .true.
    do i = 1, 3
      from = numbers_of(rank, 12) + i
      to = GAP
      call MPI_F_sync_reg(from)
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call MPI_F_sync_reg(to)
      is_right = is_right .and. all(to(12:2:-2) == 1000 * (other + 1) + i + [1, 3, 5, 7, 9, &
          11]) .and. &
          all(to(1::2) == GAP)
    end do
    call check(is_right, 'persistent requests see the section as it is when they start')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine test_persistent

  subroutine test_probed
    integer, asynchronous :: from(12), to(12)
    type(MPI_Request) :: request
    type(MPI_Message) :: message

    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Isend(from(12:1:-4), 3, MPI_INTEGER, other, 1, MPI_COMM_WORLD, request)
    call MPI_Mprobe(other, 1, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
    call MPI_Mrecv(to(1::5), 3, MPI_INTEGER, message, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to(1::5) == 1000 * (other + 1) + [12, 8, 4]) .and. count(to == GAP) == 9, &
        'MPI_Mrecv')
    to = GAP
    call MPI_Isend(from(12:1:-4), 3, MPI_INTEGER, other, 1, MPI_COMM_WORLD, request)
    call MPI_Mprobe(other, 1, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
    call receive_message(to, message)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to(2::5) == 1000 * (other + 1) + [12, 8, 4]) .and. count(to == GAP) == 9, &
        'MPI_Imrecv')
  end subroutine test_probed

  subroutine receive_message(to, message)
    integer, asynchronous :: to(12)
    type(MPI_Message) :: message
    type(MPI_Request) :: request
    call MPI_Imrecv(to(2::5), 3, MPI_INTEGER, message, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine receive_message

  subroutine test_replace
    integer, asynchronous :: line(12)
    type(MPI_Request) :: request

    line = numbers_of(rank, 12)
    call MPI_Sendrecv_replace(line(3::3), 4, MPI_INTEGER, other, 1, other, 1, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE)
    call check(all(line(3::3) == 1000 * (other + 1) + [3, 6, 9, 12]) .and. &
        line(2) == 1002 + 1000 * rank, 'MPI_Sendrecv_replace')
    call MPI_Isendrecv_replace(line(3::3), 4, MPI_INTEGER, other, 1, other, 1, MPI_COMM_WORLD, &
        request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(line)
    call check(all(line == numbers_of(rank, 12)), 'MPI_Isendrecv_replace')
  end subroutine test_replace

  subroutine test_pack
    integer :: line(12), to(12), position
    character :: packed(64), apart(128)

    line = numbers_of(rank, 12)
    position = 0
    call MPI_Pack(line(2::3), 4, MPI_INTEGER, packed, 64, position, MPI_COMM_WORLD)
    call same(position, 16, 'MPI_Pack of a section')
    to = GAP
    position = 0
    call MPI_Unpack(packed, 64, position, to(12:1:-3), 4, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(to(12:1:-3) == line(2::3)) .and. count(to == GAP) == 8, &
        'MPI_Unpack to a section')
    apart = '-'
    position = 0
    call MPI_Pack(line, 4, MPI_INTEGER, apart(::2), 64, position, MPI_COMM_WORLD)
    call check(position == 16 .and. all(apart(2::2) == '-'), 'MPI_Pack to a section')
    to = GAP
    position = 0
    call MPI_Unpack(apart(::2), 64, position, to, 4, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(to(:4) == line(:4)) .and. all(to(5:) == GAP), 'MPI_Unpack from a section')
  end subroutine test_pack

  ! -- collectives ------------------------------------------------------------------------------

  subroutine test_bcast
    integer, asynchronous :: grid(6, 8)
    type(MPI_Request) :: request

    grid = GAP
    if (rank == 0) grid(2::2, 7:1:-3) = reshape(numbers_of(0, 9), [3, 3])
    call MPI_Bcast(grid(2::2, 7:1:-3), 9, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(reshape(grid(2::2, 7:1:-3), [9]) == numbers_of(0, &
        9)) .and. count(grid == GAP) == 39, &
        'MPI_Bcast')
    grid = GAP
    if (rank == 1) grid(1, :) = numbers_of(1, 8)
    call MPI_Ibcast(grid(1, :), 8, MPI_INTEGER, 1, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(grid)
    call check(all(grid(1, :) == numbers_of(1, 8)) .and. count(grid == GAP) == 40, 'MPI_Ibcast')
  end subroutine test_bcast

  subroutine test_reductions
    integer :: from(12), to(12)
    integer, parameter :: sums(4) = [3003, 3009, 3015, 3021] - 1

    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Allreduce(from(1::3), to(11:1:-3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(11:1:-3) == sums) .and. count(to == GAP) == 8, 'MPI_Allreduce')
    to = GAP
    call MPI_Allreduce(from(1::3), to, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(:4) == sums) .and. count(to == GAP) == 8, 'MPI_Allreduce to an array')
    to = GAP
    to(2::3) = from(1::3)
    call MPI_Allreduce(MPI_IN_PLACE, to(2::3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(2::3) == sums) .and. count(to == GAP) == 8, 'MPI_Allreduce in place')
    to = GAP
    call MPI_Reduce(from(1::3), to(2::3), 4, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD)
    if (rank == 1) then
      call check(all(to(2::3) == sums) .and. count(to == GAP) == 8, 'MPI_Reduce')
    else
      call check(all(to == GAP), 'MPI_Reduce where it is not the root')
    end if
    to = GAP
    call MPI_Scan(from(1::3), to(2::3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(2::3) == merge(from(1::3), sums, rank == 0)) .and. count(to == GAP) == 8, &
        'MPI_Scan')
    to = GAP
    to(2::3) = 1
    call MPI_Reduce_local(from(1::3), to(2::3), 4, MPI_INTEGER, MPI_SUM)
    call check(all(to(2::3) == from(1::3) + 1) .and. count(to == GAP) == 8, 'MPI_Reduce_local')
    call check(all(from == numbers_of(rank, 12)), 'what was sent is untouched')
  end subroutine test_reductions

  subroutine test_nonblocking_reductions
    integer, asynchronous :: from(12), to(12), second(12)
    integer, parameter :: sums(4) = [3003, 3009, 3015, 3021] - 1
    type(MPI_Request) :: requests(2)
    logical :: flag

    from = numbers_of(rank, 12)
    to = GAP
    second = GAP
    call MPI_Iallreduce(from(1::3), to(11:1:-3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
        requests(1))
    call MPI_Ireduce(from(1::3), second(1::3), 4, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, &
        requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(to)
    call MPI_F_sync_reg(second)
    call check(all(to(11:1:-3) == sums) .and. count(to == GAP) == 8, 'MPI_Iallreduce')
    if (rank == 0) then
      call check(all(second(1::3) == sums) .and. count(second == GAP) == 8, 'MPI_Ireduce')
    else
      call check(all(second == GAP), 'MPI_Ireduce where it is not the root')
    end if

    to = GAP
    call MPI_Iallreduce(from(1::3), to(2::3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE)
    end do
    call MPI_F_sync_reg(to)
    call check(all(to(2::3) == sums) .and. count(to == GAP) == 8, 'MPI_Iallreduce and MPI_Test')
  end subroutine test_nonblocking_reductions

  subroutine test_persistent_reduction
    integer, asynchronous :: from(12), to(12)
    type(MPI_Request) :: request
    integer :: i
    logical :: is_right

    from = 0
    call MPI_Allreduce_init(from(1::3), to(12:1:-3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
        MPI_INFO_NULL, request)
    is_right = .true.
    do i = 1, 3
      from = numbers_of(rank, 12) + i
      to = GAP
      call MPI_F_sync_reg(from)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_F_sync_reg(to)
      is_right = is_right .and. all(to(12:1:-3) == [3002, 3008, 3014, 3020] + 2 * i) .and. &
          count(to == GAP) == 8
    end do
    call check(is_right, 'MPI_Allreduce_init sees the section as it is when it starts')
    call MPI_Request_free(request)
  end subroutine test_persistent_reduction

  subroutine test_reduce_scatter
    integer :: from(12), to(12)

    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Reduce_scatter(from(1::3), to(2::6), [2, 2], MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(2::6) == merge([3002, 3008], [3014, 3020], rank == 0)) .and. &
        count(to == GAP) == 10, 'MPI_Reduce_scatter')
    to = GAP
    call MPI_Reduce_scatter_block(from(1::3), to(2::6), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(to(2::6) == merge([3002, 3008], [3014, 3020], rank == 0)) .and. &
        count(to == GAP) == 10, 'MPI_Reduce_scatter_block')
  end subroutine test_reduce_scatter

  subroutine test_gather
    integer :: from(12), to(24)
    integer :: wanted(4)
    wanted = [numbers_of(0, 3), numbers_of(1, 1)]

    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Gather(from(1::4), 3, MPI_INTEGER, to(24:1:-4), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) then
      call check(all(to(24:1:-4) == [1001, 1005, 1009, 2001, 2005, 2009]) .and. &
          count(to == GAP) == 18, 'MPI_Gather')
    else
      call check(all(to == GAP), 'MPI_Gather where it is not the root')
    end if
    to = GAP
    call MPI_Allgather(from(1::4), 3, MPI_INTEGER, to(24:1:-4), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(to(24:1:-4) == [1001, 1005, 1009, 2001, 2005, 2009]) .and. &
        count(to == GAP) == 18, 'MPI_Allgather')
    to = GAP
    call MPI_Gatherv(from(1::4), 2 - rank, MPI_INTEGER, to(1::2), [2, 1], [5, 0], MPI_INTEGER, 0, &
        MPI_COMM_WORLD)
    if (rank == 0) call check(all(to([11, 13, 1]) == [1001, 1005, &
        2001]) .and. count(to == GAP) == 21, &
        'MPI_Gatherv, displacements in elements of the section')
    from = GAP
    to = numbers_of(rank, 24)
    call MPI_Scatterv(to(2::2), [1, 3], [7, 2], MPI_INTEGER, from(12:1:-4), 3, MPI_INTEGER, 0, &
        MPI_COMM_WORLD)
    if (rank == 0) then
      call check(from(12) == 1016 .and. count(from == GAP) == 11, 'MPI_Scatterv')
    else
      call check(all(from(12:1:-4) == [1006, 1008, 1010]) .and. count(from == GAP) == 9, &
          'MPI_Scatterv')
    end if
    from = GAP
    call MPI_Scatter(to(2::2), 3, MPI_INTEGER, from(1::4), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(from(1::4) == 1000 + merge([2, 4, 6], [8, 10, 12], rank == 0)) .and. &
        count(from == GAP) == 9, 'MPI_Scatter')
  end subroutine test_gather

  ! Programs pass arrays that have no memory where MPI does not look at them.
  subroutine test_unused
    integer, allocatable :: nothing(:, :)
    integer, pointer :: nowhere(:, :)
    integer :: from(12)

    from = numbers_of(rank, 12)
    nullify (nowhere)
    if (rank == 0) allocate (nothing(2, 3), nowhere(2, 3))
    call MPI_Gather(from(1::4), 3, MPI_INTEGER, nothing, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Reduce(from(1::2), nowhere, 6, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) then
      call check(all(reshape(nothing, [6]) == [1001, 1005, 1009, 2001, 2005, 2009]), &
          'MPI_Gather whose receive buffer is allocated at the root alone')
      call check(all(reshape(nowhere, [6]) == 3000 + [2, 6, 10, 14, 18, 22]), &
          'MPI_Reduce whose receive buffer is a pointer at the root alone')
      deallocate (nowhere)
    end if
  end subroutine test_unused

  subroutine test_alltoall
    integer, asynchronous :: from(12), to(12)
    type(MPI_Request) :: request
    integer :: first
    first = 1000 + merge(1, 7, rank == 0)

    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Alltoall(from(1::3), 2, MPI_INTEGER, to(12:1:-3), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(to(12:1:-3) == first + [0, 3, 1000, 1003]) .and. count(to == GAP) == 8, &
        'MPI_Alltoall')
    to = GAP
    call MPI_Ialltoall(from(1::3), 2, MPI_INTEGER, to(12:1:-3), 2, MPI_INTEGER, MPI_COMM_WORLD, &
        request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(to)
    call check(all(to(12:1:-3) == first + [0, 3, 1000, 1003]) .and. count(to == GAP) == 8, &
        'MPI_Ialltoall')
    to = GAP
    call MPI_Alltoallv(from(1::3), [2, 2], [0, 2], MPI_INTEGER, to(12:1:-3), [2, 2], [2, 0], &
        MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(to(12:1:-3) == first + [1000, 1003, 0, 3]) .and. count(to == GAP) == 8, &
        'MPI_Alltoallv')
    to = GAP
    call MPI_Alltoallw(from(1::3), [2, 2], [0, 8], [MPI_INTEGER, MPI_INTEGER], to(12:1:-3), [2, &
        2], &
        [8, 0], [MPI_INTEGER, MPI_INTEGER], MPI_COMM_WORLD)
    call check(all(to(12:1:-3) == first + [1000, 1003, 0, 3]) .and. count(to == GAP) == 8, &
        'MPI_Alltoallw')
  end subroutine test_alltoall

  ! -- windows ----------------------------------------------------------------------------------

  subroutine test_windows
    integer, asynchronous :: memory(10), from(12), to(12)
    type(MPI_Win) :: win
    type(MPI_Request) :: request

    memory = GAP
    call MPI_Win_create(memory, 40_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Win_fence(0, win)
    call MPI_Put(from(11:1:-3), 4, MPI_INTEGER, other, 2_ADDRESS, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(3:6) == 1000 * (other + 1) + [11, 8, 5, &
        2]) .and. count(memory == GAP) == 6, &
        'MPI_Put')
    call MPI_Get(to(2::3), 4, MPI_INTEGER, other, 2_ADDRESS, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(to(2::3) == from(11:1:-3)) .and. count(to == GAP) == 8, 'MPI_Get')
    call MPI_Accumulate(from(1::4), 3, MPI_INTEGER, other, 2_ADDRESS, 3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(3:6) == 1000 * (other + 1) * [2, 2, 2, 1] + [12, 13, 14, 2]), &
        'MPI_Accumulate')

    to = GAP
    call MPI_Win_lock_all(0, win)
    call MPI_Rget(to(12:1:-3), 4, MPI_INTEGER, other, 2_ADDRESS, 4, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(to)
    call check(all(to(12:1:-3) == 1000 * (rank + 1) * [2, 2, 2, 1] + [12, 13, 14, 2]) .and. &
        count(to == GAP) == 8, 'MPI_Rget')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine test_windows

  subroutine test_get_accumulate
    integer, asynchronous :: memory(10), from(12), to(12)
    type(MPI_Win) :: win

    memory = numbers_of(rank, 10)
    call MPI_Win_create(memory, 40_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    from = numbers_of(rank, 12)
    to = GAP
    call MPI_Win_fence(0, win)
    call MPI_Get_accumulate(from(1::4), 3, MPI_INTEGER, to(12:1:-4), 3, MPI_INTEGER, other, &
        1_ADDRESS, &
        3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(to(12:1:-4) == 1000 * (other + 1) + [2, 3, 4]) .and. count(to == GAP) == 9, &
        'MPI_Get_accumulate: what was there')
    call check(all(memory(2:4) == 3000 + [3, 8, 13]), 'and the sum')
    call MPI_Win_free(win)
  end subroutine test_get_accumulate

  ! Memory that others reach must be contiguous.
  subroutine test_window_memory
    integer, asynchronous :: grid(6, 8)
    type(MPI_Win) :: win
    integer(ADDRESS) :: place, base
    integer :: error, class
    logical :: flag

    call MPI_Win_create(grid(:, 2:4), 72_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, error)
    call same(error, MPI_SUCCESS, 'a window of columns that lie one behind the other')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, base, flag)
    call MPI_Get_address(grid(1, 2), place)
    call same(base, place, 'which begins at the section')
    call MPI_Win_free(win)
    call MPI_Win_create(grid(2:5, 3), 16_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, error)
    call same(error, MPI_SUCCESS, 'a window of a part of a column')
    call MPI_Win_free(win)
    call MPI_Win_create(grid(1:3, :), 96_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, error)
    call MPI_Error_class(error, class)
    call same(class, MPI_ERR_BUFFER, 'a window of a section with gaps is MPI_ERR_BUFFER')
    call MPI_Buffer_attach(grid(1:3, :), 96, error)
    call MPI_Error_class(error, class)
    call same(class, MPI_ERR_BUFFER, 'and so is MPI_Buffer_attach of one')
    call MPI_Get_address(grid(3:1:-1, 2), base)
    call MPI_Get_address(grid(3, 2), place)
    call same(base, place, 'MPI_Get_address of a section is that of its first element')
  end subroutine test_window_memory

  ! -- files ------------------------------------------------------------------------------------

  subroutine test_files
    integer, asynchronous :: from(12), to(12)
    integer :: flat(4)
    type(MPI_File) :: file
    type(MPI_Request) :: request
    integer(OFFSET) :: place

    from = numbers_of(rank, 12)
    place = 16 * rank
    call MPI_File_open(MPI_COMM_WORLD, 'sections', MPI_MODE_CREATE + MPI_MODE_RDWR + &
        MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write_at(file, place, from(11:1:-3), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at(file, place, flat, 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(flat == from(11:1:-3)), 'MPI_File_write_at')
    to = GAP
    call MPI_File_read_at(file, place, to(1::3), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(to(1::3) == from(11:1:-3)) .and. count(to == GAP) == 8, 'MPI_File_read_at')
    to = GAP
    call MPI_File_iwrite_at(file, place, from(3::3), 4, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_iread_at(file, place, to(2::3), 4, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(to)
    call check(all(to(2::3) == from(3::3)) .and. count(to == GAP) == 8, &
        'MPI_File_iwrite_at and MPI_File_iread_at')
    to = GAP
    call MPI_File_write_at_all(file, place, from(1::3), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at_all(file, place, to(10:1:-3), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(to(10:1:-3) == from(1::3)) .and. count(to == GAP) == 8, &
        'MPI_File_write_at_all and MPI_File_read_at_all')
    call MPI_File_close(file)
  end subroutine test_files

  ! Collectives that begin and end.
  subroutine test_split_files
    integer, asynchronous :: from(12), to(12)
    type(MPI_File) :: file
    integer(OFFSET) :: place

    from = numbers_of(rank, 12)
    to = GAP
    place = 16 * rank
    call MPI_File_open(MPI_COMM_WORLD, 'split sections', MPI_MODE_CREATE + MPI_MODE_RDWR + &
        MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write_at_all_begin(file, place, from(12:1:-3), 4, MPI_INTEGER)
    call MPI_File_write_at_all_end(file, from(12:1:-3), MPI_STATUS_IGNORE)
    call MPI_File_read_at_all_begin(file, place, to(1::3), 4, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, to(1::3), MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(to)
    call check(all(to(1::3) == from(12:1:-3)) .and. count(to == GAP) == 8, &
        'MPI_File_write_at_all_begin and MPI_File_read_at_all_begin')
    call MPI_File_close(file)
  end subroutine test_split_files
end program sections
