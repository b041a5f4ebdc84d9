# SPDX-License-Identifier: BSD-3-Clause
# libmpifort_abi: MPI for Fortran, above the MPI functions of C. It holds no object code of a Fortran
# compiler, so one library serves all of them. Programs are linked with it by mpifort.
lib_LTLIBRARIES += libmpifort_abi.la
libmpifort_abi_la_SOURCES = \
	%D%/arrays.c \
	%D%/constants.c %D%/constants.h \
	%D%/copy.c %D%/copy.h \
	%D%/fortran.h \
	%D%/logical.c %D%/logical.h \
	%D%/operators.c \
	%D%/predefined.c %D%/predefined.h \
	%D%/probe.c \
	%D%/section.c %D%/section.h \
	%D%/text.c %D%/text.h
# After libmpi_abi.la in the list above: libtool links this library again when it is installed.
libmpifort_abi_la_LIBADD = libmpifort_mpi.la libmpifort_pmpi.la libmpi_abi.la
libmpifort_abi_la_LDFLAGS = $(library_ldflags) -version-info 1:0:0

# The procedures, once as MPI_X and once as PMPI_X.
noinst_LTLIBRARIES += libmpifort_mpi.la libmpifort_pmpi.la
fortran_procedures = \
	%D%/procedure_attributes.c \
	%D%/procedure_callbacks.c \
	%D%/procedure_other.c \
	%D%/procedure_requests.c \
	%D%/procedure_spawn.c
libmpifort_mpi_la_SOURCES = $(fortran_procedures)
libmpifort_pmpi_la_SOURCES = $(fortran_procedures)
nodist_libmpifort_mpi_la_SOURCES = $(fortran_functions)
nodist_libmpifort_pmpi_la_SOURCES = $(fortran_functions)
libmpifort_mpi_la_CPPFLAGS = $(AM_CPPFLAGS)
libmpifort_pmpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_FORTRAN_PMPI
# Compiled once for both kinds of libraries: these are a thousand functions.
libmpifort_mpi_la_CFLAGS = $(AM_CFLAGS) -prefer-pic
libmpifort_pmpi_la_CFLAGS = $(AM_CFLAGS) -prefer-pic

# What is made of the tables of the ABI: C functions, mpif.h, and the modules, which mpifort compiles.
fortran_functions = %D%/by_address.c %D%/by_array.c
fortran_modules = %D%/mpi.f90 %D%/mpi_f08.f90 %D%/mpi_address.f90 %D%/mpi_f08_address.f90
fortran_generated = $(fortran_functions) $(fortran_modules) %D%/mpif.h
fortran_generator_inputs = \
	%D%/generate.py \
	%D%/generate_c.py \
	%D%/generate_f.py \
	%D%/procedures.py \
	ompi/api/emit.py \
	%D%/mpif.h.in \
	%D%/mpi.f90.in \
	%D%/mpi_f08.f90.in \
	ompi/api/abi/constants.tsv \
	ompi/api/abi/functions.tsv \
	ompi/api/abi/parameters.tsv \
	ompi/api/abi/procedures.tsv

nodist_include_HEADERS += %D%/mpif.h
fortrandir = $(pkgdatadir)/fortran
nodist_fortran_DATA = $(fortran_modules)
# What mpifort asks a compiler by.
dist_fortran_DATA = %D%/probe.f90 %D%/probe_logical.f90 %D%/probe_mismatch.f90
BUILT_SOURCES += $(fortran_generated)
CLEANFILES += $(fortran_generated) %D%/generated
EXTRA_DIST += $(fortran_generator_inputs)

# The script writes only what changes, so the stamp is what is newer than its inputs.
%D%/generated: $(fortran_generator_inputs)
	$(AM_V_GEN)$(PYTHON) $(srcdir)/%D%/generate.py --out %D% && touch $@
$(fortran_generated): %D%/generated
	@test -f $@ || { rm -f %D%/generated; $(MAKE) %D%/generated; }
