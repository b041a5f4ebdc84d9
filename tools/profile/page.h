/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the page, line by line; NULL ends each. Made by embed.py. */
#ifndef MICA_PROFILE_PAGE_H
#define MICA_PROFILE_PAGE_H

extern const char *const page_html[]; /* with the lines @STYLE@, @DATA@ and @SCRIPT@ */
extern const char *const page_css[];
extern const char *const page_js[];

#endif
