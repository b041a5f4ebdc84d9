mca_pmi_pmix_sources = %D%/pmix.c %D%/pmix.h %D%/nodes.c
mca_pmi_pmix_libs = $(PMIX_LIBS)
AM_CPPFLAGS += $(PMIX_CFLAGS)
