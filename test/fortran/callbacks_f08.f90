! SPDX-License-Identifier: BSD-3-Clause

! Functions to be given to mpi_f08, with the interfaces that the standard demands. They are not
! called.
module callbacks_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
contains
  subroutine my_user_function(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
  end subroutine my_user_function

  subroutine my_user_function_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
  end subroutine my_user_function_c

  subroutine my_comm_copy_attr_function(oldcomm, comm_keyval, extra_state, attribute_val_in, &
      attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
  end subroutine my_comm_copy_attr_function

  subroutine my_comm_delete_attr_function(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
  end subroutine my_comm_delete_attr_function

  subroutine my_type_copy_attr_function(oldtype, type_keyval, extra_state, attribute_val_in, &
      attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
  end subroutine my_type_copy_attr_function

  subroutine my_type_delete_attr_function(datatype, type_keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
  end subroutine my_type_delete_attr_function

  subroutine my_win_copy_attr_function(oldwin, win_keyval, extra_state, attribute_val_in, &
      attribute_val_out, flag, ierror)
    type(MPI_Win) :: oldwin
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
  end subroutine my_win_copy_attr_function

  subroutine my_win_delete_attr_function(win, win_keyval, attribute_val, extra_state, ierror)
    type(MPI_Win) :: win
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
  end subroutine my_win_delete_attr_function

  subroutine my_comm_errhandler_function(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
  end subroutine my_comm_errhandler_function

  subroutine my_file_errhandler_function(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
  end subroutine my_file_errhandler_function

  subroutine my_session_errhandler_function(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
  end subroutine my_session_errhandler_function

  subroutine my_win_errhandler_function(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
  end subroutine my_win_errhandler_function

  subroutine my_grequest_query_function(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
  end subroutine my_grequest_query_function

  subroutine my_grequest_free_function(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
  end subroutine my_grequest_free_function

  subroutine my_grequest_cancel_function(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
  end subroutine my_grequest_cancel_function

  subroutine my_datarep_conversion_function(userbuf, datatype, count, filebuf, position, &
      extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
  end subroutine my_datarep_conversion_function

  subroutine my_datarep_conversion_function_c(userbuf, datatype, count, filebuf, position, &
      extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_COUNT_KIND) :: count
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
  end subroutine my_datarep_conversion_function_c

  subroutine my_datarep_extent_function(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
  end subroutine my_datarep_extent_function
end module callbacks_f08
