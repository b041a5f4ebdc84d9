/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mtl/base/base.c: which settings and devices make a process want a network. */
#include "ompi/mca/mtl/base/base.h"

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

static void clear_settings(void)
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

/* A NIC of Intel's, which libfabric has a provider for. */
static void add_nic(void)
{
    make_folder("/sys");
    make_folder("/sys/class");
    make_folder("/sys/class/infiniband");
    make_folder("/sys/class/infiniband/hfi1_0");
}

/* Settings are "name=value" or NULL. */
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
    bool wanted = ompi_mtl_is_wanted(root, reason);
    opal_param_fini();
    return wanted;
}

static const struct {
    const char *one, *other;
    bool has_nic, is_wanted;
    const char *reason; /* a part of it */
} cases[] = {
    {NULL, NULL, false, false, "no setting asks for one"},
    {NULL, NULL, true, true, "this machine has Omni-Path"},
    {"pml=cm", NULL, false, true, "pml = cm (environment)"},
    {"pml=ob1,cm", NULL, false, true, "pml = ob1,cm (environment)"},
    {"pml=^ob1", NULL, false, false, "no setting asks"},
    {"mtl=ofi", NULL, false, true, "mtl = ofi (environment)"},
    {"mtl=^ofi", NULL, false, false, "no setting asks"},
    {"mtl=^ofi", NULL, true, false, "has Omni-Path, but mtl = ^ofi (environment)"},
    {"mtl=^other", "pml=cm", true, true, "pml = cm (environment)"},
    {"mtl_ofi_provider_include=tcp", NULL, false, true, "mtl_ofi_provider_include = tcp"},
    {"mtl_ofi_provider_include=", NULL, false, false, "no setting asks"},
    {"mtl_ofi_provider_exclude=", NULL, false, true, "mtl_ofi_provider_exclude = "},
    {"mtl_ofi_provider_exclude=shm", NULL, false, true, "mtl_ofi_provider_exclude = shm"},
    {"mtl_ofi_tag_mode=ofi_tag_1", NULL, false, false, "no setting asks"},
};

START_TEST(settings_and_devices)
{
    if (cases[_i].has_nic)
        add_nic();
    ck_assert_int_eq(is_wanted(cases[_i].one, cases[_i].other), cases[_i].is_wanted);
    ck_assert_msg(strstr(reason, cases[_i].reason) != NULL, "%s", reason);
}
END_TEST

/* The devices of this machine are unknown to the test, so a setting decides. */
START_TEST(this_machine)
{
    setenv("OMPI_MCA_pml", "cm", 1);
    opal_param_init();
    ck_assert(ompi_mtl_is_wanted("", reason));
    ck_assert_str_eq(reason, "pml = cm (environment)");
    opal_param_fini();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &settings_and_devices, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &this_machine},
};

UNIT_MAIN("mtl/base", tests, clear_settings);
