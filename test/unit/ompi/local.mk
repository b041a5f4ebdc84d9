# Unit tests of ompi; they are linked to all of it, hidden functions included.
ompi_unit_tests = \
	%D%/api/wrapper \
	%D%/attribute/attribute \
	%D%/communicator/communicator \
	%D%/communicator/context \
	%D%/datatype/layout \
	%D%/datatype/pack \
	%D%/datatype/shape \
	%D%/errhandler/errhandler \
	%D%/errhandler/error_code \
	%D%/group/group \
	%D%/mca/mpool/base/marks \
	%D%/mca/mpool/base/pinned \
	%D%/mca/mpool/rcache/race \
	%D%/mca/mpool/rcache/rcache \
	%D%/mca/mpool/rcache/soak \
	%D%/mca/pml/ob1/match \
	%D%/object/handle \
	%D%/op/op \
	%D%/schedule/schedule \
	%D%/topology/dims
unit_tests += $(ompi_unit_tests)

# Types made at random, and what they must be.
ompi_datatype_model = %D%/datatype/model.c %D%/datatype/model.h

ompi_unit_libs = libompi_core.la libopal_core.la $(CHECK_LIBS)
%C%_api_wrapper_LDADD = $(ompi_unit_libs)
%C%_attribute_attribute_LDADD = $(ompi_unit_libs)
%C%_communicator_communicator_LDADD = $(ompi_unit_libs)
%C%_communicator_context_LDADD = $(ompi_unit_libs)
%C%_datatype_layout_LDADD = $(ompi_unit_libs)
%C%_datatype_pack_SOURCES = %D%/datatype/pack.c $(ompi_datatype_model)
%C%_datatype_pack_LDADD = $(ompi_unit_libs)
%C%_datatype_shape_LDADD = $(ompi_unit_libs)
%C%_errhandler_errhandler_LDADD = $(ompi_unit_libs)
%C%_errhandler_error_code_LDADD = $(ompi_unit_libs)
%C%_group_group_LDADD = $(ompi_unit_libs)
# A device and memory for it, and what this process is said to see of memory.
mpool_fake = %D%/mca/mpool/fake.c %D%/mca/mpool/fake.h
if !MCA_STATIC_mpool_rcache
mpool_fake += $(mca_mpool_rcache_sources)
endif
mpool_ldflags = $(AM_LDFLAGS) -Wl,--wrap=opal_memory_support
%C%_mca_mpool_base_marks_LDADD = $(ompi_unit_libs)
%C%_mca_mpool_base_pinned_SOURCES = %D%/mca/mpool/base/pinned.c $(mpool_fake)
%C%_mca_mpool_base_pinned_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_base_pinned_LDFLAGS = $(mpool_ldflags)
%C%_mca_mpool_base_pinned_LDADD = $(ompi_unit_libs)
%C%_mca_mpool_rcache_race_SOURCES = %D%/mca/mpool/rcache/race.c $(mpool_fake)
%C%_mca_mpool_rcache_race_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_rcache_race_LDFLAGS = $(mpool_ldflags)
%C%_mca_mpool_rcache_race_LDADD = $(ompi_unit_libs)
%C%_mca_mpool_rcache_rcache_SOURCES = %D%/mca/mpool/rcache/rcache.c $(mpool_fake)
%C%_mca_mpool_rcache_rcache_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_rcache_rcache_LDFLAGS = $(mpool_ldflags)
%C%_mca_mpool_rcache_rcache_LDADD = $(ompi_unit_libs)
%C%_mca_mpool_rcache_soak_SOURCES = %D%/mca/mpool/rcache/soak.c $(mpool_fake)
%C%_mca_mpool_rcache_soak_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_rcache_soak_LDFLAGS = $(mpool_ldflags)
%C%_mca_mpool_rcache_soak_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_match_SOURCES = %D%/mca/pml/ob1/match.c ompi/mca/pml/ob1/match.c
%C%_mca_pml_ob1_match_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_match_LDADD = $(ompi_unit_libs)
%C%_object_handle_LDADD = $(ompi_unit_libs)
%C%_op_op_LDADD = $(ompi_unit_libs)
%C%_schedule_schedule_LDADD = $(ompi_unit_libs)
%C%_topology_dims_LDADD = $(ompi_unit_libs)
