/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's segment: making it, attaching to it, carving it, and which of its ranks still live.
 * Start-up and shutdown come from one thread; carving and the questions about peers from any.
 */
#include "opal/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/base/param.h"
#include "opal/mca/base/pvar.h"
#include "opal/mca/pmi/base/base.h"
#include "opal/node/alias.h"
#include "opal/node/fd_pass.h"
#include "opal/node/region.h"
#include "opal/node/rendezvous.h"
#include "opal/node/shared.h"
#include "opal/include/clock.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ALIGNMENT = 64, SET_BYTES = 8192, SPARE_MAX = 32 << 20 };

typedef struct header {
    _Atomic uint64_t magic; /* written last */
    uint64_t bytes;
    uint32_t ranks;
    int32_t launcher; /* pid; 0: no launcher watches the ranks */
    char job_id[64];
    _Alignas(64) _Atomic uint64_t cursor; /* offset of the next piece */
    _Atomic uint64_t spare;               /* what opal_node_carve_spare may still carve */
    _Alignas(64) atomic_uint deaths;
    opal_node_claim_t claim;
    _Alignas(64) opal_node_slot_t slots[];
} header_t;

/* Of the layout: the number goes up with every change of it, the sizes with most by themselves. */
static const uint64_t magic =
    UINT64_C(0x32676573616369f7) + (sizeof(header_t) << 24) + (sizeof(opal_node_slot_t) << 40);

/* Of this process. */
static struct {
    header_t *header; /* NULL: not attached */
    size_t bytes;
    int fd;
    const opal_pmi_job_t *job;
    opal_node_slot_t *slot;
    bool load_is_known; /* every rank has published its CPUs */
    _Atomic uint64_t watched_at_sec;
} node = {.fd = -1};

static size_t segment_size;

static const opal_param_row_t params[] = {
    {.name = "segment_size",
     .type = OPAL_PARAM_SIZE,
     .value = &segment_size,
     .preset = "0",
     .unit = "bytes",
     .prose = "The size of the segment through which the ranks of a node exchange frames; its "
              "pages are used as needed; 0: by the number of ranks"},
    {0},
};

/* -- performance variables ----------------------------------------------------------------- */

static uint64_t read_region_bytes(const opal_pvar_row_t *row OPAL_UNUSED, void *object OPAL_UNUSED)
{
    return opal_region.bytes;
}

enum { HELD, USED };

static uint64_t read_heap(const opal_pvar_row_t *row, void *object OPAL_UNUSED)
{
    opal_heap_stats_t stats = {0};
    if (opal_region.heap != NULL)
        opal_heap_stats(opal_region.heap, &stats);
    return row->which == HELD ? stats.committed_bytes : stats.used_bytes;
}

static const opal_pvar_row_t pvars[] = {
    {.name = "region_bytes",
     .class = OPAL_PVAR_SIZE,
     .unit = "bytes",
     .read = read_region_bytes,
     .prose = "The size of the region that all ranks of the node have mapped; 0: there is none"},
    {.name = "heap_held_bytes",
     .class = OPAL_PVAR_LEVEL,
     .unit = "bytes",
     .read = read_heap,
     .which = HELD,
     .prose = "The memory of the region that this process holds, for blocks of malloc"},
    {.name = "heap_used_bytes",
     .class = OPAL_PVAR_LEVEL,
     .unit = "bytes",
     .read = read_heap,
     .which = USED,
     .prose = "The memory of the region in blocks that are in use"},
    {0},
};

opal_status_t opal_node_register(void)
{
    opal_pvar_register("node", "", pvars);
    return opal_param_register("node", "", params);
}

void opal_node_withdraw(void)
{
    opal_param_withdraw(params);
}

/* -- making a segment ---------------------------------------------------------------------- */

/* Enough for a ring between any two ranks. These are addresses, not memory. */
static size_t choose_size(unsigned ranks)
{
    const uint64_t page = 4096, most = UINT64_C(1) << 37;
    uint64_t least = sizeof(header_t) + (uint64_t)ranks * sizeof(opal_node_slot_t);
    uint64_t size = segment_size;
    if (size == 0)
        size = (UINT64_C(64) << 20) + (uint64_t)ranks * ranks * (64 << 10);
    if (size > most)
        size = most;
    struct rlimit limit; /* a larger file is a signal */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur)
        size = limit.rlim_cur;
    if (size < least)
        size = least;
    return (size + page - 1) / page * page;
}

static void *map(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return base != MAP_FAILED ? base : NULL;
}

opal_status_t opal_node_create(const char *job_id, unsigned ranks, int launcher,
                               opal_node_segment_t *segment)
{
    size_t bytes = choose_size(ranks);
    int fd = memfd_create(OPAL_NODE_SEGMENT_NAME, MFD_CLOEXEC);
    header_t *header = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        header = map(fd, bytes);
    if (header == NULL) {
        const char *hint =
            errno == EMFILE ? "The limit of open files (ulimit -n) is too low."
                            : "A limit on address space (ulimit -v) or file size (ulimit -f) "
                              "may be the reason; the parameter node_segment_size sets the size.";
        opal_log_error("cannot make the shared memory of the node's %u ranks (%zu MiB of "
                       "addresses): %s\n%s",
                       ranks, bytes >> 20, strerror(errno), hint);
        if (fd >= 0)
            close(fd);
        return OPAL_ERR_SYSTEM;
    }
    header->bytes = bytes;
    header->ranks = ranks;
    header->launcher = launcher;
    snprintf(header->job_id, sizeof header->job_id, "%s", job_id);
    atomic_init(&header->cursor, sizeof *header + ranks * sizeof header->slots[0]);
    atomic_init(&header->spare, bytes / 4 < SPARE_MAX ? bytes / 4 : SPARE_MAX);
    atomic_store_explicit(&header->magic, magic, memory_order_release);
    *segment = (opal_node_segment_t){.fd = fd, .base = header, .bytes = bytes};
    return OPAL_SUCCESS;
}

void opal_node_destroy(opal_node_segment_t *segment)
{
    if (segment->base != NULL)
        munmap(segment->base, segment->bytes);
    if (segment->fd >= 0)
        close(segment->fd);
    *segment = (opal_node_segment_t){.fd = -1};
}

bool opal_node_view_segment(int fd, opal_node_segment_t *segment)
{
    struct stat status;
    header_t *header = MAP_FAILED;
    size_t bytes = fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
    if (bytes >= sizeof *header)
        header = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (header == MAP_FAILED)
        return false;
    if (header->magic != magic || header->bytes != bytes ||
        header->ranks > (bytes - sizeof *header) / sizeof header->slots[0]) {
        munmap(header, bytes);
        return false;
    }
    *segment = (opal_node_segment_t){.fd = -1, .base = header, .bytes = bytes};
    return true;
}

const char *opal_segment_job_id(const opal_node_segment_t *segment)
{
    return ((const header_t *)segment->base)->job_id;
}

unsigned opal_segment_ranks(const opal_node_segment_t *segment)
{
    return ((const header_t *)segment->base)->ranks;
}

const opal_node_slot_t *opal_segment_slot(const opal_node_segment_t *segment, unsigned local_rank)
{
    return &((const header_t *)segment->base)->slots[local_rank];
}

/* -- peer failure -------------------------------------------------------------------------- */

static void declare_ended(header_t *header, unsigned local_rank)
{
    opal_node_slot_t *slot = &header->slots[local_rank];
    if (atomic_load(&slot->pid) < 0 || atomic_exchange(&slot->is_dead, 1) != 0)
        return;
    atomic_fetch_add(&header->deaths, 1);
    for (unsigned i = 0; i < header->ranks; i++)
        opal_doorbell_wake(&header->slots[i].doorbell);
}

void opal_node_declare_ended(const opal_node_segment_t *segment, unsigned local_rank)
{
    declare_ended(segment->base, local_rank);
}

unsigned opal_node_deaths(void)
{
    if (node.header == NULL)
        return 0;
    return atomic_load_explicit(&node.header->deaths, memory_order_relaxed);
}

bool opal_node_peer_is_dead(unsigned local_rank)
{
    return atomic_load_explicit(&opal_node_slot(local_rank)->is_dead, memory_order_relaxed) != 0;
}

/*
 * Where no launcher watches, a rank holds a record lock on the byte of its number for as long as
 * it lives: the kernel gives it back however the process ends, and a recycled or foreign pid
 * cannot be taken for it.
 */
static struct flock life_of(unsigned local_rank)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = local_rank, .l_len = 1};
}

static void look_for_the_dead(void)
{
    for (unsigned i = 0; i < node.header->ranks; i++) {
        opal_node_slot_t *slot = &node.header->slots[i];
        struct flock life = life_of(i);
        if (slot == node.slot || atomic_load(&slot->pid) <= 0 || atomic_load(&slot->is_dead) != 0)
            continue;
        if (fcntl(node.fd, F_GETLK, &life) == 0 && life.l_type == F_UNLCK)
            declare_ended(node.header, i);
    }
}

/* -- sharing cores ------------------------------------------------------------------------- */

static void publish_cpus(opal_node_slot_t *slot)
{
    uint64_t *set = opal_xcalloc(1, SET_BYTES);
    memset(slot->cpus, 0, sizeof slot->cpus);
    if (sched_getaffinity(0, SET_BYTES, (cpu_set_t *)(void *)set) == 0) {
        for (size_t i = 0; i < SET_BYTES / sizeof *set; i++)
            slot->cpus[i % OPAL_NODE_CPU_WORDS] |= set[i];
    }
    free(set);
}

static unsigned count_cpus(const uint64_t cpus[OPAL_NODE_CPU_WORDS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < OPAL_NODE_CPU_WORDS; i++)
        count += (unsigned)__builtin_popcountll(cpus[i]);
    return count;
}

static bool shares_cpus(const opal_node_slot_t *slot)
{
    for (unsigned i = 0; i < OPAL_NODE_CPU_WORDS; i++) {
        if ((slot->cpus[i] & node.slot->cpus[i]) != 0)
            return true;
    }
    return false;
}

/*
 * Linux shares a core among sessions first (autogroup), and a yield goes to none of another
 * session. Hydra makes one for each rank.
 */
static bool has_autogroups(void)
{
    char answer = '0';
    int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool known = read(fd, &answer, 1) == 1;
    close(fd);
    return known && answer != '0';
}

/*
 * Whether the ranks that may run where this one may are more than the cores that they have
 * together. Known when all have attached, so that ranks bound to one core each count as such.
 */
static void learn_load(void)
{
    uint64_t cpus[OPAL_NODE_CPU_WORDS] = {0};
    unsigned ranks = 0;
    bool is_apart = false;
    for (unsigned i = 0; i < node.header->ranks; i++) {
        opal_node_slot_t *slot = &node.header->slots[i];
        if (atomic_load_explicit(&slot->pid, memory_order_acquire) == 0)
            return;
        if (!shares_cpus(slot))
            continue;
        ranks++;
        is_apart = is_apart || slot->session != node.slot->session;
        for (unsigned k = 0; k < OPAL_NODE_CPU_WORDS; k++)
            cpus[k] |= slot->cpus[k];
    }
    node.load_is_known = true;
    bool is_oversubscribed = ranks > count_cpus(cpus);
    opal_wait_set_oversubscribed(is_oversubscribed);
    opal_wait_set_apart(is_apart && is_oversubscribed && has_autogroups());
}

/* Once a second, one of the threads. */
static void watch_ranks(void)
{
    uint64_t now_sec = opal_clock_coarse_nsec() / OPAL_NSEC_PER_SEC;
    if (atomic_exchange(&node.watched_at_sec, now_sec) != now_sec)
        look_for_the_dead();
}

/* Called while this process waits. */
static void watch_node(void)
{
    if (!node.load_is_known)
        learn_load();
    if (node.header->launcher == 0)
        watch_ranks();
    else if (node.load_is_known)
        opal_wait_set_watch(NULL);
}

void opal_node_watch(void)
{
    if (node.header != NULL && node.header->launcher == 0)
        watch_ranks();
}

/* -- attaching ----------------------------------------------------------------------------- */

bool opal_node_is_of(int fd, const opal_pmi_job_t *job)
{
    header_t header;
    return pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           header.magic == magic &&
           strncmp(header.job_id, job->job_id, sizeof header.job_id - 1) == 0;
}

/* Local rank 0 makes the segment and passes it to the others. One fence, in every rank. Or a rank
 * of the node has started alone, before: then all have the segment of that one. */
static opal_status_t elect(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi, void *pmi_state,
                           int *fd)
{
    char name[OPAL_NODE_PASS_NAME_BYTES] = "";
    int listener = -1;
    opal_node_segment_t segment = {.fd = -1};
    bool first = job->local_rank == 0 && job->local_size > 1;
    if (first && opal_node_create(job->job_id, job->local_size, 0, &segment) == OPAL_SUCCESS)
        listener = opal_node_pass_listen(name);
    opal_status_t status = OPAL_SUCCESS;
    if (first)
        status = pmi->put(pmi_state, "node-socket", name, strlen(name) + 1);
    opal_status_t fenced = pmi->fence(pmi_state);
    if (status == OPAL_SUCCESS)
        status = fenced;

    int found = status == OPAL_SUCCESS ? opal_rendezvous_find(job) : -1;
    if (found >= 0) {
        *fd = found;
        if (listener >= 0)
            close(listener);
        opal_node_destroy(&segment);
    } else if (first) {
        if (listener >= 0 && status == OPAL_SUCCESS)
            status = opal_node_pass_serve(listener, segment.fd, job->local_size - 1);
        else if (status == OPAL_SUCCESS)
            status = OPAL_ERR_SYSTEM;
        if (listener >= 0)
            close(listener);
        if (status == OPAL_SUCCESS)
            *fd = fcntl(segment.fd, F_DUPFD_CLOEXEC, 3);
        opal_node_destroy(&segment);
    } else if (status == OPAL_SUCCESS && job->local_size > 1) {
        unsigned rank = 0;
        void *value;
        size_t length;
        while (job->node_of[rank] != job->node_of[job->rank])
            rank++;
        status = pmi->get(pmi_state, rank, "node-socket", &value, &length);
        if (status != OPAL_SUCCESS)
            return status;
        /* An empty name: local rank 0 has failed, and logged why. */
        status = length > 1 ? opal_node_pass_fetch(value, fd) : OPAL_ERR_NOT_AVAILABLE;
        free(value);
    }
    return status;
}

static const char *complaint_about(const header_t *header, size_t bytes, const opal_pmi_job_t *job)
{
    if (atomic_load_explicit(&header->magic, memory_order_acquire) != magic)
        return "the launcher, or the first rank, is of another version of this library";
    if (header->bytes != bytes || header->ranks != job->local_size)
        return "it is of another size";
    if (strncmp(header->job_id, job->job_id, sizeof header->job_id - 1) != 0)
        return "it is another job's";
    return NULL;
}

static opal_status_t map_segment(int fd, const opal_pmi_job_t *job)
{
    struct stat status = {0};
    const char *complaint = NULL;
    header_t *header = NULL;
    if (fstat(fd, &status) == 0 && (size_t)status.st_size >= sizeof *header)
        header = map(fd, (size_t)status.st_size);
    if (header != NULL)
        complaint = complaint_about(header, (size_t)status.st_size, job);
    else if (status.st_size > 0 && (size_t)status.st_size < sizeof *header)
        complaint = "it is of another size";
    else
        complaint = strerror(errno);
    if (header == NULL || complaint != NULL) {
        opal_log_error("the node's shared memory (descriptor %d) cannot be used: %s", fd,
                       complaint);
        if (header != NULL)
            munmap(header, (size_t)status.st_size);
        return OPAL_ERR_SYSTEM;
    }
    node.header = header;
    node.bytes = (size_t)status.st_size;
    return OPAL_SUCCESS;
}

void opal_slot_introduce(opal_node_slot_t *own, unsigned rank)
{
    own->rank = rank;
    own->session = getsid(0);
    publish_cpus(own);
    own->region_base = opal_region.base;
    own->region_id = opal_region.id;
    own->statics = opal_region.statics;
    own->statics_bytes = opal_region.statics_bytes;
    own->statics_offset = opal_region.statics_offset;
}

static void say_hello(header_t *header, const opal_pmi_job_t *job)
{
    opal_node_slot_t *slot = &header->slots[job->local_rank];
    node.slot = slot;
    opal_slot_introduce(slot, job->rank);
    if (header->launcher == 0) {
        struct flock life = life_of(job->local_rank);
        if (fcntl(node.fd, F_SETLK, &life) != 0)
            opal_log_warning("peers will take this rank for dead: cannot lock its byte of the "
                             "node's shared memory: %s",
                             strerror(errno));
    }
    if (!opal_wait_join_membarrier()) {
        for (unsigned i = 0; i < header->ranks; i++)
            atomic_fetch_or(&header->slots[i].doorbell.state, OPAL_DOORBELL_FENCED);
    }
    opal_wait_set_doorbell(&slot->doorbell);
    opal_wait_set_watch(watch_node);
    if (header->ranks > count_cpus(slot->cpus))
        opal_wait_set_early();
    opal_region_meet_peers();
    atomic_store_explicit(&slot->pid, (int)getpid(), memory_order_release);
}

/* How a process without a segment gets one: opal_node_attach's way, or that of _alone. */
typedef struct way {
    const opal_pmi_ops_t *pmi;
    void *pmi_state;
    bool is_alone;
    bool had_fence; /* or would have had one */
} way_t;

static opal_status_t find_segment(const opal_pmi_job_t *job, way_t *way, int *fd)
{
    way->had_fence = true;
    if (!way->is_alone)
        return elect(job, way->pmi, way->pmi_state, fd);
    return job->local_size > 1 ? opal_rendezvous_join(job, fd) : OPAL_SUCCESS;
}

static opal_status_t attach(const opal_pmi_job_t *job, way_t *way)
{
    int fd = -1;
    opal_pmi_origin_t origin = opal_pmi_origin(NULL);
    bool ours = origin != OPAL_PMI_SOCKET && origin != OPAL_PMI_PMIX; /* so are the variables */
    bool by_mpirun = ours && getenv("MICA_JOBID") != NULL;
    /* No ranks share a node; or this rank is alone on its node, and the launcher has made segments
     * where ranks share one. */
    if (job->node_count == job->size || (job->local_size == 1 && by_mpirun))
        return OPAL_SUCCESS;
    if (node.fd < 0 && ours && opal_pmi_environment_int("MICA_NODE_FD", 3, INT_MAX, &fd)) {
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* programs that this one starts are no ranks */
        node.fd = fd;
    }
    if (node.fd < 0) {
        opal_status_t status = find_segment(job, way, &fd);
        if (status != OPAL_SUCCESS || job->local_size == 1)
            return status;
        node.fd = fd;
    }
    opal_status_t status = map_segment(node.fd, job);
    if (status != OPAL_SUCCESS)
        return status;
    node.job = job;
    say_hello(node.header, job);
    return OPAL_SUCCESS;
}

opal_status_t opal_node_attach(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state)
{
    return attach(job, &(way_t){.pmi = pmi, .pmi_state = pmi_state});
}

opal_status_t opal_node_attach_alone(const opal_pmi_job_t *job, bool *left_out)
{
    way_t way = {.is_alone = true};
    opal_status_t status = attach(job, &way);
    *left_out = way.had_fence;
    return status;
}

/* The descriptor stays open: a later attach finds the segment by it. */
void opal_node_detach(void)
{
    opal_alias_stop();
    if (node.header == NULL)
        return;
    opal_wait_set_watch(NULL);
    opal_wait_set_oversubscribed(false);
    opal_wait_set_apart(false);
    opal_wait_set_doorbell(NULL);
    atomic_store(&node.slot->pid, -1);
    opal_region_leave_peers();
    opal_shared_stop();
    munmap(node.header, node.bytes);
    node.header = NULL;
    node.slot = NULL;
    node.bytes = 0;
    node.load_is_known = false;
}

/* -- the segment --------------------------------------------------------------------------- */

void *opal_node_base(void)
{
    return node.header;
}

size_t opal_node_bytes(void)
{
    return node.bytes;
}

int opal_node_fd(void)
{
    return node.header != NULL ? node.fd : -1;
}

opal_node_claim_t *opal_node_claim(void)
{
    return node.header != NULL ? &node.header->claim : NULL;
}

unsigned opal_node_ranks(void)
{
    return node.header != NULL ? node.header->ranks : 0;
}

int opal_node_launcher(void)
{
    return node.header != NULL ? node.header->launcher : 0;
}

opal_node_slot_t *opal_node_slot(unsigned local_rank)
{
    return &node.header->slots[local_rank];
}

opal_node_slot_t *opal_node_own_slot(void)
{
    return node.slot;
}

bool opal_node_has(unsigned rank)
{
    const opal_pmi_job_t *job = node.job;
    return node.header != NULL && rank < job->size && job->node_of[rank] == job->node_of[job->rank];
}

int opal_node_local_rank(unsigned rank)
{
    const opal_pmi_job_t *job = node.job;
    if (!opal_node_has(rank))
        return -1;
    if (job->node_count == 1)
        return (int)rank;
    int local = 0;
    for (unsigned i = 0; i < rank; i++)
        local += job->node_of[i] == job->node_of[rank];
    return local;
}

int opal_node_check_protocol(const char *protocol, char other[OPAL_NODE_PROTOCOL_BYTES])
{
    uint64_t word = 0;
    unsigned ranks = opal_node_ranks();
    if (ranks < 2)
        return -1;
    memcpy(&word, protocol, strnlen(protocol, sizeof word));
    /* Sequentially consistent, here and below: of two ranks, at least one sees the word of the
     * other. */
    atomic_store(&node.slot->protocol, word);
    unsigned own = (unsigned)(node.slot - node.header->slots);
    const unsigned neighbours[] = {(own + 1) % ranks, (own + ranks - 1) % ranks};
    for (size_t i = 0; i < OPAL_COUNT_OF(neighbours); i++) {
        uint64_t seen = atomic_load(&opal_node_slot(neighbours[i])->protocol);
        if (seen == 0 || seen == word)
            continue;
        memcpy(other, &seen, sizeof seen);
        other[sizeof seen] = 0;
        return (int)neighbours[i];
    }
    return -1;
}

uint64_t opal_node_carve(size_t bytes)
{
    uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t at = atomic_load_explicit(&node.header->cursor, memory_order_relaxed);
    do {
        if (rounded > node.bytes - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&node.header->cursor, &at, at + rounded));
    return at;
}

uint64_t opal_node_carve_spare(size_t bytes)
{
    uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t left = atomic_load_explicit(&node.header->spare, memory_order_relaxed);
    do {
        if (rounded > left)
            return 0;
    } while (!atomic_compare_exchange_weak(&node.header->spare, &left, left - rounded));
    return opal_node_carve(bytes);
}

opal_status_t opal_node_populate(void *begin, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)begin / page * page;
    size_t length = (uintptr_t)begin + bytes - first;
    int result;
    do
        result = madvise((void *)first, length, MADV_POPULATE_WRITE);
    while (result != 0 && errno == EINTR);
    /* Before Linux 5.14 (EINVAL) a memfd runs out as all memory does. */
    if (result == 0 || errno == EINVAL)
        return OPAL_SUCCESS;
    opal_log_error("no memory for what the ranks of this node share (%zu bytes): %s", bytes,
                   strerror(errno));
    return OPAL_ERR_NO_MEMORY;
}
