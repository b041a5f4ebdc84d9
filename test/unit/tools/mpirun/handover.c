/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/handover.c: what a command line becomes for each launcher. */
#include "tools/mpirun/handover.h"

#include "test/unit/opal/support.h"
#include "tools/mpirun/options.h"

static job_t job;

static void parse(const char *line)
{
    opal_strings_t words = {0};
    opal_strings_add(&words, "mpirun");
    opal_strings_split(&words, line, " ");
    job = (job_t){.host = "node7", .options.slurm_mpi = opal_xstrdup("pmix")};
    ck_assert(options_parse(&job, (int)words.count, words.items));
    opal_strings_free(&words);
}

#define S OPAL_LAUNCHER_SRUN
#define P OPAL_LAUNCHER_PRTERUN
#define H OPAL_LAUNCHER_HYDRA

#define L_SRUN "L --export=ALL --mpi=pmix --kill-on-bad-exit=1 "

/* The job, which is over then, for that launcher. */
static void becomes(opal_launcher_t launcher, const char *wanted)
{
    handover_t handover;
    ck_assert(handover_translate(&job, launcher, "L", &handover));
    char *text = handover_text(&handover);
    ck_assert_str_eq(text, wanted);
    free(text);
    handover_free(&handover);
    job_free(&job);
}

START_TEST(handover_translates)
{
    static const struct {
        opal_launcher_t launcher;
        const char *line, *text;
    } cases[] = {
        /* clang-format off */
        {S, "a b", L_SRUN "--input=0 a b"},
        {S, "-n 4 a", L_SRUN "--input=0 --ntasks=4 a"},
        {S, "--mca x y --initial-errhandler mpi_errors_return -n 4 -x E=1 --wdir /tmp a",
            "OMPI_MCA_x=y OMPI_MCA_mpi_initial_errhandler=mpi_errors_return E=1 " L_SRUN
            "--input=0 --ntasks=4 --chdir=/tmp a"},
        {S, "--host n1,n2 a", L_SRUN "--input=0 --nodelist=n1,n2 a"},
        {S, "--host n1:2,n2:2 a",
            L_SRUN "--input=0 --ntasks-per-node=2 --nodelist=n1,n2 a"},
        {S, "--host n1:4,n2:4 -N 2 a",
            L_SRUN "--input=0 --ntasks-per-node=2 --nodelist=n1,n2 --ntasks=4 a"},
        {S, "--host n1:4,n2 -N 2 -n 3 a",
            L_SRUN "--input=0 --ntasks-per-node=2 --nodelist=n1,n2 --ntasks=3 a"},
        {S, "--bind-to core --report-bindings --map-by node --oversubscribe -q -v --show a",
            L_SRUN "--input=0 --distribution=cyclic --cpu-bind=verbose,cores --overcommit --quiet a"},
        {S, "--no-oversubscribe --tag-output --stdin all a",
            L_SRUN "--input=all --label a"},
        {S, "--stdin none a", L_SRUN "--input=none a"},
        {S, "-n 2 a b : -x E=1 --wdir /d -n 1 c",
            L_SRUN "--input=0 --ntasks=3 --multi-prog /dev/fd/9 9<<'END'\n"
            "0-1 a b\n2 env -C /d E=1 c\nEND"},
        {S, "a : c", L_SRUN "--input=0 --ntasks=2 --multi-prog /dev/fd/9 9<<'END'\n"
            "0 a\n1 c\nEND"},

        {S, "--wrap tool -n 2 a b", L_SRUN "--input=0 --ntasks=2 tool a b"},
        {S, "--wrap tool a : c", L_SRUN "--input=0 --ntasks=2 --multi-prog /dev/fd/9 9<<'END'\n"
            "0 tool a\n1 tool c\nEND"},

        {P, "-n 4 a", "L -n 4 a"},
        {P, "--wrap tool --wrap other -n 4 a", "L -n 4 tool other a"},
        {P, "--host n1:2,n2 a", "L --host n1:2,n2 a"},
        {P, "--mca x y --wdir /d -x E=1 -n 1 a : -n 2 b",
            "OMPI_MCA_x=y L -n 1 --wdir /d -x E=1 a : -n 2 b"},
        {P, "--bind-to socket --report-bindings --display-map --map-by numa --oversubscribe a",
            "L --map-by numa:OVERSUBSCRIBE --display bindings,map --bind-to package a"},
        {P, "--no-oversubscribe --tag-output --timestamp-output --output-filename d --timeout 1.5 --stdin 3 a",
            "L --map-by :NOOVERSUBSCRIBE --stdin 3 --output tag,timestamp,dir=d:nojobid --timeout 2 a"},

        {H, "-n 4 a", "L -genvall -n 4 a"},
        {H, "--host n1:2,n2 a", "L -genvall -hosts n1:2,n2 -n 3 a"},
        {H, "--mca x y --wdir /d -x E=1=2 -n 1 a : -n 2 b",
            "OMPI_MCA_x=y L -genvall -n 1 -wdir /d -env E 1=2 a : -n 2 b"},
        {H, "--bind-to core --map-by socket --report-bindings --oversubscribe --tag-output --timeout 3 "
            "--stdin none -n 1 a", "HYDRA_TOPO_DEBUG=1 MPIEXEC_TIMEOUT=3 L -genvall -map-by socket "
            "-prepend-rank -bind-to core -n 1 a </dev/null"},
        {H, "-bind-to core:2 -n 1 a", "L -genvall -bind-to core:2 -n 1 a"},
        {H, "-bind-to hwthread:2 -n 1 a", "L -genvall -bind-to hwthread:2 -n 1 a"},
        {H, "--map-by :PE=3 --use-hwthread-cpus -n 1 a", "L -genvall -bind-to hwthread:3 -n 1 a"},
        {H, "--map-by socket:PE=3 -n 1 a", "L -genvall -map-by socket -bind-to core:3 -n 1 a"},
        {H, "--bind-to none -n 1 a", "L -genvall -bind-to none -n 1 a"},
        {H, "--map-by slot --stdin 0 -n 2 a", "L -genvall -n 2 a"},
        {H, "-n 1 a b'c $x ", "L -genvall -n 1 a 'b'\\''c' '$x'"},
        /* clang-format on */
    };
    parse(cases[_i].line);
    becomes(cases[_i].launcher, cases[_i].text);
}
END_TEST

START_TEST(handover_refuses_by_name)
{
    static const struct {
        opal_launcher_t launcher;
        const char *line, *complaint;
    } cases[] = {
        {S, "-timeout 3 a", "-timeout cannot be handed over to srun: it counts minutes"},
        {S, "--output-filename d a", "--output-filename cannot"},
        {S, "--timestamp-output a", "--timestamp-output cannot"},
        {S, "--map-by numa a", "--map-by cannot"},
        {S, "--display-map a", "--display-map cannot"},
        {S, "--fake-nodes 2 a", "--fake-nodes cannot be handed over to srun: it plays"},
        {S, "--host n1:2,n2 a", "slots cannot"},
        {S, "a : b 100%", "100% cannot be handed over to srun: with several programs"},
        {P, "--fake-nodes 2 a", "--fake-nodes cannot be handed over to prterun"},
        {H, "--map-by :PE=2 --bind-to socket -n 1 a",
         "--map-by cannot be handed over to mpiexec.hydra: several cores"},
        {H, "--fake-nodes 2 -n 1 a", "--fake-nodes cannot be handed over to mpiexec.hydra"},
        {H, "--stdin 1 -n 2 a", "--stdin cannot"},
        {H, "--map-by node -n 2 a", "--map-by cannot"},
        {H, "--no-oversubscribe -n 2 a", "--no-oversubscribe cannot"},
        {H, "--display-map -n 2 a", "--display-map cannot"},
        {H, "--timestamp-output -n 2 a", "--timestamp-output cannot"},
        {H, "--output-filename d -n 2 a", "--output-filename cannot"},
        {H, "a", "a job without -n cannot"},
        {H, "--wrap 0:tool -n 2 a", "--wrap with RANKS cannot be handed over to mpiexec.hydra"},
        {S, "--debug a", "--debug cannot be handed over to srun: ranks on other hosts have no"},
        {H, "--host [2001:db8::1]:2 -n 2 a", "2001:db8::1 cannot"},
    };
    handover_t handover;
    parse(cases[_i].line);
    unit_capture();
    ck_assert(!handover_translate(&job, cases[_i].launcher, "L", &handover));
    unit_assert_part(unit_stderr(), cases[_i].complaint);
    ck_assert_uint_eq(handover.words.count, 0);
    job_free(&job);
}
END_TEST

START_TEST(handover_names_every_refused_option)
{
    handover_t handover;
    setenv("MPIEXEC_TIMEOUT", "9", 1);
    parse("--timestamp-output --display-map a");
    unit_capture();
    ck_assert(!handover_translate(&job, S, "L", &handover));
    const char *said = unit_stderr();
    unit_assert_part(said, "--timestamp-output cannot");
    unit_assert_part(said, "--display-map cannot");
    unit_assert_part(said, "MPIEXEC_TIMEOUT cannot");
    job_free(&job);
}
END_TEST

/* prterun hands on what it is told to, so it is told of each parameter, for each program. */
START_TEST(handover_tells_prterun_of_parameters)
{
    setenv("OMPI_MCA_btl", "self,sock", 1);
    parse("-n 1 a : -n 1 b");
    becomes(P, "L -n 1 -x OMPI_MCA_btl=self,sock a : -n 1 -x OMPI_MCA_btl=self,sock b");
}
END_TEST

/* The ranks cannot know of mpirun's terminal. */
START_TEST(handover_tells_when_a_hang_is_reported)
{
    static const struct {
        opal_launcher_t launcher;
        const char *text;
    } cases[] = {
        {H, "OMPI_MCA_mpirun_report_hang=60 L -genvall -n 1 a"},
        {P, "OMPI_MCA_mpirun_report_hang=60 L -n 1 -x OMPI_MCA_mpirun_report_hang=60 a"},
        {S, "OMPI_MCA_mpirun_report_hang=60 " L_SRUN "--input=0 --ntasks=1 a"},
    };
    parse("-n 1 a");
    job.options.report_hang = 60;
    becomes(cases[_i].launcher, cases[_i].text);
}
END_TEST

START_TEST(handover_names_the_agent)
{
    static const struct {
        opal_launcher_t launcher;
        const char *text;
    } cases[] = {
        {H,
         "'HYDRA_LAUNCHER_EXTRA_ARGS=-o X' L -genvall -launcher ssh -launcher-exec /k.sh -n 1 a"},
        {P, "L --prtemca plm_ssh_agent /k.sh --prtemca plm_ssh_args '-o X' -n 1 a"},
        {S, L_SRUN "--input=0 --ntasks=1 a"},
    };
    parse("-n 1 a");
    job.options.rsh_agent = opal_xstrdup("/k.sh");
    job.options.rsh_args = opal_xstrdup("-o X");
    becomes(cases[_i].launcher, cases[_i].text);
}
END_TEST

START_TEST(handover_leaves_what_is_set_for_srun)
{
    static const struct {
        const char *name, *value, *text;
    } cases[] = {
        {"SLURM_MPI_TYPE", "pmi2", "L --export=ALL --kill-on-bad-exit=1 --input=0 --ntasks=1 a"},
        {"SLURM_KILL_BAD_EXIT", "0", "L --export=ALL --mpi=pmix --input=0 --ntasks=1 a"},
    };
    setenv(cases[_i].name, cases[_i].value, 1);
    parse("-n 1 a");
    becomes(S, cases[_i].text);
}
END_TEST

/* Only what a test sets. */
static void clean_environment(void)
{
    unsetenv("MPIEXEC_TIMEOUT");
    unsetenv("SLURM_MPI_TYPE");
    unsetenv("SLURM_KILL_BAD_EXIT");
    for (char **setting = environ; *setting != NULL;) {
        char *name = opal_xstrndup(*setting, strcspn(*setting, "="));
        bool is_param = strncmp(name, "OMPI_MCA_", 9) == 0 || strncmp(name, "MICA_MCA_", 9) == 0;
        if (is_param)
            unsetenv(name);
        setting += !is_param;
        free(name);
    }
}

static const unit_test_t tests[] = {
    {.test = &handover_translates, .repeats = 28},
    {.test = &handover_refuses_by_name, .repeats = 19},
    {.test = &handover_names_every_refused_option},
    {.test = &handover_tells_prterun_of_parameters},
    {.test = &handover_tells_when_a_hang_is_reported, .repeats = 3},
    {.test = &handover_names_the_agent, .repeats = 3},
    {.test = &handover_leaves_what_is_set_for_srun, .repeats = 2},
};

UNIT_MAIN("handover", tests, clean_environment);
