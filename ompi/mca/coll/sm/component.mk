mca_coll_sm_sources = %D%/sm.c %D%/sm.h \
	%D%/area.c \
	%D%/direct.c %D%/direct.h \
	%D%/direct_move.c \
	%D%/direct_reduce.c \
	%D%/fold.c %D%/fold.h \
	%D%/nonblocking.c \
	%D%/move.c \
	%D%/neighbor.c \
	%D%/offer.c %D%/offer.h \
	%D%/operation.c %D%/operation.h \
	%D%/pair.c \
	%D%/persistent.c \
	%D%/reduce.c \
	%D%/step.c %D%/step.h \
	%D%/vector.c %D%/vector.h
