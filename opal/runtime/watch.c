/* SPDX-License-Identifier: BSD-3-Clause */
/* See watch.h. */
#include "opal/runtime/watch.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/process/job.h"
#include "opal/process/port_fetch.h"
#include "opal/process/port_socket.h"
#include "opal/roll/report.h"
#include "opal/roll/standstill.h"
#include "opal/runtime/launcher.h"
#include "opal/threads/thread.h"
#include "opal/util/log.h"

enum { STACK_BYTES = 512 << 10 };

static const char key_name[] = "watch";

/* Another host, as rank 0 sees it. */
typedef struct host {
    unsigned first_rank, ranks;
    opal_port_name_t port;
} host_t;

static struct {
    double seconds; /* without a move; 0: there is no watch */
    int stop;       /* an eventfd that ends the thread; -1: there is none */
    pthread_t thread;

    /* Of the first rank of a host. */
    int port; /* -1: not open */
    opal_port_name_t name;

    /* Of rank 0. */
    host_t *hosts;            /* NULL: not asked for yet */
    size_t host_count, first; /* first: to be asked first, as it moved the last time */
    bool all_have_ports;
    opal_standstill_t standstill; /* all zero in others */
} self = {.stop = -1, .port = -1};

/* -- this host ------------------------------------------------------------------------------- */

static void *pack_here(opal_census_t *census, size_t *bytes)
{
    opal_story_t story;
    opal_report_begin(&story, census);
    opal_report_finish(&story);
    opal_report_note_places(&story, census);
    opal_story_free(&story);
    return opal_census_pack(census, bytes);
}

/* Whether this host gives a reason to look at the job. One that has not moved since a report does
 * not, so that a job that hangs all night is left alone. */
static bool stands_still(const opal_census_t *census)
{
    opal_story_t story;
    opal_report_begin(&story, census);
    opal_story_finish(&story, opal_clock_nsec(), NULL);
    bool is_still = opal_story_quiet_seconds(&story) >= self.seconds &&
                    !opal_standstill_is_reported(&self.standstill, &story);
    opal_story_free(&story);
    return is_still;
}

/* The census of this host, in bytes; NULL: it does not stand still. */
static void *look_here(size_t *bytes, void *unused OPAL_UNUSED)
{
    opal_census_t census;
    opal_census_take_node(opal_job(), &census);
    void *packed = stands_still(&census) ? pack_here(&census, bytes) : NULL;
    opal_census_free(&census);
    return packed;
}

static void *serve(void *unused)
{
    opal_port_serve(self.port, &self.name, self.stop, look_here, NULL);
    return unused;
}

/* -- all hosts ------------------------------------------------------------------------------- */

static bool get_port(host_t *host)
{
    void *state, *value;
    size_t length;
    char key[OPAL_START_KEY_BYTES];
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->get(state, host->first_rank, opal_start_key(key_name, key), &value, &length) !=
        OPAL_SUCCESS)
        return false;
    char *name = opal_xstrndup(value, length);
    bool is_name = opal_port_name_parse(&host->port, name);
    explicit_bzero(name, length);
    free(name);
    free(value);
    return is_name;
}

/* The hosts other than that of rank 0, without their ports. */
static void list_hosts(const opal_pmi_job_t *job)
{
    size_t *number = opal_xcalloc(job->node_count, sizeof *number); /* of a node, from 1 on */
    self.hosts = opal_xcalloc(job->node_count, sizeof *self.hosts);
    for (unsigned rank = 0; rank < job->size; rank++) {
        unsigned node = job->node_of[rank];
        if (node == job->node_of[0])
            continue;
        if (number[node] == 0) {
            self.hosts[self.host_count].first_rank = rank;
            number[node] = ++self.host_count;
        }
        self.hosts[number[node] - 1].ranks++;
    }
    free(number);
}

/* False: a host has no port, as was said: no hang can be told. */
static bool find_hosts(void)
{
    if (self.hosts != NULL)
        return self.all_have_ports;
    list_hosts(opal_job());
    self.all_have_ports = true;
    for (size_t i = 0; i < self.host_count && self.all_have_ports; i++) {
        self.all_have_ports = get_port(&self.hosts[i]);
        if (!self.all_have_ports)
            opal_log_warning("the host of rank %u has opened no port for reports of hangs, so a "
                             "hang of this job is not reported; mica-ps shows the ranks of a host",
                             self.hosts[i].first_rank);
    }
    return self.all_have_ports;
}

static bool add_packed(opal_census_t *census, void *packed, size_t bytes)
{
    bool is_added = packed != NULL && opal_census_unpack(census, packed, bytes);
    free(packed);
    return is_added;
}

/* False: a rank there moves, or the host does not say. */
static bool ask(host_t *host, opal_census_t *census)
{
    void *packed;
    size_t bytes;
    opal_status_t status = opal_port_fetch(&host->port, self.stop, &packed, &bytes);
    if (status == OPAL_ERR_NOT_FOUND && host->ranks == 1)
        return true; /* the rank has left */
    return status == OPAL_SUCCESS && add_packed(census, packed, bytes);
}

/* All processes, if no host moves. */
static bool gather(opal_census_t *census)
{
    size_t bytes = 0;
    void *here = look_here(&bytes, NULL);
    if (!add_packed(census, here, bytes) || !find_hosts())
        return false;
    for (size_t i = 0; i < self.host_count; i++) {
        size_t next = (self.first + i) % self.host_count;
        if (!ask(&self.hosts[next], census)) {
            self.first = next;
            return false;
        }
    }
    opal_census_sort(census);
    return true;
}

/* All ranks were in MPI when this one had begun. */
static opal_story_state_t has_left(unsigned rank OPAL_UNUSED, int *pid OPAL_UNUSED,
                                   const void *unused OPAL_UNUSED)
{
    return OPAL_STORY_FINALIZED;
}

static void judge(const opal_census_t *census)
{
    const opal_pmi_job_t *job = opal_job();
    char title[OPAL_STANDSTILL_TITLE_BYTES];
    opal_story_t story;
    opal_report_begin(&story, census);
    opal_report_add_absent(&story, story.count, job->job_id, job->size, has_left, NULL);
    opal_report_finish(&story);
    if (opal_standstill_look(&self.standstill, &story, title))
        opal_report_print(&story, title);
    opal_story_free(&story);
}

static bool is_to_end(int msec)
{
    struct pollfd end = {.fd = self.stop, .events = POLLIN};
    return poll(&end, 1, msec) > 0;
}

static void *look_on(void *unused)
{
    opal_standstill_begin(&self.standstill, self.seconds);
    while (!is_to_end((int)(self.standstill.pause * 1e3))) {
        opal_census_t census = {0};
        if (gather(&census))
            judge(&census);
        else
            opal_standstill_moves(&self.standstill);
        opal_census_free(&census);
    }
    return unused;
}

/* -- start and stop -------------------------------------------------------------------------- */

/* mpirun watches the jobs whose key it has made. */
static double seconds_for(const opal_pmi_job_t *job)
{
    double seconds = opal_launcher_params.report_hang;
    if (job->key_is_put || opal_job_is_alone())
        return 0;
    if (seconds < 0) /* the launcher passes the errors of other hosts on: they cannot know */
        return job->node_count == 1 && isatty(STDERR_FILENO) ? OPAL_LAUNCHER_HANG_SECONDS : 0;
    return seconds;
}

/* Whether this rank is the first one of a host that is not rank 0's. */
static bool has_port(const opal_pmi_job_t *job)
{
    return job->local_rank == 0 && job->node_of[job->rank] != job->node_of[0];
}

void opal_watch_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi, void *pmi_state)
{
    char key[OPAL_START_KEY_BYTES], text[OPAL_PORT_NAME_BYTES] = "";
    self.seconds = seconds_for(job);
    if (self.seconds <= 0 || !has_port(job))
        return;
    if (opal_port_listen(&self.name, &self.port) == OPAL_SUCCESS)
        opal_port_name_print(&self.name, text);
    pmi->put(pmi_state, opal_start_key(key_name, key), text, strlen(text) + 1);
    explicit_bzero(text, sizeof text);
}

static void begin(void *(*run)(void *))
{
    self.stop = eventfd(0, EFD_CLOEXEC);
    if (self.stop >= 0 &&
        opal_thread_start_small(&self.thread, STACK_BYTES, "mica-watch", run) == 0)
        return;
    opal_log_warning("no thread can be started that reports hangs");
    if (self.stop >= 0)
        close(self.stop);
    self.stop = -1;
    self.seconds = 0;
}

void opal_watch_start(void)
{
    if (self.port >= 0)
        begin(serve);
}

void opal_watch_note_wait(void)
{
    if (self.seconds > 0 && self.stop < 0 && opal_job()->rank == 0)
        begin(look_on);
}

static void close_port(void)
{
    if (self.port >= 0)
        close(self.port);
    self.port = -1;
    explicit_bzero(&self.name, sizeof self.name);
}

void opal_watch_stop(void)
{
    if (self.stop >= 0) {
        eventfd_write(self.stop, 1);
        pthread_join(self.thread, NULL);
        close(self.stop);
        self.stop = -1;
    }
    close_port();
    free(self.hosts);
    self.hosts = NULL;
    self.host_count = self.first = 0;
}
