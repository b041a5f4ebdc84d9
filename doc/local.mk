# SPDX-License-Identifier: BSD-3-Clause
# The manual pages, written by doc/man/pages.py, and a page that refers to one of them for each other
# name of a command.
man1_MANS += %D%/man/mica-heap.1 %D%/man/mica-profile.1 %D%/man/mica-ps.1 \
	%D%/man/mpicc.1 %D%/man/mpirun.1 %D%/man/ompi_info.1

mpirun_links = %D%/man/mpiexec.1
mpicc_links = $(wrapper_links:%=%D%/man/%.1)
man1_MANS += $(mpirun_links) $(mpicc_links)
CLEANFILES += $(mpirun_links) $(mpicc_links)
$(mpirun_links):
	$(AM_V_GEN)$(MKDIR_P) %D%/man && echo ".so man1/mpirun.1" >$@
$(mpicc_links):
	$(AM_V_GEN)$(MKDIR_P) %D%/man && echo ".so man1/mpicc.1" >$@
