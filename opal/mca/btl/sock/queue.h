/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that wait to be sent, in one piece:
 *
 *   bytes   +- - - - - +=================+=========+- - - - - - +
 *                      begin             end       end + reserved      room
 *
 * It grows up to a limit; what is reserved moves only by the next reservation. One thread at a
 * time.
 */
#ifndef OPAL_MCA_BTL_SOCK_QUEUE_H
#define OPAL_MCA_BTL_SOCK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct sock_queue {
    unsigned char *bytes;
    size_t begin, end, room;
} sock_queue_t;

enum { SOCK_QUEUE_FIRST_BYTES = 8192 };

static inline bool sock_queue_is_empty(const sock_queue_t *queue)
{
    return queue->begin == queue->end;
}

static inline size_t sock_queue_used(const sock_queue_t *queue)
{
    return queue->end - queue->begin;
}

/* Room for that many bytes behind the others, aligned to 8. NULL: more than `limit`, or no memory.
 */
static inline unsigned char *sock_queue_reserve(sock_queue_t *queue, size_t bytes, size_t limit)
{
    if (queue->room - queue->end >= bytes && queue->bytes != NULL)
        return queue->bytes + queue->end;
    size_t used = sock_queue_used(queue);
    if (used + bytes > limit)
        return NULL;
    /* The front keeps its position modulo 8, so the bytes behind it stay aligned. */
    size_t front = queue->begin % 8;
    if (queue->bytes == NULL || front + used + bytes > queue->room) {
        size_t room = queue->room > 0 ? queue->room : SOCK_QUEUE_FIRST_BYTES;
        while (room < front + used + bytes)
            room *= 2;
        unsigned char *bytes_of_room = realloc(queue->bytes, room);
        if (bytes_of_room == NULL)
            return NULL;
        queue->bytes = bytes_of_room;
        queue->room = room;
    }
    memmove(queue->bytes + front, queue->bytes + queue->begin, used);
    queue->begin = front;
    queue->end = front + used;
    return queue->bytes + queue->end;
}

/* The next bytes follow `bytes` bytes that did not go through the queue: their position modulo 8 is
 * the same as if they had. Only while the queue is empty. */
static inline void sock_queue_shift(sock_queue_t *queue, size_t bytes)
{
    if (bytes > 0)
        queue->begin = queue->end = bytes;
}

static inline void sock_queue_commit(sock_queue_t *queue, size_t bytes)
{
    queue->end += bytes;
}

/* Removes the first bytes, which have left. */
static inline void sock_queue_take(sock_queue_t *queue, size_t bytes)
{
    queue->begin += bytes;
    if (queue->begin == queue->end)
        queue->begin = queue->end = 0;
}

static inline void sock_queue_free(sock_queue_t *queue)
{
    free(queue->bytes);
    *queue = (sock_queue_t){0};
}

#endif
