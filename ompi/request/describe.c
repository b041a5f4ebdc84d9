/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about messages and communicators. See describe.h. */
#include "ompi/request/describe.h"

#include <stdio.h>
#include <string.h>

#include "opal/process/process.h"
#include "opal/util/hex.h"

enum { MEMBERS_BYTES = 400 };

static void name_process(unsigned index, char *text, size_t bytes)
{
    opal_process_name_t name = opal_process_name(index);
    char tag[2 * OPAL_JOB_TAG_BYTES + 1];
    if (!opal_process_is_foreign(index)) {
        snprintf(text, bytes, "%u", index);
        return;
    }
    opal_hex_print(tag, name.job, sizeof name.job);
    snprintf(text, bytes, "%u@%s", name.rank, tag);
}

void ompi_describe_comm(ompi_description_t *description, const ompi_communicator_t *comm)
{
    while (comm->parent != NULL) /* its messages are those of the parent */
        comm = comm->parent;
    opal_roll_add(&description->text, " comm=%u", comm->context);
    ompi_describe_name_comm(description, comm);
}

void ompi_describe_name_comm(ompi_description_t *description, const ompi_communicator_t *comm)
{
    unsigned i = 0;
    while (i < description->comm_count && description->comms[i] != comm)
        i++;
    if (i < description->comm_count)
        return;
    if (i < OMPI_DESCRIBED_COMMS)
        description->comms[description->comm_count++] = comm;
    else
        description->text.is_full = true; /* what it has begun is not told */
}

static void describe_peer(ompi_description_t *description, const ompi_operation_t *operation)
{
    const ompi_communicator_t *comm = operation->comm;
    char process[48];
    if (operation->peer == MPI_ANY_SOURCE) {
        opal_roll_add(&description->text, " peer=any");
    } else if (operation->peer >= 0 && operation->peer < ompi_comm_peers(comm)) {
        name_process(ompi_comm_process(comm, operation->peer), process, sizeof process);
        opal_roll_add(&description->text, " peer=%d process=%s", operation->peer, process);
    }
}

void ompi_describe_operation(ompi_description_t *description, const ompi_operation_t *operation)
{
    opal_roll_line(&description->text, operation->word);
    if (operation->comm != NULL) {
        ompi_describe_comm(description, operation->comm);
        describe_peer(description, operation);
    }
    if (operation->tag == MPI_ANY_TAG)
        opal_roll_add(&description->text, " tag=any");
    else
        opal_roll_add(&description->text, " tag=%d", operation->tag);
    opal_roll_add(&description->text, " bytes=%zu", operation->bytes);
    if (operation->state != NULL)
        opal_roll_add(&description->text, " state=%s", operation->state);
}

void ompi_describe_collective(ompi_description_t *description, const ompi_communicator_t *comm,
                              uint64_t number)
{
    opal_roll_line(&description->text, "collective");
    ompi_describe_comm(description, comm);
    opal_roll_add(&description->text, " number=%llu", (unsigned long long)number);
}

void ompi_describe_act(ompi_description_t *description, const ompi_communicator_t *comm, int peer,
                       const char *words)
{
    opal_roll_line(&description->text, "act");
    if (comm != NULL) {
        ompi_describe_comm(description, comm);
        describe_peer(description, &(ompi_operation_t){.comm = comm, .peer = peer});
    }
    opal_roll_add(&description->text, " state=%s", words);
}

/* "0-3,5,7@0123456789abcdef"; empty: it needs too much room. */
static void list_members(const ompi_group_t *group, char text[MEMBERS_BYTES])
{
    size_t length = 0;
    for (int rank = 0, last; rank < group->size; rank = last + 1) {
        char first[48];
        unsigned index = (unsigned)ompi_group_process(group, rank);
        name_process(index, first, sizeof first);
        for (last = rank; last + 1 < group->size && !opal_process_is_foreign(index); last++) {
            if ((unsigned)ompi_group_process(group, last + 1) !=
                index + (unsigned)(last + 1 - rank))
                break;
        }
        int added =
            snprintf(text + length, MEMBERS_BYTES - length, "%s%s", rank > 0 ? "," : "", first);
        if (last > rank && added > 0 && (size_t)added < MEMBERS_BYTES - length)
            added += snprintf(text + length + added, MEMBERS_BYTES - length - (size_t)added, "-%u",
                              index + (unsigned)(last - rank));
        if (added < 0 || (size_t)added >= MEMBERS_BYTES - length) {
            text[0] = 0;
            return;
        }
        length += (size_t)added;
    }
}

/* The last calls, the latest of which is that of number comm->calls. */
static void describe_recent(opal_roll_text_t *text, const ompi_communicator_t *comm)
{
    uint64_t count = comm->calls < OMPI_COMM_RECENT ? comm->calls : OMPI_COMM_RECENT;
    for (uint64_t n = comm->calls - count + 1; n <= comm->calls; n++) {
        const ompi_comm_call_t *call = &comm->recent[n % OMPI_COMM_RECENT];
        opal_roll_add(text, "%sMPI_%s", n + count > comm->calls + 1 ? "," : " recent=", call->name);
        if (call->root >= 0)
            opal_roll_add(text, ":%d", call->root);
        else
            opal_roll_add(text, ":-");
        if (call->bytes != SIZE_MAX)
            opal_roll_add(text, ":%zu", call->bytes);
    }
}

static void describe_whole_comm(opal_roll_text_t *text, const ompi_communicator_t *comm)
{
    char members[MEMBERS_BYTES] = "", name[MPI_MAX_OBJECT_NAME];
    ompi_comm_get_name(comm, name);
    for (char *c = name; *c != 0; c++)
        *c = *c == '\n' ? ' ' : *c;
    list_members(comm->group, members);
    opal_roll_line(text, "comm");
    opal_roll_add(text, " id=%u rank=%d size=%d calls=%llu", comm->context, comm->rank, comm->size,
                  (unsigned long long)comm->calls);
    describe_recent(text, comm);
    if (members[0] != 0)
        opal_roll_add(text, " members=%s", members);
    members[0] = 0;
    if (comm->remote_group != NULL)
        list_members(comm->remote_group, members);
    if (members[0] != 0)
        opal_roll_add(text, " remote=%s", members);
    opal_roll_add(text, " name=%s", name);
}

void ompi_describe_comms(ompi_description_t *description)
{
    for (unsigned i = 0; i < description->comm_count; i++)
        describe_whole_comm(&description->text, description->comms[i]);
}
