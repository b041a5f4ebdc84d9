# SPDX-License-Identifier: BSD-3-Clause
# mpicc, and its links mpicxx and mpic++. Needs nothing but libc, so it starts fast.

bin_PROGRAMS += mpicc

# The two files of opal are compiled in: a wrapper must run where its libraries are not found.
mpicc_SOURCES = \
	%D%/command_line.c \
	%D%/command_line.h \
	%D%/main.c \
	%D%/shell.c \
	%D%/shell.h \
	%D%/tree.c \
	%D%/tree.h \
	opal/util/log.c \
	opal/util/text.c
mpicc_CPPFLAGS = $(AM_CPPFLAGS) \
	-DWRAPPER_CC='"$(CC)"' \
	-DWRAPPER_CXX='"$(CXX)"' \
	-DWRAPPER_PREFIX='"$(prefix)"' \
	-DWRAPPER_BINDIR='"$(bindir)"' \
	-DWRAPPER_INCLUDEDIR='"$(includedir)"' \
	-DWRAPPER_LIBDIR='"$(libdir)"' \
	-DWRAPPER_PRIVATE_LIBS='"$(HWLOC_LIBS) $(LIBURING_LIBS) $(PMIX_PRIVATE_LIBS) -pthread -ldl"'
mpicc_LDADD =

pkgconfig_DATA = %D%/mica.pc

.PHONY: install-wrapper-links uninstall-wrapper-links
install-wrapper-links:
	$(MKDIR_P) "$(DESTDIR)$(bindir)"
	for link in mpicxx mpic++; do \
	    ln -sf mpicc$(EXEEXT) "$(DESTDIR)$(bindir)/$$link$(EXEEXT)" || exit 1; \
	done
uninstall-wrapper-links:
	cd "$(DESTDIR)$(bindir)" && rm -f mpicxx$(EXEEXT) mpic++$(EXEEXT)
