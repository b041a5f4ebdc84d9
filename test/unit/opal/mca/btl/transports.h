/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports that are held against their contract, each with the ranks that show it. */
#ifndef OPAL_UNIT_BTL_TRANSPORTS_H
#define OPAL_UNIT_BTL_TRANSPORTS_H

#include "opal/mca/base/component.h"

extern const opal_component_t mca_btl_self_component, mca_btl_sm_component, mca_btl_fake_component,
    mca_btl_sock_component;

static const struct {
    const opal_component_t *component;
    unsigned size;
} transports[] = {
    {&mca_btl_self_component, 1},
    {&mca_btl_fake_component, 1},
    {&mca_btl_sm_component, 2},
    {&mca_btl_sock_component, 2},
};

enum { TRANSPORTS = OPAL_COUNT_OF(transports) };

#endif
