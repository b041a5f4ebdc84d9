/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the runtime, of MPI_Init and of MPI_Finalize.
 *
 * Threading: `state` moves by compare-and-exchange, so of two threads that start or end MPI one
 * is refused. The settings are read under a lock, since an error before MPI_Init reads them from
 * any thread. All other variables are written by the thread that moved the state, and read after
 * the state was read.
 */
#include "ompi/runtime/runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/framework.h"
#include "opal/mca/base/pvar.h"
#include "opal/mca/pmi/base/base.h"
#include "opal/process/job.h"
#include "opal/profile/profile.h"
#include "opal/runtime/init.h"
#include "opal/util/log.h"
#include "ompi/attribute/attribute.h"
#include "ompi/check/left.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/dynamic/dynamic.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/explain/explain.h"
#include "ompi/file/file.h"
#include "ompi/info/env.h"
#include "ompi/mca/osc/base/background.h"
#include "ompi/runtime/messages.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "ompi/runtime/params.h"
#include "ompi/runtime/roll_call.h"
#include "ompi/runtime/profile.h"
#include "ompi/session/session.h"

typedef enum state { NEW, STARTING, RUNNING, ENDING, ENDED } state_t;

atomic_uint ompi_api_mode_word = OMPI_API_UNUSABLE | OMPI_API_CHECKED;

static _Atomic state_t state = NEW;
static int thread_level;
static pthread_t main_thread;

static pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;
static bool settings_known; /* they were read at least once */

static bool has_stopped; /* peers know that this process has left. The lock of the users */

static bool move_state(state_t from, state_t to)
{
    return atomic_compare_exchange_strong(&state, &from, to);
}

/* Mistakes in them become diagnostics, which opal_init() reports and fails with. */
static void read_settings(void)
{
    opal_param_init();
    ompi_params_register();
}

static void forget_settings(void)
{
    ompi_params_withdraw();
    opal_param_fini();
}

/* Everything that can fail. What was done is undone then. */
static opal_status_t start(opal_failure_t failure)
{
    pthread_mutex_lock(&settings_lock);
    read_settings();
    settings_known = true;
    pthread_mutex_unlock(&settings_lock);

    if (ompi_datatype_init() != MPI_SUCCESS) {
        forget_settings();
        return OPAL_ERR_NO_MEMORY;
    }
    opal_project_add(&ompi_project);
    opal_status_t status = opal_init(failure);
    if (status != OPAL_SUCCESS) {
        ompi_datatype_fini();
        forget_settings();
        return status;
    }
    return OPAL_SUCCESS;
}

/* Ranks that wait for this one are ended by the launcher. */
static void undo_start(opal_failure_t failure)
{
    ompi_op_fini();
    ompi_datatype_fini();
    opal_drop(failure);
    forget_settings();
}

static bool is_of_others(const char *parameter)
{
    return opal_framework_owns_unseen(parameter) || opal_pmi_launcher_owns(parameter);
}

/* Communicators and their messages. What was done is undone on a failure. */
static opal_status_t start_messages(const opal_pmi_job_t *job, bool threads)
{
    if (ompi_comm_init((int)job->rank, (int)job->size, ompi_params_initial_errhandler()) !=
        MPI_SUCCESS)
        return OPAL_ERR_NO_MEMORY;
    opal_status_t status = ompi_messages_start(threads);
    if (status == OPAL_SUCCESS) { /* behind a fence, then */
        status = opal_init_check_peers();
        if (status != OPAL_SUCCESS)
            ompi_messages_stop();
    }
    if (status != OPAL_SUCCESS)
        ompi_comm_fini();
    return status;
}

/* *level: that is required; the one that is given, which a parameter may raise. */
static opal_status_t start_runtime(ompi_runtime_start_t how, opal_failure_t failure, int *level)
{
    opal_job_wish_alone(how == OMPI_RUNTIME_ALONE && !has_stopped);
    opal_status_t status = start(failure);
    if (status != OPAL_SUCCESS)
        return status;
    const opal_pmi_job_t *job = opal_job();
    ompi_info_env_set_job(job->size, ompi_params_memory_kinds());
    ompi_attributes_init(job);
    ompi_op_init();
    if (*level < ompi_params_thread_level())
        *level = ompi_params_thread_level();
    status = start_messages(job, *level == MPI_THREAD_MULTIPLE);
    if (status != OPAL_SUCCESS) {
        undo_start(failure);
        return status;
    }
    ompi_roll_call_start();
    ompi_profile_start();
    /* Every framework is open now: reports settings that no parameter has. */
    opal_param_diagnose_unknown(is_of_others);
    return OPAL_SUCCESS;
}

static opal_status_t end_runtime(void)
{
    ompi_roll_call_stop();
    ompi_file_stop();
    ompi_messages_stop();
    ompi_profile_stop();
    ompi_psets_forget();
    ompi_file_fini();
    ompi_comm_fini();
    ompi_op_fini();
    ompi_datatype_fini();
    opal_status_t status = opal_finalize();
    forget_settings();
    has_stopped = true;
    return status;
}

/* -- users ------------------------------------------------------------------------------------ */

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under this lock. */
static struct {
    enum { STOPPED, RUNS, RESTS } phase;
    unsigned users;
    int level;     /* that the users have got */
    bool is_world; /* MPI_Init was one of the users of this start */
    pid_t process; /* that has started: a child of fork has no part in its end */
} runtime;

static unsigned usable_mode(void)
{
    unsigned mode = ompi_params_check() ? OMPI_API_CHECKED : OMPI_API_UNCHECKED;
    return opal_profile_is_on ? mode | OMPI_API_PROFILED : mode;
}

static void set_mode(void)
{
    unsigned mode = OMPI_API_UNUSABLE | OMPI_API_CHECKED;
    if (runtime.users > 0)
        mode = usable_mode();
    atomic_store(&ompi_api_mode_word, mode);
}

/* Every thread level is supported. */
static void raise_level(int required)
{
    if (required <= runtime.level)
        return;
    runtime.level = required;
    if (required == MPI_THREAD_MULTIPLE)
        ompi_lock_start(true); /* until now one thread at a time was in MPI */
}

static opal_status_t add_user(ompi_runtime_start_t how, int required, opal_failure_t failure)
{
    opal_status_t status = OPAL_SUCCESS;
    bool starts = runtime.phase == STOPPED;
    if (starts) {
        runtime.level = required;
        runtime.is_world = false;
        status = start_runtime(how, failure, &runtime.level);
    } else if (runtime.phase == RESTS) {
        status = opal_job_resume();
    }
    if (status != OPAL_SUCCESS)
        return status;
    runtime.phase = RUNS;
    runtime.process = getpid();
    raise_level(required);
    ompi_osc_background_set_level(runtime.level);
    if (how == OMPI_RUNTIME_TOGETHER) {
        runtime.is_world = true;
        status = starts ? OPAL_SUCCESS : ompi_messages_catch_up();
    }
    return status;
}

/* A job of one has no peers, so nothing speaks against an end, if the launcher allows another
 * beginning. */
static bool can_rest(void)
{
    return !runtime.is_world && (opal_job()->size > 1 || !opal_job_may_return()) &&
           ompi_messages_rest();
}

static opal_status_t end_use(void)
{
    opal_status_t status;
    ompi_check_report_left();
    if (can_rest()) {
        status = opal_job_rest();
        runtime.phase = RESTS;
    } else {
        status = end_runtime();
        runtime.phase = STOPPED;
    }
    return status;
}

int ompi_runtime_acquire(ompi_runtime_start_t how, int required, opal_failure_t failure, int *level)
{
    pthread_mutex_lock(&users_lock);
    opal_status_t status = add_user(how, required, failure);
    if (status == OPAL_SUCCESS) {
        runtime.users++;
        *level = runtime.level;
        set_mode();
    }
    pthread_mutex_unlock(&users_lock);
    return ompi_error_of_status(status);
}

int ompi_runtime_release(void)
{
    opal_status_t status = OPAL_SUCCESS;
    pthread_mutex_lock(&users_lock);
    opal_profile_leave();
    runtime.users--;
    set_mode();
    if (runtime.users == 0)
        status = end_use();
    pthread_mutex_unlock(&users_lock);
    return ompi_error_of_status(status);
}

/* Registers everything for a moment, while no other thread sees the parameters. */
static void register_all(void)
{
    opal_framework_t *framework;
    opal_param_lock();
    read_settings();
    opal_project_add(&ompi_project);
    opal_init_register_params();
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++)
        opal_framework_register(framework);
    opal_pvar_count(); /* which lists the variables of DSOs, while they are loaded */
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++)
        opal_framework_close(framework);
    forget_settings();
    opal_diagnostic_reset(); /* the start of MPI will find all mistakes again */
    opal_param_unlock();
}

void ompi_runtime_show_parameters(void)
{
    pthread_mutex_lock(&users_lock);
    pthread_mutex_lock(&settings_lock);
    if (runtime.phase == STOPPED)
        register_all();
    settings_known = true;
    pthread_mutex_unlock(&settings_lock);
    pthread_mutex_unlock(&users_lock);
}

/* The process ends. Where MPI rests, peers learn that it has left, and did not die; where it runs,
 * a session was not finalized, or MPI_Finalize not called: the latter is an end by an error. */
__attribute__((destructor)) static void end_rest(void)
{
    if (runtime.phase == STOPPED || runtime.process != getpid() ||
        pthread_mutex_trylock(&users_lock) != 0)
        return;
    if (runtime.phase == RESTS) {
        end_runtime();
        runtime.phase = STOPPED;
    } else if (atomic_load(&state) == NEW || atomic_load(&state) == ENDED) {
        ompi_check_report_left();
    }
    pthread_mutex_unlock(&users_lock);
}

/* -- MPI_Init and MPI_Finalize ---------------------------------------------------------------- */

bool ompi_runtime_claim_init(void)
{
    return move_state(NEW, STARTING);
}

/* Whether MPI_Init returns an error is the user's choice. */
static opal_failure_t failure_of_init(void)
{
    return ompi_runtime_initial_errhandler()->action == OMPI_ERRHANDLER_RETURN
               ? OPAL_FAILURE_IS_RETURNED
               : OPAL_FAILURE_ENDS_JOB;
}

/* The processes of a job that was spawned connect to their parents, who wait for it. */
static int connect_parent(void)
{
    char detail[OMPI_DYNAMIC_DETAIL_BYTES] = "";
    const char *port = opal_job()->parent_port;
    if (port == NULL)
        return MPI_SUCCESS;
    int error =
        ompi_dynamic_connect_parent(port, (uint64_t)(ompi_params_connect_timeout() * 1e9), detail);
    if (error == MPI_SUCCESS)
        return error;
    if (opal_job()->rank == 0)
        opal_log_error("this job was spawned, but does not reach its parents. %s", detail);
    return error > 0 ? error : MPI_ERR_OTHER;
}

int ompi_runtime_init(int required, int *provided)
{
    int error =
        ompi_runtime_acquire(OMPI_RUNTIME_TOGETHER, required, failure_of_init(), &thread_level);
    if (error == MPI_SUCCESS) {
        error = connect_parent();
        if (error != MPI_SUCCESS)
            ompi_runtime_release();
    }
    if (error != MPI_SUCCESS) {
        atomic_store(&state, NEW);
        return error;
    }
    main_thread = pthread_self();
    ompi_comm_open_world();
    if (ompi_params_explain())
        ompi_explain_start(ompi_params_thread_level_name(thread_level));
    opal_profile_note_begin();
    atomic_store(&state, RUNNING);
    *provided = thread_level;
    return MPI_SUCCESS;
}

/* MPI may end at the same time. */
bool ompi_runtime_check_changed(void)
{
    unsigned mode = ompi_api_mode();
    unsigned checked = usable_mode();
    while ((mode & OMPI_API_UNUSABLE) == 0 &&
           !atomic_compare_exchange_weak(&ompi_api_mode_word, &mode, checked))
        continue;
    return true;
}

int ompi_runtime_finalize(void)
{
    if (!move_state(RUNNING, ENDING))
        return MPI_ERR_OTHER;
    ompi_explain_finish();
    opal_profile_note_end();
    ompi_comm_close_world(ompi_runtime_initial_errhandler());
    int error = ompi_runtime_release();
    atomic_store(&state, ENDED);
    return error;
}

bool ompi_runtime_is_initialized(void)
{
    return atomic_load(&state) >= RUNNING;
}

bool ompi_runtime_is_finalized(void)
{
    return atomic_load(&state) == ENDED;
}

int ompi_runtime_thread_level(void)
{
    return thread_level;
}

bool ompi_runtime_is_main_thread(void)
{
    return pthread_equal(pthread_self(), main_thread);
}

void ompi_runtime_abort(int code)
{
    /* The launcher is going to kill us: what the program has printed would be lost. Not if
     * another thread is in the middle of printing, which could hold us up for ever. */
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    /* An exit status has 8 bits: what would become 0 must not look like success. */
    opal_abort(code % 256 == 0 && code != 0 ? EXIT_FAILURE : code);
}

ompi_errhandler_t *ompi_runtime_initial_errhandler(void)
{
    pthread_mutex_lock(&settings_lock);
    if (!settings_known) {
        /* Which rank prints mistakes is not known before MPI_Init, which will find them again. */
        opal_param_lock();
        read_settings();
        forget_settings();
        opal_param_unlock();
        opal_diagnostic_reset();
        settings_known = true;
    }
    ompi_errhandler_t *errhandler = ompi_params_initial_errhandler();
    pthread_mutex_unlock(&settings_lock);
    return errhandler;
}
