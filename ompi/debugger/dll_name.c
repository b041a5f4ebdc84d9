/* SPDX-License-Identifier: BSD-3-Clause */
/* Where debuggers find the library that shows them the message queues (mqs.h). They read it in the
 * process, or in the file of libmpi_abi. */
#include "opal/include/compiler.h"

OPAL_EXPORT extern const char MPIR_dll_name[];
OPAL_REACHED_DIRECTLY(MPIR_dll_name);
const char MPIR_dll_name[] = MICA_COMPONENTDIR "/mica_queues.so";
