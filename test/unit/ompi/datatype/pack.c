/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/datatype/pack.c and kernel.c, on types made at random and on very large ones. */
#include "ompi/datatype/datatype.h"

#include "ompi/api/bodies.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/opal/support.h"

enum {
    ROUNDS = 30, /* processes of the test */
    TYPES = 500, /* in each */
    SMALL_BYTES = 40,
    SPLITS = 20,
    MARK = 0xa5,
};

/* Memory that holds the data of `count` elements and a little around it. */
typedef struct memory {
    sample_t sample;
    size_t count, bytes, packed_bytes;
    MPI_Count *offsets; /* of the packed bytes, from `buffer` on */
    unsigned char *block, *buffer;
} memory_t;

static memory_t create_memory(sample_t sample, size_t count)
{
    enum { AROUND = 32 };
    memory_t memory = {.sample = sample, .count = count};
    MPI_Count low = 0, high = 0;
    memory.packed_bytes = count * model_size(&sample.model);
    memory.offsets = model_offsets(&sample.model, count);
    for (size_t i = 0; i < memory.packed_bytes; i++) {
        low = memory.offsets[i] < low ? memory.offsets[i] : low;
        high = memory.offsets[i] >= high ? memory.offsets[i] + 1 : high;
    }
    memory.bytes = (size_t)(high - low) + 2 * AROUND;
    memory.block = malloc(memory.bytes);
    ck_assert_ptr_nonnull(memory.block);
    memory.buffer = memory.block + AROUND - low;
    for (size_t i = 0; i < memory.bytes; i++)
        memory.block[i] = (unsigned char)model_random(0, 255);
    return memory;
}

static void destroy_memory(memory_t *memory)
{
    sample_destroy(&memory->sample);
    free(memory->offsets);
    free(memory->block);
}

static void check_shape(const sample_t *sample)
{
    MPI_Count lb, ub, true_lb, true_ub;
    model_bounds(&sample->model, &lb, &ub);
    model_true_bounds(&sample->model, &true_lb, &true_ub);
    ck_assert_uint_eq(ompi_datatype_size(sample->type), model_size(&sample->model));
    ck_assert_int_eq(ompi_datatype_lb(sample->type), lb);
    ck_assert_int_eq(ompi_datatype_extent(sample->type), ub - lb);
    ck_assert_int_eq(ompi_datatype_true_lb(sample->type), true_lb);
    ck_assert_int_eq(ompi_datatype_true_extent(sample->type), true_ub - true_lb);
    ck_assert_uint_eq(ompi_datatype_elements(sample->type), model_elements(&sample->model));
}

static void check_pack(const memory_t *memory, size_t from, size_t length)
{
    size_t end = from + length < memory->packed_bytes ? from + length : memory->packed_bytes;
    size_t wanted = end > from ? end - from : 0;
    unsigned char *packed = malloc(length + 1);
    ck_assert_ptr_nonnull(packed);
    memset(packed, MARK, length + 1);
    size_t done = ompi_datatype_pack(memory->sample.type, memory->count, memory->buffer, from,
                                     packed, length);
    bool is_right = done == wanted;
    for (size_t i = 0; i <= length; i++)
        is_right &= packed[i] == (i < wanted ? memory->buffer[memory->offsets[from + i]] : MARK);
    ck_assert_msg(is_right, "bytes [%zu, %zu) of %zu", from, end, memory->packed_bytes);
    free(packed);
}

static void check_unpack(memory_t *memory, size_t from, size_t length)
{
    size_t end = from + length < memory->packed_bytes ? from + length : memory->packed_bytes;
    unsigned char *packed = malloc(length + 1), *wanted = malloc(memory->bytes);
    ck_assert(packed != NULL && wanted != NULL);
    for (size_t i = 0; i < length; i++)
        packed[i] = (unsigned char)model_random(0, 255);
    memcpy(wanted, memory->block, memory->bytes);
    for (size_t i = from; i < end; i++)
        wanted[memory->buffer - memory->block + memory->offsets[i]] = packed[i - from];
    size_t done = ompi_datatype_unpack(memory->sample.type, memory->count, memory->buffer, from,
                                       packed, length);
    ck_assert_uint_eq(done, end > from ? end - from : 0);
    ck_assert_mem_eq(memory->block, wanted, memory->bytes);
    free(packed);
    free(wanted);
}

/* Whether the segments are the packed bytes from `from` on, and none could be one with the next. */
static bool are_places(const memory_t *memory, const struct iovec *segments, size_t count,
                       size_t from)
{
    bool are_right = true;
    const unsigned char *end = NULL;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *base = segments[i].iov_base;
        are_right &= base != end;
        end = base + segments[i].iov_len;
        for (; base < end; base++, from++)
            are_right &= base == memory->buffer + memory->offsets[from];
    }
    return are_right;
}

static void check_segments(const memory_t *memory, size_t from)
{
    struct iovec segments[8];
    size_t max = (size_t)model_random(1, OPAL_COUNT_OF(segments)), bytes, count;
    while (from < memory->packed_bytes) {
        count = ompi_datatype_segments(memory->sample.type, memory->count, memory->buffer, from,
                                       segments, max, &bytes);
        size_t sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += segments[i].iov_len;
        ck_assert(count >= 1 && count <= max && sum == bytes &&
                  (count == max || from + bytes == memory->packed_bytes) &&
                  are_places(memory, segments, count, from));
        from += bytes;
    }
    count = ompi_datatype_segments(memory->sample.type, memory->count, memory->buffer,
                                   memory->packed_bytes, segments, max, &bytes);
    ck_assert(count == 0 && bytes == 0);
}

static void check_contiguous(const memory_t *memory)
{
    size_t bytes = 0;
    if (ompi_datatype_run_bytes(memory->sample.type, memory->count, &bytes))
        ck_assert_uint_eq(bytes, memory->packed_bytes);
    ck_assert(!ompi_datatype_run_bytes(memory->sample.type, SIZE_MAX, &bytes) ||
              ompi_datatype_size(memory->sample.type) == 1);
    if (!ompi_datatype_is_contiguous(memory->sample.type))
        return;
    MPI_Count lb = ompi_datatype_true_lb(memory->sample.type);
    bool is_run = true;
    for (size_t i = 0; i < memory->packed_bytes; i++)
        is_run &= memory->offsets[i] == lb + (MPI_Count)i;
    ck_assert(is_run);
}

static void check_elements(const memory_t *memory)
{
    const model_t *model = &memory->sample.model;
    size_t bytes = 0, elements;
    bool is_right = true;
    for (size_t i = 0; i < memory->count * model->count; i++) {
        size_t more = ompi_datatype_size(model->entries[i % model->count].basic);
        const ompi_signature_t *signature = memory->sample.type->shape.signature;
        is_right &= ompi_signature_elements(signature, bytes, &elements) && elements == i;
        is_right &= more == 1 || !ompi_signature_elements(signature, bytes + 1, &elements);
        is_right &= ompi_signature_bytes(signature, i, &elements) && elements == bytes;
        bytes += more;
    }
    ck_assert(is_right);
}

/* The hash of the same elements, put together one by one. */
static void check_hash(const sample_t *sample)
{
    ompi_signature_list_t list = {0};
    for (size_t i = 0; i < sample->model.count; i++)
        ompi_signature_list_add(&list, sample->model.entries[i].basic->shape.signature, 1);
    ompi_signature_t *flat = ompi_signature_list_finish(&list);
    ck_assert_ptr_nonnull(flat);
    ck_assert(flat->hash == ompi_datatype_signature_hash(sample->type));
    ck_assert_uint_eq(flat->external_bytes, sample->type->shape.signature->external_bytes);
    ompi_signature_release(flat);
}

static void check_copy(const memory_t *source, memory_t *target)
{
    size_t bytes =
        source->packed_bytes < target->packed_bytes ? source->packed_bytes : target->packed_bytes;
    unsigned char *wanted = malloc(target->bytes);
    ck_assert_ptr_nonnull(wanted);
    memcpy(wanted, target->block, target->bytes);
    for (size_t i = 0; i < bytes; i++)
        wanted[target->buffer - target->block + target->offsets[i]] =
            source->buffer[source->offsets[i]];
    ck_assert_uint_eq(ompi_datatype_copy(source->sample.type, source->count, source->buffer,
                                         target->sample.type, target->count, target->buffer),
                      bytes);
    ck_assert_mem_eq(target->block, wanted, target->bytes);
    free(wanted);
}

static void check_moves(memory_t *memory)
{
    size_t bytes = memory->packed_bytes;
    check_pack(memory, 0, bytes);
    check_unpack(memory, 0, bytes);
    if (bytes <= SMALL_BYTES) {
        for (size_t from = 0; from <= bytes; from++)
            for (size_t length = 0; length <= bytes - from + 1; length++)
                check_pack(memory, from, length);
    }
    for (int i = 0; i < SPLITS; i++) {
        size_t from = (size_t)model_random(0, (MPI_Count)bytes);
        size_t length = (size_t)model_random(0, (MPI_Count)(bytes - from) + 3);
        check_pack(memory, from, length);
        check_unpack(memory, from, length);
        check_segments(memory, from);
    }
}

START_TEST(random_types_are_as_the_model_says)
{
    memory_t before = {0};
    model_seed((uint64_t)_i + 1);
    for (int i = 0; i < TYPES; i++) {
        memory_t memory = create_memory(sample_create(), (size_t)model_random(0, 4));
        check_shape(&memory.sample);
        check_moves(&memory);
        check_contiguous(&memory);
        check_elements(&memory);
        check_hash(&memory.sample);
        if (i > 0) {
            check_copy(&before, &memory);
            destroy_memory(&before);
        }
        before = memory;
    }
    destroy_memory(&before);
}
END_TEST

/* Every length of a block has the same loop, but not the same code. */
START_TEST(blocks_of_every_length)
{
    enum { BLOCKS = 5, MAX = 600 };
    static unsigned char data[BLOCKS * (MAX + 3)], packed[sizeof data], back[sizeof data];
    ompi_datatype_t *byte = ompi_datatype_of(MPI_BYTE), *types[2];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)model_random(0, 255);
    for (int length = 1; length <= MAX; length++) {
        int offsets[BLOCKS];
        for (int i = 0; i < BLOCKS; i++)
            offsets[i] = (length + 3) * (i * 3 % BLOCKS);
        ck_assert_int_eq(ompi_api_type_vector(BLOCKS, length, length + 3, byte, &types[0], false),
                         MPI_SUCCESS);
        ck_assert_int_eq(ompi_api_type_create_indexed_block(
                             BLOCKS, length, ompi_ints_small(offsets), byte, &types[1]),
                         MPI_SUCCESS);
        for (int t = 0; t < 2; t++) {
            size_t bytes = (size_t)(BLOCKS * length);
            memset(back, 0, sizeof back);
            ck_assert_uint_eq(ompi_datatype_pack(types[t], 1, data, 0, packed, bytes), bytes);
            ck_assert_uint_eq(ompi_datatype_unpack(types[t], 1, back, 0, packed, bytes), bytes);
            for (int i = 0; i < BLOCKS; i++) {
                size_t at = (size_t)((length + 3) * (t == 0 ? i : offsets[i] / (length + 3)));
                ck_assert_mem_eq(packed + i * length, data + at, length);
                ck_assert_mem_eq(back + at, data + at, length);
                if (at + (size_t)length < sizeof back)
                    ck_assert_uint_eq(back[at + (size_t)length], 0);
            }
            ompi_datatype_release(types[t]);
        }
    }
}
END_TEST

START_TEST(huge_types_cost_nothing)
{
    ompi_datatype_t *vector, *nested, *huge;
    struct iovec segments[2];
    size_t bytes;
    const MPI_Count many = (MPI_Count)1 << 33;
    ck_assert_int_eq(ompi_api_type_vector(many, 1, 2, ompi_datatype_of(MPI_INT), &vector, true),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_vector(1000, 3, 5, vector, &nested, false), MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_contiguous(2, nested, &huge, false), MPI_SUCCESS);
    ck_assert_uint_eq(ompi_datatype_size(huge), (size_t)many * 4 * 3000 * 2);
    /* The second element of the second copy of the vector. */
    size_t count =
        ompi_datatype_segments(huge, 1, MPI_BOTTOM, (size_t)many * 4 + 6, segments, 2, &bytes);
    ck_assert_uint_eq(count, 2);
    uintptr_t second = (uintptr_t)ompi_datatype_extent(vector);
    ck_assert_uint_eq((uintptr_t)segments[0].iov_base, second + 8 + 2);
    ck_assert_uint_eq(segments[0].iov_len, 2);
    ck_assert_uint_eq((uintptr_t)segments[1].iov_base, second + 16);
    ck_assert_uint_eq(segments[1].iov_len, 4);
    ompi_datatype_release(vector);
    ompi_datatype_release(nested);
    ompi_datatype_release(huge);
}
END_TEST

START_TEST(absolute_addresses)
{
    int a = 1, b = 2, packed[2];
    MPI_Aint offsets[] = {(MPI_Aint)&a, (MPI_Aint)&b};
    int lengths[] = {1, 1};
    ompi_datatype_t *type;
    ck_assert_int_eq(ompi_api_type_create_hindexed(2, ompi_ints_small(lengths),
                                                   ompi_wide_ints_small(offsets),
                                                   ompi_datatype_of(MPI_INT), &type),
                     MPI_SUCCESS);
    ck_assert_uint_eq(ompi_datatype_pack(type, 1, MPI_BOTTOM, 0, packed, sizeof packed), 8);
    ck_assert_int_eq(packed[0], 1);
    ck_assert_int_eq(packed[1], 2);
    packed[1] = 7;
    ompi_datatype_unpack(type, 1, MPI_BOTTOM, 4, &packed[1], 4);
    ck_assert_int_eq(b, 7);
    ompi_datatype_release(type);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_types_are_as_the_model_says, .repeats = ROUNDS},
    {.test = &blocks_of_every_length},
    {.test = &huge_types_cost_nothing},
    {.test = &absolute_addresses},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    model_seed(1);
}

UNIT_MAIN("ompi/datatype/pack", tests, setup);
