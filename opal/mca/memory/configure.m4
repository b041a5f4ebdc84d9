dnl SPDX-License-Identifier: BSD-3-Clause
dnl Read by MICA_MCA: why no component of this framework can be a DSO.
m4_define([mica_static_only_memory],
  [memory components must be in the process before main, which a DSO that is loaded in MPI_Init is not])
