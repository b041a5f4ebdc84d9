/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands fixed sends on to the engine, if it has them. */
#include "opal/progress/fixed.h"

#include "opal/mca/base/param.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/engine.h"

static const opal_engine_fixed_t *fixed; /* NULL: not asked for yet, or not there */
static const char *why_not;

static unsigned slots_wanted;
static bool copies;

static const opal_param_row_t params[] = {
    {.name = "fixed_slots",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &slots_wanted,
     .preset = "1024",
     .max = "16384",
     .is_internal = true,
     .prose = "The most buffers that are registered with io_uring for sends; 0: none"},
    {.name = "fixed_copies",
     .type = OPAL_PARAM_BOOL,
     .value = &copies,
     .preset = "no",
     .is_internal = true,
     .prose = "Whether the system copies what is sent out of registered memory even where the "
              "network could read it in place"},
    {0},
};

opal_status_t opal_fixed_params_register(void)
{
    return opal_param_register("wait", "", params);
}

void opal_fixed_params_withdraw(void)
{
    opal_param_withdraw(params);
}

bool opal_fixed_available(void)
{
    if (fixed != NULL || why_not != NULL)
        return fixed != NULL;
    const opal_engine_t *engine = opal_descriptor_open_engine();
    if (engine == NULL || engine->fixed == NULL)
        why_not = "only the engine io_uring can (parameter wait_engine)";
    else if (engine->fixed->open(slots_wanted, copies, &why_not) == OPAL_SUCCESS)
        fixed = engine->fixed;
    return fixed != NULL;
}

const char *opal_fixed_reason(void)
{
    return why_not;
}

unsigned opal_fixed_slots(void)
{
    return opal_fixed_available() ? fixed->slots() : 0;
}

opal_status_t opal_fixed_register(void *base, size_t bytes, unsigned *slot)
{
    return opal_fixed_available() ? fixed->pin(base, bytes, slot) : OPAL_ERR_NOT_AVAILABLE;
}

void opal_fixed_withdraw(unsigned slot)
{
    if (fixed != NULL)
        fixed->unpin(slot);
}

void opal_fixed_send(opal_fixed_send_t *send)
{
    opal_descriptor_count_sends(+1);
    fixed->send(send);
}

int opal_fixed_finish(void)
{
    return fixed != NULL ? fixed->finish() : 0;
}

void opal_fixed_close(void)
{
    if (fixed != NULL)
        fixed->close();
    fixed = NULL;
    why_not = NULL;
}
