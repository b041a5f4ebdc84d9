! SPDX-License-Identifier: BSD-3-Clause
!
! Strings, which have a length and end with blanks in Fortran. On two ranks.
#include "interface.fh"
program strings
  use checks
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer :: rank, ranks, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call checks_begin(rank)

  call test_names
  call test_library
  call test_errors
  call test_info
  call test_info_lengths
  call test_info_long
  call test_sessions
  call test_ports
  call test_files

  call MPI_Finalize(ierror)
  call checks_finish
contains

  subroutine test_names
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Datatype) :: type
    HANDLE(MPI_Win) :: win
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=5) :: short
    integer :: length

    name = repeat('x', len(name))
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
    call same(name(:length), 'MPI_COMM_WORLD', 'the name of MPI_COMM_WORLD')
    call same(name(length + 1:), repeat(' ', len(name) - length), 'is blank behind its length')

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call check(length == 0 .and. name == ' ', 'a new communicator has no name')
    call MPI_Comm_set_name(comm, '  two blanks, then this    ', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call same(name(:length), '  two blanks, then this', 'a name keeps its leading blanks alone')
#ifndef USE_MPI_F08
    call MPI_Comm_get_name(comm, short, length, ierror)
    call same(short, '  two', 'MPI_Comm_get_name to a short variable: what fits')
#endif
    call MPI_Comm_set_name(comm, 'to a null' // char(0) // 'junk', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call same(name(:9), 'to a null', 'a name with a null character ends there')
    call MPI_Comm_set_name(comm, ' ', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call check(length == 0 .and. name == ' ', 'a blank name is none')
    call MPI_Comm_free(comm, ierror)

    call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, ierror)
    call same(name(:length), 'MPI_DOUBLE_PRECISION', 'the name of MPI_DOUBLE_PRECISION')
    call MPI_Type_dup(MPI_INTEGER, type, ierror)
    call MPI_Type_set_name(type, 'my type', ierror)
    call MPI_Type_get_name(type, name, length, ierror)
    call same(name(:length), 'my type', 'MPI_Type_set_name')
    call MPI_Type_free(type, ierror)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_set_name(win, 'my window', ierror)
    call MPI_Win_get_name(win, name, length, ierror)
    call same(name(:length), 'my window', 'MPI_Win_set_name')
    call MPI_Win_free(win, ierror)
  end subroutine test_names

  subroutine test_library
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=MPI_MAX_PROCESSOR_NAME) :: processor
    integer :: length, number, subnumber

    version = repeat('x', len(version))
    call MPI_Get_library_version(version, length, ierror)
    call check(index(version(:length), 'Mica') > 0, 'the version says whose library it is')
    call check(version(length:length) /= ' ' .and. version(length + 1:) == ' ', &
        'and is blank behind')
    call MPI_Get_version(number, subnumber, ierror)
    call check(number == MPI_VERSION .and. subnumber == MPI_SUBVERSION, 'MPI_Get_version')
    processor = repeat('x', len(processor))
    call MPI_Get_processor_name(processor, length, ierror)
    call check(length > 0 .and. processor(length:length) /= ' ' .and. &
        processor(length + 1:) == ' ', 'the name of the processor')
  end subroutine test_library

  subroutine test_errors
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, class, code

    text = repeat('x', len(text))
    call MPI_Error_string(MPI_ERR_TRUNCATE, text, length, ierror)
    call check(length > 0 .and. text(length + 1:) == ' ' .and. &
        text(length:length) /= ' ', 'MPI_Error_string')
    call MPI_Add_error_class(class, ierror)
    call MPI_Add_error_code(class, code, ierror)
    call MPI_Add_error_string(code, 'an error of ours   ', ierror)
    call MPI_Error_string(code, text, length, ierror)
    call same(text(:length), 'an error of ours', 'MPI_Add_error_string')
    call MPI_Remove_error_string(code, ierror)
    call MPI_Remove_error_code(code, ierror)
    call MPI_Remove_error_class(class, ierror)
  end subroutine test_errors

  ! -- info -------------------------------------------------------------------------------------

  subroutine test_info
    HANDLE(MPI_Info) :: info
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=40) :: value
    character(len=4) :: short
    integer :: count, length
    logical :: flag

    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, '  first key   ', '   a value   ', ierror)
    call MPI_Info_set(info, 'second', 'with  inner blanks', ierror)
    call MPI_Info_get_nkeys(info, count, ierror)
    call same(count, 2, 'two keys')
    key = repeat('x', len(key))
    call MPI_Info_get_nthkey(info, 0, key, ierror)
    call same(trim(key), 'first key', &
        'a key is without the blanks around it; the first is number 0')

    value = repeat('x', len(value))
    call MPI_Info_get(info, 'first key', len(value), value, flag, ierror)
    call check(flag .and. value == 'a value', 'MPI_Info_get: without the blanks around')
    call same(value(8:), repeat(' ', len(value) - 7), 'and blank behind')
    call MPI_Info_get(info, '  second  ', len(value), value, flag, ierror)
    call check(flag .and. value == 'with  inner blanks', 'MPI_Info_get of a key with blanks around')
    call MPI_Info_get(info, 'second', len(short), short, flag, ierror)
    call check(flag .and. short == 'with', 'MPI_Info_get to a short variable: what fits')
    value = repeat('x', len(value))
    call MPI_Info_get(info, 'second', 6, value, flag, ierror)
    call check(flag .and. value == 'with', 'MPI_Info_get of fewer characters than the variable has')
    value = 'kept'
    call MPI_Info_get(info, 'third', len(value), value, flag, ierror)
    call check(.not. flag .and. value == 'kept', 'MPI_Info_get of no key')

    call MPI_Info_get_valuelen(info, 'first key', length, flag, ierror)
    call check(flag .and. length == 7, 'MPI_Info_get_valuelen')
    call MPI_Info_get_valuelen(info, 'third', length, flag, ierror)
    call check(.not. flag, 'MPI_Info_get_valuelen of no key')
    call MPI_Info_delete(info, ' first key ', ierror)
    call MPI_Info_get_nkeys(info, count, ierror)
    call same(count, 1, 'MPI_Info_delete')
    call MPI_Info_free(info, ierror)
    call check(info == MPI_INFO_NULL, 'MPI_Info_free')
  end subroutine test_info

  ! In Fortran a length does not count C's null character.
  subroutine test_info_lengths
    HANDLE(MPI_Info) :: info
    character(len=20) :: value
    integer :: length
    logical :: flag

    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'key', 'twelve chars', ierror)
    length = 0
    value = 'kept'
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call check(flag .and. length == 12, 'MPI_Info_get_string with length 0 gives the length')
    call check(value == 'kept', 'and no value')
    length = len(value)
    value = repeat('x', len(value))
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call check(flag .and. length == 12, 'MPI_Info_get_string with room gives the length')
    call same(value, 'twelve chars        ', 'and the value, blank behind')
    length = 12
    value = repeat('x', len(value))
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call check(flag .and. length == 12 .and. value(:12) == 'twelve chars', &
        'MPI_Info_get_string with just the room that is needed')
    length = 6
    call MPI_Info_get_string(info, 'key', length, value(:6), flag, ierror)
    call check(flag .and. length == 12 .and. value(:6) == 'twelve', &
        'MPI_Info_get_string with less: what fits, and the whole length')
    length = 5
    value = 'kept'
    call MPI_Info_get_string(info, 'none', length, value, flag, ierror)
    call check(.not. flag .and. length == 5 .and. value == 'kept', 'MPI_Info_get_string of no key')
    call MPI_Info_free(info, ierror)
  end subroutine test_info_lengths

  subroutine test_info_long
    HANDLE(MPI_Info) :: info, copy
    character(len=MPI_MAX_INFO_VAL) :: long, value
    character(len=MPI_MAX_INFO_KEY) :: key
    integer :: i, length
    logical :: flag

    do i = 1, len(long)
      long(i:i) = char(33 + mod(i, 90))
    end do
    key = repeat('k', len(key))
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, key, long, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_Info_set of the longest key and value')
    call MPI_Info_dup(info, copy, ierror)
    call MPI_Info_get(copy, key, len(value), value, flag, ierror)
    call check(flag .and. value == long, 'which are got from a copy')
    call MPI_Info_get_valuelen(copy, key, length, flag, ierror)
    call same(length, MPI_MAX_INFO_VAL, 'with their length')
    call MPI_Info_free(info, ierror)
    call MPI_Info_free(copy, ierror)
  end subroutine test_info_long

  ! -- names of process sets, ports, files ------------------------------------------------------

  subroutine test_sessions
    HANDLE(MPI_Session) :: session
    HANDLE(MPI_Group) :: group
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    integer :: count, length, i, size
    logical :: has_world

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, count, ierror)
    has_world = .false.
    do i = 0, count - 1
      length = 0
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierror)
      call check(length > 0, 'MPI_Session_get_nth_pset with length 0 gives the length')
      size = len(name)
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, size, name, ierror)
      call check(size == length .and. len_trim(name) == length, 'which is the name''s')
      has_world = has_world .or. name == 'mpi://WORLD'
    end do
    call check(has_world, 'mpi://WORLD is among them')
    call MPI_Group_from_session_pset(session, 'mpi://WORLD ', group, ierror)
    call MPI_Group_size(group, size, ierror)
    call same(size, ranks, 'MPI_Group_from_session_pset')
    call MPI_Group_free(group, ierror)
    call MPI_Session_finalize(session, ierror)
  end subroutine test_sessions

  ! Rank 0 opens a port; rank 1 finds it by its published name.
  subroutine test_ports
    character(len=MPI_MAX_PORT_NAME) :: port, found
    HANDLE(MPI_Comm) :: inter
    integer :: got, service_error

    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    port = ' '
    if (rank == 0) then
      port = repeat('x', len(port))
      call MPI_Open_port(MPI_INFO_NULL, port, ierror)
      call check(ierror == MPI_SUCCESS .and. len_trim(port) > 0 .and. &
          len_trim(port) < len(port), 'MPI_Open_port: a name with blanks behind')
      call MPI_Publish_name('a service of Fortran  ', MPI_INFO_NULL, port, service_error)
    end if
    call MPI_Bcast(service_error, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call same(service_error, MPI_SUCCESS, 'MPI_Publish_name')
    if (rank == 1) then
      found = repeat('x', len(found))
      call MPI_Lookup_name('a service of Fortran', MPI_INFO_NULL, found, ierror)
      call check(ierror == MPI_SUCCESS .and. len_trim(found) > 0 .and. &
          len_trim(found) < len(found), 'MPI_Lookup_name: a name with blanks behind')
      call MPI_Comm_connect(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
    else
      call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
    end if
    call same(ierror, MPI_SUCCESS, 'MPI_Comm_connect and MPI_Comm_accept')
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, 0, 1, got, 1, MPI_INTEGER, 0, 1, inter, &
        MPI_STATUS_IGNORE, ierror)
    call same(got, 1 - rank, 'a message between them')
    call MPI_Comm_disconnect(inter, ierror)
    if (rank == 0) then
      call MPI_Unpublish_name('a service of Fortran', MPI_INFO_NULL, port, ierror)
      call same(ierror, MPI_SUCCESS, 'MPI_Unpublish_name')
      call MPI_Close_port(port, ierror)
      call same(ierror, MPI_SUCCESS, 'MPI_Close_port')
    end if
  end subroutine test_ports

  subroutine test_files
    HANDLE(MPI_File) :: file
    character(len=40) :: name
    character(len=MPI_MAX_DATAREP_STRING) :: datarep
    character(len=9) :: text
    HANDLE(MPI_Datatype) :: etype, filetype
    integer(MPI_OFFSET_KIND) :: displacement
    logical :: is_there
    integer :: unit

    name = 'a file ' // INTERFACE
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, &
        ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_File_open of a name with blanks behind')
    if (rank == 0) call MPI_File_write(file, 'the text.', 9, MPI_CHARACTER, MPI_STATUS_IGNORE, &
        ierror)
    datarep = repeat('x', len(datarep))
    call MPI_File_get_view(file, displacement, etype, filetype, datarep, ierror)
    call same(datarep, 'native' // repeat(' ', len(datarep) - 6), 'MPI_File_get_view: native')
    call check(etype == MPI_BYTE .and. filetype == MPI_BYTE .and. displacement == 0, 'of bytes')
    call MPI_File_set_view(file, 8_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'external32   ', &
        MPI_INFO_NULL, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_File_set_view with blanks behind external32')
    call MPI_File_get_view(file, displacement, etype, filetype, datarep, ierror)
    call check(datarep == 'external32' .and. etype == MPI_INTEGER .and. displacement == 8, &
        'MPI_File_get_view gives it back')
    call MPI_File_close(file, ierror)
    call check(file == MPI_FILE_NULL, 'MPI_File_close')

    inquire (file=trim(name), exist=is_there)
    call check(is_there, 'the file has the name without the blanks')
    if (rank == 0) then
      text = ' '
      open (newunit=unit, file=trim(name), access='stream', form='unformatted', status='old')
      read (unit) text
      close (unit)
      call same(text, 'the text.', 'and what was written')
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 0) then
      call MPI_File_delete(name, MPI_INFO_NULL, ierror)
      inquire (file=trim(name), exist=is_there)
      call check(.not. is_there, 'MPI_File_delete of a name with blanks behind')
    end if
  end subroutine test_files
end program strings
