/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Children of a process whose other threads are inside the allocator at the moment of the fork.
 */
#ifndef TEST_MEMORY_CHILDREN_H
#define TEST_MEMORY_CHILDREN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHURNERS = 2 };

static atomic_bool churn_is_over;

static inline bool ended_with(pid_t child, int code)
{
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void *churn(void *most_bytes)
{
    unsigned seed = (unsigned)(uintptr_t)&seed;
    while (!churn_is_over) {
        void *volatile block = malloc(1 + (size_t)rand_r(&seed) % *(size_t *)most_bytes);
        free(block);
    }
    return NULL;
}

/* Each allocates blocks of all sizes up to that one, and leaves by `leave`. How many did it well.
 */
static inline int count_good_children(int children, size_t most_bytes, void (*leave)(int))
{
    pthread_t threads[CHURNERS];
    int good = 0;
    churn_is_over = false;
    for (int i = 0; i < CHURNERS; i++)
        pthread_create(&threads[i], NULL, churn, &most_bytes);
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (size_t bytes = 1; bytes < most_bytes; bytes = bytes * 3 + 1) {
                char *block = malloc(bytes);
                memset(block, 1, bytes);
                free(block);
            }
            leave(3);
        }
        good += ended_with(child, 3);
    }
    churn_is_over = true;
    for (int i = 0; i < CHURNERS; i++)
        pthread_join(threads[i], NULL);
    return good;
}

#endif
