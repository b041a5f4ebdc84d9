/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that a person wrote: the whole text must be one, and in range. */
#ifndef MPIRUN_NUMBER_H
#define MPIRUN_NUMBER_H

#include <stdbool.h>

/* Decimal digits only, in [min, max]. `*value` is left alone otherwise. */
bool number_parse_unsigned(const char *text, unsigned min, unsigned max, unsigned *value);

/* Digits with at most one decimal point, above zero and up to max: "90", "0.25". */
bool number_parse_seconds(const char *text, double max, double *value);

#endif
