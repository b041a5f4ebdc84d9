# SPDX-License-Identifier: BSD-3-Clause
#
# A unit test is one Check program with the name of the file that it tests, and one line here:
#   test/unit/opal/util/text.c tests opal/util/text.c
# A fuzz target is test/fuzz/NAME.c with its inputs in test/fuzz/NAME.corpus/, and three.
# MPI programs and scripts need nothing here: test/lib/run.py finds them.

unit_tests =
fuzz_targets =

# For test/unit/opal/no_memory.h.
no_memory_ldflags = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

include $(top_srcdir)/test/unit/opal/local.mk
include $(top_srcdir)/test/unit/ompi/local.mk
include $(top_srcdir)/test/unit/tools/heap/local.mk
include $(top_srcdir)/test/unit/tools/mpirun/local.mk
include $(top_srcdir)/test/unit/tools/profile/local.mk

fuzz_targets += test/fuzz/elf_file
test_fuzz_elf_file_CFLAGS = $(fuzz_cflags)
test_fuzz_elf_file_LDADD = $(fuzz_ldadd)

# ob1 and what of ompi it is made of, compiled for it.
fuzz_targets += test/fuzz/ob1_frames
test_fuzz_ob1_frames_SOURCES = test/fuzz/ob1_frames.c \
	test/unit/ompi/mca/pml/ob1/side.c test/unit/ompi/mca/pml/ob1/side.h $(mca_pml_ob1_sources) \
	ompi/datatype/datatype.c ompi/datatype/envelope.c ompi/datatype/kernel.c \
	ompi/datatype/layout.c ompi/datatype/pack.c ompi/datatype/predefined.c \
	ompi/datatype/shape.c ompi/datatype/signature.c ompi/handle/handle.c \
	ompi/object/number.c ompi/object/object.c ompi/request/request.c
test_fuzz_ob1_frames_CFLAGS = $(fuzz_cflags)
test_fuzz_ob1_frames_LDFLAGS = $(ob1_side_ldflags) -Wl,--wrap=opal_log_error
test_fuzz_ob1_frames_LDADD = $(fuzz_ldadd)
# It starts MPI, with a copy of the library that components in files refuse.
if HAVE_LIBFABRIC
if MCA_STATIC_pmi_singleton
fuzz_targets += test/fuzz/ofi_records
endif
endif
test_fuzz_ofi_records_SOURCES = test/fuzz/ofi_records.c $(mca_mtl_ofi_sources) \
	$(libopal_fabric_core_la_SOURCES)
test_fuzz_ofi_records_CFLAGS = $(fuzz_cflags)
test_fuzz_ofi_records_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_log_error,--wrap=opal_log_warning
test_fuzz_ofi_records_LDADD = libompi_core.la $(fuzz_ldadd) $(LIBFABRIC_LIBS)

fuzz_targets += test/fuzz/param
test_fuzz_param_CFLAGS = $(fuzz_cflags)
test_fuzz_param_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/pmi_server
test_fuzz_pmi_server_SOURCES = test/fuzz/pmi_server.c \
	tools/mpirun/pmi_server.c tools/mpirun/pmi_spawn.c tools/mpirun/pmi_kvs.c
test_fuzz_pmi_server_CFLAGS = $(fuzz_cflags)
test_fuzz_pmi_server_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/port_link
test_fuzz_port_link_SOURCES = test/fuzz/port_link.c ompi/dynamic/records.c \
	ompi/errhandler/error_code.c
test_fuzz_port_link_CFLAGS = $(fuzz_cflags)
test_fuzz_port_link_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/process_record
test_fuzz_process_record_CFLAGS = $(fuzz_cflags)
test_fuzz_process_record_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/sm_ring
test_fuzz_sm_ring_SOURCES = test/fuzz/sm_ring.c test/fuzz/alone.c \
	test/unit/opal/mca/btl/hearing.c test/unit/opal/mca/btl/hearing.h
test_fuzz_sm_ring_CFLAGS = $(fuzz_cflags)
test_fuzz_sm_ring_LDADD = $(fuzz_ldadd)
test_fuzz_sm_ring_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_log_error

fuzz_targets += test/fuzz/sock_addresses
test_fuzz_sock_addresses_CFLAGS = $(fuzz_cflags)
test_fuzz_sock_addresses_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/sock_frames
test_fuzz_sock_frames_SOURCES = test/fuzz/sock_frames.c test/fuzz/alone.c \
	test/unit/opal/mca/btl/hearing.c test/unit/opal/mca/btl/hearing.h
test_fuzz_sock_frames_CFLAGS = $(fuzz_cflags)
test_fuzz_sock_frames_LDADD = $(fuzz_ldadd)

fuzz_targets += test/fuzz/sock_handshake
test_fuzz_sock_handshake_CFLAGS = $(fuzz_cflags)
test_fuzz_sock_handshake_LDADD = $(fuzz_ldadd)

# What a unit test is linked to unless it says otherwise: all of opal, hidden functions included.
LDADD = libopal_core.la $(CHECK_LIBS)

# Of what is installed, what no test of the tree looks at: static libraries.
installcheck-local:
	$(PYTHON) $(srcdir)/test/lib/run.py --build . --prefix "$(prefix)" \
		--logs installcheck-logs test/tree/static.test
	rm -rf installcheck-logs

if HAVE_CHECK
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
AM_CPPFLAGS += $(CHECK_CFLAGS)
endif

# Benchmarks that are below MPI: make bench/btl && bench/btl
EXTRA_PROGRAMS += bench/btl
bench_btl_SOURCES = bench/btl.c test/unit/opal/mca/btl/crew.c test/unit/opal/mca/btl/crew.h \
	test/unit/opal/mca/btl/crew_pmi.c test/unit/opal/mca/btl/hearing.c
bench_btl_CFLAGS = $(AM_CFLAGS)
CLEANFILES += bench/btl bench/copy bench/direct bench/munmap
EXTRA_PROGRAMS += bench/copy bench/direct
bench_copy_LDADD = libopen-pal.la -lm
bench_direct_SOURCES = bench/direct.c bench/live.h bench/samples.c bench/samples.h
bench_direct_CFLAGS = $(AM_CFLAGS)
bench_direct_LDADD = libopen-pal.la
EXTRA_PROGRAMS += bench/munmap
bench_munmap_LDADD = libopen-pal.la
if !MCA_STATIC_btl_sm
bench_btl_SOURCES += $(mca_btl_sm_sources)
endif

EXTRA_PROGRAMS += bench/rcache
bench_rcache_SOURCES = bench/rcache.c
bench_rcache_CFLAGS = $(AM_CFLAGS)
bench_rcache_LDADD = libompi_core.la libopal_core.la
if !MCA_STATIC_mpool_rcache
bench_rcache_SOURCES += $(mca_mpool_rcache_sources)
endif
CLEANFILES += bench/rcache

# For the runner: what there is, and building it.
.PHONY: print-unit-tests unit-tests print-fuzz-targets fuzz-targets
if HAVE_CHECK
print-unit-tests:
	@echo $(unit_tests)
unit-tests: $(unit_tests)
else
print-unit-tests:
	@echo "configure did not find Check (package check)"; exit 1
unit-tests:
endif

print-fuzz-targets:
	@echo $(fuzz_targets)
fuzz-targets: $(fuzz_targets)

# For clang-tidy: every flag that some file is compiled with, one a line.
.PHONY: print-flags
print-flags:
	@printf '%s\n' $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(AM_CFLAGS) $(HWLOC_CFLAGS) -Iompi/api \
		$(mpicc_CPPFLAGS) $(mpirun_CPPFLAGS) $(ompi_info_CPPFLAGS)

# Fuzz targets have all of opal compiled in, watched by the sanitizers. The engine is our driver;
# ./dev fuzz sets FUZZ_FLAGS to clang's.
FUZZ_FLAGS = -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
fuzz_cflags = $(AM_CFLAGS) $(FUZZ_FLAGS)
fuzz_ldadd = libopal_fuzz.a $(HWLOC_LIBS) $(LIBURING_LIBS) -ldl
EXTRA_PROGRAMS += $(fuzz_targets)
EXTRA_LIBRARIES = libopal_fuzz.a
libopal_fuzz_a_SOURCES = $(libopal_core_la_SOURCES) test/fuzz/driver.c
nodist_libopal_fuzz_a_SOURCES = $(nodist_libopal_core_la_SOURCES)
if MCA_DSO_btl_sock
libopal_fuzz_a_SOURCES += $(mca_btl_sock_sources)
endif
if MCA_DSO_btl_sm
libopal_fuzz_a_SOURCES += $(mca_btl_sm_sources)
endif
libopal_fuzz_a_CFLAGS = $(fuzz_cflags)

CLEANFILES += $(fuzz_targets) libopal_fuzz.a

# Not by EXTRA_DIST, which would also take what ./dev bench wrote into the build folder's bench/.
dist-hook:
	cp -fpR $(srcdir)/bench $(distdir)/
	rm -rf $(distdir)/test/mca/.deps

EXTRA_DIST += \
	.ci \
	.clang-format \
	.clang-tidy \
	.gitignore \
	CONTRIBUTING.md \
	LICENSE \
	README \
	README.md \
	SECURITY.md \
	dev \
	doc \
	examples \
	quickstart \
	%D%/bench \
	%D%/cluster \
	%D%/examples \
	%D%/fabric \
	%D%/fault \
	%D%/fortran \
	%D%/fuzz/driver.test \
	%D%/fuzz/elf_file.corpus \
	%D%/fuzz/ob1_frames.corpus \
	%D%/fuzz/ofi_records.corpus \
	%D%/fuzz/param.corpus \
	%D%/fuzz/pmi_server.corpus \
	%D%/fuzz/port_link.corpus \
	%D%/fuzz/process_record.corpus \
	%D%/fuzz/sm_ring.corpus \
	%D%/fuzz/sock_addresses.corpus \
	%D%/fuzz/sock_frames.corpus \
	%D%/fuzz/sock_handshake.corpus \
	%D%/golden \
	%D%/lib \
	%D%/mca \
	%D%/memory \
	%D%/mpi \
	%D%/mpirun \
	%D%/net \
	%D%/profile \
	%D%/tree \
	%D%/wrapper

# An mtl for tests of pml/cm: make test/mca/mca_mtl_via.la
EXTRA_LTLIBRARIES = test/mca/mca_mtl_via.la
test_mca_mca_mtl_via_la_SOURCES = test/mca/mtl_via.c
test_mca_mca_mtl_via_la_LDFLAGS = $(component_ldflags) -rpath $(abs_builddir)
test_mca_mca_mtl_via_la_LIBADD = libmpi_abi.la libopen-pal.la
