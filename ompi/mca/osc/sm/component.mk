mca_osc_sm_sources = %D%/sm.c
