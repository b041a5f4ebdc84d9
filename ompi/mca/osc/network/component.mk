mca_osc_network_sources = \
	%D%/accumulate.c \
	%D%/component.c \
	%D%/endpoint.c \
	%D%/network.c %D%/network.h \
	%D%/piece.c \
	%D%/trial.c
# As for mtl/ofi: the cores, which unit tests are linked to, have nothing of it.
if MCA_STATIC_osc_network
mca_osc_network_libs = $(LIBFABRIC_LIBS)
if !MCA_STATIC_mtl_ofi
libmpi_abi_la_LIBADD += libopen-pal-fabric.la
endif
else
mca_osc_network_libs = libopen-pal-fabric.la $(LIBFABRIC_LIBS)
endif
