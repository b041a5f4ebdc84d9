/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/node/region_reap.c: what goes when a process has ended, and what must not. */
#include "opal/node/region_reap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test/unit/opal/support.h"

enum { CHUNK = OPAL_HEAP_CHUNK_BYTES, CHUNKS = 64 };

static int fd;
static opal_region_header_t *header;
static opal_region_pool_t *pools;
static _Atomic uint32_t *owners;
static uint32_t first;
static opal_region_tables_t tables;
static opal_region_life_t self;

static void make(void)
{
    const char *step;
    const opal_region_request_t request = {.bytes = (uint64_t)CHUNKS * CHUNK, .ranks = 2};
    fd = opal_region_create(&request, &step);
    ck_assert_int_ge(fd, 0);
    header = mmap(NULL, (size_t)CHUNKS * CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    pools = opal_region_pools(header);
    owners = opal_region_owners(header, header->pool_count);
    first = header->first_chunk;
    tables = (opal_region_tables_t){.header = header,
                                    .chunks = header->chunks,
                                    .first_chunk = first,
                                    .pool_count = header->pool_count,
                                    .fd = -1};
    opal_region_own_life(&self);
    ck_assert_uint_ne(self.space, 0);
    ck_assert_int_eq(self.pid, getpid());
}

/* The pid of a process that there is no more. */
static int32_t ended_pid(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    return (int32_t)child;
}

/* The next pool, with so many chunks behind those that are given, and something in each. */
static opal_region_pool_t *add_pool(int32_t pid, uint32_t ties, uint32_t count)
{
    opal_region_pool_t *pool = &pools[header->attached++];
    pool->space = self.space;
    pool->program = self.program;
    atomic_store(&pool->ties, ties);
    atomic_store(&pool->pid, pid);
    for (uint32_t i = 0; i < count; i++, header->given++) {
        owners[header->given] = header->attached;
        ((char *)header)[(size_t)header->given * CHUNK + 5000] = 1;
    }
    return pool;
}

static bool is_empty(uint32_t chunk)
{
    off_t begin = (off_t)(first + chunk) * CHUNK, data = lseek(fd, begin, SEEK_DATA);
    return data < 0 || data >= begin + CHUNK;
}

static bool reap(void)
{
    errno = 77;
    opal_region_reaped_t reaped = opal_region_reap(&tables, &self);
    ck_assert_int_eq(errno, 77);
    ck_assert_uint_eq(header->reaper, 0);
    ck_assert_int_ne(reaped, OPAL_REGION_REAPED_BY_OTHER);
    return reaped == OPAL_REGION_REAPED_SOME;
}

START_TEST(an_end_frees_all)
{
    make();
    tables.fd = _i == 0 ? -1 : fd;
    const opal_region_pool_t *mine = add_pool(self.pid, 0, 2);
    const opal_region_pool_t *gone = add_pool(ended_pid(), OPAL_REGION_MET, 3);
    add_pool(self.pid, OPAL_REGION_MET | OPAL_REGION_SEEN, 1);
    owners[header->given++] = 2; /* a stretch of its own, without a page */
    ck_assert(opal_region_has_ended(gone, &self));
    ck_assert(reap());
    ck_assert_int_eq(gone->pid, OPAL_REGION_VACANT);
    ck_assert_int_eq(mine->pid, self.pid);
    ck_assert_uint_eq(header->vacant_pools, 1);
    ck_assert_uint_eq(header->spare_chunks, 4);
    static const uint32_t wanted[] = {
        1, 1, OPAL_REGION_SPARE, OPAL_REGION_SPARE, OPAL_REGION_SPARE, 3, OPAL_REGION_SPARE};
    for (uint32_t i = 0; i < OPAL_COUNT_OF(wanted); i++) {
        ck_assert_uint_eq(owners[first + i], wanted[i]);
        ck_assert_int_eq(is_empty(i), wanted[i] == OPAL_REGION_SPARE);
    }
    ck_assert(!reap());
}
END_TEST

/* Processes that live, that are attaching, and of which nothing can be known. */
START_TEST(in_doubt_it_lives)
{
    make();
    add_pool(self.pid, 0, 1);
    add_pool((int32_t)getppid(), 0, 1)->program = 1;
    add_pool(0, 0, 1);
    add_pool(INT32_MAX, 0, 1)->space++;
    add_pool(INT32_MAX, 0, 1)->space = 0;
    owners[header->given++] = 0;
    ck_assert(!reap());
    opal_region_life_t nobody = self;
    nobody.space = 0;
    add_pool(INT32_MAX, 0, 1);
    ck_assert(!opal_region_has_ended(&pools[5], &nobody));
    header->reaper = 1; /* nobody waits for the end of what it can do nothing about */
    ck_assert_int_eq(opal_region_reap(&tables, &nobody), OPAL_REGION_REAPED_NONE);
    ck_assert_uint_eq(header->spare_chunks, 0);
}
END_TEST

/* After exec: the same process, and another program. */
START_TEST(an_earlier_life_is_over)
{
    make();
    add_pool(self.pid, 0, 1)->program++;
    ck_assert(reap());
    ck_assert_uint_eq(header->spare_chunks, 1);
}
END_TEST

/* What a peer may have to do with stays as long as one lives. */
START_TEST(peers_keep_it)
{
    static const uint32_t doubts[] = {OPAL_REGION_MET | OPAL_REGION_SEEN,
                                      OPAL_REGION_MET | OPAL_REGION_GIVEN};
    make();
    opal_region_pool_t *peer = add_pool(self.pid, OPAL_REGION_MET, 1);
    add_pool(ended_pid(), doubts[_i], 2);
    add_pool(ended_pid(), OPAL_REGION_MET, 4);
    ck_assert(reap());
    ck_assert_uint_eq(header->spare_chunks, 4);
    ck_assert(!is_empty(1) && !is_empty(2));
    ck_assert(!reap());
    if (_i == 0)
        atomic_store(&peer->ties, 0); /* it has never met it */
    else
        atomic_store(&peer->pid, ended_pid());
    ck_assert(reap());
    ck_assert_uint_ge(header->spare_chunks, 6);
    ck_assert(is_empty(1) && is_empty(2));
}
END_TEST

START_TEST(one_at_a_time)
{
    uint64_t space;
    make();
    space = (uint64_t)self.space << 32;
    add_pool(ended_pid(), 0, 1);
    const uint64_t busy[] = {space | (uint32_t)getppid(), space | (uint32_t)self.pid, 5};
    for (size_t i = 0; i < OPAL_COUNT_OF(busy); i++) {
        header->reaper = busy[i];
        ck_assert_int_eq(opal_region_reap(&tables, &self), OPAL_REGION_REAPED_BY_OTHER);
        ck_assert_uint_eq(header->reaper, busy[i]);
    }
    header->reaper = space | (uint32_t)ended_pid();
    ck_assert(reap());
}
END_TEST

/* By who was killed in the middle of it. */
START_TEST(what_was_begun_is_finished)
{
    make();
    add_pool(-ended_pid(), OPAL_REGION_SEEN, 3);
    owners[first] = OPAL_REGION_SPARE;
    header->spare_chunks = 1;
    add_pool(self.pid, OPAL_REGION_MET, 1);
    ck_assert(reap());
    ck_assert_uint_eq(header->spare_chunks, 3);
    ck_assert_int_eq(pools[0].pid, OPAL_REGION_VACANT);
}
END_TEST

START_TEST(what_cannot_be_emptied_stays)
{
    make();
    add_pool(ended_pid(), 0, 1);
    add_pool(self.pid, 0, 1);
    char *place = (char *)header + (size_t)first * CHUNK;
    /* Directly, as a sanitizer's mlock does nothing. */
    if (syscall(SYS_mlock, place, 4096) != 0)
        return;
    reap();
    ck_assert_uint_eq(owners[first], 1);
    ck_assert_int_lt(pools[0].pid, 0);
    ck_assert_uint_eq(header->vacant_pools, 0);
    syscall(SYS_munlock, place, 4096);
    ck_assert(reap());
    ck_assert_uint_eq(owners[first], OPAL_REGION_SPARE);
    ck_assert_uint_eq(header->vacant_pools, 1);
}
END_TEST

START_TEST(broken_tables_do_no_harm)
{
    make();
    add_pool(ended_pid(), 0, 1);
    header->given = UINT32_MAX;
    header->attached = UINT32_MAX;
    header->pool_count = 3; /* not what was checked */
    for (uint32_t i = first + 1; i < header->chunks; i++)
        owners[i] = i % 2 == 0 ? UINT32_MAX - 1 : header->pool_count + i;
    ck_assert(reap());
    ck_assert_uint_eq(header->spare_chunks, 1);
    ck_assert_int_eq(pools[0].pid, OPAL_REGION_VACANT);
}
END_TEST

static const unit_test_t tests[] = {
    {&an_end_frees_all, 2, 0, 0},
    {&in_doubt_it_lives, 0, 0, 0},
    {&an_earlier_life_is_over, 0, 0, 0},
    {&peers_keep_it, 2, 0, 0},
    {&one_at_a_time, 0, 0, 0},
    {&what_was_begun_is_finished, 0, 0, 0},
    {&what_cannot_be_emptied_stays, 0, 0, 0},
    {&broken_tables_do_no_harm, 0, 0, 0},
};

UNIT_MAIN("runtime/region_reap", tests, NULL);
