/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool interface begins and ends as often as one likes, without MPI, beside it and after it. */
#include <mpi.h>

#include "tap.h"

static void check_closed_pvars(const char *when)
{
    int number = -7;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    tap_check(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_get_index("wait_sleeps", MPI_T_PVAR_CLASS_COUNTER, &number) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                      NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_session_create(&session) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_session_free(&session) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &number) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_handle_free(session, &handle) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_start(session, handle) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_stop(session, handle) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_reset(session, handle) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_read(session, handle, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_readreset(session, handle, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_pvar_write(session, handle, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  number == -7,
              "%s, performance variables", when);
}

static void check_closed_events(const char *when)
{
    int number = -7;
    MPI_Count count = -7;
    MPI_Info info = MPI_INFO_NULL;
    MPI_T_event_registration handle = NULL;
    const MPI_T_cb_safety none = MPI_T_CB_REQUIRE_NONE;
    tap_check(MPI_T_event_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_get_index("peer_failed", &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                       NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_handle_alloc(0, NULL, info, &handle) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_handle_free(handle, NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_handle_set_info(handle, info) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_handle_get_info(handle, &info) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_register_callback(handle, none, info, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_callback_set_info(handle, none, info) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_callback_get_info(handle, none, &info) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_set_dropped_handler(handle, NULL) == MPI_T_ERR_NOT_INITIALIZED,
              "%s, events", when);
    tap_check(MPI_T_event_read(NULL, 0, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_copy(NULL, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_get_timestamp(NULL, &count) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_event_get_source(NULL, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_source_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_source_get_timestamp(0, &count) == MPI_T_ERR_NOT_INITIALIZED &&
                  number == -7 && count == -7 && info == MPI_INFO_NULL && handle == NULL,
              "%s, what events have, and sources", when);
}

/* What every function says while the interface is not initialized. */
static void check_closed(const char *when)
{
    int number = -7;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    tap_check(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED && number == -7,
              "%s, MPI_T_cvar_get_num is refused and sets nothing", when);
    tap_check(MPI_T_cvar_get_index("mpi_param_check", &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_cvar_handle_alloc(0, NULL, &cvar, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_cvar_handle_free(&cvar) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_cvar_read(cvar, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_cvar_write(cvar, &number) == MPI_T_ERR_NOT_INITIALIZED,
              "%s, control variables", when);
    tap_check(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &number, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED,
              "%s, enumerations", when);
    tap_check(MPI_T_category_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_changed(&number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_index("mpi", &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_num_events(0, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_cvars(0, 1, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_pvars(0, 1, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_events(0, 1, &number) == MPI_T_ERR_NOT_INITIALIZED &&
                  MPI_T_category_get_categories(0, 1, &number) == MPI_T_ERR_NOT_INITIALIZED,
              "%s, categories", when);
    tap_check(number == -7, "%s, nothing is set", when);
    tap_check(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED, "%s, MPI_T_finalize", when);
    check_closed_pvars(when);
    check_closed_events(when);
}

/* A tool asks for what it wants to know alone. */
static void check_no_outputs(void)
{
    MPI_T_enum names = MPI_T_ENUM_NULL;
    MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL);
    tap_check(
        names != MPI_T_ENUM_NULL && MPI_T_enum_get_info(names, NULL, NULL, NULL) == MPI_SUCCESS &&
            MPI_T_enum_get_item(names, 0, NULL, NULL, NULL) == MPI_SUCCESS &&
            MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                MPI_SUCCESS &&
            MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                NULL) == MPI_SUCCESS &&
            MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS &&
            MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL) == MPI_SUCCESS &&
            MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS,
        "every output of a description may be left out");
}

static void check_levels(void)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    int provided = -1;
    for (int i = 0; i < 4; i++) {
        provided = -1;
        tap_check(MPI_T_init_thread(levels[i], &provided) == MPI_SUCCESS && provided >= levels[i],
                  "level %d is granted", levels[i]);
    }
    provided = -1;
    tap_check(MPI_T_init_thread(3, &provided) == MPI_T_ERR_INVALID && provided == -1,
              "3 is no level");
    for (int i = 0; i < 4; i++)
        MPI_T_finalize();
    check_closed("after as many ends");
}

int main(int argc, char **argv)
{
    int rank = -1, provided = -1, number = 0;
    check_closed("at the beginning");
    check_levels();
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    tap_check(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number > 20,
              "before MPI_Init there are variables");
    check_no_outputs();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_T_finalize();
    check_closed("while MPI runs");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Finalize();
    int later = 0;
    tap_check(MPI_T_cvar_get_num(&later) == MPI_SUCCESS && later >= number,
              "after MPI_Finalize there are as many");
    MPI_T_finalize();
    check_closed("after MPI_Finalize");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    tap_check(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number == later,
              "it begins once more after MPI_Finalize");
    MPI_T_finalize();
    return tap_finish();
}
