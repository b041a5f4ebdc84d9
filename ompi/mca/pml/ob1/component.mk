mca_pml_ob1_sources = %D%/ob1.c %D%/ob1.h %D%/wire.h \
	%D%/match.c %D%/match.h \
	%D%/credit.c %D%/gone.c %D%/peer.c %D%/send.c %D%/out.c %D%/land.c %D%/probe.c %D%/pull.c %D%/receive.c
