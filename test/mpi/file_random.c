/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on a file, against a model of the file in memory.
 *
 *   file_random [plain] [ROUND] SEED SECONDS
 *
 * All ranks draw the same program from the seed: modes, views, sizes, and for each rank what it
 * accesses in which way. So each rank has the whole model without a message. Two ranks do not
 * access a byte that one of them writes unless a sync (or, if the file is atomic, a barrier) lies
 * between. Each rank compares the buffer of a read with the model, byte for byte, and finds the
 * gaps of the buffer unchanged; when the file is closed, rank 0 compares the file with the model.
 *
 * "plain" leaves out what not every MPI does as the standard says, or what it does not say: no read
 * goes beyond the end of the file, every byte was written, only one nonblocking operation at a time
 * moves a pointer, the mode is MPI_MODE_RDWR, and no filetype is a struct.
 */
#include "file_calls.h"
#include "file_shapes.h"
#include "file_tests.h"

enum {
    BYTES_MAX = 1 << 18,
    BATCH_MAX = 4,
    STEPS = 60,
    GUARD = 16,
    PATTERN = 0xa5,
    NOBODY = -1,
    FAULTS_SHOWN = 5
};

static uint64_t seed, round_number, state;
static bool is_plain;
static long fault_count, operations;
static int step_number;

/* Of this round. */
static MPI_Comm comm;
static int own, ranks; /* in comm */
static MPI_File file;
static int limit, amode;
static bool is_atomic, is_common; /* all ranks have the same view */
static MPI_Offset disp;
static plan_t plan;
static shape_t shapes[RANKS_MAX];
static int pointers[RANKS_MAX], shared_pointer; /* in etypes */

/* The file: what is in it, and who has accessed it since the last sync. */
static unsigned char model[BYTES_MAX];
static signed char writers[BYTES_MAX];
static uint16_t readers[BYTES_MAX];
static unsigned batch_writes[BYTES_MAX], batch_reads[BYTES_MAX],
    batch; /* the last batch that did */
static int model_bytes, settled_bytes;
static bool is_end_read; /* since then */

/* One access of one rank. */
typedef struct access {
    file_call_t call;
    int rank, position, count; /* in etypes */
    int before;                /* the individual pointer */
    bool is_seek_set;
    uint64_t key;
    MPI_Status status;
    /* In this rank's memory. */
    int per_item, item_extent, item_offsets[2];
    size_t bytes;
    unsigned char *memory, *image;
    int expected; /* bytes that are read */
} access_t;

static access_t accesses[BATCH_MAX][RANKS_MAX];

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...)
{
    char text[TAP_LINE];
    va_list arguments;
    if (fault_count++ >= FAULTS_SHOWN)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr,
            "rank %d (%d of %d), step %d: %s\n  view: %s, etype %d, %s, disp %lld, %s; again: "
            "mpirun -n %d file_random%s %llu %llu 0\n",
            rank, own, ranks, step_number, text, kind_names[plan.kind], (int)(plan.unit - units),
            is_common ? "common" : "own", (long long)disp, is_atomic ? "atomic" : "not atomic",
            size, is_plain ? " plain" : "", (unsigned long long)round_number,
            (unsigned long long)seed);
}

static const char *text_of(int error)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    return text;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        int error_ = call;                                                                         \
        if (error_ != MPI_SUCCESS)                                                                 \
            fault("%s: %s", #call, text_of(error_));                                               \
    } while (0)

/* -- where data is --------------------------------------------------------------------- */

static const shape_t *shape_of(int r)
{
    return &shapes[is_common ? 0 : r];
}

/* Where an etype is in the file. */
static long etype_at(int r, int position)
{
    const shape_t *s = shape_of(r);
    long slot = (long)(position / s->count) * s->tile + s->slots[position % s->count];
    return (long)disp + slot * plan.unit->extent;
}

static long byte_at(int r, int position, int k)
{
    return etype_at(r, position) + plan.unit->offsets[k];
}

/* How many etypes of a rank lie before the limit. */
static int room_of(int r)
{
    int low = 0, high = limit;
    while (low < high) {
        int middle = (low + high) / 2;
        if (byte_at(r, middle, plan.unit->bytes - 1) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* -- who may access what ------------------------------------------------------------------ */

static void settle(void)
{
    if (is_atomic) {
        MPI_Barrier(comm);
    } else {
        MUST(MPI_File_sync(file));
        MPI_Barrier(comm);
        MUST(MPI_File_sync(file));
    }
    memset(writers, NOBODY, (size_t)limit);
    memset(readers, 0, (size_t)limit * sizeof readers[0]);
    settled_bytes = model_bytes;
    is_end_read = false;
}

static bool is_beyond_end(const access_t *a, long end)
{
    return a->count > 0 &&
           byte_at(a->rank, a->position + a->count - 1, plan.unit->bytes - 1) >= end;
}

static bool is_read_beyond(const access_t *a, long end)
{
    return !a->call.is_write && is_beyond_end(a, end);
}

/* Whether an access conflicts with another one of the batch. */
static bool is_in_conflict(const access_t *a)
{
    for (int i = 0; i < a->count; i++) {
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            long at = base + plan.unit->offsets[k];
            if (batch_writes[at] == batch || (a->call.is_write && batch_reads[at] == batch))
                return true;
        }
    }
    return false;
}

/* Notes the access; returns whether something must be settled before it. */
static bool note(const access_t *a)
{
    bool is_after = is_read_beyond(a, settled_bytes) && settled_bytes != model_bytes;
    is_after |= a->call.is_write && is_end_read && is_beyond_end(a, model_bytes);
    uint16_t self = (uint16_t)(1u << a->rank);
    for (int i = 0; i < a->count; i++) {
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            long at = base + plan.unit->offsets[k];
            is_after |= writers[at] != NOBODY && writers[at] != a->rank;
            is_after |= a->call.is_write && (readers[at] & ~self) != 0;
            *(a->call.is_write ? &batch_writes[at] : &batch_reads[at]) = batch;
        }
    }
    return is_after;
}

/* After everything before was settled, if it had to be. */
static void mark(const access_t *a)
{
    is_end_read |= is_read_beyond(a, model_bytes);
    for (int i = 0; i < a->count; i++) {
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            long at = base + plan.unit->offsets[k];
            if (a->call.is_write)
                writers[at] = (signed char)a->rank;
            else
                readers[at] |= (uint16_t)(1u << a->rank);
        }
    }
}

/* -- memory ------------------------------------------------------------------------------ */

static unsigned char value(const access_t *a, int i, int k)
{
    return byte_of((uint64_t)i * UNIT_BYTES_MAX + (uint64_t)k, a->key);
}

static unsigned char *memory_of(const access_t *a, unsigned char *base, int i, int k)
{
    return base + GUARD + (size_t)(i / a->per_item) * (size_t)a->item_extent +
           a->item_offsets[i % a->per_item] + plan.unit->offsets[k];
}

/* Plain, spaced, in pairs, in pairs whose second comes first. */
static void draw_memory(access_t *a, int kind)
{
    MPI_Datatype type, item = plan.unit->type;
    int extent = plan.unit->extent, per = kind >= 2 && a->count % 2 == 0 ? 2 : 1;
    a->per_item = per;
    a->item_extent = kind == 0 ? extent : per * extent + 5;
    a->item_offsets[0] = per == 2 && kind == 3 ? extent + 2 : 0;
    a->item_offsets[1] = kind == 3 ? 0 : extent + 1;
    if (kind != 0) {
        const MPI_Aint displs[] = {a->item_offsets[0], a->item_offsets[1]};
        MPI_Type_create_hindexed_block(per, 1, displs, plan.unit->type, &type);
        MPI_Type_create_resized(type, 0, a->item_extent, &item);
        MPI_Type_free(&type);
        MPI_Type_commit(&item);
    }
    a->call.type = item;
    a->call.count = a->count / per;
    a->bytes = (size_t)a->call.count * (size_t)a->item_extent + 2 * GUARD + 16;
    a->memory = malloc(2 * a->bytes);
    a->image = a->memory + a->bytes;
    memset(a->memory, PATTERN, 2 * a->bytes);
    a->call.buffer = a->memory + GUARD;
}

/* Of a write what is written, of a read what must be there in the end. */
static void fill(access_t *a)
{
    a->expected = 0;
    for (int i = 0; i < a->count; i++) {
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            long at = base + plan.unit->offsets[k];
            if (a->call.is_write)
                *memory_of(a, a->memory, i, k) = *memory_of(a, a->image, i, k) = value(a, i, k);
            else if (at < model_bytes)
                *memory_of(a, a->image, i, k) = model[at];
            a->expected += a->call.is_write || at < model_bytes;
        }
    }
}

static void check_memory(access_t *a)
{
    long got = count_in(&a->status, MPI_BYTE);
    if (got != a->expected)
        fault("%s of %d etypes at %d: %ld bytes, not %d", file_call_name(&a->call), a->count,
              a->position, got, a->expected);
    for (int i = 0; i < a->count && !a->call.is_write;
         i++) { /* behind the end it may be anything */
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            if (base + plan.unit->offsets[k] >= model_bytes)
                *memory_of(a, a->image, i, k) = *memory_of(a, a->memory, i, k);
        }
    }
    for (size_t i = 0; i < a->bytes; i++) {
        if (a->memory[i] != a->image[i]) {
            fault("%s of %d etypes at %d: byte %zu of the buffer is %d, not %d",
                  file_call_name(&a->call), a->count, a->position, i - GUARD, a->memory[i],
                  a->image[i]);
            break;
        }
    }
    if (a->call.type != plan.unit->type)
        MPI_Type_free(&a->call.type);
    free(a->memory);
    a->memory = NULL;
}

static void write_model(const access_t *a)
{
    for (int i = 0; i < a->count && a->call.is_write; i++) {
        long base = etype_at(a->rank, a->position + i);
        for (int k = 0; k < plan.unit->bytes; k++) {
            long at = base + plan.unit->offsets[k];
            model[at] = value(a, i, k);
            if (at >= model_bytes)
                model_bytes = (int)at + 1;
        }
    }
}

/* -- a batch of accesses ------------------------------------------------------------------ */

static file_way_t draw_way(bool is_batch)
{
    for (;;) {
        file_way_t way = (file_way_t)draw(&state, WAYS);
        if (has_shared_pointer(way) && (!is_common || is_batch))
            continue;
        if (is_batch && (!file_ways[way].is_nonblocking || (is_plain && !has_offset(way))))
            continue;
        return way;
    }
}

static bool draw_direction(void)
{
    bool is_write = one_in(&state, 2);
    if (amode & MPI_MODE_RDONLY)
        return false;
    return is_write || (amode & MPI_MODE_WRONLY) != 0;
}

/* Where a rank begins, and whether it seeks: drawn by all ranks. */
static void draw_access(access_t *a, int r, file_way_t way, bool is_write, bool is_alone)
{
    int room = room_of(r), most = 1 + draw(&state, one_in(&state, 4) ? room + 1 : room / ranks + 1);
    bool seeks = one_in(&state, 2);
    int position = draw(&state, room + 1), count = draw(&state, most);
    *a = (access_t){.rank = r, .position = position, .count = count, .key = mix(state)};
    a->call = (file_call_t){.way = way,
                            .is_write = is_write,
                            .file = file,
                            .is_large = one_in(&state, 3),
                            .request = MPI_REQUEST_NULL};
    if (has_shared_pointer(way))
        a->position = shared_pointer;
    else if (!has_offset(way) && !seeks && pointers[r] <= room)
        a->position = pointers[r];
    if (a->position + a->count > room)
        a->count = room > a->position ? room - a->position : 0;
    if (has_shared_pointer(way) && is_alone)
        a->count = 0;
    bool is_kept = is_plain || has_shared_pointer(way);
    while (is_kept && is_read_beyond(a, model_bytes))
        a->count /= 2;
    if (is_in_conflict(a))
        a->count = 0;
}

static bool has_own_pointer(const access_t *a)
{
    return !has_offset(a->call.way) && !has_shared_pointer(a->call.way);
}

/* Says where the pointers are after an access. */
static void move_pointers(access_t *a, bool is_batch)
{
    a->before = pointers[a->rank];
    a->is_seek_set = is_batch || a->key % 2;
    if (has_shared_pointer(a->call.way))
        shared_pointer += a->count;
    else if (has_own_pointer(a))
        pointers[a->rank] = a->position + a->count;
}

/* Where a pointer is after a read that ends early is not what is tested here. */
static void check_pointer(int count)
{
    MPI_Offset position = -1;
    for (int i = 0; i < count; i++) {
        const access_t *a = &accesses[i][own];
        if (a->rank == own && has_own_pointer(a) && a->expected < a->count * plan.unit->bytes)
            MUST(MPI_File_seek(file, pointers[own], MPI_SEEK_SET));
    }
    MUST(MPI_File_get_position(file, &position));
    if (position != pointers[own])
        fault("after %s the pointer is %lld, not %d",
              file_call_name(&accesses[count - 1][own].call), (long long)position, pointers[own]);
}

static void start(access_t *a)
{
    uint64_t key = a->key;
    draw_memory(a, (int)(key >> 8) % 4);
    fill(a);
    a->call.offset = a->position;
    if (has_own_pointer(a) && a->is_seek_set)
        MUST(MPI_File_seek(file, a->position, MPI_SEEK_SET));
    else if (has_own_pointer(a) && a->position != a->before)
        MUST(MPI_File_seek(file, a->position - a->before, MPI_SEEK_CUR));
    a->call.status = &a->status;
    operations++;
    MUST(file_call_start(&a->call));
}

/* In any order. */
static void finish(int count, int step_key)
{
    for (int i = 0; i < count; i++) {
        access_t *a = &accesses[(i + step_key) % count][own];
        if (a->memory != NULL)
            MUST(file_call_finish(&a->call));
    }
    for (int i = 0; i < count; i++) {
        if (accesses[i][own].memory != NULL)
            check_memory(&accesses[i][own]);
    }
    check_pointer(count);
}

static bool draw_one_of_batch(int b, bool is_batch, file_way_t way, bool is_write, bool *extends,
                              bool *reads_end)
{
    bool must_settle = false, is_ordered = way >= ORDERED;
    int alone = has_shared_pointer(way) && !is_ordered ? draw(&state, ranks) : NOBODY;
    for (int r = 0; r < ranks; r++) {
        access_t *a = &accesses[b][r];
        draw_access(a, r, way, is_write, alone != NOBODY && alone != r);
        long end = a->count == 0 ? 0 : byte_at(r, a->position + a->count - 1, plan.unit->bytes - 1);
        bool is_beyond = a->count > 0 && end >= model_bytes;
        if (is_beyond && (is_write ? *reads_end : *extends))
            a->count = 0;
        else if (is_beyond)
            *(is_write ? extends : reads_end) = true;
        must_settle |= note(a);
        move_pointers(a, is_batch);
        if (alone != NOBODY && alone != r)
            a->rank = NOBODY; /* it does not call */
    }
    return must_settle;
}

static void access_file(void)
{
    int count = one_in(&state, 3) ? 1 + draw(&state, BATCH_MAX) : 1;
    bool must_settle = false, extends = false, reads_end = false, is_shared = false;
    batch++;
    for (int b = 0; b < count; b++) {
        file_way_t way = draw_way(count > 1);
        is_shared |= has_shared_pointer(way);
        must_settle |= draw_one_of_batch(b, count > 1, way, draw_direction(), &extends, &reads_end);
    }
    if (must_settle)
        settle();
    for (int b = 0; b < count; b++) {
        access_t *a = &accesses[b][own];
        if (a->rank == own)
            start(a);
    }
    finish(count, (int)(state >> 40) % count);
    for (int b = 0; b < count; b++) {
        for (int r = 0; r < ranks; r++) {
            if (accesses[b][r].rank == NOBODY)
                continue;
            mark(&accesses[b][r]);
            write_model(&accesses[b][r]);
        }
    }
    if (is_shared) /* the next rank finds the pointer where this one has left it */
        MPI_Barrier(comm);
}

/* -- other operations ---------------------------------------------------------------------- */

static void free_view(void)
{
    for (int r = 0; r < RANKS_MAX; r++) {
        if (shapes[r].type != MPI_DATATYPE_NULL)
            MPI_Type_free(&shapes[r].type);
    }
}

static void set_view(void)
{
    int scale = limit >= 1 << 16 ? 8 : 1 + draw(&state, 2);
    settle();
    is_common = one_in(&state, 2);
    draw_plan(&plan, &state, ranks, scale);
    if (is_plain && plan.kind == STRUCT)
        plan.kind = INDEXED;
    for (int r = 0; r < ranks; r++)
        make_shape(&plan, r, &shapes[r], r == (is_common ? 0 : own));
    disp = draw(&state, 3) ? draw(&state, limit / 8) : 0;
    MUST(MPI_File_set_view(file, disp, plan.unit->type, shape_of(own)->type, "native",
                           MPI_INFO_NULL));
    free_view();
    memset(pointers, 0, sizeof pointers);
    shared_pointer = 0;
}

static void resize(void)
{
    if ((amode & MPI_MODE_RDONLY) != 0 || is_plain)
        return;
    settle();
    int bytes = draw(&state, limit), before = model_bytes;
    if (one_in(&state, 4)) {
        MUST(MPI_File_preallocate(file, bytes)); /* what is in the new part is not defined */
        MUST(MPI_File_set_size(file, before));
    } else {
        MUST(MPI_File_set_size(file, bytes));
        model_bytes = bytes;
    }
    if (model_bytes < before)
        memset(model + model_bytes, 0, (size_t)(before - model_bytes));
    settle();
}

static void set_atomicity(void)
{
    int flag = -1;
    is_atomic = false;
    settle();
    is_atomic = one_in(&state, 2);
    int error = MPI_File_set_atomicity(file, is_atomic);
    if (is_atomic && class_of(error) == MPI_ERR_UNSUPPORTED_OPERATION)
        is_atomic = false; /* several nodes, on a file system without locks */
    else if (error != MPI_SUCCESS)
        fault("MPI_File_set_atomicity: %s", text_of(error));
    MUST(MPI_File_get_atomicity(file, &flag));
    if (flag != is_atomic)
        fault("the atomicity is %d, not %d", flag, is_atomic);
}

static void ask(void)
{
    MPI_Offset bytes = -1, byte = -1, position = -1;
    int at = draw(&state, room_of(own) + 1);
    MUST(MPI_File_get_byte_offset(file, at, &byte));
    if (byte != byte_at(own, at, 0) - plan.unit->offsets[0])
        fault("the byte of position %d is %lld, not %ld", at, (long long)byte, byte_at(own, at, 0));
    settle();
    MUST(MPI_File_get_size(file, &bytes));
    if (bytes != model_bytes)
        fault("the size is %lld, not %d", (long long)bytes, model_bytes);
    MUST(MPI_File_get_position(file, &position));
    if (position != pointers[own])
        fault("the pointer is %lld, not %d", (long long)position, pointers[own]);
    MUST(MPI_File_get_position_shared(file, &position));
    if (position != shared_pointer)
        fault("the shared pointer is %lld, not %d", (long long)position, shared_pointer);
    MPI_Barrier(comm);
}

static void seek_shared(void)
{
    if (!is_common)
        return;
    shared_pointer = draw(&state, room_of(0) + 1);
    MUST(MPI_File_seek_shared(file, shared_pointer, MPI_SEEK_SET));
}

/* Rank 0 compares the file, past MPI. */
static void close_file(void)
{
    static unsigned char seen[BYTES_MAX];
    MUST(MPI_File_close(&file));
    MPI_Barrier(comm);
    if (own == 0) {
        long got = read_path(0, seen, sizeof seen);
        if (got != model_bytes)
            fault("the file has %ld bytes, not %d", got, model_bytes);
        for (int i = 0; i < model_bytes && i < got; i++) {
            if (seen[i] != model[i]) {
                fault("byte %d of the file is %d, not %d", i, seen[i], model[i]);
                break;
            }
        }
    }
    MPI_Barrier(comm);
}

static void open_file(bool is_new)
{
    static const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR, MPI_MODE_RDWR,
                                MPI_MODE_RDWR};
    amode = is_new || is_plain ? MPI_MODE_RDWR | MPI_MODE_CREATE : modes[draw(&state, 5)];
    is_atomic = false;
    int error = MPI_File_open(comm, path, amode, MPI_INFO_NULL, &file);
    if (error != MPI_SUCCESS) {
        fault("MPI_File_open: %s", text_of(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    set_view();
}

static void run_step(void)
{
    switch (draw(&state, 40)) {
    case 0:
    case 1:
        set_view();
        break;
    case 2:
        resize();
        break;
    case 3:
        set_atomicity();
        break;
    case 4:
        ask();
        break;
    case 5:
        seek_shared();
        break;
    case 6:
        if (one_in(&state, 3)) {
            close_file();
            open_file(false);
        }
        break;
    default:
        access_file();
    }
}

/* -- rounds --------------------------------------------------------------------------------- */

/* All ranks have a file together, or each half has one. */
static void run_round(void)
{
    static const int limits[] = {1 << 12, 1 << 12, 1 << 12, 1 << 14,
                                 1 << 14, 1 << 14, 1 << 16, BYTES_MAX};
    char name[32];
    state = mix(seed * UINT64_C(0x9e3779b97f4a7c15) + round_number);
    int colour = size > 1 && one_in(&state, 5) ? rank % 2 : 0;
    MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comm);
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    state = mix(state + (uint64_t)colour);
    limit = limits[draw(&state, 8)];
    snprintf(name, sizeof name, "random-%d", colour);
    set_path(name);
    memset(model, 0, sizeof model);
    memset(writers, NOBODY, sizeof writers);
    model_bytes = settled_bytes = is_plain ? limit : 0;
    if (is_plain && own == 0)
        make_path(model, (size_t)limit);
    MPI_Barrier(comm);
    open_file(true);
    int steps = limit > 1 << 16 ? STEPS / 2 : STEPS;
    for (step_number = 0; step_number < steps; step_number++)
        run_step();
    close_file();
    if (own == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Comm_free(&comm);
}

/* Returns the seconds. */
static double read_arguments(int argc, char **argv)
{
    seed = argc > 2 ? strtoull(argv[argc - 2], NULL, 10) : 1;
    for (int i = 1; i < argc - 2; i++) {
        if (strcmp(argv[i], "plain") == 0)
            is_plain = true;
        else
            round_number = strtoull(argv[i], NULL, 10);
    }
    return argc > 2 ? strtod(argv[argc - 1], NULL) : 1;
}

int main(int argc, char **argv)
{
    double seconds = read_arguments(argc, argv), begin, end;
    int go_on = 1;
    begin_files(&argc, &argv);
    tap_check(size <= RANKS_MAX, "%d ranks are not too many", size);
    for (int r = 0; r < RANKS_MAX; r++)
        shapes[r].type = MPI_DATATYPE_NULL;
    make_units();
    begin = MPI_Wtime();
    for (; go_on; round_number++) {
        run_round();
        go_on = MPI_Wtime() < begin + seconds && fault_count == 0;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    end = MPI_Wtime();
    free_units();
    tap_check(
        fault_count == 0,
        "seed %llu, before round %llu: %ld faults, %ld operations of this rank, %.0f a second",
        (unsigned long long)seed, (unsigned long long)round_number, fault_count, operations,
        (double)operations / (end - begin));
    MPI_Finalize();
    return tap_finish();
}
