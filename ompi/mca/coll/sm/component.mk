mca_coll_sm_sources = %D%/sm.c %D%/sm.h \
	%D%/area.c \
	%D%/direct.c \
	%D%/direct_move.c \
	%D%/direct_reduce.c \
	%D%/fold.c \
	%D%/nonblocking.c \
	%D%/move.c \
	%D%/pair.c \
	%D%/reduce.c \
	%D%/step.c \
	%D%/vector.c
