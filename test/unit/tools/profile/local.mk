# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of mica-profile; they are linked to all of it but main.
unit_tests += \
	%D%/flows \
	%D%/summary

profile_unit_libs = libmica_profile_core.la libopal_core.la $(CHECK_LIBS)
%C%_flows_LDADD = $(profile_unit_libs)
%C%_summary_LDADD = $(profile_unit_libs)
