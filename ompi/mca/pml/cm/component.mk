mca_pml_cm_sources = %D%/cm.c %D%/cm.h \
	%D%/again.c %D%/again.h \
	%D%/both.c %D%/both.h \
	%D%/probe.c %D%/request.c
