/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/origin.c: whose process this is, where several launchers have left a word. */
#include "opal/mca/pmi/base/base.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "test/unit/opal/support.h"

enum { OPEN_FD = 77, CLOSED_FD = 78 };

static void setup(void)
{
    static const char *const names[] = {
        "PMI_FD",
        "PMI_RANK",
        "PMI_SIZE",
        "MICA_JOBID",
        "MICA_REPORTER",
        "PMIX_NAMESPACE",
        "PMIX_RANK",
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_STEP_NUM_TASKS",
        "OMPI_MCA_orte_launch",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MPI_LOCALNRANKS",
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(dup2(ends[0], OPEN_FD), OPEN_FD);
    close(CLOSED_FD);
}

#define SLURM_TASK  "SLURM_JOB_ID=3 SLURM_STEP_ID=1 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 "
#define SLURM_BATCH "SLURM_JOB_ID=3 SLURM_PROCID=0 SLURM_NTASKS=4 "

static const struct {
    const char *environment; /* "ME" is the pid of this process */
    const char *why;
    opal_pmi_origin_t origin;
    bool reporter;
} cases[] = {
    {"", "neither PMI_FD nor PMIX_NAMESPACE is set", OPAL_PMI_ALONE, true},
    {"PMI_FD=77 PMI_RANK=1 MICA_JOBID=5 MICA_SUPERVISOR=ME", "PMI_FD is 77, a connection to mpirun",
     OPAL_PMI_MPIRUN, false},
    {"PMI_FD=77 PMI_RANK=0", "that speaks PMI-1", OPAL_PMI_SOCKET, true},
    {"PMIX_NAMESPACE=job PMIX_RANK=1", "PMIX_NAMESPACE is job (rank 1)", OPAL_PMI_PMIX, false},
    {"PMI_FD=78 PMI_RANK=1", "PMI_FD is 78, which is no open connection", OPAL_PMI_LOST, false},
    {"PMI_FD=x", "neither", OPAL_PMI_ALONE, true},
    {"PMIX_NAMESPACE=job", "neither", OPAL_PMI_ALONE, true},
    {"PMIX_NAMESPACE=job PMIX_RANK=-1", "neither", OPAL_PMI_ALONE, true},
    {"PMIX_NAMESPACE= PMIX_RANK=1", "neither", OPAL_PMI_ALONE, false},

    /* srun, and what runs in its jobs. */
    {SLURM_TASK, "SLURM_PROCID is 2 of 4 tasks, but neither PMI_FD nor", OPAL_PMI_SLURM, false},
    {SLURM_TASK "PMIX_NAMESPACE=slurm.pmix.3.1 PMIX_RANK=2", "slurm.pmix.3.1", OPAL_PMI_PMIX,
     false},
    {SLURM_TASK "PMI_FD=77 PMI_RANK=2", "PMI-1", OPAL_PMI_SOCKET, false},
    {SLURM_BATCH, "neither", OPAL_PMI_ALONE, true},
    {SLURM_BATCH "PMI_FD=77 PMI_RANK=3 MICA_JOBID=5 MICA_SUPERVISOR=ME", "mpirun", OPAL_PMI_MPIRUN,
     false},
    {SLURM_BATCH "PMI_FD=77 PMI_RANK=3", "PMI-1", OPAL_PMI_SOCKET, false},
    {SLURM_BATCH "PMIX_NAMESPACE=1234.1 PMIX_RANK=3", "1234.1", OPAL_PMI_PMIX, false},
    {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", "neither", OPAL_PMI_ALONE, true},
    /* A step without PMIx out of one with it. */
    {SLURM_TASK "PMIX_NAMESPACE=slurm.pmix.3.0 PMIX_RANK=0",
     "nor PMIX_NAMESPACE of this step is set", OPAL_PMI_SLURM, false},

    /* One inside the other: the descriptor has not come through the inner one. */
    {"PMI_FD=77 PMI_RANK=1 MICA_JOBID=5 MICA_SUPERVISOR=ME PMIX_NAMESPACE=job PMIX_RANK=0",
     "a connection to mpirun; PMIX_NAMESPACE is left over", OPAL_PMI_MPIRUN, false},
    {"PMI_FD=77 PMI_RANK=0 MICA_JOBID=5 MICA_SUPERVISOR=1", "speaks PMI-1", OPAL_PMI_SOCKET, true},
    {"PMI_FD=78 PMI_RANK=0 MICA_JOBID=5 MICA_SUPERVISOR=ME MICA_REPORTER=1 PMIX_NAMESPACE=job PMIX_RANK=1",
     "PMIX_NAMESPACE is job", OPAL_PMI_PMIX, false},
    {SLURM_TASK "PMI_FD=78 PMI_RANK=0", "no open connection", OPAL_PMI_LOST, true},
};

static void set_environment(const char *text)
{
    char *copy = strdup(text), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char value[64], *equals = strchr(word, '=');
        *equals = 0;
        snprintf(value, sizeof value, "%s", equals + 1);
        if (strcmp(value, "ME") == 0)
            snprintf(value, sizeof value, "%d", (int)getpid());
        setenv(word, value, 1);
    }
    free(copy);
}

START_TEST(who_it_was)
{
    char why[OPAL_REASON_MAX_BYTES];
    set_environment(cases[_i].environment);
    ck_assert_int_eq(opal_pmi_origin(why), cases[_i].origin);
    ck_assert_int_eq(opal_pmi_origin(NULL), cases[_i].origin);
    unit_assert_part(why, cases[_i].why);
    ck_assert_int_eq(opal_pmi_is_reporter(), cases[_i].reporter);
}
END_TEST

static const struct {
    const char *environment, *name; /* NULL: it has none */
} names[] = {
    {"", NULL},
    {"PMI_FD=78 PMI_RANK=1", NULL},
    {"PMI_FD=77 PMI_RANK=1", "PARENT"},
    {"PMI_FD=77 PMI_RANK=1 MICA_JOBID=5 MICA_SUPERVISOR=ME", "5"},
    {"PMIX_NAMESPACE=job PMIX_RANK=1", "job"},
    {"PMIX_NAMESPACE=a-long-one PMIX_RANK=1", NULL},
    {SLURM_TASK, "3.1"},
    {"SLURM_JOB_ID=3 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4", NULL},
    {SLURM_TASK "PMIX_NAMESPACE=12345678 PMIX_RANK=2", "12345678"},
};

START_TEST(how_the_job_is_called)
{
    char name[9];
    set_environment(names[_i].environment);
    ck_assert_int_eq(opal_pmi_announced_name(name, sizeof name), names[_i].name != NULL);
    if (names[_i].name == NULL)
        return;
    if (strcmp(names[_i].name, "PARENT") == 0)
        ck_assert_int_eq(atoi(name), getppid());
    else
        ck_assert_str_eq(name, names[_i].name);
}
END_TEST

static const struct {
    const char *environment;
    unsigned ranks;
} local_sizes[] = {
    {"", 0},
    {"OMPI_COMM_WORLD_LOCAL_SIZE=3 MPI_LOCALNRANKS=4", 3},
    {"OMPI_COMM_WORLD_LOCAL_SIZE=0 MPI_LOCALNRANKS=4", 4},
    {SLURM_TASK, 4},
};

START_TEST(how_many_ranks_of_this_node_there_may_be)
{
    set_environment(local_sizes[_i].environment);
    ck_assert_uint_eq(opal_pmi_announced_local_size(), local_sizes[_i].ranks);
}
END_TEST

/* A launcher may hand down a pipe; a file is none of its. */
START_TEST(kinds_of_descriptors)
{
    int ends[2];
    setenv("PMI_FD", "77", 1);
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[0], OPEN_FD);
    ck_assert_int_eq(opal_pmi_origin(NULL), OPAL_PMI_SOCKET);
    dup2(open("/dev/null", O_RDWR), OPEN_FD);
    ck_assert_int_eq(opal_pmi_origin(NULL), OPAL_PMI_LOST);
}
END_TEST

START_TEST(settings_of_open_mpi)
{
    ck_assert(!opal_pmi_launcher_owns("orte_hnp_uri"));
    setenv("OMPI_MCA_orte_launch", "1", 1);
    ck_assert(opal_pmi_launcher_owns("orte_hnp_uri"));
    ck_assert(opal_pmi_launcher_owns("ess"));
    ck_assert(opal_pmi_launcher_owns("pmix"));
    ck_assert(!opal_pmi_launcher_owns("btl_sm_eager_limmit"));
    ck_assert(!opal_pmi_launcher_owns("mpi_parm_check"));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &who_it_was, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &how_the_job_is_called, .repeats = OPAL_COUNT_OF(names)},
    {.test = &how_many_ranks_of_this_node_there_may_be, .repeats = OPAL_COUNT_OF(local_sizes)},
    {.test = &kinds_of_descriptors},
    {.test = &settings_of_open_mpi},
};

UNIT_MAIN("pmi origin", tests, setup);
