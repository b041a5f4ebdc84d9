mca_coll_p2p_sources = %D%/p2p.c %D%/p2p.h \
	%D%/allgather.c \
	%D%/allreduce.c \
	%D%/alltoall.c \
	%D%/barrier.c \
	%D%/bcast.c \
	%D%/gather.c \
	%D%/halving.c \
	%D%/inter.c \
	%D%/neighbor.c \
	%D%/params.c \
	%D%/reduce.c \
	%D%/reduce_scatter.c \
	%D%/scan.c \
	%D%/scatter.c \
	%D%/sum.c
