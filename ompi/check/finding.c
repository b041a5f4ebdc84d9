/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping the last finding until its error is reported. */
#include "ompi/check/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "ompi/request/request.h"

ompi_check_finding_t ompi_check_finding;

static void set_about(ompi_object_t *about)
{
    ompi_object_t *before = ompi_check_finding.about;
    if (about != NULL)
        ompi_object_retain(about);
    ompi_check_finding.about = about;
    if (before != NULL)
        ompi_object_release(before);
}

int ompi_check_find_text(int error)
{
    ompi_check_finding.error = error;
    set_about(NULL);
    return error;
}

int ompi_check_find(int error, ompi_object_t *about, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ompi_check_finding.text, sizeof ompi_check_finding.text, format, arguments);
    va_end(arguments);
    ompi_check_finding.error = error;
    set_about(about);
    return error;
}

const char *ompi_check_take_text(int error, ompi_object_t **about)
{
    ompi_check_finding_t *finding = &ompi_check_finding;
    if (error == MPI_SUCCESS || finding->error == MPI_SUCCESS ||
        (error != finding->error && error != MPI_ERR_IN_STATUS))
        return NULL;
    ompi_lock();
    if (*about == NULL) {
        *about = finding->about;
        finding->about = NULL;
    }
    ompi_check_find_text(MPI_SUCCESS);
    ompi_unlock();
    return finding->text;
}
