# SPDX-License-Identifier: BSD-3-Clause
# mpicc, and its links: for C++, by the ABI's names, and those of the Fortran wrappers. It needs
# nothing but libc, so it starts fast.

bin_PROGRAMS += mpicc

# The two files of opal are compiled in: a wrapper must run where its libraries are not found.
mpicc_SOURCES = \
	%D%/main.c \
	%D%/modules.c \
	%D%/modules.h \
	%D%/modules_make.c \
	%D%/process.c \
	%D%/process.h \
	%D%/shell.c \
	%D%/shell.h \
	%D%/tree.c \
	%D%/tree.h \
	opal/util/log.c \
	opal/util/text.c
mpicc_CPPFLAGS = $(AM_CPPFLAGS) \
	-DWRAPPER_CC='"$(CC)"' \
	-DWRAPPER_CXX='"$(CXX)"' \
	-DWRAPPER_FC='"$(FC)"' \
	-DWRAPPER_AR='"$(AR)"' \
	-DWRAPPER_PREFIX='"$(prefix)"' \
	-DWRAPPER_BINDIR='"$(bindir)"' \
	-DWRAPPER_INCLUDEDIR='"$(includedir)"' \
	-DWRAPPER_LIBDIR='"$(libdir)"' \
	-DWRAPPER_FORTRANDIR='"$(pkgdatadir)/fortran"' \
	-DWRAPPER_PRIVATE_LIBS='"$(HWLOC_LIBS) $(LIBURING_LIBS) $(PMIX_PRIVATE_LIBS) -pthread -ldl"'
mpicc_LDADD =

# Under every name that another MPI's file has: a PKG_CONFIG_PATH that names our folder first must
# not lead to another MPI. Those for Fortran cannot name the folder of the modules, which depends on the
# compiler: after make install they name that of the configured one, if it is there.
mpi_pkgconfig = %D%/mpi.pc %D%/mpi-c.pc %D%/mpi-cxx.pc %D%/ompi.pc %D%/ompi-c.pc %D%/ompi-cxx.pc \
	%D%/mpich.pc
fortran_pkgconfig = %D%/mica-fortran.pc %D%/mpi-fort.pc %D%/ompi-fort.pc %D%/mpifort.pc
pkgconfig_DATA = %D%/mica.pc $(mpi_pkgconfig) $(fortran_pkgconfig)
CLEANFILES += $(mpi_pkgconfig) $(fortran_pkgconfig)
$(mpi_pkgconfig): %D%/mica.pc
	$(AM_V_GEN)sed "s/^Name: .*/Name: `basename $@ .pc`/" %D%/mica.pc >$@
$(fortran_pkgconfig): %D%/mica.pc
	$(AM_V_GEN)sed "s/^Name: .*/Name: `basename $@ .pc`/; s/-lmpi_abi/-lmpifort_abi -lmpi_abi/" \
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

# The modules of the configured compiler are made by the installed mpifort, as later those of other
# compilers. Without a Fortran compiler, or if it fails, mpifort says so, and all else is installed.
# All else is installed before, by `make -j install` too.
install_data = install-data-am
$(install_data): install-exec-am
.PHONY: install-fortran-modules uninstall-fortran-modules
install-fortran-modules:
	@$(FC) --version >/dev/null 2>&1 || \
	    { echo "no Fortran: there is no $(FC); mpifort makes the modules once there is"; exit 0; }; \
	flags=`env $(fortran_unset) "$(DESTDIR)$(bindir)/mpifort$(EXEEXT)" --showme:incdirs` || exit 1; \
	modules=`echo "$$flags" | tr ' ' '\n' | sed -n 's|^.*/\(mica/fortran/[^/]*\)$$|\1|p'`; \
	test -n "$$modules" || exit 0; \
	for file in $(fortran_pkgconfig); do \
	    file="$(DESTDIR)$(pkgconfigdir)/`basename $$file`"; \
	    sed "/^Cflags/s|$$| -I\$${libdir}/$$modules|; /^Libs:/s|-lmpifort_abi|-L\$${libdir}/$$modules -lmpifort_modules &|" \
	        "$$file" >"$$file.tmp" && mv "$$file.tmp" "$$file" || exit 1; \
	done
uninstall-fortran-modules:
	rm -rf "$(DESTDIR)$(libdir)/mica/fortran"
# A compiler that the environment names is not the configured one.
fortran_unset = -u OMPI_FC -u MPICH_FC -u OMPI_F90 -u MPICH_F90 -u OMPI_F77 -u MPICH_F77
