# libopen-pal without its components; config/mca.am adds those that are static.
libopal_core_la_SOURCES += \
	%D%/arch/copy.h \
	%D%/arch/relocation.h \
	%D%/arch/syscall.h \
	%D%/heap/blocks.c %D%/heap/blocks.h \
	%D%/heap/chunks.c \
	%D%/heap/classes.h \
	%D%/heap/engine.h \
	%D%/heap/heap.c %D%/heap/heap.h \
	%D%/heap/huge.c \
	%D%/heap/layout.h \
	%D%/heap/malloc.c \
	%D%/heap/pages.c \
	%D%/heap/remote.c \
	%D%/heap/runs.c \
	%D%/heap/say.c \
	%D%/heap/slabs.c \
	%D%/heap/system.c %D%/heap/system.h \
	%D%/heap/threads.c \
	%D%/heap/tidy.c \
	%D%/include/compiler.h \
	%D%/include/status.h \
	%D%/util/status.c \
	%D%/util/interval.c %D%/util/interval.h \
	%D%/util/list.h \
	%D%/util/maps.c %D%/util/maps.h \
	%D%/util/say.c %D%/util/say.h \
	%D%/util/log.c %D%/util/log.h \
	%D%/util/nearest.c \
	%D%/util/pool.h \
	%D%/util/text.c %D%/util/text.h \
	%D%/mca/base/component.h \
	%D%/mca/base/diagnostic.c %D%/mca/base/diagnostic.h \
	%D%/mca/base/dso.c %D%/mca/base/dso.h \
	%D%/mca/base/framework.c %D%/mca/base/framework.h \
	%D%/mca/base/select.c \
	%D%/mca/base/param.c %D%/mca/base/param.h \
	%D%/mca/base/param_file.c %D%/mca/base/param_file.h \
	%D%/mca/base/param_value.c %D%/mca/base/param_value.h \
	%D%/mca/base/paths.c %D%/mca/base/paths.h \
	%D%/mca/btl/btl.h \
	%D%/mca/btl/base/base.c %D%/mca/btl/base/base.h \
	%D%/mca/memory/memory.h \
	%D%/mca/memory/base/aside.c %D%/mca/memory/base/aside.h \
	%D%/mca/memory/base/pinned.c %D%/mca/memory/base/pinned.h \
	%D%/mca/memory/base/base.c %D%/mca/memory/base/base.h \
	%D%/mca/memory/base/calls.c \
	%D%/mca/memory/base/dispatch.c %D%/mca/memory/base/dispatch.h \
	%D%/mca/memory/base/events.h \
	%D%/mca/memory/base/install.c \
	%D%/mca/memory/base/probe.c %D%/mca/memory/base/probe.h \
	%D%/mca/memory/base/range.c %D%/mca/memory/base/range.h \
	%D%/mca/memory/base/redirect.c %D%/mca/memory/base/redirect.h \
	%D%/mca/memory/base/settings.c %D%/mca/memory/base/settings.h \
	%D%/mca/memory/base/system.c %D%/mca/memory/base/system.h \
	%D%/mca/memory/base/unload.c %D%/mca/memory/base/unload.h \
	%D%/mca/patcher/patcher.h \
	%D%/mca/patcher/base/base.c %D%/mca/patcher/base/base.h \
	%D%/mca/patcher/base/image.c %D%/mca/patcher/base/image.h \
	%D%/mca/pmi/pmi.h \
	%D%/mca/pmi/base/base.c %D%/mca/pmi/base/base.h \
	%D%/mca/pmi/base/message.c %D%/mca/pmi/base/message.h \
	%D%/arch/pause.h \
	%D%/arch/prefetch.h \
	%D%/arch/vector.h \
	%D%/runtime/init.c %D%/runtime/init.h \
	%D%/runtime/node.c %D%/runtime/node.h \
	%D%/runtime/node_pass.c %D%/runtime/node_pass.h \
	%D%/runtime/node_read.c \
	%D%/runtime/place.c %D%/runtime/place.h \
	%D%/runtime/wait.c %D%/runtime/wait.h \
	%D%/runtime/launcher.c %D%/runtime/launcher.h
