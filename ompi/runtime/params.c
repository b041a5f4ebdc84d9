/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of MPI itself. */
#include "ompi/runtime/params.h"

#include "ompi/api/mpi.h"
#include "ompi/communicator/context.h"
#include "ompi/runtime/runtime.h"
#include "ompi/win/win.h"

enum { INITIAL_FATAL, INITIAL_ABORT, INITIAL_RETURN };

static bool check = true, roll_call = true;
static int check_level = OMPI_CHECK_OFF;
static int initial_errhandler = INITIAL_FATAL;
static int max_communicators = 65536;
static const char *memory_kinds;
static int thread_level = MPI_THREAD_SINGLE;
static bool explain;
static int leave_pinned = OPAL_LEAVE_PINNED_RUNTIME;
static int leave_pinned_pipeline = OPAL_LEAVE_PINNED_RUNTIME;

/* The names are the standard's, from the info key mpi_initial_errhandler of MPI_Comm_spawn. */
static const opal_param_choice_t errhandlers[] = {
    {"mpi_errors_are_fatal", INITIAL_FATAL},
    {"mpi_errors_abort", INITIAL_ABORT},
    {"mpi_errors_return", INITIAL_RETURN},
    {0},
};

static const opal_param_choice_t check_levels[] = {
    {"off", OMPI_CHECK_OFF},
    {"cheap", OMPI_CHECK_CHEAP},
    {"full", OMPI_CHECK_FULL},
    {0},
};

static const opal_param_choice_t thread_levels[] = {
    {"single", MPI_THREAD_SINGLE},
    {"funneled", MPI_THREAD_FUNNELED},
    {"serialized", MPI_THREAD_SERIALIZED},
    {"multiple", MPI_THREAD_MULTIPLE},
    {0},
};

static double connect_timeout, spawn_timeout;
static const char *profile, *trace;
static int trace_megabytes = 256;

static const opal_param_row_t params[] = {
    {.name = "param_check",
     .type = OPAL_PARAM_BOOL,
     .value = &check,
     .preset = "yes",
     .write = OPAL_PARAM_ANYTIME,
     .written = ompi_runtime_check_changed,
     .prose = "Whether MPI calls check their arguments: what one rank can see alone, in one call. "
              "mpi_check compares calls"},
    {.name = "check",
     .type = OPAL_PARAM_ENUM,
     .value = &check_level,
     .preset = "off",
     .choices = check_levels,
     .prose =
         "Whether the collective calls of different ranks are compared, by kind, root, operation, "
         "datatype and amount of data. cheap: among the ranks of a node, when one sees a "
         "difference or waits; some 10 ns a call. full: the ranks of a call meet first, also "
         "between nodes; messages are checked: datatypes, buffers that overlap or are changed too "
         "early; and what was not freed at the end is reported. All ranks need the same value"},
    {.name = "roll_call",
     .type = OPAL_PARAM_BOOL,
     .value = &roll_call,
     .preset = "yes",
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "Whether a call that waits for more than 0.1 s writes down, for mpirun and mica-ps, "
              "which call it is and what it waits for; shorter waits do nothing for it"},
    {.name = "initial_errhandler",
     .type = OPAL_PARAM_ENUM,
     .value = &initial_errhandler,
     .preset = "mpi_errors_are_fatal",
     .choices = errhandlers,
     .prose = "The error handler that MPI_COMM_WORLD and MPI_COMM_SELF begin with, and that is "
              "called for errors before MPI_Init and after MPI_Finalize"},
    {.name = "max_communicators",
     .type = OPAL_PARAM_INT,
     .value = &max_communicators,
     .preset = "65536",
     .min = "2",
     .max = "16777216",
     .prose = "The most communicators that a process can be in at the same time, MPI_COMM_WORLD "
              "and MPI_COMM_SELF included; an intercommunicator counts twice. All ranks need the "
              "same value"},
    {.name = "memory_alloc_kinds",
     .type = OPAL_PARAM_STRING,
     .value = &memory_kinds,
     .prose = "The kinds of memory that the program asks for, as mpirun --memory-alloc-kinds sets "
              "them. MPI_INFO_ENV tells them; the kinds that buffers may have are those that "
              "MPI_Comm_get_info tells, with or without it"},
    {.name = "connect_timeout",
     .type = OPAL_PARAM_DOUBLE,
     .value = &connect_timeout,
     .preset = "60",
     .min = "0",
     .max = "1000000",
     .unit = "s",
     .prose = "How long MPI_Comm_connect waits for an MPI_Comm_accept at the port; 0: as long as "
              "the port is open. When both have met, how long either waits for an answer of the "
              "other; 0: for ever. The info key timeout goes before it"},
    {.name = "spawn_timeout",
     .type = OPAL_PARAM_DOUBLE,
     .value = &spawn_timeout,
     .preset = "600",
     .min = "0",
     .max = "1000000",
     .unit = "s",
     .prose = "How long MPI_Comm_spawn waits for the new processes to call MPI_Init, after the "
              "launcher has started them; 0: for ever. The info key timeout goes before it"},
    {.name = "profile",
     .type = OPAL_PARAM_STRING,
     .value = &profile,
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "The directory into which each rank writes where its time in MPI goes, for "
              "mica-profile, which makes a report of it; mpirun --profile sets it, and makes the "
              "report"},
    {.name = "trace",
     .type = OPAL_PARAM_STRING,
     .value = &trace,
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "The file that mica-profile --trace makes of the records of each call, which the "
              "ranks write into a directory with the same name and .parts; mpirun --trace sets it, "
              "and makes the file"},
    {.name = "trace_limit",
     .type = OPAL_PARAM_INT,
     .value = &trace_megabytes,
     .preset = "256",
     .min = "2",
     .max = "1048576",
     .unit = "MB",
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "How much a thread writes for mpi_trace, 16 bytes for a call and 24 for a message at "
              "each of its ends; what comes behind that is not recorded"},
    {.name = "thread_level",
     .type = OPAL_PARAM_ENUM,
     .value = &thread_level,
     .preset = "single",
     .choices = thread_levels,
     .prose = "The lowest thread level that MPI provides, whatever the program requests: for "
              "programs whose libraries use threads of their own, and to try a program at "
              "MPI_THREAD_MULTIPLE"},
    {.name = "explain",
     .type = OPAL_PARAM_BOOL,
     .value = &explain,
     .preset = "no",
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "Whether rank 0 prints, in MPI_Init, a page about what was chosen for this job and "
              "why, and in MPI_Finalize how often each choice was used, as mpirun --explain does. "
              "All ranks need the same value"},
    {.name = "leave_pinned",
     .type = OPAL_PARAM_ENUM,
     .value = &leave_pinned,
     .preset = "runtime",
     .choices = opal_leave_pinned_choices,
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether a buffer that a network has registered stays registered after its "
              "message; runtime: where a transport is faster by it and the unmapping of memory "
              "is noticed. Read before main: has no effect in a file, only in the environment "
              "and as mpirun --mca"},
    {.name = "leave_pinned_pipeline",
     .type = OPAL_PARAM_ENUM,
     .value = &leave_pinned_pipeline,
     .preset = "runtime",
     .choices = opal_leave_pinned_choices,
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether the parts of a long message, which are registered one after the other, "
              "stay registered after it; runtime: as with mpi_leave_pinned. Not together with "
              "mpi_leave_pinned"},
    {0},
};

opal_status_t ompi_params_register(void)
{
    opal_pvar_register("comm", "", ompi_context_pvars);
    opal_pvar_register("win", "", ompi_win_pvars);
    opal_bound_register("win", "", ompi_win_bound);
    return opal_param_register("mpi", "", params);
}

void ompi_params_withdraw(void)
{
    opal_param_withdraw(params);
}

ompi_check_level_t ompi_params_check_level(void)
{
    return (ompi_check_level_t)check_level;
}

bool ompi_params_check(void)
{
    return check;
}

bool ompi_params_roll_call(void)
{
    return roll_call;
}

double ompi_params_spawn_timeout(void)
{
    return spawn_timeout;
}

double ompi_params_connect_timeout(void)
{
    return connect_timeout;
}

uint32_t ompi_params_max_communicators(void)
{
    return (uint32_t)max_communicators;
}

ompi_errhandler_t *ompi_params_initial_errhandler(void)
{
    switch (initial_errhandler) {
    case INITIAL_ABORT:
        return &ompi_errors_abort;
    case INITIAL_RETURN:
        return &ompi_errors_return;
    default:
        return &ompi_errors_are_fatal;
    }
}

const char *ompi_params_memory_kinds(void)
{
    return memory_kinds;
}

bool ompi_params_explain(void)
{
    return explain;
}

const char *ompi_params_thread_level_name(int level)
{
    const opal_param_choice_t *choice = thread_levels;
    while (choice->name != NULL && choice->value != level)
        choice++;
    return choice->name != NULL ? choice->name : "unknown";
}

const char *ompi_params_profile(void)
{
    return profile;
}

const char *ompi_params_trace(void)
{
    return trace;
}

uint64_t ompi_params_trace_bytes(void)
{
    return (uint64_t)trace_megabytes << 20;
}

int ompi_params_thread_level(void)
{
    return thread_level;
}

opal_leave_pinned_t ompi_params_leave_pinned(void)
{
    return (opal_leave_pinned_t)leave_pinned;
}

opal_leave_pinned_t ompi_params_leave_pinned_pipeline(void)
{
    return (opal_leave_pinned_t)leave_pinned_pipeline;
}
