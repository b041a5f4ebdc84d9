# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of mica-heap; they are linked to all of it but main.
unit_tests += \
	%D%/draw \
	%D%/snapshot

heap_unit_libs = libmica_heap_core.la libopal_core.la $(CHECK_LIBS)
%C%_draw_LDADD = $(heap_unit_libs)
%C%_snapshot_LDADD = $(heap_unit_libs)
