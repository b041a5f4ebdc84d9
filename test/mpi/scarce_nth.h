/* SPDX-License-Identifier: BSD-3-Clause */
/* One allocation of the library's fails: the n-th one from when `fail_at` was set to n. */
#ifndef MICA_TEST_SCARCE_NTH_H
#define MICA_TEST_SCARCE_NTH_H

#include "scarce.h"

static int fail_at; /* 0: none fails */
static int failed;  /* set to 1 by the one that has failed */

static bool is_to_fail(void)
{
    if (fail_at == 0 || --fail_at > 0)
        return false;
    failed = 1;
    return true;
}

#endif
