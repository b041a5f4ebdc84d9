/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi/wire: the PMI-1 wire protocol, spoken by mpirun and by MPICH's Hydra
 * through a socket that the rank inherits (PMI_FD).
 *
 * Our mpirun answers most questions in the environment already; a question that it
 * answered there is not asked, so a rank's start costs one round trip.
 *
 * The launcher's key-value space holds short text only. A put of bytes becomes hex
 * in pieces, under <key>-<rank>-<piece>; the first piece begins with "<bytes>:".
 */
#include "opal/mca/pmi/wire/wire.h"

#include <ctype.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/mca/pmi/base/request.h"
#include "opal/include/clock.h"
#include "opal/util/hex.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum {
    PIECE_BYTES = 400, /* 800 letters and the length fit into a value of 1024 */
    MAX_RANKS = 1 << 24,
    ABORT_TIMEOUT_MSEC = 2000,
    START_MSEC = 1000,
};

typedef struct wire {
    pthread_mutex_t lock; /* of the connection, but for an abort */
    opal_pmi_connection_t connection;
    unsigned rank, size;
    bool is_mpirun; /* ours, which answers questions in the environment */
    bool is_met;    /* all ranks are known to have begun */
    uint64_t begun_nsec;
    unsigned *node_of;
    char kvs_name[OPAL_PMI_MAX_KVSNAME + 1]; /* "" until it is needed */
    char job_id[OPAL_PMI_MAX_KVSNAME + 1];
    char *parent_port; /* NULL: this job was not spawned */
} wire_t;

static wire_t wire = {.lock = PTHREAD_MUTEX_INITIALIZER, .connection.fd = -1};

static bool has_left; /* Hydra closes the connection of a rank that has said goodbye */

/* For an answer that no launcher may refuse: says so, and makes it a failure of the protocol. */
static opal_status_t insist(wire_t *self, opal_status_t status, const char *what,
                            const char *object)
{
    if (status != OPAL_ERR_NOT_FOUND)
        return status;
    const char *reason = opal_pmi_message_get(&self->connection.answer, "msg");
    opal_log_error("pmi/wire: the launcher refused %s%s: %s", what, object,
                   reason != NULL ? reason : "no reason given");
    return OPAL_ERR_PROTOCOL;
}

/* Asks a question whose answer is a number; -1 when the launcher does not know. */
static opal_status_t ask_number(wire_t *self, const char *question, const char *expected,
                                const char *key, int *number)
{
    *number = -1;
    opal_status_t status = opal_pmi_ask(&self->connection, expected, "cmd=%s", question);
    if (status != OPAL_SUCCESS && status != OPAL_ERR_NOT_FOUND)
        return status;
    opal_pmi_message_get_int(&self->connection.answer, key, 0, INT_MAX, number);
    return OPAL_SUCCESS;
}

static opal_status_t need_kvs_name(wire_t *self)
{
    if (self->kvs_name[0] != 0)
        return OPAL_SUCCESS;
    opal_status_t status = opal_pmi_ask(&self->connection, "my_kvsname", "cmd=get_my_kvsname");
    status = insist(self, status, "to name its key-value space", "");
    if (status != OPAL_SUCCESS)
        return status;
    const char *name = opal_pmi_message_get(&self->connection.answer, "kvsname");
    if (name == NULL || *name == 0 || strlen(name) > OPAL_PMI_MAX_KVSNAME) {
        opal_log_error("pmi/wire: the launcher's key-value space has no good name: \"%s\"",
                       name != NULL ? name : "");
        return OPAL_ERR_PROTOCOL;
    }
    strcpy(self->kvs_name, name);
    return OPAL_SUCCESS;
}

/* -- the job ---------------------------------------------------------------------- */

static opal_status_t learn_nodes(wire_t *self, opal_pmi_job_t *job)
{
    int local_size;
    if (self->node_of == NULL) /* else it is the second init */
        self->node_of = opal_xcalloc(self->size, sizeof *self->node_of);
    job->node_of = self->node_of;
    job->node_count = 1;
    if (self->is_mpirun && opal_pmi_environment_int("MICA_LOCAL_SIZE", 1, MAX_RANKS, &local_size) &&
        (unsigned)local_size == self->size) {
        job->local_rank = self->rank;
        job->local_size = self->size;
        return OPAL_SUCCESS;
    }

    opal_status_t status = need_kvs_name(self);
    if (status == OPAL_SUCCESS)
        status = opal_pmi_ask(&self->connection, "get_result",
                              "cmd=get kvsname=%s key=PMI_process_mapping", self->kvs_name);
    status = insist(self, status, "to say which ranks share a node", "");
    if (status != OPAL_SUCCESS)
        return status;
    const char *mapping = opal_pmi_message_get(&self->connection.answer, "value");
    if (mapping == NULL ||
        !wire_parse_mapping(mapping, self->size, self->node_of, &job->node_count)) {
        opal_log_error("pmi/wire: the launcher's process mapping \"%s\" does not describe %u ranks",
                       mapping != NULL ? mapping : "", self->size);
        return OPAL_ERR_PROTOCOL;
    }
    opal_pmi_count_local(job);
    return OPAL_SUCCESS;
}

static opal_status_t learn_job(wire_t *self, opal_pmi_job_t *job)
{
    opal_status_t status = OPAL_SUCCESS;
    bool ours = self->is_mpirun;
    const char *id = getenv("MICA_JOBID");
    job->abort_is_reported = job->key_is_put = ours;
    if (!ours) {
        status = need_kvs_name(self);
        id = self->kvs_name;
    }
    snprintf(self->job_id, sizeof self->job_id, "%s", id);
    job->job_id = self->job_id;

    if (status == OPAL_SUCCESS &&
        !(ours && opal_pmi_environment_int("MICA_APP_NUMBER", 0, INT_MAX, &job->app_number)))
        status = ask_number(self, "get_appnum", "appnum", "appnum", &job->app_number);
    if (status == OPAL_SUCCESS &&
        !(ours && opal_pmi_environment_int("OMPI_UNIVERSE_SIZE", 0, INT_MAX, &job->universe_size)))
        status =
            ask_number(self, "get_universe_size", "universe_size", "size", &job->universe_size);
    return status;
}

/* Our mpirun has put the port into the environment; another launcher keeps it for the job. */
static opal_status_t learn_parents(wire_t *self, opal_pmi_job_t *job)
{
    int is_spawned;
    const char *port = getenv("MICA_PARENT_PORT");
    if (!opal_pmi_environment_int("PMI_SPAWNED", 0, 1, &is_spawned) || is_spawned == 0)
        return OPAL_SUCCESS;
    if (!self->is_mpirun) {
        opal_status_t status = need_kvs_name(self);
        if (status == OPAL_SUCCESS)
            status = opal_pmi_ask(&self->connection, "get_result", "cmd=get kvsname=%s key=%s",
                                  self->kvs_name, OPAL_PMI_PARENT_KEY);
        if (status != OPAL_SUCCESS)
            return status == OPAL_ERR_NOT_FOUND ? OPAL_SUCCESS : status;
        port = opal_pmi_message_get(&self->connection.answer, "value");
    }
    if (port == NULL)
        return OPAL_SUCCESS;
    free(self->parent_port); /* of the init before */
    job->parent_port = self->parent_port = opal_xstrdup(port);
    return OPAL_SUCCESS;
}

static opal_status_t wire_init(void *state, opal_pmi_job_t *job)
{
    wire_t *self = state;
    self->begun_nsec = opal_clock_nsec();
    opal_status_t status = opal_pmi_ask(&self->connection, "response_to_init",
                                        "cmd=init pmi_version=1 pmi_subversion=1");
    if (status == OPAL_ERR_DISCONNECTED && has_left)
        opal_log_error(
            "pmi/wire: this launcher serves no process that has called MPI_Finalize, so no "
            "session can begin afterwards; under mpirun it can");
    status = insist(self, status, "to speak version 1 of PMI", "");
    if (status != OPAL_SUCCESS)
        return status;

    *job = (opal_pmi_job_t){
        .rank = self->rank,
        .size = self->size,
        .reporter = opal_pmi_is_reporter(),
    };
    status = learn_nodes(self, job);
    self->is_met = self->is_mpirun || job->node_count == 1;
    if (status == OPAL_SUCCESS)
        status = learn_job(self, job);
    return status == OPAL_SUCCESS ? learn_parents(self, job) : status;
}

/* -- put, fence, get -------------------------------------------------------------- */

static opal_status_t put_piece(wire_t *self, unsigned rank, const char *key, size_t piece,
                               const char *head, const unsigned char *bytes, size_t length)
{
    char hex[2 * PIECE_BYTES + 1];
    opal_hex_print(hex, bytes, length);
    opal_status_t status =
        opal_pmi_ask(&self->connection, "put_result", "cmd=put kvsname=%s key=%s-%u-%zu value=%s%s",
                     self->kvs_name, key, rank, piece, head, hex);
    return insist(self, status, "the key ", key);
}

static opal_status_t wire_put_for(void *state, unsigned rank, const char *key, const void *bytes,
                                  size_t length)
{
    wire_t *self = state;
    char head[32];
    snprintf(head, sizeof head, "%zu:", length);
    pthread_mutex_lock(&self->lock);
    opal_status_t status = need_kvs_name(self);
    size_t done = 0;
    for (size_t piece = 0; status == OPAL_SUCCESS && (piece == 0 || done < length); piece++) {
        size_t part = length - done < PIECE_BYTES ? length - done : PIECE_BYTES;
        status = put_piece(self, rank, key, piece, piece == 0 ? head : "",
                           (const unsigned char *)bytes + done, part);
        done += part;
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

static opal_status_t wire_put(void *state, const char *key, const void *bytes, size_t length)
{
    const wire_t *self = state;
    return wire_put_for(state, self->rank, key, bytes, length);
}

static opal_status_t wire_fence(void *state)
{
    wire_t *self = state;
    pthread_mutex_lock(&self->lock);
    opal_status_t status = opal_pmi_ask(&self->connection, "barrier_out", "cmd=barrier_in");
    self->is_met |= status == OPAL_SUCCESS;
    status = insist(self, status, "the fence", "");
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* `*hex` is NULL when the answer has no value. */
static opal_status_t get_piece(wire_t *self, unsigned rank, const char *key, size_t piece,
                               const char **hex)
{
    opal_status_t status =
        opal_pmi_ask(&self->connection, "get_result", "cmd=get kvsname=%s key=%s-%u-%zu",
                     self->kvs_name, key, rank, piece);
    *hex = opal_pmi_message_get(&self->connection.answer, "value");
    return status;
}

/* Cuts "<bytes>:" off the first piece. */
static bool take_length(const char **hex, size_t *length)
{
    char *colon;
    unsigned long number = strtoul(*hex, &colon, 10);
    if (!isdigit((unsigned char)**hex) || *colon != ':' || number > INT_MAX)
        return false;
    *length = number;
    *hex = colon + 1;
    return true;
}

/* A value that is being put together again. */
typedef struct collected {
    unsigned char *bytes;
    size_t total, done;
} collected_t;

static opal_status_t add_piece(collected_t *value, size_t piece, const char *hex)
{
    size_t before = value->done;
    if (piece == 0) {
        if (!take_length(&hex, &value->total))
            return OPAL_ERR_PROTOCOL;
        value->bytes = malloc(value->total + 1);
        if (value->bytes == NULL)
            return OPAL_ERR_NO_MEMORY;
    }
    bool is_good = opal_hex_append(hex, value->bytes, value->total, &value->done) &&
                   (value->done > before || value->total == 0);
    return is_good ? OPAL_SUCCESS : OPAL_ERR_PROTOCOL;
}

static opal_status_t get_value(wire_t *self, unsigned rank, const char *key, void **bytes,
                               size_t *length)
{
    collected_t value = {0};
    bool damaged = false;
    const char *hex;

    opal_status_t status = need_kvs_name(self);
    for (size_t piece = 0; status == OPAL_SUCCESS && (piece == 0 || value.done < value.total);
         piece++) {
        status = get_piece(self, rank, key, piece, &hex);
        if (status == OPAL_SUCCESS) {
            status = hex != NULL ? add_piece(&value, piece, hex) : OPAL_ERR_PROTOCOL;
            damaged = status == OPAL_ERR_PROTOCOL;
        } else {
            damaged = status == OPAL_ERR_NOT_FOUND && piece > 0;
        }
    }
    if (damaged) {
        opal_log_error("pmi/wire: the launcher's value of the key %s of rank %u is damaged", key,
                       rank);
        status = OPAL_ERR_PROTOCOL;
    }
    if (status != OPAL_SUCCESS) {
        free(value.bytes);
        return status;
    }
    *bytes = value.bytes;
    *length = value.total;
    return OPAL_SUCCESS;
}

static opal_status_t wire_get(void *state, unsigned rank, const char *key, void **bytes,
                              size_t *length)
{
    wire_t *self = state;
    pthread_mutex_lock(&self->lock);
    opal_status_t status = get_value(self, rank, key, bytes, length);
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* -- further jobs, and names ------------------------------------------------------ */

/* The launcher, with its lock taken. */
static opal_pmi_launcher_t enter(wire_t *self)
{
    pthread_mutex_lock(&self->lock);
    return (opal_pmi_launcher_t){&self->connection, self->is_mpirun};
}

static opal_status_t leave(wire_t *self, opal_status_t status)
{
    pthread_mutex_unlock(&self->lock);
    return status;
}

static opal_status_t wire_spawn(void *state, const opal_pmi_program_t programs[], size_t count,
                                const char *parent_port, opal_status_t errors[])
{
    opal_pmi_launcher_t launcher = enter(state);
    return leave(state, opal_pmi_request_spawn(&launcher, programs, count, parent_port, errors));
}

static opal_status_t wire_spawn_trouble(void *state, const char *parent_port, char **text)
{
    opal_pmi_launcher_t launcher = enter(state);
    return leave(state, opal_pmi_request_trouble(&launcher, parent_port, text));
}

static opal_status_t wire_publish(void *state, const char *service, const char *port)
{
    opal_pmi_launcher_t launcher = enter(state);
    return leave(state, opal_pmi_request_publish(&launcher, service, port));
}

static opal_status_t wire_unpublish(void *state, const char *service)
{
    opal_pmi_launcher_t launcher = enter(state);
    return leave(state, opal_pmi_request_unpublish(&launcher, service));
}

static opal_status_t wire_lookup(void *state, const char *service, char **port)
{
    opal_pmi_launcher_t launcher = enter(state);
    return leave(state, opal_pmi_request_lookup(&launcher, service, port));
}

/* -- the end ---------------------------------------------------------------------- */

/*
 * Hydra forwards no more output of a rank once that has aborted the job: what it said would be
 * lost, the reason among it. So the proxy is given the time to read the pipes empty.
 */
static void await_readers(void)
{
    enum { TRIES = 200 };
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        int unread = 0;
        for (int i = 0; i < TRIES && ioctl(fd, FIONREAD, &unread) == 0 && unread > 0; i++)
            poll(NULL, 0, 1);
    }
}

/*
 * An abort that is older than a host's connection to Hydra hangs the job: that host's ranks begin
 * all the same, and no process ends them. A rank that has met the others in no fence yet gives them
 * time.
 */
static void await_hosts(const wire_t *self)
{
    uint64_t age_msec = (opal_clock_nsec() - self->begun_nsec) / OPAL_NSEC_PER_MSEC;
    if (!self->is_met && age_msec < START_MSEC)
        poll(NULL, 0, START_MSEC - (int)age_msec);
}

OPAL_NORETURN static void wire_abort(void *state, int code)
{
    wire_t *self = state;
    if (!self->is_mpirun)
        await_readers();
    await_hosts(self);
    opal_pmi_tell(&self->connection, "cmd=abort exitcode=%d", code);
    /* The launcher ends this process too; going first could look like a crash of our own. But where
     * the host has lost its network, Hydra's proxy waits for an order that never comes. */
    opal_pmi_await_end(&self->connection, ABORT_TIMEOUT_MSEC);
    _exit(code);
}

static opal_status_t wire_finalize(void *state)
{
    wire_t *self = state;
    pthread_mutex_lock(&self->lock);
    has_left = !self->is_mpirun;
    opal_status_t status = opal_pmi_ask(&self->connection, "finalize_ack", "cmd=finalize");
    status = insist(self, status, "to let this rank go", "");
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* Hydra shows the values of other ranks after a fence only. */
#define WIRE_OPS(is_ours)                                                                          \
    {                                                                                              \
        .is_prompt = (is_ours), .may_return = (is_ours), .init = wire_init, .put = wire_put,       \
        .put_for = wire_put_for, .fence = wire_fence, .get = wire_get, .abort = wire_abort,        \
        .finalize = wire_finalize, .spawn = wire_spawn,                                            \
        .spawn_trouble = (is_ours) ? wire_spawn_trouble : NULL, .publish = wire_publish,           \
        .unpublish = wire_unpublish, .lookup = wire_lookup,                                        \
    }

static const opal_pmi_ops_t hydra_ops = WIRE_OPS(false);
static const opal_pmi_ops_t mpirun_ops = WIRE_OPS(true);

static void wire_query(opal_answer_t *answer)
{
    int fd = -1, rank, size;
    char why[OPAL_REASON_MAX_BYTES];
    opal_pmi_origin_t origin = opal_pmi_origin(why);
    if (!opal_pmi_environment_int("PMI_FD", 0, INT_MAX, &fd)) {
        opal_answer_no(answer, "PMI_FD is not set: no launcher that speaks PMI-1 started this");
    } else if (origin == OPAL_PMI_PMIX) {
        opal_answer_no(answer, "PMI_FD is no open connection, and %s", why);
    } else if (!opal_pmi_environment_int("PMI_SIZE", 1, MAX_RANKS, &size) ||
               !opal_pmi_environment_int("PMI_RANK", 0, size - 1, &rank)) {
        opal_answer_no(answer, "PMI_FD is set, but PMI_RANK and PMI_SIZE are no rank and size");
    } else {
        wire.connection.fd = fd;
        wire.rank = (unsigned)rank;
        wire.size = (unsigned)size;
        wire.is_mpirun = origin == OPAL_PMI_MPIRUN;
        opal_answer_yes(answer, 50, wire.is_mpirun ? &mpirun_ops : &hydra_ops, &wire,
                        "%s (rank %d of %d)", why, rank, size);
    }
}

static void wire_close(void)
{
    free(wire.node_of);
    free(wire.parent_port);
    wire = (wire_t){.lock = PTHREAD_MUTEX_INITIALIZER, .connection.fd = -1};
}

OPAL_EXPORT extern const opal_component_t mca_pmi_wire_component;
const opal_component_t mca_pmi_wire_component = {
    OPAL_COMPONENT_HEAD(pmi, wire),
    .prose = "PMI-1 over an inherited socket: mpirun, and MPICH's mpiexec.hydra",
    .query = wire_query,
    .close = wire_close,
};
