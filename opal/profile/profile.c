/* SPDX-License-Identifier: BSD-3-Clause */
/* The file, its blocks, and the slow parts of recording calls. */
#include "opal/profile/profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/arch/ticks.h"
#include "opal/include/clock.h"
#include "opal/profile/timeline.h"
#include "opal/profile/trace.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum {
    TIMED_TICKS = 400,  /* to time a call takes 132 on an AMD EPYC; where a look is dearer, more */
    TIMED_SHARE = 100,  /* ... which is at most so small a part of the calls that it stands for */
    MAX_STRIDE = 1024,  /* of a sample */
    LEAST_SAMPLES = 8,  /* a sample stands for so small a part of the calls until then */
    SHORT_TICKS = 1000, /* a call whose end is not looked at each time, with a trace */
    SHORT_BYTES = 1024, /* a message that such a call may send */
    UNLOOKED = 7,       /* such calls, between two whose end is looked at */
    SKIPPED = 32,       /* of so many short calls the time line gets one, with a trace */
    PROBES = 16,        /* slots that are looked at for a site */
};

/* The model is said again: GCC forgets that of the declaration. */
_Thread_local opal_profile_thread_t *opal_profile_self __attribute__((tls_model("initial-exec")));
bool opal_profile_is_on, opal_profile_traces;

static struct {
    char *folder;
    opal_profile_head_t *head;
    int fd;
    uint64_t block_bytes, trace_bytes;
    unsigned rank, size;
    pthread_mutex_t lock; /* of what follows */
    opal_profile_thread_t *threads[OPAL_PROFILE_THREADS];
    atomic_uint thread_count; /* which is read without it, too */
} profile = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* -- the file --------------------------------------------------------------------------------- */

static opal_profile_clock_t read_clocks(void)
{
    return (opal_profile_clock_t){.nsec = opal_clock_nsec(), .ticks = opal_ticks()};
}

static void fill_head(const opal_profile_setup_t *setup)
{
    opal_profile_head_t *head = profile.head;
    head->block_bytes = profile.block_bytes;
    head->rank = setup->rank;
    head->size = setup->size;
    head->node = setup->node;
    head->pid = getpid();
    head->first = head->last = read_clocks();
    head->realtime_nsec = opal_clock_read(CLOCK_REALTIME) - head->first.nsec;
    head->begin = head->first.ticks;
    snprintf(head->job, sizeof head->job, "%s", setup->job);
    gethostname(head->host, sizeof head->host - 1);
    ssize_t length = readlink("/proc/self/exe", head->program, sizeof head->program - 1);
    head->program[length > 0 ? length : 0] = 0;
    memcpy(head->magic, OPAL_PROFILE_MAGIC, sizeof head->magic);
}

/* Blocks of the file system are taken now: a write into a hole of a full one would be SIGBUS. */
static void *map(uint64_t offset, uint64_t bytes)
{
    int error = posix_fallocate(profile.fd, (off_t)offset, (off_t)bytes);
    if (error != 0) {
        errno = error;
        return NULL;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, profile.fd, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool create_file(const char *path)
{
    if (mkdir(profile.folder, 0777) != 0 && errno != EEXIST)
        return false;
    profile.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (profile.fd >= 0)
        profile.head = map(0, OPAL_PROFILE_PAGE);
    return profile.head != NULL;
}

bool opal_profile_start(const opal_profile_setup_t *setup)
{
    profile.folder = opal_xstrdup(setup->folder);
    char *path = opal_xprintf("%s/" OPAL_PROFILE_PREFIX "%u" OPAL_PROFILE_SUFFIX, profile.folder,
                              setup->rank);
    profile.rank = setup->rank;
    profile.size = setup->size;
    profile.block_bytes = opal_profile_block_bytes(setup->size);
    profile.trace_bytes = setup->trace_bytes;
    bool is_made = create_file(path);
    if (is_made) {
        fill_head(setup);
        opal_profile_traces = setup->traces;
        opal_profile_is_on = true;
    } else {
        opal_log_error("cannot write the profile '%s': %s. Nothing is recorded of this rank", path,
                       strerror(errno));
        opal_profile_stop();
    }
    free(path);
    return is_made;
}

/* The time behind MPI_Init counts alone. */
void opal_profile_note_begin(void)
{
    if (!opal_profile_is_on)
        return;
    profile.head->last = read_clocks();
    profile.head->begin = profile.head->last.ticks;
    profile.head->phase = OPAL_PROFILE_RUNNING;
}

void opal_profile_note_end(void)
{
    if (!opal_profile_is_on)
        return;
    profile.head->last = read_clocks();
    profile.head->end = profile.head->last.ticks;
    profile.head->phase = OPAL_PROFILE_ENDED;
    opal_profile_leave();
}

void opal_profile_leave(void)
{
    if (opal_profile_self != NULL)
        opal_profile_self->current = NULL;
}

void opal_profile_stop(void)
{
    opal_profile_is_on = opal_profile_traces = false;
    opal_profile_self = NULL;
    for (unsigned i = 0; i < profile.thread_count; i++) {
        if (profile.threads[i]->trace != NULL)
            opal_trace_close(profile.threads[i]->trace);
        munmap(profile.threads[i]->block, profile.block_bytes);
        free(profile.threads[i]);
    }
    profile.thread_count = 0;
    if (profile.head != NULL)
        munmap(profile.head, OPAL_PROFILE_PAGE);
    if (profile.fd >= 0)
        close(profile.fd);
    free(profile.folder);
    profile.head = NULL;
    profile.folder = NULL;
    profile.fd = -1;
}

/* -- threads ---------------------------------------------------------------------------------- */

static opal_trace_t *open_trace(unsigned thread)
{
    char *path = opal_xprintf("%s/" OPAL_PROFILE_PREFIX "%u.%u" OPAL_TRACE_SUFFIX, profile.folder,
                              profile.rank, thread);
    opal_trace_t *trace = opal_trace_open(path, profile.trace_bytes);
    free(path);
    return trace;
}

/* Under the lock. NULL: there are too many threads, or there is no memory. */
static opal_profile_thread_t *make_thread(void)
{
    unsigned number = profile.thread_count;
    if (number == OPAL_PROFILE_THREADS)
        return NULL;
    opal_profile_thread_t *self = calloc(1, sizeof *self);
    opal_profile_block_t *block =
        map(OPAL_PROFILE_PAGE + number * profile.block_bytes, profile.block_bytes);
    if (self == NULL || block == NULL) {
        free(self);
        return NULL;
    }
    block->thread = (uint64_t)gettid();
    opal_timeline_start(block, profile.head->begin);
    self->block = block;
    self->random = 1 + profile.rank * 2654435761U + number;
    self->trace = opal_profile_traces ? open_trace(number) : NULL;
    profile.threads[number] = self;
    profile.thread_count = profile.head->blocks = number + 1;
    return self;
}

/* The first call of this thread. A thread without a block asks again in each call. */
static opal_profile_thread_t *find_thread(void)
{
    pthread_mutex_lock(&profile.lock);
    opal_profile_self = profile.head != NULL ? make_thread() : NULL;
    if (opal_profile_self == NULL && profile.head != NULL)
        profile.head->lost_threads = 1;
    pthread_mutex_unlock(&profile.lock);
    return opal_profile_self;
}

opal_profile_thread_t *opal_profile_begin_thread(const char *function, uintptr_t address)
{
    if (opal_profile_self != NULL || find_thread() == NULL)
        return NULL; /* a call within a call */
    return opal_profile_begin(function, address);
}

/* -- sites ------------------------------------------------------------------------------------ */

static void copy_text(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%s", from != NULL ? from : "");
}

static void name_place(opal_profile_location_t *place, const char *function, uintptr_t address)
{
    Dl_info found;
    struct link_map *map;
    copy_text(place->function, sizeof place->function, function);
    uintptr_t call = address - 1; /* in the call, not behind it */
    if (dladdr1((const void *)call, &found, (void **)&map, RTLD_DL_LINKMAP) == 0)
        return;
    place->module_offset = call - map->l_addr;
    /* The loader calls the program by argv[0]. */
    char *path = realpath(found.dli_fname, NULL);
    copy_text(place->module, sizeof place->module, path != NULL ? path : found.dli_fname);
    free(path);
    copy_text(place->symbol, sizeof place->symbol, found.dli_sname);
    if (found.dli_sname != NULL)
        place->symbol_offset = call - (uintptr_t)found.dli_saddr;
}

/* Sites that find no slot share the one of their hash. */
opal_profile_site_t *opal_profile_find_site(opal_profile_thread_t *self, const char *function,
                                            uintptr_t address)
{
    unsigned first = opal_profile_slot_of(address);
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned slot = (first + i) % OPAL_PROFILE_SITES;
        opal_profile_site_t *site = &self->block->sites[slot];
        if (site->address == address && site->function == (uintptr_t)function)
            return site;
        if (site->address != 0)
            continue;
        name_place(&self->block->places[slot], function, address);
        site->function = (uintptr_t)function;
        site->address = address;
        site->key = address ^ (uintptr_t)function;
        site->next_timed = site->stride = 1;
        return site;
    }
    self->block->sites_full_calls++;
    return &self->block->sites[first];
}

/* -- time ------------------------------------------------------------------------------------- */

void opal_profile_begin_timed(opal_profile_thread_t *self)
{
    self->short_waits = self->long_waits = 0;
    self->is_noted = true;
    uint64_t now = opal_ticks();
    self->begin = now > self->last_end ? now : self->last_end; /* which may be an estimate */
    self->last_look = self->begin;
}

/* How many calls the next one that is timed will stand for, by how long this one took. By chance,
 * since programs repeat themselves. */
static uint32_t choose_stride(opal_profile_thread_t *self, uint64_t ticks)
{
    if (self->trace != NULL || ticks >= (uint64_t)TIMED_TICKS * TIMED_SHARE)
        return 1;
    uint64_t mean = (uint64_t)TIMED_TICKS * TIMED_SHARE / (ticks + 1);
    uint64_t most = 1 + self->current->calls / LEAST_SAMPLES;
    most = most < MAX_STRIDE ? most : MAX_STRIDE;
    mean = mean < most ? mean : most;
    self->random = self->random * 1664525U + 1013904223U;
    return 1 + (uint32_t)((self->random >> 8) % (2 * mean));
}

static void add_time(opal_profile_time_t *time, uint64_t sampled, uint64_t waited,
                     uint64_t long_waited)
{
    time->sampled += sampled;
    time->waited += waited;
    time->long_waited += long_waited;
}

/* Now and then: two pairs far apart make a good rate. */
static void renew_clock(uint64_t now)
{
    if (now - profile.head->last.ticks > UINT64_C(1) << 30)
        profile.head->last = read_clocks();
}

/* With a trace all calls are timed, which would be many for the time line. */
static uint32_t weight_of_traced(opal_profile_thread_t *self, uint64_t ticks)
{
    if (ticks >= (uint64_t)TIMED_TICKS * TIMED_SHARE)
        return 1;
    self->skipped = (self->skipped + 1) % SKIPPED;
    return self->skipped == 0 ? SKIPPED : 0;
}

/* The call was timed. `end`: now. */
static void add_timed(opal_profile_thread_t *self, uint64_t end)
{
    opal_profile_site_t *site = self->current;
    uint64_t ticks = end - self->begin;
    uint64_t others = ticks > self->long_waits ? ticks - self->long_waits : 0;
    uint64_t waits = self->short_waits < others ? self->short_waits : others;
    uint64_t weight = site->stride;
    add_time(&site->time, others * weight, waits * weight, self->long_waits);
    site->timed_calls += weight;
    if (self->collective != NULL) {
        add_time(&self->collective->time, others * weight, waits * weight, self->long_waits);
        self->collective->timed_calls += weight;
    }
    site->stride = choose_stride(self, others);
    site->next_timed = site->calls + site->stride;
    uint64_t pieces = self->trace != NULL ? weight_of_traced(self, ticks) : weight;
    if (pieces == 0)
        return;
    opal_timeline_add(self->block, &(opal_timeline_call_t){
                                       .begin = self->begin,
                                       .end = end,
                                       .waited = waits + self->long_waits,
                                       .weight = pieces,
                                       .site = (uint64_t)(site - self->block->sites),
                                   });
}

/* The call was not timed, but has waited for long. */
static void add_wait(opal_profile_thread_t *self)
{
    opal_profile_site_t *site = self->current;
    add_time(&site->time, 0, 0, self->long_waits);
    if (self->collective != NULL)
        add_time(&self->collective->time, 0, 0, self->long_waits);
    opal_timeline_add(self->block, &(opal_timeline_call_t){
                                       .begin = self->long_begin,
                                       .end = self->long_end,
                                       .waited = self->long_waits,
                                       .weight = 1,
                                       .site = (uint64_t)(site - self->block->sites),
                                   });
}

/* Not before the last one: cores may differ by some ticks, and a begin may be an estimate. */
static uint64_t look(const opal_profile_thread_t *self)
{
    uint64_t now = opal_ticks();
    return now > self->last_look ? now : self->last_look;
}

/* With a trace. Of short calls that do not wait, the clock is looked at after a few alone. */
static uint64_t end_of_traced(opal_profile_thread_t *self)
{
    opal_profile_site_t *site = self->current;
    if (self->is_at_end)
        return self->last_look;
    bool is_short = self->last_look == self->begin && self->collective == NULL && !self->must_look;
    if (is_short && site->unlooked > 0) {
        site->unlooked--;
        return self->begin + site->usual;
    }
    uint64_t end = look(self), ticks = end - self->begin;
    if (is_short && ticks < SHORT_TICKS) {
        /* The least: so the next call begins behind the estimate. */
        site->usual = site->usual == 0 || ticks < site->usual ? (uint32_t)ticks : site->usual;
        site->unlooked = UNLOOKED;
    }
    return end;
}

static uint64_t end_of_call(opal_profile_thread_t *self)
{
    if (self->begin == 0)
        return self->long_end;
    if (self->trace == NULL)
        return look(self);
    self->last_end = end_of_traced(self);
    return self->last_end;
}

/* Most waits are as long as their call, and in its record. */
static void trace_wait(opal_profile_thread_t *self)
{
    if (self->wait_end != 0)
        opal_trace_interval(self->trace, OPAL_TRACE_WAIT, self->wait_begin, self->wait_end, 0);
    self->wait_end = 0;
}

static void trace_call(opal_profile_thread_t *self, uint64_t begin, uint64_t end)
{
    bool is_wait = self->wait_end == end && self->wait_begin == begin;
    if (is_wait)
        self->wait_end = 0;
    else
        trace_wait(self);
    opal_trace_interval(self->trace, is_wait ? OPAL_TRACE_WAITED : OPAL_TRACE_CALL, begin, end,
                        (uint64_t)(self->current - self->block->sites));
}

static void end_timed(opal_profile_thread_t *self)
{
    opal_profile_site_t *site = self->current;
    uint64_t begin = self->begin != 0 ? self->begin : self->long_begin;
    uint64_t end = end_of_call(self);
    if (self->trace != NULL)
        trace_call(self, begin, end);
    if (self->begin != 0)
        add_timed(self, end);
    else
        add_wait(self);
    if (end - begin > site->longest)
        site->longest = end - begin;
    renew_clock(end);
}

void opal_profile_end_noted(opal_profile_thread_t *self)
{
    if ((self->begin | self->long_waits) != 0)
        end_timed(self);
    self->collective = NULL;
    self->begin = self->long_waits = 0;
    self->is_noted = self->is_at_end = self->must_look = false;
}

void opal_profile_wait_end(uint64_t begin, uint64_t long_since)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (self == NULL || self->current == NULL)
        return;
    uint64_t end = look(self);
    self->last_look = end;
    self->is_at_end = self->collective == NULL;
    if (self->trace != NULL) {
        trace_wait(self);
        self->wait_begin = begin != 0 ? begin : long_since;
        self->wait_end = end;
    }
    if (long_since != 0) {
        if (self->long_waits == 0)
            self->long_begin = long_since;
        self->long_end = end;
        self->long_waits += end - long_since;
        self->is_noted = true;
        end = long_since;
    }
    if (begin != 0)
        self->short_waits += end - begin;
    if (!self->is_inside)
        opal_profile_end_noted(self); /* the call was counted alone */
}

/* -- messages and collectives ----------------------------------------------------------------- */

static void sent_another(opal_profile_block_t *block, opal_profile_site_t *site, unsigned peer,
                         uint64_t bytes)
{
    opal_profile_settle(block, site);
    site->peer = peer;
    site->each_bytes = bytes;
    site->repeats = 1;
}

static void sent_own(const opal_profile_thread_t *self, unsigned peer, uint64_t bytes)
{
    opal_profile_site_t *site = self->current;
    if (site == NULL) { /* before the first call, or behind the last one */
        opal_profile_site_t none = {0};
        sent_another(self->block, &none, peer, bytes);
        opal_profile_settle(self->block, &none);
    } else if (site->peer == peer && site->each_bytes == bytes) {
        site->repeats++;
    } else {
        sent_another(self->block, site, peer, bytes);
    }
}

/* The caller has the lock of the message, so the order is that of the messages of a kind. */
static void trace_message(opal_profile_thread_t *self, unsigned kind,
                          const opal_profile_message_t *message)
{
    static atomic_uint last;
    bool is_alone = atomic_load_explicit(&profile.thread_count, memory_order_relaxed) == 1;
    unsigned order = is_alone ? 0 : atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
    self->is_at_end = false;
    if (kind == OPAL_TRACE_MATCHED || message->bytes > SHORT_BYTES)
        self->must_look = true;
    opal_trace_message(self->trace, kind, message->peer, message->tag, message->context, order,
                       message->bytes);
}

void opal_profile_sent(const opal_profile_message_t *message)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (self == NULL)
        return; /* a thread in the background sends what had no room */
    unsigned peer = message->peer < profile.size ? message->peer : profile.size;
    if (message->is_own) {
        sent_own(self, peer, message->bytes);
    } else {
        opal_profile_traffic_t *library = &self->block->peers[peer].library;
        library->messages++;
        library->bytes += message->bytes;
    }
    if (self->trace != NULL && self->is_inside)
        trace_message(self, OPAL_TRACE_SENT, message);
}

void opal_profile_matched(const opal_profile_message_t *message)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (self != NULL && self->trace != NULL && self->is_inside)
        trace_message(self, OPAL_TRACE_MATCHED, message);
}

static bool is_collective(const opal_profile_collective_t *each, uint64_t function,
                          uint64_t component, uint64_t algorithm)
{
    return each->function_key == function && each->component_key == component &&
           each->algorithm_key == algorithm;
}

/* The entry; the last one is for all that find none. */
static opal_profile_collective_t *find_collective(const opal_profile_thread_t *self,
                                                  const char *component, const char *algorithm)
{
    opal_profile_collective_t *each = self->block->collectives;
    uint64_t function = self->current->function;
    for (unsigned i = 0; i < OPAL_PROFILE_COLLECTIVES - 1 && each->function_key != 0; i++, each++) {
        if (is_collective(each, function, (uintptr_t)component, (uintptr_t)algorithm))
            return each;
    }
    if (each->function_key == 0) {
        copy_text(each->function, sizeof each->function, (const char *)(uintptr_t)function);
        copy_text(each->component, sizeof each->component, component);
        copy_text(each->algorithm, sizeof each->algorithm, algorithm);
        each->function_key = function;
        each->component_key = (uintptr_t)component;
        each->algorithm_key = (uintptr_t)algorithm;
    }
    return each;
}

void opal_profile_collective(const char *component, const char *algorithm, uint64_t bytes)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (self == NULL || !self->is_inside)
        return;
    self->is_noted = true;
    self->collective = find_collective(self, component, algorithm);
    self->collective->calls++;
    self->collective->bytes += bytes;
    self->current->bytes += bytes;
}
