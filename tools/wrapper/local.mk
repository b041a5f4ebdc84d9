# SPDX-License-Identifier: BSD-3-Clause
# mpicc, and its links: for C++, by the ABI's names, and those of the Fortran wrappers. It needs
# nothing but libc, so it starts fast.

bin_PROGRAMS += mpicc

# The two files of opal are compiled in: a wrapper must run where its libraries are not found.
mpicc_SOURCES = \
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

# Under every name that another MPI's file has: a PKG_CONFIG_PATH that names our folder first must
# not lead to another MPI. Those for Fortran require what does not exist, so that there is none.
mpi_pkgconfig = %D%/mpi.pc %D%/mpi-c.pc %D%/mpi-cxx.pc %D%/ompi.pc %D%/ompi-c.pc %D%/ompi-cxx.pc \
	%D%/mpich.pc
fortran_pkgconfig = %D%/mpi-fort.pc %D%/ompi-fort.pc
pkgconfig_DATA = %D%/mica.pc $(mpi_pkgconfig) $(fortran_pkgconfig)
CLEANFILES += $(mpi_pkgconfig) $(fortran_pkgconfig)
$(mpi_pkgconfig): %D%/mica.pc
	$(AM_V_GEN)sed "s/^Name: .*/Name: `basename $@ .pc`/" %D%/mica.pc >$@
$(fortran_pkgconfig): %D%/mica.pc
	$(AM_V_GEN)sed "s/^Name: .*/Name: `basename $@ .pc`/; /^Version/s/$$/\nRequires: mica-fortran/" \
	    %D%/mica.pc >$@

wrapper_links = mpicxx mpic++ mpicc_abi mpicxx_abi mpifort mpif90 mpif77
.PHONY: install-wrapper-links uninstall-wrapper-links
install-wrapper-links:
	$(MKDIR_P) "$(DESTDIR)$(bindir)"
	for link in $(wrapper_links); do \
	    ln -sf mpicc$(EXEEXT) "$(DESTDIR)$(bindir)/$$link$(EXEEXT)" || exit 1; \
	done
uninstall-wrapper-links:
	for link in $(wrapper_links); do rm -f "$(DESTDIR)$(bindir)/$$link$(EXEEXT)"; done
