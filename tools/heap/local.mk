# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += mica-heap
noinst_LTLIBRARIES += libmica_heap_core.la

# All but main, for the unit tests.
libmica_heap_core_la_SOURCES = \
	%D%/draw.h \
	%D%/find.c %D%/find.h \
	%D%/rows.c \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/svg.c \
	%D%/text.c
mica_heap_SOURCES = %D%/main.c
mica_heap_LDADD = libmica_heap_core.la libopen-pal.la
