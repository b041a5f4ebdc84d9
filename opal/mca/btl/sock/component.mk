mca_btl_sock_sources = %D%/sock.c %D%/sock.h %D%/state.c %D%/peer.c %D%/link.c %D%/queue.h \
	%D%/dial.c %D%/listen.c %D%/handshake_io.c %D%/health.c \
	%D%/handshake.c %D%/handshake.h %D%/wire.h \
	%D%/addresses.c %D%/addresses.h %D%/modex.c %D%/pairs.c
