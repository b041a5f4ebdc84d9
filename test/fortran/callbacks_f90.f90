! SPDX-License-Identifier: BSD-3-Clause

! Functions to be given to mpi and mpif.h, which do not look at their arguments. They are not
! called.
module callbacks_f90
  implicit none
contains
  subroutine my_user_function
  end subroutine my_user_function

  subroutine my_comm_copy_attr_function
  end subroutine my_comm_copy_attr_function

  subroutine my_comm_delete_attr_function
  end subroutine my_comm_delete_attr_function

  subroutine my_type_copy_attr_function
  end subroutine my_type_copy_attr_function

  subroutine my_type_delete_attr_function
  end subroutine my_type_delete_attr_function

  subroutine my_win_copy_attr_function
  end subroutine my_win_copy_attr_function

  subroutine my_win_delete_attr_function
  end subroutine my_win_delete_attr_function

  subroutine my_copy_function
  end subroutine my_copy_function

  subroutine my_delete_function
  end subroutine my_delete_function

  subroutine my_comm_errhandler_function
  end subroutine my_comm_errhandler_function

  subroutine my_file_errhandler_function
  end subroutine my_file_errhandler_function

  subroutine my_session_errhandler_function
  end subroutine my_session_errhandler_function

  subroutine my_win_errhandler_function
  end subroutine my_win_errhandler_function

  subroutine my_grequest_query_function
  end subroutine my_grequest_query_function

  subroutine my_grequest_free_function
  end subroutine my_grequest_free_function

  subroutine my_grequest_cancel_function
  end subroutine my_grequest_cancel_function

  subroutine my_datarep_conversion_function
  end subroutine my_datarep_conversion_function

  subroutine my_datarep_extent_function
  end subroutine my_datarep_extent_function
end module callbacks_f90
