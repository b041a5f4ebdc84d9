bin_PROGRAMS += ompi_info
ompi_info_SOURCES = \
	%D%/main.c \
	%D%/report.c \
	%D%/report.h \
	%D%/report_events.c \
	%D%/report_memory.c \
	%D%/report_params.c \
	%D%/report_pvars.c
ompi_info_CPPFLAGS = $(AM_CPPFLAGS) -DMICA_PREFIX='"$(prefix)"'
ompi_info_LDADD = libmpi_abi.la libopen-pal.la
