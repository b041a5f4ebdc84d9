/* SPDX-License-Identifier: BSD-3-Clause */
/* The table. See spelling.h. */
#include "tools/mpirun/spelling.h"

#include <string.h>

#include "opal/include/compiler.h"

/* clang-format off */
#define SRUN(...)    [OPAL_LAUNCHER_SRUN] = {__VA_ARGS__}
#define PRTERUN(...) [OPAL_LAUNCHER_PRTERUN] = {__VA_ARGS__}
#define HYDRA(...)   [OPAL_LAUNCHER_HYDRA] = {__VA_ARGS__}
#define WORDS        SPELLING_WORDS
#define VARIABLE     SPELLING_VARIABLE
#define REFUSED      SPELLING_REFUSED
#define DONE         {SRUN(SPELLING_DONE, NULL), PRTERUN(SPELLING_DONE, NULL), HYDRA(SPELLING_DONE, NULL)}
#define BUILT        {SRUN(SPELLING_BUILT, NULL), PRTERUN(SPELLING_BUILT, NULL), HYDRA(SPELLING_BUILT, NULL)}

static const char no_play[] = "it plays nodes on this machine; with --host localhost it can";

static const spelling_row_t rows[] = {
    {"n", NULL, BUILT},
    {"x", NULL, BUILT},
    {"wdir", NULL, BUILT},
    {"app", NULL, BUILT},
    {"mca", NULL, BUILT},
    {"initial-errhandler", NULL, BUILT},
    {"host", NULL, BUILT},
    {"hostfile", NULL, BUILT},

    {"map-by", "slot", {SRUN(WORDS, "--distribution=block"), PRTERUN(WORDS, "--map-by slot"),
        HYDRA(SPELLING_DONE, NULL)}},
    {"map-by", "node", {SRUN(WORDS, "--distribution=cyclic"), PRTERUN(WORDS, "--map-by node"),
        HYDRA(REFUSED, "it goes through the hosts by their slots; name them one by one in --host")}},
    {"map-by", "socket", {SRUN(WORDS, "--distribution=*:cyclic"), PRTERUN(WORDS, "--map-by package"),
        HYDRA(WORDS, "-map-by socket")}},
    {"map-by", "numa", {SRUN(REFUSED, "it deals ranks to nodes, sockets and cores only"),
        PRTERUN(WORDS, "--map-by numa"), HYDRA(WORDS, "-map-by numa")}},
    {"map-by", "core", {SRUN(WORDS, "--distribution=*:block"), PRTERUN(WORDS, "--map-by core"),
        HYDRA(WORDS, "-map-by core")}},
    {"map-by", "hwthread", {SRUN(REFUSED, "it deals ranks to nodes, sockets and cores only"),
        PRTERUN(WORDS, "--map-by hwthread"), HYDRA(WORDS, "-map-by hwthread")}},

    /* To be written before the level: both are values of one option there. */
    {"report-bindings", NULL, {SRUN(WORDS, "--cpu-bind=verbose"), PRTERUN(WORDS, "--display bindings"),
        HYDRA(VARIABLE, "HYDRA_TOPO_DEBUG=1")}},
    {"bind-to", "none", {SRUN(WORDS, "--cpu-bind=none"), PRTERUN(WORDS, "--bind-to none"),
        HYDRA(WORDS, "-bind-to none")}},
    {"bind-to", "core", {SRUN(WORDS, "--cpu-bind=cores"), PRTERUN(WORDS, "--bind-to core"),
        HYDRA(WORDS, "-bind-to core")}},
    {"bind-to", "socket", {SRUN(WORDS, "--cpu-bind=sockets"), PRTERUN(WORDS, "--bind-to package"),
        HYDRA(WORDS, "-bind-to socket")}},
    {"bind-to", "numa", {SRUN(WORDS, "--cpu-bind=ldoms"), PRTERUN(WORDS, "--bind-to numa"),
        HYDRA(WORDS, "-bind-to numa")}},
    {"bind-to", "hwthread", {SRUN(WORDS, "--cpu-bind=threads"), PRTERUN(WORDS, "--bind-to hwthread"),
        HYDRA(WORDS, "-bind-to hwthread")}},

    {"display-map", NULL, {SRUN(REFUSED, "it shows no map; srun --label hostname shows who is where"),
        PRTERUN(WORDS, "--display map"),
        HYDRA(REFUSED, "it shows no map; --tag-output with hostname shows who is where")}},
    {"oversubscribe", NULL, {SRUN(WORDS, "--overcommit"), PRTERUN(WORDS, "--map-by :OVERSUBSCRIBE"),
        HYDRA(SPELLING_DONE, NULL)}},
    {"no-oversubscribe", NULL, {SRUN(SPELLING_DONE, NULL), PRTERUN(WORDS, "--map-by :NOOVERSUBSCRIBE"),
        HYDRA(REFUSED, "it starts what it is told, however few cores and slots there are")}},
    {"fake-nodes", NULL, {SRUN(REFUSED, no_play), PRTERUN(REFUSED, no_play), HYDRA(REFUSED, no_play)}},

    {"stdin", "none", {SRUN(WORDS, "--input=none"), PRTERUN(WORDS, "--stdin none"),
        HYDRA(SPELLING_NO_INPUT, NULL)}},
    {"stdin", "0", {SRUN(WORDS, "--input=0"), PRTERUN(WORDS, "--stdin 0"), HYDRA(SPELLING_DONE, NULL)}},
    {"stdin", NULL, {SRUN(WORDS, "--input=%s"), PRTERUN(WORDS, "--stdin %s"),
        HYDRA(REFUSED, "rank 0 reads standard input there, or none does")}},
    {"tag-output", NULL, {SRUN(WORDS, "--label"), PRTERUN(WORDS, "--output tag"),
        HYDRA(WORDS, "-prepend-rank")}},
    {"timestamp-output", NULL, {SRUN(REFUSED, "it cannot write the time before lines"),
        PRTERUN(WORDS, "--output timestamp"), HYDRA(REFUSED, "it cannot write the time before lines")}},
    {"output-filename", NULL, {
        SRUN(REFUSED, "it makes no directories; with the environment variables SLURM_STDOUTMODE=FILE.%t and "
                      "SLURM_STDERRMODE=FILE.%t it writes files"),
        PRTERUN(WORDS, "--output dir=%s:nojobid"),
        HYDRA(REFUSED, "it makes no directories; mpiexec.hydra -outfile-pattern writes files")}},
    {"timeout", NULL, {SRUN(REFUSED, "it counts minutes; SLURM_TIMELIMIT=MINUTES in the environment sets a limit"),
        PRTERUN(WORDS, "--timeout %u"), HYDRA(VARIABLE, "MPIEXEC_TIMEOUT=%u")}},

    {"quiet", NULL, {SRUN(WORDS, "--quiet"), PRTERUN(SPELLING_DONE, NULL), HYDRA(SPELLING_DONE, NULL)}},
    {"verbose", NULL, DONE}, /* mpirun prints the command */
    {"show", NULL, DONE},
    {"version", NULL, DONE},
    {"help", NULL, DONE},
};
/* clang-format on */

const spelling_row_t *spelling_row(size_t index)
{
    return index < OPAL_COUNT_OF(rows) ? &rows[index] : NULL;
}

const spelling_row_t *spelling_find(const char *option, const char *value)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        if (strcmp(rows[i].option, option) != 0)
            continue;
        if (rows[i].value == NULL || (value != NULL && strcmp(rows[i].value, value) == 0))
            return &rows[i];
    }
    return NULL;
}
