# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += mica-ps
mica_ps_SOURCES = %D%/main.c
mica_ps_LDADD = libopen-pal.la
