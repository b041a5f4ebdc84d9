mca_coll_sm_sources = %D%/sm.c %D%/sm.h \
	%D%/area.c \
	%D%/move.c \
	%D%/reduce.c \
	%D%/step.c
