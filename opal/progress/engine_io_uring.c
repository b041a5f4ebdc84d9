/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine io_uring. Completions come by themselves into memory that is shared with the system,
 * so a look that finds nothing makes no system call, and the doorbell is waited for as a descriptor
 * is (Linux 6.7).
 *
 * A descriptor has one poll request, and a new one after its event was reported; a look submits all
 * new ones with one system call. So while no thread looks, a descriptor interrupts at most once. A
 * request can complete after its descriptor is removed or has other `wants`: each request has a
 * number, and the completion of an older one is dropped.
 *
 * A thread in `block` touches nothing of the uring: other threads may submit meanwhile, but none
 * reaps completions. The system completes a request in the thread that has submitted it. If that
 * thread has ended, the request completes with ECANCELED and another thread submits it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/progress/descriptor.h"
#include "opal/progress/uring.h"

enum {
    SQ_ENTRIES = 256, /* between two system calls */
    CQ_ENTRIES = 4096,
    OP_FUTEX_WAIT = 51, /* liburing 2.3 has no name for it */
    FUTEX2_WORD = 2,    /* 32 bits, shared between processes */
    SLOT_SHIFT = 3,
    NUMBER_SHIFT = SLOT_SHIFT + 24,
};

typedef struct watch {
    int fd;
    unsigned wants;
    uint64_t token;
    uint64_t request; /* 0: not */
    bool is_queued;   /* in to_submit */
} watch_t;

struct io_uring opal_uring;

static watch_t *watches;    /* by slot */
static uint32_t *to_submit; /* slots */
static uint32_t capacity, to_submit_count;
static uint64_t number;

static bool has_futex, has_writes;
static atomic_uint *submitted_word;
static uint64_t word_request; /* 0: not */

/* -- the uring ------------------------------------------------------------------- */

static const char *setup_reason(int error)
{
    switch (error) {
    case ENOSYS:
        return "this kernel has no io_uring";
    case EPERM:
    case EACCES:
        return "the system does not permit io_uring to this process (sysctl "
               "kernel.io_uring_disabled, or a container's rules)";
    case ENOMEM:
        return "no memory may be locked for it (ulimit -l)";
    case EMFILE:
    case ENFILE:
        return "no descriptor is free (ulimit -n)";
    default:
        return "io_uring cannot be set up";
    }
}

/* 0, or -errno. Cooperative: what happens does not interrupt this process, which may be reading the
 * same socket already; it is looked at when the completions are. */
static int make_uring(struct io_uring_params *params, unsigned flags)
{
    *params = (struct io_uring_params){.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | flags,
                                       .cq_entries = CQ_ENTRIES};
    return io_uring_queue_init_params(SQ_ENTRIES, &opal_uring, params);
}

static opal_status_t engine_open(opal_engine_traits_t *traits, const char **reason)
{
    struct io_uring_params params = {0};
    int error = make_uring(&params, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (error == -EINVAL) /* before Linux 5.19 */
        error = make_uring(&params, 0);
    if (error != 0) {
        *reason = setup_reason(-error);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    if ((params.features & IORING_FEAT_EXT_ARG) == 0) {
        io_uring_queue_exit(&opal_uring);
        *reason = "this kernel's io_uring is too old, it takes Linux 5.11";
        return OPAL_ERR_NOT_AVAILABLE;
    }
    io_uring_ring_dontfork(&opal_uring);
    struct io_uring_probe *probe = io_uring_get_probe_ring(&opal_uring);
    has_futex = probe != NULL && io_uring_opcode_supported(probe, OP_FUTEX_WAIT);
    io_uring_free_probe(probe);
    *traits = (opal_engine_traits_t){.sees_word = has_futex};
    return OPAL_SUCCESS;
}

static void engine_close(void)
{
    io_uring_queue_exit(&opal_uring);
    free(watches);
    free(to_submit);
    watches = NULL;
    to_submit = NULL;
    capacity = to_submit_count = 0;
    submitted_word = NULL;
    word_request = 0;
    has_writes = false;
}

/* A write to a broken connection raises SIGPIPE in the thread that submits. */
static void submit_without_pipe(void)
{
    static const struct timespec now;
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    sigpending(&pending);
    io_uring_submit(&opal_uring);
    if (!sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void opal_uring_submit(void)
{
    if (io_uring_sq_ready(&opal_uring) == 0)
        return;
    if (has_writes)
        submit_without_pipe();
    else
        io_uring_submit(&opal_uring);
    if (io_uring_sq_ready(&opal_uring) == 0)
        has_writes = false;
}

void opal_uring_expect_pipe(void)
{
    has_writes = true;
}

struct io_uring_sqe *opal_uring_get_sqe(void)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&opal_uring);
    if (entry == NULL) {
        opal_uring_submit();
        entry = io_uring_get_sqe(&opal_uring);
    }
    return entry;
}

static uint64_t next_number(void)
{
    return ++number << NUMBER_SHIFT;
}

/* -- descriptors ----------------------------------------------------------------- */

static opal_status_t make_room(uint32_t count)
{
    if (count <= capacity)
        return OPAL_SUCCESS;
    uint32_t wanted = count < 32 ? 64 : 2 * count;
    watch_t *grown = realloc(watches, wanted * sizeof *grown);
    if (grown == NULL)
        return OPAL_ERR_NO_MEMORY;
    watches = grown;
    uint32_t *queue = realloc(to_submit, wanted * sizeof *queue);
    if (queue == NULL)
        return OPAL_ERR_NO_MEMORY;
    to_submit = queue;
    for (; capacity < wanted; capacity++)
        watches[capacity] = (watch_t){.fd = -1};
    return OPAL_SUCCESS;
}

static void queue(uint32_t slot)
{
    if (watches[slot].is_queued)
        return;
    watches[slot].is_queued = true;
    to_submit[to_submit_count++] = slot;
}

static opal_status_t engine_add(int fd, unsigned wants, uint64_t token)
{
    uint32_t slot = opal_engine_slot(token);
    if (fcntl(fd, F_GETFD) < 0)
        return OPAL_ERR_SYSTEM;
    if (make_room(slot + 1) != OPAL_SUCCESS) {
        errno = ENOMEM;
        return OPAL_ERR_NO_MEMORY;
    }
    watches[slot].fd = fd;
    watches[slot].wants = wants;
    watches[slot].token = token;
    queue(slot);
    return OPAL_SUCCESS;
}

/* Cancels a request; its completion is dropped. */
static void forget(uint64_t *request)
{
    struct io_uring_sqe *entry = *request != 0 ? opal_uring_get_sqe() : NULL;
    if (entry != NULL) {
        io_uring_prep_cancel64(entry, *request, 0);
        io_uring_sqe_set_data64(entry, URING_FOR_NONE);
    }
    *request = 0;
}

static void engine_change(int fd OPAL_UNUSED, unsigned wants, uint64_t token)
{
    watch_t *watch = &watches[opal_engine_slot(token)];
    watch->wants = wants;
    forget(&watch->request);
    queue(opal_engine_slot(token));
}

/* Submitted at once: as long as a request is pending, the descriptor is not really closed. */
static void engine_remove(int fd OPAL_UNUSED, uint64_t token)
{
    watch_t *watch = &watches[opal_engine_slot(token)];
    watch->wants = 0;
    if (watch->request == 0)
        return;
    forget(&watch->request);
    opal_uring_submit();
}

static void prepare_poll(uint32_t slot, struct io_uring_sqe *entry)
{
    watch_t *watch = &watches[slot];
    unsigned events = 0;
    if ((watch->wants & OPAL_READABLE) != 0)
        events |= POLLIN;
    if ((watch->wants & OPAL_WRITABLE) != 0)
        events |= POLLOUT;
    watch->request = next_number() | (uint64_t)slot << SLOT_SHIFT | URING_FOR_WATCH;
    io_uring_prep_poll_add(entry, watch->fd, events);
    io_uring_sqe_set_data64(entry, watch->request);
}

static void submit_polls(void)
{
    while (to_submit_count > 0) {
        uint32_t slot = to_submit[to_submit_count - 1];
        if (watches[slot].wants != 0 && watches[slot].request == 0) {
            struct io_uring_sqe *entry = opal_uring_get_sqe();
            if (entry == NULL)
                return;
            prepare_poll(slot, entry);
        }
        watches[slot].is_queued = false;
        to_submit_count--;
    }
}

/* True: *event was filled in. */
static bool take_watch(uint64_t whom, int result, opal_engine_event_t *event)
{
    uint32_t slot = (uint32_t)(whom >> SLOT_SHIFT) % OPAL_ENGINE_SLOTS;
    watch_t *watch = &watches[slot];
    if (watch->request != whom)
        return false;
    watch->request = 0;
    queue(slot);
    if (result == -ECANCELED)
        return false;
    unsigned flags = result < 0 ? POLLERR : (unsigned)result;
    *event = (opal_engine_event_t){.token = watch->token};
    if ((flags & (POLLIN | POLLHUP | POLLERR)) != 0)
        event->events |= OPAL_READABLE;
    if ((flags & (POLLOUT | POLLHUP | POLLERR)) != 0)
        event->events |= OPAL_WRITABLE;
    return true;
}

static unsigned reap_completions(opal_engine_event_t *events)
{
    struct io_uring_cqe *completion;
    unsigned count = 0;
    for (unsigned i = 0; i < OPAL_ENGINE_BATCH && io_uring_peek_cqe(&opal_uring, &completion) == 0;
         i++) {
        uint64_t whom = completion->user_data;
        int result = completion->res;
        unsigned flags = completion->flags;
        io_uring_cqe_seen(&opal_uring, completion);
        if ((whom & URING_FOR_MASK) == URING_FOR_WATCH)
            count += take_watch(whom, result, &events[count]);
        else if ((whom & URING_FOR_MASK) == URING_FOR_SEND)
            opal_uring_fixed_complete(whom, result, flags);
        else if (whom == word_request)
            word_request = 0;
    }
    return count;
}

static unsigned engine_look(opal_engine_event_t *events)
{
    submit_polls();
    opal_uring_fixed_resume();
    opal_uring_submit();
    return reap_completions(events);
}

/* -- sleeping -------------------------------------------------------------------- */

/* The system compares the word with `seen` when the request is submitted. An older request that has
 * not completed was submitted with the same value. */
static void submit_word(atomic_uint *word, unsigned seen)
{
    if (word != submitted_word)
        forget(&word_request);
    submitted_word = word;
    struct io_uring_sqe *entry = word_request == 0 ? opal_uring_get_sqe() : NULL;
    if (entry == NULL)
        return;
    word_request = next_number() | URING_FOR_WORD;
    io_uring_prep_rw(OP_FUTEX_WAIT, entry, FUTEX2_WORD, word, 0, seen);
    entry->addr3 = UINT32_MAX; /* woken by every kind of wake */
    io_uring_sqe_set_data64(entry, word_request);
}

static void engine_prepare(atomic_uint *word, unsigned seen)
{
    submit_polls();
    opal_uring_fixed_resume();
    if (has_futex)
        submit_word(word, seen);
    opal_uring_submit();
}

static void engine_block(int64_t timeout_nsec)
{
    struct __kernel_timespec limit = {.tv_sec = timeout_nsec / 1000000000,
                                      .tv_nsec = timeout_nsec % 1000000000};
    struct io_uring_getevents_arg argument = {.ts = timeout_nsec < 0 ? 0 : (uintptr_t)&limit};
    syscall(SYS_io_uring_enter, opal_uring.ring_fd, 0, 1,
            IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
}

const opal_engine_t opal_engine_io_uring = {
    .name = "io_uring",
    .open = engine_open,
    .close = engine_close,
    .add = engine_add,
    .change = engine_change,
    .remove = engine_remove,
    .look = engine_look,
    .prepare = engine_prepare,
    .block = engine_block,
    .collect = reap_completions,
    .fixed = &opal_uring_fixed,
};
