# SPDX-License-Identifier: BSD-3-Clause
# libmpifort_abi: MPI for Fortran, above the MPI functions of C. It holds no object code of a Fortran
# compiler, so one library serves all of them. Programs are linked with it by mpifort.
lib_LTLIBRARIES += libmpifort_abi.la
libmpifort_abi_la_SOURCES = \
	%D%/logical.c %D%/logical.h \
	%D%/probe.c
# After libmpi_abi.la in the list above: libtool links this library again when it is installed.
libmpifort_abi_la_LIBADD = libmpi_abi.la
libmpifort_abi_la_LDFLAGS = $(library_ldflags) -version-info 1:0:0

fortrandir = $(pkgdatadir)/fortran
# What mpifort asks a compiler by, and the modules, which it compiles.
dist_fortran_DATA = %D%/probe.f90 %D%/probe_logical.f90 %D%/probe_mismatch.f90
