/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict parsing of numbers. See number.h. */
#include "tools/mpirun/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool number_parse_unsigned(const char *text, unsigned min, unsigned max, unsigned *value)
{
    if (text[0] == 0 || text[strspn(text, "0123456789")] != 0)
        return false;
    errno = 0;
    unsigned long number = strtoul(text, NULL, 10);
    if (errno != 0 || number < min || number > max)
        return false;
    *value = (unsigned)number;
    return true;
}

bool number_parse_seconds(const char *text, double max, double *value)
{
    size_t whole = strspn(text, "0123456789");
    size_t point = text[whole] == '.' ? 1 : 0;
    size_t part = strspn(text + whole + point, "0123456789");
    if (whole + part == 0 || text[whole + point + part] != 0)
        return false;
    double number = strtod(text, NULL);
    if (!(number > 0 && number <= max))
        return false;
    *value = number;
    return true;
}
