mca_pmi_singleton_sources = %D%/singleton.c
