/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mtl/base/wanted.c: what makes a process look for a network that matches. */
#include "ompi/mca/mtl/base/wanted.h"

#include <sys/stat.h>

#include "opal/mca/base/param.h"
#include "test/unit/opal/support.h"

static char root[512], reason[OPAL_REASON_MAX_BYTES];

static void make_folder(const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s%s", root, path);
    ck_assert_int_eq(mkdir(full, 0755), 0);
}

static void empty_world(void)
{
    static unsigned count;
    snprintf(root, sizeof root, "%s/root%u-%d", unit_folder, count++, (int)getpid());
    make_folder("");
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "OMPI_MCA_", 9) == 0)
            (*variable)[0] = '_';
    }
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
}

/* A card of Intel's, which libfabric has a provider for. */
static void plug_in(void)
{
    make_folder("/sys");
    make_folder("/sys/class");
    make_folder("/sys/class/infiniband");
    make_folder("/sys/class/infiniband/hfi1_0");
}

/* Settings as "name=value", both may be NULL. */
static bool is_wanted(const char *one, const char *other)
{
    const char *const settings[] = {one, other};
    for (size_t i = 0; i < OPAL_COUNT_OF(settings); i++) {
        char name[256] = "OMPI_MCA_";
        if (settings[i] == NULL)
            continue;
        size_t length = strcspn(settings[i], "=");
        strncat(name, settings[i], length);
        setenv(name, settings[i] + length + 1, 1);
    }
    opal_param_init();
    bool wanted = ompi_mtl_wanted_on(root, reason);
    opal_param_fini();
    return wanted;
}

static const struct {
    const char *one, *other;
    bool has_card, is_wanted;
    const char *reason; /* a part of it */
} cases[] = {
    {NULL, NULL, false, false, "nobody asked for one that matches"},
    {NULL, NULL, true, true, "this machine has Omni-Path"},
    {"pml=cm", NULL, false, true, "pml = cm (environment)"},
    {"pml=ob1,cm", NULL, false, true, "pml = ob1,cm (environment)"},
    {"pml=^ob1", NULL, false, false, "nobody asked"},
    {"mtl=ofi", NULL, false, true, "mtl = ofi (environment)"},
    {"mtl=^ofi", NULL, false, false, "nobody asked"},
    {"mtl=^ofi", NULL, true, false, "has Omni-Path, but mtl = ^ofi (environment)"},
    {"mtl=^other", "pml=cm", true, true, "pml = cm (environment)"},
    {"mtl_ofi_provider_include=tcp", NULL, false, true, "mtl_ofi_provider_include = tcp"},
    {"mtl_ofi_provider_include=", NULL, false, false, "nobody asked"},
    {"mtl_ofi_provider_exclude=", NULL, false, true, "mtl_ofi_provider_exclude = "},
    {"mtl_ofi_provider_exclude=shm", NULL, false, true, "mtl_ofi_provider_exclude = shm"},
    {"mtl_ofi_tag_mode=ofi_tag_1", NULL, false, false, "nobody asked"},
};

START_TEST(a_world)
{
    if (cases[_i].has_card)
        plug_in();
    ck_assert_int_eq(is_wanted(cases[_i].one, cases[_i].other), cases[_i].is_wanted);
    ck_assert_msg(strstr(reason, cases[_i].reason) != NULL, "%s", reason);
}
END_TEST

/* What is there has no say if this machine is asked; what is set has. */
START_TEST(this_machine)
{
    setenv("OMPI_MCA_pml", "cm", 1);
    opal_param_init();
    ck_assert(ompi_mtl_wanted(reason));
    ck_assert_str_eq(reason, "pml = cm (environment)");
    opal_param_fini();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_world, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &this_machine},
};

UNIT_MAIN("wanted", tests, empty_world);
