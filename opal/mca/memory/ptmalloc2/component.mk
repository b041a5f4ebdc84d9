mca_memory_ptmalloc2_sources = \
	%D%/ptmalloc2.c \
	%D%/allocator.c %D%/allocator.h \
	%D%/decision.c %D%/decision.h \
	%D%/symbols.c %D%/symbols.h
