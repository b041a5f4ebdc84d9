! SPDX-License-Identifier: BSD-3-Clause
!
! Functions of the program that MPI calls: operations, error handlers, copies and deletions of
! attributes, generalized requests, data representations. On two ranks, or four.
#include "interface.fh"
module callbacks_seen
  use, intrinsic :: iso_c_binding
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer, parameter :: ADDRESS = MPI_ADDRESS_KIND

  ! What the callbacks saw last.
  integer :: calls = 0, seen_object, seen_code, seen_keyval
  integer(ADDRESS) :: seen_state, seen_value
  integer :: seen_type, seen_length
  logical :: seen_flag

  ! What they are to return.
  integer :: to_return = MPI_SUCCESS
contains

  ! -- operations: affine functions x -> a x + b, which do not commute ----------------------------

  subroutine compose(first, then, count)
    integer, intent(in) :: first(2, *), count
    integer, intent(inout) :: then(2, *)
    integer :: i
    do i = 1, count
      then(2, i) = then(1, i) * first(2, i) + then(2, i)
      then(1, i) = then(1, i) * first(1, i)
    end do
  end subroutine compose

  ! Of a derived type: pairs.
  subroutine compose_fn(invec, inoutvec, length, type)
    integer :: length
    HANDLE(MPI_Datatype) :: type
#ifdef USE_MPI_F08
    type(c_ptr), value :: invec, inoutvec
    integer, pointer :: first(:, :), then(:, :)
    call c_f_pointer(invec, first, [2, length])
    call c_f_pointer(inoutvec, then, [2, length])
    call compose(first, then, length)
#else
    integer :: invec(2, *), inoutvec(2, *)
    call compose(invec, inoutvec, length)
#endif
    calls = calls + 1
    seen_type = NUMBER(type)
    seen_length = length
  end subroutine compose_fn

  ! A sum, of MPI_INTEGER.
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
    calls = calls + 1
    seen_type = NUMBER(type)
    seen_length = length
  end subroutine add_fn

#ifdef USE_MPI_F08
  subroutine add_large_fn(invec, inoutvec, length, type)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: type
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [length])
    call c_f_pointer(inoutvec, inout, [length])
    inout = inout + in
    calls = calls + 1
    seen_type = NUMBER(type)
    seen_length = int(length)
  end subroutine add_large_fn
#endif

  ! -- error handlers ---------------------------------------------------------------------------

  subroutine comm_handler(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code
    calls = calls + 1
    seen_object = NUMBER(comm)
    seen_code = code
  end subroutine comm_handler

  subroutine win_handler(win, code)
    HANDLE(MPI_Win) :: win
    integer :: code
    calls = calls + 1
    seen_object = NUMBER(win)
    seen_code = code
  end subroutine win_handler

  subroutine file_handler(file, code)
    HANDLE(MPI_File) :: file
    integer :: code
    calls = calls + 1
    seen_object = NUMBER(file)
    seen_code = code
  end subroutine file_handler

  subroutine session_handler(session, code)
    HANDLE(MPI_Session) :: session
    integer :: code
    calls = calls + 1
    seen_object = NUMBER(session)
    seen_code = code
  end subroutine session_handler

  ! -- attributes -------------------------------------------------------------------------------

  subroutine see_copy(object, keyval, state, value, copy, flag, error)
    integer, intent(in) :: object, keyval
    integer(ADDRESS), intent(in) :: state, value
    integer(ADDRESS), intent(out) :: copy
    logical, intent(out) :: flag
    integer, intent(out) :: error
    calls = calls + 1
    seen_object = object
    seen_keyval = keyval
    seen_state = state
    seen_value = value
    copy = value + 1
    flag = value >= 0
    error = to_return
  end subroutine see_copy

  subroutine see_delete(object, keyval, value, state, error)
    integer, intent(in) :: object, keyval
    integer(ADDRESS), intent(in) :: value, state
    integer, intent(out) :: error
    calls = calls + 1
    seen_object = object
    seen_keyval = keyval
    seen_state = state
    seen_value = value
    error = to_return
  end subroutine see_delete

  subroutine comm_copy(comm, keyval, state, value, copy, flag, error)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(ADDRESS) :: state, value, copy
    logical :: flag
    call see_copy(NUMBER(comm), keyval, state, value, copy, flag, error)
  end subroutine comm_copy

  subroutine comm_delete(comm, keyval, value, state, error)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(ADDRESS) :: value, state
    call see_delete(NUMBER(comm), keyval, value, state, error)
  end subroutine comm_delete

  subroutine type_copy(type, keyval, state, value, copy, flag, error)
    HANDLE(MPI_Datatype) :: type
    integer :: keyval, error
    integer(ADDRESS) :: state, value, copy
    logical :: flag
    call see_copy(NUMBER(type), keyval, state, value, copy, flag, error)
  end subroutine type_copy

  subroutine type_delete(type, keyval, value, state, error)
    HANDLE(MPI_Datatype) :: type
    integer :: keyval, error
    integer(ADDRESS) :: value, state
    call see_delete(NUMBER(type), keyval, value, state, error)
  end subroutine type_delete

  subroutine win_delete(win, keyval, value, state, error)
    HANDLE(MPI_Win) :: win
    integer :: keyval, error
    integer(ADDRESS) :: value, state
    call see_delete(NUMBER(win), keyval, value, state, error)
  end subroutine win_delete

  ! MPI-1's, whose values are INTEGER.
  subroutine old_copy(comm, keyval, state, value, copy, flag, error)
    integer :: comm, keyval, state, value, copy, error
    logical :: flag
    integer(ADDRESS) :: long
    call see_copy(comm, keyval, int(state, ADDRESS), int(value, ADDRESS), long, flag, error)
    copy = int(long)
  end subroutine old_copy

  subroutine old_delete(comm, keyval, value, state, error)
    integer :: comm, keyval, value, state, error
    call see_delete(comm, keyval, int(value, ADDRESS), int(state, ADDRESS), error)
  end subroutine old_delete

  ! -- generalized requests: the state counts the calls -------------------------------------------

  subroutine query_fn(state, status, error)
    integer(ADDRESS) :: state
    STATUS(status)
    integer :: error
    state = state + 1
    seen_state = state
    call MPI_Status_set_elements(status, MPI_INTEGER, 42, error)
    call MPI_Status_set_cancelled(status, seen_flag, error)
    SOURCE_OF(status) = 7
    TAG_OF(status) = 8
    error = MPI_SUCCESS
  end subroutine query_fn

  subroutine free_fn(state, error)
    integer(ADDRESS) :: state
    integer :: error
    state = state + 100
    seen_state = state
    calls = calls + 1
    error = MPI_SUCCESS
  end subroutine free_fn

  subroutine cancel_fn(state, complete, error)
    integer(ADDRESS) :: state
    logical :: complete
    integer :: error
    state = state + 10000
    seen_flag = .not. complete
    error = MPI_SUCCESS
  end subroutine cancel_fn

  ! -- a data representation: an element and its complement ---------------------------------------

  subroutine double(user, file, count, position)
    integer, intent(in) :: user(*), count
    integer, intent(out) :: file(2, *)
    integer(MPI_OFFSET_KIND), intent(in) :: position
    integer :: i
    do i = 1, count
      file(1, i) = user(position + i)
      file(2, i) = not(user(position + i))
    end do
  end subroutine double

  subroutine undouble(user, file, count, position)
    integer, intent(inout) :: user(*)
    integer, intent(in) :: file(2, *), count
    integer(MPI_OFFSET_KIND), intent(in) :: position
    integer :: i
    do i = 1, count
      user(position + i) = file(1, i)
    end do
  end subroutine undouble

  subroutine write_fn(userbuf, type, count, filebuf, position, state, error)
    HANDLE(MPI_Datatype) :: type
    integer :: count, error
    integer(MPI_OFFSET_KIND) :: position
    integer(ADDRESS) :: state
#ifdef USE_MPI_F08
    type(c_ptr), value :: userbuf, filebuf
    integer, pointer :: user(:), file(:, :)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [2, count])
    call double(user, file, count, position)
#else
    integer :: userbuf(*), filebuf(2, *)
    call double(userbuf, filebuf, count, position)
#endif
    calls = calls + 1
    seen_type = NUMBER(type)
    seen_state = state
    error = to_return
  end subroutine write_fn

  subroutine read_fn(userbuf, type, count, filebuf, position, state, error)
    HANDLE(MPI_Datatype) :: type
    integer :: count, error
    integer(MPI_OFFSET_KIND) :: position
    integer(ADDRESS) :: state
#ifdef USE_MPI_F08
    type(c_ptr), value :: userbuf, filebuf
    integer, pointer :: user(:), file(:, :)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [2, count])
    call undouble(user, file, count, position)
#else
    integer :: userbuf(*), filebuf(2, *)
    call undouble(userbuf, filebuf, count, position)
#endif
    calls = calls + 1
    seen_type = NUMBER(type)
    seen_state = state
    error = to_return
  end subroutine read_fn

  subroutine extent_fn(type, extent, state, error)
    HANDLE(MPI_Datatype) :: type
    integer(ADDRESS) :: extent, state, lower
    integer :: error
    call MPI_Type_get_extent(type, lower, extent, error)
    extent = 2 * extent
    seen_state = state
    error = MPI_SUCCESS
  end subroutine extent_fn

#ifdef USE_MPI_F08
  subroutine write_large_fn(userbuf, type, count, filebuf, position, state, error)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: type
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(ADDRESS) :: state
    integer :: error
    call write_fn(userbuf, type, int(count), filebuf, position, state, error)
  end subroutine write_large_fn

  subroutine read_large_fn(userbuf, type, count, filebuf, position, state, error)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: type
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(ADDRESS) :: state
    integer :: error
    call read_fn(userbuf, type, int(count), filebuf, position, state, error)
  end subroutine read_large_fn
#endif
end module callbacks_seen

program callbacks
  use checks
  use callbacks_seen
  implicit none
  integer :: rank, ranks, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call checks_begin(rank)

  call test_commutative
  call test_order
  call test_large_op
  call test_comm_errors
  call test_win_errors
  call test_file_errors
  call test_session_errors
  call test_comm_attributes
  call test_copy_fails
  call test_own_callbacks
  call test_type_attributes
  call test_win_attributes
  call test_old_attributes
  call test_grequest
  call test_datarep
  call test_datarep_large

  call MPI_Finalize(ierror)
  call checks_finish
contains

  integer function class_of(code) result(class)
    integer, intent(in) :: code
    integer :: error
    call MPI_Error_class(code, class, error)
  end function class_of

  ! -- operations -------------------------------------------------------------------------------

  subroutine test_commutative
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Request) :: request
    integer, BUFFER :: in(3), out(3)
    logical :: commutes

    call MPI_Op_create(add_fn, .true., op, ierror)
    call MPI_Op_commutative(op, commutes, ierror)
    call same(commutes, .true., 'MPI_Op_commutative of a commutative one')
    in = [1, 10, 100] * (rank + 1)
    calls = 0
    seen_length = 0
    call MPI_Allreduce(in, out, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call check(all(out == [1, 10, 100] * ranks * (ranks + 1) / 2), 'MPI_Allreduce with a function')
    out = [1, 2, 3]
    call MPI_Reduce_local(in, out, 3, MPI_INTEGER, op, ierror)
    call check(all(out == in + [1, 2, 3]), 'MPI_Reduce_local with a function')
    call check(seen_type == NUMBER(MPI_INTEGER) .and. seen_length == 3, &
        'it gets the type and the count')
    call MPI_Iallreduce(in, out, 3, MPI_INTEGER, op, MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(out)
    call check(all(out == [1, 10, 100] * ranks * (ranks + 1) / 2), 'MPI_Iallreduce with a function')
    call MPI_Scan(in, out, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call check(all(out == [1, 10, 100] * (rank + 1) * (rank + 2) / 2), 'MPI_Scan with a function')
    call check(calls > 0, 'the function was called')
    call MPI_Op_free(op, ierror)
    call check(op == MPI_OP_NULL, 'MPI_Op_free')
  end subroutine test_commutative

  ! Of pairs that are a derived type.
  subroutine test_order
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Datatype) :: pair
    integer :: in(2, 5), out(2, 5), wanted(2, 5), i
    logical :: commutes

    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    call MPI_Op_create(compose_fn, .false., op, ierror)
    call MPI_Op_commutative(op, commutes, ierror)
    call same(commutes, .false., 'MPI_Op_commutative of one that is not')

    wanted = affine(0)
    do i = 1, ranks - 1
      in = affine(i)
      call compose(wanted, in, 5)
      wanted = in
    end do
    in = affine(rank)
    out = 0
    call MPI_Allreduce(in, out, 5, pair, op, MPI_COMM_WORLD, ierror)
    call check(all(out == wanted), 'MPI_Allreduce keeps the order of the ranks')
    out = 0
    call MPI_Reduce(in, out, 5, pair, op, ranks - 1, MPI_COMM_WORLD, ierror)
    call check(all(out == wanted) .or. rank /= ranks - 1, 'MPI_Reduce keeps the order of the ranks')
    seen_type = 0
    out = affine(9)
    call MPI_Reduce_local(in, out, 5, pair, op, ierror)
    call same(seen_type, NUMBER(pair), 'the function gets the handle of the derived type')
    call same(seen_length, 5, 'and the count of its elements')
    call MPI_Op_free(op, ierror)
    call MPI_Type_free(pair, ierror)
  end subroutine test_order

  function affine(of) result(pairs)
    integer, intent(in) :: of
    integer :: pairs(2, 5), i
    pairs = reshape([(mod(of, 3) + 1, of + i, i = 1, 5)], [2, 5])
  end function affine

  subroutine test_large_op
#ifdef USE_MPI_F08
    type(MPI_Op) :: op
    integer :: in(3), out(3)

    call MPI_Op_create_c(add_large_fn, .true., op)
    in = [1, 10, 100] * (rank + 1)
    calls = 0
    call MPI_Allreduce(in, out, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(out == [1, 10, 100] * ranks * (ranks + 1) / 2), &
        'MPI_Op_create_c, and MPI_Allreduce')
    call MPI_Allreduce(in, out, 3_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(out == [1, 10, 100] * ranks * (ranks + 1) / 2), 'and with a large count')
    out = 0
    call MPI_Reduce_local(in, out, 3_MPI_COUNT_KIND, MPI_INTEGER, op)
    call check(all(out == in) .and. seen_type == NUMBER(MPI_INTEGER) .and. seen_length == 3 .and. &
        calls > 0, 'it gets the type and the count')
    call MPI_Op_free(op)
#endif
  end subroutine test_large_op

  ! -- error handlers ---------------------------------------------------------------------------

  ! The handler got the object and the code that the call returned.
  subroutine handled(object, class, what)
    integer, intent(in) :: object, class
    character(len=*), intent(in) :: what
    call same(calls, 1, what // ': the handler is called once')
    call same(seen_object, object, what // ': with the object')
    call check(seen_code == ierror .and. class_of(ierror) == class, what // ': with the error code')
    calls = 0
  end subroutine handled

  subroutine test_comm_errors
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Errhandler) :: handler, got
    integer :: class, code

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_create_errhandler(comm_handler, handler, ierror)
    call MPI_Comm_set_errhandler(comm, handler, ierror)
    call MPI_Comm_get_errhandler(comm, got, ierror)
    call check(got == handler, 'MPI_Comm_get_errhandler gives back what was set')
    call MPI_Errhandler_free(got, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call check(handler == MPI_ERRHANDLER_NULL, 'MPI_Errhandler_free')

    calls = 0
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 1, comm, ierror)
    call handled(NUMBER(comm), MPI_ERR_RANK, 'MPI_Send to a rank that is none')
    call MPI_Send(rank, -1, MPI_INTEGER, 0, 1, comm, ierror)
    call handled(NUMBER(comm), MPI_ERR_COUNT, 'MPI_Send of -1 elements')
    call MPI_Add_error_class(class, ierror)
    call MPI_Add_error_code(class, code, ierror)
    call MPI_Comm_call_errhandler(comm, code, ierror)
    call check(calls == 1 .and. seen_object == NUMBER(comm) .and. seen_code == code .and. &
        ierror == MPI_SUCCESS, 'MPI_Comm_call_errhandler')
    call MPI_Comm_free(comm, ierror)
  end subroutine test_comm_errors

  subroutine test_win_errors
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Errhandler) :: handler
    integer :: room(4)

    call MPI_Win_create(room, 16_ADDRESS, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_create_errhandler(win_handler, handler, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_fence(0, win, ierror)
    calls = 0
    call MPI_Put(rank, 1, MPI_INTEGER, 99, 0_ADDRESS, 1, MPI_INTEGER, win, ierror)
    call handled(NUMBER(win), MPI_ERR_RANK, 'MPI_Put to a rank that is none')
    call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierror)
    call check(calls == 1 .and. seen_object == NUMBER(win) .and. seen_code == MPI_ERR_OTHER, &
        'MPI_Win_call_errhandler')
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine test_win_errors

  subroutine test_file_errors
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Errhandler) :: handler

    call MPI_File_create_errhandler(file_handler, handler, ierror)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierror)
    calls = 0
    call MPI_File_open(MPI_COMM_SELF, 'no such file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
    call handled(NUMBER(MPI_FILE_NULL), MPI_ERR_NO_SUCH_FILE, 'MPI_File_open of no file')
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierror)

    call MPI_File_open(MPI_COMM_WORLD, 'errors ' // INTERFACE, MPI_MODE_CREATE + MPI_MODE_WRONLY + &
        MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierror)
    call MPI_File_set_errhandler(file, handler, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_File_read(file, calls, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call handled(NUMBER(file), MPI_ERR_ACCESS, 'MPI_File_read of a file for writing')
    call MPI_File_call_errhandler(file, MPI_ERR_OTHER, ierror)
    call check(calls == 1 .and. seen_object == NUMBER(file) .and. seen_code == MPI_ERR_OTHER, &
        'MPI_File_call_errhandler')
    call MPI_File_close(file, ierror)
  end subroutine test_file_errors

  subroutine test_session_errors
    HANDLE(MPI_Session) :: session
    HANDLE(MPI_Errhandler) :: handler
    HANDLE(MPI_Group) :: group

    call MPI_Session_create_errhandler(session_handler, handler, ierror)
    call MPI_Session_init(MPI_INFO_NULL, handler, session, ierror)
    call MPI_Errhandler_free(handler, ierror)
    calls = 0
    call MPI_Group_from_session_pset(session, 'no such set', group, ierror)
    call handled(NUMBER(session), class_of(ierror), 'MPI_Group_from_session_pset of no set')
    call check(class_of(seen_code) /= MPI_SUCCESS, 'which is an error')
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierror)
    call check(calls == 1 .and. seen_object == NUMBER(session) .and. seen_code == MPI_ERR_OTHER, &
        'MPI_Session_call_errhandler')
    call MPI_Session_finalize(session, ierror)
  end subroutine test_session_errors

  ! -- attributes -------------------------------------------------------------------------------

  subroutine saw(object, keyval, state, value, what)
    integer, intent(in) :: object, keyval
    integer(ADDRESS), intent(in) :: state, value
    character(len=*), intent(in) :: what
    call same(calls, 1, what // ' is called once')
    call same(seen_object, object, what // ' gets the object')
    call same(seen_keyval, keyval, what // ' gets the keyval')
    call same(seen_state, state, what // ' gets the extra state')
    call same(seen_value, value, what // ' gets the value')
    calls = 0
  end subroutine saw

  subroutine test_comm_attributes
    HANDLE(MPI_Comm) :: comm, copy
    integer :: keyval, copy_number
    integer(ADDRESS), parameter :: state = -12345678901_ADDRESS, value = 98765432109_ADDRESS
    integer(ADDRESS) :: got
    logical :: flag

    call MPI_Comm_create_keyval(comm_copy, comm_delete, keyval, state, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierror)
    call same(flag, .false., 'a communicator has no attribute that was not set')
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierror)
    call check(flag .and. got == value, 'MPI_Comm_get_attr: what was set')

    calls = 0
    call MPI_Comm_dup(comm, copy, ierror)
    call saw(NUMBER(comm), keyval, state, value, 'the copy function')
    call MPI_Comm_get_attr(copy, keyval, got, flag, ierror)
    call check(flag .and. got == value + 1, 'the copy has the value that the function gave')
    copy_number = NUMBER(copy)
    calls = 0
    call MPI_Comm_free(copy, ierror)
    call saw(copy_number, keyval, state, value + 1, 'the delete function')
    call MPI_Comm_delete_attr(comm, keyval, ierror)
    call saw(NUMBER(comm), keyval, state, value, 'the delete function of MPI_Comm_delete_attr')

    call MPI_Comm_set_attr(comm, keyval, -1_ADDRESS, ierror)
    call MPI_Comm_dup(comm, copy, ierror)
    call MPI_Comm_get_attr(copy, keyval, got, flag, ierror)
    call same(flag, .false., 'a copy function that says .false. copies nothing')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
    call same(keyval, MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
    call MPI_Comm_free(comm, ierror)
  end subroutine test_comm_attributes

  subroutine test_copy_fails
    HANDLE(MPI_Comm) :: comm, copy
    integer :: keyval

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
    call MPI_Comm_create_keyval(comm_copy, comm_delete, keyval, 0_ADDRESS, ierror)
    call MPI_Comm_set_attr(comm, keyval, 5_ADDRESS, ierror)
    to_return = MPI_ERR_OTHER
    copy = MPI_COMM_WORLD
    call MPI_Comm_dup(comm, copy, ierror)
    call same(class_of(ierror), MPI_ERR_OTHER, 'a copy function that fails lets MPI_Comm_dup fail')
    call check(copy == MPI_COMM_NULL, 'which makes no communicator')
    call MPI_Comm_delete_attr(comm, keyval, ierror)
    call same(class_of(ierror), MPI_ERR_OTHER, &
        'a delete function that fails lets the deletion fail')
    to_return = MPI_SUCCESS
    call MPI_Comm_free_keyval(keyval, ierror)
    call MPI_Comm_free(comm, ierror)
  end subroutine test_copy_fails

  ! MPI_COMM_DUP_FN and so on.
  subroutine test_own_callbacks
    HANDLE(MPI_Comm) :: comm, copy
    HANDLE(MPI_Datatype) :: type, type_copied
    integer :: copied, not_copied, type_keyval
    integer(ADDRESS), parameter :: value = -98765432109_ADDRESS
    integer(ADDRESS) :: got
    logical :: flag

    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, copied, 0_ADDRESS, ierror)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, not_copied, &
        0_ADDRESS, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_attr(comm, copied, value, ierror)
    call MPI_Comm_set_attr(comm, not_copied, value, ierror)
    call MPI_Comm_dup(comm, copy, ierror)
    call MPI_Comm_get_attr(copy, copied, got, flag, ierror)
    call check(flag .and. got == value, 'MPI_COMM_DUP_FN copies')
    call MPI_Comm_get_attr(copy, not_copied, got, flag, ierror)
    call same(flag, .false., 'MPI_COMM_NULL_COPY_FN does not')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_free_keyval(copied, ierror)
    call MPI_Comm_free_keyval(not_copied, ierror)

    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, type_keyval, 0_ADDRESS, &
        ierror)
    call MPI_Type_dup(MPI_INTEGER, type, ierror)
    call MPI_Type_set_attr(type, type_keyval, value, ierror)
    call MPI_Type_dup(type, type_copied, ierror)
    call MPI_Type_get_attr(type_copied, type_keyval, got, flag, ierror)
    call check(flag .and. got == value, 'MPI_TYPE_DUP_FN copies')
    call MPI_Type_free(type, ierror)
    call MPI_Type_free(type_copied, ierror)
    call MPI_Type_free_keyval(type_keyval, ierror)

    call MPI_COMM_DUP_FN(MPI_COMM_WORLD, 1, 0_ADDRESS, value, got, flag, ierror)
    call check(flag .and. got == value .and. ierror == MPI_SUCCESS, &
        'a program may call MPI_COMM_DUP_FN')
  end subroutine test_own_callbacks

  subroutine test_type_attributes
    HANDLE(MPI_Datatype) :: type, copy
    integer :: keyval, copy_number
    integer(ADDRESS), parameter :: state = 12345678901_ADDRESS, value = 4567890123_ADDRESS
    integer(ADDRESS) :: got
    logical :: flag

    call MPI_Type_create_keyval(type_copy, type_delete, keyval, state, ierror)
    call MPI_Type_contiguous(3, MPI_INTEGER, type, ierror)
    call MPI_Type_set_attr(type, keyval, value, ierror)
    calls = 0
    call MPI_Type_dup(type, copy, ierror)
    call saw(NUMBER(type), keyval, state, value, 'the copy function of a datatype')
    call MPI_Type_get_attr(copy, keyval, got, flag, ierror)
    call check(flag .and. got == value + 1, 'the copy of the datatype has its value')
    copy_number = NUMBER(copy)
    calls = 0
    call MPI_Type_free(copy, ierror)
    call saw(copy_number, keyval, state, value + 1, 'the delete function of a datatype')
    call MPI_Type_delete_attr(type, keyval, ierror)
    call MPI_Type_free(type, ierror)
    call MPI_Type_free_keyval(keyval, ierror)
  end subroutine test_type_attributes

  subroutine test_win_attributes
    HANDLE(MPI_Win) :: win
    integer :: keyval, number
    integer(ADDRESS), parameter :: state = 12345678901_ADDRESS, value = -4567890123_ADDRESS
    integer(ADDRESS) :: got
    logical :: flag

    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_delete, keyval, state, ierror)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_set_attr(win, keyval, value, ierror)
    call MPI_Win_get_attr(win, keyval, got, flag, ierror)
    call check(flag .and. got == value, 'MPI_Win_get_attr: what was set')
    number = NUMBER(win)
    calls = 0
    call MPI_Win_free(win, ierror)
    call saw(number, keyval, state, value, 'the delete function of a window')
    call MPI_Win_free_keyval(keyval, ierror)
  end subroutine test_win_attributes

  ! MPI_Keyval_create and its like are not in mpi_f08.
  subroutine test_old_attributes
#ifndef USE_MPI_F08
    HANDLE(MPI_Comm) :: comm, copy
    integer :: keyval, dup_keyval, null_keyval, got, copy_number
    logical :: flag

    call MPI_Keyval_create(old_copy, old_delete, keyval, -77, ierror)
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, dup_keyval, 0, ierror)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, null_keyval, 0, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Attr_put(comm, keyval, 123456, ierror)
    call MPI_Attr_put(comm, dup_keyval, -5, ierror)
    call MPI_Attr_put(comm, null_keyval, 6, ierror)
    call MPI_Attr_get(comm, dup_keyval, got, flag, ierror)
    call check(flag .and. got == -5, 'MPI_Attr_get: a negative value')
    calls = 0
    call MPI_Comm_dup(comm, copy, ierror)
    call saw(comm, keyval, -77_ADDRESS, 123456_ADDRESS, 'the old copy function')
    call MPI_Attr_get(copy, keyval, got, flag, ierror)
    call check(flag .and. got == 123457, 'the copy has the value that the old function gave')
    call MPI_Attr_get(copy, dup_keyval, got, flag, ierror)
    call check(flag .and. got == -5, 'MPI_DUP_FN copies')
    call MPI_Attr_get(copy, null_keyval, got, flag, ierror)
    call same(flag, .false., 'MPI_NULL_COPY_FN does not')
    copy_number = copy
    calls = 0
    call MPI_Comm_free(copy, ierror)
    call saw(copy_number, keyval, -77_ADDRESS, 123457_ADDRESS, 'the old delete function')
    call MPI_Attr_delete(comm, keyval, ierror)
    call MPI_Attr_get(comm, keyval, got, flag, ierror)
    call same(flag, .false., 'MPI_Attr_delete')
    call MPI_Comm_free(comm, ierror)
    call MPI_Keyval_free(keyval, ierror)
    call same(keyval, MPI_KEYVAL_INVALID, 'MPI_Keyval_free')
    call MPI_Keyval_free(dup_keyval, ierror)
    call MPI_Keyval_free(null_keyval, ierror)
#endif
  end subroutine test_old_attributes

  ! -- generalized requests ---------------------------------------------------------------------

  subroutine test_grequest
    HANDLE(MPI_Request) :: request
    STATUS(status)
    integer :: count
    logical :: flag
    integer(ADDRESS), parameter :: state = 5000000000_ADDRESS

    seen_flag = .false.
    calls = 0
    call MPI_Grequest_start(query_fn, free_fn, cancel_fn, state, request, ierror)
    call check(request /= MPI_REQUEST_NULL, 'MPI_Grequest_start')
    call MPI_Test(request, flag, status, ierror)
    call same(flag, .false., 'a generalized request is not done yet')
    call MPI_Grequest_complete(request, ierror)
    call MPI_Request_get_status(request, flag, status, ierror)
    call check(flag .and. seen_state == state + 1, 'the query function gets the state')
    call MPI_Wait(request, status, ierror)
    call same(seen_state, state + 102, 'and the free function what the query function made of it')
    call same(calls, 1, 'which is called once')
    call check(SOURCE_OF(status) == 7 .and. TAG_OF(status) == 8, 'the status is that of the query')
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call same(count, 42, 'with its count')
    call check(request == MPI_REQUEST_NULL, 'and the request is null')

    call MPI_Grequest_start(query_fn, free_fn, cancel_fn, state, request, ierror)
    call MPI_Cancel(request, ierror)
    call same(seen_flag, .true., 'the cancel function: not complete')
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call same(flag, .true., 'the query function says cancelled')
    call same(seen_state, state + 10101, 'and the state went through all three functions')
  end subroutine test_grequest

  ! -- data representations ---------------------------------------------------------------------

  ! Writes and reads by the representation, and looks at the file's bytes.
  subroutine use_datarep(name, state)
    character(len=*), intent(in) :: name
    integer(ADDRESS), intent(in) :: state
    HANDLE(MPI_File) :: file
    integer :: numbers(3), back(3), pairs(6)
    integer(ADDRESS) :: extent
    integer(MPI_OFFSET_KIND) :: place

    call MPI_File_open(MPI_COMM_WORLD, 'datarep ' // INTERFACE, MPI_MODE_CREATE + MPI_MODE_RDWR + &
        MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierror)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, name, MPI_INFO_NULL, &
        ierror)
    call same(ierror, MPI_SUCCESS, name // ': MPI_File_set_view')
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierror)
    call same(extent, 8_ADDRESS, name // ': the extent in the file')
    numbers = [1, 2, 3] + 10 * rank
    place = 3 * rank
    calls = 0
    call MPI_File_write_at_all(file, place, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS .and. calls > 0, name // ': writing calls the function')
    call check(seen_state == state .and. seen_type == NUMBER(MPI_INTEGER), &
        name // ': which gets the state and the type')
    calls = 0
    back = 0
    call MPI_File_read_at_all(file, place, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call check(all(back == numbers) .and. calls > 0, name // ': what was written is read')
    to_return = MPI_ERR_CONVERSION
    call MPI_File_read_at(file, place, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call same(class_of(ierror), MPI_ERR_CONVERSION, name // ': a function that fails')
    to_return = MPI_SUCCESS
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', &
        MPI_INFO_NULL, ierror)
    call MPI_File_read_at_all(file, 2 * place, pairs, 6, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call check(all(pairs(1::2) == numbers) .and. all(pairs(2::2) == not(numbers)), &
        name // ': the file has what the function made')
    call MPI_File_close(file, ierror)
  end subroutine use_datarep

  subroutine test_datarep
    integer(ADDRESS), parameter :: state = 6000000000_ADDRESS
    HANDLE(MPI_File) :: file
    integer :: number

    call MPI_Register_datarep('doubled  ', read_fn, write_fn, extent_fn, state, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_Register_datarep')
    call use_datarep('doubled', state)
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierror)
    call MPI_Register_datarep('doubled', read_fn, write_fn, extent_fn, state, ierror)
    call same(class_of(ierror), MPI_ERR_DUP_DATAREP, 'MPI_Register_datarep of a name that is there')

    call MPI_Register_datarep('unchanged', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, &
        extent_fn, &
        state, ierror)
    call MPI_File_open(MPI_COMM_SELF, 'unchanged ' // INTERFACE // achar(iachar('0') + rank), &
        MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierror)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'unchanged', &
        MPI_INFO_NULL, ierror)
    call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, 17, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, number, 1, MPI_INTEGER, MPI_STATUS_IGNORE, &
        ierror)
    call check(ierror == MPI_SUCCESS .and. number == 17, 'MPI_CONVERSION_FN_NULL')
    call MPI_File_close(file, ierror)
  end subroutine test_datarep

  subroutine test_datarep_large
#ifdef USE_MPI_F08
    integer(ADDRESS), parameter :: state = -7000000000_ADDRESS
    call MPI_Register_datarep_c('doubled_c', read_large_fn, write_large_fn, extent_fn, state)
    call use_datarep('doubled_c', state)
    call MPI_Register_datarep_c('unchanged_c', MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, &
        extent_fn, state, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_CONVERSION_FN_NULL_C')
#endif
  end subroutine test_datarep_large
end program callbacks
