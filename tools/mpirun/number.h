/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict parsing of numbers that a user wrote: the whole text must be a number, and in range. */
#ifndef MPIRUN_NUMBER_H
#define MPIRUN_NUMBER_H

#include <stdbool.h>

/* Decimal digits only, in [min, max]. On false `*value` is unchanged. */
bool number_parse_unsigned(const char *text, unsigned min, unsigned max, unsigned *value);

/* Digits with at most one decimal point, above zero and up to max: "90", "0.25". */
bool number_parse_seconds(const char *text, double max, double *value);

#endif
