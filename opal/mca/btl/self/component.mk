mca_btl_self_sources = %D%/self.c
