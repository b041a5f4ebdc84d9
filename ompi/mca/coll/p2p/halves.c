/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction by halving: log2(n) a + m b + m g. Pairs of ranks split what they have between them,
 * each reduces its half, and goes on with half the data and half the ranks, until each has the
 * result of one piece. How the pieces come together again is up to the operation.
 *
 * Only powers of two of ranks take part: of the first 2 (n - power), the even ones leave their
 * operand to the odd ones. Who takes part is an actor, numbered in the order of the ranks. Operands
 * meet in any order, so the operator commutes.
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* The rank of an actor. */
static int actor_rank(const p2p_halves_t *halves, int actor)
{
    int extra = halves->schedule->size - halves->actors;
    return actor < extra ? 2 * actor + 1 : actor + extra;
}

/* The actor that a rank is, or that acts for it. */
static int actor_of(const p2p_halves_t *halves, int rank)
{
    int extra = halves->schedule->size - halves->actors;
    return rank < 2 * extra ? rank / 2 : rank - extra;
}

static bool is_idle(const p2p_halves_t *halves, int rank)
{
    return rank < 2 * (halves->schedule->size - halves->actors) && rank % 2 == 0;
}

/* The first element of an actor's piece. */
static size_t edge(const p2p_halves_t *halves, int actor)
{
    size_t count = halves->value.count, actors = (size_t)halves->actors, at = (size_t)actor;
    if (halves->counts == NULL)
        return count / actors * at + (at < count % actors ? at : count % actors);
    int end = actor < halves->actors ? actor_rank(halves, actor) : halves->schedule->size;
    if (actor < halves->schedule->size - halves->actors)
        end--; /* its piece begins with that of the idle rank before it */
    size_t first = 0;
    for (int rank = 0; rank < end; rank++)
        first += p2p_count(halves->counts, rank);
    return first;
}

/* The pieces of the actors from `first` up to `end`, in a buffer that is laid out like all. */
static ompi_data_t pieces(const p2p_halves_t *halves, const void *buffer, int first, int end)
{
    size_t from = edge(halves, first);
    ompi_data_t all = ompi_data(buffer, halves->value.count, halves->value.type);
    return p2p_part(all, from, edge(halves, end) - from);
}

static void take_memory(const p2p_halves_t *halves, p2p_buffer_t *memory)
{
    if (!memory->is_there)
        *memory = p2p_buffer(
            ompi_schedule_elements(halves->schedule, halves->value.count, halves->value.type));
}

void p2p_halves_init(p2p_halves_t *halves, ompi_schedule_t *schedule, ompi_data_t contribution,
                     p2p_buffer_t home, const ompi_coll_side_t *counts)
{
    *halves = (p2p_halves_t){
        .schedule = schedule,
        .value = contribution,
        .home = home,
        .counts = counts,
        .actors = p2p_power(schedule->size),
    };
    halves->actor = is_idle(halves, schedule->rank) ? -1 : actor_of(halves, schedule->rank);
    if (halves->actor < 0)
        return;
    take_memory(halves, &halves->home);
    if (halves->home.buffer == contribution.buffer)
        take_memory(halves, &halves->spare);
}

static void add_reduce(const p2p_halves_t *halves, ompi_data_t in, ompi_data_t inout)
{
    if (inout.count > 0)
        ompi_schedule_reduce(halves->schedule, in.buffer, inout);
}

/* Receives the operand of those pieces, and sends others to the same rank. The value of the pieces
 * is at home afterwards. */
static void meet(p2p_halves_t *halves, int peer, ompi_data_t out, int first, int end)
{
    ompi_data_t at_home = pieces(halves, halves->home.buffer, first, end);
    ompi_data_t value = pieces(halves, halves->value.buffer, first, end);
    bool is_home = halves->value.buffer == halves->home.buffer;
    ompi_data_t in = is_home ? pieces(halves, halves->spare.buffer, first, end) : at_home;
    p2p_send(halves->schedule, peer, out);
    p2p_recv(halves->schedule, peer, in);
    ompi_schedule_wait(halves->schedule);
    add_reduce(halves, is_home ? in : value, at_home);
}

/* What was the user's is at home from now on; later operands need a place of their own. */
static void move_home(p2p_halves_t *halves)
{
    halves->value.buffer = halves->home.buffer;
    take_memory(halves, &halves->spare);
}

void p2p_halves_reduce(p2p_halves_t *halves)
{
    ompi_schedule_t *schedule = halves->schedule;
    int actor = halves->actor, first = 0, end = halves->actors;
    if (actor < 0) {
        p2p_send(schedule, schedule->rank + 1, halves->value);
        ompi_schedule_wait(schedule);
        return;
    }
    if (actor < schedule->size - halves->actors) {
        meet(halves, schedule->rank - 1, ompi_data(NULL, 0, halves->value.type), 0, end);
        move_home(halves);
    }
    for (int distance = halves->actors / 2; distance > 0; distance /= 2) {
        bool is_lower = (actor & distance) == 0;
        int middle = first + distance, peer = actor_rank(halves, actor ^ distance);
        ompi_data_t lower = pieces(halves, halves->value.buffer, first, middle);
        ompi_data_t upper = pieces(halves, halves->value.buffer, middle, end);
        first = is_lower ? first : middle;
        end = is_lower ? middle : end;
        meet(halves, peer, is_lower ? upper : lower, first, end);
        if (distance > 1)
            move_home(halves);
    }
}

void p2p_halves_allgather(p2p_halves_t *halves)
{
    ompi_schedule_t *schedule = halves->schedule;
    int actor = halves->actor;
    for (int have = 1; actor >= 0 && have < halves->actors; have *= 2) {
        int other = actor ^ have, ours = actor & -have, theirs = other & -have;
        int peer = actor_rank(halves, other);
        p2p_send(schedule, peer, pieces(halves, halves->home.buffer, ours, ours + have));
        p2p_recv(schedule, peer, pieces(halves, halves->home.buffer, theirs, theirs + have));
        ompi_schedule_wait(schedule);
    }
    ompi_data_t all = ompi_data(halves->home.buffer, halves->value.count, halves->value.type);
    if (actor < 0)
        p2p_recv(schedule, schedule->rank + 1, all);
    else if (actor < schedule->size - halves->actors)
        p2p_send(schedule, schedule->rank - 1, all);
}

void p2p_halves_gather(p2p_halves_t *halves, int root)
{
    ompi_schedule_t *schedule = halves->schedule;
    int actor = halves->actor, top = actor_of(halves, root);
    for (int have = 1; actor >= 0 && have < halves->actors; have *= 2) {
        int other = actor ^ have, ours = actor & -have, theirs = other & -have;
        int peer = actor_rank(halves, other);
        if ((actor ^ top) & have) {
            p2p_send(schedule, peer, pieces(halves, halves->home.buffer, ours, ours + have));
            break;
        }
        p2p_recv(schedule, peer, pieces(halves, halves->home.buffer, theirs, theirs + have));
        ompi_schedule_wait(schedule);
    }
    ompi_data_t all = ompi_data(halves->home.buffer, halves->value.count, halves->value.type);
    if (!is_idle(halves, root))
        return;
    if (schedule->rank == root)
        p2p_recv(schedule, root + 1, all);
    else if (actor == top)
        p2p_send(schedule, root, all);
}

void p2p_halves_scatter_rest(p2p_halves_t *halves, ompi_data_t result)
{
    ompi_schedule_t *schedule = halves->schedule;
    int actor = halves->actor;
    if (actor < 0) {
        p2p_recv(schedule, schedule->rank + 1, result);
        return;
    }
    ompi_data_t piece = pieces(halves, halves->home.buffer, actor, actor + 1);
    size_t before = 0;
    if (actor < schedule->size - halves->actors) {
        before = p2p_count(halves->counts, schedule->rank - 1);
        p2p_send(schedule, schedule->rank - 1, p2p_part(piece, 0, before));
    }
    p2p_copy(schedule, p2p_part(piece, before, result.count), result);
}
