mca_pml_cm_sources = %D%/cm.c %D%/cm.h \
	%D%/retry.c %D%/retry.h \
	%D%/hybrid.c %D%/hybrid.h \
	%D%/probe.c %D%/request.c
