/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by recursive halving: log2(n) a + m b + m g. The two ranks of a pair split the
 * data between them. Each sends the other half, reduces its own half, and goes on with half the
 * data and half the ranks, until each has the result of one piece. The operation decides how the
 * pieces are collected.
 *
 * A power of two of the ranks takes part; they are the actors, numbered in the order of the ranks.
 * Of the first 2 (n - actors) ranks, each even one sends its operand to the next odd one. Operands
 * are reduced in any order, so the operator must commute.
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* The rank of an actor. */
static int actor_rank(const p2p_halving_t *halving, int actor)
{
    int extra = halving->schedule->size - halving->actors;
    return actor < extra ? 2 * actor + 1 : actor + extra;
}

/* The actor that a rank is, or that has its operand. */
static int actor_of(const p2p_halving_t *halving, int rank)
{
    int extra = halving->schedule->size - halving->actors;
    return rank < 2 * extra ? rank / 2 : rank - extra;
}

static bool is_idle(const p2p_halving_t *halving, int rank)
{
    return rank < 2 * (halving->schedule->size - halving->actors) && rank % 2 == 0;
}

/* The first element of an actor's piece. */
static size_t edge(const p2p_halving_t *halving, int actor)
{
    size_t count = halving->value.count, actors = (size_t)halving->actors, at = (size_t)actor;
    if (halving->counts == NULL)
        return count / actors * at + (at < count % actors ? at : count % actors);
    int end = actor < halving->actors ? actor_rank(halving, actor) : halving->schedule->size;
    if (actor < halving->schedule->size - halving->actors)
        end--; /* its piece includes that of the idle rank before it */
    size_t first = 0;
    for (int rank = 0; rank < end; rank++)
        first += ompi_coll_count(halving->counts, rank);
    return first;
}

/* The pieces of the actors from `first` up to `end`, in a buffer that is laid out like all pieces.
 */
static ompi_data_t pieces(const p2p_halving_t *halving, const void *buffer, int first, int end)
{
    size_t from = edge(halving, first);
    ompi_data_t all = ompi_data(buffer, halving->value.count, halving->value.type);
    return ompi_coll_part(all, from, edge(halving, end) - from);
}

static void take_memory(const p2p_halving_t *halving, p2p_buffer_t *memory)
{
    if (!memory->is_there)
        *memory = p2p_buffer(
            ompi_schedule_elements(halving->schedule, halving->value.count, halving->value.type));
}

void p2p_halving_init(p2p_halving_t *halving, ompi_schedule_t *schedule, ompi_data_t contribution,
                      p2p_buffer_t home, const ompi_coll_side_t *counts)
{
    *halving = (p2p_halving_t){
        .schedule = schedule,
        .value = contribution,
        .home = home,
        .counts = counts,
        .actors = p2p_power(schedule->size),
    };
    halving->actor = is_idle(halving, schedule->rank) ? -1 : actor_of(halving, schedule->rank);
    if (halving->actor < 0)
        return;
    take_memory(halving, &halving->home);
    if (halving->home.buffer == contribution.buffer)
        take_memory(halving, &halving->spare);
}

static void add_reduce(const p2p_halving_t *halving, ompi_data_t in, ompi_data_t inout)
{
    if (inout.count > 0)
        ompi_schedule_reduce(halving->schedule, in.buffer, inout);
}

/* Sends `out` to a peer, receives the peer's operand of the pieces from `first` up to `end`, and
 * reduces it. The value of these pieces is at home afterwards. */
static void exchange(p2p_halving_t *halving, int peer, ompi_data_t out, int first, int end)
{
    ompi_data_t at_home = pieces(halving, halving->home.buffer, first, end);
    ompi_data_t value = pieces(halving, halving->value.buffer, first, end);
    bool is_home = halving->value.buffer == halving->home.buffer;
    ompi_data_t in = is_home ? pieces(halving, halving->spare.buffer, first, end) : at_home;
    ompi_coll_send(halving->schedule, peer, out);
    ompi_coll_recv(halving->schedule, peer, in);
    ompi_schedule_wait(halving->schedule);
    add_reduce(halving, is_home ? in : value, at_home);
}

/* The value is at home from now on, so the next operands need a buffer of their own. */
static void set_value_home(p2p_halving_t *halving)
{
    halving->value.buffer = halving->home.buffer;
    take_memory(halving, &halving->spare);
}

void p2p_halving_reduce(p2p_halving_t *halving)
{
    ompi_schedule_t *schedule = halving->schedule;
    int actor = halving->actor, first = 0, end = halving->actors;
    if (actor < 0) {
        ompi_coll_send(schedule, schedule->rank + 1, halving->value);
        ompi_schedule_wait(schedule);
        return;
    }
    if (actor < schedule->size - halving->actors) {
        exchange(halving, schedule->rank - 1, ompi_data(NULL, 0, halving->value.type), 0, end);
        set_value_home(halving);
    }
    for (int distance = halving->actors / 2; distance > 0; distance /= 2) {
        bool is_lower = (actor & distance) == 0;
        int middle = first + distance, peer = actor_rank(halving, actor ^ distance);
        ompi_data_t lower = pieces(halving, halving->value.buffer, first, middle);
        ompi_data_t upper = pieces(halving, halving->value.buffer, middle, end);
        first = is_lower ? first : middle;
        end = is_lower ? middle : end;
        exchange(halving, peer, is_lower ? upper : lower, first, end);
        if (distance > 1)
            set_value_home(halving);
    }
}

void p2p_halving_allgather(p2p_halving_t *halving)
{
    ompi_schedule_t *schedule = halving->schedule;
    int actor = halving->actor;
    for (int have = 1; actor >= 0 && have < halving->actors; have *= 2) {
        int other = actor ^ have, ours = actor & -have, theirs = other & -have;
        int peer = actor_rank(halving, other);
        ompi_coll_send(schedule, peer, pieces(halving, halving->home.buffer, ours, ours + have));
        ompi_coll_recv(schedule, peer,
                       pieces(halving, halving->home.buffer, theirs, theirs + have));
        ompi_schedule_wait(schedule);
    }
    ompi_data_t all = ompi_data(halving->home.buffer, halving->value.count, halving->value.type);
    if (actor < 0)
        ompi_coll_recv(schedule, schedule->rank + 1, all);
    else if (actor < schedule->size - halving->actors)
        ompi_coll_send(schedule, schedule->rank - 1, all);
}

void p2p_halving_gather(p2p_halving_t *halving, int root)
{
    ompi_schedule_t *schedule = halving->schedule;
    int actor = halving->actor, top = actor_of(halving, root);
    for (int have = 1; actor >= 0 && have < halving->actors; have *= 2) {
        int other = actor ^ have, ours = actor & -have, theirs = other & -have;
        int peer = actor_rank(halving, other);
        if ((actor ^ top) & have) {
            ompi_coll_send(schedule, peer,
                           pieces(halving, halving->home.buffer, ours, ours + have));
            break;
        }
        ompi_coll_recv(schedule, peer,
                       pieces(halving, halving->home.buffer, theirs, theirs + have));
        ompi_schedule_wait(schedule);
    }
    ompi_data_t all = ompi_data(halving->home.buffer, halving->value.count, halving->value.type);
    if (!is_idle(halving, root))
        return;
    if (schedule->rank == root)
        ompi_coll_recv(schedule, root + 1, all);
    else if (actor == top)
        ompi_coll_send(schedule, root, all);
}

void p2p_halving_scatter(p2p_halving_t *halving, ompi_data_t result)
{
    ompi_schedule_t *schedule = halving->schedule;
    int actor = halving->actor;
    if (actor < 0) {
        ompi_coll_recv(schedule, schedule->rank + 1, result);
        return;
    }
    ompi_data_t piece = pieces(halving, halving->home.buffer, actor, actor + 1);
    size_t before = 0;
    if (actor < schedule->size - halving->actors) {
        before = ompi_coll_count(halving->counts, schedule->rank - 1);
        ompi_coll_send(schedule, schedule->rank - 1, ompi_coll_part(piece, 0, before));
    }
    ompi_coll_copy(schedule, ompi_coll_part(piece, before, result.count), result);
}
