/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/runtime/copy_setting.c: the parameter names a kernel, or none that can be used. */
#include "opal/runtime/copy_setting.h"

#include "opal/arch/copy_kernel.h"
#include "opal/mca/base/param.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
}

static opal_status_t start(const char *kernel)
{
    if (kernel != NULL)
        setenv("OMPI_MCA_copy_kernel", kernel, 1);
    opal_param_init();
    return opal_copy_register();
}

START_TEST(by_default_it_is_measured)
{
    ck_assert_int_eq(start(NULL), OPAL_SUCCESS);
    ck_assert(opal_copy_choice()->measured);
    ck_assert_uint_eq(unit_findings(), 0);
}
END_TEST

/* One that this CPU cannot run is told of and not used. */
START_TEST(every_name_of_the_table)
{
    if ((size_t)_i >= opal_copy_kernel_count)
        return;
    const opal_copy_kernel_t *kernel = &opal_copy_kernels[_i];
    ck_assert_int_eq(start(kernel->name), OPAL_SUCCESS);
    if (kernel->usable()) {
        ck_assert_str_eq(opal_copy_choice()->kernel->name, kernel->name);
        ck_assert(!opal_copy_choice()->measured);
        ck_assert_uint_eq(unit_findings(), 0);
    } else {
        unit_finding(0, OPAL_WARNING, "is not for this CPU");
        ck_assert(opal_copy_choice()->measured);
        ck_assert(opal_copy_choice()->kernel->usable());
    }
}
END_TEST

START_TEST(a_name_that_is_not_there)
{
    ck_assert_int_eq(start("lbic"), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "did you mean libc?");
    ck_assert(opal_copy_choice()->measured);
}
END_TEST

START_TEST(once_more)
{
    ck_assert_int_eq(start("libc"), OPAL_SUCCESS);
    opal_copy_withdraw();
    opal_param_fini();
    unsetenv("OMPI_MCA_copy_kernel");
    ck_assert_int_eq(start(NULL), OPAL_SUCCESS);
    ck_assert(opal_copy_choice()->measured);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &by_default_it_is_measured},
    {.test = &every_name_of_the_table, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &a_name_that_is_not_there},
    {.test = &once_more},
};

UNIT_MAIN("copy_setting", tests, setup);
