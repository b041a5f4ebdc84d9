mca_pml_ob1_sources = %D%/ob1.c %D%/ob1.h %D%/wire.h %D%/match.c %D%/match.h \
	%D%/dispatch.c %D%/event.c %D%/peer_failure.c %D%/send.c %D%/lane.c %D%/zcopy_send.c %D%/receive.c %D%/probe.c \
	%D%/placement.c %D%/deliver.c %D%/rndv_get.c %D%/unexpected.c %D%/peer.c %D%/credit.c %D%/counts.c %D%/counts.h \
	%D%/describe.c %D%/queues.c
