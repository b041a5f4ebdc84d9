/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake framework and its three components. */
#include "test/unit/opal/mca/base/fake.h"

#include "test/unit/opal/support.h"

static int do_nothing(void)
{
    return 0;
}

const fake_ops_t fake_full = {do_nothing, do_nothing};
const fake_ops_t fake_minimal = {.work = do_nothing};
const fake_ops_t fake_incomplete = {.rest = do_nothing};

static void answer_for(const fake_t *fake, opal_answer_t *answer)
{
    if (fake->mute)
        answer->usable = fake->usable;
    else if (fake->usable)
        opal_answer_yes(answer, fake->priority, fake->ops, NULL, "it can, at %d", fake->priority);
    else
        opal_answer_no(answer, "it does not feel like it");
}

#define FAKE_COMPONENT(component_name)                                                             \
    fake_t fake_##component_name;                                                                  \
    static const opal_param_row_t component_name##_params[] = {                                    \
        {.name = "level",                                                                          \
         .type = OPAL_PARAM_INT,                                                                   \
         .value = &fake_##component_name.level,                                                    \
         .preset = "1"},                                                                           \
        {0},                                                                                       \
    };                                                                                             \
    static opal_status_t component_name##_open(void)                                               \
    {                                                                                              \
        fake_##component_name.opened += fake_##component_name.open_status == OPAL_SUCCESS;         \
        return fake_##component_name.open_status;                                                  \
    }                                                                                              \
    static void component_name##_query(opal_answer_t *answer)                                      \
    {                                                                                              \
        fake_##component_name.queried++;                                                           \
        answer_for(&fake_##component_name, answer);                                                \
    }                                                                                              \
    static void component_name##_close(void)                                                       \
    {                                                                                              \
        fake_##component_name.closed++;                                                            \
    }                                                                                              \
    static const opal_component_t component_name##_component = {                                   \
        OPAL_COMPONENT_HEAD(fake, component_name),                                                 \
        .params = component_name##_params,                                                         \
        .open = component_name##_open,                                                             \
        .query = component_name##_query,                                                           \
        .close = component_name##_close,                                                           \
    }

FAKE_COMPONENT(alpha);
FAKE_COMPONENT(beta);
FAKE_COMPONENT(gamma);

static const opal_slot_t slots[] = {
    OPAL_SLOT_REQUIRED(fake_ops_t, work),
    OPAL_SLOT_OPTIONAL(fake_ops_t, rest),
    {0},
};

static int framework_level;

static const opal_param_row_t framework_params[] = {
    {.name = "level", .type = OPAL_PARAM_INT, .value = &framework_level, .preset = "2"},
    {0},
};

opal_framework_t fake_framework = {
    .name = "fake",
    .prose = "what the tests need",
    .params = framework_params,
    .slots = slots,
};

static opal_framework_t *const frameworks[] = {&fake_framework, NULL};
/* Not in the order of their names, which must not matter. */
static const opal_component_t *const components[] = {&gamma_component, &alpha_component,
                                                     &beta_component, NULL};
bool fake_gate_is_shut;

static void ask_gate(opal_answer_t *answer)
{
    if (fake_gate_is_shut)
        opal_answer_no(answer, "nothing for it here");
    else
        opal_answer_yes(answer, 0, NULL, NULL, "something for it here");
}

static const opal_gate_t fake_gates[] = {{"fake", "gamma", ask_gate}, {0}};

static const opal_project_t fake_project = {"fakes", frameworks, components, fake_gates};

void fake_setup(void)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "OMPI_MCA_", 9) == 0)
            (*variable)[0] = '_';
    }
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    fake_alpha = (fake_t){.usable = true, .priority = 10, .ops = &fake_full};
    fake_beta = (fake_t){.usable = true, .priority = 30, .ops = &fake_full};
    fake_gamma = (fake_t){.usable = true, .priority = 20, .ops = &fake_minimal};
    opal_project_add(&fake_project);
    opal_param_init();
    opal_framework_register_base();
}

void fake_set(const char *name, const char *value)
{
    char *variable = opal_xprintf("OMPI_MCA_%s", name);
    setenv(variable, value, 1);
    free(variable);
    opal_framework_withdraw_base();
    opal_param_fini();
    opal_param_init();
    opal_framework_register_base();
}

const char *fake_states(void)
{
    static char states[512];
    size_t length = 0;
    states[0] = 0;
    for (size_t i = 0; i < fake_framework.candidate_count; i++) {
        const opal_candidate_t *candidate = &fake_framework.candidates[i];
        length +=
            (size_t)snprintf(states + length, sizeof states - length, "%s%s:%s", i > 0 ? " " : "",
                             candidate->name, opal_candidate_state_name(candidate->state));
    }
    return states;
}

void fake_end(void)
{
    const fake_t *fakes[] = {&fake_alpha, &fake_beta, &fake_gamma};
    opal_framework_close(&fake_framework);
    for (size_t i = 0; i < OPAL_COUNT_OF(fakes); i++)
        ck_assert_uint_eq(fakes[i]->closed, fakes[i]->opened);
    opal_framework_withdraw_base();
    opal_param_fini();
    opal_diagnostic_reset();
}
