! SPDX-License-Identifier: BSD-3-Clause
! hang CASE, in Fortran: a case is a subroutine. See hang.h.
module cases
    use mpi_f08
    implicit none
    integer, parameter :: tag = 7
contains
    ! Both ranks receive first.
    subroutine receive_cycle(rank)
        integer, intent(in) :: rank
        integer :: value
        call MPI_Recv(value, 1, MPI_INTEGER, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! @fortran
        call MPI_Send(rank, 1, MPI_INTEGER, 1 - rank, tag, MPI_COMM_WORLD)
    end subroutine
end module

program hang
    use cases
    implicit none
    integer :: rank
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call receive_cycle(rank)
    call MPI_Finalize()
end program
