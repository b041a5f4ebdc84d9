mca_pmi_wire_sources = %D%/wire.c %D%/wire.h %D%/mapping.c
