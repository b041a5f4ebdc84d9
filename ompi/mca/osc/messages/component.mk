mca_osc_messages_sources = %D%/messages.c %D%/messages.h \
	%D%/frames.c \
	%D%/internode_lock.c \
	%D%/queue.c \
	%D%/serve.c \
	%D%/type.c
