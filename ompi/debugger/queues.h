/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library for debuggers keeps for an image and a process. queues.c has the functions of
 * mqs.h; read.c reads the process.
 */
#ifndef OMPI_DEBUGGER_QUEUES_H
#define OMPI_DEBUGGER_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "ompi/debugger/mqs.h"
#include "ompi/mca/pml/queues.h"

/* The results of our own. */
enum {
    QUEUES_NO_MEMORY = mqs_first_user_code,
    QUEUES_UNREADABLE, /* the debugger cannot read an address */
    QUEUES_OTHER_LIBRARY,
    QUEUES_BROKEN_LIST,
    QUEUES_ERROR_END,
};

struct _mqs_image_info {
    const mqs_image_callbacks *callbacks;
};

/* A communicator's messages of one context: what the debugger is shown as a communicator. */
typedef struct queues_comm {
    mqs_communicator shown;
    mqs_taddr_t address, group, matcher;
    uint32_t wire_context; /* of its messages */
    uint32_t context;
} queues_comm_t;

struct _mqs_process_info {
    const mqs_process_callbacks *callbacks;
    mqs_process *process;
    ompi_pml_queues_t table;
    int32_t world_size;
    queues_comm_t *comms;
    unsigned comm_count, comm_now;
    mqs_pending_operation *operations;
    unsigned operation_count, operation_now;
};

/* The debugger's memory; NULL: it has none left. Grows an array to `count` items. */
void *queues_grow(void *old, unsigned count, size_t item_bytes);
void queues_free(void *memory);

/* -- read.c: all return mqs_ok or an error ---------------------------------------------------- */

int queues_read(mqs_process_info *info, mqs_taddr_t address, void *to, size_t bytes);

/* Reads the table of the process; mqs_no_information: there is none now. */
int queues_read_table(mqs_process_info *info, mqs_taddr_t variable);

/* Fills info->comms. */
int queues_read_comms(mqs_process_info *info);

/* Stores the rank in MPI_COMM_WORLD of each rank of a communicator, or MQS_INVALID_PROCESS. */
int queues_read_group(mqs_process_info *info, const queues_comm_t *comm, int *ranks);

/* Fills info->operations. */
int queues_read_operations(mqs_process_info *info, const queues_comm_t *comm, mqs_op_class class);

#endif
