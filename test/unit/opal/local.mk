# SPDX-License-Identifier: BSD-3-Clause
# The unit tests of libopen-pal, and what a few of them need besides libopal_core.

unit_tests += \
	%D%/arch/claim \
	%D%/arch/copy \
	%D%/heap/blocks \
	%D%/heap/classes \
	%D%/heap/heap \
	%D%/heap/look \
	%D%/heap/malloc \
	%D%/heap/remote \
	%D%/heap/system \
	%D%/heap/threads \
	%D%/lines/lines \
	%D%/profile/profile \
	%D%/profile/timeline \
	%D%/profile/trace \
	%D%/util/bytes \
	%D%/util/folder \
	%D%/util/interval \
	%D%/util/log \
	%D%/util/maps \
	%D%/util/names \
	%D%/util/nearest \
	%D%/util/pool \
	%D%/util/say \
	%D%/util/sha256 \
	%D%/util/status \
	%D%/util/text \
	%D%/mca/base/catalog \
	%D%/mca/base/diagnostic \
	%D%/mca/base/dso \
	%D%/mca/base/framework \
	%D%/mca/base/param \
	%D%/mca/base/param_file \
	%D%/mca/base/param_value \
	%D%/mca/base/pvar \
	%D%/mca/base/select \
	%D%/mca/btl/clients \
	%D%/mca/btl/contract \
	%D%/mca/btl/jobs \
	%D%/mca/btl/memory \
	%D%/mca/btl/operations \
	%D%/mca/btl/oracle \
	%D%/mca/btl/self/self \
	%D%/mca/btl/sm/get \
	%D%/mca/btl/sm/foreign \
	%D%/mca/btl/sm/lane \
	%D%/mca/btl/sm/pace \
	%D%/mca/btl/sm/ring \
	%D%/mca/btl/sm/sm \
	%D%/mca/btl/sock/addresses \
	%D%/mca/btl/sock/modex \
	%D%/mca/btl/sock/dial \
	%D%/mca/btl/sock/ends \
	%D%/mca/btl/sock/handshake \
	%D%/mca/btl/sock/link \
	%D%/mca/btl/sock/listen \
	%D%/mca/btl/sock/pairs \
	%D%/mca/btl/sock/peer \
	%D%/mca/btl/sock/queue \
	%D%/mca/memory/base/base \
	%D%/memory/events/calls \
	%D%/memory/events/dispatch \
	%D%/memory/events/events \
	%D%/memory/malloc/family \
	%D%/mca/memory/base/forbid \
	%D%/memory/hooks/install \
	%D%/memory/events/range \
	%D%/memory/hooks/redirect \
	%D%/mca/memory/contract \
	%D%/mca/patcher/base/image \
	%D%/mca/patcher/overwrite/aarch64 \
	%D%/mca/patcher/overwrite/overwrite \
	%D%/mca/patcher/overwrite/x86_64 \
	%D%/mca/patcher/reloc/reloc \
	%D%/mca/memory/base/leave_pinned \
	%D%/mca/memory/ptmalloc2/decision \
	%D%/mca/memory/smheap/attach \
	%D%/mca/memory/smheap/decision \
	%D%/mca/memory/smheap/election \
	%D%/mca/memory/smheap/launcher \
	%D%/mca/memory/smheap/source \
	%D%/mca/pmi/base/base \
	%D%/mca/pmi/base/connection \
	%D%/mca/pmi/base/message \
	%D%/mca/pmi/base/names \
	%D%/mca/pmi/base/request \
	%D%/mca/pmi/base/origin \
	%D%/mca/pmi/contract \
	%D%/mca/pmi/singleton/singleton \
	%D%/mca/pmi/wire/mapping \
	%D%/mca/pmi/wire/wire \
	%D%/roll/cause \
	%D%/roll/census \
	%D%/roll/pack \
	%D%/roll/reach \
	%D%/roll/report \
	%D%/roll/roll \
	%D%/roll/standstill \
	%D%/roll/story \
	%D%/roll/tell \
	%D%/runtime/complaint \
	%D%/runtime/copy_setting \
	%D%/progress/descriptor \
	%D%/progress/engine \
	%D%/progress/fixed \
	%D%/progress/sleep \
	%D%/progress/timer \
	%D%/runtime/init \
	%D%/runtime/build \
	%D%/process/modex \
	%D%/process/key \
	%D%/process/notice \
	%D%/threads/lock \
	%D%/threads/thread \
	%D%/util/hex \
	%D%/util/network \
	%D%/node/node \
	%D%/progress/cpu_migration \
	%D%/process/port \
	%D%/process/port_fetch \
	%D%/process/process \
	%D%/process/process_record \
	%D%/node/region_file \
	%D%/node/region_reap \
	%D%/node/rendezvous \
	%D%/node/seat \
	%D%/node/shared \
	%D%/progress/wait

# A framework and three components that do as they are told.
fake_sources = %D%/mca/base/fake.c %D%/mca/base/fake.h
test_unit_opal_mca_base_framework_SOURCES = %D%/mca/base/framework.c $(fake_sources)
test_unit_opal_mca_base_select_SOURCES = %D%/mca/base/select.c $(fake_sources)

# Component files, good and broken, of one source. They resolve the base in the program itself.
if HAVE_CHECK
check_LTLIBRARIES = $(dso_fixtures)
endif
fixture_ldflags = -module -shared -avoid-version -rpath $(abs_builddir)
dso_fixtures =
dso_fixtures += %D%/mca/base/mca_fake_good.la
test_unit_opal_mca_base_mca_fake_good_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_good_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=good
test_unit_opal_mca_base_mca_fake_good_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_good_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_other.la
test_unit_opal_mca_base_mca_fake_other_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_other_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=other
test_unit_opal_mca_base_mca_fake_other_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_other_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_abi.la
test_unit_opal_mca_base_mca_fake_abi_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_abi_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=abi -DBREAK_ABI
test_unit_opal_mca_base_mca_fake_abi_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_abi_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_base.la
test_unit_opal_mca_base_mca_fake_base_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_base_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=base -DBREAK_BASE
test_unit_opal_mca_base_mca_fake_base_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_base_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_framework.la
test_unit_opal_mca_base_mca_fake_framework_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_framework_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=framework -DBREAK_FRAMEWORK
test_unit_opal_mca_base_mca_fake_framework_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_framework_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_name.la
test_unit_opal_mca_base_mca_fake_name_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_name_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=name -DBREAK_NAME
test_unit_opal_mca_base_mca_fake_name_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_name_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_symbol.la
test_unit_opal_mca_base_mca_fake_symbol_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_symbol_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=symbol -DBREAK_SYMBOL
test_unit_opal_mca_base_mca_fake_symbol_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_symbol_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_unresolved.la
test_unit_opal_mca_base_mca_fake_unresolved_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_unresolved_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=unresolved -DBREAK_UNRESOLVED
test_unit_opal_mca_base_mca_fake_unresolved_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_unresolved_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_query.la
test_unit_opal_mca_base_mca_fake_query_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_query_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=query -DBREAK_QUERY
test_unit_opal_mca_base_mca_fake_query_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_query_la_LIBADD =
dso_fixtures += %D%/mca/base/mca_fake_slot.la
test_unit_opal_mca_base_mca_fake_slot_la_SOURCES = %D%/mca/base/dso_fixture.c
test_unit_opal_mca_base_mca_fake_slot_la_CPPFLAGS = $(AM_CPPFLAGS) -DNAME=slot -DBREAK_SLOT
test_unit_opal_mca_base_mca_fake_slot_la_LDFLAGS = $(fixture_ldflags)
test_unit_opal_mca_base_mca_fake_slot_la_LIBADD =
test_unit_opal_mca_base_dso_SOURCES = %D%/mca/base/dso.c $(fake_sources)
test_unit_opal_mca_base_dso_CPPFLAGS = $(AM_CPPFLAGS) \
	-DUNIT_FIXTURES='"$(abs_builddir)/%D%/mca/base/.libs"'
test_unit_opal_mca_base_dso_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
EXTRA_test_unit_opal_mca_base_dso_DEPENDENCIES = $(dso_fixtures)

# It has a system-wide parameter file of its own.
test_unit_opal_mca_base_param_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_param_file_system

# A component that is not in libopal_core is compiled into its tests (under other object names, as
# the flags of its own say).
launcher_sources = %D%/mca/pmi/wire/launcher.c %D%/mca/pmi/wire/launcher.h
test_unit_opal_mca_pmi_singleton_singleton_SOURCES = %D%/mca/pmi/singleton/singleton.c
test_unit_opal_mca_pmi_singleton_singleton_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_pmi_wire_mapping_SOURCES = %D%/mca/pmi/wire/mapping.c
test_unit_opal_mca_pmi_wire_mapping_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_pmi_wire_wire_SOURCES = %D%/mca/pmi/wire/wire.c $(launcher_sources)
test_unit_opal_mca_pmi_wire_wire_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_pmi_contract_SOURCES = %D%/mca/pmi/contract.c $(launcher_sources)
test_unit_opal_mca_pmi_contract_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_pmi_contract_CPPFLAGS = $(AM_CPPFLAGS)
test_unit_opal_mca_pmi_contract_LDADD = $(LDADD)
if !MCA_STATIC_pmi_singleton
test_unit_opal_mca_pmi_contract_SOURCES += $(mca_pmi_singleton_sources)
test_unit_opal_mca_pmi_singleton_singleton_SOURCES += $(mca_pmi_singleton_sources)
endif
if !MCA_STATIC_pmi_wire
test_unit_opal_mca_pmi_contract_SOURCES += $(mca_pmi_wire_sources)
test_unit_opal_mca_pmi_wire_mapping_SOURCES += $(mca_pmi_wire_sources)
test_unit_opal_mca_pmi_wire_wire_SOURCES += $(mca_pmi_wire_sources)
endif

if HAVE_LIBFABRIC
unit_tests += \
	%D%/fabric/fabric \
	%D%/fabric/monitor \
	%D%/fabric/nic_locality \
	%D%/fabric/candidates \
	%D%/fabric/quirks \
	%D%/fabric/record
fabric_unit_libs = libopal_fabric_core.la $(LDADD)
test_unit_opal_fabric_fabric_LDADD = $(fabric_unit_libs)
test_unit_opal_fabric_monitor_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=opal_memory_handler_add
test_unit_opal_fabric_monitor_LDADD = $(fabric_unit_libs)
test_unit_opal_fabric_nic_locality_SOURCES = %D%/fabric/nic_locality.c %D%/fabric/candidates.h
test_unit_opal_fabric_nic_locality_LDADD = $(fabric_unit_libs)
test_unit_opal_fabric_candidates_SOURCES = %D%/fabric/candidates.c %D%/fabric/candidates.h
test_unit_opal_fabric_candidates_LDADD = $(fabric_unit_libs)
test_unit_opal_fabric_quirks_LDADD = $(fabric_unit_libs)
test_unit_opal_fabric_record_LDADD = $(fabric_unit_libs)
endif

test_unit_opal_process_modex_LDFLAGS = $(no_memory_ldflags)
test_unit_opal_process_process_LDFLAGS = $(no_memory_ldflags)

# In front of libpmix, whose functions that talk to a server they replace.
if HAVE_PMIX
pmix_server_sources = %D%/mca/pmi/pmix/server.c %D%/mca/pmi/pmix/server.h
test_unit_opal_mca_pmi_contract_SOURCES += $(pmix_server_sources)
test_unit_opal_mca_pmi_contract_CPPFLAGS += -DUNIT_PMIX
test_unit_opal_mca_pmi_contract_LDADD += $(PMIX_LIBS)
unit_tests += %D%/mca/pmi/pmix/pmix
test_unit_opal_mca_pmi_pmix_pmix_SOURCES = %D%/mca/pmi/pmix/pmix.c $(pmix_server_sources)
test_unit_opal_mca_pmi_pmix_pmix_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_pmi_pmix_pmix_LDADD = $(LDADD) $(PMIX_LIBS)
if !MCA_STATIC_pmi_pmix
test_unit_opal_mca_pmi_contract_SOURCES += $(mca_pmi_pmix_sources)
test_unit_opal_mca_pmi_pmix_pmix_SOURCES += $(mca_pmi_pmix_sources)
endif
endif

test_unit_opal_memory_events_events_SOURCES = %D%/memory/events/events.c \
	%D%/mca/memory/oracle.c %D%/mca/memory/oracle.h

crew_sources = %D%/mca/btl/crew.c %D%/mca/btl/crew.h %D%/mca/btl/crew_pmi.c \
	%D%/mca/btl/hearing.c %D%/mca/btl/hearing.h %D%/mca/btl/transports.h
window_sources = $(crew_sources) %D%/mca/btl/windows.c %D%/mca/btl/windows.h
test_unit_opal_mca_btl_clients_SOURCES = %D%/mca/btl/clients.c %D%/mca/btl/fake.c $(crew_sources)
test_unit_opal_mca_btl_clients_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_contract_SOURCES = %D%/mca/btl/contract.c %D%/mca/btl/fake.c $(crew_sources)
test_unit_opal_mca_btl_contract_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_operations_SOURCES = %D%/mca/btl/operations.c %D%/mca/btl/fake.c \
	$(window_sources)
test_unit_opal_mca_btl_operations_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_oracle_SOURCES = %D%/mca/btl/oracle.c $(window_sources)
test_unit_opal_mca_btl_oracle_CFLAGS = $(AM_CFLAGS)
two_jobs_sources = $(crew_sources) %D%/mca/btl/two_jobs.c %D%/mca/btl/two_jobs.h
test_unit_opal_mca_btl_jobs_SOURCES = %D%/mca/btl/jobs.c $(two_jobs_sources)
test_unit_opal_mca_btl_jobs_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_memory_SOURCES = %D%/mca/btl/memory.c $(crew_sources)
test_unit_opal_mca_btl_memory_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_memory_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=send -Wl,--wrap=sendmsg -Wl,--wrap=recv -Wl,--wrap=readv
test_unit_opal_mca_btl_sock_addresses_SOURCES = %D%/mca/btl/sock/addresses.c
test_unit_opal_mca_btl_sock_addresses_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_modex_SOURCES = %D%/mca/btl/sock/modex.c
test_unit_opal_mca_btl_sock_modex_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_handshake_SOURCES = %D%/mca/btl/sock/handshake.c
test_unit_opal_mca_btl_sock_handshake_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_pairs_SOURCES = %D%/mca/btl/sock/pairs.c
test_unit_opal_mca_btl_sock_pairs_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_link_SOURCES = %D%/mca/btl/sock/link.c $(crew_sources)
test_unit_opal_mca_btl_sock_link_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_link_LDFLAGS = $(no_memory_ldflags)
test_unit_opal_mca_btl_sock_peer_SOURCES = %D%/mca/btl/sock/peer.c $(crew_sources)
test_unit_opal_mca_btl_sock_peer_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_ends_SOURCES = %D%/mca/btl/sock/ends.c $(crew_sources)
test_unit_opal_mca_btl_sock_ends_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_ends_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=connect -Wl,--wrap=opal_job_key
test_unit_opal_mca_btl_sock_dial_SOURCES = %D%/mca/btl/sock/dial.c $(crew_sources)
test_unit_opal_mca_btl_sock_dial_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_dial_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=connect -Wl,--wrap=sock_get_modex -Wl,--wrap=clock_gettime
test_unit_opal_mca_btl_sock_listen_SOURCES = %D%/mca/btl/sock/listen.c $(crew_sources)
test_unit_opal_mca_btl_sock_listen_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sock_listen_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=accept4 -Wl,--wrap=clock_gettime
test_unit_opal_mca_btl_self_self_SOURCES = %D%/mca/btl/self/self.c $(crew_sources)
test_unit_opal_mca_btl_self_self_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_get_SOURCES = %D%/mca/btl/sm/get.c $(crew_sources)
test_unit_opal_mca_btl_sm_get_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_foreign_SOURCES = %D%/mca/btl/sm/foreign.c $(two_jobs_sources)
test_unit_opal_mca_btl_sm_foreign_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_lane_SOURCES = %D%/mca/btl/sm/lane.c $(crew_sources)
test_unit_opal_mca_btl_sm_lane_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_pace_SOURCES = %D%/mca/btl/sm/pace.c opal/mca/btl/sm/pace.c
test_unit_opal_mca_btl_sm_pace_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_ring_SOURCES = %D%/mca/btl/sm/ring.c
test_unit_opal_mca_btl_sm_ring_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_sm_SOURCES = %D%/mca/btl/sm/sm.c $(crew_sources)
test_unit_opal_mca_btl_sm_sm_CFLAGS = $(AM_CFLAGS)
test_unit_opal_mca_btl_sm_sm_LDFLAGS = $(no_memory_ldflags)
if !MCA_STATIC_btl_sock
test_unit_opal_mca_btl_jobs_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_oracle_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_operations_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_clients_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_contract_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_memory_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_addresses_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_modex_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_handshake_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_pairs_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_link_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_peer_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_ends_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_dial_SOURCES += $(mca_btl_sock_sources)
test_unit_opal_mca_btl_sock_listen_SOURCES += $(mca_btl_sock_sources)
endif
if !MCA_STATIC_btl_self
test_unit_opal_mca_btl_operations_SOURCES += $(mca_btl_self_sources)
test_unit_opal_mca_btl_clients_SOURCES += $(mca_btl_self_sources)
test_unit_opal_mca_btl_contract_SOURCES += $(mca_btl_self_sources)
test_unit_opal_mca_btl_self_self_SOURCES += $(mca_btl_self_sources)
endif
if !MCA_STATIC_btl_sm
test_unit_opal_mca_btl_oracle_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_operations_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_clients_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_contract_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_sm_get_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_sm_foreign_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_sm_lane_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_sm_ring_SOURCES += $(mca_btl_sm_sources)
test_unit_opal_mca_btl_sm_sm_SOURCES += $(mca_btl_sm_sources)
endif

# Its waiting is looked at, not waited for. Components that are DSOs it finds in the build, and they the base in the program itself.
test_unit_opal_runtime_init_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_opal_runtime_init_CPPFLAGS = $(AM_CPPFLAGS)
test_unit_opal_process_key_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_opal_process_key_CPPFLAGS = $(AM_CPPFLAGS)
if MCA_DSO_pmi_singleton
test_unit_opal_runtime_init_CPPFLAGS += -DUNIT_COMPONENTS='"$(abs_builddir)/.libs"'
test_unit_opal_process_key_CPPFLAGS += -DUNIT_COMPONENTS='"$(abs_builddir)/.libs"'
EXTRA_test_unit_opal_process_key_DEPENDENCIES = $(component_LTLIBRARIES)
EXTRA_test_unit_opal_runtime_init_DEPENDENCIES = $(component_LTLIBRARIES)
endif

# How long somebody has waited, and who naps, is looked at, and not measured.
test_unit_opal_threads_lock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime,--wrap=syscall
test_unit_opal_progress_wait_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nanosleep,--wrap=sched_yield

# The segment is the test's: %D%/node/fake_segment.h.
unit_segment_ldflags = $(AM_LDFLAGS) -Wl,--wrap=opal_node_base -Wl,--wrap=opal_node_carve_spare \
	-Wl,--wrap=opal_node_populate
test_unit_opal_node_shared_LDFLAGS = $(unit_segment_ldflags)

EXTRA_DIST += %D%/roll/job.h %D%/heap/fake_source.h %D%/machine.h %D%/mca/memory/watch.h %D%/no_memory.h %D%/shortage.h \
	%D%/node/fake_segment.h %D%/progress/engines.h %D%/progress/sleeper.h %D%/refuse_call.h \
	%D%/support.h
