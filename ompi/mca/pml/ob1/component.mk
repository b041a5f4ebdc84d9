mca_pml_ob1_sources = %D%/ob1.c %D%/ob1.h %D%/wire.h \
	%D%/match.c %D%/match.h \
	%D%/credit.c %D%/peer_failure.c %D%/peer.c %D%/send.c %D%/zcopy_send.c %D%/placement.c %D%/probe.c %D%/rndv_get.c %D%/receive.c
