/* SPDX-License-Identifier: BSD-3-Clause */
/* What single providers do otherwise than libfabric's manual says. See quirks.c. Start-up; one
 * thread. */
#ifndef OPAL_FABRIC_QUIRKS_H
#define OPAL_FABRIC_QUIRKS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

/* What the provider does otherwise; all zero: nothing. */
typedef struct opal_fabric_quirks {
    size_t spill_below;  /* receives of fewer bytes are made longer, ... */
    size_t spill_bytes;  /* ... by so many */
    size_t packet_bytes; /* a message of more bytes, up to the next number, must not be claimed */
    size_t packets_bytes;
    bool never_claims;   /* no message */
    bool never_discards; /* nor may one be thrown away by a probe */
    bool only_injects;   /* all messages are such as it injects */
    unsigned unheard;    /* not 0: it injects so many messages to a peer at most behind the last one
                            that it has told the end of; what comes then is sent from a copy */
    bool needs_polling;  /* the descriptor of its queue does not end a sleep when it has to, or
                            always */
    bool tells_data;     /* of a message that is too long, too, as the manual has it */
    bool meets_all;      /* it knows all addresses before it takes the first message */
} opal_fabric_quirks_t;

/* Between the two, the provider reads its settings. */
void opal_fabric_quirks_begin(const struct fi_info *info, opal_fabric_quirks_t *quirks);
void opal_fabric_quirks_end(void);

/* What it has to read before libfabric is asked. */
OPAL_EXPORT void opal_fabric_quirks_prepare(unsigned peers);

#endif
