# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += mica-profile
noinst_LTLIBRARIES += libmica_profile_core.la

# All but main, for the unit tests.
libmica_profile_core_la_SOURCES = \
	%D%/chrome.c %D%/chrome.h \
	%D%/flows.c %D%/flows.h \
	%D%/findings.c %D%/findings.h \
	%D%/html.c \
	%D%/page.h \
	%D%/places.c %D%/places.h \
	%D%/records.c %D%/records.h \
	%D%/report.h \
	%D%/summary.c %D%/summary.h \
	%D%/text.c
nodist_libmica_profile_core_la_SOURCES = %D%/page.c
mica_profile_SOURCES = %D%/main.c
mica_profile_LDADD = libmica_profile_core.la libopen-pal.la

profile_page = %D%/page.html %D%/page.css %D%/page.js
BUILT_SOURCES += %D%/page.c
CLEANFILES += %D%/page.c
EXTRA_DIST += %D%/embed.py $(profile_page)

%D%/page.c: %D%/embed.py $(profile_page)
	$(AM_V_GEN)$(MKDIR_P) %D% && $(PYTHON) $(srcdir)/%D%/embed.py $@ \
		$(srcdir)/%D%/page.html $(srcdir)/%D%/page.css $(srcdir)/%D%/page.js
