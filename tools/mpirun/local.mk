# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += mpirun
mpirun_SOURCES = %D%/main.c

# hwloc is linked and not opened on need: loading it costs 0.2 ms.
mpirun_LDADD = libmpirun_core.la libopen-pal.la $(HWLOC_LIBS)

# All but main, for the unit tests as well.
noinst_LTLIBRARIES += libmpirun_core.la
libmpirun_core_la_SOURCES = \
	%D%/appfile.c \
	%D%/board.c %D%/board.h \
	%D%/bind.c %D%/bind.h \
	%D%/client.c \
	%D%/debug.c %D%/debug.h \
	%D%/channel.c %D%/channel.h \
	%D%/descendants.c %D%/descendants.h \
	%D%/launcher.c %D%/launcher.h \
	%D%/environment.c %D%/environment.h \
	%D%/front.c %D%/front.h \
	%D%/hang.c %D%/hang.h \
	%D%/front_link.c %D%/front_link.h \
	%D%/handover.c %D%/handover.h \
	%D%/foreign.c \
	%D%/gather.c %D%/gather.h \
	%D%/hosts.c %D%/hosts.h \
	%D%/input.c %D%/input.h \
	%D%/job.c %D%/job.h \
	%D%/launch.c %D%/launch.h \
	%D%/loop.c %D%/loop.h \
	%D%/names.c %D%/names.h \
	%D%/nodes.c %D%/nodes.h \
	%D%/number.c %D%/number.h \
	%D%/option_rows.c %D%/option_rows.h \
	%D%/options.c %D%/options.h \
	%D%/outcome.c %D%/outcome.h \
	%D%/output.c %D%/output.h \
	%D%/mapping.c \
	%D%/pmi_kvs.c %D%/pmi_kvs.h \
	%D%/pmi_link.c %D%/pmi_link.h \
	%D%/pmi_server.c %D%/pmi_server.h \
	%D%/pmi_spawn.c %D%/pmi_spawn.h \
	%D%/profile.c %D%/profile.h \
	%D%/program.c %D%/program.h \
	%D%/rank_set.c %D%/rank_set.h \
	%D%/rankfile.c %D%/rankfile.h \
	%D%/spawn.c %D%/spawn.h \
	%D%/spelling.c %D%/spelling.h \
	%D%/start.c \
	%D%/supervise.c %D%/supervise.h \
	%D%/supervisor.h \
	%D%/terminal.c %D%/terminal.h \
	%D%/wrap.c %D%/wrap.h

# Debuggers read the type of the table of processes from this object, so it has debug information
# however the rest is compiled; and the symbols stay in a stripped mpirun.
noinst_LTLIBRARIES += libmpirun_mpir.la
libmpirun_mpir_la_SOURCES = %D%/mpir.c %D%/mpir.h
libmpirun_mpir_la_CFLAGS = $(AM_CFLAGS) -g
libmpirun_core_la_LIBADD = libmpirun_mpir.la
mpirun_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic

.PHONY: install-mpiexec-link uninstall-mpiexec-link
install-mpiexec-link:
	$(MKDIR_P) "$(DESTDIR)$(bindir)"
	ln -sf mpirun$(EXEEXT) "$(DESTDIR)$(bindir)/mpiexec$(EXEEXT)"
uninstall-mpiexec-link:
	rm -f "$(DESTDIR)$(bindir)/mpiexec$(EXEEXT)"
