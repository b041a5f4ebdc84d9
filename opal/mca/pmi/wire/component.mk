mca_pmi_wire_sources = %D%/wire.c %D%/wire.h %D%/connection.c %D%/mapping.c
