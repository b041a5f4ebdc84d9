dnl SPDX-License-Identifier: BSD-3-Clause
dnl Read by MICA_MCA.
m4_define([mica_dso_mtl_ofi],
  [loading libfabric takes longer than a short job does, so nothing else may be linked to it])
AC_DEFUN([MICA_CHECK_mtl_ofi],
  [AS_IF([test "$mica_have_LIBFABRIC" = yes],
     [# Providers have threads, handlers at exit and memory that they only know: it stays when the
      # component is unloaded.
      LIBFABRIC_LIBS="$LIBFABRIC_LIBS -Wl,-z,nodelete"],
     [mica_reason="no libfabric: `test "$with_libfabric" = no && AS_ECHO(["--without-libfabric"]) || AS_ECHO(["package libfabric-dev"])`"])])
