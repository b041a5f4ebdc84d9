mca_patcher_overwrite_sources = %D%/overwrite.c %D%/code.h %D%/x86_64.c %D%/aarch64.c %D%/unknown.c
