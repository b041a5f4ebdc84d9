/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators with two sides: made of two groups, and merged into one. See create.h. */
#include <stdlib.h>
#include <string.h>

#include "opal/process/process.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "ompi/comm_create/create.h"
#include "ompi/comm_create/creation.h"
#include "ompi/comm_create/exchange.h"
#include "ompi/comm_create/remote_processes.h"

enum { PAGE_PROCESSES = 340 };

/* -- who is on the other side -------------------------------------------------------- */

/*
 * A part of the list of one side's processes. The leaders swap pages and broadcast them to their
 * sides. A page needs no allocation, so no process drops out for want of memory. A leader that has
 * not got the page of the other side broadcasts its error.
 *
 * Names are enough if all processes of both sides are of one job. If they are not, a process may
 * never have met one of the other side. Then only the first page of names is swapped, which tells
 * both sides so, and address records follow.
 */
typedef struct page {
    int total;       /* of the side */
    int error;       /* MPI_SUCCESS */
    bool spans_jobs; /* the side has processes of several jobs */
    opal_process_name_t processes[PAGE_PROCESSES];
} page_t;

static int pages_of(int processes)
{
    return processes / PAGE_PROCESSES + (processes % PAGE_PROCESSES != 0);
}

static void fill_page(page_t *page, const ompi_group_t *group, int number)
{
    int first = number * PAGE_PROCESSES;
    *page = (page_t){.total = group->size, .error = MPI_SUCCESS, .spans_jobs = group->has_foreign};
    for (int i = 0; i < PAGE_PROCESSES && first + i < group->size; i++)
        page->processes[i] = opal_process_name((uint32_t)ompi_group_process(group, first + i));
}

/* Fetches a page of the other side to all processes of this side. */
static int fetch_page(const ompi_side_t *side, const ompi_bridge_t *bridge, int number,
                      page_t *theirs)
{
    page_t ours;
    if (side->index == bridge->leader) {
        fill_page(&ours, side->comm->group, number);
        int swapped = ompi_bridge_swap(bridge, &ours, sizeof ours, theirs, sizeof *theirs);
        if (swapped != MPI_SUCCESS)
            theirs->error = swapped;
    }
    int error = ompi_side_broadcast(side, bridge->leader, theirs, sizeof *theirs);
    return error != MPI_SUCCESS ? error : theirs->error;
}

static int add_named(ompi_group_builder_t *builder, const opal_process_name_t *name)
{
    const opal_process_t *process = opal_process_find(name);
    if (process == NULL) {
        opal_log_error(
            "rank %u of another job is on the other side of a new intercommunicator, and "
            "this process does not know it",
            name->rank);
        return MPI_ERR_OTHER;
    }
    ompi_group_builder_add(builder, (int)process->index);
    return MPI_SUCCESS;
}

/* The other side is in the own job as this side is. */
static int find_by_names(const ompi_side_t *side, const ompi_bridge_t *bridge, page_t *page,
                         ompi_group_t **remote, int *fault)
{
    ompi_group_builder_t builder = {.session = side->comm->session};
    int error = MPI_SUCCESS, own_pages = pages_of(side->comm->size), added = 0;
    for (int number = 1; error == MPI_SUCCESS; number++) {
        for (int i = 0; i < PAGE_PROCESSES && added < page->total; i++, added++) {
            int unknown = add_named(&builder, &page->processes[i]);
            *fault = *fault == MPI_SUCCESS ? unknown : *fault;
        }
        if (number >= own_pages && number >= pages_of(page->total))
            break;
        error = fetch_page(side, bridge, number, page);
    }
    *remote = ompi_group_builder_finish(&builder);
    return error;
}

/* A part of the address records of one side's processes. */
typedef struct record_page {
    int error;    /* MPI_SUCCESS */
    bool is_last; /* of the side; of both, when it has been broadcast */
    int count;
    unsigned char records[OMPI_RECORD_PAGE_BYTES];
} record_page_t;

/* The leader of a side fills an empty page with the records of the members from *next on. */
static void fill_record_page(record_page_t *page, const ompi_side_t *side, int *next)
{
    enum { RECORD_BYTES = OMPI_RECORD_LENGTH_BYTES + OPAL_RECORD_MOST_BYTES };
    unsigned char *at = page->records, *end = at + sizeof page->records;
    while (*next < side->size && end - at >= RECORD_BYTES && page->error == MPI_SUCCESS) {
        size_t length;
        page->error = ompi_record_receive(side, (*next)++, at + OMPI_RECORD_LENGTH_BYTES, &length);
        opal_put_le16(at, (uint16_t)length);
        at += OMPI_RECORD_LENGTH_BYTES + length;
        page->count++;
    }
    page->is_last = *next == side->size;
}

/* Fetches a page of the other side to all processes of this side. An error of either leader ends
 * both sides after the same page. */
static int fetch_record_page(const ompi_side_t *side, const ompi_bridge_t *bridge, int *next,
                             record_page_t *theirs)
{
    if (side->index == bridge->leader) {
        record_page_t ours = {.error = MPI_SUCCESS};
        fill_record_page(&ours, side, next);
        int swapped = ompi_bridge_swap(bridge, &ours, sizeof ours, theirs, sizeof *theirs);
        if (swapped != MPI_SUCCESS)
            theirs->error = swapped;
        else if (ours.error != MPI_SUCCESS)
            theirs->error = ours.error;
        theirs->is_last = theirs->is_last && ours.is_last;
        explicit_bzero(&ours, sizeof ours);
    }
    int error = ompi_side_broadcast(side, bridge->leader, theirs, sizeof *theirs);
    return error != MPI_SUCCESS ? error : theirs->error;
}

static int find_by_records(const ompi_side_t *side, const ompi_bridge_t *bridge, int total,
                           ompi_group_t **remote, int *fault)
{
    record_page_t page = {0};
    ompi_remote_processes_t found;
    int error = MPI_SUCCESS, next = 0; /* the member whose record the leader has not got */
    ompi_remote_processes_begin(&found, total);
    if (side->index != bridge->leader)
        ompi_record_send(side, bridge->leader);
    while (error == MPI_SUCCESS && !page.is_last) {
        error = fetch_record_page(side, bridge, &next, &page);
        if (error == MPI_SUCCESS)
            ompi_remote_processes_add(&found, page.records, page.count);
    }
    while (side->index == bridge->leader && next < side->size) { /* members wait in the send */
        size_t length;
        ompi_record_receive(side, next++, page.records, &length);
    }
    explicit_bzero(&page, sizeof page);
    *remote = ompi_remote_processes_group(&found, side->comm->session);
    *fault = found.error;
    ompi_remote_processes_end(&found);
    return error;
}

/* Makes the group of the other side in all processes of this side; *remote NULL: no memory for it.
 * Returns the error of a message. An error of this process alone goes to *fault, and the process
 * takes part until the end of the list. Under the message lock. */
static int find_other_side(const ompi_side_t *side, const ompi_bridge_t *bridge,
                           ompi_group_t **remote, int *fault)
{
    page_t page = {0};
    int error = fetch_page(side, bridge, 0, &page);
    if (error != MPI_SUCCESS)
        return error;
    opal_process_name_t self = opal_process_name(opal_process_self()->index);
    bool is_one_job = !side->comm->group->has_foreign && !page.spans_jobs &&
                      memcmp(page.processes[0].job, self.job, sizeof self.job) == 0;
    return is_one_job ? find_by_names(side, bridge, &page, remote, fault)
                      : find_by_records(side, bridge, page.total, remote, fault);
}

static bool have_common(ompi_group_t *group1, const ompi_group_t *group2)
{
    for (int rank = 0; rank < group2->size; rank++) {
        if (ompi_group_rank_of(group1, ompi_group_process(group2, rank)) != MPI_UNDEFINED)
            return true;
    }
    return false;
}

/* -- two sides ----------------------------------------------------------------------- */

/* Begins the creation of an intercommunicator. remote or creation->comm is NULL: no memory, which
 * the creation reports to the others. */
static void init_two_sides(ompi_comm_creation_t *creation, ompi_communicator_t *parent,
                           ompi_group_t *group, ompi_group_t *remote)
{
    ompi_communicator_t *comm = remote != NULL ? ompi_comm_create(parent) : NULL;
    ompi_comm_creation_init(creation, parent, comm);
    if (comm != NULL)
        ompi_comm_set_groups(comm, group, remote);
    else
        creation->error = MPI_ERR_NO_MEM;
    creation->agreement.wanted = 2;
}

/* The sides know each other. remote NULL: no memory for it; `fault`: an error of this process. */
static int join_sides(const ompi_side_t *side, ompi_bridge_t *bridge, ompi_group_t *remote,
                      int fault, ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    ompi_communicator_t *comm = side->comm;
    bridge->size = remote != NULL ? remote->size : 0; /* nothing is exchanged but ballots */
    init_two_sides(&creation, comm, comm->group, remote);
    if (remote != NULL && have_common(comm->group, remote))
        creation.error = MPI_ERR_COMM;
    if (fault != MPI_SUCCESS)
        creation.error = fault;
    creation.agreement.exchange.side = *side;
    creation.agreement.exchange.bridge = *bridge;
    return ompi_comm_creation_run(&creation, result);
}

int ompi_intercomm_create(ompi_communicator_t *comm, int leader, ompi_communicator_t *peer_comm,
                          int remote_leader, int tag, ompi_communicator_t **result)
{
    ompi_group_t *remote = NULL;
    ompi_bridge_t bridge = {.comm = comm->rank == leader ? peer_comm : comm,
                            .rank = remote_leader,
                            .tag = ompi_exchange_user_tag(tag),
                            .leader = leader};
    ompi_lock();
    ompi_side_t side = ompi_side_of(comm, ompi_exchange_next_tag(comm));
    int fault = MPI_SUCCESS, error = find_other_side(&side, &bridge, &remote, &fault);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        error = join_sides(&side, &bridge, remote, fault, result);
    if (remote != NULL)
        ompi_object_release(&remote->head);
    return error;
}

int ompi_intercomm_create_between(const ompi_side_t *side, int leader, ompi_group_t *remote,
                                  int remote_leader, uint64_t number, int fault,
                                  ompi_communicator_t **result)
{
    ompi_bridge_t bridge = {
        .comm = &ompi_comm_processes, .tag = ompi_exchange_string_tag(number), .leader = leader};
    if (remote != NULL)
        bridge.rank = ompi_group_process(remote, remote_leader);
    return join_sides(side, &bridge, remote, fault, result);
}

int ompi_intercomm_create_from_groups(ompi_group_t *group, int leader, ompi_group_t *remote_group,
                                      int remote_leader, const char *stringtag, ompi_info_t *info,
                                      ompi_errhandler_t *errhandler, ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    *result = NULL;
    if (group->rank == MPI_UNDEFINED)
        return MPI_SUCCESS;
    if (have_common(group, remote_group))
        return MPI_ERR_GROUP;
    init_two_sides(&creation, &ompi_comm_processes, group, remote_group);
    if (creation.comm != NULL) {
        ompi_errhandler_attach(&creation.comm->head, errhandler);
        ompi_comm_set_hints(creation.comm, info);
        ompi_comm_set_session(creation.comm, group->session);
    }
    int tag = ompi_comm_creation_set_string(&creation, stringtag);
    creation.agreement.exchange.side = ompi_side_of_group(&ompi_comm_processes, group, tag);
    creation.agreement.exchange.bridge =
        (ompi_bridge_t){.comm = &ompi_comm_processes,
                        .rank = ompi_group_process(remote_group, remote_leader),
                        .tag = tag,
                        .leader = leader,
                        .size = remote_group->size};
    return ompi_comm_creation_run(&creation, result);
}

/* -- one of two ---------------------------------------------------------------------- */

static bool are_alike(const int *items, int count)
{
    for (int i = 1; i < count; i++) {
        if (items[i] != items[0])
            return false;
    }
    return true;
}

static void add_all(ompi_group_builder_t *builder, const ompi_group_t *group)
{
    for (int rank = 0; rank < group->size; rank++)
        ompi_group_builder_add(builder, ompi_group_process(group, rank));
}

/* The side that gave low comes first; if both gave the same, the side with the lower first process.
 */
static int form_merged(ompi_comm_creation_t *creation, bool *is_left OPAL_UNUSED)
{
    const ompi_communicator_t *parent = creation->parent;
    const ompi_group_t *own = parent->group, *other = parent->remote_group;
    const int *own_high = (const int *)creation->agreement.exchange.items;
    const int *other_high = own_high + own->size;
    ompi_group_builder_t builder = {.session = parent->session};
    if (!are_alike(own_high, own->size) || !are_alike(other_high, other->size))
        return OMPI_CONTEXT_ID_NOT_ALIKE;
    bool own_first = own_high[0] != other_high[0]
                         ? !own_high[0]
                         : opal_process_is_before((uint32_t)ompi_group_process(own, 0),
                                                  (uint32_t)ompi_group_process(other, 0));
    add_all(&builder, own_first ? own : other);
    add_all(&builder, own_first ? other : own);
    ompi_group_t *group = ompi_group_builder_finish(&builder);
    if (group == NULL)
        return MPI_ERR_NO_MEM;
    ompi_comm_set_groups(creation->comm, group, NULL);
    ompi_object_release(&group->head);
    return MPI_SUCCESS;
}

int ompi_intercomm_merge(ompi_communicator_t *comm, bool high, ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    int *items = calloc((size_t)comm->size + (size_t)comm->remote_group->size, sizeof *items);
    ompi_communicator_t *merged = ompi_comm_create(comm);
    if (items != NULL) /* if NULL, the exchange reports that to the others */
        items[comm->rank] = high;
    ompi_comm_creation_init(&creation, comm, merged);
    if (merged == NULL)
        creation.error = MPI_ERR_NO_MEM;
    creation.form = form_merged;
    creation.agreement.exchange.item_bytes = sizeof *items;
    creation.agreement.exchange.items = (unsigned char *)items;
    ompi_lock();
    ompi_comm_creation_of_all(&creation);
    ompi_unlock();
    creation.agreement.wanted = 1;
    int error = ompi_comm_creation_run(&creation, result);
    free(items);
    return error;
}

/* -- leaving ------------------------------------------------------------------------- */

typedef struct meeting {
    ompi_exchange_t exchange;
    atomic_int done;
} meeting_t;

static void have_met(ompi_exchange_t *exchange)
{
    opal_wait_signal(&opal_container_of(exchange, meeting_t, exchange)->done);
}

void ompi_comm_meet(ompi_communicator_t *comm)
{
    meeting_t meeting = {.exchange.done = have_met};
    ompi_lock();
    int tag = ompi_exchange_leaving_tag(comm);
    meeting.exchange.side = ompi_side_of(comm->local, tag);
    if (ompi_comm_is_inter(comm))
        meeting.exchange.bridge = (ompi_bridge_t){.comm = comm, .tag = tag};
    ompi_context_offer_all(&meeting.exchange.ballot.offer); /* it gets nothing */
    ompi_exchange_begin(&meeting.exchange);
    ompi_wait_until(&meeting.done);
    ompi_unlock();
}
