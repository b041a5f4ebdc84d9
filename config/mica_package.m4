dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl MICA_PACKAGE(VARIABLE, pkg-config module and version, Debian package, what it is for, required|optional)
dnl
dnl Sets VARIABLE_CFLAGS, VARIABLE_LIBS and mica_have_VARIABLE (yes or no), and adds a line to the
dnl summary. --without-VARIABLE (lower case) leaves an optional one out.
AC_DEFUN([MICA_PACKAGE],
  [m4_pushdef([mica_lower], m4_tolower([$1]))dnl
   mica_have_$1=no mica_why="not found; package $3"
   m4_if([$5], [optional],
     [AC_ARG_WITH(mica_lower, [AS_HELP_STRING([--without-]mica_lower, [do without it, even if it is there: $4])], [],
        [AS_VAR_SET([with_]mica_lower, [check])])],
     [AS_VAR_SET([with_]mica_lower, [yes])])
   AS_IF([test "$with_[]mica_lower" = no], [mica_why="switched off"],
     [PKG_CHECK_MODULES([$1], [$2],
        [mica_have_$1=yes mica_why=`$PKG_CONFIG --modversion m4_bpatsubst([$2], [ .*])`],
        [m4_if([$5], [required],
           [AC_MSG_ERROR([$2 was not found by pkg-config; Mica needs it for $4. On Debian and Ubuntu: apt install $3])],
           [AS_IF([test "$with_[]mica_lower" = yes],
              [AC_MSG_ERROR([$2 was asked for, but pkg-config does not find it; package $3])])])])])
   mica_packages="$mica_packages
  m4_bpatsubst([$2], [ .*]) ($4): $mica_why"
   m4_popdef([mica_lower])])
