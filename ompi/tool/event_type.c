/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of event types. */
#include "ompi/tool/event_type.h"

#include <stddef.h>
#include <string.h>

#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/tool/category.h"

/* -- what numbers mean ---------------------------------------------------------------------- */

static const opal_param_choice_t traffic[] = {
    {"point_to_point", OMPI_CONTEXT_USER},
    {"collective", OMPI_CONTEXT_COLLECTIVE},
    {"partitioned", OMPI_CONTEXT_PARTITIONED},
    {"ownership", OMPI_CONTEXT_OWNERSHIP},
    {0},
};

static const opal_param_choice_t transports[] = {
    {"other", OMPI_EVENT_BY_OTHER}, {"self", OMPI_EVENT_BY_SELF},       {"sm", OMPI_EVENT_BY_SM},
    {"sock", OMPI_EVENT_BY_SOCK},   {"network", OMPI_EVENT_BY_NETWORK}, {0},
};

static const opal_param_choice_t protocols[] = {
    {"eager", OMPI_EVENT_EAGER},
    {"eager_synchronous", OMPI_EVENT_EAGER_SYNCHRONOUS},
    {"stream", OMPI_EVENT_STREAM},
    {"rendezvous", OMPI_EVENT_RENDEZVOUS},
    {0},
};

static const opal_param_choice_t sides[] = {
    {"sender", OMPI_EVENT_SENDER},
    {"receiver", OMPI_EVENT_RECEIVER},
    {0},
};

static const opal_param_choice_t forms[] = {
    {"blocking", OMPI_EVENT_BLOCKING},
    {"nonblocking", OMPI_EVENT_NONBLOCKING},
    {"persistent", OMPI_EVENT_PERSISTENT},
    {0},
};

static const opal_param_choice_t operations[] = {
    {"allgather", OMPI_ALLGATHER},
    {"allgatherv", OMPI_ALLGATHERV},
    {"allreduce", OMPI_ALLREDUCE},
    {"alltoall", OMPI_ALLTOALL},
    {"alltoallv", OMPI_ALLTOALLV},
    {"alltoallw", OMPI_ALLTOALLW},
    {"barrier", OMPI_BARRIER},
    {"bcast", OMPI_BCAST},
    {"exscan", OMPI_EXSCAN},
    {"gather", OMPI_GATHER},
    {"gatherv", OMPI_GATHERV},
    {"reduce", OMPI_REDUCE},
    {"reduce_scatter", OMPI_REDUCE_SCATTER},
    {"reduce_scatter_block", OMPI_REDUCE_SCATTER_BLOCK},
    {"scan", OMPI_SCAN},
    {"scatter", OMPI_SCATTER},
    {"scatterv", OMPI_SCATTERV},
    {"neighbor_allgather", OMPI_NEIGHBOR_ALLGATHER},
    {"neighbor_allgatherv", OMPI_NEIGHBOR_ALLGATHERV},
    {"neighbor_alltoall", OMPI_NEIGHBOR_ALLTOALL},
    {"neighbor_alltoallv", OMPI_NEIGHBOR_ALLTOALLV},
    {"neighbor_alltoallw", OMPI_NEIGHBOR_ALLTOALLW},
    {0},
};

/* -- elements ------------------------------------------------------------------------------- */

#define ELEMENT(structure, member, datatype, meaning)                                              \
    {                                                                                              \
        .name = #member, .type = datatype, .offset = offsetof(structure, member),                  \
        .bytes = sizeof(((structure *)NULL)->member), .choices = meaning                           \
    }

#define MESSAGE(member, datatype, meaning) ELEMENT(ompi_event_message_t, member, datatype, meaning)
static const ompi_event_element_t message[] = {
    MESSAGE(context, MPI_UNSIGNED, NULL),
    MESSAGE(source, MPI_INT, NULL),
    MESSAGE(tag, MPI_INT, NULL),
    MESSAGE(traffic, MPI_INT, traffic),
    MESSAGE(transport, MPI_INT, transports),
    MESSAGE(protocol, MPI_INT, protocols),
    MESSAGE(bytes, MPI_COUNT, NULL),
};

#define RNDV(member, datatype, meaning) ELEMENT(ompi_event_rendezvous_t, member, datatype, meaning)
static const ompi_event_element_t rendezvous[] = {
    RNDV(context, MPI_UNSIGNED, NULL),
    RNDV(peer, MPI_INT, NULL),
    RNDV(tag, MPI_INT, NULL),
    RNDV(traffic, MPI_INT, traffic),
    RNDV(transport, MPI_INT, transports),
    RNDV(side, MPI_INT, sides),
    RNDV(bytes, MPI_COUNT, NULL),
    RNDV(error, MPI_INT, NULL),
};

#define COLL(member, datatype, meaning) ELEMENT(ompi_event_collective_t, member, datatype, meaning)
static const ompi_event_element_t collective[] = {
    COLL(number, MPI_COUNT, NULL),
    COLL(context, MPI_UNSIGNED, NULL),
    COLL(operation, MPI_INT, operations),
    COLL(form, MPI_INT, forms),
    COLL(root, MPI_INT, NULL),
    COLL(bytes, MPI_COUNT, NULL),
    COLL(error, MPI_INT, NULL),
};

static const ompi_event_element_t connected[] = {
    ELEMENT(ompi_event_connected_t, rank, MPI_INT, NULL),
    ELEMENT(ompi_event_connected_t, transport, MPI_INT, transports),
};

static const ompi_event_element_t failed[] = {
    ELEMENT(ompi_event_failed_t, rank, MPI_INT, NULL),
    ELEMENT(ompi_event_failed_t, error, MPI_INT, NULL),
};

static const ompi_event_element_t evicted[] = {
    ELEMENT(ompi_event_evicted_t, address, MPI_COUNT, NULL),
    ELEMENT(ompi_event_evicted_t, bytes, MPI_COUNT, NULL),
};

static const ompi_event_element_t communicator[] = {
    ELEMENT(ompi_event_communicator_t, context, MPI_UNSIGNED, NULL),
    ELEMENT(ompi_event_communicator_t, rank, MPI_INT, NULL),
    ELEMENT(ompi_event_communicator_t, size, MPI_INT, NULL),
    ELEMENT(ompi_event_communicator_t, remote_size, MPI_INT, NULL),
};

/* -- types ---------------------------------------------------------------------------------- */

/* The first elements of a list, up to `last`. */
#define UP_TO(list, structure, last, count)                                                        \
    .elements = list, .element_count = (count),                                                    \
    .bytes = offsetof(structure, last) + sizeof(((structure *)NULL)->last)
#define ALL_OF(list, structure, last)     UP_TO(list, structure, last, OPAL_COUNT_OF(list))
#define BUT_ONE_OF(list, structure, last) UP_TO(list, structure, last, OPAL_COUNT_OF(list) - 1)

const ompi_event_type_t ompi_event_types[OMPI_EVENTS] = {
    [OMPI_EVENT_MESSAGE_MATCHED] =
        {
            .name = "message_matched",
            .prose = "A message and a receive have matched in this process, whichever came first",
            .category = "pml",
            .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
            .bind = MPI_T_BIND_MPI_COMM,
            ALL_OF(message, ompi_event_message_t, bytes),
        },
    [OMPI_EVENT_MESSAGE_UNEXPECTED] =
        {
            .name = "message_unexpected",
            .prose = "A message has come before a receive that matches it, and waits",
            .category = "pml",
            .verbosity = MPI_T_VERBOSITY_USER_BASIC,
            .bind = MPI_T_BIND_MPI_COMM,
            ALL_OF(message, ompi_event_message_t, bytes),
        },
    [OMPI_EVENT_RENDEZVOUS_BEGUN] =
        {
            .name = "rendezvous_begun",
            .prose =
                "At the sender: the request to send a long message has left. At the receiver: a "
                "receive has matched it, and the data begins to move",
            .category = "pml",
            .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
            .bind = MPI_T_BIND_MPI_COMM,
            BUT_ONE_OF(rendezvous, ompi_event_rendezvous_t, bytes),
        },
    [OMPI_EVENT_RENDEZVOUS_ENDED] =
        {
            .name = "rendezvous_ended",
            .prose =
                "The data of a long message has left the sender's buffer, or is in the receiver's, "
                "or the transfer has failed with the error",
            .category = "pml",
            .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
            .bind = MPI_T_BIND_MPI_COMM,
            ALL_OF(rendezvous, ompi_event_rendezvous_t, error),
        },
    [OMPI_EVENT_COLLECTIVE_BEGUN] =
        {
            .name = "collective_begun",
            .prose = "The program has called or started a collective operation",
            .category = "coll",
            .verbosity = MPI_T_VERBOSITY_USER_BASIC,
            .bind = MPI_T_BIND_MPI_COMM,
            BUT_ONE_OF(collective, ompi_event_collective_t, bytes),
        },
    [OMPI_EVENT_COLLECTIVE_ENDED] =
        {
            .name = "collective_ended",
            .prose = "A collective operation is complete in this process",
            .category = "coll",
            .verbosity = MPI_T_VERBOSITY_USER_BASIC,
            .bind = MPI_T_BIND_MPI_COMM,
            ALL_OF(collective, ompi_event_collective_t, error),
        },
    [OMPI_EVENT_PEER_CONNECTED] =
        {
            .name = "peer_connected",
            .prose = "A transport has been chosen for a process that this one communicates with",
            .category = "btl",
            .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
            .bind = MPI_T_BIND_NO_OBJECT,
            ALL_OF(connected, ompi_event_connected_t, transport),
        },
    [OMPI_EVENT_PEER_FAILED] =
        {
            .name = "peer_failed",
            .prose =
                "A process that this one communicates with has failed, as far as the transport "
                "can tell; its requests fail with the error",
            .category = "btl",
            .verbosity = MPI_T_VERBOSITY_USER_BASIC,
            .bind = MPI_T_BIND_NO_OBJECT,
            ALL_OF(failed, ompi_event_failed_t, error),
        },
    [OMPI_EVENT_REGISTRATION_EVICTED] =
        {
            .name = "registration_evicted",
            .prose =
                "A registered (pinned) piece of memory was unregistered to make room for another",
            .category = "mpool",
            .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
            .bind = MPI_T_BIND_NO_OBJECT,
            ALL_OF(evicted, ompi_event_evicted_t, bytes),
        },
    [OMPI_EVENT_COMMUNICATOR_MADE] =
        {
            .name = "communicator_made",
            .prose = "A communicator can be used; the predefined ones when MPI starts",
            .category = "mpi",
            .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
            .bind = MPI_T_BIND_NO_OBJECT,
            ALL_OF(communicator, ompi_event_communicator_t, remote_size),
        },
    [OMPI_EVENT_COMMUNICATOR_FREED] =
        {
            .name = "communicator_freed",
            .prose = "The program has freed a communicator, and nothing uses it any more",
            .category = "mpi",
            .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
            .bind = MPI_T_BIND_NO_OBJECT,
            ALL_OF(communicator, ompi_event_communicator_t, remote_size),
        },
};

_Static_assert(OMPI_EVENTS <= OMPI_EVENT_TRACED, "ompi_events_wanted has a bit for each event");

const ompi_event_type_t *ompi_event_type_at(int index)
{
    return index >= 0 && index < OMPI_EVENTS ? &ompi_event_types[index] : NULL;
}

int ompi_event_type_find(const char *name)
{
    for (int i = 0; i < OMPI_EVENTS; i++) {
        if (strcmp(name, ompi_event_types[i].name) == 0)
            return i;
    }
    return -1;
}

ompi_event_transport_t ompi_event_transport_of(const char *name)
{
    for (const opal_param_choice_t *each = transports; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0)
            return (ompi_event_transport_t)each->value;
    }
    return OMPI_EVENT_BY_OTHER;
}

void ompi_event_type_describe(const ompi_event_type_t *type, opal_text_t *text)
{
    opal_text_printf(text, "%s.", type->prose);
    for (int i = 0; i < type->element_count; i++) {
        const opal_param_choice_t *choice = type->elements[i].choices;
        if (choice == NULL)
            continue;
        opal_text_printf(text, " %s:", type->elements[i].name);
        for (; choice->name != NULL; choice++)
            opal_text_printf(text, " %d %s%s", choice->value, choice->name,
                             choice[1].name != NULL ? "," : ".");
    }
}

/* -- enumerations --------------------------------------------------------------------------- */

enum { MOST_ELEMENTS = 8 };

static ompi_tool_enum_t *enums[OMPI_EVENTS]; /* written once, when the interface is first used */

void ompi_event_types_start(void)
{
    for (int i = 0; i < OMPI_EVENTS && enums[i] == NULL; i++) {
        const ompi_event_type_t *type = &ompi_event_types[i];
        opal_param_choice_t items[MOST_ELEMENTS + 1] = {0};
        for (int k = 0; k < type->element_count; k++)
            items[k] = (opal_param_choice_t){.name = type->elements[k].name, .value = k};
        enums[i] = ompi_tool_enum_make(type->name, items);
        ompi_tool_category_add(type->category, "", OMPI_TOOL_EVENT, i);
    }
}

MPI_T_enum ompi_event_type_enum(int index)
{
    return ompi_tool_enum_handle(enums[index]);
}
