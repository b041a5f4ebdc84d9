# libmpi_abi. The MPI functions are made of a table by a script: bodies are written by hand,
# their prototypes, the wrappers around them and mpi.h are not.
libompi_core_la_SOURCES += \
	%D%/api/arguments.c %D%/api/arguments.h \
	%D%/api/attr.c \
	%D%/api/buffer.c \
	%D%/api/coll.c %D%/api/coll.h \
	%D%/api/coll_check.c \
	%D%/api/coll_reduce.c \
	%D%/api/comm.c \
	%D%/api/comm_create.c \
	%D%/api/comm_split_type.c \
	%D%/api/datatype.c \
	%D%/api/datatype_array.c \
	%D%/api/datatype_create.c %D%/api/datatype_create.h \
	%D%/api/datatype_pack.c \
	%D%/api/env.c \
	%D%/api/env_abi.c \
	%D%/api/errhan.c \
	%D%/api/error.c \
	%D%/api/group.c \
	%D%/api/info.c \
	%D%/api/io.c \
	%D%/api/io_access.c \
	%D%/api/neighbor.c \
	%D%/api/op.c \
	%D%/api/ownership.c \
	%D%/api/part.c \
	%D%/api/pt2pt.c \
	%D%/api/request.c \
	%D%/api/request_list.c \
	%D%/api/rma.c \
	%D%/api/session.c \
	%D%/api/spawn.c \
	%D%/api/status.c \
	%D%/api/tool.c \
	%D%/api/tool_event.c \
	%D%/api/tool_pvar.c \
	%D%/api/topo.c \
	%D%/api/wrapper.c %D%/api/wrapper.h \
	%D%/attribute/attribute.c %D%/attribute/attribute.h \
	%D%/attribute/callback.c %D%/attribute/callback.h \
	%D%/attribute/keyval.c %D%/attribute/keyval.h \
	%D%/attribute/predefined.c \
	%D%/attribute/value.h \
	%D%/buffer/buffer.c %D%/buffer/buffer.h \
	%D%/check/board.c %D%/check/check.h \
	%D%/check/buffer.c %D%/check/buffer.h \
	%D%/check/caller.c %D%/check/caller.h \
	%D%/check/compare.c \
	%D%/check/finding.c %D%/check/finding.h \
	%D%/check/label.c %D%/check/label.h \
	%D%/check/left.c %D%/check/left.h \
	%D%/comm_create/context_id_agree.c %D%/comm_create/context_id_agree.h \
	%D%/comm_create/create.c %D%/comm_create/create.h \
	%D%/comm_create/creation.c %D%/comm_create/creation.h \
	%D%/comm_create/dist.c %D%/comm_create/dist.h \
	%D%/comm_create/exchange.c %D%/comm_create/exchange.h \
	%D%/comm_create/inter.c \
	%D%/comm_create/remote_processes.c %D%/comm_create/remote_processes.h \
	%D%/communicator/communicator.c %D%/communicator/communicator.h \
	%D%/communicator/context.c %D%/communicator/context.h \
	%D%/communicator/hints.c \
	%D%/communicator/hw_topology.c %D%/communicator/hw_topology.h \
	%D%/datatype/array.c %D%/datatype/array.h \
	%D%/datatype/datatype.c %D%/datatype/datatype.h \
	%D%/datatype/envelope.c %D%/datatype/envelope.h \
	%D%/datatype/external.c %D%/datatype/external.h \
	%D%/datatype/kernel.c %D%/datatype/kernel.h \
	%D%/datatype/layout.c %D%/datatype/layout.h \
	%D%/datatype/order.c %D%/datatype/order.h \
	%D%/datatype/pack.c \
	%D%/datatype/predefined.c %D%/datatype/predefined.h \
	%D%/datatype/receive.h \
	%D%/datatype/shape.c %D%/datatype/shape.h \
	%D%/datatype/signature.c %D%/datatype/signature.h \
	%D%/datatype/wire.c %D%/datatype/wire.h \
	%D%/dynamic/dynamic.h \
	%D%/dynamic/meet.c \
	%D%/dynamic/records.c %D%/dynamic/records.h \
	%D%/dynamic/spawn.c \
	%D%/errhandler/errhandler.c %D%/errhandler/errhandler.h \
	%D%/errhandler/error_code.c %D%/errhandler/error_code.h \
	%D%/explain/collective.c \
	%D%/explain/counts.c %D%/explain/counts.h \
	%D%/explain/explain.c %D%/explain/explain.h \
	%D%/explain/page.c %D%/explain/page.h \
	%D%/explain/reasons.c \
	%D%/explain/sheet.c %D%/explain/sheet.h \
	%D%/file/access.c %D%/file/access.h \
	%D%/file/area.c %D%/file/area.h \
	%D%/file/belt.c %D%/file/belt.h \
	%D%/file/call.c \
	%D%/file/collective.c \
	%D%/file/conveyor.c %D%/file/conveyor.h \
	%D%/file/cost.c %D%/file/cost.h \
	%D%/file/cover.c \
	%D%/file/crew.c %D%/file/crew.h \
	%D%/file/datarep.c %D%/file/datarep.h \
	%D%/file/datarep_layout.c \
	%D%/file/error.c \
	%D%/file/file.c %D%/file/file.h \
	%D%/file/file_lock.c %D%/file/file_lock.h \
	%D%/file/fingerprint.c \
	%D%/file/hints.c %D%/file/hints.h \
	%D%/file/peers.c %D%/file/peers.h \
	%D%/file/pointer.c %D%/file/pointer.h \
	%D%/file/position.c \
	%D%/file/range_lock.c %D%/file/range_lock.h \
	%D%/file/request.c %D%/file/request.h \
	%D%/file/set_view.c \
	%D%/file/view.c %D%/file/view.h \
	%D%/group/group.c %D%/group/group.h \
	%D%/group/set.c \
	%D%/handle/handle.c %D%/handle/handle.h \
	%D%/info/env.c %D%/info/env.h \
	%D%/info/info.c %D%/info/info.h \
	%D%/info/memory_kinds.c %D%/info/memory_kinds.h \
	%D%/mca/coll/base/base.c %D%/mca/coll/base/base.h \
	%D%/mca/coll/base/check.c %D%/mca/coll/base/check.h \
	%D%/mca/coll/base/child.c \
	%D%/mca/coll/base/counts.c %D%/mca/coll/base/counts.h \
	%D%/mca/coll/base/choose.c %D%/mca/coll/base/choose.h \
	%D%/mca/coll/base/data.h \
	%D%/mca/coll/base/describe.c \
	%D%/mca/coll/base/tuning.c %D%/mca/coll/base/tuning.h \
	%D%/mca/osc/base/accumulate.c %D%/mca/osc/base/accumulate.h \
	%D%/mca/osc/base/area.c %D%/mca/osc/base/area.h \
	%D%/mca/osc/base/atomic.c %D%/mca/osc/base/atomic.h \
	%D%/mca/osc/base/attach.c %D%/mca/osc/base/attach.h \
	%D%/mca/osc/base/background.c %D%/mca/osc/base/background.h \
	%D%/mca/osc/base/base.c %D%/mca/osc/base/base.h \
	%D%/mca/osc/base/exchange.c %D%/mca/osc/base/exchange.h \
	%D%/mca/osc/base/lock.c %D%/mca/osc/base/lock.h \
	%D%/mca/osc/base/resolve.c %D%/mca/osc/base/resolve.h \
	%D%/mca/osc/base/stripe.c %D%/mca/osc/base/stripe.h \
	%D%/mca/osc/osc.h \
	%D%/mca/coll/coll.h \
	%D%/mca/coll/kind.h \
	%D%/mca/io/base/base.c %D%/mca/io/base/base.h \
	%D%/mca/io/base/pool.c %D%/mca/io/base/pool.h \
	%D%/mca/io/io.h \
	%D%/mca/mpool/base/base.c %D%/mca/mpool/base/base.h \
	%D%/mca/mpool/base/leave_pinned.c %D%/mca/mpool/base/leave_pinned.h \
	%D%/mca/mpool/base/marks.c %D%/mca/mpool/base/marks.h \
	%D%/mca/mpool/mpool.h \
	%D%/mca/mtl/base/base.c %D%/mca/mtl/base/base.h \
	%D%/mca/mtl/base/observe.c \
	%D%/mca/mtl/mtl.h \
	%D%/mca/pml/base/base.c %D%/mca/pml/base/base.h \
	%D%/mca/pml/base/check.c %D%/mca/pml/base/check.h \
	%D%/mca/pml/pml.h %D%/mca/pml/queues.h %D%/mca/pml/tags.h \
	%D%/debugger/dll_name.c \
	%D%/object/ints.h \
	%D%/object/language.h \
	%D%/object/number.c %D%/object/number.h \
	%D%/object/object.c %D%/object/object.h \
	%D%/op/arithmetic.c \
	%D%/op/bits.c \
	%D%/op/kernel.h \
	%D%/op/location.c \
	%D%/op/op.c %D%/op/op.h \
	%D%/op/type.c \
	%D%/ownership/blocks.c %D%/ownership/blocks.h \
	%D%/ownership/pass.c %D%/ownership/pass.h \
	%D%/part/area.c %D%/part/area.h \
	%D%/part/part.h \
	%D%/part/receive.c \
	%D%/part/send.c \
	%D%/request/callbacks.c %D%/request/callbacks.h \
	%D%/request/describe.c %D%/request/describe.h \
	%D%/request/grequest.c %D%/request/grequest.h \
	%D%/request/look.c %D%/request/look.h \
	%D%/request/pair.c %D%/request/pair.h \
	%D%/request/request.c %D%/request/request.h %D%/request/status.h \
	%D%/runtime/messages.c %D%/runtime/messages.h \
	%D%/runtime/params.c %D%/runtime/params.h \
	%D%/runtime/roll_call.c %D%/runtime/roll_call.h \
	%D%/runtime/profile.c %D%/runtime/profile.h \
	%D%/runtime/runtime.c %D%/runtime/runtime.h \
	%D%/schedule/internal.h %D%/schedule/run.c %D%/schedule/schedule.c \
	%D%/schedule/schedule.h %D%/schedule/steps.c \
	%D%/session/pset.c \
	%D%/session/session.c %D%/session/session.h \
	%D%/tool/category.c %D%/tool/category.h \
	%D%/tool/cvar.c %D%/tool/cvar.h \
	%D%/tool/enum.c \
	%D%/tool/event.c %D%/tool/event.h \
	%D%/tool/event_point.h \
	%D%/tool/event_type.c %D%/tool/event_type.h \
	%D%/tool/pvar.c %D%/tool/pvar.h \
	%D%/tool/bound.h \
	%D%/tool/source.c %D%/tool/source.h \
	%D%/tool/tool.c %D%/tool/tool.h \
	%D%/topology/dims.c \
	%D%/topology/topology.c %D%/topology/topology.h \
	%D%/win/access.c \
	%D%/win/counts.c %D%/win/counts.h \
	%D%/win/hints.c \
	%D%/win/memory.c \
	%D%/win/numa.c \
	%D%/win/sync.c \
	%D%/win/win.c %D%/win/win.h

# One file of wrappers a chapter of the table.
ompi_wrappers = \
	%D%/api/wrap_attr.c \
	%D%/api/wrap_buffer.c \
	%D%/api/wrap_coll.c \
	%D%/api/wrap_comm.c \
	%D%/api/wrap_datatype.c \
	%D%/api/wrap_env.c \
	%D%/api/wrap_errhan.c \
	%D%/api/wrap_fortran.c \
	%D%/api/wrap_group.c \
	%D%/api/wrap_handle.c \
	%D%/api/wrap_info.c \
	%D%/api/wrap_io.c \
	%D%/api/wrap_neighbor.c \
	%D%/api/wrap_op.c \
	%D%/api/wrap_ownership.c \
	%D%/api/wrap_part.c \
	%D%/api/wrap_pt2pt.c \
	%D%/api/wrap_request.c \
	%D%/api/wrap_rma.c \
	%D%/api/wrap_session.c \
	%D%/api/wrap_spawn.c \
	%D%/api/wrap_status.c \
	%D%/api/wrap_tool.c \
	%D%/api/wrap_topo.c

ompi_generated = %D%/api/mpi.h %D%/api/mica.h %D%/api/bodies.h $(ompi_wrappers)
ompi_generator_inputs = \
	%D%/api/generate.py \
	%D%/api/emit.py \
	%D%/api/mpi_api.tbl \
	%D%/api/mpi.h.in \
	%D%/api/mica.h.in \
	%D%/api/abi/constants.tsv

nodist_libompi_core_la_SOURCES += $(ompi_generated)
nodist_include_HEADERS += %D%/api/mpi.h %D%/api/mica.h
include_HEADERS += %D%/api/mica_mpi1.h
BUILT_SOURCES += $(ompi_generated)
CLEANFILES += $(ompi_generated) %D%/api/generated
EXTRA_DIST += $(ompi_generator_inputs) \
	%D%/api/abi/README.md \
	%D%/api/abi/callbacks.txt \
	%D%/api/abi/functions.tsv \
	%D%/api/abi/parameters.tsv

# The script writes only what changes, so the stamp is what is newer than its inputs.
%D%/api/generated: $(ompi_generator_inputs)
	$(AM_V_GEN)$(PYTHON) $(srcdir)/%D%/api/generate.py --out %D%/api && touch $@
$(ompi_generated): %D%/api/generated
	@test -f $@ || { rm -f %D%/api/generated; $(MAKE) %D%/api/generated; }

# Debuggers load this, and nothing of ours with it.
component_LTLIBRARIES += mica_queues.la
mica_queues_la_SOURCES = %D%/debugger/mqs.h %D%/debugger/queues.c %D%/debugger/queues.h \
	%D%/debugger/read.c
mica_queues_la_LDFLAGS = $(AM_LDFLAGS) $(component_ldflags)

# Programs are linked with -lmpi_abi or -lmpi; what they record is the soname, libmpi_abi.so.1. Those
# that ask for libmpi_abi.so.0 were linked before the ABI had its number: the interface is the same.
# A file of that name would win over the link when ldconfig runs, so an older installation's goes.
.PHONY: install-libmpi-link uninstall-libmpi-link
install-libmpi-link: uninstall-libmpi-link
	cd "$(DESTDIR)$(libdir)" && \
	for kind in so a; do \
		test ! -e libmpi_abi.$$kind || $(LN_S) libmpi_abi.$$kind libmpi.$$kind || exit 1; \
	done && \
	{ test ! -e libmpi_abi.so.1 || $(LN_S) libmpi_abi.so.1 libmpi_abi.so.0; }
uninstall-libmpi-link:
	cd "$(DESTDIR)$(libdir)" && rm -f libmpi.so libmpi.a libmpi_abi.so.0 libmpi_abi.so.0.0.0
