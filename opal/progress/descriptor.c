/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of descriptors, and the timers.
 *
 * A descriptor has a slot, and a token made of the slot's number and how often the slot was used.
 * An engine reports tokens: the token of a descriptor that was removed meanwhile is ignored. Slot 0
 * is that of the wake descriptor, an eventfd, which is written to end a sleep in an engine that
 * sees no words. Only the sleeper reads it, so no poll takes a wake away from the sleeper.
 */
#include "opal/progress/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param.h"
#include "opal/progress/engine.h"
#include "opal/progress/fixed.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

enum {
    LOOK_AFTER = 64,      /* calls of progress in which poll functions found something */
    IDLE_CALL_COUNTS = 4, /* a call in which they found nothing counts as so many */
    LOOK_AGAIN_NSEC = 2000,
};

typedef struct slot {
    opal_descriptor_t *descriptor; /* NULL: free */
    uint32_t uses;
    uint32_t next_free; /* 0: none */
} slot_t;

static struct {
    const opal_engine_t *engine; /* NULL: none is open */
    bool wants_fixed;
    opal_engine_traits_t traits;
    int wake_fd;
    slot_t *slots;
    uint32_t slot_count, first_free;
    unsigned descriptors, sends, armed; /* armed: that have an `arm` */
    unsigned skipped, interval;         /* of progress's calls, between two looks */
    uint64_t looked_nsec;
    bool is_blocking; /* a thread is between begin_block and end_block */
    bool is_calling;  /* `ready` or `expired` */
} set = {.wake_fd = -1, .interval = 1};

unsigned opal_descriptor_active;

static opal_list_t timers = {{&timers.head, &timers.head}}; /* the next one is first */

/* -- the engine -------------------------------------------------------------------- */

/* In the order of auto; the first one if it is to send out of pinned pages, which is what makes up
 * for what it costs. */
static const opal_engine_t *const engines[] = {
#ifdef HAVE_LIBURING
    &opal_engine_io_uring,
#endif
    &opal_engine_epoll,
    &opal_engine_poll,
};

enum { AUTO, POLL, EPOLL, IO_URING };

static int chosen;
static const opal_param_choice_t choices[] = {
    {"auto", AUTO}, {"poll", POLL}, {"epoll", EPOLL}, {"io_uring", IO_URING}, {0}};

static const opal_param_row_t params[] = {
    {.name = "engine",
     .type = OPAL_PARAM_ENUM,
     .value = &chosen,
     .preset = "auto",
     .choices = choices,
     .prose = "How a process asks the system which connections are ready; auto: by epoll, or by "
              "io_uring if buffers are to stay registered and the system permits it"},
    {0},
};

/* The one that was asked for, or the first that the system has. */
static const opal_engine_t *open_any(const char **reason)
{
    *reason = "this library was built without liburing";
    for (size_t i = 0; i < OPAL_COUNT_OF(engines); i++) {
        const opal_engine_t *engine = engines[i];
        if (chosen == AUTO ? engine->fixed != NULL && !set.wants_fixed
                           : strcmp(engine->name, choices[chosen].name) != 0)
            continue;
        if (engine->open(&set.traits, reason) == OPAL_SUCCESS)
            return engine;
    }
    return NULL;
}

void opal_descriptor_want_fixed(void)
{
    set.wants_fixed = true;
}

/* An engine that the user has named, but that this machine lacks, is a finding of start-up. */
static opal_status_t check_choice(void)
{
    const char *reason;
    if (chosen == AUTO)
        return OPAL_SUCCESS;
    const opal_engine_t *engine = open_any(&reason);
    if (engine != NULL) {
        engine->close();
        return OPAL_SUCCESS;
    }
    opal_diagnostic(OPAL_ERROR, "wait_engine = %s: %s", choices[chosen].name, reason);
    return OPAL_ERR_BAD_PARAM;
}

opal_status_t opal_descriptor_register(void)
{
    opal_status_t fixed = opal_fixed_params_register();
    opal_status_t status = opal_param_register("wait", "", params);
    if (status == OPAL_SUCCESS)
        status = check_choice();
    return status != OPAL_SUCCESS ? status : fixed;
}

static void close_engine(void)
{
    if (set.engine == NULL)
        return;
    opal_fixed_close();
    opal_descriptor_count_sends(-(int)set.sends);
    set.engine->close();
    set.engine = NULL;
    if (set.wake_fd >= 0)
        close(set.wake_fd);
    set.wake_fd = -1;
    free(set.slots);
    set.slots = NULL;
    set.slot_count = set.first_free = 0;
}

void opal_descriptor_withdraw(void)
{
    close_engine();
    opal_param_withdraw(params);
    opal_fixed_params_withdraw();
}

static opal_status_t open_set(void)
{
    const char *reason = "";
    const opal_engine_t *engine = open_any(&reason);
    if (engine == NULL) {
        opal_log_error("cannot watch connections (wait_engine = %s): %s", choices[chosen].name,
                       reason);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    set.engine = engine;
    set.slots = calloc(1, sizeof *set.slots);
    set.slot_count = set.slots != NULL;
    if (set.slots != NULL && !set.traits.sees_word)
        set.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set.slots != NULL &&
        (set.traits.sees_word ||
         (set.wake_fd >= 0 && engine->add(set.wake_fd, OPAL_READABLE, 0) == OPAL_SUCCESS)))
        return OPAL_SUCCESS;
    opal_log_error("cannot make a descriptor to be woken by: %s", strerror(errno));
    close_engine();
    return OPAL_ERR_SYSTEM;
}

const opal_engine_t *opal_descriptor_open_engine(void)
{
    if (set.engine == NULL)
        open_set();
    return set.engine;
}

const char *opal_descriptor_engine(void)
{
    return set.engine != NULL ? set.engine->name : NULL;
}

/* -- descriptors ------------------------------------------------------------------- */

static opal_status_t make_slots(void)
{
    uint32_t count = set.slot_count < 16 ? 32 : 2 * set.slot_count;
    if (count > OPAL_ENGINE_SLOTS)
        return OPAL_ERR_TOO_LARGE;
    slot_t *slots = realloc(set.slots, count * sizeof *slots);
    if (slots == NULL)
        return OPAL_ERR_NO_MEMORY;
    for (uint32_t i = count; i-- > set.slot_count;) {
        slots[i] = (slot_t){.next_free = set.first_free};
        set.first_free = i;
    }
    set.slots = slots;
    set.slot_count = count;
    return OPAL_SUCCESS;
}

static void free_slot(uint32_t number)
{
    set.slots[number].descriptor = NULL;
    set.slots[number].next_free = set.first_free;
    set.first_free = number;
}

/* The poller may sleep in an engine that does not see the change, or on the doorbell alone. */
static void notify_sleeper(bool is_first)
{
    if (is_first || !set.traits.sees_changes)
        opal_wait_poke();
}

static void (*watch)(int fd, unsigned wants);

static void tell_watch(const opal_descriptor_t *descriptor, unsigned wants)
{
    if (opal_unlikely(watch != NULL))
        watch(descriptor->fd, wants);
}

void opal_descriptor_watch_by(void (*function)(int fd, unsigned wants))
{
    watch = function;
    for (uint32_t i = 0; i < set.slot_count; i++) {
        if (set.slots[i].descriptor != NULL)
            tell_watch(set.slots[i].descriptor, set.slots[i].descriptor->wants);
    }
}

/* Descriptors that are armed before sleeps are not looked for at other times: that costs a system
 * call, and their poll function has looked. */
static void count_armed(const opal_descriptor_t *descriptor, int change)
{
    if (descriptor->arm != NULL)
        set.armed += (unsigned)change;
    else
        opal_descriptor_active += (unsigned)change;
}

opal_status_t opal_descriptor_add(opal_descriptor_t *descriptor)
{
    opal_status_t status = set.engine != NULL ? OPAL_SUCCESS : open_set();
    if (status != OPAL_SUCCESS)
        return status;
    if (set.first_free == 0)
        status = make_slots();
    if (status != OPAL_SUCCESS) {
        opal_log_error("cannot watch one more than %u connections", set.descriptors);
        return status;
    }
    uint32_t number = set.first_free;
    slot_t *slot = &set.slots[number];
    set.first_free = slot->next_free;
    slot->descriptor = descriptor;
    slot->uses++;
    descriptor->token = (uint64_t)slot->uses << 32 | number;
    status = set.engine->add(descriptor->fd, descriptor->wants, descriptor->token);
    if (status != OPAL_SUCCESS) {
        opal_log_error("cannot watch descriptor %d by %s: %s", descriptor->fd, set.engine->name,
                       strerror(errno));
        free_slot(number);
        return status;
    }
    tell_watch(descriptor, descriptor->wants);
    count_armed(descriptor, 1);
    notify_sleeper(set.descriptors++ == 0);
    return OPAL_SUCCESS;
}

void opal_descriptor_want(opal_descriptor_t *descriptor, unsigned wants)
{
    if (descriptor->wants == wants)
        return;
    descriptor->wants = wants;
    set.engine->change(descriptor->fd, wants, descriptor->token);
    tell_watch(descriptor, wants);
    notify_sleeper(false);
}

void opal_descriptor_remove(opal_descriptor_t *descriptor)
{
    set.engine->remove(descriptor->fd, descriptor->token);
    tell_watch(descriptor, 0);
    free_slot(opal_engine_slot(descriptor->token));
    descriptor->token = 0;
    set.descriptors--;
    count_armed(descriptor, -1);
    notify_sleeper(false);
}

void opal_descriptor_count_sends(int change)
{
    bool is_first = set.sends == 0;
    set.sends += (unsigned)change;
    opal_descriptor_active += (unsigned)change;
    if (is_first && change > 0)
        notify_sleeper(true);
}

bool opal_descriptor_has_sends(void)
{
    return set.sends != 0;
}

static int deliver(const opal_engine_event_t *events, unsigned count)
{
    int done = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t number = opal_engine_slot(events[i].token);
        opal_descriptor_t *descriptor =
            number < set.slot_count ? set.slots[number].descriptor : NULL;
        if (descriptor == NULL || descriptor->token != events[i].token)
            continue;
        unsigned wanted = events[i].events & descriptor->wants;
        if (wanted != 0)
            done += descriptor->ready(descriptor, wanted);
    }
    return done;
}

/* -- timers ------------------------------------------------------------------------ */

/* Most are as long as the one before: the search begins at the end. */
void opal_timer_set(opal_timer_t *timer, uint64_t when_nsec)
{
    opal_timer_cancel(timer);
    opal_list_node_t *before = timers.head.previous;
    while (before != &timers.head &&
           opal_container_of(before, opal_timer_t, node)->when_nsec > when_nsec)
        before = before->previous;
    timer->when_nsec = when_nsec;
    timer->is_set = true;
    timer->node = (opal_list_node_t){.previous = before, .next = before->next};
    before->next->previous = &timer->node;
    before->next = &timer->node;
    opal_descriptor_active++;
    if (before == &timers.head)
        opal_wait_poke(); /* the poller may sleep for too long */
}

void opal_timer_cancel(opal_timer_t *timer)
{
    if (!timer->is_set)
        return;
    timer->is_set = false;
    opal_list_remove(&timer->node);
    opal_descriptor_active--;
}

static opal_timer_t *first_timer(void)
{
    opal_list_node_t *node = opal_list_first(&timers);
    return node != NULL ? opal_container_of(node, opal_timer_t, node) : NULL;
}

int64_t opal_timer_left(void)
{
    const opal_timer_t *timer = first_timer();
    if (timer == NULL)
        return -1;
    uint64_t now = opal_clock_nsec();
    uint64_t left = timer->when_nsec > now ? timer->when_nsec - now : 0;
    return left < INT64_MAX ? (int64_t)left : INT64_MAX;
}

/* Those that were due at `now`, and no more than a batch: one may set itself anew. */
static void run_timers(uint64_t now)
{
    unsigned left = OPAL_ENGINE_BATCH;
    for (opal_timer_t *timer = first_timer(); timer != NULL && timer->when_nsec <= now && left > 0;
         timer = first_timer()) {
        opal_timer_cancel(timer);
        timer->expired(timer);
        left--;
    }
}

/* -- looking ----------------------------------------------------------------------- */

int opal_descriptor_look(void)
{
    if (set.is_calling || set.is_blocking)
        return 0;
    int done = 0;
    set.is_calling = true;
    if (set.descriptors > set.armed || set.sends != 0) {
        opal_engine_event_t events[OPAL_ENGINE_BATCH];
        done = deliver(events, set.engine->look(events));
    }
    if (set.sends != 0)
        done += opal_fixed_finish();
    if (!opal_list_is_empty(&timers))
        run_timers(opal_clock_nsec());
    set.is_calling = false;
    return done;
}

int opal_descriptor_look_sometimes(int found)
{
    set.skipped += found > 0 ? 1 : IDLE_CALL_COUNTS;
    if (set.skipped < set.interval)
        return 0;
    set.skipped = 0;
    int done = opal_descriptor_look();
    if (done > 0)
        set.interval = 1;
    else if (set.interval < LOOK_AFTER)
        set.interval *= 2;
    return done;
}

int opal_descriptor_look_again(void)
{
    uint64_t now = opal_clock_nsec();
    if (now - set.looked_nsec < LOOK_AGAIN_NSEC)
        return 0;
    set.looked_nsec = now;
    set.skipped = 0;
    return opal_descriptor_look();
}

/* -- sleeping ---------------------------------------------------------------------- */

bool opal_descriptor_is_watched(void)
{
    return set.descriptors != 0 || set.sends != 0;
}

bool opal_descriptor_arm(void)
{
    unsigned left = set.armed;
    for (uint32_t i = 0; i < set.slot_count && left > 0; i++) {
        opal_descriptor_t *descriptor = set.slots[i].descriptor;
        if (descriptor == NULL || descriptor->arm == NULL)
            continue;
        if (descriptor->wants != 0 && !descriptor->arm(descriptor))
            return false;
        left--;
    }
    return true;
}

bool opal_descriptor_sees_word(void)
{
    return set.traits.sees_word;
}

void opal_descriptor_wake(void)
{
    uint64_t one = 1;
    ssize_t written = write(set.wake_fd, &one, sizeof one);
    (void)written; /* it counts to 2^64 before it would not take one */
}

int opal_descriptor_wake_fd(void)
{
    return set.wake_fd;
}

void opal_descriptor_begin_block(atomic_uint *word, unsigned seen)
{
    set.is_blocking = true;
    set.engine->prepare(word, seen);
}

void opal_descriptor_block(int64_t timeout_nsec)
{
    set.engine->block(timeout_nsec);
}

static void forget_wakes(const opal_engine_event_t *events, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t wakes;
        if (events[i].token == 0) {
            ssize_t got = read(set.wake_fd, &wakes, sizeof wakes);
            (void)got; /* nothing to read: it was reported twice */
        }
    }
}

int opal_descriptor_end_block(void)
{
    opal_engine_event_t events[OPAL_ENGINE_BATCH];
    unsigned count = set.engine->collect(events);
    set.is_blocking = false;
    forget_wakes(events, count);
    set.is_calling = true;
    int done = deliver(events, count);
    if (set.sends != 0)
        done += opal_fixed_finish();
    if (!opal_list_is_empty(&timers))
        run_timers(opal_clock_nsec());
    set.is_calling = false;
    set.interval = 1;
    return done;
}
