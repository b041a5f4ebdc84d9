/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that ranks of this job find as soon as they are there, for processes that start alone
 * (job.h). Where the launcher shows a value after a fence only, which may never come, a notice is
 * one of its names for ports: they have no part in fences.
 *
 *   mica.<job>.<key>-<rank>-<piece>  ->  hexadecimal; before piece 0 "<bytes>:". The last piece is
 *                                        published first, so whoever finds piece 0 finds all.
 *
 * A notice stays until the launcher ends. Threading: any thread, while the job runs.
 */
#ifndef OPAL_PROCESS_NOTICE_H
#define OPAL_PROCESS_NOTICE_H

#include "opal/mca/pmi/pmi.h"

/* Whether this launcher can keep notices of this job. */
bool opal_notice_is_possible(const opal_pmi_ops_t *pmi, void *pmi_state);

/* Publishes bytes under a key in the name of this rank, once; as put of pmi. */
opal_status_t opal_notice_put(const char *key, const void *bytes, size_t length);

/* As get of pmi. OPAL_ERR_NOT_FOUND: `rank` has not put it yet. */
opal_status_t opal_notice_get(unsigned rank, const char *key, void **bytes, size_t *length);

/* One value for all ranks, which each of them offers: that of the first one is in `bytes`
 * afterwards, in all. */
opal_status_t opal_notice_agree(const char *key, void *bytes, size_t length);

#endif
