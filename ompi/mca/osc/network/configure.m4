dnl SPDX-License-Identifier: BSD-3-Clause
dnl Read by MICA_MCA.
m4_define([mica_dso_osc_network],
  [loading libfabric takes longer than a short job does, so nothing else may be linked to it])
AC_DEFUN([MICA_CHECK_osc_network],
  [AS_IF([test "$mica_have_LIBFABRIC" != yes],
     [mica_reason="no libfabric: `test "$with_libfabric" = no && AS_ECHO(["--without-libfabric"]) || AS_ECHO(["package libfabric-dev"])`"])])
