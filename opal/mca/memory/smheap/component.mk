mca_memory_smheap_sources = \
	%D%/smheap.c \
	%D%/attach.c %D%/attach.h \
	%D%/decision.c %D%/decision.h \
	%D%/election.c %D%/election.h \
	%D%/fork.c %D%/fork.h \
	%D%/launcher.c %D%/launcher.h \
	%D%/map_region.c %D%/map_region.h \
	%D%/raw_thread.c %D%/raw_thread.h \
	%D%/snapshot.c %D%/snapshot.h %D%/snapshot_lazy.c \
	%D%/source.c %D%/source.h \
	%D%/statics.c %D%/statics.h
