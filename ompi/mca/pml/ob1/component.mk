mca_pml_ob1_sources = %D%/ob1.c %D%/ob1.h %D%/wire.h \
	%D%/match.c %D%/match.h \
	%D%/death.c %D%/peer.c %D%/send.c %D%/receive.c
