dnl SPDX-License-Identifier: BSD-3-Clause
m4_define([mica_static_only_patcher],
  [it has to be able to work before main, so it is part of libopen-pal])
