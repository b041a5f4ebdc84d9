! SPDX-License-Identifier: BSD-3-Clause
!
! C and Fortran in one program: attributes, handles, statuses and callbacks that cross. C's half is
! languages.c. On two ranks.
#include "interface.fh"
module languages_callbacks
  use, intrinsic :: iso_c_binding
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer :: seen_object, seen_code
  integer(MPI_ADDRESS_KIND) :: seen_value
contains
  subroutine add_fn(invec, inoutvec, length, type)
    integer :: length
    HANDLE(MPI_Datatype) :: type
#ifdef USE_MPI_F08
    type(c_ptr), value :: invec, inoutvec
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [length])
    call c_f_pointer(inoutvec, inout, [length])
    inout = inout + in
#else
    integer :: invec(*), inoutvec(*)
    inoutvec(:length) = inoutvec(:length) + invec(:length)
#endif
    seen_object = NUMBER(type)
  end subroutine add_fn

  subroutine handler(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code
    seen_object = NUMBER(comm)
    seen_code = code
  end subroutine handler

  subroutine copy_fn(comm, keyval, state, value, copy, flag, error)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(MPI_ADDRESS_KIND) :: state, value, copy
    logical :: flag
    seen_object = NUMBER(comm)
    seen_value = value
    copy = state
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copy_fn
end module languages_callbacks

program languages
  use checks
  use languages_callbacks
  implicit none
  integer, parameter :: ADDRESS = MPI_ADDRESS_KIND

  interface
    integer(c_int) function c_init() bind(C)
      import c_int
    end function c_init
    type(c_ptr) function c_variable() bind(C)
      import c_ptr
    end function c_variable
    subroutine c_set_attr(comm, keyval) bind(C)
      import c_int
      integer(c_int), value :: comm, keyval
    end subroutine c_set_attr
    type(c_ptr) function c_get_attr(comm, keyval) bind(C)
      import c_int, c_ptr
      integer(c_int), value :: comm, keyval
    end function c_get_attr
    integer(c_int) function c_get_int(comm, keyval) bind(C)
      import c_int
      integer(c_int), value :: comm, keyval
    end function c_get_int
    integer(c_intptr_t) function c_get_aint(comm, keyval) bind(C)
      import c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
    end function c_get_aint
    type(c_ptr) function c_get_win_attr(win, keyval) bind(C)
      import c_int, c_ptr
      integer(c_int), value :: win, keyval
    end function c_get_win_attr
    integer(c_int) function c_create_keyval(is_new) bind(C)
      import c_int
      integer(c_int), value :: is_new
    end function c_create_keyval
    integer(c_intptr_t) function c_copied_aint() bind(C)
      import c_intptr_t
    end function c_copied_aint
    integer(c_int) function c_copied_int() bind(C)
      import c_int
    end function c_copied_int
    logical(c_bool) function c_knows_comm(comm, size) bind(C)
      import c_int, c_bool
      integer(c_int), value :: comm, size
    end function c_knows_comm
    logical(c_bool) function c_knows_group(group, size) bind(C)
      import c_int, c_bool
      integer(c_int), value :: group, size
    end function c_knows_group
    logical(c_bool) function c_knows_type(type, size) bind(C)
      import c_int, c_bool
      integer(c_int), value :: type, size
    end function c_knows_type
    logical(c_bool) function c_knows_op(op, commutes) bind(C)
      import c_int, c_bool
      integer(c_int), value :: op, commutes
    end function c_knows_op
    logical(c_bool) function c_knows_info(info, keys) bind(C)
      import c_int, c_bool
      integer(c_int), value :: info, keys
    end function c_knows_info
    logical(c_bool) function c_knows_errhandler(errhandler, comm) bind(C)
      import c_int, c_bool
      integer(c_int), value :: errhandler, comm
    end function c_knows_errhandler
    logical(c_bool) function c_knows_win(win, size) bind(C)
      import c_int, c_bool
      integer(c_int), value :: win, size
    end function c_knows_win
    logical(c_bool) function c_knows_file(file, amode) bind(C)
      import c_int, c_bool
      integer(c_int), value :: file, amode
    end function c_knows_file
    logical(c_bool) function c_knows_session(session) bind(C)
      import c_int, c_bool
      integer(c_int), value :: session
    end function c_knows_session
    logical(c_bool) function c_knows_message(message) bind(C)
      import c_int, c_bool
      integer(c_int), value :: message
    end function c_knows_message
    integer(c_int) function c_wait(request) bind(C)
      import c_int
      integer(c_int), value :: request
    end function c_wait
    integer(c_int) function c_dup(comm) bind(C)
      import c_int
      integer(c_int), value :: comm
    end function c_dup
    integer(c_int) function c_type() bind(C)
      import c_int
    end function c_type
    integer(c_int) function c_op() bind(C)
      import c_int
    end function c_op
    integer(c_int) function c_reduce(in, inout, op) bind(C)
      import c_int
      integer(c_int), value :: in, inout, op
    end function c_reduce
    integer(c_int) function c_fail(comm) bind(C)
      import c_int
      integer(c_int), value :: comm
    end function c_fail
    integer(c_int) function c_swap_status(status) bind(C)
      import c_int
      integer(c_int) :: status(*)
    end function c_swap_status
  end interface

  integer :: rank, ranks, ierror, outcome
  logical :: flag

  outcome = c_init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call checks_begin(rank)
  call same(outcome, MPI_SUCCESS, 'C initialises MPI')
  call MPI_Initialized(flag, ierror)
  call check(flag, 'Fortran sees that')

  call test_attributes
  call test_old_attributes
  call test_copies
  call test_predefined
  call test_window
  call test_handles
  call test_requests
  call test_of_c
  call test_callbacks
  call test_statuses

  call MPI_Finalize(ierror)
  call checks_finish
contains

  integer(ADDRESS) function address_of(pointer)
    type(c_ptr), intent(in) :: pointer
    address_of = transfer(pointer, address_of)
  end function address_of

  ! -- attributes -------------------------------------------------------------------------------

  subroutine test_attributes
    HANDLE(MPI_Comm) :: comm
    integer :: keyval
    integer(ADDRESS) :: got
    integer(ADDRESS), parameter :: value = -12345678901_ADDRESS

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_ADDRESS, ierror)
    call c_set_attr(NUMBER(comm), keyval)
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierror)
    call check(flag .and. got == address_of(c_variable()), 'set in C: Fortran gets the address')
    call check(address_of(c_get_attr(NUMBER(comm), keyval)) == got, 'and C the pointer')
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call same(c_get_aint(NUMBER(comm), keyval), value, &
        'set in Fortran: C gets a pointer to the value')
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierror)
    call check(flag .and. got == value, 'and Fortran the value')
    call MPI_Comm_free_keyval(keyval, ierror)
    call MPI_Comm_free(comm, ierror)
  end subroutine test_attributes

  ! MPI_Attr_put and MPI_Attr_get, with values that are INTEGER.
  subroutine test_old_attributes
#ifndef USE_MPI_F08
    integer :: comm, keyval, got
    integer(ADDRESS) :: long
    integer(ADDRESS), parameter :: value = 5_ADDRESS * 2_ADDRESS**32 + 17

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, keyval, 0, ierror)
    call MPI_Attr_put(comm, keyval, -7, ierror)
    call same(c_get_int(comm, keyval), -7, 'set by MPI_Attr_put: C gets a pointer to the value')
    call MPI_Comm_get_attr(comm, keyval, long, flag, ierror)
    call same(long, -7_ADDRESS, 'MPI_Comm_get_attr the value with its sign')
    call MPI_Attr_get(comm, keyval, got, flag, ierror)
    call check(flag .and. got == -7, 'and MPI_Attr_get the value')
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call MPI_Attr_get(comm, keyval, got, flag, ierror)
    call check(flag .and. got == 17, 'set by MPI_Comm_set_attr: MPI_Attr_get gets its low bits')
    call c_set_attr(comm, keyval)
    call MPI_Attr_get(comm, keyval, got, flag, ierror)
    call check(flag .and. got == transfer(address_of(c_variable()), got), &
        'set in C: MPI_Attr_get gets the low bits of the address')
    call MPI_Keyval_free(keyval, ierror)
    call MPI_Comm_free(comm, ierror)
#endif
  end subroutine test_old_attributes

  ! Values that are set in one language and copied by the function of another.
  subroutine test_copies
    HANDLE(MPI_Comm) :: comm, copy
    integer :: keyval, c_keyval
    integer(ADDRESS) :: got
    integer(ADDRESS), parameter :: value = -12345678901_ADDRESS

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    c_keyval = c_create_keyval(1)
    call MPI_Comm_set_attr(comm, c_keyval, value, ierror)
    call MPI_Comm_create_keyval(copy_fn, MPI_COMM_NULL_DELETE_FN, keyval, 42_ADDRESS, ierror)
    call c_set_attr(NUMBER(comm), keyval)
    call MPI_Comm_dup(comm, copy, ierror)
    call same(c_copied_aint(), value, 'a copy function in C gets a pointer to Fortran''s value')
    call same(seen_value, address_of(c_variable()), &
        'one in Fortran gets the address that C has set')
    call MPI_Comm_get_attr(copy, keyval, got, flag, ierror)
    call check(flag .and. got == 42, 'and what it gives is Fortran''s value')
    call same(c_get_aint(NUMBER(copy), keyval), 42_ADDRESS, 'to which C gets a pointer')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_delete_attr(comm, c_keyval, ierror)
    call MPI_Comm_free_keyval(c_keyval, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
#ifndef USE_MPI_F08
    c_keyval = c_create_keyval(0)
    call MPI_Attr_put(comm, c_keyval, -3, ierror)
    call MPI_Comm_dup(comm, copy, ierror)
    call same(c_copied_int(), -3, &
        'a copy function in C gets a pointer to the value of MPI_Attr_put')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_delete_attr(comm, c_keyval, ierror)
    call MPI_Comm_free_keyval(c_keyval, ierror)
#endif
    call MPI_Comm_free(comm, ierror)
  end subroutine test_copies

  ! Integers in Fortran, pointers to integers in C.
  subroutine test_predefined
    integer, parameter :: keyvals(*) = [MPI_TAG_UB, MPI_UNIVERSE_SIZE, MPI_WTIME_IS_GLOBAL, &
        MPI_LASTUSEDCODE, MPI_APPNUM]
    integer :: i, in_c
    integer(ADDRESS) :: got
#ifndef USE_MPI_F08
    integer :: old
#endif

    do i = 1, size(keyvals)
      got = -1
      call MPI_Comm_get_attr(MPI_COMM_WORLD, keyvals(i), got, flag, ierror)
      if (.not. flag) cycle
      in_c = c_get_int(NUMBER(MPI_COMM_WORLD), keyvals(i))
      call same(got, int(in_c, ADDRESS), 'a predefined attribute is in Fortran what it is in C')
#ifndef USE_MPI_F08
      call MPI_Attr_get(MPI_COMM_WORLD, keyvals(i), old, flag, ierror)
      call same(old, in_c, 'and what MPI_Attr_get gets')
#endif
    end do
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, got, flag, ierror)
    call check(flag .and. got >= 32767, 'MPI_TAG_UB')
  end subroutine test_predefined

  subroutine test_window
    HANDLE(MPI_Win) :: win
    integer :: room(10)
    integer(ADDRESS) :: got, place
    integer, pointer :: number
    integer(ADDRESS), pointer :: bytes

    call MPI_Win_create(room, 40_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Get_address(room, place, ierror)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, got, flag, ierror)
    call check(flag .and. got == place, 'MPI_WIN_BASE is the address')
    call same(address_of(c_get_win_attr(NUMBER(win), MPI_WIN_BASE)), place, 'and C''s pointer')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, got, flag, ierror)
    call check(flag .and. got == 40, 'MPI_WIN_SIZE')
    call c_f_pointer(c_get_win_attr(NUMBER(win), MPI_WIN_SIZE), bytes)
    call same(bytes, 40_ADDRESS, 'in C a pointer to it')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, got, flag, ierror)
    call check(flag .and. got == 4, 'MPI_WIN_DISP_UNIT')
    call c_f_pointer(c_get_win_attr(NUMBER(win), MPI_WIN_DISP_UNIT), number)
    call same(number, 4, 'in C a pointer to it')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, got, flag, ierror)
    call check(flag .and. got == MPI_WIN_FLAVOR_CREATE, 'MPI_WIN_CREATE_FLAVOR')
    call MPI_Win_get_attr(win, MPI_WIN_MODEL, got, flag, ierror)
    call check(flag .and. any(got == [MPI_WIN_UNIFIED, MPI_WIN_SEPARATE]), 'MPI_WIN_MODEL')
    call MPI_Win_free(win, ierror)
  end subroutine test_window

  ! -- handles ----------------------------------------------------------------------------------

  subroutine test_handles
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Datatype) :: type
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Info) :: info
    HANDLE(MPI_Errhandler) :: errhandler
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Session) :: session
    integer, parameter :: amode = MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE

    call check(logical(c_knows_comm(NUMBER(MPI_COMM_WORLD), ranks)), 'MPI_COMM_WORLD in C')
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, comm, ierror)
    call check(logical(c_knows_comm(NUMBER(comm), 1)), 'a communicator in C')
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
    call check(logical(c_knows_group(NUMBER(group), ranks)), 'a group in C')
    call MPI_Group_free(group, ierror)
    call check(logical(c_knows_type(NUMBER(MPI_DOUBLE_PRECISION), 8)), 'MPI_DOUBLE_PRECISION in C')
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, type, ierror)
    call check(logical(c_knows_type(NUMBER(type), 12)), 'a datatype in C')
    call MPI_Type_free(type, ierror)
    call MPI_Op_create(add_fn, .false., op, ierror)
    call check(logical(c_knows_op(NUMBER(op), 0)), 'an operation in C')
    call MPI_Op_free(op, ierror)
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'key', 'value', ierror)
    call check(logical(c_knows_info(NUMBER(info), 1)), 'an info object in C')
    call MPI_Info_free(info, ierror)
    call MPI_Comm_create_errhandler(handler, errhandler, ierror)
    call MPI_Comm_set_errhandler(comm, errhandler, ierror)
    call check(logical(c_knows_errhandler(NUMBER(errhandler), NUMBER(comm))), &
        'an error handler in C')
    call MPI_Errhandler_free(errhandler, ierror)
    call MPI_Comm_free(comm, ierror)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call check(logical(c_knows_win(NUMBER(win), ranks)), 'a window in C')
    call MPI_Win_free(win, ierror)
    call MPI_File_open(MPI_COMM_WORLD, 'languages ' // INTERFACE, amode, MPI_INFO_NULL, file, &
        ierror)
    call check(logical(c_knows_file(NUMBER(file), amode)), 'a file in C')
    call MPI_File_close(file, ierror)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
    call check(logical(c_knows_session(NUMBER(session))), 'a session in C')
    call MPI_Session_finalize(session, ierror)
  end subroutine test_handles

  subroutine test_requests
    HANDLE(MPI_Request) :: request
    HANDLE(MPI_Message) :: message
    integer, BUFFER :: number

    number = -1
    call MPI_Irecv(number, 1, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, ierror)
    NUMBER(request) = c_wait(NUMBER(request))
    call MPI_F_sync_reg(number)
    call check(request == MPI_REQUEST_NULL .and. number == 1 - rank, 'a request that C completes')

    call MPI_Isend(rank, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, request, ierror)
    call MPI_Mprobe(1 - rank, 2, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, ierror)
    call check(logical(c_knows_message(NUMBER(message))), 'a message in C')
    call MPI_Mrecv(number, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
    call check(message == MPI_MESSAGE_NULL, 'which is null when it is received')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine test_requests

  ! Objects that C has made.
  subroutine test_of_c
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Datatype) :: type
    HANDLE(MPI_Op) :: op
    integer :: size, sum

    NUMBER(comm) = c_dup(NUMBER(MPI_COMM_WORLD))
    call MPI_Comm_size(comm, size, ierror)
    call same(size, ranks, 'a communicator of C')
    NUMBER(type) = c_type()
    call MPI_Type_size(type, size, ierror)
    call same(size, 12, 'a datatype of C')
    NUMBER(op) = c_op()
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, op, comm, ierror)
    call same(sum, 1001, 'an operation of C')
    call MPI_Op_free(op, ierror)
    call MPI_Type_free(type, ierror)
    call MPI_Comm_free(comm, ierror)
  end subroutine test_of_c

  ! Functions of Fortran that are called in a call of C.
  subroutine test_callbacks
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Errhandler) :: errhandler
    integer :: code

    call MPI_Op_create(add_fn, .true., op, ierror)
    call same(c_reduce(5, 6, NUMBER(op)), 11, 'an operation of Fortran in C')
    call same(seen_object, NUMBER(MPI_INT), 'which gets C''s datatype')
    call MPI_Op_free(op, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_create_errhandler(handler, errhandler, ierror)
    call MPI_Comm_set_errhandler(comm, errhandler, ierror)
    call MPI_Errhandler_free(errhandler, ierror)
    code = c_fail(NUMBER(comm))
    call check(code /= MPI_SUCCESS .and. seen_code == code .and. seen_object == NUMBER(comm), &
        'an error in C calls Fortran''s handler')
    call MPI_Comm_free(comm, ierror)
  end subroutine test_callbacks

  ! -- statuses ---------------------------------------------------------------------------------

  subroutine test_statuses
    STATUS(status)
    integer :: numbers(MPI_STATUS_SIZE), got(3), count, tag
#ifndef USE_MPIF_H
    type(MPI_Status) :: structure
#endif

    call MPI_Sendrecv([1, 2, 3], 3, MPI_INTEGER, 1 - rank, 9, got, 3, MPI_INTEGER, 1 - rank, 9, &
        MPI_COMM_WORLD, status, ierror)
#ifdef USE_MPI_F08
    numbers = -1
    call MPI_Status_f082f(status, numbers, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_Status_f082f')
#else
    numbers = status
#endif
    call check(numbers(MPI_SOURCE) == 1 - rank .and. numbers(MPI_TAG) == 9, &
        'the status as integers')
    call same(c_swap_status(numbers), 3, 'MPI_Status_f2c keeps the count')
    call check(numbers(MPI_SOURCE) == 9 .and. numbers(MPI_TAG) == 1 - rank, 'MPI_Status_c2f')
#ifndef USE_MPIF_H
    call MPI_Status_f2f08(numbers, structure, ierror)
    call check(structure%MPI_SOURCE == 9 .and. structure%MPI_TAG == 1 - rank, 'MPI_Status_f2f08')
    numbers = -1
    call MPI_Status_f082f(structure, numbers, ierror)
    call check(numbers(MPI_SOURCE) == 9 .and. numbers(MPI_TAG) == 1 - rank, 'and MPI_Status_f082f')
#endif
#ifdef USE_MPI_F08
    call MPI_Get_count(structure, MPI_INTEGER, count, ierror)
    call MPI_Status_get_tag(structure, tag, ierror)
#else
    call MPI_Get_count(numbers, MPI_INTEGER, count, ierror)
    call MPI_Status_get_tag(numbers, tag, ierror)
#endif
    call same(count, 4, 'the count that C has set')
    call same(tag, 1 - rank, 'MPI_Status_get_tag')
  end subroutine test_statuses
end program languages
