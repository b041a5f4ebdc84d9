/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of threads for work that blocks: operations on files that go on while the program computes
 * and are more than one transfer, and single transfers where there is no io_uring.
 *
 * Threads are started when there is work and none of them is idle, up to the parameter io_threads,
 * and end when they have been idle for a while, and in ompi_io_pool_stop. All signals are blocked
 * in them. Where a launcher has bound the process, they run on all CPUs of the launcher. A child of
 * fork has an empty pool.
 *
 * Threading: any thread.
 */
#ifndef OMPI_MCA_IO_POOL_H
#define OMPI_MCA_IO_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/util/list.h"

typedef struct ompi_io_work {
    opal_list_node_t node;
    void (*run)(struct ompi_io_work *work); /* called once, by a thread of the pool; may free it */
} ompi_io_work_t;

/* Works are begun in the order in which they are added. Where no thread can be started the caller
 * runs it. */
OPAL_EXPORT void ompi_io_pool_add(ompi_io_work_t *work);

/* Waits until all work has ended, and ends the threads. */
OPAL_EXPORT void ompi_io_pool_stop(void);

/* A set of CPUs, as the system has it. */
typedef struct ompi_io_cpus {
    uint64_t bits[1024];
} ompi_io_cpus_t;

/* For threads that the calling thread has the kernel start, and which run where it may: lets it run
 * where those of the pool do, and back. False: it may already, and is not to be bound again. */
OPAL_EXPORT bool ompi_io_pool_unbind(ompi_io_cpus_t *before);
OPAL_EXPORT void ompi_io_pool_bind(const ompi_io_cpus_t *before);

#endif
