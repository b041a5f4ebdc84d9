/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the queues of a process by the table that it exports (ompi/mca/pml/queues.h). The process
 * may have been stopped anywhere, so nothing that is read is trusted: a list that does not come
 * back to its head is an error.
 */
#include "ompi/debugger/queues.h"

#include <stdio.h>
#include <string.h>

#include "ompi/api/mpi.h"

/* More nodes than these has no list that is whole. */
enum { MAX_NODES = 1 << 22 };

int queues_read(mqs_process_info *info, mqs_taddr_t address, void *to, size_t bytes)
{
    const mqs_process_callbacks *callbacks = info->callbacks;
    return callbacks->mqs_fetch_data_fp(info->process, address, (int)bytes, to) == mqs_ok
               ? mqs_ok
               : QUEUES_UNREADABLE;
}

/* Fields of any structure. The first error of several reads is kept. */
static mqs_taddr_t pointer_at(mqs_process_info *info, mqs_taddr_t address, int *error)
{
    mqs_taddr_t value = 0;
    if (*error == mqs_ok)
        *error = queues_read(info, address, &value, sizeof value);
    return value;
}

static int32_t int_at(mqs_process_info *info, mqs_taddr_t address, int *error)
{
    int32_t value = 0;
    if (*error == mqs_ok)
        *error = queues_read(info, address, &value, sizeof value);
    return value;
}

int queues_read_table(mqs_process_info *info, mqs_taddr_t variable)
{
    ompi_pml_queues_t *table = &info->table;
    int error = mqs_ok;
    mqs_taddr_t address = pointer_at(info, variable, &error);
    if (error != mqs_ok || address == 0)
        return error != mqs_ok ? error : mqs_no_information;
    error = queues_read(info, address, table, sizeof *table);
    if (error != mqs_ok)
        return error;
    if (table->version != OMPI_PML_QUEUES_VERSION || table->bytes != sizeof *table)
        return QUEUES_OTHER_LIBRARY;
    info->world_size = int_at(info, (mqs_taddr_t)table->world + table->comm_size, &error);
    return error;
}

/* Calls `visit` for each node of a list, until it returns an error. */
typedef int visit_fn_t(mqs_process_info *info, mqs_taddr_t node, void *context);

static int visit_list(mqs_process_info *info, mqs_taddr_t head, visit_fn_t *visit, void *context)
{
    int error = mqs_ok;
    mqs_taddr_t node = pointer_at(info, head + info->table.node_next, &error);
    for (unsigned count = 0; error == mqs_ok && node != head; count++) {
        if (count == MAX_NODES || node == 0)
            return QUEUES_BROKEN_LIST;
        error = visit(info, node, context);
        node = pointer_at(info, node + info->table.node_next, &error);
    }
    return error;
}

/* -- communicators ------------------------------------------------------------------------------
 */

static int add_comm(mqs_process_info *info, mqs_taddr_t address, uint32_t context)
{
    const ompi_pml_queues_t *table = &info->table;
    int error = mqs_ok;
    mqs_taddr_t own = pointer_at(info, address + table->comm_pml, &error);
    if (own == 0) /* no messages yet, or the program uses sessions alone */
        return error;
    mqs_taddr_t remote = pointer_at(info, address + table->comm_remote_group, &error);
    queues_comm_t comm = {
        .address = address,
        .context = context,
        .group = remote != 0 ? remote : pointer_at(info, address + table->comm_group, &error),
        .matcher = own + table->pml_matchers + (mqs_taddr_t)context * table->matcher_bytes,
        .wire_context =
            (uint32_t)int_at(info, address + table->comm_context, &error) * table->context_count +
            context,
        .shown = {.unique_id = address + context},
    };
    comm.shown.local_rank = int_at(info, address + table->comm_rank, &error);
    comm.shown.size = int_at(info, comm.group + table->group_size, &error);
    char name[sizeof comm.shown.name] = {0};
    if (error == mqs_ok)
        error = queues_read(info, address + table->comm_name, name, sizeof name - 1);
    if (error != mqs_ok)
        return error;
    if (name[0] == 0)
        snprintf(name, sizeof name, "communicator %#lx", address);
    snprintf(comm.shown.name, sizeof comm.shown.name, "%.48s%s", name,
             context == table->context_collective ? " (collective)" : "");
    queues_comm_t *comms = queues_grow(info->comms, info->comm_count, sizeof *comms);
    if (comms == NULL)
        return QUEUES_NO_MEMORY;
    info->comms = comms;
    comms[info->comm_count++] = comm;
    return mqs_ok;
}

static int add_contexts(mqs_process_info *info, mqs_taddr_t address)
{
    int error = add_comm(info, address, info->table.context_user);
    return error != mqs_ok ? error : add_comm(info, address, info->table.context_collective);
}

static int visit_comm(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    (void)context;
    return add_contexts(info, node - info->table.comm_node);
}

int queues_read_comms(mqs_process_info *info)
{
    int error = add_contexts(info, (mqs_taddr_t)info->table.world);
    if (error == mqs_ok)
        error = add_contexts(info, (mqs_taddr_t)info->table.self);
    return error != mqs_ok
               ? error
               : visit_list(info, (mqs_taddr_t)info->table.communicators, visit_comm, NULL);
}

/* The rank in the world of a rank of a group. */
static int world_rank(mqs_process_info *info, const queues_comm_t *comm, int rank, int *error)
{
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t list = pointer_at(info, comm->group + table->group_processes, error);
    if (rank < 0 || rank >= comm->shown.size)
        return MQS_INVALID_PROCESS;
    int process = list != 0 ? int_at(info, list + (mqs_taddr_t)rank * sizeof(int), error)
                            : int_at(info, comm->group + table->group_first, error) +
                                  rank * int_at(info, comm->group + table->group_stride, error);
    return *error == mqs_ok && process >= 0 && process < info->world_size ? process
                                                                          : MQS_INVALID_PROCESS;
}

int queues_read_group(mqs_process_info *info, const queues_comm_t *comm, int *ranks)
{
    int error = mqs_ok;
    for (int i = 0; error == mqs_ok && i < comm->shown.size; i++)
        ranks[i] = world_rank(info, comm, i, &error);
    return error;
}

/* -- operations ---------------------------------------------------------------------------------
 */

static int add_operation(mqs_process_info *info, const mqs_pending_operation *operation)
{
    mqs_pending_operation *all =
        queues_grow(info->operations, info->operation_count, sizeof *operation);
    if (all == NULL)
        return QUEUES_NO_MEMORY;
    info->operations = all;
    all[info->operation_count++] = *operation;
    return mqs_ok;
}

/* An operation with a peer. */
static mqs_pending_operation describe(mqs_process_info *info, const queues_comm_t *comm, int rank,
                                      int tag, int *error)
{
    return (mqs_pending_operation){
        .status = mqs_st_pending,
        .desired_local_rank = rank == MPI_ANY_SOURCE ? -1 : rank,
        .desired_global_rank = world_rank(info, comm, rank, error),
        .tag_wild = tag == MPI_ANY_TAG,
        .desired_tag = tag,
    };
}

/* What is known of a message is also what a matched operation actually has. */
static void set_actual(mqs_pending_operation *operation)
{
    operation->actual_local_rank = operation->desired_local_rank;
    operation->actual_global_rank = operation->desired_global_rank;
    operation->actual_tag = operation->desired_tag;
    operation->actual_length = operation->desired_length;
}

static int add_receive(mqs_process_info *info, const queues_comm_t *comm, mqs_taddr_t posted,
                       bool is_matched)
{
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t receive = posted - table->receive_posted;
    int error = mqs_ok;
    int source = int_at(info, posted + table->posted_source, &error);
    int tag = int_at(info, posted + table->posted_tag, &error);
    mqs_pending_operation operation = describe(info, comm, source, tag, &error);
    operation.buffer = pointer_at(info, receive + table->receive_buffer, &error);
    operation.desired_length =
        (mqs_tword_t)pointer_at(info, receive + table->receive_capacity, &error);
    if (is_matched) {
        operation.status = mqs_st_matched;
        set_actual(&operation);
        snprintf(operation.extra_text[0], sizeof operation.extra_text[0],
                 "matched; its data is coming");
    }
    return error != mqs_ok ? error : add_operation(info, &operation);
}

static int visit_posted(mqs_process_info *info, mqs_taddr_t node, void *comm)
{
    return add_receive(info, comm, node - info->table.posted_node, false);
}

static int visit_receiving(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    const queues_comm_t *comm = context;
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t posted = node - table->posted_node, receive = posted - table->receive_posted;
    int error = mqs_ok;
    bool is_its = pointer_at(info, receive + table->receive_comm, &error) == comm->address &&
                  (uint32_t)int_at(info, receive + table->receive_context, &error) == comm->context;
    return error == mqs_ok && is_its ? add_receive(info, comm, posted, true) : error;
}

static int visit_send(mqs_process_info *info, mqs_taddr_t node, void *context, const char *state)
{
    const queues_comm_t *comm = context;
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t send = node - table->send_node;
    int error = mqs_ok;
    if (pointer_at(info, send + table->send_comm, &error) != comm->address ||
        (uint32_t)int_at(info, send + table->send_wire_context, &error) != comm->wire_context)
        return error;
    int dest = int_at(info, send + table->send_dest, &error);
    int tag = int_at(info, send + table->send_tag, &error);
    mqs_pending_operation operation = describe(info, comm, dest, tag, &error);
    operation.buffer = pointer_at(info, send + table->send_buffer, &error);
    operation.desired_length = (mqs_tword_t)pointer_at(info, send + table->send_bytes, &error);
    set_actual(&operation);
    snprintf(operation.extra_text[0], sizeof operation.extra_text[0], "%s", state);
    return error != mqs_ok ? error : add_operation(info, &operation);
}

static int visit_awaiting(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    return visit_send(info, node, context, "the receiver has not answered");
}

/* What waits for room may be a control message. */
static int visit_deferred(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t pushes[OMPI_PML_QUEUES_PUSHES];
    int error = queues_read(info, (mqs_taddr_t)table->pushes, pushes, sizeof pushes);
    mqs_taddr_t push = pointer_at(info, node - table->send_node + table->send_push, &error);
    for (unsigned i = 0; error == mqs_ok && i < OMPI_PML_QUEUES_PUSHES; i++) {
        if (push == pushes[i])
            return visit_send(info, node, context, "it waits for room at the receiver");
    }
    return error;
}

static int visit_message(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t message = node - table->message_node, frame = message + table->message_frame;
    int error = mqs_ok;
    int source = int_at(info, message + table->message_source, &error);
    int tag = int_at(info, message + table->message_tag, &error);
    uint32_t kind = (uint32_t)int_at(info, message + table->message_kind, &error);
    mqs_taddr_t length = pointer_at(info, message + table->message_length, &error), head = 0;
    mqs_pending_operation operation = describe(info, context, source, tag, &error);
    if (kind == table->kind_eager)
        head = table->eager_head;
    else if (kind == table->kind_eager_sync)
        head = table->eager_sync_head;
    else
        length = pointer_at(
            info, frame + (kind == table->kind_stream ? table->stream_total : table->rts_total),
            &error);
    operation.desired_length = (mqs_tword_t)(length - head);
    if (head > 0) {
        operation.system_buffer = 1;
        operation.buffer = frame + head;
    }
    operation.status = mqs_st_matched; /* an arrived message is complete in what is known of it */
    set_actual(&operation);
    snprintf(operation.extra_text[0], sizeof operation.extra_text[0], "%s",
             head > 0 ? "its data is here" : "its data is at the sender");
    return error != mqs_ok ? error : add_operation(info, &operation);
}

/* The posted receives of a matcher: the only one, or those in bins. */
static int read_posted(mqs_process_info *info, queues_comm_t *comm)
{
    const ompi_pml_queues_t *table = &info->table;
    int error = mqs_ok;
    mqs_taddr_t only = pointer_at(info, comm->matcher + table->matcher_only, &error);
    mqs_taddr_t heads = pointer_at(info, comm->matcher + table->matcher_heads, &error);
    mqs_taddr_t count = pointer_at(info, comm->matcher + table->matcher_head_count, &error);
    if (error == mqs_ok && only != 0)
        error = add_receive(info, comm, only, false);
    for (mqs_taddr_t i = 0; error == mqs_ok && heads != 0 && i < count; i++) {
        mqs_taddr_t bin = pointer_at(info, heads + i * sizeof bin, &error);
        for (unsigned n = 0; error == mqs_ok && bin != 0; n++) {
            if (n == MAX_NODES)
                return QUEUES_BROKEN_LIST;
            error = visit_list(info, bin + table->bin_posted, visit_posted, comm);
            bin = pointer_at(info, bin + table->bin_next, &error);
        }
    }
    return error;
}

typedef struct peer_visit {
    queues_comm_t *comm;
    mqs_op_class class;
} peer_visit_t;

static int visit_peer(mqs_process_info *info, mqs_taddr_t node, void *context)
{
    const peer_visit_t *what = context;
    const ompi_pml_queues_t *table = &info->table;
    mqs_taddr_t peer = node - table->peer_all;
    if (what->class == mqs_pending_receives)
        return visit_list(info, peer + table->peer_receiving, visit_receiving, what->comm);
    int error = visit_list(info, peer + table->peer_awaiting, visit_awaiting, what->comm);
    if (error == mqs_ok)
        error = visit_list(info, peer + table->peer_frames, visit_deferred, what->comm);
    return error != mqs_ok
               ? error
               : visit_list(info, peer + table->peer_streams, visit_deferred, what->comm);
}

int queues_read_operations(mqs_process_info *info, const queues_comm_t *of, mqs_op_class class)
{
    queues_comm_t comm = *of;
    peer_visit_t what = {.comm = &comm, .class = class};
    if (class == mqs_unexpected_messages)
        return visit_list(info, comm.matcher + info->table.matcher_unexpected, visit_message,
                          &comm);
    int error = class == mqs_pending_receives ? read_posted(info, &comm) : mqs_ok;
    return error != mqs_ok ? error
                           : visit_list(info, (mqs_taddr_t)info->table.peers, visit_peer, &what);
}
