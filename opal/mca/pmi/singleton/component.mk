mca_pmi_singleton_sources = %D%/singleton.c %D%/server.c %D%/server.h
