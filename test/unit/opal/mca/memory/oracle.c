/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings are registered for write protection that nobody ever switches on: there are no faults to
 * be served, only events. A thread reads them; a byte through a pipe and back tells that it has
 * noted all that was read before.
 */
#include "test/unit/opal/mca/memory/oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_RANGES = 4096, QUIT = 'q', SYNC = 's' };

static int fd = -1, to_thread[2], from_thread[2];
static pthread_t thread;
static oracle_range_t noted[MOST_RANGES]; /* the thread's between two synchronisations */
static size_t noted_count;
static oracle_left_fn_t *_Atomic report_left;
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static void note(uint64_t start, uint64_t end)
{
    oracle_left_fn_t *left = atomic_load(&report_left);
    if (left != NULL)
        left(start, end);
    else if (noted_count < MOST_RANGES)
        noted[noted_count++] = (oracle_range_t){start, end};
}

static void hear(const struct uffd_msg *message)
{
    switch (message->event) {
    case UFFD_EVENT_UNMAP:
    case UFFD_EVENT_REMOVE:
        note(message->arg.remove.start, message->arg.remove.end);
        break;
    case UFFD_EVENT_REMAP:
        note(message->arg.remap.from, message->arg.remap.from + message->arg.remap.len);
        break;
    default:
        break;
    }
}

static void *listen(void *context)
{
    char order = 0;
    while (order != QUIT) {
        struct pollfd sources[] = {{.fd = fd, .events = POLLIN},
                                   {.fd = to_thread[0], .events = POLLIN}};
        struct uffd_msg message;
        poll(sources, 2, -1);
        while (read(fd, &message, sizeof message) == sizeof message)
            hear(&message);
        if ((sources[1].revents & POLLIN) != 0 &&
            (read(to_thread[0], &order, 1) != 1 || write(from_thread[1], &order, 1) != 1))
            break;
    }
    return context;
}

static void send_order(char order)
{
    char answer = 0;
    pthread_mutex_lock(&asking);
    while (write(to_thread[1], &order, 1) < 0 && errno == EINTR)
        ;
    while (read(from_thread[0], &answer, 1) < 0 && errno == EINTR)
        ;
    pthread_mutex_unlock(&asking);
}

void oracle_tell(oracle_left_fn_t *left)
{
    atomic_store(&report_left, left);
}

void oracle_sync(void)
{
    send_order(SYNC);
}

bool oracle_open(void)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
                    UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP,
    };
    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (ioctl(fd, UFFDIO_API, &api) != 0 || pipe2(to_thread, O_CLOEXEC) != 0 ||
        pipe2(from_thread, O_CLOEXEC) != 0 || pthread_create(&thread, NULL, listen, NULL) != 0) {
        close(fd);
        fd = -1;
        return false;
    }
    return true;
}

void oracle_close(void)
{
    send_order(QUIT);
    pthread_join(thread, NULL);
    close(fd);
    for (int i = 0; i < 2; i++) {
        close(to_thread[i]);
        close(from_thread[i]);
    }
}

bool oracle_watch(void *address, size_t length)
{
    struct uffdio_register request = {
        .range = {.start = (uintptr_t)address, .len = length},
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    return ioctl(fd, UFFDIO_REGISTER, &request) == 0;
}

size_t oracle_take(oracle_range_t *ranges, size_t most)
{
    send_order(SYNC);
    size_t count = noted_count < most ? noted_count : most;
    for (size_t i = 0; i < count; i++)
        ranges[i] = noted[i];
    noted_count = 0;
    return count;
}
