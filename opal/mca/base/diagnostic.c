/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings about the user's settings: collected, then printed by one rank. */
#include "opal/mca/base/diagnostic.h"

#include <stdarg.h>
#include <stdlib.h>

#include "opal/util/log.h"
#include "opal/util/text.h"

typedef struct finding {
    opal_severity_t severity;
    char *text;
} finding_t;

static finding_t *findings;
static size_t finding_count;
static bool has_error;
static enum { COLLECT, PRINT, HOLD } mode = COLLECT;

static void print_finding(const finding_t *finding)
{
    if (finding->severity == OPAL_ERROR)
        opal_log_error("%s", finding->text);
    else
        opal_log_warning("%s", finding->text);
}

void opal_diagnostic(opal_severity_t severity, const char *format, ...)
{
    has_error = has_error || severity == OPAL_ERROR;
    if (mode == HOLD && severity != OPAL_ERROR)
        return;

    opal_text_t text = {0};
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(&text, format, arguments);
    va_end(arguments);

    finding_t finding = {severity, opal_text_take(&text)};
    if (mode == PRINT) {
        print_finding(&finding);
        free(finding.text);
        return;
    }
    findings = opal_xrealloc(findings, (finding_count + 1) * sizeof *findings);
    findings[finding_count++] = finding;
}

static void forget(void)
{
    for (size_t i = 0; i < finding_count; i++)
        free(findings[i].text);
    free(findings);
    findings = NULL;
    finding_count = 0;
}

void opal_diagnostic_report(bool print)
{
    for (size_t i = 0; print && i < finding_count; i++)
        print_finding(&findings[i]);
    forget();
    mode = print ? PRINT : HOLD;
}

bool opal_diagnostic_has_error(void)
{
    return has_error;
}

const char *opal_diagnostic_peek(size_t index, opal_severity_t *severity)
{
    if (index >= finding_count)
        return NULL;
    if (severity != NULL)
        *severity = findings[index].severity;
    return findings[index].text;
}

void opal_diagnostic_reset(void)
{
    forget();
    has_error = false;
    mode = COLLECT;
}
