mca_io_posix_sources = %D%/posix.c %D%/posix.h \
	%D%/lock.c \
	%D%/space.c \
	%D%/stripe.c \
	%D%/system.c \
	%D%/transfer.c \
	%D%/uring.c
mca_io_posix_libs = $(LIBURING_LIBS)
