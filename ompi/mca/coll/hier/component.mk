mca_coll_hier_sources = %D%/hier.c %D%/hier.h \
	%D%/grid.c \
	%D%/move.c \
	%D%/phase.c %D%/phase.h \
	%D%/pipeline.c \
	%D%/reduce.c
