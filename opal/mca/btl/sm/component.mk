mca_btl_sm_sources = %D%/sm.c %D%/sm.h %D%/ring.c %D%/ring.h %D%/get.c %D%/put.c %D%/send.c %D%/lane.c %D%/share.c %D%/pace.c %D%/pace.h %D%/foreign.c %D%/foreign.h %D%/foreign_map.c %D%/meet.c
