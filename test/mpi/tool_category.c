/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Categories: a tree that has every variable once, whose members can be listed in part, and whose
 * number of changes says whether there is something new.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

enum { TEXT = 1024 };

typedef struct counts {
    int cvars, pvars, categories, events;
} counts_t;

static bool get_counts(int index, counts_t *counts)
{
    char name[TEXT], description[TEXT];
    int name_length = TEXT, description_length = TEXT, found = -1;
    return MPI_T_category_get_info(index, name, &name_length, description, &description_length,
                                   &counts->cvars, &counts->pvars,
                                   &counts->categories) == MPI_SUCCESS &&
           MPI_T_category_get_num_events(index, &counts->events) == MPI_SUCCESS &&
           name_length == (int)strlen(name) + 1 && name_length > 1 && description_length > 1 &&
           MPI_T_category_get_index(name, &found) == MPI_SUCCESS && found == index;
}

typedef int list_fn_t(int index, int length, int *indices);

/* Marks the members; false: one was there before, or does not exist. */
static bool mark(list_fn_t *list, int index, int count, char *seen, int limit)
{
    int *indices = malloc((size_t)(count + 1) * sizeof *indices);
    indices[count] = -7;
    bool good = list(index, count, indices) == MPI_SUCCESS && indices[count] == -7;
    for (int i = 0; i < count && good; i++) {
        good = indices[i] >= 0 && indices[i] < limit && !seen[indices[i]];
        if (good)
            seen[indices[i]] = 1;
    }
    free(indices);
    return good;
}

static bool all_seen(const char *seen, int count)
{
    return memchr(seen, 0, (size_t)count) == NULL;
}

static void check_tree(const char *when)
{
    static char cvars[4096], pvars[4096], events[4096], children[4096];
    int cvar_count = 0, pvar_count = 0, event_count = 0, category_count = 0, roots = 0;
    bool good = true;
    memset(cvars, 0, sizeof cvars);
    memset(pvars, 0, sizeof pvars);
    memset(events, 0, sizeof events);
    memset(children, 0, sizeof children);
    MPI_T_cvar_get_num(&cvar_count);
    MPI_T_pvar_get_num(&pvar_count);
    MPI_T_event_get_num(&event_count);
    MPI_T_category_get_num(&category_count);
    for (int i = 0; i < category_count; i++) {
        counts_t counts = {0};
        good = good && get_counts(i, &counts) &&
               mark(MPI_T_category_get_cvars, i, counts.cvars, cvars, cvar_count) &&
               mark(MPI_T_category_get_pvars, i, counts.pvars, pvars, pvar_count) &&
               mark(MPI_T_category_get_events, i, counts.events, events, event_count) &&
               mark(MPI_T_category_get_categories, i, counts.categories, children, category_count);
    }
    for (int i = 0; i < category_count; i++)
        roots += !children[i];
    tap_check(good && category_count > 5, "%s, %d categories", when, category_count);
    tap_check(roots > 2 && roots < category_count, "%s, %d of them are in no other", when, roots);
    tap_check(all_seen(cvars, cvar_count) && all_seen(pvars, pvar_count) &&
                  all_seen(events, event_count),
              "%s, all variables and events are in one category", when);
}

static void check_one(void)
{
    int index = -1, member = -1, child = -1;
    counts_t counts = {0};
    tap_check(MPI_T_category_get_index("btl", &index) == MPI_SUCCESS &&
                  get_counts(index, &counts) && counts.categories >= 2 && counts.cvars >= 1,
              "btl has components and a variable");
    tap_check(MPI_T_category_get_index("btl_sm", &child) == MPI_SUCCESS, "one of them is btl_sm");
    tap_check(MPI_T_category_get_cvars(index, 0, NULL) == MPI_SUCCESS &&
                  MPI_T_category_get_cvars(index, 1, &member) == MPI_SUCCESS &&
                  member == tool_cvar("btl"),
              "a part of the members");
}

static void check_errors(void)
{
    int count = 0, number = -7;
    MPI_T_category_get_num(&count);
    tap_check(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_num_events(count, &number) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_cvars(count, 1, &number) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_pvars(-1, 1, &number) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_events(count, 1, &number) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_category_get_categories(count, 1, &number) == MPI_T_ERR_INVALID_INDEX &&
                  number == -7,
              "wrong indices");
    tap_check(MPI_T_category_get_index("no such", &number) == MPI_T_ERR_INVALID_NAME,
              "a wrong name");
    tap_check(MPI_T_category_get_num(NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_category_changed(NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_category_get_index("mpi", NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_category_get_index(NULL, &number) == MPI_T_ERR_INVALID &&
                  MPI_T_category_get_num_events(0, NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_category_get_cvars(0, 1, NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_category_get_cvars(0, -1, &number) == MPI_T_ERR_INVALID,
              "wrong arguments");
}

int main(int argc, char **argv)
{
    int rank = -1, provided, first = -1, second = -2, third = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_tree("before MPI_Init");
    tap_check(MPI_T_category_changed(&first) == MPI_SUCCESS &&
                  MPI_T_category_changed(&second) == MPI_SUCCESS && first == second,
              "nothing changes by looking");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    check_tree("while MPI runs");
    check_one();
    check_errors();
    MPI_Finalize();
    tap_check(MPI_T_category_changed(&third) == MPI_SUCCESS && third >= first,
              "the number of changes grows");
    check_tree("after MPI_Finalize");
    MPI_T_finalize();
    return tap_finish();
}
