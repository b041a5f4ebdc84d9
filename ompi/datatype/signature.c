/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: joining, counting, hashing.
 *
 * The hash of elements e1 e2 .. en is e1 B^(n-1) + e2 B^(n-2) + .. + en modulo 2^64, so that the
 * hash of a sequence follows from those of its parts and their lengths.
 */
#include "ompi/datatype/signature.h"

#include <stdlib.h>

#define HASH_BASE UINT64_C(0x9e3779b97f4a7c15) /* odd: no factor gets lost */

enum {
    FIRST_CAPACITY = 8,
    SPLICE_MIN_DEPTH = 32, /* from this depth on a chain is made shorter */
    SPLICE_MAX_PARTS = 64 * 1024,
};

ompi_signature_t ompi_signature_empty = {.references = 1};

/* A sequence in terms of its hash: how long it is, as HASH_BASE to that power. */
typedef struct digest {
    uint64_t hash, power;
} digest_t;

static digest_t join_digests(digest_t first, digest_t second)
{
    return (digest_t){first.hash * second.power + second.hash, first.power * second.power};
}

static digest_t repeat_digest(digest_t digest, size_t count)
{
    digest_t result = {0, 1};
    for (; count > 0; count /= 2) {
        if (count % 2 != 0)
            result = join_digests(result, digest);
        digest = join_digests(digest, digest);
    }
    return result;
}

static digest_t digest_of(const ompi_signature_t *signature)
{
    uint64_t power = repeat_digest((digest_t){0, HASH_BASE}, signature->elements).power;
    return (digest_t){signature->hash, power};
}

uint64_t ompi_signature_hash(const ompi_signature_t *signature, size_t count)
{
    return repeat_digest(digest_of(signature), count).hash;
}

void ompi_signature_init(ompi_signature_t *signature, const ompi_basic_t *basic, unsigned id)
{
    *signature = (ompi_signature_t){
        .basic = basic,
        .bytes = (size_t)basic->numbers * basic->bytes,
        .elements = 1,
        .external_bytes = (size_t)basic->numbers * basic->external_bytes,
        .hash = id * UINT64_C(0xd6e8feb86659fd93),
    };
    atomic_init(&signature->references, 1);
}

ompi_signature_t *ompi_signature_retain(ompi_signature_t *signature)
{
    atomic_fetch_add_explicit(&signature->references, 1, memory_order_relaxed);
    return signature;
}

/* Gives a reference back; the last one puts the signature into the list of the dead. */
static void drop(ompi_signature_t *signature, ompi_signature_t **dead)
{
    if (signature == NULL ||
        atomic_fetch_sub_explicit(&signature->references, 1, memory_order_acq_rel) > 1)
        return;
    signature->next_dead = *dead;
    *dead = signature;
}

void ompi_signature_release(ompi_signature_t *signature)
{
    ompi_signature_t *dead = NULL;
    drop(signature, &dead);
    while (dead != NULL) {
        ompi_signature_t *sequence = dead;
        dead = sequence->next_dead;
        for (size_t i = 0; i < sequence->count; i++)
            drop(sequence->parts[i].signature, &dead);
        free(sequence->parts);
        free(sequence);
    }
}

static bool grow(ompi_signature_list_t *list)
{
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : FIRST_CAPACITY;
    ompi_signature_part_t *parts = realloc(list->parts, capacity * sizeof *parts);
    if (parts == NULL)
        return false;
    list->parts = parts;
    list->capacity = capacity;
    return true;
}

void ompi_signature_list_add(ompi_signature_list_t *list, ompi_signature_t *signature, size_t count)
{
    if (signature->elements == 0 || count == 0 || list->no_memory)
        return;
    if (signature->count == 1) {
        count *= signature->parts[0].count;
        signature = signature->parts[0].signature;
    }
    ompi_signature_part_t *last = list->count > 0 ? &list->parts[list->count - 1] : NULL;
    if (last != NULL && last->signature == signature) {
        last->count += count;
    } else if (list->count < list->capacity || grow(list)) {
        list->parts[list->count++] = (ompi_signature_part_t){
            .signature = ompi_signature_retain(signature),
            .count = count,
        };
    } else {
        list->no_memory = true;
    }
}

void ompi_signature_list_discard(ompi_signature_list_t *list)
{
    for (size_t i = 0; i < list->count; i++)
        ompi_signature_release(list->parts[i].signature);
    free(list->parts);
    *list = (ompi_signature_list_t){0};
}

/* As splice in layout.c, for parts that occur once. */
static bool splice(ompi_signature_list_t *list, bool *is_spliced)
{
    unsigned depth = 0;
    size_t others = 0;
    ompi_signature_list_t spliced = {0};
    for (size_t i = 0; i < list->count; i++)
        depth = list->parts[i].signature->depth > depth ? list->parts[i].signature->depth : depth;
    if (depth < (*is_spliced ? 1 : SPLICE_MIN_DEPTH) || list->count > SPLICE_MAX_PARTS)
        return false;
    for (size_t i = 0; i < list->count; i++)
        others += list->parts[i].signature->depth < depth;
    bool can_splice = true;
    for (size_t i = 0; can_splice && i < list->count; i++) {
        const ompi_signature_part_t *part = &list->parts[i];
        const ompi_signature_t *sequence = part->signature;
        if (sequence->depth < depth)
            ompi_signature_list_add(&spliced, part->signature, part->count);
        else if (part->count == 1 && sequence->count <= others + 1)
            for (size_t k = 0; k < sequence->count; k++)
                ompi_signature_list_add(&spliced, sequence->parts[k].signature,
                                        sequence->parts[k].count);
        else
            can_splice = false;
    }
    can_splice &= !spliced.no_memory;
    ompi_signature_list_discard(can_splice ? list : &spliced);
    if (can_splice)
        *list = spliced;
    *is_spliced |= can_splice;
    return can_splice;
}

static void sum_up(ompi_signature_t *signature)
{
    digest_t digest = {0, 1};
    for (size_t i = 0; i < signature->count; i++) {
        ompi_signature_part_t *part = &signature->parts[i];
        part->bytes_before = signature->bytes;
        part->elements_before = signature->elements;
        signature->bytes += part->count * part->signature->bytes;
        signature->elements += part->count * part->signature->elements;
        signature->external_bytes += part->count * part->signature->external_bytes;
        if (signature->depth <= part->signature->depth)
            signature->depth = part->signature->depth + 1;
        digest = join_digests(digest, repeat_digest(digest_of(part->signature), part->count));
    }
    signature->hash = digest.hash;
}

ompi_signature_t *ompi_signature_list_finish(ompi_signature_list_t *list)
{
    ompi_signature_t *signature = NULL;
    bool is_spliced = false;
    if (list->no_memory)
        goto discard;
    while (splice(list, &is_spliced))
        ;
    if (list->count == 0) {
        signature = ompi_signature_retain(&ompi_signature_empty);
        goto discard;
    }
    if (list->count == 1 && list->parts[0].count == 1) {
        signature = list->parts[0].signature; /* with the reference of the list */
        list->count = 0;
        goto discard;
    }
    signature = calloc(1, sizeof *signature);
    if (signature == NULL)
        goto discard;
    atomic_init(&signature->references, 1);
    signature->count = list->count;
    signature->parts = list->parts;
    sum_up(signature);
    *list = (ompi_signature_list_t){0};
    return signature;

discard:
    ompi_signature_list_discard(list);
    return signature;
}

ompi_signature_t *ompi_signature_repeat(ompi_signature_t *signature, size_t count)
{
    ompi_signature_list_t list = {0};
    ompi_signature_list_add(&list, signature, count);
    return ompi_signature_list_finish(&list);
}

/* The last part in front of which there are at most `bytes`. */
static const ompi_signature_part_t *part_at_byte(const ompi_signature_t *signature, size_t bytes)
{
    size_t low = 0, high = signature->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (signature->parts[middle].bytes_before <= bytes)
            low = middle;
        else
            high = middle;
    }
    return &signature->parts[low];
}

static const ompi_signature_part_t *part_at_element(const ompi_signature_t *signature,
                                                    size_t elements)
{
    size_t low = 0, high = signature->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (signature->parts[middle].elements_before <= elements)
            low = middle;
        else
            high = middle;
    }
    return &signature->parts[low];
}

bool ompi_signature_elements(const ompi_signature_t *signature, size_t bytes, size_t *elements)
{
    *elements = 0;
    while (bytes > 0 && signature->bytes > 0) {
        *elements += bytes / signature->bytes * signature->elements;
        bytes %= signature->bytes;
        if (signature->basic != NULL || bytes == 0)
            break;
        const ompi_signature_part_t *part = part_at_byte(signature, bytes);
        *elements += part->elements_before;
        bytes -= part->bytes_before;
        signature = part->signature;
    }
    return bytes == 0;
}

bool ompi_signature_bytes(const ompi_signature_t *signature, size_t elements, size_t *bytes)
{
    *bytes = 0;
    while (elements > 0 && signature->elements > 0) {
        size_t whole;
        if (__builtin_mul_overflow(elements / signature->elements, signature->bytes, &whole) ||
            __builtin_add_overflow(*bytes, whole, bytes))
            return false;
        elements %= signature->elements;
        if (elements == 0)
            break;
        const ompi_signature_part_t *part = part_at_element(signature, elements);
        *bytes += part->bytes_before;
        elements -= part->elements_before;
        signature = part->signature;
    }
    return elements == 0;
}

uint64_t ompi_signature_prefix_hash(const ompi_signature_t *signature, size_t elements)
{
    digest_t prefix = {0, 1};
    while (elements > 0 && signature->elements > 0) {
        size_t whole = elements / signature->elements;
        prefix = join_digests(prefix, repeat_digest(digest_of(signature), whole));
        elements %= signature->elements;
        if (elements == 0)
            break;
        const ompi_signature_part_t *last = part_at_element(signature, elements);
        for (const ompi_signature_part_t *part = signature->parts; part < last; part++)
            prefix = join_digests(prefix, repeat_digest(digest_of(part->signature), part->count));
        elements -= last->elements_before;
        signature = last->signature;
    }
    return prefix.hash;
}
