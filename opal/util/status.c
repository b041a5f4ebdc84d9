/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and texts of the status table. */
#include "opal/include/status.h"

static const struct {
    const char *name, *text;
} statuses[OPAL_STATUS_COUNT] = {[OPAL_SUCCESS] = {"SUCCESS", "success"},
#define STATUS_ROW(code, mpi_class, words) [OPAL_ERR_##code] = {#code, words},
                                 OPAL_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

const char *opal_status_name(opal_status_t status)
{
    return (unsigned)status < OPAL_STATUS_COUNT ? statuses[status].name : "UNKNOWN";
}

const char *opal_status_text(opal_status_t status)
{
    return (unsigned)status < OPAL_STATUS_COUNT ? statuses[status].text : "unknown status";
}
