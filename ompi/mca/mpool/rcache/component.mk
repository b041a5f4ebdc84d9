mca_mpool_rcache_sources = %D%/rcache.c %D%/rcache.h \
	%D%/cache.c \
	%D%/index.c
