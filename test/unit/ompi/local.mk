# Unit tests of ompi; they are linked to all of it, hidden functions included.
ompi_unit_tests = \
	%D%/api/error \
	%D%/api/names \
	%D%/api/wrapper \
	%D%/attribute/attribute \
	%D%/attribute/callback \
	%D%/check/buffer \
	%D%/check/compare \
	%D%/check/label \
	%D%/comm_create/context_id_agree \
	%D%/communicator/communicator \
	%D%/communicator/context \
	%D%/datatype/layout \
	%D%/datatype/pack \
	%D%/datatype/shape \
	%D%/datatype/signature \
	%D%/datatype/wire \
	%D%/dynamic/records \
	%D%/errhandler/errhandler \
	%D%/errhandler/error_code \
	%D%/explain/counts \
	%D%/explain/reasons \
	%D%/explain/sheet \
	%D%/file/area \
	%D%/file/belt \
	%D%/file/cost \
	%D%/file/cover \
	%D%/file/crew \
	%D%/file/datarep \
	%D%/file/error \
	%D%/file/file_lock \
	%D%/file/fingerprint \
	%D%/file/hints \
	%D%/file/pointer \
	%D%/file/range_lock \
	%D%/file/view \
	%D%/fortran/copy \
	%D%/fortran/section \
	%D%/group/group \
	%D%/mca/coll/base/base \
	%D%/mca/coll/base/tuning \
	%D%/mca/coll/base/choose \
	%D%/mca/coll/hier/grid \
	%D%/mca/coll/p2p/algorithms \
	%D%/mca/coll/sm/area \
	%D%/mca/coll/sm/fold \
	%D%/mca/coll/sm/step \
	%D%/handle/handle \
	%D%/mca/io/base/pool \
	%D%/mca/io/contract \
	%D%/mca/io/posix/lock \
	%D%/mca/io/posix/posix \
	%D%/mca/io/posix/space \
	%D%/mca/io/posix/stripe \
	%D%/mca/io/posix/system \
	%D%/mca/io/posix/transfer \
	%D%/mca/io/posix/uring \
	%D%/mca/mpool/base/marks \
	%D%/mca/mpool/base/leave_pinned \
	%D%/mca/mpool/rcache/race \
	%D%/mca/mpool/rcache/rcache \
	%D%/mca/mpool/rcache/soak \
	%D%/mca/mpool/rcache/stale \
	%D%/mca/mtl/base/base \
	%D%/mca/mtl/ofi/tag \
	%D%/mca/osc/base/accumulate \
	%D%/mca/osc/base/accumulate_race \
	%D%/mca/osc/base/atomic \
	%D%/mca/osc/base/attach \
	%D%/mca/osc/base/lock \
	%D%/mca/osc/base/lock_race \
	%D%/mca/osc/base/resolve \
	%D%/mca/osc/base/stripe \
	%D%/mca/osc/messages/type \
	%D%/mca/osc/messages/type_refused \
	%D%/mca/pml/cm/hybrid \
	%D%/mca/pml/ob1/credit \
	%D%/mca/pml/ob1/frames \
	%D%/mca/pml/ob1/lane \
	%D%/mca/pml/ob1/peer_failure \
	%D%/mca/pml/ob1/match \
	%D%/mca/pml/ob1/memory \
	%D%/mca/pml/tags \
	%D%/object/number \
	%D%/op/op \
	%D%/ownership/blocks \
	%D%/part/area \
	%D%/request/callbacks \
	%D%/request/grequest \
	%D%/request/look \
	%D%/request/pair \
	%D%/request/request \
	%D%/schedule/schedule \
	%D%/tool/event \
	%D%/topology/dims
if HAVE_LIBFABRIC
ompi_unit_tests += %D%/mca/mtl/ofi/select
# They start MPI, with a copy of the library that components in files refuse.
if MCA_STATIC_pmi_singleton
ompi_unit_tests += \
	%D%/mca/mtl/ofi/no_memory \
	%D%/mca/mtl/ofi/protocol \
	%D%/mca/mtl/ofi/records
endif
endif
# They start the runtime.
if MCA_STATIC_pmi_singleton
ompi_unit_tests += %D%/runtime/runtime
if MCA_STATIC_pml_cm
if MCA_STATIC_pml_ob1
ompi_unit_tests += \
	%D%/mca/mtl/contract \
	%D%/mca/pml/contract
endif
endif
endif
unit_tests += $(ompi_unit_tests)

# Types made at random, and what they must be.
ompi_datatype_model = %D%/datatype/model.c %D%/datatype/model.h

if MCA_STATIC_mtl_ofi
ompi_unit_fabric = libopal_fabric_core.la
endif
ompi_unit_libs = libompi_core.la $(ompi_unit_fabric) libopal_core.la $(CHECK_LIBS)
%C%_api_error_LDADD = $(ompi_unit_libs)
%C%_api_names_LDADD = $(ompi_unit_libs)
%C%_api_wrapper_LDADD = $(ompi_unit_libs)
%C%_attribute_attribute_LDADD = $(ompi_unit_libs)
%C%_attribute_callback_LDADD = $(ompi_unit_libs)
%C%_check_buffer_LDADD = $(ompi_unit_libs)
%C%_check_compare_LDADD = $(ompi_unit_libs)
%C%_check_label_LDADD = $(ompi_unit_libs)
# The messages of an agreement are the test's.
%C%_comm_create_context_id_agree_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ompi_exchange_begin
%C%_comm_create_context_id_agree_LDADD = $(ompi_unit_libs)
%C%_communicator_communicator_LDADD = $(ompi_unit_libs)
%C%_communicator_context_LDADD = $(ompi_unit_libs)
%C%_datatype_layout_LDADD = $(ompi_unit_libs)
%C%_datatype_pack_SOURCES = %D%/datatype/pack.c $(ompi_datatype_model)
%C%_datatype_pack_LDADD = $(ompi_unit_libs)
%C%_datatype_shape_LDADD = $(ompi_unit_libs)
%C%_datatype_signature_LDADD = $(ompi_unit_libs)
%C%_datatype_wire_SOURCES = %D%/datatype/wire.c $(ompi_datatype_model)
%C%_datatype_wire_LDADD = $(ompi_unit_libs)
%C%_dynamic_records_LDADD = $(ompi_unit_libs)
%C%_errhandler_errhandler_LDADD = $(ompi_unit_libs)
%C%_errhandler_error_code_LDADD = $(ompi_unit_libs)
%C%_explain_counts_LDADD = $(ompi_unit_libs)
%C%_explain_reasons_LDADD = $(ompi_unit_libs)
%C%_explain_sheet_LDADD = $(ompi_unit_libs)
%C%_file_area_LDADD = $(ompi_unit_libs)
%C%_file_area_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_node_has -Wl,--wrap=opal_node_local_rank \
	-Wl,--wrap=opal_node_slot -Wl,--wrap=opal_node_base -Wl,--wrap=opal_node_peer_is_dead \
	-Wl,--wrap=opal_node_watch -Wl,--wrap=opal_shared_make -Wl,--wrap=opal_shared_release \
	-Wl,--wrap=opal_shared_leave -Wl,--wrap=ompi_file_exchange -Wl,--wrap=ompi_file_agree
# A file in memory, and its locks.
file_fake_locks = -Wl,--wrap=ompi_file_lock -Wl,--wrap=ompi_file_unlock \
	-Wl,--wrap=ompi_file_may_sieve_writes
%C%_file_belt_SOURCES = %D%/file/belt.c %D%/file/fake_file.h
%C%_file_belt_LDADD = $(ompi_unit_libs)
%C%_file_belt_LDFLAGS = $(AM_LDFLAGS) $(file_fake_locks) -Wl,--wrap=ompi_file_area_notify \
	-Wl,--wrap=opal_shared_release
%C%_file_cost_LDADD = $(ompi_unit_libs)
%C%_file_cover_SOURCES = %D%/file/cover.c %D%/file/fake_file.h $(ompi_datatype_model)
%C%_file_cover_LDADD = $(ompi_unit_libs)
%C%_file_cover_LDFLAGS = $(AM_LDFLAGS) $(file_fake_locks)
%C%_file_crew_SOURCES = %D%/file/crew.c $(ompi_datatype_model)
%C%_file_crew_LDADD = $(ompi_unit_libs)
%C%_file_datarep_LDADD = $(ompi_unit_libs)
%C%_file_datarep_SOURCES = %D%/file/datarep.c $(ompi_datatype_model)
%C%_file_error_LDADD = $(ompi_unit_libs)
%C%_file_error_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_job
%C%_file_file_lock_LDADD = $(ompi_unit_libs)
%C%_file_file_lock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_job
%C%_file_fingerprint_SOURCES = %D%/file/fingerprint.c $(file_sample_view)
file_sample_view = $(ompi_datatype_model) %D%/file/sample_view.h
%C%_file_fingerprint_LDADD = $(ompi_unit_libs)
%C%_file_hints_LDADD = $(ompi_unit_libs)
%C%_file_pointer_LDADD = $(ompi_unit_libs)
%C%_file_range_lock_LDADD = $(ompi_unit_libs)
%C%_file_view_LDADD = $(ompi_unit_libs)
%C%_file_view_SOURCES = %D%/file/view.c $(file_sample_view)
# The library for Fortran is not a part of libompi_core.
fortran_section = ompi/fortran/constants.c ompi/fortran/constants.h ompi/fortran/section.c \
	ompi/fortran/section.h %D%/fortran/arrays.h
%C%_fortran_copy_SOURCES = %D%/fortran/copy.c ompi/fortran/copy.c ompi/fortran/copy.h \
	$(fortran_section)
%C%_fortran_copy_CFLAGS = $(AM_CFLAGS)
%C%_fortran_copy_LDADD = $(ompi_unit_libs)
%C%_fortran_section_SOURCES = %D%/fortran/section.c $(fortran_section) $(ompi_datatype_model)
%C%_fortran_section_CFLAGS = $(AM_CFLAGS)
%C%_fortran_section_LDADD = $(ompi_unit_libs)
%C%_group_group_LDADD = $(ompi_unit_libs)
%C%_runtime_runtime_LDADD = $(ompi_unit_libs)
%C%_mca_coll_base_base_LDADD = $(ompi_unit_libs)
%C%_mca_coll_base_tuning_LDADD = $(ompi_unit_libs)
# Where a component is a DSO, the library does not have it.
if !MCA_STATIC_coll_p2p
coll_p2p_dso = $(mca_coll_p2p_sources)
endif
if !MCA_STATIC_coll_hier
coll_hier_dso = $(mca_coll_hier_sources)
endif
if !MCA_STATIC_coll_sm
coll_sm_dso = $(mca_coll_sm_sources)
endif
if !MCA_STATIC_osc_messages
osc_messages_dso = $(mca_osc_messages_sources)
endif
%C%_mca_coll_p2p_algorithms_SOURCES = %D%/mca/coll/p2p/algorithms.c test/unit/ompi/fake_pml.h \
	$(coll_p2p_dso)
%C%_mca_coll_p2p_algorithms_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_p2p_algorithms_LDADD = $(ompi_unit_libs)
%C%_mca_coll_base_choose_SOURCES = %D%/mca/coll/base/choose.c $(coll_p2p_dso)
%C%_mca_coll_base_choose_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_base_choose_LDADD = $(ompi_unit_libs)
%C%_mca_coll_hier_grid_SOURCES = %D%/mca/coll/hier/grid.c $(coll_hier_dso)
%C%_mca_coll_hier_grid_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_hier_grid_LDADD = $(ompi_unit_libs)
%C%_mca_coll_sm_area_SOURCES = %D%/mca/coll/sm/area.c test/unit/ompi/fake_pml.h $(coll_sm_dso)
%C%_mca_coll_sm_area_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_sm_area_LDFLAGS = $(unit_segment_ldflags)
%C%_mca_coll_sm_area_LDADD = $(ompi_unit_libs)
%C%_mca_coll_sm_fold_SOURCES = %D%/mca/coll/sm/fold.c $(coll_sm_dso)
%C%_mca_coll_sm_fold_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_sm_fold_LDADD = $(ompi_unit_libs)
# Its ranks are in one process, and have doorbells without a node.
%C%_mca_coll_sm_step_SOURCES = %D%/mca/coll/sm/step.c $(coll_sm_dso)
%C%_mca_coll_sm_step_CFLAGS = $(AM_CFLAGS)
%C%_mca_coll_sm_step_LDADD = $(ompi_unit_libs)
# A device and memory for it, and what this process is said to see of memory.
mpool_fake = %D%/mca/mpool/fake.c %D%/mca/mpool/fake.h
if !MCA_STATIC_mpool_rcache
mpool_fake += $(mca_mpool_rcache_sources)
endif
mpool_ldflags = $(AM_LDFLAGS) -Wl,--wrap=opal_memory_support
%C%_mca_mpool_base_marks_LDADD = $(ompi_unit_libs)
%C%_mca_mpool_base_leave_pinned_SOURCES = %D%/mca/mpool/base/leave_pinned.c $(mpool_fake)
%C%_mca_mpool_base_leave_pinned_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_base_leave_pinned_LDFLAGS = $(mpool_ldflags)
%C%_mca_mpool_base_leave_pinned_LDADD = $(ompi_unit_libs)
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
# Its cache can be made deaf.
%C%_mca_mpool_rcache_stale_SOURCES = %D%/mca/mpool/rcache/stale.c $(mpool_fake) \
	test/unit/opal/mca/memory/oracle.c test/unit/opal/mca/memory/oracle.h
%C%_mca_mpool_rcache_stale_CFLAGS = $(AM_CFLAGS)
%C%_mca_mpool_rcache_stale_LDFLAGS = $(mpool_ldflags) -Wl,--wrap=ompi_mpool_marks_take
%C%_mca_mpool_rcache_stale_LDADD = $(ompi_unit_libs)
%C%_mca_mtl_base_base_LDADD = $(ompi_unit_libs)
%C%_mca_mtl_ofi_no_memory_SOURCES = %D%/mca/mtl/ofi/no_memory.c %D%/mca/mtl/ofi/self.h
%C%_mca_mtl_ofi_no_memory_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_ofi_no_memory_LDFLAGS = $(no_memory_ldflags)
%C%_mca_mtl_ofi_no_memory_LDADD = libopal_fabric_core.la $(ompi_unit_libs)
%C%_mca_mtl_ofi_protocol_SOURCES = %D%/mca/mtl/ofi/protocol.c %D%/mca/mtl/ofi/self.h
%C%_mca_mtl_ofi_records_SOURCES = %D%/mca/mtl/ofi/records.c %D%/mca/mtl/ofi/self.h
%C%_mca_mtl_ofi_records_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_ofi_records_LDADD = libopal_fabric_core.la $(ompi_unit_libs)
if !MCA_STATIC_mtl_ofi
%C%_mca_mtl_ofi_records_SOURCES += $(mca_mtl_ofi_sources)
%C%_mca_mtl_ofi_no_memory_SOURCES += $(mca_mtl_ofi_sources)
%C%_mca_mtl_ofi_protocol_SOURCES += $(mca_mtl_ofi_sources)
endif
%C%_mca_mtl_ofi_protocol_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_ofi_protocol_LDADD = libopal_fabric_core.la $(ompi_unit_libs)
%C%_mca_mtl_ofi_select_SOURCES = %D%/mca/mtl/ofi/select.c test/unit/opal/fabric/candidates.h \
	ompi/mca/mtl/ofi/select.c ompi/mca/mtl/ofi/tag.c
%C%_mca_mtl_ofi_select_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_ofi_select_LDADD = libopal_fabric_core.la $(ompi_unit_libs)
%C%_mca_mtl_ofi_tag_SOURCES = %D%/mca/mtl/ofi/tag.c ompi/mca/mtl/ofi/tag.c ompi/mca/mtl/ofi/tag.h
%C%_mca_mtl_ofi_tag_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_ofi_tag_LDADD = $(ompi_unit_libs)
# pml/cm over each mtl, which the base would look for in files.
mtl_chosen = %D%/mca/mtl/chosen.c %D%/mca/mtl/chosen.h test/mca/mtl_via.c
mtl_chosen_libs =
mtl_chosen_cppflags = $(AM_CPPFLAGS)
if HAVE_LIBFABRIC
mtl_chosen_libs += libopal_fabric_core.la
mtl_chosen_cppflags += -DUNIT_OFI
if !MCA_STATIC_mtl_ofi
mtl_chosen += $(mca_mtl_ofi_sources)
endif
endif
mtl_chosen_ldflags = $(AM_LDFLAGS) -Wl,--wrap=ompi_mtl_open,--wrap=ompi_mtl_close
%C%_mca_mtl_contract_SOURCES = %D%/mca/mtl/contract.c $(mtl_chosen)
%C%_mca_mtl_contract_CFLAGS = $(AM_CFLAGS)
%C%_mca_mtl_contract_CPPFLAGS = $(mtl_chosen_cppflags)
%C%_mca_mtl_contract_LDFLAGS = $(mtl_chosen_ldflags)
%C%_mca_mtl_contract_LDADD = $(mtl_chosen_libs) $(ompi_unit_libs)
%C%_mca_pml_contract_SOURCES = %D%/mca/pml/contract.c $(mtl_chosen)
%C%_mca_pml_contract_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_contract_CPPFLAGS = $(mtl_chosen_cppflags)
%C%_mca_pml_contract_LDFLAGS = $(mtl_chosen_ldflags)
%C%_mca_pml_contract_LDADD = $(mtl_chosen_libs) $(ompi_unit_libs)
# Where it is a DSO, the library does not have it.
if MCA_STATIC_pml_cm
%C%_mca_pml_cm_hybrid_SOURCES = %D%/mca/pml/cm/hybrid.c
else
%C%_mca_pml_cm_hybrid_SOURCES = %D%/mca/pml/cm/hybrid.c $(mca_pml_cm_sources)
endif
%C%_mca_pml_cm_hybrid_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_cm_hybrid_LDFLAGS = $(no_memory_ldflags)
%C%_mca_pml_cm_hybrid_LDADD = $(ompi_unit_libs)
# All of it, over a fake of a transport, with memory that fails when it is told to.
ob1_side_ldflags = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc
ob1_side = $(mca_pml_ob1_sources) %D%/mca/pml/ob1/side.c %D%/mca/pml/ob1/side.h
%C%_mca_pml_ob1_credit_SOURCES = %D%/mca/pml/ob1/credit.c $(ob1_side)
%C%_mca_pml_ob1_credit_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_credit_LDFLAGS = $(ob1_side_ldflags)
%C%_mca_pml_ob1_credit_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_frames_SOURCES = %D%/mca/pml/ob1/frames.c $(ob1_side)
%C%_mca_pml_ob1_frames_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_frames_LDFLAGS = $(ob1_side_ldflags)
%C%_mca_pml_ob1_frames_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_lane_SOURCES = %D%/mca/pml/ob1/lane.c $(ob1_side)
%C%_mca_pml_ob1_lane_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_lane_LDFLAGS = $(ob1_side_ldflags)
%C%_mca_pml_ob1_lane_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_peer_failure_SOURCES = %D%/mca/pml/ob1/peer_failure.c $(ob1_side)
%C%_mca_pml_ob1_peer_failure_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_peer_failure_LDFLAGS = $(ob1_side_ldflags)
%C%_mca_pml_ob1_peer_failure_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_memory_SOURCES = %D%/mca/pml/ob1/memory.c $(ob1_side)
%C%_mca_pml_ob1_memory_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_memory_LDFLAGS = $(ob1_side_ldflags)
%C%_mca_pml_ob1_memory_LDADD = $(ompi_unit_libs)
%C%_mca_pml_ob1_match_SOURCES = %D%/mca/pml/ob1/match.c ompi/mca/pml/ob1/match.c
%C%_mca_pml_ob1_match_CFLAGS = $(AM_CFLAGS)
%C%_mca_pml_ob1_match_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc
%C%_mca_pml_ob1_match_LDADD = $(ompi_unit_libs)
# Ranks on one area, which die when the test says so.
unit_osc_ldflags = $(AM_LDFLAGS) -Wl,--wrap=opal_node_deaths -Wl,--wrap=opal_node_peer_is_dead
osc_window = %D%/mca/osc/base/fake_window.h
osc_target = $(osc_window) %D%/mca/osc/base/fake_target.h
%C%_mca_osc_base_accumulate_SOURCES = %D%/mca/osc/base/accumulate.c $(osc_target)
%C%_mca_osc_base_accumulate_LDFLAGS = $(unit_osc_ldflags)
%C%_mca_osc_base_accumulate_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_accumulate_race_SOURCES = %D%/mca/osc/base/accumulate_race.c $(osc_target)
%C%_mca_osc_base_accumulate_race_LDFLAGS = $(unit_osc_ldflags)
%C%_mca_osc_base_accumulate_race_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_atomic_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_attach_SOURCES = %D%/mca/osc/base/attach.c $(osc_window)
%C%_mca_osc_base_attach_LDFLAGS = $(unit_osc_ldflags) -Wl,--wrap=opal_node_base \
	-Wl,--wrap=opal_node_bytes -Wl,--wrap=opal_node_carve_spare -Wl,--wrap=opal_node_populate
%C%_mca_osc_base_attach_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_lock_SOURCES = %D%/mca/osc/base/lock.c $(osc_window)
%C%_mca_osc_base_lock_LDFLAGS = $(unit_osc_ldflags)
%C%_mca_osc_base_lock_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_lock_race_SOURCES = %D%/mca/osc/base/lock_race.c $(osc_window)
%C%_mca_osc_base_lock_race_LDFLAGS = $(unit_osc_ldflags)
%C%_mca_osc_base_lock_race_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_resolve_SOURCES = %D%/mca/osc/base/resolve.c $(osc_window)
%C%_mca_osc_base_resolve_LDFLAGS = $(unit_osc_ldflags)
%C%_mca_osc_base_resolve_LDADD = $(ompi_unit_libs)
%C%_mca_osc_base_stripe_SOURCES = %D%/mca/osc/base/stripe.c $(osc_window)
%C%_mca_osc_base_stripe_LDFLAGS = $(unit_osc_ldflags) -Wl,--wrap=opal_node_base \
	-Wl,--wrap=opal_node_carve -Wl,--wrap=opal_node_populate -Wl,--wrap=opal_node_slot \
	-Wl,--wrap=opal_node_local_rank -Wl,--wrap=opal_process_self -Wl,--wrap=opal_node_watch
%C%_mca_osc_base_stripe_LDADD = $(ompi_unit_libs)
osc_btl = $(ompi_datatype_model) %D%/mca/osc/messages/fake_btl.h $(osc_messages_dso)
%C%_mca_osc_messages_type_SOURCES = %D%/mca/osc/messages/type.c $(osc_btl)
%C%_mca_osc_messages_type_CFLAGS = $(AM_CFLAGS)
%C%_mca_osc_messages_type_LDADD = $(ompi_unit_libs)
%C%_mca_osc_messages_type_refused_SOURCES = %D%/mca/osc/messages/type_refused.c $(osc_btl)
%C%_mca_osc_messages_type_refused_CFLAGS = $(AM_CFLAGS)
%C%_mca_osc_messages_type_refused_LDADD = $(ompi_unit_libs)
# Time and threads are the test's.
%C%_mca_io_base_pool_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create,--wrap=pthread_cond_timedwait
%C%_mca_io_base_pool_LDADD = $(ompi_unit_libs)
# Where a component is a DSO, the library does not have it.
if !MCA_STATIC_io_posix
io_posix_dso = $(mca_io_posix_sources)
endif
%C%_mca_io_contract_SOURCES = %D%/mca/io/contract.c $(io_posix_dso)
%C%_mca_io_contract_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_contract_LDADD = $(ompi_unit_libs)
# System calls that fail.
io_posix_sources = %D%/mca/io/posix/faults.h $(io_posix_dso)
io_posix_ldflags = $(AM_LDFLAGS) -Wl,--wrap=open,--wrap=close,--wrap=fstat,--wrap=fstatfs,--wrap=statfs \
	-Wl,--wrap=lseek,--wrap=ftruncate,--wrap=fallocate,--wrap=fdatasync,--wrap=fcntl \
	-Wl,--wrap=pread,--wrap=pwrite,--wrap=preadv,--wrap=pwritev,--wrap=preadv2,--wrap=pwritev2,--wrap=poll
%C%_mca_io_posix_lock_SOURCES = %D%/mca/io/posix/lock.c $(io_posix_sources)
%C%_mca_io_posix_lock_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_lock_LDFLAGS = $(io_posix_ldflags)
%C%_mca_io_posix_lock_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_posix_SOURCES = %D%/mca/io/posix/posix.c $(io_posix_sources)
%C%_mca_io_posix_posix_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_posix_LDFLAGS = $(io_posix_ldflags)
%C%_mca_io_posix_posix_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_space_SOURCES = %D%/mca/io/posix/space.c $(io_posix_sources)
%C%_mca_io_posix_space_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_space_LDFLAGS = $(io_posix_ldflags)
%C%_mca_io_posix_space_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_stripe_SOURCES = %D%/mca/io/posix/stripe.c $(io_posix_sources)
%C%_mca_io_posix_stripe_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_stripe_LDFLAGS = $(io_posix_ldflags) -Wl,--wrap=ioctl,--wrap=fgetxattr
%C%_mca_io_posix_stripe_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_system_SOURCES = %D%/mca/io/posix/system.c $(io_posix_sources)
%C%_mca_io_posix_system_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_system_LDFLAGS = $(io_posix_ldflags)
%C%_mca_io_posix_system_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_transfer_SOURCES = %D%/mca/io/posix/transfer.c $(io_posix_sources)
%C%_mca_io_posix_transfer_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_transfer_LDFLAGS = $(io_posix_ldflags)
%C%_mca_io_posix_transfer_LDADD = $(ompi_unit_libs)
%C%_mca_io_posix_uring_SOURCES = %D%/mca/io/posix/uring.c $(io_posix_sources)
%C%_mca_io_posix_uring_CFLAGS = $(AM_CFLAGS)
%C%_mca_io_posix_uring_LDFLAGS = $(io_posix_ldflags) -Wl,--wrap=io_uring_queue_init_params \
	-Wl,--wrap=io_uring_register_eventfd,--wrap=io_uring_submit,--wrap=io_uring_peek_batch_cqe
%C%_mca_io_posix_uring_LDADD = $(ompi_unit_libs) $(LIBURING_LIBS)
%C%_mca_pml_tags_LDADD = $(ompi_unit_libs)
%C%_handle_handle_LDADD = $(ompi_unit_libs)
%C%_object_number_LDADD = $(ompi_unit_libs)
%C%_op_op_LDADD = $(ompi_unit_libs)
%C%_ownership_blocks_LDADD = $(ompi_unit_libs)
%C%_part_area_LDFLAGS = $(unit_segment_ldflags)
%C%_part_area_LDADD = $(ompi_unit_libs)
%C%_request_callbacks_LDADD = $(ompi_unit_libs)
%C%_request_grequest_LDADD = $(ompi_unit_libs)
%C%_request_look_LDADD = $(ompi_unit_libs)
%C%_request_pair_LDADD = $(ompi_unit_libs)
%C%_request_request_LDADD = $(ompi_unit_libs)
%C%_schedule_schedule_LDADD = $(ompi_unit_libs)
%C%_tool_event_LDADD = $(ompi_unit_libs)
%C%_topology_dims_LDADD = $(ompi_unit_libs)
