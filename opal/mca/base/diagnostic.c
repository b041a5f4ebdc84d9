/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings about the user's settings: collected, then printed by one rank. */
#include "opal/mca/base/diagnostic.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#include "opal/util/hash.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

typedef struct finding {
    opal_severity_t severity;
    char *text;
} finding_t;

/* What becomes of a finding of each severity. */
typedef enum fate { KEEP, PRINT, DROP } fate_t;

static finding_t *findings;
static size_t finding_count;
static bool has_error;
static fate_t fates[OPAL_ERROR + 1];

static void print_finding(const finding_t *finding)
{
    if (finding->severity == OPAL_ERROR)
        opal_log_error("%s", finding->text);
    else if (finding->severity == OPAL_WARNING)
        opal_log_warning("%s", finding->text);
    else
        opal_log_note("%s", finding->text);
}

void opal_diagnostic(opal_severity_t severity, const char *format, ...)
{
    has_error = has_error || severity == OPAL_ERROR;
    if (fates[severity] == DROP)
        return;

    opal_text_t text = {0};
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(&text, format, arguments);
    va_end(arguments);

    finding_t finding = {severity, opal_text_take(&text)};
    if (fates[severity] == PRINT) {
        print_finding(&finding);
        free(finding.text);
        return;
    }
    findings = opal_xrealloc(findings, (finding_count + 1) * sizeof *findings);
    findings[finding_count++] = finding;
}

/* Prints the findings of these severities, or not, and forgets them. */
static void settle(opal_severity_t most, bool print)
{
    size_t left = 0;
    for (size_t i = 0; i < finding_count; i++) {
        if (findings[i].severity > most) {
            findings[left++] = findings[i];
            continue;
        }
        if (print)
            print_finding(&findings[i]);
        free(findings[i].text);
    }
    finding_count = left;
    if (left == 0) {
        free(findings);
        findings = NULL;
    }
    fates[OPAL_NOTE] = fates[OPAL_WARNING] = print ? PRINT : DROP;
}

void opal_diagnostic_report(bool print)
{
    settle(OPAL_ERROR, print);
    fates[OPAL_ERROR] = print ? PRINT : KEEP;
}

void opal_diagnostic_warn(bool print)
{
    settle(OPAL_WARNING, print);
}

uint64_t opal_diagnostic_digest(void)
{
    uint64_t hash = OPAL_HASH_START;
    for (size_t i = 0; i < finding_count; i++) {
        for (const char *at = findings[i].text; *at != 0; at++)
            hash = isdigit((unsigned char)*at) ? hash : opal_hash_byte(hash, (unsigned char)*at);
    }
    return hash;
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
    settle(OPAL_ERROR, false);
    has_error = false;
    fates[OPAL_NOTE] = fates[OPAL_WARNING] = fates[OPAL_ERROR] = KEEP;
}
