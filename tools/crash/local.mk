# SPDX-License-Identifier: BSD-3-Clause
# Beside the components, because the library looks for it there and nobody else starts it.
component_PROGRAMS += mica-crash
mica_crash_SOURCES = \
	%D%/main.c \
	%D%/memory.c %D%/memory.h \
	%D%/report.c %D%/report.h \
	%D%/stack.c %D%/stack.h
mica_crash_LDADD = libopen-pal.la
