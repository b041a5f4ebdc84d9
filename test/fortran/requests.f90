! SPDX-License-Identifier: BSD-3-Clause
!
! Requests: what Waitany and its like say in Fortran, which counts from 1, requests that persist,
! cancelled ones, and the comparison of handles. On two ranks.
#include "interface.fh"
program requests
  use checks
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer, parameter :: MANY = 100
  integer :: rank, other, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  other = 1 - rank
  call checks_begin(rank)

  call test_any
  call test_some
  call test_all
  call test_get_status
  call test_persistent
  call test_cancel
  call test_null
  call test_comparison
  call test_no_ierror

  call MPI_Finalize(ierror)
  call checks_finish
contains

  ! Receives of tags 1 to MANY, of which none is done until the other rank's send_tag.
  subroutine start(list, numbers)
    HANDLE(MPI_Request) :: list(MANY)
    integer, BUFFER :: numbers(MANY)
    integer :: i
    numbers = 0
    do i = 1, MANY
      call MPI_Irecv(numbers(i), 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, list(i), ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine start

  subroutine send_tag(tag)
    integer, intent(in) :: tag
    call MPI_Send(1000 + tag, 1, MPI_INTEGER, other, tag, MPI_COMM_WORLD, ierror)
  end subroutine send_tag

  ! Waits for all with tags that were not sent yet; returns how many.
  subroutine finish_rest(list, numbers)
    HANDLE(MPI_Request) :: list(MANY)
    integer, BUFFER :: numbers(MANY)
    integer :: i
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 1, MANY
      if (list(i) /= MPI_REQUEST_NULL) call send_tag(i)
    end do
    call MPI_Waitall(MANY, list, MPI_STATUSES_IGNORE, ierror)
    call check(all([(numbers(i) == 1000 + i, i = 1, MANY)]), 'all numbers have arrived')
  end subroutine finish_rest

  subroutine test_any
    HANDLE(MPI_Request) :: list(MANY)
    integer, BUFFER :: numbers(MANY)
    integer :: i
    logical :: flag
    STATUS(status)

    call start(list, numbers)
    call MPI_Testany(MANY, list, i, flag, status, ierror)
    call same(flag, .false., 'MPI_Testany: none is done')
    call same(i, MPI_UNDEFINED, 'and the index is MPI_UNDEFINED')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)

    call send_tag(1)
    call MPI_Waitany(MANY, list, i, status, ierror)
    call same(i, 1, 'MPI_Waitany: the first request has the index 1')
    call check(list(1) == MPI_REQUEST_NULL .and. list(2) /= MPI_REQUEST_NULL, 'and alone is null')
    call same(TAG_OF(status), 1, 'and its status has the tag')
    call same(SOURCE_OF(status), other, 'and the source')

    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call send_tag(MANY)
    call MPI_Waitany(MANY, list, i, status, ierror)
    call same(i, MANY, 'MPI_Waitany: the last request has the number of requests as index')
    call same(TAG_OF(status), MANY, 'and its status has the tag')

    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call send_tag(50)
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(MANY, list, i, flag, status, ierror)
    end do
    call same(i, 50, 'MPI_Testany: the 50th')
    call check(list(50) == MPI_REQUEST_NULL .and. numbers(50) == 1050, 'is done')
    call finish_rest(list, numbers)

    call MPI_Waitany(MANY, list, i, status, ierror)
    call same(i, MPI_UNDEFINED, 'MPI_Waitany of null requests: MPI_UNDEFINED')
    call same(SOURCE_OF(status), MPI_ANY_SOURCE, 'and an empty status')
    call MPI_Testany(MANY, list, i, flag, status, ierror)
    call check(flag .and. i == MPI_UNDEFINED, 'MPI_Testany of null requests: MPI_UNDEFINED')
  end subroutine test_any

  subroutine test_some
    HANDLE(MPI_Request) :: list(MANY)
    integer, BUFFER :: numbers(MANY)
    integer :: count, indices(MANY), i, done
    logical :: is_right
    STATUSES(statuses, MANY)

    call start(list, numbers)
    call MPI_Testsome(MANY, list, count, indices, statuses, ierror)
    call same(count, 0, 'MPI_Testsome: none is done')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)

    call send_tag(1)
    call send_tag(33)
    call send_tag(MANY)
    done = 0
    is_right = .true.
    do while (done < 3)
      if (mod(done, 2) == 0) then
        call MPI_Waitsome(MANY, list, count, indices, statuses, ierror)
      else
        call MPI_Testsome(MANY, list, count, indices, statuses, ierror)
      end if
      do i = 1, count
        is_right = is_right .and. any(indices(i) == [1, 33, MANY]) .and. &
            list(indices(i)) == MPI_REQUEST_NULL .and. TAG_AT(statuses, i) == indices(i) .and. &
            SOURCE_AT(statuses, i) == other
      end do
      done = done + count
    end do
    call same(done, 3, 'MPI_Waitsome and MPI_Testsome: three are done')
    call check(is_right, 'the indices count from 1, and the statuses belong to them')
    call finish_rest(list, numbers)

    call MPI_Waitsome(MANY, list, count, indices, statuses, ierror)
    call same(count, MPI_UNDEFINED, 'MPI_Waitsome of null requests: MPI_UNDEFINED')
    call MPI_Testsome(MANY, list, count, indices, statuses, ierror)
    call same(count, MPI_UNDEFINED, 'MPI_Testsome of null requests: MPI_UNDEFINED')
  end subroutine test_some

  subroutine test_all
    HANDLE(MPI_Request) :: list(MANY)
    integer, BUFFER :: numbers(MANY)
    integer :: i, count
    logical :: flag
    STATUSES(statuses, MANY)

    call start(list, numbers)
    call MPI_Testall(MANY, list, flag, statuses, ierror)
    call check(.not. flag .and. list(1) /= MPI_REQUEST_NULL, 'MPI_Testall: not all are done')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 1, MANY
      call send_tag(i)
    end do
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(MANY, list, flag, statuses, ierror)
    end do
    call check(all([(list(i) == MPI_REQUEST_NULL, i = 1, MANY)]), 'MPI_Testall: all are null')
    call check(all([(TAG_AT(statuses, i) == i, i = 1, MANY)]), 'with a status each')
    call MPI_Get_count(STATUS_AT(statuses, MANY), MPI_INTEGER, count, ierror)
    call same(count, 1, 'MPI_Get_count of the last one')
    call check(all([(numbers(i) == 1000 + i, i = 1, MANY)]), 'all numbers have arrived')
  end subroutine test_all

  subroutine test_get_status
    HANDLE(MPI_Request) :: list(3)
    integer, BUFFER :: numbers(3)
    integer :: i, count, indices(3)
    logical :: flag
    STATUS(status)
    STATUSES(statuses, 3)

    do i = 1, 3
      call MPI_Irecv(numbers(i), 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, list(i), ierror)
    end do
    call MPI_Request_get_status(list(2), flag, status, ierror)
    call same(flag, .false., 'MPI_Request_get_status: not done')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call send_tag(2)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(list(2), flag, status, ierror)
    end do
    call same(TAG_OF(status), 2, 'MPI_Request_get_status: the tag')
    call check(list(2) /= MPI_REQUEST_NULL, 'the request remains')
    call MPI_Request_get_status_any(3, list, i, flag, status, ierror)
    call check(flag .and. i == 2, 'MPI_Request_get_status_any counts from 1')
    call MPI_Request_get_status_some(3, list, count, indices, statuses, ierror)
    call check(count == 1 .and. indices(1) == 2, 'MPI_Request_get_status_some counts from 1')
    call MPI_Request_get_status_all(3, list, flag, statuses, ierror)
    call same(flag, .false., 'MPI_Request_get_status_all: not all are done')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call send_tag(1)
    call send_tag(3)
    do while (.not. flag)
      call MPI_Request_get_status_all(3, list, flag, statuses, ierror)
    end do
    call check(all([(TAG_AT(statuses, i) == i, i = 1, 3)]), &
        'MPI_Request_get_status_all: the statuses')
    call MPI_Waitall(3, list, MPI_STATUSES_IGNORE, ierror)
    call check(all(numbers == [1001, 1002, 1003]), 'all numbers have arrived')
  end subroutine test_get_status

  subroutine test_persistent
    HANDLE(MPI_Request) :: list(2), before(2)
    integer, BUFFER :: sent, got
    integer :: i
    logical :: is_right, flag
    STATUSES(statuses, 2)

    call MPI_Recv_init(got, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, list(1), ierror)
    call MPI_Send_init(sent, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, list(2), ierror)
    before = list
    is_right = .true.
    do i = 1, 10
      sent = 100 * i + rank
      got = -1
      call MPI_F_sync_reg(sent)
      call MPI_Startall(2, list, ierror)
      if (mod(i, 2) == 0) then
        call MPI_Waitall(2, list, statuses, ierror)
      else
        flag = .false.
        do while (.not. flag)
          call MPI_Testall(2, list, flag, statuses, ierror)
        end do
      end if
      call MPI_F_sync_reg(got)
      is_right = is_right .and. got == 100 * i + other .and. SOURCE_AT(statuses, 1) == other
    end do
    call check(is_right, 'persistent requests transfer what is there when they start')
    call check(list(1) == before(1) .and. list(2) == before(2), 'and keep their handles')

    call MPI_Wait(list(1), STATUS_AT(statuses, 1), ierror)
    call same(SOURCE_AT(statuses, 1), MPI_ANY_SOURCE, 'an inactive one has an empty status')
    sent = rank
    call MPI_F_sync_reg(sent)
    call MPI_Start(list(2), ierror)
    call MPI_Start(list(1), ierror)
    call MPI_Wait(list(1), STATUS_AT(statuses, 1), ierror)
    call MPI_Wait(list(2), MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(got)
    call same(got, other, 'MPI_Start and MPI_Wait')
    call MPI_Request_free(list(1), ierror)
    call MPI_Request_free(list(2), ierror)
    call check(list(1) == MPI_REQUEST_NULL .and. list(2) == MPI_REQUEST_NULL, &
        'MPI_Request_free makes the handles null')
  end subroutine test_persistent

  subroutine test_cancel
    HANDLE(MPI_Request) :: request, before
    integer, BUFFER :: number
    logical :: flag
    STATUS(status)

    call MPI_Irecv(number, 1, MPI_INTEGER, other, 77, MPI_COMM_WORLD, request, ierror)
    before = request
    call MPI_Cancel(request, ierror)
    call check(request == before, 'MPI_Cancel keeps the handle')
    call MPI_Wait(request, status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call same(flag, .true., 'MPI_Test_cancelled of the status')
    call check(request == MPI_REQUEST_NULL, 'and the request is null')

    call MPI_Status_set_cancelled(status, .false., ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call same(flag, .false., 'MPI_Status_set_cancelled')
    call MPI_Status_set_elements(status, MPI_INTEGER, 7, ierror)
    call MPI_Get_count(status, MPI_INTEGER, number, ierror)
    call same(number, 7, 'MPI_Status_set_elements')
    call MPI_Get_elements(status, MPI_INTEGER, number, ierror)
    call same(number, 7, 'MPI_Get_elements')
  end subroutine test_cancel

  subroutine test_null
    HANDLE(MPI_Request) :: request
    logical :: flag
    STATUS(status)

    request = MPI_REQUEST_NULL
    call MPI_Wait(request, status, ierror)
    call same(TAG_OF(status), MPI_ANY_TAG, 'MPI_Wait of a null request: an empty status')
    call MPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
    call check(flag .and. request == MPI_REQUEST_NULL, 'MPI_Test of a null request')
  end subroutine test_null

  subroutine test_comparison
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Info) :: info
    HANDLE(MPI_Datatype) :: type
    HANDLE(MPI_Errhandler) :: errhandler
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Message) :: message
    HANDLE(MPI_Session) :: session

    comm = MPI_COMM_WORLD
    call check(comm == MPI_COMM_WORLD .and. comm /= MPI_COMM_SELF .and. &
        .not. comm == MPI_COMM_NULL .and. .not. comm /= MPI_COMM_WORLD, &
        '== and /= of communicators')
    group = MPI_GROUP_EMPTY
    call check(group == MPI_GROUP_EMPTY .and. group /= MPI_GROUP_NULL, '== and /= of groups')
    info = MPI_INFO_ENV
    call check(info == MPI_INFO_ENV .and. info /= MPI_INFO_NULL, '== and /= of info objects')
    type = MPI_REAL
    call check(type == MPI_REAL .and. type /= MPI_INTEGER, '== and /= of datatypes')
    errhandler = MPI_ERRORS_RETURN
    call check(errhandler == MPI_ERRORS_RETURN .and. errhandler /= MPI_ERRORS_ARE_FATAL, &
        '== and /= of error handlers')
    op = MPI_SUM
    call check(op == MPI_SUM .and. op /= MPI_MAX, '== and /= of operations')
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, win, ierror)
    call check(win /= MPI_WIN_NULL .and. .not. win == MPI_WIN_NULL, '/= of windows')
    call MPI_Win_free(win, ierror)
    call check(win == MPI_WIN_NULL, '== of windows')
    file = MPI_FILE_NULL
    call check(file == MPI_FILE_NULL .and. .not. file /= MPI_FILE_NULL, '== and /= of files')
    message = MPI_MESSAGE_NO_PROC
    call check(message == MPI_MESSAGE_NO_PROC .and. message /= MPI_MESSAGE_NULL, &
        '== and /= of messages')
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
    call check(session /= MPI_SESSION_NULL, '/= of sessions')
    call MPI_Session_finalize(session, ierror)
    call check(session == MPI_SESSION_NULL, '== of sessions')
  end subroutine test_comparison

  ! In mpi_f08 ierror may be left out of every call.
  subroutine test_no_ierror
#ifdef USE_MPI_F08
    type(MPI_Request) :: list(2)
    integer, BUFFER :: numbers(2)
    integer :: i, size, sum
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    type(MPI_Comm) :: comm

    call MPI_Irecv(numbers(1), 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, list(1))
    numbers(2) = rank
    call MPI_Isend(numbers(2), 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, list(2))
    call MPI_Waitany(2, list, i, MPI_STATUS_IGNORE)
    call MPI_Waitall(2, list, MPI_STATUSES_IGNORE)
    call MPI_Testall(2, list, flag, MPI_STATUSES_IGNORE)
    call check(flag .and. numbers(1) == other, 'messages without ierror')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_name(comm, 'named')
    call MPI_Comm_get_name(comm, name, size)
    call same(name(:size), 'named', 'names without ierror')
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, comm)
    call same(sum, 2, 'a reduction without ierror')
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'MPI_Comm_free without ierror')
#endif
  end subroutine test_no_ierror
end program requests
