/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer's side of the roll. See roll.h. */
#include "opal/roll/roll.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/node/node.h"

static struct {
    const opal_pmi_job_t *job; /* NULL: there is no roll now */
    bool has_threads;
    _Atomic(opal_roll_t *) roll;
    atomic_flag making;
    int fd; /* of a memfd; -1: the roll is in the segment */
} own = {.making = ATOMIC_FLAG_INIT, .fd = -1};

static _Thread_local unsigned own_entry; /* of this thread's wait; 0: none */

/* -- memory ---------------------------------------------------------------------------------- */

static opal_roll_t *make_alone(void)
{
    own.fd = memfd_create(OPAL_ROLL_NAME, MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (own.fd >= 0 && ftruncate(own.fd, (off_t)sizeof(opal_roll_t)) == 0)
        memory = mmap(NULL, sizeof(opal_roll_t), PROT_READ | PROT_WRITE, MAP_SHARED, own.fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    if (own.fd >= 0)
        close(own.fd);
    own.fd = -1;
    return NULL;
}

/* A process that comes back after its end finds its roll where it was. */
static opal_roll_t *make_in_segment(void)
{
    _Atomic uint64_t *offset = &opal_node_own_slot()->roll;
    uint64_t at = atomic_load(offset);
    if (at == 0)
        at = opal_node_carve_spare(sizeof(opal_roll_t));
    if (at == 0)
        return NULL;
    atomic_store(offset, at);
    return opal_node_at(at);
}

static void make(void)
{
    opal_roll_t *roll = opal_node_own_slot() != NULL ? make_in_segment() : NULL;
    if (roll == NULL)
        roll = make_alone();
    if (roll == NULL)
        return;
    roll->pid = (int)getpid();
    roll->rank = own.job->rank;
    roll->size = own.job->size;
    roll->has_threads = own.has_threads;
    snprintf(roll->job_id, sizeof roll->job_id, "%s", own.job->job_id);
    atomic_store_explicit(&roll->magic, OPAL_ROLL_MAGIC, memory_order_release);
    atomic_store(&own.roll, roll);
}

/* NULL: there is none. Several threads may ask for the first time. */
static opal_roll_t *get(void)
{
    if (own.job != NULL && atomic_load(&own.roll) == NULL && !atomic_flag_test_and_set(&own.making))
        make();
    return atomic_load(&own.roll);
}

void opal_roll_start(const opal_pmi_job_t *job, bool has_threads)
{
    own.job = job;
    own.has_threads = has_threads;
    if (opal_node_own_slot() == NULL)
        get();
}

void opal_roll_stop(void)
{
    opal_roll_t *roll = atomic_load(&own.roll);
    own.job = NULL;
    atomic_store(&own.roll, NULL);
    atomic_flag_clear(&own.making);
    if (roll == NULL)
        return;
    for (unsigned i = 0; i < OPAL_ROLL_ENTRIES; i++)
        atomic_store(&roll->entries[i].length, 0);
    atomic_store(&roll->taken, 0);
    if (own.fd < 0)
        return;
    munmap(roll, sizeof *roll);
    close(own.fd);
    own.fd = -1;
}

const opal_roll_t *opal_roll_alone(void)
{
    return own.fd >= 0 ? atomic_load(&own.roll) : NULL;
}

/* -- entries ---------------------------------------------------------------------------------- */

/* 0: all are taken. */
static unsigned take_entry(opal_roll_t *roll)
{
    for (unsigned i = OPAL_ROLL_LOOP + 1; i < OPAL_ROLL_ENTRIES; i++) {
        if ((atomic_fetch_or(&roll->taken, 1U << i) & 1U << i) == 0)
            return i;
    }
    return 0;
}

static void write_text(_Atomic uint64_t *to, const char *text, size_t length)
{
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < 8 ? length - at : 8);
        atomic_store_explicit(&to[at / 8], word, memory_order_relaxed);
    }
}

static void write_entry(opal_roll_entry_t *entry, uint64_t since, const char *text, size_t length)
{
    unsigned version = atomic_load_explicit(&entry->version, memory_order_relaxed) | 1;
    atomic_store_explicit(&entry->version, version, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with that of a reader (census.c) */
    atomic_store_explicit(&entry->since, since, memory_order_relaxed);
    atomic_store_explicit(&entry->written, opal_clock_nsec(), memory_order_relaxed);
    atomic_store_explicit(&entry->thread, (int)gettid(), memory_order_relaxed);
    atomic_store_explicit(&entry->length, (unsigned)length, memory_order_relaxed);
    write_text(entry->text, text, length);
    atomic_store_explicit(&entry->version, version + 1, memory_order_release);
}

void opal_roll_write(bool is_loop, uint64_t since, const char *text, size_t length)
{
    opal_roll_t *roll = get();
    if (roll == NULL)
        return;
    if (!is_loop && own_entry == 0)
        own_entry = take_entry(roll);
    if (is_loop || own_entry != 0)
        write_entry(&roll->entries[is_loop ? OPAL_ROLL_LOOP : own_entry], since, text,
                    length < OPAL_ROLL_TEXT_BYTES ? length : OPAL_ROLL_TEXT_BYTES);
}

void opal_roll_withdraw(bool is_loop)
{
    opal_roll_t *roll = atomic_load(&own.roll);
    unsigned index = is_loop ? OPAL_ROLL_LOOP : own_entry;
    if (roll != NULL && (is_loop || index != 0)) {
        write_entry(&roll->entries[index], 0, "", 0);
        atomic_fetch_and(&roll->taken, ~(1U << index));
    }
    if (!is_loop)
        own_entry = 0;
}

/* -- the text ---------------------------------------------------------------------------------- */

static const char cut[] = "\nleft lines";

void opal_roll_line(opal_roll_text_t *text, const char *word)
{
    if (text->is_full)
        return;
    if (text->length > 0)
        opal_roll_add(text, "\n");
    text->line = text->length;
    opal_roll_add(text, "%s", word);
}

void opal_roll_add(opal_roll_text_t *text, const char *format, ...)
{
    size_t left = sizeof text->bytes - sizeof cut - text->length;
    if (text->is_full)
        return;
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text->bytes + text->length, left, format, arguments);
    va_end(arguments);
    if (added >= 0 && (size_t)added < left) {
        text->length += (size_t)added;
        return;
    }
    text->is_full = true;
    text->length = text->line; /* the line is left out */
}

void opal_roll_end(opal_roll_text_t *text)
{
    if (!text->is_full)
        return;
    while (text->length > 0 && text->bytes[text->length - 1] == '\n')
        text->length--;
    memcpy(text->bytes + text->length, cut, sizeof cut);
    text->length += sizeof cut - 1;
}
