mca_mtl_ofi_sources = \
	%D%/buffer.c \
	%D%/claimed.c \
	%D%/component.c \
	%D%/control.c \
	%D%/endpoint.c \
	%D%/long.c \
	%D%/ofi.c %D%/ofi.h \
	%D%/peek.c \
	%D%/peers.c \
	%D%/probe.c \
	%D%/progress.c \
	%D%/queue.c \
	%D%/receive.c \
	%D%/registration.c \
	%D%/request.c \
	%D%/select.c %D%/select.h \
	%D%/send.c \
	%D%/stranger.c \
	%D%/tag.c %D%/tag.h
# The cores, which unit tests are linked to, have nothing of it: a test adds libopal_fabric_core.
if MCA_STATIC_mtl_ofi
mca_mtl_ofi_libs = $(LIBFABRIC_LIBS)
libmpi_abi_la_LIBADD += libopen-pal-fabric.la
else
mca_mtl_ofi_libs = libopen-pal-fabric.la $(LIBFABRIC_LIBS)
endif
