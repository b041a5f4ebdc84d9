mca_pmi_pmix_sources = %D%/pmix.c %D%/pmix.h %D%/facts.c %D%/psets.c %D%/spawn.c \
	%D%/children.c
mca_pmi_pmix_libs = $(PMIX_LIBS)
AM_CPPFLAGS += $(PMIX_CFLAGS)
