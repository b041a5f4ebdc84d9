/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TAP for MPI programs. Every rank checks; rank 0 prints. A check that fails on another rank is
 * told on stderr and by that rank's exit status, which becomes the job's.
 *
 *   int main(int argc, char **argv)
 *   {
 *       tap_check(x == 1, "x is %d", 1);
 *       tap_rank(rank);              as soon as it is known; until then nothing is printed
 *       return tap_finish();
 *   }
 *
 * One thread at a time.
 */
#ifndef TEST_MPI_TAP_H
#define TEST_MPI_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum { TAP_KEPT = 64, TAP_LINE = 256 };

static int tap_count, tap_failed, tap_known_rank = -1;
static char tap_kept[TAP_KEPT][TAP_LINE];
static bool tap_kept_passed[TAP_KEPT];

static inline void tap_print(int number, bool passed, const char *text)
{
    if (tap_known_rank == 0)
        printf("%sok %d - %s\n", passed ? "" : "not ", number, text);
    else if (!passed)
        fprintf(stderr, "rank %d: not ok %d - %s\n", tap_known_rank, number, text);
    fflush(stdout);
}

/* Returns whether the check passed. */
__attribute__((format(printf, 2, 3))) static inline bool tap_check(bool passed, const char *format,
                                                                   ...)
{
    char text[TAP_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!passed)
        tap_failed++;
    if (tap_known_rank < 0 && tap_count < TAP_KEPT) {
        snprintf(tap_kept[tap_count], TAP_LINE, "%s", text);
        tap_kept_passed[tap_count] = passed;
    } else {
        tap_print(tap_count + 1, passed, text);
    }
    tap_count++;
    return passed;
}

/* Malloc is a sanitizer's: nobody sees what it gives back, and it needs far more than is asked. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TAP_HAS_SANITIZER = 1 };
#else
enum { TAP_HAS_SANITIZER = 0 };
#endif

/* A function that waits for another rank's store into a window: by the rules of the language that
 * is a race with the thread that carries the store out. */
#define TAP_READS_WINDOW __attribute__((no_sanitize("thread")))

/* A check that cannot be made here, for a reason. */
__attribute__((format(printf, 2, 3))) static inline void tap_skip(const char *text,
                                                                  const char *format, ...)
{
    char reason[TAP_LINE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    tap_check(true, "%s # SKIP %s", text, reason);
}

/* Tells who this is, and prints what was checked until now. */
static inline void tap_rank(int rank)
{
    tap_known_rank = rank;
    for (int i = 0; i < tap_count && i < TAP_KEPT; i++)
        tap_print(i + 1, tap_kept_passed[i], tap_kept[i]);
}

/* The plan, and main's result. */
static inline int tap_finish(void)
{
    if (tap_known_rank <= 0)
        printf("1..%d\n", tap_count);
    return tap_failed > 0;
}

#endif
