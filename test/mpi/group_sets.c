/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: every function, on groups of any number of ranks, and what is refused. */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { MANY = 64 };

static int rank, size;
static MPI_Group world;

/* Whether the group is these ranks of MPI_COMM_WORLD; frees it. */
static bool is(MPI_Group group, int n, const int ranks[])
{
    int count = -1, own = -2, wanted = MPI_UNDEFINED, there[MANY], numbers[MANY];
    MPI_Group_size(group, &count);
    if (count != n)
        return false;
    for (int i = 0; i < n; i++) {
        numbers[i] = i;
        if (ranks[i] == rank)
            wanted = i;
    }
    MPI_Group_translate_ranks(group, n, numbers, world, there);
    bool same = MPI_Group_rank(group, &own) == MPI_SUCCESS && own == wanted;
    for (int i = 0; i < n; i++)
        same &= there[i] == ranks[i];
    return same && MPI_Group_free(&group) == MPI_SUCCESS && group == MPI_GROUP_NULL;
}

static void check_predefined(void)
{
    MPI_Group self, empty = MPI_GROUP_EMPTY, again;
    int result = -1, own = -1, count = -1;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    tap_check(is(self, 1, &rank), "the group of MPI_COMM_SELF");
    MPI_Group_size(world, &count);
    MPI_Group_rank(world, &own);
    tap_check(count == size && own == rank, "the group of MPI_COMM_WORLD");
    MPI_Comm_group(MPI_COMM_WORLD, &again);
    MPI_Group_compare(world, again, &result);
    tap_check(result == MPI_IDENT, "it is itself");
    MPI_Group_free(&again);
    MPI_Group_size(MPI_GROUP_EMPTY, &count);
    MPI_Group_rank(MPI_GROUP_EMPTY, &own);
    tap_check(count == 0 && own == MPI_UNDEFINED, "MPI_GROUP_EMPTY");
    tap_check(MPI_Group_free(&empty) == MPI_SUCCESS && empty == MPI_GROUP_NULL &&
                  MPI_Group_size(MPI_GROUP_EMPTY, &count) == MPI_SUCCESS,
              "it can be freed, and is still there");
    tap_check(MPI_Group_fromint(MPI_Group_toint(world)) == world, "a group has a number");
}

/* Some ranks, named in four ways. */
static void check_selections(void)
{
    int evens[MANY], odds[MANY], backwards[MANY], half = (size + 1) / 2;
    int range[][3] = {{0, size - 1, 2}}, back[][3] = {{size - 1, 0, -1}};
    MPI_Group group;
    for (int i = 0; i < size; i++) {
        backwards[i] = size - 1 - i;
        *(i % 2 == 0 ? &evens[i / 2] : &odds[i / 2]) = i;
    }
    MPI_Group_incl(world, half, evens, &group);
    tap_check(is(group, half, evens), "MPI_Group_incl of the even ranks");
    MPI_Group_excl(world, half, evens, &group);
    tap_check(is(group, size - half, odds), "MPI_Group_excl of them");
    MPI_Group_range_incl(world, 1, range, &group);
    tap_check(is(group, half, evens), "MPI_Group_range_incl of them");
    MPI_Group_range_excl(world, 1, range, &group);
    tap_check(is(group, size - half, odds), "MPI_Group_range_excl of them");
    MPI_Group_incl(world, size, backwards, &group);
    tap_check(is(group, size, backwards), "MPI_Group_incl backwards");
    MPI_Group_range_incl(world, 1, back, &group);
    tap_check(is(group, size, backwards), "MPI_Group_range_incl backwards");

    MPI_Group_incl(world, 0, NULL, &group);
    tap_check(group == MPI_GROUP_EMPTY, "MPI_Group_incl of nothing");
    MPI_Group_range_incl(world, 0, NULL, &group);
    tap_check(group == MPI_GROUP_EMPTY, "MPI_Group_range_incl of nothing");
    MPI_Group_excl(world, size, backwards, &group);
    tap_check(group == MPI_GROUP_EMPTY, "MPI_Group_excl of everything");
    MPI_Group_excl(world, 0, NULL, &group);
    for (int i = 0; i < size; i++)
        backwards[i] = i;
    tap_check(is(group, size, backwards), "MPI_Group_excl of nothing");
    MPI_Group_range_excl(world, 0, NULL, &group);
    tap_check(is(group, size, backwards), "MPI_Group_range_excl of nothing");
}

/* The second half before the first but for its last rank, and so on. */
static void check_sets(void)
{
    int low[MANY], high[MANY], both[MANY], half = size / 2, result;
    MPI_Group first, second, group, again;
    for (int i = 0; i < size; i++)
        *(i < half ? &low[i] : &high[i - half]) = i;
    MPI_Group_incl(world, half, low, &first);
    MPI_Group_excl(world, half, low, &second);

    MPI_Group_union(second, first, &group);
    for (int i = 0; i < size; i++)
        both[i] = i < size - half ? high[i] : low[i - (size - half)];
    MPI_Group_compare(group, world, &result);
    tap_check(result == (half == 0 ? MPI_IDENT : MPI_SIMILAR), "halves in another order: %d",
              result);
    MPI_Group_union(group, world, &again);
    MPI_Group_compare(group, again, &result);
    tap_check(result == MPI_IDENT, "nothing is added twice");
    MPI_Group_free(&again);
    MPI_Group_compare(group, second, &result);
    tap_check(result == (half == 0 ? MPI_IDENT : MPI_UNEQUAL), "less is not equal: %d", result);
    MPI_Group_intersection(group, first, &again);
    tap_check(is(again, half, low), "MPI_Group_intersection");
    MPI_Group_difference(group, first, &again);
    tap_check(is(again, size - half, high), "MPI_Group_difference");
    tap_check(is(group, size, both), "MPI_Group_union");

    MPI_Group_intersection(first, second, &group);
    tap_check(group == MPI_GROUP_EMPTY, "halves have nothing in common");
    MPI_Group_difference(first, world, &group);
    tap_check(group == MPI_GROUP_EMPTY, "all without all");
    MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &group);
    tap_check(group == MPI_GROUP_EMPTY, "nothing and nothing");
    MPI_Group_compare(group, MPI_GROUP_EMPTY, &result);
    tap_check(result == MPI_IDENT, "are the same");
    MPI_Group_compare(second, MPI_GROUP_EMPTY, &result);
    tap_check(result == MPI_UNEQUAL, "and not something");
    if (first != MPI_GROUP_EMPTY)
        MPI_Group_free(&first);
    MPI_Group_free(&second);
}

static void check_translation(void)
{
    int ranks[2] = {MPI_PROC_NULL, size - 1}, there[2] = {-7, -7}, last = size - 1;
    MPI_Group group;
    MPI_Group_incl(world, 1, &last, &group);
    MPI_Group_translate_ranks(world, 2, ranks, group, there);
    tap_check(there[0] == MPI_PROC_NULL && there[1] == 0, "ranks are translated");
    MPI_Group_translate_ranks(world, 2, ranks, MPI_GROUP_EMPTY, there);
    tap_check(there[0] == MPI_PROC_NULL && there[1] == MPI_UNDEFINED, "or are not there");
    tap_check(MPI_Group_translate_ranks(world, 0, NULL, group, NULL) == MPI_SUCCESS, "or are none");
    ranks[0] = size;
    tap_check(MPI_Group_translate_ranks(world, 1, ranks, group, there) == MPI_ERR_RANK,
              "a rank that is none");
    ranks[0] = -1;
    tap_check(MPI_Group_translate_ranks(world, 1, ranks, group, there) == MPI_ERR_RANK,
              "a negative rank");
    tap_check(MPI_Group_translate_ranks(world, 1, NULL, group, there) == MPI_ERR_ARG, "no ranks");
    tap_check(MPI_Group_translate_ranks(world, -1, ranks, group, there) == MPI_ERR_ARG,
              "less than no ranks");
    MPI_Group_free(&group);
}

#define REFUSED(call, code) tap_check((call) == (code), "%s: %s", #call, #code)

static void check_errors(void)
{
    int twice[] = {0, 0}, large[] = {size}, negative[] = {-1};
    int still[][3] = {{0, 0, 0}}, away[][3] = {{0, size, -1}}, far[][3] = {{0, size, 1}};
    int overlap[][3] = {{0, 0, 1}, {0, 0, 1}}, before[][3] = {{-1, 0, 1}};
    int huge[][3] = {{0, 2147483647, 1}};
    MPI_Group group, null = MPI_GROUP_NULL;
    REFUSED(MPI_Group_incl(world, 2, twice, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_excl(world, 2, twice, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_incl(world, 1, large, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_excl(world, 1, large, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_incl(world, 1, negative, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_excl(world, 1, negative, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_incl(world, 1, NULL, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_excl(world, 1, NULL, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_incl(world, -1, twice, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_excl(world, -1, twice, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_incl(world, 1, still, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_excl(world, 1, still, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_incl(world, 1, away, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_incl(world, 1, far, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_excl(world, 1, far, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_incl(world, 2, overlap, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_excl(world, 2, overlap, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_incl(world, 1, before, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_incl(world, 1, huge, &group), MPI_ERR_RANK);
    REFUSED(MPI_Group_range_incl(world, 1, NULL, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_excl(world, -1, still, &group), MPI_ERR_ARG);
    REFUSED(MPI_Group_size(null, twice), MPI_ERR_GROUP);
    REFUSED(MPI_Group_rank(null, twice), MPI_ERR_GROUP);
    REFUSED(MPI_Group_free(&null), MPI_ERR_GROUP);
    REFUSED(MPI_Group_free(NULL), MPI_ERR_GROUP);
    REFUSED(MPI_Group_size(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Group_union(world, null, &group), MPI_ERR_GROUP);
    REFUSED(MPI_Group_intersection(null, world, &group), MPI_ERR_GROUP);
    REFUSED(MPI_Group_difference(world, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Group_compare(null, world, twice), MPI_ERR_GROUP);
    REFUSED(MPI_Comm_group(MPI_COMM_NULL, &group), MPI_ERR_COMM);
    REFUSED(MPI_Comm_group(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    check_predefined();
    check_selections();
    check_sets();
    check_translation();
    check_errors();
    MPI_Group_free(&world);
    MPI_Finalize();
    return tap_finish();
}
