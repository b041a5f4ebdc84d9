/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks without a launcher. See crew.h. */
#include "test/unit/opal/mca/btl/crew.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/mca/btl/base/base.h"
#include "opal/util/text.h"

crew_t crew;

static const char *job_id = "crew";
static unsigned char job_key = 'k';
static unsigned *node_of; /* all on node 0 */

enum { BARRIER_WORD = CREW_SHARED_WORDS - 2 };

static int poll_transport(void *state)
{
    return crew.ops->progress(state);
}

static void fail(const char *what)
{
    fprintf(stderr, "crew: rank %u cannot %s\n", crew.rank, what);
    _exit(1);
}

/* The framework has chosen the component, and no client is there. */
static void choose(const opal_component_t *component)
{
    static opal_candidate_t candidate;
    candidate = (opal_candidate_t){.component = component, .state = OPAL_CANDIDATE_CHOSEN};
    component->query(&candidate.answer);
    if (!candidate.answer.usable)
        fail(candidate.answer.reason);
    mca_btl_framework.candidates = &candidate;
    mca_btl_framework.candidate_count = 1;
    crew.ops = candidate.answer.ops;
    crew.state = candidate.answer.state;
}

static void start_transport(hear_frame_fn_t *handler)
{
    hearing = (hearing_t){.frame = handler};
    hear_all();
    if (crew.ops->start(crew.state) != OPAL_SUCCESS)
        fail("start");
    crew.peers = opal_xcalloc(crew.size, sizeof *crew.peers);
    for (unsigned i = 0; i < crew.size; i++) {
        opal_btl_peer_t *peer;
        if (crew.ops->connect(crew.state, opal_process(i), &peer) == OPAL_SUCCESS)
            opal_process_set_end(opal_process(i), OPAL_END_BTL, crew.peers[i] = peer);
    }
    opal_progress_add(poll_transport, crew.state);
}

static void stop_transport(void)
{
    opal_progress_remove(poll_transport, crew.state);
    crew.ops->stop(crew.state);
    free(crew.peers);
}

static void be_rank(const opal_component_t *component, const opal_node_segment_t *segment,
                    hear_frame_fn_t *handler, void (*work)(void))
{
    char fd[16];
    opal_pmi_job_t job = {.rank = crew.rank,
                          .size = crew.size,
                          .local_rank = crew.rank,
                          .local_size = crew.size,
                          .node_of = node_of,
                          .node_count = 1,
                          .job_id = job_id};
    snprintf(fd, sizeof fd, "%d", segment->fd);
    setenv("MICA_NODE_FD", fd, 1);
    crew_pmi_join(&job);
    /* Asked for by name, it does not leave the node to others. */
    opal_strings_split(&mca_btl_framework.selection, component->name, ",");
    if (opal_wait_register() != OPAL_SUCCESS ||
        opal_param_register("btl", component->name, component->params) != OPAL_SUCCESS)
        fail("set parameters");
    if (opal_node_attach(&job, NULL, NULL) != OPAL_SUCCESS ||
        opal_process_start(&job) != OPAL_SUCCESS)
        fail("attach");
    choose(component);
    if (handler != NULL)
        start_transport(handler);
    crew_barrier();
    work();
    crew_meet();
    if (handler != NULL)
        stop_transport();
    opal_node_detach();
    opal_process_stop();
    opal_wait_withdraw();
    opal_strings_free(&mca_btl_framework.selection);
    opal_param_withdraw(component->params);
    opal_node_withdraw();
    opal_param_fini();
}

static unsigned wait_for_all(pid_t *pids, const opal_node_segment_t *segment)
{
    unsigned failed = 0;
    for (unsigned ended = 0; ended < crew.size; ended++) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        bool complained = WIFEXITED(status) && WEXITSTATUS(status) != 0;
        failed += complained || !WIFEXITED(status);
        for (unsigned i = 0; i < crew.size; i++) {
            if (pids[i] == pid && crew.launcher_watches)
                opal_node_declare_ended(segment, i);
            if (pids[i] == pid)
                pids[i] = 0;
            else if (complained && pids[i] != 0)
                kill(pids[i], SIGKILL); /* it may wait for the one that failed */
        }
    }
    return failed;
}

static unsigned run(const opal_component_t *component, unsigned size, hear_frame_fn_t *handler,
                    void (*work)(void), bool watched)
{
    opal_node_segment_t segment;
    opal_param_init();
    if (opal_node_register() != OPAL_SUCCESS ||
        opal_node_create(job_id, size, watched ? (int)getpid() : 0, &segment) != OPAL_SUCCESS)
        return size;
    pid_t *pids = opal_xcalloc(size, sizeof *pids);
    node_of = opal_xcalloc(size, sizeof *node_of);
    crew = (crew_t){.size = size, .launcher_watches = watched};
    crew.shared = mmap(NULL, CREW_SHARED_WORDS * sizeof *crew.shared, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crew_pmi_create(job_key);
    for (unsigned i = 0; i < size; i++) {
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0) {
            free(pids);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            crew.rank = i;
            be_rank(component, &segment, handler, work);
            exit(0);
        }
    }
    unsigned failed = wait_for_all(pids, &segment);
    crew_pmi_destroy();
    opal_node_destroy(&segment);
    opal_node_withdraw();
    opal_param_fini();
    munmap((void *)crew.shared, CREW_SHARED_WORDS * sizeof *crew.shared);
    free(node_of);
    free(pids);
    return failed;
}

unsigned crew_run(const opal_component_t *component, unsigned size, hear_frame_fn_t *handler,
                  void (*work)(void))
{
    return run(component, size, handler, work, false);
}

unsigned crew_run_watched(const opal_component_t *component, unsigned size,
                          hear_frame_fn_t *handler, void (*work)(void))
{
    return run(component, size, handler, work, true);
}

void crew_set_job(const char *id, unsigned char key)
{
    job_id = id;
    job_key = key;
}

static int poll_or_yield(void)
{
    return opal_progress() == 0 ? sched_yield() : 0;
}

void crew_poll(void)
{
    poll_or_yield();
}

void crew_send(unsigned to, unsigned kind, const void *bytes, size_t length)
{
    opal_btl_peer_t *peer = crew.peers[to];
    void *room;
    while ((room = crew.ops->reserve(peer, length)) == NULL)
        crew_poll();
    memcpy(room, bytes, length);
    crew.ops->commit(peer, room, kind, length);
}

/* A counter that all raise; the round that it is in follows from it. */
static void wait_for_others(int (*meanwhile)(void))
{
    uint64_t mine = __atomic_add_fetch(&crew.shared[BARRIER_WORD], 1, __ATOMIC_ACQ_REL);
    uint64_t wanted = (mine + crew.size - 1) / crew.size * crew.size;
    while (__atomic_load_n(&crew.shared[BARRIER_WORD], __ATOMIC_ACQUIRE) < wanted)
        meanwhile();
}

void crew_barrier(void)
{
    wait_for_others(sched_yield);
}

void crew_meet(void)
{
    wait_for_others(poll_or_yield);
}
