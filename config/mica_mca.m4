dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl MICA_MCA: for every component that autogen.sh found, whether it becomes part of its library
dnl (static, the default of most), a DSO, or is not built.
dnl
dnl   --enable-mca-dso[=LIST]       all, or frameworks ("pmi") and components ("pmi-wire")
dnl   --enable-mca-static=LIST
dnl   --enable-mca-no-build=LIST
dnl
dnl What names a component counts more than what names its framework, and that more than "all".
dnl
dnl A component's configure.m4 may define MICA_CHECK_<framework>_<name>: it sets
dnl mica_reason to why the component cannot be built here, or leaves it empty. It may define
dnl mica_dso_<framework>_<name>: the reason why it is a DSO unless it is named as static. A framework's
dnl configure.m4 may define mica_static_only_<framework>: the reason why DSOs are impossible.

m4_define([mica_id], [m4_bpatsubst([$1], [[/-]], [_])])
m4_define([mica_project], [m4_bpatsubst([$1], [/.*])])
m4_define([mica_below_project], [m4_bpatsubst([$1], [^[^/]*/])])
m4_define([mica_framework_of], [m4_bpatsubst(mica_below_project([$1]), [/.*])])

AC_DEFUN([MICA_MCA_OPTION],
  [AC_ARG_ENABLE([mca-$1], [AS_HELP_STRING([--enable-mca-$1=LIST], [$3])],
     [mica_$2=`AS_ECHO(["$enableval"]) | tr ',' ' '`], [mica_$2=no])
   case $mica_$2 in
     no|"") mica_$2="" ;;
     yes) m4_if([$1], [dso], [mica_$2=all],
            [AC_MSG_ERROR([--enable-mca-$1 needs a list of frameworks or components])]) ;;
   esac
   for mica_name in $mica_$2; do
     case " all $mica_known " in
       *" $mica_name "*) ;;
       *) AC_MSG_ERROR([--enable-mca-$1 names "$mica_name", which is neither a framework nor a component; there are: $mica_known]) ;;
     esac
   done])

dnl MICA_MCA_WEIGHT(list variable, framework, component): sets mica_weight to how closely the
dnl list names the component: 3 itself, 2 its framework, 1 all, 0 not at all
AC_DEFUN([MICA_MCA_WEIGHT],
  [mica_weight=0
   case " $$1 " in
     *" $2-$3 "*) mica_weight=3 ;;
     *" $2 "*) mica_weight=2 ;;
     *" all "*) mica_weight=1 ;;
   esac])

AC_DEFUN([MICA_MCA_COMPONENT],
  [m4_pushdef([mica_fw], mica_framework_of([$1]))dnl
   m4_pushdef([mica_name], m4_bpatsubst(mica_below_project([$1]), [^[^/]*/]))dnl
   mica_reason=""
   m4_ifdef([MICA_CHECK_]mica_fw[_]mica_name, [m4_indir([MICA_CHECK_]mica_fw[_]mica_name)])
   MICA_MCA_WEIGHT([mica_static], mica_fw, mica_name)
   mica_static_weight=$mica_weight
   MICA_MCA_WEIGHT([mica_dso], mica_fw, mica_name)
   mica_dso_weight=$mica_weight
   MICA_MCA_WEIGHT([mica_no_build], mica_fw, mica_name)
   mica_mode=m4_ifdef([mica_dso_]mica_fw[_]mica_name, [dso], [static])
   m4_ifdef([mica_static_only_]mica_fw,
     [AS_IF([test $mica_dso_weight -ge 2],
        [AC_MSG_ERROR([--enable-mca-dso: the framework "]mica_fw[" cannot be built as DSOs: m4_indir([mica_static_only_]mica_fw)])])
      mica_dso_weight=0])
   AS_IF([test $mica_dso_weight -gt 0 && test $mica_dso_weight -eq $mica_static_weight],
     [AC_MSG_ERROR(["]mica_fw-mica_name[" is asked for both as static and as DSO])])
   AS_IF([test $mica_dso_weight -gt $mica_static_weight], [mica_mode=dso])
   AS_IF([test $mica_static_weight -gt $mica_dso_weight], [mica_mode=static])
   AS_IF([test $mica_weight -gt $mica_dso_weight && test $mica_weight -gt $mica_static_weight],
     [mica_mode=no mica_reason="--enable-mca-no-build"])
   AS_IF([test -n "$mica_reason"],
     [AS_IF([test $mica_static_weight -eq 3 || test $mica_dso_weight -eq 3],
        [AC_MSG_ERROR(["]mica_fw-mica_name[" was asked for, but cannot be built: $mica_reason])])
      mica_mode=no])
   m4_ifdef([mica_gate_]mica_fw[_]mica_name,
     [AS_IF([test $mica_mode != no],
       [mica_[]mica_project([$1])_gates="$mica_[]mica_project([$1])_gates mica_fw[]_[]mica_name"])])
   AS_CASE([$mica_mode],
     [static], [mica_[]mica_project([$1])_static="$mica_[]mica_project([$1])_static mica_fw[]_[]mica_name"],
     [no], [mica_mode="no ($mica_reason)"])
   mica_summary="$mica_summary
  [$1]: $mica_mode"
   AM_CONDITIONAL([MCA_STATIC_]mica_fw[_]mica_name, [test "$mica_mode" = static])
   AM_CONDITIONAL([MCA_DSO_]mica_fw[_]mica_name, [test "$mica_mode" = dso])
   m4_popdef([mica_name])m4_popdef([mica_fw])])

AC_DEFUN([MICA_MCA],
  [mica_summary="" mica_opal_static="" mica_ompi_static="" mica_opal_gates="" mica_ompi_gates=""
   mica_opal_frameworks="" mica_ompi_frameworks="" mica_known=""
   m4_foreach([mica_item], [mica_frameworks],
     [mica_[]mica_project(mica_item)_frameworks="$mica_[]mica_project(mica_item)_frameworks mica_below_project(mica_item)"
      mica_known="$mica_known mica_below_project(mica_item)"
])
   m4_foreach([mica_item], [mica_components],
     [mica_known="$mica_known m4_bpatsubst(mica_below_project(mica_item), [/], [-])"
])
   MICA_MCA_OPTION([dso], [dso], [build all, or these, frameworks or framework-components as DSOs])
   MICA_MCA_OPTION([static], [static], [build these into the libraries (the default of most)])
   MICA_MCA_OPTION([no-build], [no_build], [do not build these])
   m4_foreach([mica_item], [mica_frameworks],
     [m4_ifdef([mica_static_only_]mica_below_project(mica_item),
       [MICA_MCA_WEIGHT([mica_dso], mica_below_project(mica_item), [])
        AS_IF([test $mica_weight -ge 2],
          [AC_MSG_ERROR([--enable-mca-dso=]mica_below_project(mica_item)[: m4_indir([mica_static_only_]mica_below_project(mica_item))])])])
])
   m4_map_args([MICA_MCA_COMPONENT], mica_components)
   AC_SUBST([opal_frameworks], [$mica_opal_frameworks])
   AC_SUBST([ompi_frameworks], [$mica_ompi_frameworks])
   AC_SUBST([opal_static_components], [$mica_opal_static])
   AC_SUBST([ompi_static_components], [$mica_ompi_static])
   AC_SUBST([opal_gates], [$mica_opal_gates])
   AC_SUBST([ompi_gates], [$mica_ompi_gates])])
