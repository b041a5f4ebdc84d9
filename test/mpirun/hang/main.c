/* SPDX-License-Identifier: BSD-3-Clause */
/* hang CASE [SECONDS]: runs a case. See hang.h. */
#include "hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int rank, size;
char large[LARGE_BYTES];
double patience;

void sleep_for_ever(void)
{
    for (;;)
        pause();
}

void sleep_seconds(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        continue;
}

void compute_seconds(double seconds)
{
    static volatile double sum;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
        for (int i = 0; i < 1000; i++)
            sum += 1.0 / (i + 1);
    }
}

static const hang_case_t *find(const char *name)
{
    static const hang_case_t *const tables[] = {message_cases, request_cases, collective_cases,
                                                window_cases,  rank_cases,    patient_cases};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const hang_case_t *at = tables[i]; at->name != NULL; at++) {
            if (strcmp(at->name, name) == 0)
                return at;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const hang_case_t *own = argc > 1 ? find(argv[1]) : NULL;
    int level;
    if (own == NULL) {
        fprintf(stderr, "hang: there is no case %s\n", argc > 1 ? argv[1] : "given");
        return 2;
    }
    patience = argc > 2 ? atof(argv[2]) : 0;
    MPI_Init_thread(&argc, &argv, own->threads, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own->run();
    int finalized;
    MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
    return 0;
}
