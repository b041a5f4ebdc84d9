! SPDX-License-Identifier: BSD-3-Clause
!
! Constants that MPI recognises by their addresses: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE and
! so on. On two ranks; it spawns itself.
#include "interface.fh"
program constants
  use, intrinsic :: iso_c_binding
  use checks
  MPI_MODULE
  implicit none
  MPI_INCLUDE
  integer, parameter :: ADDRESS = MPI_ADDRESS_KIND
  HANDLE(MPI_Comm) :: parent
  integer :: rank, ranks, other, ierror

  call MPI_Init(ierror)
  call MPI_Comm_get_parent(parent, ierror)
  if (parent == MPI_COMM_NULL) then
    call be_parent
  else
    call be_child
  end if
  call MPI_Finalize(ierror)
  call checks_finish
contains

  subroutine be_parent
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    other = 1 - rank
    call checks_begin(rank)
    call same(ranks, 2, 'there are two ranks')

    call test_bottom
    call test_in_place_reductions
    call test_in_place_blocks
    call test_in_place_layouts
    call test_status_ignore
    call test_weights
    call test_buffer_automatic
    call test_spawn
    call test_spawn_multiple
  end subroutine be_parent

  ! -- MPI_BOTTOM -------------------------------------------------------------------------------

  subroutine test_bottom
    integer, BUFFER :: numbers(4)
    real(8), BUFFER :: values(2)
    integer(ADDRESS) :: places(2), numbers_end
    HANDLE(MPI_Datatype) :: both, ends
    HANDLE(MPI_Request) :: request
    character(len=64) :: packed
    integer :: position
    STATUS(status)

    call MPI_Get_address(numbers(3), places(1), ierror)
    call MPI_Get_address(values, places(2), ierror)
    call MPI_Get_address(numbers(4), numbers_end, ierror)
    call same(numbers_end, MPI_Aint_add(places(1), 4_ADDRESS), 'MPI_Get_address, MPI_Aint_add')
    call same(MPI_Aint_diff(numbers_end, places(1)), 4_ADDRESS, 'MPI_Aint_diff')
    call MPI_Type_create_struct(2, [1, 2], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION], both, &
        ierror)
    call MPI_Type_commit(both, ierror)

    numbers = [1, 2, 3 + rank, 4]
    values = [5d0 + rank, 6d0 + rank]
    if (rank == 0) then
      call MPI_Send(MPI_BOTTOM, 1, both, 1, 1, MPI_COMM_WORLD, ierror)
      call MPI_Recv(MPI_BOTTOM, 1, both, 1, 2, MPI_COMM_WORLD, status, ierror)
      call MPI_F_sync_reg(numbers)
      call check(all(numbers == [1, 2, 13, 4]), 'MPI_Recv to MPI_BOTTOM: the integers')
      call check(all(values == [15d0, 16d0]), 'MPI_Recv to MPI_BOTTOM: the reals')
    else
      call MPI_Irecv(MPI_BOTTOM, 1, both, 0, 1, MPI_COMM_WORLD, request, ierror)
      call MPI_Wait(request, status, ierror)
      call MPI_F_sync_reg(numbers)
      call check(all(numbers == [1, 2, 3, 4]), 'MPI_Irecv to MPI_BOTTOM: the integers')
      call check(all(values == [5d0, 6d0]), 'MPI_Irecv to MPI_BOTTOM: the reals')
      numbers(3) = 13
      values = [15d0, 16d0]
      call MPI_Send(MPI_BOTTOM, 1, both, 0, 2, MPI_COMM_WORLD, ierror)
    end if

    values(1) = 100d0 * rank
    call MPI_Bcast(MPI_BOTTOM, 1, both, 1, MPI_COMM_WORLD, ierror)
    call MPI_F_sync_reg(values)
    call check(all(values == [100d0, 16d0]), 'MPI_Bcast of MPI_BOTTOM')

    call MPI_Get_address(numbers, places(1), ierror)
    places(2) = numbers_end
    call MPI_Type_create_hindexed(2, [1, 1], places, MPI_INTEGER, ends, ierror)
    call MPI_Type_commit(ends, ierror)
    position = 0
    call MPI_Pack(MPI_BOTTOM, 1, ends, packed, len(packed), position, MPI_COMM_WORLD, ierror)
    call same(position, 8, 'MPI_Pack from MPI_BOTTOM')
    numbers = 0
    position = 0
    call MPI_Unpack(packed, len(packed), position, MPI_BOTTOM, 1, ends, MPI_COMM_WORLD, ierror)
    call MPI_F_sync_reg(numbers)
    call check(all(numbers == [1, 0, 0, 4]), 'MPI_Unpack to MPI_BOTTOM')
    call MPI_Type_free(both, ierror)
    call MPI_Type_free(ends, ierror)
  end subroutine test_bottom

  ! -- MPI_IN_PLACE -----------------------------------------------------------------------------

  subroutine test_in_place_reductions
    integer :: sum(2), blocks(2), counts(2)
    HANDLE(MPI_Request) :: request

    sum = [1, 10] + rank
    call MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(sum == [3, 21]), 'MPI_Allreduce in place')

    sum = [1, 10] + rank
    call MPI_Iallreduce(MPI_IN_PLACE, sum, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(sum)
    call check(all(sum == [3, 21]), 'MPI_Iallreduce in place')

    sum = [1, 10] + rank
    if (rank == 1) then
      call MPI_Reduce(MPI_IN_PLACE, sum, 2, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, ierror)
      call check(all(sum == [3, 21]), 'MPI_Reduce in place at the root')
    else
      call MPI_Reduce(sum, counts, 2, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, ierror)
      call check(all(sum == [1, 10]), 'MPI_Reduce elsewhere')
    end if

    sum = [1, 10] + rank
    call MPI_Scan(MPI_IN_PLACE, sum, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(sum == merge([1, 10], [3, 21], rank == 0)), 'MPI_Scan in place')
    sum = [1, 10] + rank
    call MPI_Exscan(MPI_IN_PLACE, sum, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(rank == 0 .or. all(sum == [1, 10]), 'MPI_Exscan in place')

    counts = 1
    blocks = [1, 10] + rank
    call MPI_Reduce_scatter(MPI_IN_PLACE, blocks, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
        ierror)
    call same(blocks(1), merge(3, 21, rank == 0), 'MPI_Reduce_scatter in place')
    blocks = [1, 10] + rank
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, blocks, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
        ierror)
    call same(blocks(1), merge(3, 21, rank == 0), 'MPI_Reduce_scatter_block in place')
  end subroutine test_in_place_reductions

  subroutine test_in_place_blocks
    integer :: blocks(2)

    blocks = -1
    blocks(rank + 1) = rank + 5
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 1, MPI_INTEGER, 0, &
          MPI_COMM_WORLD, ierror)
      call check(all(blocks == [5, 6]), 'MPI_Gather in place at the root')
      blocks = [7, 8]
      call MPI_Scatter(blocks, 1, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, &
          MPI_COMM_WORLD, ierror)
      call check(all(blocks == [7, 8]), 'MPI_Scatter in place at the root')
    else
      call MPI_Gather(blocks(2), 1, MPI_INTEGER, blocks, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call check(all(blocks == [-1, 6]), 'MPI_Gather elsewhere')
      call MPI_Scatter(blocks, 1, MPI_INTEGER, blocks, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call check(all(blocks == [8, 6]), 'MPI_Scatter elsewhere')
    end if

    blocks = -1
    blocks(rank + 1) = rank + 5
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 1, MPI_INTEGER, MPI_COMM_WORLD, &
        ierror)
    call check(all(blocks == [5, 6]), 'MPI_Allgather in place')
    blocks = [1, 2] + 10 * rank
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 1, MPI_INTEGER, MPI_COMM_WORLD, &
        ierror)
    call check(all(blocks == merge([1, 11], [2, 12], rank == 0)), 'MPI_Alltoall in place')
  end subroutine test_in_place_blocks

  subroutine test_in_place_layouts
    integer :: blocks(4), counts(2), places(2), bytes(2)
    HANDLE(MPI_Datatype) :: types(2)
    HANDLE(MPI_Request) :: request

    counts = 1
    places = [3, 0]
    bytes = 4 * places
    types = MPI_INTEGER
    blocks = -1
    blocks(places(rank + 1) + 1) = rank + 5
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, counts, places, MPI_INTEGER, &
        MPI_COMM_WORLD, ierror)
    call check(all(blocks == [6, -1, -1, 5]), 'MPI_Allgatherv in place')

    blocks = [1, 2, 3, 4] + 10 * rank
    call MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_DATATYPE_NULL, blocks, counts, places, &
        MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(all(blocks == merge([14, 2, 3, 4], [11, 12, 13, 1], rank == 0)), &
        'MPI_Alltoallv in place')

    blocks = [1, 2, 3, 4] + 10 * rank
    call MPI_Ialltoallw(MPI_IN_PLACE, counts, bytes, types, blocks, counts, bytes, types, &
        MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(blocks)
    call check(all(blocks == merge([14, 2, 3, 4], [11, 12, 13, 1], rank == 0)), &
        'MPI_Ialltoallw in place')
  end subroutine test_in_place_layouts

  ! -- statuses ---------------------------------------------------------------------------------

  subroutine test_status_ignore
    HANDLE(MPI_Request) :: requests(2)
    HANDLE(MPI_Message) :: message
    integer :: got(2), sent(2), before(3), outcount, indices(2)
    logical :: flag

    before = [SOURCE_OF(MPI_STATUS_IGNORE), TAG_OF(MPI_STATUS_IGNORE), ERROR_OF(MPI_STATUS_IGNORE)]
    sent = [3, 4] + rank
    call MPI_Sendrecv(sent, 2, MPI_INTEGER, other, 9, got, 2, MPI_INTEGER, other, 9, &
        MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, ierror)
    call check(all(got == [3, 4] + other), 'MPI_Sendrecv without a status')

    call start_pair(requests, sent, got)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call check(all(got == [3, 4] + other), 'MPI_Waitall without statuses')

    call start_pair(requests, sent, got)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierror)
    end do
    call check(all(got == [3, 4] + other), 'MPI_Testall without statuses')

    call start_pair(requests, sent, got)
    outcount = 0
    do while (outcount /= MPI_UNDEFINED)
      call MPI_Waitsome(2, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
    end do
    call check(all(got == [3, 4] + other), 'MPI_Waitsome without statuses')

    call MPI_Isend(sent, 2, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Probe(other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Mprobe(other, 4, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, ierror)
    call MPI_Mrecv(got, 2, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    call check(all(got == [3, 4] + other), 'MPI_Mprobe and MPI_Mrecv without a status')
    call check(all(before == [SOURCE_OF(MPI_STATUS_IGNORE), TAG_OF(MPI_STATUS_IGNORE), &
        ERROR_OF(MPI_STATUS_IGNORE)]), 'MPI_STATUS_IGNORE is as it was')
  end subroutine test_status_ignore

  subroutine start_pair(requests, sent, got)
    HANDLE(MPI_Request) :: requests(2)
    integer, BUFFER :: sent(2), got(2)
    got = 0
    call MPI_Irecv(got, 2, MPI_INTEGER, other, 5, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(sent, 2, MPI_INTEGER, other, 5, MPI_COMM_WORLD, requests(2), ierror)
  end subroutine start_pair

  ! -- weights ----------------------------------------------------------------------------------

  ! Rank 0 sends to rank 1 and receives of nobody.
  subroutine test_weights
    HANDLE(MPI_Comm) :: graph
    integer :: peer(1), weight(1), in, out, sources(1), destinations(1), in_weights(1), &
        out_weights(1)
    logical :: is_weighted

    peer = other
    weight = 7
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, peer, MPI_UNWEIGHTED, 1 - rank, &
        peer, &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, in, out, is_weighted, ierror)
    call check(in == rank .and. out == 1 - rank, 'a graph with MPI_UNWEIGHTED: its degrees')
    call same(is_weighted, .false., 'a graph with MPI_UNWEIGHTED has no weights')
    call MPI_Dist_graph_neighbors(graph, in, sources, MPI_UNWEIGHTED, out, destinations, &
        MPI_UNWEIGHTED, ierror)
    call same(ierror, MPI_SUCCESS, 'its neighbors without weights')
    call check((in == 0 .or. sources(1) == other) .and. (out == 0 .or. destinations(1) == other), &
        'are the ones that were given')
    call MPI_Comm_free(graph, ierror)

    if (rank == 0) then
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, peer, MPI_WEIGHTS_EMPTY, 1, peer, &
          weight, MPI_INFO_NULL, .false., graph, ierror)
    else
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, peer, weight, 0, peer, &
          MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, ierror)
    end if
    call MPI_Dist_graph_neighbors_count(graph, in, out, is_weighted, ierror)
    call same(is_weighted, .true., 'a graph with MPI_WEIGHTS_EMPTY has weights')
    in_weights = -1
    out_weights = -1
    call MPI_Dist_graph_neighbors(graph, in, sources, in_weights, out, destinations, out_weights, &
        ierror)
    call check(in_weights(1) == merge(-1, 7, rank == 0) .and. &
        out_weights(1) == merge(7, -1, rank == 0), 'and gives them back')
    call MPI_Comm_free(graph, ierror)

    if (rank == 0) then
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [0], [1], [1], MPI_UNWEIGHTED, MPI_INFO_NULL, &
          .false., graph, ierror)
    else
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, [0], [1], [1], MPI_UNWEIGHTED, MPI_INFO_NULL, &
          .false., graph, ierror)
    end if
    call MPI_Dist_graph_neighbors_count(graph, in, out, is_weighted, ierror)
    call check(in == rank .and. out == 1 - rank .and. .not. is_weighted, &
        'MPI_Dist_graph_create with MPI_UNWEIGHTED')
    call MPI_Comm_free(graph, ierror)
  end subroutine test_weights

  ! -- buffers of MPI_Bsend ---------------------------------------------------------------------

  subroutine test_buffer_automatic
    integer, target :: room(1000)
    HANDLE(MPI_Comm) :: comm
    integer :: got, bytes
#ifdef USE_MPI_F08
    type(c_ptr) :: detached
#else
    integer :: detached
#endif

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0, ierror)
    call same(ierror, MPI_SUCCESS, 'MPI_Comm_attach_buffer(MPI_BUFFER_AUTOMATIC)')
    call MPI_Bsend(rank, 1, MPI_INTEGER, other, 1, comm, ierror)
    call MPI_Recv(got, 1, MPI_INTEGER, other, 1, comm, MPI_STATUS_IGNORE, ierror)
    call same(got, other, 'MPI_Bsend from it')
    call MPI_Comm_detach_buffer(comm, detached, bytes, ierror)
    call same(bytes, 0, 'MPI_Comm_detach_buffer: its size')

    call MPI_Comm_attach_buffer(comm, room, 4000, ierror)
    call MPI_Bsend(rank + 5, 1, MPI_INTEGER, other, 1, comm, ierror)
    call MPI_Recv(got, 1, MPI_INTEGER, other, 1, comm, MPI_STATUS_IGNORE, ierror)
    call same(got, other + 5, 'MPI_Bsend from an array')
    call MPI_Comm_detach_buffer(comm, detached, bytes, ierror)
    call same(bytes, 4000, 'MPI_Comm_detach_buffer of the array: its size')
#ifdef USE_MPI_F08
    call check(c_associated(detached, c_loc(room)), 'and its address')
#endif
    call MPI_Buffer_attach(room, 4000, ierror)
    call MPI_Buffer_detach(detached, bytes, ierror)
    call same(bytes, 4000, 'MPI_Buffer_detach: the size')
#ifdef USE_MPI_F08
    call check(c_associated(detached, c_loc(room)), 'and the address')
#endif
    call MPI_Comm_free(comm, ierror)
  end subroutine test_buffer_automatic

  ! -- spawn ------------------------------------------------------------------------------------

  ! A child tells its arguments, a message each, after their number and its application's.
  subroutine be_child
    character(len=20) :: argument
    integer :: i, length, app
    integer(ADDRESS) :: value
    logical :: flag

    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, value, flag, ierror)
    app = -1
    if (flag) app = int(value)
    call MPI_Send([app, command_argument_count()], 2, MPI_INTEGER, 0, 0, parent, ierror)
    do i = 1, command_argument_count()
      call get_command_argument(i, argument, length)
      call MPI_Send(argument, length, MPI_CHARACTER, 0, i, parent, ierror)
    end do
    call MPI_Comm_disconnect(parent, ierror)
  end subroutine be_child

  ! Checks what the children told, and parts with them.
  subroutine hear(children, child, count, arguments, what)
    HANDLE(MPI_Comm) :: children
    integer, intent(in) :: child, count
    character(len=*), intent(in) :: arguments(*), what
    character(len=20) :: argument
    integer :: numbers(2), i, length
    STATUS(status)

    if (rank /= 0) return
    call MPI_Recv(numbers, 2, MPI_INTEGER, child, 0, children, MPI_STATUS_IGNORE, ierror)
    call same(numbers(1), child, what // ': the number of the application')
    call same(numbers(2), count, what // ': the number of arguments')
    do i = 1, numbers(2)
      call MPI_Recv(argument, 20, MPI_CHARACTER, child, i, children, status, ierror)
      call MPI_Get_count(status, MPI_CHARACTER, length, ierror)
      if (i <= count) call same(argument(:length), trim(arguments(i)), what // ': an argument')
    end do
  end subroutine hear

  subroutine test_spawn
    HANDLE(MPI_Comm) :: children
    character(len=1000) :: self
    character(len=12) :: argv(4)
    integer :: codes(1)

    call get_command_argument(0, self)
    argv = [character(len=12) :: 'first', 'a b  c', 'twelve chars', ' ']
    codes = -1
    call MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, ierror)
    call same(codes(1), MPI_SUCCESS, 'MPI_Comm_spawn: the error code')
    call hear(children, 0, 3, argv, 'MPI_Comm_spawn')
    call MPI_Comm_disconnect(children, ierror)

    argv(1) = '   around   '
    argv(2) = ' '
    call MPI_Comm_spawn('  ' // self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, &
        MPI_ERRCODES_IGNORE, ierror)
    call hear(children, 0, 1, ['around'], 'MPI_Comm_spawn, blanks around an argument')
    call MPI_Comm_disconnect(children, ierror)

    call MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, &
        MPI_ERRCODES_IGNORE, ierror)
    call hear(children, 0, 0, argv, 'MPI_Comm_spawn with MPI_ARGV_NULL')
    call MPI_Comm_disconnect(children, ierror)
  end subroutine test_spawn

  subroutine test_spawn_multiple
    HANDLE(MPI_Comm) :: children
    HANDLE(MPI_Info) :: infos(2)
    character(len=1000) :: commands(2)
    character(len=8) :: argvs(2, 3)
    integer :: codes(2)

    call get_command_argument(0, commands(1))
    commands(2) = commands(1)
    argvs(1, :) = [character(len=8) :: 'one', 'two', ' ']
    argvs(2, :) = [character(len=8) :: 'three', ' ', 'never']
    infos = MPI_INFO_NULL
    codes = -1
    call MPI_Comm_spawn_multiple(2, commands, argvs, [1, 1], infos, 0, MPI_COMM_WORLD, children, &
        codes, ierror)
    call check(all(codes == MPI_SUCCESS), 'MPI_Comm_spawn_multiple: the error codes')
    call hear(children, 0, 2, argvs(1, :), 'MPI_Comm_spawn_multiple, first command')
    call hear(children, 1, 1, argvs(2, :), 'MPI_Comm_spawn_multiple, second command')
    call MPI_Comm_disconnect(children, ierror)

    call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_WORLD, &
        children, MPI_ERRCODES_IGNORE, ierror)
    call hear(children, 0, 0, argvs(1, :), 'MPI_ARGVS_NULL, first command')
    call hear(children, 1, 0, argvs(1, :), 'MPI_ARGVS_NULL, second command')
    call MPI_Comm_disconnect(children, ierror)
  end subroutine test_spawn_multiple
end program constants
