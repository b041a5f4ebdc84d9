/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/memory/smheap: attach.c, map_region.c and source.c on regions of this test: agreeing on
 * an address, refusing what is no region, and chunks from several pools.
 */
#include "opal/mca/memory/smheap/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/mca/memory/smheap/map_region.h"
#include "opal/mca/memory/smheap/source.h"
#include "test/unit/opal/support.h"

enum { CHUNK = OPAL_HEAP_CHUNK_BYTES };

static char reason[200];
static opal_memory_shared_t settings = {.min_bytes = 4096};

static int make(unsigned chunks, unsigned shares)
{
    const char *step;
    const opal_region_request_t request = {
        .bytes = (uint64_t)chunks * CHUNK, .ranks = 2, .shares = shares};
    int fd = opal_region_create(&request, &step);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static bool attach(smheap_region_t *region, int fd)
{
    reason[0] = 0;
    return smheap_attach(region, fd, 7, &settings, reason, sizeof reason);
}

START_TEST(an_address_is_agreed_on)
{
    smheap_region_t first, second, third;
    int fd = make(64, 0);
    ck_assert(attach(&first, fd));
    ck_assert(first.agreed);
    ck_assert_uint_eq(first.header->base, (uintptr_t)first.header);
    ck_assert_uint_eq((uintptr_t)first.header % CHUNK, 0);
    ck_assert_uint_ge((uintptr_t)first.header, (uintptr_t)1 << 44);
    /* Here it is taken: elsewhere, then. */
    ck_assert(attach(&second, fd));
    ck_assert(!second.agreed);
    ck_assert_uint_eq((uintptr_t)second.header % CHUNK, 0);
    ck_assert_ptr_ne(second.header, first.header);
    ck_assert_uint_eq(second.id, first.id);
    ck_assert_uint_eq(second.number, 1);
    /* It is the same memory. */
    first.header->creator = 12345;
    ck_assert_int_eq(second.header->creator, 12345);
    /* And when it is free again, it is taken again. */
    uintptr_t base = (uintptr_t)first.header;
    smheap_detach(&first);
    ck_assert(attach(&third, fd));
    ck_assert_uint_eq((uintptr_t)third.header, base);
    ck_assert(third.agreed);
}
END_TEST

START_TEST(elsewhere_if_it_is_told_to)
{
    smheap_region_t first, second;
    int fd = make(64, 0);
    settings.offset = true;
    ck_assert(attach(&first, fd));
    ck_assert(!first.agreed);
    ck_assert_uint_eq(first.header->base, 0);
    settings.offset = false;
    ck_assert(attach(&second, fd));
    ck_assert(second.agreed);
}
END_TEST

START_TEST(a_pool_tells_whose_it_is)
{
    smheap_region_t region;
    settings.min_bytes = 12345;
    ck_assert(attach(&region, make(64, 0)));
    const opal_region_pool_t *pool = &opal_region_pools(region.header)[region.number];
    ck_assert_int_eq(pool->pid, getpid());
    ck_assert_int_eq(pool->rank, 7);
    ck_assert_uint_eq(pool->base, (uintptr_t)region.header);
    ck_assert_uint_eq(pool->least, 12345);
    ck_assert_uint_eq(region.header->attached, 1);
}
END_TEST

START_TEST(pools_end)
{
    smheap_region_t region;
    int fd = make(64, 0);
    ck_assert(attach(&region, fd));
    region.header->attached = region.header->pool_count;
    ck_assert(!attach(&region, fd));
    ck_assert_ptr_nonnull(strstr(reason, "room for no more"));
}
END_TEST

/* -- what is no region -------------------------------------------------------------------- */

static int with_noise(void)
{
    int fd = make(64, 0);
    uint64_t noise = 3;
    ck_assert_int_eq(pwrite(fd, &noise, sizeof noise, offsetof(opal_region_header_t, chunk_bytes)),
                     (ssize_t)sizeof noise);
    return fd;
}

static int empty_memory(void)
{
    return memfd_create("x", MFD_ALLOW_SEALING);
}

static int unsealed_copy(void)
{
    opal_region_header_t header;
    int fd = make(64, 0), copy = memfd_create(OPAL_REGION_NAME, MFD_ALLOW_SEALING);
    ck_assert_int_eq(pread(fd, &header, sizeof header, 0), (ssize_t)sizeof header);
    ck_assert_int_eq(ftruncate(copy, 64 * CHUNK), 0);
    ck_assert_int_eq(pwrite(copy, &header, sizeof header, 0), (ssize_t)sizeof header);
    return copy;
}

static int sealed_and_short(void)
{
    int fd = memfd_create(OPAL_REGION_NAME, MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(fd, 10), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static int a_pipe(void)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    return fds[0];
}

static int a_file(void)
{
    return open("/proc/self/exe", O_RDONLY);
}

static int nothing(void)
{
    return 9999;
}

static int (*const impostors[])(void) = {with_noise, empty_memory, unsealed_copy, sealed_and_short,
                                         a_pipe,     a_file,       nothing};

START_TEST(impostors_are_refused)
{
    smheap_region_t region;
    int fd = impostors[_i]();
    ck_assert(!attach(&region, fd));
    ck_assert_ptr_nonnull(strstr(reason, "is refused: "));
    ck_assert_int_eq(region.fd, -1);
}
END_TEST

START_TEST(a_limit_of_addresses)
{
    smheap_region_t region;
    if (opal_memory_watcher() != NULL)
        return; /* it has taken more addresses than that, and wants others */
    int fd = make(256, 0), smaller = make(64, 0);
    struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert(!attach(&region, fd));
    ck_assert_ptr_nonnull(strstr(reason, "ulimit -v"));
    ck_assert(attach(&region, smaller));
}
END_TEST

/* -- chunks ------------------------------------------------------------------------------- */

static char *extend(smheap_region_t *region, size_t *bytes)
{
    return smheap_source.extend(region, bytes);
}

START_TEST(chunks_are_given_once)
{
    smheap_region_t first, second;
    int fd = make(100, 10);
    ck_assert(attach(&first, fd) && attach(&second, fd));
    uint32_t free_chunks = first.chunks - first.first_chunk, given = 0;
    bool taken[100] = {false};
    for (int i = 0; given < free_chunks; i++) {
        smheap_region_t *region = i % 3 == 0 ? &second : &first;
        size_t bytes = CHUNK;
        char *start = extend(region, &bytes);
        ck_assert_ptr_nonnull(start);
        ck_assert_uint_eq(bytes % CHUNK, 0);
        uint32_t number = (uint32_t)((start - (char *)region->header) / CHUNK);
        for (uint32_t k = number; k < number + bytes / CHUNK; k++, given++) {
            ck_assert_uint_ge(k, first.first_chunk);
            ck_assert_uint_lt(k, first.chunks);
            ck_assert(!taken[k]);
            taken[k] = true;
            ck_assert_uint_eq(opal_region_owners(first.header, first.pool_count)[k],
                              region->number + 1);
        }
    }
    size_t bytes = CHUNK;
    ck_assert_ptr_null(extend(&first, &bytes));
    ck_assert_uint_eq(first.pool->chunks + second.pool->chunks, free_chunks);
}
END_TEST

START_TEST(as_many_as_are_needed)
{
    smheap_region_t region;
    ck_assert(attach(&region, make(100, 10)));
    size_t bytes = (size_t)30 * CHUNK;
    ck_assert_ptr_nonnull(extend(&region, &bytes));
    ck_assert_uint_eq(bytes, (size_t)30 * CHUNK);
    bytes = (size_t)90 * CHUNK;
    ck_assert_ptr_null(extend(&region, &bytes));
    bytes = SIZE_MAX / CHUNK * CHUNK;
    ck_assert_ptr_null(extend(&region, &bytes));
    bytes = CHUNK; /* a share, of what is left */
    ck_assert_ptr_nonnull(extend(&region, &bytes));
    ck_assert_uint_eq(bytes, (size_t)region.share * CHUNK);
}
END_TEST

START_TEST(a_broken_cursor_gives_nothing)
{
    smheap_region_t region;
    const uint32_t values[] = {0, 99999, UINT32_MAX};
    ck_assert(attach(&region, make(100, 10)));
    for (size_t i = 0; i < OPAL_COUNT_OF(values); i++) {
        size_t bytes = CHUNK;
        region.header->given = values[i];
        ck_assert_ptr_null(extend(&region, &bytes));
        ck_assert_uint_eq(region.header->given, values[i]);
    }
}
END_TEST

/* What goes back is gone for all, and reads as zero. */
START_TEST(pages_go_back)
{
    smheap_region_t first, second;
    int fd = make(64, 0);
    ck_assert(attach(&first, fd) && attach(&second, fd));
    size_t bytes = CHUNK;
    char *start = extend(&first, &bytes);
    char *seen = start - (char *)first.header + (char *)second.header;
    ck_assert_int_eq(smheap_source.commit(&first, start, CHUNK), 0);
    memset(start, 5, CHUNK);
    ck_assert_int_eq(seen[CHUNK - 1], 5);
    bool locked = _i == 1 && syscall(SYS_mlock, start, 1) == 0;
    errno = 99;
    smheap_source.decommit(&first, start, CHUNK, false);
    ck_assert_int_eq(errno, 99);
    off_t offset = start - (char *)first.header;
    ck_assert_int_eq(lseek(first.fd, offset, SEEK_HOLE) == offset, !locked);
    bool zero = true;
    for (size_t i = 0; i < CHUNK; i++)
        zero &= start[i] == 0 && seen[i] == 0;
    ck_assert(zero);
}
END_TEST

/* Many processes at once, some of which are killed in the middle: no chunk is given twice. */
START_TEST(processes_race)
{
    enum { PROCESSES = 8 };
    smheap_region_t region;
    pid_t children[PROCESSES];
    int fd = make(2000, 2000), status;
    ck_assert(attach(&region, fd));
    smheap_detach(&region); /* the children attach at the same address */
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        if (!attach(&region, fd) || !region.agreed)
            _exit(1);
        for (;;) {
            size_t bytes = CHUNK;
            uint32_t *start = (uint32_t *)(void *)extend(&region, &bytes);
            if (start == NULL)
                _exit(0);
            if (*start != 0)
                _exit(2); /* somebody has it */
            *start = (uint32_t)getpid();
        }
    }
    kill(children[0], SIGKILL);
    kill(children[1], SIGKILL);
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(status == 0 || (i < 2 && WIFSIGNALED(status)));
    }
    ck_assert(attach(&region, fd));
    ck_assert_uint_eq(region.header->given, region.chunks);
}
END_TEST

/* -- processes that end ------------------------------------------------------------------- */

/* Takes most of a region, and finds it empty; ends, or is killed. */
static OPAL_NORETURN void take_most(int fd, bool is_killed)
{
    smheap_region_t region;
    size_t bytes = (size_t)40 * CHUNK;
    if (!attach(&region, fd))
        _exit(1);
    char *start = extend(&region, &bytes);
    if (start == NULL)
        _exit(2);
    for (size_t at = 0; at < bytes; at += CHUNK / 4) {
        if (start[at] != 0)
            _exit(3);
        start[at] = 1;
    }
    if (is_killed)
        raise(SIGKILL);
    _exit(0);
}

START_TEST(one_after_the_other)
{
    smheap_region_t mine;
    int fd = make(64, 0), status;
    size_t bytes = CHUNK;
    ck_assert(attach(&mine, fd));
    char *kept = extend(&mine, &bytes);
    memset(kept, 7, bytes);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0)
            take_most(fd, _i == 1);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, _i == 1 ? SIGKILL : 0);
    }
    ck_assert_uint_le(mine.header->attached, 3);
    ck_assert(kept[0] == 7 && kept[bytes - 1] == 7);
    /* A process that has attached long ago finds room, too. */
    bytes = (size_t)40 * CHUNK;
    ck_assert_ptr_nonnull(extend(&mine, &bytes));
    ck_assert_uint_eq(mine.header->given, mine.header->first_chunk + mine.pool->chunks);
}
END_TEST

START_TEST(pools_come_again)
{
    smheap_region_t first, second;
    int fd = make(64, 0), status;
    pid_t child = fork();
    if (child == 0)
        _exit(!attach(&first, fd));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(attach(&first, fd));
    opal_region_pool_t *pools = opal_region_pools(first.header);
    for (uint32_t i = 0; i < first.pool_count; i++)
        if (i != first.number) {
            pools[i].space = first.pool->space;
            atomic_store(&pools[i].pid, (int32_t)child);
        }
    first.header->attached = first.pool_count;
    ck_assert(attach(&second, fd));
    ck_assert_uint_ne(second.number, first.number);
    ck_assert_uint_eq(first.header->vacant_pools, first.pool_count - 2);
}
END_TEST

/* Takes chunks until there are none for a while; each is empty, and stays ours. */
static OPAL_NORETURN void gather(int fd, const atomic_bool *enough)
{
    enum { MOST = 30 };
    smheap_region_t region;
    char *mine[MOST];
    int count = 0;
    if (!attach(&region, fd))
        _exit(1);
    while (!*enough) {
        size_t bytes = CHUNK;
        char *start = count < MOST ? extend(&region, &bytes) : NULL;
        for (char *at = start; start != NULL && at < start + bytes && count < MOST; at += CHUNK) {
            if (*at != 0)
                _exit(2); /* somebody has it, or had it */
            *(int32_t *)(void *)at = (int32_t)getpid();
            mine[count++] = at;
        }
        for (int i = 0; i < count; i++)
            if (*(int32_t *)(void *)mine[i] != (int32_t)getpid())
                _exit(3);
        sched_yield();
    }
    _exit(0);
}

/* Many processes are killed at any point: no chunk is lost. */
START_TEST(ends_race)
{
    enum { PROCESSES = 6, ROUNDS = 150 };
    atomic_bool *enough =
        mmap(NULL, sizeof *enough, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[PROCESSES] = {0};
    int fd = make(100, 100), status;
    smheap_region_t region;
    ck_assert(attach(&region, fd));
    for (int round = 0; round < ROUNDS + PROCESSES; round++) {
        pid_t *child = &children[round % PROCESSES];
        if (*child != 0) {
            kill(*child, SIGKILL);
            ck_assert_int_eq(waitpid(*child, &status, 0), *child);
            ck_assert(WIFSIGNALED(status));
        }
        *child = fork();
        if (*child == 0)
            gather(fd, enough);
        for (int i = round % 7; i > 0; i--)
            sched_yield();
    }
    *enough = true;
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    /* All is there again, but for what was killed just when it took something. */
    smheap_reap(&region);
    ck_assert_uint_ge(region.header->spare_chunks, region.header->given - region.first_chunk - 20);
}
END_TEST

static const unit_test_t tests[] = {
    {&an_address_is_agreed_on, 0, 0, 0},
    {&elsewhere_if_it_is_told_to, 0, 0, 0},
    {&a_pool_tells_whose_it_is, 0, 0, 0},
    {&pools_end, 0, 0, 0},
    {&impostors_are_refused, OPAL_COUNT_OF(impostors), 0, 0},
    {&a_limit_of_addresses, 0, 0, 0},
    {&chunks_are_given_once, 0, 0, 0},
    {&as_many_as_are_needed, 0, 0, 0},
    {&a_broken_cursor_gives_nothing, 0, 0, 0},
    {&pages_go_back, 2, 0, 0},
    {&processes_race, 0, 0, 0},
    {&one_after_the_other, 2, 0, 0},
    {&pools_come_again, 0, 0, 0},
    {&ends_race, 0, 0, 0},
};

UNIT_MAIN("smheap/attach", tests, NULL);
