/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made and freed at random, against a model: every rank knows of every communicator
 * who is in it, on which side and in which order. All draw the same numbers, so all know what the
 * others do.
 *
 *   comm_random SEED SECONDS
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { RANKS = 16, SLOTS = 24, STEPS = 400 };

/* The sides of a communicator, ranks of MPI_COMM_WORLD in their order; other[0]: no other side. */
typedef struct model {
    bool is_used;
    int count[2];
    int ranks[2][RANKS];
    MPI_Comm comm; /* MPI_COMM_NULL: not of this rank */
} model_t;

static int rank, size;
static unsigned state;
static model_t models[SLOTS];
static MPI_Group world;

static int draw(int bound)
{
    return (int)((unsigned)rand_r(&state) % (unsigned)bound);
}

static int place_in(const model_t *model, int side, int who)
{
    for (int i = 0; i < model->count[side]; i++) {
        if (model->ranks[side][i] == who)
            return i;
    }
    return -1;
}

static model_t *free_slot(void)
{
    for (int i = 0; i < SLOTS; i++) {
        if (!models[i].is_used) {
            memset(&models[i], 0, sizeof models[i]);
            models[i].is_used = true;
            models[i].comm = MPI_COMM_NULL;
            return &models[i];
        }
    }
    return NULL;
}

static model_t *draw_used(void)
{
    int first = draw(SLOTS);
    while (!models[first % SLOTS].is_used)
        first++;
    return &models[first % SLOTS];
}

static bool group_is(MPI_Group group, int count, const int ranks[])
{
    int n = -1, there[RANKS], numbers[RANKS];
    MPI_Group_size(group, &n);
    bool same = n == count;
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    if (same)
        MPI_Group_translate_ranks(group, n, numbers, world, there);
    same = same && memcmp(there, ranks, (size_t)count * sizeof *there) == 0;
    MPI_Group_free(&group);
    return same;
}

/* Members check groups and ranks, and send their number and the slot's to the next one. */
static bool is_right(const model_t *model)
{
    int side = place_in(model, 0, rank) >= 0 ? 0 : 1, own = place_in(model, side, rank), mine = -1;
    MPI_Group group;
    if (own < 0)
        return model->comm == MPI_COMM_NULL;
    if (model->comm == MPI_COMM_NULL)
        return false;
    MPI_Comm_rank(model->comm, &mine);
    MPI_Comm_group(model->comm, &group);
    bool right = mine == own && group_is(group, model->count[side], model->ranks[side]);
    int other = model->count[1] > 0 ? 1 - side : side, count = model->count[other];
    if (other != side) {
        MPI_Comm_remote_group(model->comm, &group);
        right &= group_is(group, count, model->ranks[other]);
    }
    /* To all that can be reached, from all. */
    int message[2] = {rank, (int)(model - models)}, got[RANKS][2];
    MPI_Request requests[2 * RANKS];
    for (int i = 0; i < count; i++) {
        MPI_Irecv(got[i], 2, MPI_INT, i, 1, model->comm, &requests[i]);
        MPI_Isend(message, 2, MPI_INT, i, 1, model->comm, &requests[count + i]);
    }
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        right &= got[i][0] == model->ranks[other][i] && got[i][1] == message[1];
    return right;
}

static void keep(model_t *model, MPI_Comm comm)
{
    model->comm = comm;
    if (model->count[0] == 0)
        model->is_used = false;
}

static void do_dup(const model_t *from, bool nonblocking)
{
    model_t *to = free_slot();
    MPI_Comm comm = MPI_COMM_NULL;
    memcpy(to->count, from->count, sizeof to->count);
    memcpy(to->ranks, from->ranks, sizeof to->ranks);
    if (from->comm != MPI_COMM_NULL && nonblocking) {
        MPI_Request request;
        MPI_Comm_idup(from->comm, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (from->comm != MPI_COMM_NULL) {
        MPI_Comm_dup(from->comm, &comm);
    }
    keep(to, comm);
}

static void insert(model_t *model, int side, int keys[], int key, int who)
{
    int at = model->count[side]++;
    for (; at > 0 && keys[at - 1] > key; at--) {
        keys[at] = keys[at - 1];
        model->ranks[side][at] = model->ranks[side][at - 1];
    }
    keys[at] = key;
    model->ranks[side][at] = who;
}

/* Up to two colors. */
static void do_split(const model_t *from)
{
    model_t *parts[2];
    int keys[2][2][RANKS], my_color = MPI_UNDEFINED, my_key = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    for (int i = 0; i < 2; i++)
        parts[i] = free_slot();
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < from->count[side]; i++) {
            int color = draw(3), key = draw(4) - 2, who = from->ranks[side][i];
            if (color < 2)
                insert(parts[color], side, keys[color][side], key, who);
            if (who == rank) {
                my_color = color < 2 ? color : MPI_UNDEFINED;
                my_key = key;
            }
        }
    }
    if (from->comm != MPI_COMM_NULL)
        MPI_Comm_split(from->comm, my_color, my_key, &comm);
    for (int i = 0; i < 2; i++) {
        if (from->count[1] > 0 && (parts[i]->count[0] == 0 || parts[i]->count[1] == 0))
            parts[i]->count[0] = parts[i]->count[1] = 0;
        keep(parts[i], my_color == i && parts[i]->count[0] > 0 ? comm : MPI_COMM_NULL);
    }
}

/* Some of the ranks, in some order. */
static void do_create(const model_t *from, bool by_group)
{
    model_t *to = free_slot();
    int chosen[RANKS], keys[RANKS], count = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    for (int i = 0; i < from->count[0]; i++) {
        int key = draw(1000);
        if (draw(3) > 0)
            insert(to, 0, keys, key, from->ranks[0][i]);
    }
    for (; count < to->count[0]; count++)
        chosen[count] = to->ranks[0][count];
    if (from->comm != MPI_COMM_NULL) {
        MPI_Group group;
        MPI_Group_incl(world, count, chosen, &group);
        if (!by_group)
            MPI_Comm_create(from->comm, group, &comm);
        else if (place_in(to, 0, rank) >= 0)
            MPI_Comm_create_group(from->comm, group, 77, &comm);
        if (group != MPI_GROUP_EMPTY)
            MPI_Group_free(&group);
    }
    keep(to, comm);
}

/* Between two communicators without a common process. */
static void do_intercomm(const model_t *a, const model_t *b)
{
    for (int i = 0; i < a->count[0]; i++) {
        if (place_in(b, 0, a->ranks[0][i]) >= 0)
            return;
    }
    model_t *to = free_slot();
    int leader_a = draw(a->count[0]), leader_b = draw(b->count[0]);
    MPI_Comm comm = MPI_COMM_NULL;
    to->count[0] = a->count[0];
    to->count[1] = b->count[0];
    memcpy(to->ranks[0], a->ranks[0], sizeof to->ranks[0]);
    memcpy(to->ranks[1], b->ranks[0], sizeof to->ranks[1]);
    if (a->comm != MPI_COMM_NULL)
        MPI_Intercomm_create(a->comm, leader_a, MPI_COMM_WORLD, b->ranks[0][leader_b], 5, &comm);
    else if (b->comm != MPI_COMM_NULL)
        MPI_Intercomm_create(b->comm, leader_b, MPI_COMM_WORLD, a->ranks[0][leader_a], 5, &comm);
    keep(to, comm);
}

static void do_merge(const model_t *from)
{
    model_t *to = free_slot();
    int high[2] = {draw(2), draw(2)}, first;
    MPI_Comm comm = MPI_COMM_NULL;
    first = high[0] != high[1] ? high[0] : from->ranks[0][0] > from->ranks[1][0];
    for (int i = 0; i < 2; i++) {
        int side = i == 0 ? first : 1 - first;
        for (int k = 0; k < from->count[side]; k++)
            to->ranks[0][to->count[0]++] = from->ranks[side][k];
    }
    if (from->comm != MPI_COMM_NULL)
        MPI_Intercomm_merge(from->comm, high[place_in(from, 0, rank) >= 0 ? 0 : 1], &comm);
    keep(to, comm);
}

static void do_free(model_t *model)
{
    if (model == &models[0])
        return; /* the world */
    if (model->comm != MPI_COMM_NULL)
        MPI_Comm_free(&model->comm);
    model->is_used = false;
}

static int count_used(void)
{
    int used = 0;
    for (int i = 0; i < SLOTS; i++)
        used += models[i].is_used;
    return used;
}

static void step(void)
{
    model_t *from = draw_used(), *other = draw_used();
    int what = draw(8);
    bool is_inter = from->count[1] > 0;
    if (what == 0 || count_used() > SLOTS - 4)
        do_free(from);
    else if (what <= 2)
        do_dup(from, what == 2);
    else if (what <= 4)
        do_split(from);
    else if (is_inter)
        do_merge(from);
    else if (what == 5 && other->count[1] == 0)
        do_intercomm(from, other);
    else
        do_create(from, what == 6);
}

/* Returns whether every communicator was right after each step. All are freed in the end. */
static bool run(int *steps)
{
    bool right = true;
    for (int i = 0; i < STEPS && right; i++, (*steps)++) {
        step();
        for (int k = 0; k < SLOTS; k++) {
            if (models[k].is_used && !is_right(&models[k]))
                right = tap_check(false, "slot %d is wrong after step %d", k, *steps);
        }
    }
    for (int k = 1; k < SLOTS; k++) {
        if (models[k].is_used)
            do_free(&models[k]);
    }
    return right;
}

int main(int argc, char **argv)
{
    int steps = 0, go_on = 1;
    bool right = true;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    tap_rank(rank);
    models[0] = (model_t){.is_used = true, .count = {size}, .comm = MPI_COMM_WORLD};
    for (int i = 0; i < size; i++)
        models[0].ranks[0][i] = i;
    double end = MPI_Wtime() + seconds;
    while (go_on && right) {
        right = run(&steps);
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    tap_check(right, "seed %s: %d steps", argc > 1 ? argv[1] : "1", steps);
    MPI_Group_free(&world);
    MPI_Finalize();
    return tap_finish();
}
