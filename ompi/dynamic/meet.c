/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two communicators of two jobs meet. See dynamic.h.
 *
 * Roots swap their sides (records.h) twice. The second time there are no records, and the error
 * says whether the root knows the processes of the other side now: then a frame of the other leader
 * is never that of a stranger. The other processes add them before they take part in the agreement,
 * whose result no process has before all have taken part.
 *
 * Each side's processes get the records from their root in pages of a fixed size, so that no
 * process drops out for want of memory.
 */
#include "ompi/dynamic/dynamic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/port.h"
#include "ompi/comm_create/create.h"
#include "ompi/comm_create/exchange.h"
#include "ompi/comm_create/remote_processes.h"
#include "ompi/dynamic/records.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/mca/pml/base/check.h"
#include "ompi/request/request.h"

/* What the root tells its side about the meeting. */
typedef struct outcome {
    int error;
    int count, leader; /* of the other side */
    uint64_t number;   /* of the meeting */
    char detail[OMPI_DYNAMIC_DETAIL_BYTES];
} outcome_t;

/* Of a process, from the meeting to the agreement. */
typedef struct party {
    ompi_side_t side;
    int root;
    outcome_t outcome;
    ompi_records_t ours; /* of the root, as are the next two */
    unsigned char *theirs;
    size_t their_bytes;
    opal_meeting_t meeting;
    ompi_remote_processes_t remote;
} party_t;

static bool is_root(const party_t *party)
{
    return party->side.index == party->root;
}

/* The first error counts. */
static void set_error(outcome_t *outcome, int error, const char *detail)
{
    if (error == MPI_SUCCESS || outcome->error != MPI_SUCCESS)
        return;
    outcome->error = error;
    snprintf(outcome->detail, sizeof outcome->detail, "%s", detail);
}

/* -- the own side ---------------------------------------------------------------------------- */

static void collect_records(party_t *party)
{
    unsigned char record[OPAL_RECORD_MOST_BYTES];
    for (int index = 0; index < party->side.size; index++) {
        size_t length;
        int error = ompi_record_receive(&party->side, index, record, &length);
        if (error == MPI_SUCCESS)
            ompi_records_add(&party->ours, record, length);
        else
            set_error(&party->outcome, error, "A process of the own side has no address.");
    }
    explicit_bzero(record, sizeof record);
}

/* -- the meeting of the roots ---------------------------------------------------------------- */

static int error_of_meeting(const ompi_meeting_way_t *way, opal_status_t status)
{
    switch (status) {
    case OPAL_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case OPAL_ERR_BAD_PARAM:
        return way->kind == OMPI_MEETING_JOIN ? MPI_ERR_ARG : MPI_ERR_PORT;
    case OPAL_ERR_NOT_AVAILABLE:
        return MPI_ERR_SPAWN;
    case OPAL_ERR_NOT_FOUND:
    case OPAL_ERR_TIMEOUT:
        return way->kind == OMPI_MEETING_JOIN ? MPI_ERR_OTHER : MPI_ERR_PORT;
    default:
        return MPI_ERR_OTHER;
    }
}

static bool end_step(party_t *party, const ompi_meeting_way_t *way)
{
    const opal_meeting_t *meeting = &party->meeting;
    if (meeting->status == OPAL_SUCCESS)
        return true;
    set_error(&party->outcome, error_of_meeting(way, meeting->status), meeting->trouble);
    return false;
}

/* While an accept waits. The pauses between two questions grow. */
typedef struct doubt {
    opal_timer_t timer;
    opal_meeting_t *meeting;
    const ompi_meeting_way_t *way;
    uint64_t pause_nsec;
} doubt_t;

static const uint64_t first_pause_nsec = 4000000, most_pause_nsec = 250000000;

static void ask_launcher(opal_timer_t *timer)
{
    doubt_t *doubt = opal_container_of(timer, doubt_t, timer);
    char detail[OMPI_DYNAMIC_DETAIL_BYTES];
    if (doubt->way->is_unreachable(doubt->way->port, detail)) {
        opal_meeting_give_up(doubt->meeting, detail);
        return;
    }
    opal_timer_set(timer, opal_timer_now() + doubt->pause_nsec);
    if (doubt->pause_nsec < most_pause_nsec)
        doubt->pause_nsec *= 2;
}

/* Begins and waits until the roots have met; false: there is no such port. */
static bool find_peer(party_t *party, const ompi_meeting_way_t *way, uint64_t timeout_nsec)
{
    opal_meeting_t *meeting = &party->meeting;
    opal_port_t *port = way->kind == OMPI_MEETING_ACCEPT ? opal_port_find(way->port) : NULL;
    doubt_t doubt = {.timer.expired = ask_launcher,
                     .meeting = meeting,
                     .way = way,
                     .pause_nsec = first_pause_nsec};
    if (way->kind == OMPI_MEETING_CONNECT) {
        opal_meeting_connect(meeting, way->port, timeout_nsec);
    } else if (way->kind == OMPI_MEETING_JOIN) {
        opal_meeting_join(meeting, way->fd, timeout_nsec);
    } else if (port != NULL) {
        opal_meeting_accept(meeting, port, timeout_nsec);
    } else {
        set_error(&party->outcome, MPI_ERR_PORT,
                  "The root has not opened this port, or has closed it.");
        return false;
    }
    if (way->is_unreachable != NULL)
        opal_timer_set(&doubt.timer, opal_timer_now() + doubt.pause_nsec);
    ompi_wait_until(&meeting->done);
    opal_timer_cancel(&doubt.timer);
    return true;
}

/* An acceptor whose peer is gone before it has said anything goes on with the next one. */
static bool swap_sides(party_t *party, const ompi_meeting_way_t *way)
{
    opal_meeting_t *meeting = &party->meeting;
    uint64_t begun = opal_timer_now(), timeout_nsec = way->timeout_nsec;
    while (find_peer(party, way, timeout_nsec)) {
        if (meeting->status == OPAL_SUCCESS) {
            opal_meeting_swap(meeting, party->ours.bytes, party->ours.length,
                              way->answer_timeout_nsec);
            ompi_wait_until(&meeting->done);
        }
        if (meeting->status != OPAL_ERR_DISCONNECTED || way->kind != OMPI_MEETING_ACCEPT)
            return end_step(party, way);
        opal_meeting_end(meeting);
        uint64_t passed = opal_timer_now() - begun;
        if (way->timeout_nsec > 0)
            timeout_nsec = passed < way->timeout_nsec ? way->timeout_nsec - passed : 1;
    }
    return false;
}

static void take_their_side(party_t *party)
{
    ompi_side_head_t head;
    opal_meeting_t *meeting = &party->meeting;
    outcome_t *outcome = &party->outcome;
    const char *pml = ompi_pml_name();
    party->theirs = meeting->received;
    party->their_bytes = meeting->received_bytes;
    if (!ompi_records_check(&head, party->theirs, party->their_bytes)) {
        set_error(outcome, MPI_ERR_OTHER, "The other side has sent no list of processes.");
    } else if (head.error != MPI_SUCCESS || head.count == 0) {
        set_error(outcome, head.error != MPI_SUCCESS ? head.error : MPI_ERR_OTHER,
                  "The other side has failed.");
    } else if (strcmp(head.pml, pml) != 0) {
        char text[OMPI_DYNAMIC_DETAIL_BYTES];
        snprintf(text, sizeof text,
                 "This side sends its messages by pml/%s with mpi_check=%s, and the other side by "
                 "pml/%s with %s; both need the same.",
                 pml, ompi_pml_check_level_of(pml), head.pml, ompi_pml_check_level_of(head.pml));
        set_error(outcome, MPI_ERR_OTHER, text);
    } else {
        outcome->count = head.count;
        outcome->leader = head.leader;
        outcome->number = opal_meeting_number(meeting);
    }
}

/* The second swap. */
static void confirm(party_t *party, const ompi_meeting_way_t *way)
{
    outcome_t *outcome = &party->outcome;
    ompi_records_t none = {0};
    ompi_side_head_t head;
    if (outcome->error == MPI_SUCCESS) {
        ompi_remote_processes_begin(&party->remote, outcome->count);
        ompi_remote_processes_add(&party->remote, party->theirs + OMPI_SIDE_HEAD_BYTES,
                                  outcome->count);
        set_error(outcome, party->remote.error, "The processes of the other side cannot be added.");
    }
    if (!ompi_records_finish(&none, &(ompi_side_head_t){.error = outcome->error}))
        set_error(outcome, MPI_ERR_NO_MEM, "");
    opal_meeting_swap(&party->meeting, none.bytes, none.length, way->answer_timeout_nsec);
    ompi_wait_until(&party->meeting.done);
    if (end_step(party, way) &&
        (!ompi_records_check(&head, party->meeting.received, party->meeting.received_bytes) ||
         head.error != MPI_SUCCESS))
        set_error(outcome, MPI_ERR_OTHER, "The other side has failed.");
    free(party->meeting.received);
    ompi_records_free(&none);
}

/* All that the root alone does. */
static void meet_other_root(party_t *party, const ompi_meeting_way_t *way)
{
    ompi_side_head_t head = {.count = party->side.size, .leader = party->root};
    snprintf(head.pml, sizeof head.pml, "%s", ompi_pml_name());
    if (party->outcome.error == MPI_SUCCESS && !ompi_records_finish(&party->ours, &head))
        set_error(&party->outcome, MPI_ERR_NO_MEM, "There is no memory for the own side.");
    if (party->outcome.error == MPI_SUCCESS && swap_sides(party, way)) {
        take_their_side(party);
        confirm(party, way);
    }
    opal_meeting_end(&party->meeting);
    ompi_records_free(&party->ours);
}

/* -- the other side, at all processes of this one -------------------------------------------- */

typedef struct page {
    int count;
    unsigned char records[OMPI_RECORD_PAGE_BYTES];
} page_t;

/* Fills a page with records from `at` on. Returns where the next page begins. */
static const unsigned char *fill_page(page_t *page, const unsigned char *at,
                                      const unsigned char *end)
{
    const unsigned char *begin = at, *record;
    size_t length;
    for (page->count = 0; at != end; page->count++) {
        const unsigned char *next = ompi_record_next(at, &record, &length);
        if ((size_t)(next - begin) > sizeof page->records)
            break;
        at = next;
    }
    memcpy(page->records, begin, (size_t)(at - begin));
    return at;
}

/* The root has added the processes already. Returns the error of a message. */
static int share_records(party_t *party)
{
    page_t page = {0};
    int error = MPI_SUCCESS, count = party->outcome.count;
    const unsigned char *at = party->theirs, *end = at;
    if (is_root(party)) {
        at += OMPI_SIDE_HEAD_BYTES;
        end += party->their_bytes;
    } else {
        ompi_remote_processes_begin(&party->remote, count);
    }
    for (int seen = 0; seen < count && error == MPI_SUCCESS; seen += page.count) {
        if (is_root(party))
            at = fill_page(&page, at, end);
        error = ompi_side_broadcast(&party->side, party->root, &page, sizeof page);
        if (error == MPI_SUCCESS && !is_root(party))
            ompi_remote_processes_add(&party->remote, page.records, page.count);
    }
    explicit_bzero(&page, sizeof page);
    return error;
}

/* Both sides know each other now, but for processes with a fault. */
static int make_communicator(party_t *party, ompi_communicator_t **result)
{
    const outcome_t *outcome = &party->outcome;
    ompi_lock();
    ompi_group_t *remote = ompi_remote_processes_group(&party->remote, NULL);
    ompi_unlock();
    int error = ompi_intercomm_create_between(&party->side, party->root, remote, outcome->leader,
                                              outcome->number, party->remote.error, result);
    if (remote != NULL)
        ompi_object_release(&remote->head);
    return error;
}

int ompi_dynamic_meet(ompi_communicator_t *comm, int root, const ompi_meeting_way_t *way,
                      ompi_communicator_t **result, char detail[OMPI_DYNAMIC_DETAIL_BYTES])
{
    party_t here = {0}, *party = &here;
    ompi_lock();
    party->side = ompi_side_of(comm, ompi_exchange_next_tag(comm));
    party->root = root;
    if (is_root(party)) {
        set_error(&party->outcome, way->error, way->detail);
        collect_records(party);
        meet_other_root(party, way);
    } else {
        ompi_record_send(&party->side, root);
    }
    outcome_t *outcome = &party->outcome;
    int error = ompi_side_broadcast(&party->side, root, outcome, sizeof *outcome);
    if (error == MPI_SUCCESS)
        error = outcome->error;
    if (error == MPI_SUCCESS)
        error = share_records(party);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        error = make_communicator(party, result);
    ompi_lock();
    ompi_remote_processes_end(&party->remote);
    ompi_unlock();
    if (party->theirs != NULL)
        explicit_bzero(party->theirs, party->their_bytes);
    free(party->theirs);
    memcpy(detail, outcome->detail, sizeof outcome->detail);
    return error;
}

/* -- time limits ----------------------------------------------------------------------------- */

bool ompi_dynamic_timeout(ompi_info_t *info, double preset, uint64_t *nsec)
{
    static const char *const keys[] = {"timeout", "connect_timeout"};
    char value[32], *end = value;
    double seconds = preset;
    size_t length;
    for (size_t i = 0; info != NULL && i < OPAL_COUNT_OF(keys); i++) {
        if (!ompi_info_get(info, keys[i], value, sizeof value, &length))
            continue;
        seconds = strtod(value, &end);
        if (end == value || *end != 0 || length >= sizeof value || !isfinite(seconds) ||
            seconds < 0 || seconds > 1e9)
            return false;
    }
    *nsec = (uint64_t)(seconds * 1e9);
    return true;
}
