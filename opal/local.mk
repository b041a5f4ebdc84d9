# libopen-pal without its components; config/mca.am adds those that are static.
libopal_core_la_SOURCES += \
	%D%/arch/copy.c %D%/arch/copy.h \
	%D%/arch/copy_avx2.c \
	%D%/arch/copy_avx512.c \
	%D%/arch/copy_kernel.h \
	%D%/arch/copy_loop.h \
	%D%/arch/copy_string.c \
	%D%/arch/copy_vector.c \
	%D%/arch/relocation.h \
	%D%/arch/syscall.h \
	%D%/heap/blocks.c \
	%D%/heap/chunks.c \
	%D%/heap/classes.h \
	%D%/heap/engine.h \
	%D%/heap/heap.c %D%/heap/heap.h \
	%D%/heap/huge.c \
	%D%/heap/layout.h \
	%D%/heap/look.c %D%/heap/look.h \
	%D%/heap/malloc.c \
	%D%/heap/pages.c \
	%D%/heap/remote.c \
	%D%/heap/runs.c \
	%D%/heap/slabs.c \
	%D%/heap/system.c %D%/heap/system.h \
	%D%/heap/threads.c \
	%D%/heap/tidy.c \
	%D%/include/compiler.h \
	%D%/include/status.h \
	%D%/util/status.c \
	%D%/include/clock.h \
	%D%/crash/board.h \
	%D%/crash/crash.c %D%/crash/crash.h \
	%D%/crash/notice.h \
	%D%/lines/cursor.h \
	%D%/lines/frame_rules.c %D%/lines/frame_rules.h \
	%D%/lines/unwind.c %D%/lines/unwind.h \
	%D%/lines/elf_file.c %D%/lines/elf_file.h \
	%D%/lines/line_table.c %D%/lines/line_table.h \
	%D%/lines/lines.c %D%/lines/lines.h \
	%D%/util/bytes.h \
	%D%/util/counter.h \
	%D%/util/folder.c %D%/util/folder.h \
	%D%/util/interval.c %D%/util/interval.h \
	%D%/util/list.h \
	%D%/util/maps.c %D%/util/maps.h \
	%D%/util/segments.c %D%/util/segments.h \
	%D%/util/sha256.c %D%/util/sha256.h \
	%D%/util/shortage.h \
	%D%/util/hash.h \
	%D%/util/hex.c %D%/util/hex.h \
	%D%/util/say.c %D%/util/say.h \
	%D%/util/log.c %D%/util/log.h \
	%D%/util/names.c %D%/util/names.h \
	%D%/util/nearest.c \
	%D%/util/pool.h \
	%D%/util/text.c %D%/util/text.h \
	%D%/arch/ticks.h \
	%D%/profile/layout.h \
	%D%/profile/profile.c %D%/profile/profile.h \
	%D%/profile/timeline.c %D%/profile/timeline.h \
	%D%/profile/trace.c %D%/profile/trace.h \
	%D%/mca/base/bound.h \
	%D%/mca/base/catalog.c %D%/mca/base/catalog.h \
	%D%/mca/base/component.h \
	%D%/mca/base/diagnostic.c %D%/mca/base/diagnostic.h \
	%D%/mca/base/dso.c %D%/mca/base/dso.h \
	%D%/mca/base/framework.c %D%/mca/base/framework.h \
	%D%/mca/base/select.c \
	%D%/mca/base/foreign.c %D%/mca/base/foreign.h \
	%D%/mca/base/param.c %D%/mca/base/param.h \
	%D%/mca/base/param_file.c %D%/mca/base/param_file.h \
	%D%/mca/base/param_value.c %D%/mca/base/param_value.h \
	%D%/mca/base/pvar.c %D%/mca/base/pvar.h \
	%D%/mca/btl/btl.h %D%/mca/btl/lane.h \
	%D%/mca/btl/base/base.c %D%/mca/btl/base/base.h \
	%D%/mca/btl/base/remote.c %D%/mca/btl/base/remote.h \
	%D%/mca/memory/memory.h \
	%D%/memory/hooks/watcher.c %D%/memory/hooks/watcher.h \
	%D%/mca/memory/base/leave_pinned.c %D%/mca/memory/base/leave_pinned.h \
	%D%/mca/memory/base/base.c %D%/mca/memory/base/base.h \
	%D%/memory/events/calls.c \
	%D%/memory/events/dispatch.c %D%/memory/events/dispatch.h \
	%D%/memory/events/events.h \
	%D%/memory/malloc/family.c %D%/memory/malloc/family.h \
	%D%/mca/memory/base/forbid.c %D%/mca/memory/base/forbid.h \
	%D%/memory/hooks/install.c \
	%D%/memory/hooks/probe.c %D%/memory/hooks/probe.h \
	%D%/memory/events/range.c %D%/memory/events/range.h \
	%D%/memory/events/readers.c %D%/memory/events/readers.h \
	%D%/memory/hooks/redirect.c %D%/memory/hooks/redirect.h \
	%D%/memory/hooks/settings.c %D%/memory/hooks/settings.h \
	%D%/mca/memory/base/shared.c %D%/mca/memory/base/shared.h \
	%D%/memory/events/system.c %D%/memory/events/system.h \
	%D%/mca/memory/base/trial.c %D%/mca/memory/base/trial.h \
	%D%/memory/hooks/unload.c %D%/memory/hooks/unload.h \
	%D%/mca/patcher/patcher.h \
	%D%/mca/patcher/base/base.c %D%/mca/patcher/base/base.h \
	%D%/mca/patcher/base/image.c %D%/mca/patcher/base/image.h \
	%D%/mca/pmi/pmi.h \
	%D%/mca/pmi/base/base.c %D%/mca/pmi/base/base.h \
	%D%/mca/pmi/base/origin.c \
	%D%/mca/pmi/base/connection.c %D%/mca/pmi/base/connection.h \
	%D%/mca/pmi/base/message.c %D%/mca/pmi/base/message.h \
	%D%/mca/pmi/base/names.c %D%/mca/pmi/base/names.h \
	%D%/mca/pmi/base/request.c %D%/mca/pmi/base/request.h \
	%D%/arch/claim.h \
	%D%/arch/pause.h \
	%D%/arch/prefetch.h \
	%D%/arch/vector.h \
	%D%/process/job.c %D%/process/job.h \
	%D%/process/key.c %D%/process/key.h \
	%D%/roll/cause.c \
	%D%/roll/census.c %D%/roll/census.h \
	%D%/roll/pack.c \
	%D%/roll/reach.c \
	%D%/roll/report.c %D%/roll/report.h \
	%D%/roll/roll.c %D%/roll/roll.h \
	%D%/roll/standstill.c %D%/roll/standstill.h \
	%D%/roll/story.c %D%/roll/story.h \
	%D%/roll/tell.c \
	%D%/runtime/watch.c %D%/runtime/watch.h \
	%D%/runtime/complaint.c %D%/runtime/complaint.h \
	%D%/runtime/build.c %D%/runtime/build.h \
	%D%/process/modex.c %D%/process/modex.h \
	%D%/process/notice.c %D%/process/notice.h \
	%D%/runtime/copy_setting.c %D%/runtime/copy_setting.h \
	%D%/progress/background.c %D%/progress/background.h \
	%D%/progress/descriptor.c %D%/progress/descriptor.h \
	%D%/progress/engine.h \
	%D%/progress/engine_epoll.c \
	%D%/progress/engine_poll.c \
	%D%/progress/fixed.c %D%/progress/fixed.h \
	%D%/runtime/init.c %D%/runtime/init.h \
	%D%/progress/listener.c %D%/progress/listener.h \
	%D%/progress/poll_for.h \
	%D%/util/network.c %D%/util/network.h \
	%D%/node/node.c %D%/node/node.h \
	%D%/node/alias.c %D%/node/alias.h \
	%D%/node/fd_pass.c %D%/node/fd_pass.h \
	%D%/node/node_read.c \
	%D%/node/rendezvous.c %D%/node/rendezvous.h \
	%D%/node/region.c %D%/node/region.h \
	%D%/node/region_file.c %D%/node/region_file.h \
	%D%/node/region_reap.c %D%/node/region_reap.h \
	%D%/node/seat.c %D%/node/seat.h \
	%D%/node/shared.c %D%/node/shared.h \
	%D%/progress/cpu_migration.c %D%/progress/cpu_migration.h \
	%D%/process/port.c %D%/process/port.h \
	%D%/process/port_dial.c \
	%D%/process/port_fetch.c %D%/process/port_fetch.h \
	%D%/process/port_link.c %D%/process/port_link.h \
	%D%/process/port_name.c %D%/process/port_name.h \
	%D%/process/port_socket.c %D%/process/port_socket.h \
	%D%/process/port_stream.c %D%/process/port_stream.h \
	%D%/process/process.c %D%/process/process.h \
	%D%/process/process_record.c %D%/process/process_record.h \
	%D%/threads/futex.h \
	%D%/threads/lock.c %D%/threads/lock.h %D%/threads/self.h \
	%D%/threads/membarrier.h \
	%D%/threads/thread.c %D%/threads/thread.h \
	%D%/progress/wait.c %D%/progress/wait.h \
	%D%/runtime/launcher.c %D%/runtime/launcher.h

# A library of its own, since loading libfabric takes longer than a short job does.
if HAVE_LIBFABRIC
AM_CPPFLAGS += $(LIBFABRIC_CFLAGS)
noinst_LTLIBRARIES += libopal_fabric_core.la
libopal_fabric_core_la_SOURCES = \
	%D%/fabric/fabric.c %D%/fabric/fabric.h \
	%D%/fabric/monitor.c %D%/fabric/monitor.h \
	%D%/fabric/nic_locality.c %D%/fabric/nic_locality.h \
	%D%/fabric/candidates.c %D%/fabric/candidates.h \
	%D%/fabric/quirks.c %D%/fabric/quirks.h \
	%D%/fabric/record.c %D%/fabric/record.h \
	%D%/fabric/select.c %D%/fabric/select.h
libopal_fabric_core_la_LIBADD = $(LIBFABRIC_LIBS) $(HWLOC_LIBS)
libopen_pal_fabric_la_SOURCES =
libopen_pal_fabric_la_LIBADD = libopal_fabric_core.la libopen-pal.la
libopen_pal_fabric_la_LDFLAGS = $(library_ldflags) -version-info 0:0:0
endif

if HAVE_LIBURING
libopal_core_la_SOURCES += \
	%D%/progress/engine_io_uring.c \
	%D%/progress/uring.h \
	%D%/progress/uring_fixed.c
AM_CPPFLAGS += $(LIBURING_CFLAGS)
libopal_core_la_LIBADD += $(LIBURING_LIBS)
endif
