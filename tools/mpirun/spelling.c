/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of spellings. See spelling.h. */
#include "tools/mpirun/spelling.h"

#include <string.h>

#include "opal/include/compiler.h"

/* clang-format off */
#define SRUN(...)    [OPAL_LAUNCHER_SRUN] = {__VA_ARGS__}
#define PRTERUN(...) [OPAL_LAUNCHER_PRTERUN] = {__VA_ARGS__}
#define HERE(...)    [OPAL_LAUNCHER_SELF] = {__VA_ARGS__}
#define HYDRA(...)   [OPAL_LAUNCHER_HYDRA] = {__VA_ARGS__}
#define WORDS        SPELLING_WORDS
#define VARIABLE     SPELLING_VARIABLE
#define REFUSED      SPELLING_REFUSED
#define DONE         {SRUN(SPELLING_DONE, NULL), PRTERUN(SPELLING_DONE, NULL), HYDRA(SPELLING_DONE, NULL)}
#define BUILT        {SRUN(SPELLING_BUILT, NULL), PRTERUN(SPELLING_BUILT, NULL), HYDRA(SPELLING_BUILT, NULL)}

static const char no_panes[] = "ranks on other hosts have no terminal here; attach to them there: gdb -p PID";
static const char no_play[] = "it plays nodes on this machine; with --host localhost it can";

static const spelling_row_t rows[] = {
    {"n", NULL, BUILT},
    {"x", NULL, BUILT},
    {"wdir", NULL, BUILT},
    {"app", NULL, BUILT},
    {"mca", NULL, BUILT},
    {"wrap", NULL, BUILT},
    {"debug", NULL, {SRUN(REFUSED, no_panes), PRTERUN(REFUSED, no_panes), HYDRA(REFUSED, no_panes)}},
    {"debugger", NULL, {SRUN(REFUSED, no_panes), PRTERUN(REFUSED, no_panes), HYDRA(REFUSED, no_panes)}},
    {"initial-errhandler", NULL, BUILT},
    {"memory-alloc-kinds", NULL, BUILT},
    {"explain", NULL, BUILT},
    {"profile", NULL, BUILT},
    {"trace", NULL, BUILT},
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

    {"ppr", NULL, {SRUN(REFUSED, "it deals ranks to nodes only; --npernode COUNT says how many"),
        PRTERUN(WORDS, "--map-by ppr:%s"),
        HYDRA(REFUSED, "it deals ranks to nodes only; --npernode COUNT says how many")}},
    {"npernode", NULL, {SRUN(WORDS, "--ntasks-per-node=%s"), PRTERUN(WORDS, "--map-by ppr:%s:node"),
        HYDRA(WORDS, "-ppn %s")}},
    {"cpus-per-rank", NULL, {SRUN(WORDS, "--cpus-per-task=%s"), PRTERUN(WORDS, "--map-by :PE=%s"),
        HYDRA(SPELLING_BUILT, NULL)}},
    {"use-hwthread-cpus", NULL, {SRUN(WORDS, "--hint=multithread"), PRTERUN(WORDS, "--map-by :HWTCPUS"),
        HYDRA(SPELLING_DONE, NULL)}},
    {"rank-by", NULL, {SRUN(REFUSED, "it numbers ranks as --map-by deals them"), PRTERUN(WORDS, "--rank-by %s"),
        HYDRA(REFUSED, "it numbers ranks as --map-by deals them")}},
    {"rankfile", NULL, {SRUN(REFUSED, "srun --cpu-bind=map_cpu:LIST pins ranks one by one"),
        PRTERUN(WORDS, "--map-by rankfile:file=%s"),
        HYDRA(REFUSED, "mpiexec.hydra -bind-to user:LIST pins ranks one by one")}},

    /* Before --bind-to: srun has one option for both, and the level comes last. */
    {"report-bindings", NULL, {SRUN(WORDS, "--cpu-bind=verbose"), PRTERUN(WORDS, "--display bindings"),
        HYDRA(VARIABLE, "HYDRA_TOPO_DEBUG=1")}},
    {"bind-to", "none", {SRUN(WORDS, "--cpu-bind=none"), PRTERUN(WORDS, "--bind-to none"),
        HYDRA(SPELLING_BUILT, NULL)}},
    {"bind-to", "core", {SRUN(WORDS, "--cpu-bind=cores"), PRTERUN(WORDS, "--bind-to core"),
        HYDRA(SPELLING_BUILT, NULL)}},
    {"bind-to", "socket", {SRUN(WORDS, "--cpu-bind=sockets"), PRTERUN(WORDS, "--bind-to package"),
        HYDRA(SPELLING_BUILT, NULL)}},
    {"bind-to", "numa", {SRUN(WORDS, "--cpu-bind=ldoms"), PRTERUN(WORDS, "--bind-to numa"),
        HYDRA(SPELLING_BUILT, NULL)}},
    {"bind-to", "hwthread", {SRUN(WORDS, "--cpu-bind=threads"), PRTERUN(WORDS, "--bind-to hwthread"),
        HYDRA(SPELLING_BUILT, NULL)}},

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
    {"prepend-rank", NULL, {SRUN(WORDS, "--label"), PRTERUN(WORDS, "--output rank"),
        HYDRA(WORDS, "-prepend-rank")}},
    {"timestamp-output", NULL, {SRUN(REFUSED, "it cannot write the time before lines"),
        PRTERUN(WORDS, "--output timestamp"), HYDRA(REFUSED, "it cannot write the time before lines")}},
    {"output-filename", NULL, {
        SRUN(REFUSED, "it makes no directories; with the environment variables SLURM_STDOUTMODE=FILE.%t and "
                      "SLURM_STDERRMODE=FILE.%t it writes files"),
        PRTERUN(WORDS, "--output dir=%s:nojobid"),
        HYDRA(REFUSED, "it makes no directories; mpiexec.hydra -outfile-pattern writes files")}},
    {"ask", NULL, DONE},
    {"report-hang", NULL, DONE}, /* a parameter, which rank 0 reads, too */
    {"timeout", NULL, {SRUN(REFUSED, "it counts minutes; SLURM_TIMELIMIT=MINUTES in the environment sets a limit"),
        PRTERUN(WORDS, "--timeout %u"), HYDRA(VARIABLE, "MPIEXEC_TIMEOUT=%u")}},

    {"launcher", NULL, {SRUN(REFUSED, "it has daemons on its nodes"),
        PRTERUN(REFUSED, "--launcher-exec FILE names what reaches a host"), HYDRA(WORDS, "-launcher %s")}},
    {"disable-auto-cleanup", NULL, {HERE(REFUSED, "a rank that fails ends the job, and there is no other way yet"),
        SRUN(REFUSED, "SLURM_KILL_BAD_EXIT=0 in the environment does that"),
        PRTERUN(WORDS, "--runtime-options recoverable"), HYDRA(WORDS, "-disable-auto-cleanup")}},

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
