include $(top_srcdir)/tools/crash/local.mk
include $(top_srcdir)/tools/heap/local.mk
include $(top_srcdir)/tools/mpirun/local.mk
include $(top_srcdir)/tools/ompi_info/local.mk
include $(top_srcdir)/tools/ps/local.mk
include $(top_srcdir)/tools/profile/local.mk
include $(top_srcdir)/tools/wrapper/local.mk
