/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of collectives, against a serial model.
 *
 *   coll_random SEED SECONDS
 *
 * All ranks draw the same program from the seed: kind, form, root, counts, types, operator. Each
 * rank draws for itself whether it calls MPI_X or MPI_X_c. Every
 * word that is sent is a hash of where it comes from, so each rank can say alone what must be in
 * its buffers. They are compared whole: what lies in the gaps of types, between blocks and around
 * the buffer must be what it was. Nonblocking operations stay outstanding, and are completed in an
 * order that each rank draws for itself.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "coll_kinds.h"
#include "tap.h"

enum { RANKS_MAX = 128, WORDS_MAX = 2, STEPS = 100, OUTSTANDING_MAX = 12, MARGIN = 64 };

/* -- chance -------------------------------------------------------------------------- */

static uint64_t common_state, own_state;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ (x >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ (x >> 33);
}

static unsigned draw(uint64_t *state, unsigned below)
{
    return (unsigned)(mix(*state += UINT64_C(0x9e3779b97f4a7c15)) % below);
}

static unsigned hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (unsigned)mix(mix(mix(mix(a + 1) + b + 1) + c + 1) + d + 1);
}

/* -- types --------------------------------------------------------------------------- */

/* A type is words (ints) at some offsets. */
typedef struct layout {
    MPI_Datatype type;
    int words;
    int offset[WORDS_MAX], extent;
} layout_t;

enum { LAYOUTS = 6, PLAIN_1 = 0, PLAIN_2 = 2 };

static layout_t layouts[LAYOUTS];

static void make_layout(layout_t *layout, int words, int first, int second, int extent)
{
    MPI_Datatype type;
    MPI_Aint displs[WORDS_MAX] = {first, second};
    int lengths[WORDS_MAX] = {1, 1}, low = words == 2 && second < first ? second : first;
    *layout = (layout_t){MPI_DATATYPE_NULL, words, {first, second}, extent};
    MPI_Type_create_hindexed(words, lengths, displs, MPI_INT, &type);
    MPI_Type_create_resized(type, low, extent, &layout->type);
    MPI_Type_commit(&layout->type);
    MPI_Type_free(&type);
}

static void make_layouts(void)
{
    layouts[PLAIN_1] = (layout_t){MPI_INT, 1, {0}, 4};
    make_layout(&layouts[1], 1, 4, 0, 12);
    make_layout(&layouts[PLAIN_2], 2, 0, 4, 8);
    make_layout(&layouts[3], 2, 0, 12, 20);
    make_layout(&layouts[4], 2, 4, -8, 16);
    make_layout(&layouts[5], 2, 8, 0, 12);
}

static void free_layouts(void)
{
    for (int i = 1; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
}

/* Any one of that many words. */
static const layout_t *pick_layout(int words, unsigned by)
{
    return words == 1 ? &layouts[by % 2] : &layouts[2 + by % 4];
}

/* -- operators ----------------------------------------------------------------------- */

typedef enum fold { FOLD_SUM, FOLD_MAX, FOLD_XOR, FOLD_CHAIN, FOLD_PAIRS, FOLDS } fold_t;

static MPI_Op ops[FOLDS];

/* a = a fold b, of one element. FOLD_CHAIN composes x -> f x + s, which does not commute. */
static void fold_words(fold_t fold, unsigned *a, const unsigned *b)
{
    switch (fold) {
    case FOLD_SUM:
        a[0] += b[0];
        break;
    case FOLD_MAX:
        a[0] = (int)a[0] > (int)b[0] ? a[0] : b[0];
        break;
    case FOLD_XOR:
        a[0] ^= b[0];
        break;
    case FOLD_CHAIN:
        a[1] = a[1] * b[0] + b[1];
        a[0] *= b[0];
        break;
    default:
        a[0] += b[0];
        a[1] ^= b[1];
    }
}

static void fold_user(fold_t fold, char *in, char *inout, int count, MPI_Datatype type)
{
    const layout_t *layout = layouts;
    while (layout->type != type)
        layout++;
    for (int i = 0; i < count; i++) {
        unsigned a[WORDS_MAX], b[WORDS_MAX];
        for (int w = 0; w < 2; w++) {
            memcpy(&a[w], in + i * layout->extent + layout->offset[w], sizeof(int));
            memcpy(&b[w], inout + i * layout->extent + layout->offset[w], sizeof(int));
        }
        fold_words(fold, a, b);
        for (int w = 0; w < 2; w++)
            memcpy(inout + i * layout->extent + layout->offset[w], &a[w], sizeof(int));
    }
}

static void chain(void *in, void *inout, int *count, MPI_Datatype *type)
{
    fold_user(FOLD_CHAIN, in, inout, *count, *type);
}

static void pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    fold_user(FOLD_PAIRS, in, inout, *count, *type);
}

/* -- sides --------------------------------------------------------------------------- */

/* One side of a call: blocks in a buffer, and the image that the buffer must have in the end. */
typedef struct side {
    int blocks;
    bool in_bytes; /* displs */
    int counts[RANKS_MAX], displs[RANKS_MAX];
    MPI_Count large_counts[RANKS_MAX]; /* the same, for X_c */
    MPI_Aint large_displs[RANKS_MAX];
    const layout_t *layouts[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    uint64_t salt;
    size_t bytes;
    char *memory, *image, *buffer;
} side_t;

/* What is in the memory before any data. */
static void paint(side_t *side)
{
    for (size_t i = 0; i < side->bytes; i++)
        side->memory[i] = (char)(i * 7 + side->salt);
    memcpy(side->image, side->memory, side->bytes);
}

/* Blocks with their counts and layouts are there: places them, with gaps if there may be some. */
static void place_side(side_t *side, bool gaps, uint64_t salt)
{
    int at = 0;
    for (int b = 0; b < side->blocks; b++) {
        int unit = side->in_bytes ? 1 : side->layouts[b]->extent;
        side->types[b] = side->layouts[b]->type;
        at += gaps ? unit * (int)(hash(salt, 1, (uint64_t)b, 0) % 3) : 0;
        at += side->in_bytes ? 16 : 0; /* the next one may begin before its address */
        side->displs[b] = at / unit;
        at += side->counts[b] * side->layouts[b]->extent;
        side->large_counts[b] = side->counts[b];
        side->large_displs[b] = side->displs[b];
    }
    side->bytes = (size_t)at + 2 * MARGIN;
    side->salt = salt;
    side->memory = malloc(side->bytes);
    side->image = malloc(side->bytes);
    side->buffer = side->memory + MARGIN;
    paint(side);
}

static char *word_at(const side_t *side, char *memory, int b, int i, int w)
{
    const layout_t *layout = side->layouts[b];
    int displ = side->displs[b] * (side->in_bytes ? 1 : layout->extent);
    return memory + MARGIN + displ + i * layout->extent + layout->offset[w];
}

/* -- calls --------------------------------------------------------------------------- */

typedef struct call {
    uint64_t step;
    uint64_t data; /* goes up with each start */
    kind_t kind;
    form_t form;
    MPI_Comm comm;
    int rank, size, root, count, words;
    fold_t fold;
    bool in_place;
    bool is_large; /* X_c */
    int starts;    /* of a persistent one, that are still to come */
    side_t send, recv;
    MPI_Request request;
} call_t;

static bool is_reduction(kind_t kind)
{
    return kind == ALLREDUCE || kind == EXSCAN || kind == REDUCE || is_reduce_scatter(kind) ||
           kind == SCAN;
}

static bool has_counts(kind_t kind)
{
    return kind == ALLGATHERV || kind == ALLTOALLV || kind == ALLTOALLW || kind == GATHERV ||
           kind == REDUCE_SCATTER || kind == SCATTERV;
}

/* The elements that go from one rank to another, or that a rank gives or gets. */
static int count_of(const call_t *call, int from, int to)
{
    unsigned limit = 2 * (unsigned)call->count + 1;
    if (!has_counts(call->kind))
        return call->count;
    if (!is_alltoall(call->kind)) /* the rank that is not the root, or whose block it is */
        return (int)(hash(call->step, 2, (uint64_t)to, 0) % limit);
    if (call->in_place && from > to)
        return count_of(call, to, from);
    return (int)(hash(call->step, 3, (uint64_t)from, (uint64_t)to) % limit);
}

/* What a rank has in a block before the call. */
static unsigned input(const call_t *call, int rank, int b, int i, int w)
{
    return hash(call->data, 1000 + (uint64_t)rank, (uint64_t)b, 4 * (uint64_t)i + (uint64_t)w);
}

/* Elements of the blocks before one, in a reduction. */
static int elements_before(const call_t *call, int b)
{
    int before = 0;
    for (int r = 0; r < b; r++)
        before += count_of(call, r, r);
    return before;
}

static void fold_ranks(const call_t *call, int end, int i, unsigned result[WORDS_MAX])
{
    for (int rank = 0; rank < end; rank++) {
        unsigned operand[WORDS_MAX] = {0};
        for (int w = 0; w < call->words; w++)
            operand[w] = input(call, rank, 0, i, w);
        if (rank == 0)
            memcpy(result, operand, sizeof operand);
        else
            fold_words(call->fold, result, operand);
    }
}

/* What must be in an element of the receiving side. */
static void expect_element(const call_t *call, int b, int i, unsigned words[WORDS_MAX])
{
    int rank = call->rank, from = b;
    if (is_reduction(call->kind)) {
        int end = call->kind == SCAN ? rank + 1 : call->kind == EXSCAN ? rank : call->size;
        bool scatters = is_reduce_scatter(call->kind);
        fold_ranks(call, end, scatters ? elements_before(call, rank) + i : i, words);
        return;
    }
    if (call->kind == BCAST || is_scatter(call->kind))
        from = call->root;
    bool has_blocks = is_alltoall(call->kind) || is_scatter(call->kind);
    for (int w = 0; w < call->words; w++)
        words[w] = input(call, from, has_blocks ? rank : 0, i, w);
}

static void expect(call_t *call)
{
    side_t *side = &call->recv;
    bool is_root = call->rank == call->root;
    if (call->kind == BARRIER || (call->kind == EXSCAN && call->rank == 0) ||
        ((is_gather(call->kind) || call->kind == REDUCE) && !is_root) ||
        (is_scatter(call->kind) && is_root && call->in_place))
        return;
    bool scatters = is_reduce_scatter(call->kind);
    for (int b = 0; b < side->blocks; b++) {
        int count = scatters ? count_of(call, call->rank, call->rank) : side->counts[b];
        for (int i = 0; i < count; i++) {
            unsigned words[WORDS_MAX] = {0};
            expect_element(call, b, i, words);
            for (int w = 0; w < call->words; w++)
                memcpy(word_at(side, side->image, b, i, w), &words[w], sizeof(int));
        }
    }
}

/* Writes the rank's data into a block, as the call finds it. */
static void fill(const call_t *call, side_t *side, int b, int input_block)
{
    for (int i = 0; i < side->counts[b]; i++) {
        for (int w = 0; w < call->words; w++) {
            unsigned word = input(call, call->rank, input_block, i, w);
            memcpy(word_at(side, side->memory, b, i, w), &word, sizeof word);
            memcpy(word_at(side, side->image, b, i, w), &word, sizeof word);
        }
    }
}

static void set_blocks(const call_t *call, side_t *side, bool sends, int blocks)
{
    bool is_w = call->kind == ALLTOALLW;
    side->blocks = blocks;
    side->in_bytes = is_w;
    for (int b = 0; b < blocks; b++) {
        uint64_t salt = 10 + 2 * (uint64_t)call->rank + sends;
        bool one_count = is_reduction(call->kind);
        side->counts[b] = blocks == 1 ? count_of(call, call->rank, call->rank)
                          : sends     ? count_of(call, call->rank, b)
                                      : count_of(call, b, is_alltoall(call->kind) ? call->rank : b);
        if (one_count && is_reduce_scatter(call->kind))
            side->counts[b] =
                sends || call->in_place ? elements_before(call, call->size) : side->counts[b];
        side->layouts[b] =
            pick_layout(call->words, one_count ? hash(call->step, 5, 0, 0)
                                               : hash(call->step, salt, is_w ? (uint64_t)b : 0, 6));
        if (is_reduction(call->kind) && call->words == 1)
            side->layouts[b] = &layouts[PLAIN_1];
    }
}

/* Both sides as this rank gives them; a side that it does not give has no blocks. */
static void make_sides(call_t *call)
{
    kind_t kind = call->kind;
    bool is_root = call->rank == call->root;
    int n = call->size, send = 1, recv = 1;
    if (kind == BARRIER)
        send = recv = 0;
    else if (kind == BCAST)
        send = 0;
    else if (is_alltoall(kind))
        send = recv = n;
    else if (is_allgather(kind))
        recv = n;
    else if (is_gather(kind))
        recv = is_root ? n : 0;
    else if (is_scatter(kind))
        send = is_root ? n : 0;
    set_blocks(call, &call->send, true, send);
    set_blocks(call, &call->recv, false, recv);
    bool gaps = has_counts(kind) && kind != REDUCE_SCATTER;
    place_side(&call->send, gaps && send > 1, 2 * call->step);
    place_side(&call->recv, gaps && recv > 1, 2 * call->step + 1);
}

/* The rank's data, where it gives it. */
static void fill_sides(call_t *call)
{
    kind_t kind = call->kind;
    bool is_root = call->rank == call->root;
    for (int b = 0; b < call->send.blocks; b++)
        fill(call, &call->send, b, b);
    if (kind == BCAST && is_root)
        fill(call, &call->recv, 0, 0);
    if (!call->in_place)
        return;
    if (is_alltoall(kind)) {
        for (int b = 0; b < call->size; b++)
            fill(call, &call->recv, b, b);
    } else if ((is_gather(kind) && is_root) || is_allgather(kind)) {
        fill(call, &call->recv, call->rank, 0);
    } else if (is_reduction(kind) && (kind != REDUCE || is_root)) {
        fill(call, &call->recv, 0, 0);
    }
}

#define CALL_FORM(c, ...) COLL_FORM(call->form, &call->request, c, __VA_ARGS__)
#define CALL(upper, lower, ...)                                                                    \
    (call->is_large ? CALL_FORM(_c, upper, lower, __VA_ARGS__)                                     \
                    : CALL_FORM(, upper, lower, __VA_ARGS__))

/* What X and X_c are given as arrays. */
typedef struct arrays {
    const int *sendcounts, *sdispls, *recvcounts, *rdispls;
} arrays_t;

typedef struct large_arrays {
    const MPI_Count *sendcounts, *recvcounts;
    const MPI_Aint *sdispls, *rdispls;
} large_arrays_t;

/* CALL for arguments that name the arrays as those of `with`. */
#define CALL_V(upper, lower, ...)                                                                  \
    (call->is_large ? ({                                                                           \
        large_arrays_t with = {s->large_counts, r->large_counts, s->large_displs,                  \
                               r->large_displs};                                                   \
        CALL_FORM(_c, upper, lower, __VA_ARGS__);                                                  \
    })                                                                                             \
                    : ({                                                                           \
                          arrays_t with = {s->counts, s->displs, r->counts, r->displs};            \
                          CALL_FORM(, upper, lower, __VA_ARGS__);                                  \
                      }))

static int start_movement(call_t *call, void *sendbuf, void *recvbuf)
{
    side_t *s = &call->send, *r = &call->recv;
    MPI_Comm comm = call->comm;
    int root = call->root;
    switch (call->kind) {
    case ALLGATHER:
        return CALL(Allgather, allgather, sendbuf, s->counts[0], s->types[0], recvbuf, r->counts[0],
                    r->types[0], comm);
    case ALLGATHERV:
        return CALL_V(Allgatherv, allgatherv, sendbuf, s->counts[0], s->types[0], recvbuf,
                      with.recvcounts, with.rdispls, r->types[0], comm);
    case ALLTOALL:
        return CALL(Alltoall, alltoall, sendbuf, s->counts[0], s->types[0], recvbuf, r->counts[0],
                    r->types[0], comm);
    case ALLTOALLV:
        return CALL_V(Alltoallv, alltoallv, sendbuf, with.sendcounts, with.sdispls, s->types[0],
                      recvbuf, with.recvcounts, with.rdispls, r->types[0], comm);
    case ALLTOALLW:
        return CALL_V(Alltoallw, alltoallw, sendbuf, with.sendcounts, with.sdispls, s->types,
                      recvbuf, with.recvcounts, with.rdispls, r->types, comm);
    case GATHER:
        return CALL(Gather, gather, sendbuf, s->counts[0], s->types[0], recvbuf, r->counts[0],
                    r->types[0], root, comm);
    case GATHERV:
        return CALL_V(Gatherv, gatherv, sendbuf, s->counts[0], s->types[0], recvbuf,
                      with.recvcounts, with.rdispls, r->types[0], root, comm);
    case SCATTER:
        return CALL(Scatter, scatter, sendbuf, s->counts[0], s->types[0], recvbuf, r->counts[0],
                    r->types[0], root, comm);
    case SCATTERV:
        return CALL_V(Scatterv, scatterv, sendbuf, with.sendcounts, with.sdispls, s->types[0],
                      recvbuf, r->counts[0], r->types[0], root, comm);
    case BCAST:
        return CALL(Bcast, bcast, recvbuf, r->counts[0], r->types[0], root, comm);
    default:
        return CALL_FORM(, Barrier, barrier, comm);
    }
}

static int start_reduction(call_t *call, void *sendbuf, void *recvbuf)
{
    MPI_Comm comm = call->comm;
    MPI_Op op = ops[call->fold];
    MPI_Datatype type = call->recv.types[0];
    side_t shares = {0}, *s = &shares, *r = &shares;
    int count = call->count;
    switch (call->kind) {
    case ALLREDUCE:
        return CALL(Allreduce, allreduce, sendbuf, recvbuf, count, type, op, comm);
    case EXSCAN:
        return CALL(Exscan, exscan, sendbuf, recvbuf, count, type, op, comm);
    case SCAN:
        return CALL(Scan, scan, sendbuf, recvbuf, count, type, op, comm);
    case REDUCE:
        return CALL(Reduce, reduce, sendbuf, recvbuf, count, type, op, call->root, comm);
    case REDUCE_SCATTER_BLOCK:
        return CALL(Reduce_scatter_block, reduce_scatter_block, sendbuf, recvbuf, count, type, op,
                    comm);
    default:
        for (int i = 0; i < call->size; i++)
            shares.large_counts[i] = shares.counts[i] = count_of(call, i, i);
        return CALL_V(Reduce_scatter, reduce_scatter, sendbuf, recvbuf, with.recvcounts, type, op,
                      comm);
    }
}

static void start(call_t *call)
{
    bool in_place = call->in_place && (!is_rooted(call->kind) || call->rank == call->root);
    bool scatters = is_scatter(call->kind);
    void *sendbuf = in_place && !scatters ? MPI_IN_PLACE : call->send.buffer;
    void *recvbuf = in_place && scatters ? MPI_IN_PLACE : call->recv.buffer;
    int error = is_reduction(call->kind) ? start_reduction(call, sendbuf, recvbuf)
                                         : start_movement(call, sendbuf, recvbuf);
    if (error == MPI_SUCCESS && call->form == PERSISTENT)
        error = MPI_Start(&call->request);
    if (error != MPI_SUCCESS)
        tap_check(false, "%s begins: %d", kind_names[call->kind], error);
}

/* -- programs ------------------------------------------------------------------------ */

static int calls_done, calls_wrong;

static bool is_right(const side_t *side)
{
    return memcmp(side->memory, side->image, side->bytes) == 0;
}

static void check(const call_t *call)
{
    if (!is_right(&call->send) || !is_right(&call->recv)) {
        if (calls_wrong++ < 5)
            fprintf(stderr,
                    "rank %d of %d, step %llu: %s, form %d, count %d of %d words, root %d, "
                    "operator %d%s%s: the %s buffer is wrong\n",
                    call->rank, call->size, (unsigned long long)call->step, kind_names[call->kind],
                    call->form, call->count, call->words, call->root, call->fold,
                    call->in_place ? ", in place" : "", call->is_large ? ", large" : "",
                    is_right(&call->send) ? "receive" : "send");
    }
    calls_done++;
}

static void finish(call_t *call)
{
    check(call);
    if (call->request != MPI_REQUEST_NULL)
        MPI_Request_free(&call->request);
    free(call->send.memory);
    free(call->send.image);
    free(call->recv.memory);
    free(call->recv.image);
    free(call);
}

/* A persistent one with other data. */
static void start_again(call_t *call)
{
    call->starts--;
    call->data += UINT64_C(1) << 32;
    paint(&call->recv);
    fill_sides(call);
    expect(call);
    MPI_Start(&call->request);
}

static int draw_count(void)
{
    switch (draw(&common_state, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return (int)draw(&common_state, 40000);
    case 3:
        return (int)draw(&common_state, 3000);
    default:
        return (int)draw(&common_state, 40);
    }
}

static call_t *draw_call(uint64_t step, MPI_Comm comm)
{
    call_t *call = calloc(1, sizeof *call);
    call->step = call->data = step;
    call->comm = comm;
    MPI_Comm_rank(comm, &call->rank);
    MPI_Comm_size(comm, &call->size);
    call->kind = (kind_t)draw(&common_state, KINDS);
    call->form = (form_t)draw(&common_state, FORMS);
    call->count = draw_count();
    if (call->size > 16)
        call->count /= 16;
    call->words = 1 + (int)draw(&common_state, WORDS_MAX);
    call->fold = call->words == 1 ? (fold_t)draw(&common_state, 3)
                                  : (fold_t)(FOLD_CHAIN + draw(&common_state, 2));
    call->root = (int)(draw(&common_state, 1000) % (unsigned)call->size);
    call->in_place = draw(&common_state, 3) == 0 && call->kind != BARRIER && call->kind != BCAST;
    call->is_large = draw(&own_state, 2) == 0;
    call->request = MPI_REQUEST_NULL;
    call->starts = call->form == PERSISTENT ? (int)draw(&common_state, 4) : 0;
    make_sides(call);
    fill_sides(call);
    expect(call);
    return call;
}

/* Persistent ones that are done and will be started again. */
static call_t *idle[STEPS];
static int idle_count;

/* Completes one of those that are outstanding, or looks whether one is done. */
static int complete_one(call_t *calls[], int count)
{
    MPI_Request requests[STEPS];
    int which = (int)draw(&own_state, (unsigned)count), is_done = 1;
    for (int i = 0; i < count; i++)
        requests[i] = calls[i]->request;
    switch (draw(&own_state, 3)) {
    case 0:
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Waitany(count, requests, &which, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Test(&requests[which], &is_done, MPI_STATUS_IGNORE);
    }
    calls[which]->request = requests[which];
    if (!is_done)
        return count;
    call_t *done = calls[which];
    calls[which] = calls[count - 1];
    if (done->starts == 0) {
        finish(done);
    } else {
        check(done);
        idle[idle_count++] = done;
    }
    return count - 1;
}

/* World, self, and others with other ranks: reversed, every other rank, a part of the world. */
enum { COMMS = 5 };
static MPI_Comm comms[COMMS];

static void make_comms(int rank)
{
    comms[0] = MPI_COMM_WORLD;
    comms[1] = MPI_COMM_SELF;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 3, rank % 3, &comms[4]);
}

static void run_steps(uint64_t first, int steps)
{
    call_t *calls[OUTSTANDING_MAX];
    int count = 0;
    for (int step = 0; step < steps; step++) {
        unsigned which = draw(&common_state, 2 * COMMS);
        MPI_Comm comm = comms[which < COMMS ? which : 0];
        call_t *call = draw_call(first + (uint64_t)step, comm);
        start(call);
        if (call->form == BLOCKING)
            finish(call);
        else
            calls[count++] = call;
        while (count == OUTSTANDING_MAX || (count > 0 && draw(&own_state, 3) == 0))
            count = complete_one(calls, count);
    }
    while (count > 0)
        count = complete_one(calls, count);
}

/* Each rank starts the persistent ones in an order of its own. All have the same ones. */
static void run_idle(void)
{
    while (idle_count > 0) {
        call_t *calls[STEPS];
        int count = idle_count;
        memcpy(calls, idle, sizeof calls);
        idle_count = 0;
        for (int i = 0; i < count; i++) {
            int other = i + (int)draw(&own_state, (unsigned)(count - i));
            call_t *call = calls[other];
            calls[other] = calls[i];
            calls[i] = call;
            start_again(call);
        }
        while (count > 0)
            count = complete_one(calls, count);
    }
}

int main(int argc, char **argv)
{
    int rank, size, go_on = 1;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = 0;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    tap_check(size <= RANKS_MAX, "%d ranks are not too many", size);
    common_state = mix(seed);
    own_state = mix(seed + 1000 + (uint64_t)rank);
    make_layouts();
    make_comms(rank);
    ops[FOLD_SUM] = MPI_SUM;
    ops[FOLD_MAX] = MPI_MAX;
    ops[FOLD_XOR] = MPI_BXOR;
    MPI_Op_create(chain, 0, &ops[FOLD_CHAIN]);
    MPI_Op_create(pairs, 1, &ops[FOLD_PAIRS]);
    double end = MPI_Wtime() + seconds;
    for (; go_on; steps += STEPS) {
        run_steps(steps, STEPS);
        run_idle();
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Op_free(&ops[FOLD_CHAIN]);
    MPI_Op_free(&ops[FOLD_PAIRS]);
    free_layouts();
    for (int i = 2; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    tap_check(calls_wrong == 0, "seed %llu: %d of %d collectives are wrong",
              (unsigned long long)seed, calls_wrong, calls_done);
    MPI_Finalize();
    return tap_finish();
}
