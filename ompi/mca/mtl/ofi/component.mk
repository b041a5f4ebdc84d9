mca_mtl_ofi_sources = \
	%D%/agree.c \
	%D%/card.c %D%/card.h \
	%D%/choose.c %D%/choose.h \
	%D%/component.c \
	%D%/control.c \
	%D%/data.c \
	%D%/endpoint.c \
	%D%/kept.c \
	%D%/long.c \
	%D%/monitor.c %D%/monitor.h \
	%D%/near.c %D%/near.h \
	%D%/note.c \
	%D%/ofi.c %D%/ofi.h \
	%D%/parcel.c \
	%D%/peers.c \
	%D%/pinned.c \
	%D%/probe.c \
	%D%/progress.c \
	%D%/quirks.c %D%/quirks.h \
	%D%/recall.c \
	%D%/receive.c \
	%D%/refuse.c \
	%D%/select.c %D%/select.h \
	%D%/send.c \
	%D%/stranger.c \
	%D%/tag.c %D%/tag.h
mca_mtl_ofi_libs = $(LIBFABRIC_LIBS) $(HWLOC_LIBS)
if HAVE_LIBFABRIC
AM_CPPFLAGS += $(LIBFABRIC_CFLAGS)
endif
