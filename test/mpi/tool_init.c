/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool interface begins and ends as often as one likes, without MPI, beside it and after it. */
#include <mpi.h>

#include "tap.h"

/* What a function says while the interface is not initialized; the first, and some of each kind. */
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
