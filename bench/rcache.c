/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool/rcache by itself, on a device that costs nothing:
 *
 *   rcache [--quick] [munmap]
 *
 *   rcache          what a look-up costs that finds its buffer, by the number of registrations, in
 *                   random order: ns for acquire, for release, and for one behind the other
 *   rcache munmap   what hearing of munmap costs: ns for the system's call and for the hooked one,
 *                   by the pages of a mapping that were touched, with 10,000 registrations around
 *
 * Best of many repeats: others use the machine, too.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/memory/events/events.h"
#include "opal/util/text.h"
#include "ompi/mca/mpool/base/base.h"
#include "opal/include/clock.h"

extern const opal_component_t mca_mpool_rcache_component;

enum { MANY = 10000, REPEATS = 60, BUFFER = 16 << 10, APART = 64 << 10, QUICK_SHARE = 10 };

static bool quick;

static double now_nsec(void)
{
    return (double)opal_clock_nsec();
}

static opal_status_t pin(void *context, void *base, size_t bytes, unsigned access, void **handle)
{
    (void)context, (void)bytes, (void)access;
    *handle = base;
    return OPAL_SUCCESS;
}

static void unpin(void *context, void *handle, void *base, size_t bytes)
{
    (void)context, (void)handle, (void)base, (void)bytes;
}

static const ompi_mpool_device_t device = {.name = "nothing", .pin = pin, .unpin = unpin};

/* As the base makes it, but whatever memory component there is. */
static ompi_mpool_t *create(void)
{
    opal_answer_t answer = {0};
    ompi_mpool_t *pool;
    mca_mpool_rcache_component.query(&answer);
    const ompi_mpool_ops_t *ops = answer.ops;
    if (ops->create(answer.state, &device, true, &pool) != OPAL_SUCCESS) {
        fprintf(stderr, "rcache: there is no pool\n");
        exit(EXIT_FAILURE);
    }
    pool->ops = ops;
    pool->device = &device;
    pool->generation = atomic_load(&ompi_mpool_generation);
    return pool;
}

static void acquire(ompi_mpool_t *pool, char *address, ompi_mpool_use_t *use)
{
    if (ompi_mpool_acquire(pool, address, BUFFER, OMPI_MPOOL_LOCAL_READ, use) != OPAL_SUCCESS)
        abort();
}

/* Registers `count` buffers that do not touch. */
static char **fill(ompi_mpool_t *pool, char *base, size_t count)
{
    char **buffers = opal_xmalloc(count * sizeof *buffers);
    for (size_t i = 0; i < count; i++) {
        ompi_mpool_use_t use;
        buffers[i] = base + i * APART;
        acquire(pool, buffers[i], &use);
        ompi_mpool_release(&use);
    }
    return buffers;
}

static void shuffle(char **buffers, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)rand() % i;
        char *swapped = buffers[i - 1];
        buffers[i - 1] = buffers[j];
        buffers[j] = swapped;
    }
}

static double smaller(double one, double two)
{
    return one < two ? one : two;
}

static void measure_hits(size_t count, const char *threads)
{
    ompi_mpool_t *pool = create();
    char **buffers = fill(pool, (char *)0x600000000000, count);
    ompi_mpool_use_t *uses = opal_xmalloc(count * sizeof *uses);
    double begin = 1e9, end = 1e9, both = 1e9;
    for (int repeat = 0; repeat < (quick ? REPEATS / QUICK_SHARE : REPEATS); repeat++) {
        shuffle(buffers, count);
        double t0 = now_nsec();
        for (size_t i = 0; i < count; i++)
            acquire(pool, buffers[i], &uses[i]);
        double t1 = now_nsec();
        for (size_t i = 0; i < count; i++)
            ompi_mpool_release(&uses[i]);
        double t2 = now_nsec();
        for (size_t i = 0; i < count; i++) {
            acquire(pool, buffers[i], &uses[0]);
            ompi_mpool_release(&uses[0]);
        }
        double t3 = now_nsec();
        begin = smaller(begin, (t1 - t0) / (double)count);
        end = smaller(end, (t2 - t1) / (double)count);
        both = smaller(both, (t3 - t2) / (double)count);
    }
    printf("%-14s %8zu registrations: acquire %6.1f ns, release %6.1f ns, both %6.1f ns\n", threads,
           count, begin, end, both);
    pool->ops->destroy(pool);
    free(buffers);
    free(uses);
}

static void *wait_for(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* A process of one thread locks cheaper. */
static void measure_all_hits(void)
{
    static const size_t counts[] = {10, 100, 1000, MANY, 10 * MANY};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    for (size_t i = 0; i < OPAL_COUNT_OF(counts); i++)
        measure_hits(counts[i], "one thread");
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, wait_for, &lock);
    for (size_t i = 0; i < OPAL_COUNT_OF(counts); i++)
        measure_hits(counts[i], "two threads");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

/* -- munmap -------------------------------------------------------------------------- */

enum { MAPPINGS = 64 };

static int unmap_by_system(void *address, size_t bytes)
{
    return (int)syscall(SYS_munmap, address, bytes);
}

/* ns for each. The mappings do not touch each other. */
static double time_unmapping(int (*unmap)(void *, size_t), size_t pages)
{
    char *mappings[MAPPINGS];
    size_t bytes = (pages > 0 ? pages : 1) * 4096;
    for (size_t i = 0; i < MAPPINGS; i++) {
        mappings[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mappings[i] == MAP_FAILED)
            abort();
        if (i % 2 == 0)
            mprotect(mappings[i], bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
        memset(mappings[i], 1, pages * 4096);
    }
    double start = now_nsec();
    for (size_t i = 0; i < MAPPINGS; i++)
        unmap(mappings[i], bytes);
    return (now_nsec() - start) / MAPPINGS;
}

static int by_double(const void *one, const void *two)
{
    double a = *(const double *)one, b = *(const double *)two;
    return (a > b) - (a < b);
}

/* `unmap`: munmap, where it is hooked. */
static void measure_munmap(const char *what, int (*unmap)(void *, size_t))
{
    enum { ROUNDS = 400 };
    static const size_t touched[] = {0, 1, 16, 256};
    static double system[ROUNDS], hooked[ROUNDS];
    for (size_t i = 0; i < OPAL_COUNT_OF(touched); i++) {
        size_t rounds = touched[i] < 100 ? ROUNDS : ROUNDS / 8;
        rounds /= quick ? QUICK_SHARE : 1;
        for (size_t k = 0; k < rounds; k++) {
            system[k] = time_unmapping(unmap_by_system, touched[i]);
            hooked[k] = time_unmapping(unmap, touched[i]);
        }
        qsort(system, rounds, sizeof *system, by_double);
        qsort(hooked, rounds, sizeof *hooked, by_double);
        printf("%-20s %4zu pages: munmap %8.1f ns, hooked %8.1f ns, %+5.1f %% (median %+5.1f %%)\n",
               what, touched[i], system[0], hooked[0], 100 * (hooked[0] / system[0] - 1),
               100 * (hooked[rounds / 2] / system[rounds / 2] - 1));
    }
}

static void measure_hook(void)
{
    char *area = mmap(NULL, (size_t)MANY * APART, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ompi_mpool_t *pool = create();
    if (area == MAP_FAILED)
        abort();
    if (!pool->keeps)
        printf("munmap is not caught in this process: the hook is called in its place\n");
    int (*unmap)(void *, size_t) = pool->keeps ? munmap : opal_memory_munmap;
    pool->ops->destroy(pool);
    measure_munmap("nobody listens", unmap);
    pool = create();
    measure_munmap("nothing registered", unmap);
    free(fill(pool, area, MANY));
    measure_munmap("10000, elsewhere", unmap);
    ompi_mpool_use_t use; /* now everything is near what is registered, and leaves marks */
    acquire(pool, (char *)0x10000, &use);
    ompi_mpool_release(&use);
    acquire(pool, (char *)0x7fffffff0000, &use);
    ompi_mpool_release(&use);
    measure_munmap("10000, in between", unmap);
    pool->ops->destroy(pool);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    argv += quick;
    argc -= quick;
    if (argc > 1 && strcmp(argv[1], "munmap") == 0) {
        measure_hook();
        return EXIT_SUCCESS;
    }
    if (argc > 1) {
        fprintf(stderr, "rcache [--quick] [munmap]\n");
        return EXIT_FAILURE;
    }
    measure_all_hits();
    return EXIT_SUCCESS;
}
