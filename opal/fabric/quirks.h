/* SPDX-License-Identifier: BSD-3-Clause */
/* What single providers do otherwise than libfabric's manual says. See quirks.c. Start-up's thread
 * calls it. */
#ifndef OPAL_FABRIC_QUIRKS_H
#define OPAL_FABRIC_QUIRKS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

/* What the provider does otherwise; all zero: nothing. */
typedef struct opal_fabric_quirks {
    size_t spill_below;                       /* receives of fewer bytes are made longer, ... */
    size_t spill_bytes;                       /* ... by so many */
    size_t unclaimable_from, unclaimable_end; /* messages of so many bytes must not be claimed */
    size_t max_bytes;                         /* of a message; 0: as its info says */
    bool never_injects; /* a message that it injects may be held up for ever */
    bool peeks_taken;   /* it finds messages that a posted receive is about to get */
    bool needs_polling; /* the descriptor of its queue does not end a sleep when it has to, or
                           always */
    bool meets_all;     /* it has to know all addresses before the first message comes */
    bool reports_data;  /* of a message that is too long, too, as the manual has it */
} opal_fabric_quirks_t;

/*
 * Providers read their settings between `prepare`, called before libfabric is asked for the first
 * time, and `end`, and between `begin`, called before an endpoint is opened, and `end`, which takes
 * back what the two have put into the environment.
 */
OPAL_EXPORT void opal_fabric_quirks_prepare(unsigned peers);
void opal_fabric_quirks_begin(const struct fi_info *info, opal_fabric_quirks_t *quirks);
OPAL_EXPORT void opal_fabric_quirks_end(void);

#endif
