# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of mpirun; they are linked to all of it but main.
unit_tests += \
	%D%/appfile \
	%D%/descendants \
	%D%/launcher \
	%D%/gather \
	%D%/handover \
	%D%/hosts \
	%D%/mpir \
	%D%/names \
	%D%/nodes \
	%D%/number \
	%D%/options \
	%D%/pmi_kvs \
	%D%/pmi_server \
	%D%/rank_set \
	%D%/spawn \
	%D%/spelling \
	%D%/wrap

mpirun_unit_libs = libmpirun_core.la libopal_core.la $(HWLOC_LIBS) $(CHECK_LIBS)
%C%_appfile_LDADD = $(mpirun_unit_libs)
%C%_descendants_LDADD = $(mpirun_unit_libs)
%C%_launcher_LDADD = $(mpirun_unit_libs)
%C%_gather_LDADD = $(mpirun_unit_libs)
%C%_handover_LDADD = $(mpirun_unit_libs)
%C%_hosts_LDADD = $(mpirun_unit_libs)
%C%_mpir_LDADD = $(mpirun_unit_libs)
%C%_names_LDADD = $(mpirun_unit_libs)
%C%_nodes_LDADD = $(mpirun_unit_libs)
%C%_number_LDADD = $(mpirun_unit_libs)
%C%_options_LDADD = $(mpirun_unit_libs)
%C%_pmi_kvs_LDADD = $(mpirun_unit_libs)
%C%_pmi_server_LDADD = $(mpirun_unit_libs)
%C%_rank_set_LDADD = $(mpirun_unit_libs)
%C%_spawn_LDADD = $(mpirun_unit_libs)
%C%_spelling_LDADD = $(mpirun_unit_libs)
%C%_wrap_LDADD = $(mpirun_unit_libs)
