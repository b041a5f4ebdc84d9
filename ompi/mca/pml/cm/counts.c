/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance variables of cm: what the network carries. What goes by shared memory within a
 * node is counted by pml/ob1. The network does not say which messages wait for their receives. */
#include "ompi/mca/pml/cm/cm.h"

/* `which`: where the counter is in the communicator. */
static uint64_t read_comm(const opal_pvar_row_t *row, void *object)
{
    const char *comm = object;
    return opal_counted((const opal_counter_t *)(const void *)(comm + row->which));
}

#define COUNTED(id, traffic, text)                                                                 \
    {.name = id,                                                                                   \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .value = &ompi_mtl_counts.traffic.messages,                                                   \
     .demand = &ompi_mtl_counting,                                                                 \
     .prose = "How many messages " text},                                                          \
    {                                                                                              \
        .name = id "_bytes", .class = OPAL_PVAR_AGGREGATE, .unit = "bytes",                        \
        .value = &ompi_mtl_counts.traffic.bytes, .demand = &ompi_mtl_counting,                     \
        .prose = "The bytes of messages that " text                                                \
    }

#define OF_COMM(id, traffic, text)                                                                 \
    {.name = "comm_" id,                                                                           \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .bind = OPAL_PVAR_OF_COMM,                                                                    \
     .read = read_comm,                                                                            \
     .demand = &ompi_mtl_counting,                                                                 \
     .which = offsetof(ompi_communicator_t, traffic.messages),                                     \
     .prose = "How many messages " text},                                                          \
    {                                                                                              \
        .name = "comm_" id "_bytes", .class = OPAL_PVAR_AGGREGATE, .bind = OPAL_PVAR_OF_COMM,      \
        .unit = "bytes", .read = read_comm, .which = offsetof(ompi_communicator_t, traffic.bytes), \
        .demand = &ompi_mtl_counting, .prose = "The bytes of messages that " text                  \
    }

const opal_pvar_row_t cm_pvars[] = {
    COUNTED("sent", sent, "were sent over the network"),
    COUNTED("received", received, "have come over the network"),
    COUNTED("rendezvous", rendezvous,
            "were announced, and sent when their receives had matched, because they were longer "
            "than what the network carries at once"),
    OF_COMM("sent", network_sent,
            "were sent over the network in this communicator, also by its collectives"),
    OF_COMM("received", network_received,
            "have come over the network in this communicator, also of its collectives"),
    {0},
};
