/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronization: which epochs a rank is in, and waiting for other ranks.
 *
 *   fence    a barrier behind the accesses of all
 *   post     each origin has a cell, in which the target counts its posts; the first access
 *            waits for them
 *   complete the target has a counter of all completions; wait knows how many there will be
 *
 *   lock     the lock of a target (ompi/mca/osc/base/lock.h)
 *
 * Ranks of other nodes do the same by messages, which change the same cells and locks at the
 * target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/base/lock.h"
#include "ompi/win/win.h"

static int wrong(const char *sentence)
{
    return ompi_win_fail(MPI_ERR_RMA_SYNC, "%s", sentence);
}

/* Names a rank that has ended, if that is the error: one of these ranks, or of all (NULL). `when`
 * ends the sentence. */
static int name_ended(const ompi_win_t *win, int error, const int *ranks, int count,
                      const char *when)
{
    if (error != MPI_ERR_PROC_ABORTED)
        return error;
    for (int i = 0; i < count; i++) {
        int rank = ranks != NULL ? ranks[i] : i;
        if (ompi_osc_has_ended(&win->osc, rank))
            return ompi_win_fail(error, "Rank %d of the window has ended%s", rank, when);
    }
    return ompi_win_fail(error, "A rank of the window has ended%s", when);
}

static int check_alive(const ompi_win_t *win, int rank)
{
    if (opal_likely(!ompi_osc_has_deaths()) || !ompi_osc_has_ended(&win->osc, rank))
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_PROC_ABORTED, "Rank %d of the window has ended.", rank);
}

/* Of one rank, or of all (-1). */
static int flush(ompi_win_t *win, int rank, bool local)
{
    int error = ompi_osc_flush(&win->osc, rank, local);
    if (error == MPI_ERR_PROC_ABORTED)
        return name_ended(win, error, rank >= 0 ? &rank : NULL, rank >= 0 ? 1 : win->osc.size,
                          " before what it was sent was complete.");
    if (error != MPI_SUCCESS)
        return ompi_win_fail(error, "An access before has failed at its target.");
    return rank == -1 ? MPI_SUCCESS : check_alive(win, rank);
}

static int check_assertion(int assertion, int allowed)
{
    if ((assertion & ~allowed) == 0)
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_ASSERT,
                         "The assertion has bits that this call does not know: %#x.",
                         (unsigned)(assertion & ~allowed));
}

/* -- states -------------------------------------------------------------------------------- */

static void set_epoch(ompi_win_t *win, ompi_win_epoch_t epoch)
{
    atomic_store_explicit(&win->epoch, epoch, memory_order_relaxed);
}

/* Of the window or of a target. Other threads may access the target as soon as they see that. */
static void set_permit(atomic_uchar *permit, ompi_osc_permit_t now)
{
    atomic_store_explicit(permit, (unsigned char)now, memory_order_release);
}

static ompi_osc_permit_t permit_of(const ompi_osc_target_t *target)
{
    return (ompi_osc_permit_t)atomic_load_explicit(&target->permit, memory_order_acquire);
}

static void set_lock(ompi_osc_target_t *target, ompi_osc_lock_kind_t kind)
{
    atomic_store_explicit(&target->lock, (unsigned char)kind, memory_order_relaxed);
}

/* -- fence ------------------------------------------------------------------------------- */

/* Another thread may have locked a target meanwhile. */
static void end_fence(ompi_win_t *win)
{
    unsigned fenced = OMPI_WIN_FENCED;
    if (ompi_win_epoch(win) != OMPI_WIN_FENCED)
        return;
    set_permit(&win->osc.permit, OMPI_OSC_CLOSED);
    atomic_compare_exchange_strong(&win->epoch, &fenced, OMPI_WIN_NO_EPOCH);
}

/* Whether another kind of epoch may begin: a fence that nothing was done behind is no epoch. */
static int leave_fence(ompi_win_t *win)
{
    /* In this order: accesses under another thread's lock come after the end of the fence. */
    bool is_used = atomic_load_explicit(&win->osc.is_used, memory_order_acquire);
    if (is_used && ompi_win_epoch(win) == OMPI_WIN_FENCED)
        return wrong("Accesses since the last fence have not been completed by another one.");
    end_fence(win);
    return MPI_SUCCESS;
}

int ompi_win_barrier(ompi_win_t *win)
{
    ompi_coll_call_t barrier = {.kind = OMPI_BARRIER, .comm = win->osc.comm};
    for (int rank = 0; ompi_osc_has_deaths() && rank < win->osc.size; rank++) {
        if (ompi_osc_has_ended(&win->osc, rank))
            return ompi_win_fail(MPI_ERR_PROC_ABORTED, "Rank %d of the window has ended.", rank);
    }
    ompi_lock();
    int error = ompi_coll_run(&barrier);
    ompi_unlock();
    return name_ended(win, error, NULL, win->osc.size, " before its barrier.");
}

int ompi_win_fence(ompi_win_t *win, int assertion)
{
    int error = check_assertion(assertion, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE |
                                               MPI_MODE_NOSUCCEED);
    if (error != MPI_SUCCESS)
        return error;
    if (ompi_win_epoch(win) > OMPI_WIN_FENCED)
        return wrong("The window has an epoch of MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all.");
    if (win->is_posted)
        return wrong("The window has an epoch of MPI_Win_post.");
    error = flush(win, -1, false);
    int status = ompi_win_barrier(win);
    atomic_store_explicit(&win->osc.is_used, false, memory_order_relaxed);
    end_fence(win);
    if ((assertion & MPI_MODE_NOSUCCEED) == 0) {
        set_permit(&win->osc.permit, OMPI_OSC_OPEN);
        set_epoch(win, OMPI_WIN_FENCED);
    }
    return error != MPI_SUCCESS ? error : status;
}

/* -- post, start, complete, wait --------------------------------------------------------------- */

/* The group's ranks in the window. NULL: no memory, or one is not in it. */
static int *ranks_of(const ompi_win_t *win, const ompi_group_t *group)
{
    int *ranks = malloc(((size_t)group->size + 1) * sizeof *ranks);
    for (int i = 0; ranks != NULL && i < group->size; i++) {
        ranks[i] = ompi_group_rank_of(win->osc.comm->group, ompi_group_process(group, i));
        if (ranks[i] == MPI_UNDEFINED) {
            free(ranks);
            return NULL;
        }
    }
    return ranks;
}

/* What the target rank has posted to this one: a cell of this rank's row, or of the own area if
 * the target is on another node. */
static atomic_uint *posts_cell(ompi_osc_window_t *window, int rank)
{
    int local = window->targets[rank].local;
    return local >= 0 ? &ompi_osc_cell(window, window->self, local)->posts
                      : &window->internode_posts[rank];
}

int ompi_win_post(ompi_win_t *win, ompi_group_t *group, int assertion)
{
    ompi_osc_window_t *window = &win->osc;
    int error = check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    if (error != MPI_SUCCESS)
        return error;
    if (win->is_posted)
        return wrong("MPI_Win_wait has not ended the epoch of the last MPI_Win_post.");
    if (ompi_osc_lock_held(&window->targets[window->rank]) != OMPI_OSC_UNLOCKED)
        return wrong("This rank has locked its own memory.");
    if (leave_fence(win) != MPI_SUCCESS)
        return MPI_ERR_RMA_SYNC;
    int *ranks = ranks_of(win, group);
    if (ranks == NULL)
        return ompi_win_fail(MPI_ERR_GROUP, "The group has a process that is not in the window.");
    win->is_posted = true;
    win->post_ranks = ranks;
    win->post_count = group->size;
    win->completions += (uint32_t)group->size;
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < group->size; i++) {
        int local = window->targets[ranks[i]].local;
        if (local >= 0) {
            atomic_fetch_add(&ompi_osc_cell(window, local, window->self)->posts, 1);
            ompi_osc_notify(window, local);
        } else {
            int status = window->internode->post(window, ranks[i]);
            error = error == MPI_SUCCESS ? status : error;
        }
    }
    return error;
}

static bool has_posted(ompi_osc_window_t *window, int rank)
{
    unsigned posts = atomic_load_explicit(posts_cell(window, rank), memory_order_acquire);
    return (int32_t)(posts - window->targets[rank].started) > 0;
}

static ompi_look_t look_for_post(ompi_osc_window_t *window, void *what)
{
    int rank = *(const int *)what;
    if (has_posted(window, rank))
        return OMPI_LOOK_OVER;
    return ompi_osc_has_deaths() && ompi_osc_has_ended(window, rank) ? OMPI_LOOK_FAILED
                                                                     : OMPI_LOOK_WAITS;
}

/* Waits for the post that an epoch of MPI_Win_start needs. */
static int await_post(ompi_win_t *win, int rank)
{
    ompi_osc_target_t *target = &win->osc.targets[rank];
    ompi_lock();
    int error =
        ompi_osc_wait_for(&win->osc, look_for_post, &rank, rank, "has not called MPI_Win_post");
    ompi_unlock();
    if (error != MPI_SUCCESS)
        return ompi_win_fail(error, "Rank %d of the window has ended before its MPI_Win_post.",
                             rank);
    target->started++;
    set_permit(&target->permit, OMPI_OSC_OPEN);
    return MPI_SUCCESS;
}

int ompi_win_start(ompi_win_t *win, ompi_group_t *group, int assertion)
{
    int error = check_assertion(assertion, MPI_MODE_NOCHECK);
    if (error != MPI_SUCCESS)
        return error;
    if (ompi_win_epoch(win) > OMPI_WIN_FENCED)
        return wrong("The window has an epoch of MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all.");
    if (leave_fence(win) != MPI_SUCCESS)
        return MPI_ERR_RMA_SYNC;
    int *ranks = ranks_of(win, group);
    if (ranks == NULL)
        return ompi_win_fail(MPI_ERR_GROUP, "The group has a process that is not in the window.");
    set_epoch(win, OMPI_WIN_STARTED);
    win->start_ranks = ranks;
    win->start_count = group->size;
    for (int i = 0; i < group->size; i++) {
        ompi_osc_target_t *target = &win->osc.targets[ranks[i]];
        bool is_open = has_posted(&win->osc, ranks[i]);
        set_permit(&target->permit, is_open ? OMPI_OSC_OPEN : OMPI_OSC_AWAITS_POST);
        target->started += is_open;
    }
    return MPI_SUCCESS;
}

static int complete_one(ompi_win_t *win, int rank)
{
    ompi_osc_window_t *window = &win->osc;
    ompi_osc_target_t *target = &window->targets[rank];
    int error = permit_of(target) == OMPI_OSC_AWAITS_POST ? await_post(win, rank) : MPI_SUCCESS;
    set_permit(&target->permit, OMPI_OSC_CLOSED);
    if (error != MPI_SUCCESS)
        return error;
    error = flush(win, rank, false);
    if (target->local < 0) {
        int status = window->internode->complete(window, rank);
        return error != MPI_SUCCESS ? error : status;
    }
    atomic_fetch_add(&ompi_osc_line(window, target->local)->completions, 1);
    ompi_osc_notify(window, target->local);
    return error;
}

int ompi_win_complete(ompi_win_t *win)
{
    int error = MPI_SUCCESS;
    if (ompi_win_epoch(win) != OMPI_WIN_STARTED)
        return wrong("The window has no epoch of MPI_Win_start.");
    for (int i = 0; i < win->start_count; i++) {
        int status = complete_one(win, win->start_ranks[i]);
        error = error == MPI_SUCCESS ? status : error;
    }
    free(win->start_ranks);
    win->start_ranks = NULL;
    set_epoch(win, OMPI_WIN_NO_EPOCH);
    return error;
}

static ompi_look_t look_for_completions(ompi_osc_window_t *window, void *what)
{
    const ompi_win_t *win = what;
    unsigned seen = atomic_load_explicit(&window->own->completions, memory_order_acquire);
    if ((int32_t)(seen - win->completions) >= 0)
        return OMPI_LOOK_OVER;
    for (int i = 0; ompi_osc_has_deaths() && i < win->post_count; i++) {
        if (ompi_osc_has_ended(window, win->post_ranks[i]))
            return OMPI_LOOK_FAILED;
    }
    return OMPI_LOOK_WAITS;
}

static const char incomplete[] = " before its MPI_Win_complete.";

static void end_post(ompi_win_t *win)
{
    free(win->post_ranks);
    win->post_ranks = NULL;
    win->is_posted = false;
    /* After a failure: what comes late belongs to no epoch. */
    win->completions = atomic_load_explicit(&win->osc.own->completions, memory_order_acquire);
}

int ompi_win_wait(ompi_win_t *win)
{
    if (!win->is_posted)
        return wrong("The window has no epoch of MPI_Win_post.");
    ompi_lock();
    const char *words = "has not called MPI_Win_complete";
    int error = ompi_osc_wait_for(&win->osc, look_for_completions, win,
                                  win->post_count == 1 ? win->post_ranks[0] : -1, words);
    ompi_unlock();
    error = name_ended(win, error, win->post_ranks, win->post_count, incomplete);
    end_post(win);
    return error;
}

int ompi_win_test(ompi_win_t *win, bool *is_over)
{
    *is_over = false;
    if (!win->is_posted)
        return wrong("The window has no epoch of MPI_Win_post.");
    ompi_look_t found = look_for_completions(&win->osc, win);
    if (found == OMPI_LOOK_WAITS) {
        ompi_lock();
        ompi_request_look();
        ompi_unlock();
        found = look_for_completions(&win->osc, win);
    }
    if (found == OMPI_LOOK_WAITS)
        return MPI_SUCCESS;
    int error = found == OMPI_LOOK_OVER ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
    error = name_ended(win, error, win->post_ranks, win->post_count, incomplete);
    end_post(win);
    *is_over = true;
    return error;
}

/* -- locks ------------------------------------------------------------------------------------- */

/* A look for a lock that was asked for; what: the target's index on the node. */
static ompi_look_t look_for_lock(ompi_osc_window_t *window, void *what)
{
    int local = *(const int *)what;
    if (ompi_osc_lock_has(window, window->self, local))
        return OMPI_LOOK_OVER;
    if (!ompi_osc_has_deaths())
        return OMPI_LOOK_WAITS;
    if (ompi_osc_has_ended(window, window->locals[local].rank))
        return OMPI_LOOK_FAILED;
    ompi_osc_lock_recover(window, local);
    return ompi_osc_lock_has(window, window->self, local) ? OMPI_LOOK_OVER : OMPI_LOOK_WAITS;
}

/* The lock was asked for. */
static int await_lock(ompi_osc_window_t *window, int local)
{
    char words[64];
    int holder = -1;
    for (int i = 0; i < window->local_count; i++) {
        if (i != window->self && ompi_osc_lock_has(window, i, local))
            holder = window->locals[i].rank;
    }
    snprintf(words, sizeof words, "has the lock of rank %d", window->locals[local].rank);
    ompi_lock();
    int error = ompi_osc_wait_for(window, look_for_lock, &local, holder, words);
    ompi_unlock();
    return error;
}

static int acquire(ompi_win_t *win, int rank, ompi_osc_lock_kind_t kind)
{
    ompi_osc_window_t *window = &win->osc;
    ompi_osc_target_t *target = &window->targets[rank];
    int error = check_alive(win, rank);
    if (error != MPI_SUCCESS)
        return error;
    if (kind == OMPI_OSC_UNCHECKED) {
        /* nobody else has a lock that conflicts, the program says */
    } else if (target->local < 0) {
        error = window->internode->lock(window, rank, kind);
    } else if (!ompi_osc_lock_ask(window, window->self, target->local, kind)) {
        error = await_lock(window, target->local);
    }
    if (error != MPI_SUCCESS)
        return ompi_win_fail(error, "Rank %d of the window has ended.", rank);
    set_lock(target, kind);
    set_permit(&target->permit, OMPI_OSC_OPEN);
    return MPI_SUCCESS;
}

/* Behind a flush. */
static int release(ompi_win_t *win, int rank)
{
    ompi_osc_window_t *window = &win->osc;
    ompi_osc_target_t *target = &window->targets[rank];
    ompi_osc_lock_kind_t kind = ompi_osc_lock_held(target);
    bool has_lock = permit_of(target) == OMPI_OSC_OPEN && kind != OMPI_OSC_UNCHECKED;
    set_permit(&target->permit, OMPI_OSC_CLOSED);
    set_lock(target, OMPI_OSC_UNLOCKED);
    if (!has_lock)
        return MPI_SUCCESS;
    if (target->local < 0)
        return window->internode->unlock(window, rank, kind);
    ompi_osc_lock_release(window, window->self, target->local);
    return MPI_SUCCESS;
}

static int check_lock(ompi_win_t *win, int assertion)
{
    int error = check_assertion(assertion, MPI_MODE_NOCHECK);
    if (error != MPI_SUCCESS)
        return error;
    if (opal_unlikely(win->has_no_locks))
        return wrong("The window has the hint no_locks.");
    if (ompi_win_epoch(win) == OMPI_WIN_STARTED)
        return wrong("The window has an epoch of MPI_Win_start.");
    if (ompi_win_epoch(win) == OMPI_WIN_LOCKED_ALL)
        return wrong("The window has an epoch of MPI_Win_lock_all.");
    return leave_fence(win);
}

static int check_rank(const ompi_win_t *win, int rank)
{
    if (rank >= 0 && rank < win->osc.size)
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_RANK, "The window has ranks 0 to %d; the target is %d.",
                         win->osc.size - 1, rank);
}

/* Threads may lock several targets at once. */
static void count_lock(ompi_win_t *win, int change)
{
    ompi_lock();
    win->locks += change;
    set_epoch(win, win->locks > 0 ? OMPI_WIN_LOCKED : OMPI_WIN_NO_EPOCH);
    ompi_unlock();
}

int ompi_win_lock(ompi_win_t *win, int lock_type, int rank, int assertion)
{
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
        return ompi_win_fail(MPI_ERR_LOCKTYPE,
                             "The lock is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE: %d.",
                             lock_type);
    int error = check_lock(win, assertion);
    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL)
        return error;
    if (check_rank(win, rank) != MPI_SUCCESS)
        return MPI_ERR_RANK;
    if (ompi_osc_lock_held(&win->osc.targets[rank]) != OMPI_OSC_UNLOCKED)
        return ompi_win_fail(MPI_ERR_RMA_SYNC, "This rank has locked rank %d already.", rank);
    if (rank == win->osc.rank && win->is_posted)
        return wrong("This rank's memory is exposed by MPI_Win_post.");
    ompi_osc_lock_kind_t kind = (assertion & MPI_MODE_NOCHECK) != 0 ? OMPI_OSC_UNCHECKED
                                : lock_type == MPI_LOCK_SHARED      ? OMPI_OSC_SHARED
                                                                    : OMPI_OSC_EXCLUSIVE;
    error = acquire(win, rank, kind);
    if (error == MPI_SUCCESS)
        count_lock(win, 1);
    return error;
}

int ompi_win_unlock(ompi_win_t *win, int rank)
{
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (check_rank(win, rank) != MPI_SUCCESS)
        return MPI_ERR_RANK;
    if (ompi_win_epoch(win) != OMPI_WIN_LOCKED ||
        ompi_osc_lock_held(&win->osc.targets[rank]) == OMPI_OSC_UNLOCKED)
        return ompi_win_fail(MPI_ERR_RMA_SYNC, "This rank has not locked rank %d.", rank);
    int error = flush(win, rank, false);
    int status = release(win, rank);
    count_lock(win, -1);
    ompi_win_flushed(win);
    return error != MPI_SUCCESS ? error : status;
}

static int release_all(ompi_win_t *win)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < win->osc.size; rank++) {
        int status = release(win, rank);
        error = error == MPI_SUCCESS ? status : error;
    }
    set_epoch(win, OMPI_WIN_NO_EPOCH);
    return error;
}

int ompi_win_lock_all(ompi_win_t *win, int assertion)
{
    int error = check_lock(win, assertion);
    if (error != MPI_SUCCESS)
        return error;
    if (ompi_win_epoch(win) == OMPI_WIN_LOCKED)
        return wrong("The window has an epoch of MPI_Win_lock.");
    if (win->is_posted)
        return wrong("This rank's memory is exposed by MPI_Win_post.");
    ompi_osc_lock_kind_t kind =
        (assertion & MPI_MODE_NOCHECK) != 0 ? OMPI_OSC_UNCHECKED : OMPI_OSC_SHARED;
    for (int rank = 0; rank < win->osc.size && error == MPI_SUCCESS; rank++) {
        ompi_osc_target_t *target = &win->osc.targets[rank];
        if (target->local >= 0 || kind == OMPI_OSC_UNCHECKED) {
            error = acquire(win, rank, kind);
        } else { /* with the first access */
            set_permit(&target->permit, OMPI_OSC_AWAITS_LOCK);
            set_lock(target, OMPI_OSC_SHARED);
        }
    }
    set_epoch(win, OMPI_WIN_LOCKED_ALL);
    if (error != MPI_SUCCESS)
        release_all(win);
    return error;
}

int ompi_win_unlock_all(ompi_win_t *win)
{
    if (ompi_win_epoch(win) != OMPI_WIN_LOCKED_ALL)
        return wrong("The window has no epoch of MPI_Win_lock_all.");
    int error = flush(win, -1, false);
    int status = release_all(win);
    ompi_win_flushed(win);
    return error != MPI_SUCCESS ? error : status;
}

int ompi_win_flush(ompi_win_t *win, int rank, bool local)
{
    if (ompi_win_epoch(win) < OMPI_WIN_LOCKED)
        return wrong("A flush needs an epoch of MPI_Win_lock or MPI_Win_lock_all.");
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (rank != -1) {
        if (check_rank(win, rank) != MPI_SUCCESS)
            return MPI_ERR_RANK;
        if (ompi_osc_lock_held(&win->osc.targets[rank]) == OMPI_OSC_UNLOCKED)
            return ompi_win_fail(MPI_ERR_RMA_SYNC, "This rank has not locked rank %d.", rank);
    }
    ompi_win_flushed(win);
    return flush(win, rank, local);
}

/* -- permits -------------------------------------------------------------------------------------
 */

static ompi_look_t look_for_permit(ompi_osc_window_t *window, void *what)
{
    return permit_of(&window->targets[*(const int *)what]) != OMPI_OSC_OPENS ? OMPI_LOOK_OVER
                                                                             : OMPI_LOOK_WAITS;
}

/* Of several threads one opens a permit, and the others wait for it. Returns what the permit was.
 */
static ompi_osc_permit_t begin_opening(ompi_win_t *win, int rank)
{
    ompi_osc_target_t *target = &win->osc.targets[rank];
    ompi_lock();
    if (permit_of(target) == OMPI_OSC_OPENS)
        ompi_osc_wait(&win->osc, look_for_permit, &rank);
    ompi_osc_permit_t permit = permit_of(target);
    if (permit == OMPI_OSC_AWAITS_POST || permit == OMPI_OSC_AWAITS_LOCK)
        set_permit(&target->permit, OMPI_OSC_OPENS);
    ompi_unlock();
    return permit;
}

static int open_permit(ompi_win_t *win, int rank)
{
    ompi_osc_target_t *target = &win->osc.targets[rank];
    ompi_osc_permit_t permit = begin_opening(win, rank);
    if (permit == OMPI_OSC_OPEN)
        return MPI_SUCCESS;
    int error = permit == OMPI_OSC_AWAITS_POST ? await_post(win, rank)
                                               : acquire(win, rank, OMPI_OSC_SHARED);
    if (error != MPI_SUCCESS)
        set_permit(&target->permit, permit);
    if (ompi_lock_needed)
        opal_wait_notify_self();
    return error;
}

int ompi_win_open(ompi_win_t *win, int rank)
{
    switch (ompi_osc_permit(&win->osc, &win->osc.targets[rank])) {
    case OMPI_OSC_OPEN:
        return MPI_SUCCESS;
    case OMPI_OSC_CLOSED:
        return ompi_win_fail(MPI_ERR_RMA_SYNC,
                             "This rank is in no epoch in which it may access rank %d.", rank);
    default:
        return open_permit(win, rank);
    }
}
