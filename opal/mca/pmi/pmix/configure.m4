dnl SPDX-License-Identifier: BSD-3-Clause
m4_define([mica_dso_pmi_pmix],
  [libpmix brings libevent, hwloc and a thread with it: it is loaded where a PMIx launcher is])

AC_DEFUN([MICA_CHECK_pmi_pmix],
  [AS_IF([test "$mica_have_PMIX" = yes],
     [# libpmix has a thread and handlers at exit: it stays when the component is unloaded.
      PMIX_LIBS="$PMIX_LIBS -Wl,-z,nodelete"],
     [mica_reason="without libpmix, package libpmix-dev"])])
