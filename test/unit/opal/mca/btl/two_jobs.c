/* SPDX-License-Identifier: BSD-3-Clause */
/* Two crews. See two_jobs.h. */
#include "test/unit/opal/mca/btl/two_jobs.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "opal/mca/btl/base/base.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

two_jobs_t two;
atomic_int *two_jobs_wakes;
const char *const two_jobs_ids[TWO_JOBS] = {"left", "right"};

/* Another crew waits for what this one does: when one fails, both end. */
void two_jobs_run(const opal_component_t *component, unsigned ranks, void (*prepare)(void),
                  void (*work)(void))
{
    pid_t pids[TWO_JOBS];
    bool failed = false;
    two.board =
        mmap(NULL, sizeof *two.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("OMPI_MCA_btl_sock_if_include", "lo", 1);
    setenv("OMPI_MCA_btl_sock_connect_timeout", "1", 1);
    for (unsigned job = 0; job < TWO_JOBS; job++) {
        fflush(NULL);
        pids[job] = fork();
        if (pids[job] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            two.job = job;
            if (prepare != NULL)
                prepare();
            crew_set_job(two_jobs_ids[job], (unsigned char)('a' + job));
            exit(crew_run(component, ranks, NULL, work) > 0);
        }
    }
    for (unsigned job = 0; job < TWO_JOBS; job++) {
        int status;
        pid_t pid = wait(&status);
        failed = failed || status != 0;
        if (status != 0)
            kill(pids[pid == pids[0]], SIGKILL);
    }
    munmap(two.board, sizeof *two.board);
    ck_assert(!failed);
}

int two_jobs_poll(void)
{
    return opal_progress() == 0 ? sched_yield() : 0;
}

void two_jobs_meet(int (*meanwhile)(void))
{
    const unsigned all = TWO_JOBS * crew.size;
    uint64_t mine = __atomic_add_fetch(&two.board->meets, 1, __ATOMIC_ACQ_REL);
    uint64_t wanted = (mine + all - 1) / all * all;
    while (__atomic_load_n(&two.board->meets, __ATOMIC_ACQUIRE) < wanted)
        meanwhile();
}

static void wake(void)
{
    if (two_jobs_wakes != NULL)
        opal_wait_signal(two_jobs_wakes);
}

static bool receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    unsigned number;
    CREW_MUST(kind == TWO_JOBS_KIND && length == sizeof number);
    memcpy(&number, bytes, sizeof number);
    if (opal_process_is_foreign(from->index)) {
        CREW_MUST(from == two.others[from->rank] && number == two.received[from->rank]);
        two.received[from->rank]++;
    } else {
        CREW_MUST(from->rank == 1 - crew.rank && number == two.received_own);
        two.received_own++;
    }
    wake();
    return true;
}

static void note_failure(opal_process_t *process, opal_status_t why)
{
    CREW_MUST(process == two.others[process->rank] && why == OPAL_ERR_DISCONNECTED);
    two.failures++;
    wake();
}

static void note_departure(opal_process_t *process OPAL_UNUSED)
{
    two.departures++;
}

void two_jobs_send(opal_process_t *process, unsigned number)
{
    opal_btl_peer_t *peer = opal_btl_connect(process);
    while (!opal_btl_send_frame(peer, TWO_JOBS_KIND, &number, sizeof number, NULL, 0))
        crew_poll();
}

void two_jobs_publish(void)
{
    static const opal_btl_client_t client = {
        .receive = receive, .failed = note_failure, .left = note_departure};
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    CREW_MUST(pmi->fence(state) == OPAL_SUCCESS); /* behind which the job's key can be got */
    CREW_MUST(opal_btl_open(OPAL_BTL_CONTROL, &client) == OPAL_SUCCESS);
    CREW_MUST(opal_process_describe(two.board->records[two.job][crew.rank],
                                    &two.board->lengths[two.job][crew.rank]) == OPAL_SUCCESS);
    two_jobs_meet(sched_yield);
}

opal_process_t *two_jobs_add(unsigned rank)
{
    opal_process_t *process;
    CREW_MUST(opal_process_add(two.board->records[1 - two.job][rank],
                               two.board->lengths[1 - two.job][rank], &process) == OPAL_SUCCESS);
    CREW_MUST(opal_process_is_foreign(process->index) && process->rank == rank);
    return process;
}

void two_jobs_add_all(void)
{
    for (unsigned rank = 0; rank < crew.size; rank++)
        two.others[rank] = two_jobs_add(rank);
}

void two_jobs_release_all(void)
{
    for (unsigned rank = 0; rank < crew.size; rank++)
        opal_process_release(two.others[rank]->index);
}

void two_jobs_retire(void)
{
    two_jobs_meet(two_jobs_poll);
    two_jobs_meet(sched_yield);
    opal_btl_close(OPAL_BTL_CONTROL);
}

void two_jobs_exchange(unsigned frames)
{
    unsigned wanted_own = crew.size > 1 ? frames : 0, missing;
    two.received_own = two.received[0] = two.received[1] = 0;
    two_jobs_meet(sched_yield);
    for (unsigned i = 0; i < frames; i++) {
        for (unsigned rank = 0; rank < crew.size; rank++)
            two_jobs_send(two.others[rank], i);
        if (crew.size > 1)
            two_jobs_send(opal_process(1 - crew.rank), i);
    }
    do {
        crew_poll();
        missing = two.received_own < wanted_own;
        for (unsigned rank = 0; rank < crew.size; rank++)
            missing += two.received[rank] < frames;
    } while (missing > 0);
    two_jobs_meet(two_jobs_poll);
}

void two_jobs_part(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    two_jobs_exchange(10);
    if (two.job == 0) {
        two_jobs_release_all();
    } else {
        while (two.departures < crew.size)
            crew_poll();
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.failures == 0 && two.departures == (two.job == 0 ? 0 : crew.size));
    two_jobs_retire();
}
