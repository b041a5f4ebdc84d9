/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices of the row are the names of the table of kernels, numbered by their index. */
#include "opal/runtime/copy_setting.h"

#include "opal/arch/copy_kernel.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param.h"

enum { AUTO = -1 };

static int wanted;
static opal_param_choice_t choices[OPAL_COPY_KERNELS_MAX + 2]; /* and auto, and the end */

static const opal_param_row_t params[] = {
    {.name = "kernel",
     .type = OPAL_PARAM_ENUM,
     .value = &wanted,
     .preset = "auto",
     .choices = choices,
     .prose = "The kernel that copies blocks of more than 256 bytes; auto: a process measures "
              "all kernels at its first such copy, and uses the fastest"},
    {0},
};

opal_status_t opal_copy_register(void)
{
    choices[0] = (opal_param_choice_t){"auto", AUTO};
    for (size_t i = 0; i < opal_copy_kernel_count; i++)
        choices[i + 1] = (opal_param_choice_t){opal_copy_kernels[i].name, (int)i};

    opal_status_t status = opal_param_register("copy", "", params);
    const opal_copy_kernel_t *kernel = wanted == AUTO ? NULL : &opal_copy_kernels[wanted];
    if (kernel != NULL && !kernel->usable()) {
        opal_diagnostic(OPAL_WARNING,
                        "copy_kernel = %s is not for this CPU; the fastest of the others is used "
                        "(ompi_info --copy shows them)",
                        kernel->name);
        kernel = NULL;
    }
    opal_copy_choose(kernel);
    return status;
}

void opal_copy_withdraw(void)
{
    opal_param_withdraw(params);
}
