mca_patcher_reloc_sources = %D%/reloc.c
