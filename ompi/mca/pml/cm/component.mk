mca_pml_cm_sources = %D%/cm.c %D%/cm.h \
	%D%/counts.c \
	%D%/hybrid.c %D%/hybrid.h \
	%D%/request.c \
	%D%/retry.c %D%/retry.h
