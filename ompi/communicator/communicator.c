/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators as objects: predefined ones, and the begin and end of those that are made. */
#include "ompi/communicator/communicator.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "ompi/attribute/attribute.h"
#include "ompi/communicator/context.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/handle/handle.h"
#include "ompi/tool/event_point.h"
#include "ompi/tool/bound.h"
#include "ompi/topology/topology.h"

ompi_communicator_t ompi_comm_world = {.head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, MPI_COMM_WORLD)};
ompi_communicator_t ompi_comm_self = {.head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, MPI_COMM_SELF)};

ompi_communicator_t ompi_comm_processes = {
    .head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, &ompi_comm_processes)};

/* The communicators that exist from the start, by context. */
static ompi_communicator_t *const firsts[] = {&ompi_comm_world, &ompi_comm_self,
                                              &ompi_comm_processes};

static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

opal_list_t ompi_comm_all = {{&ompi_comm_all.head, &ompi_comm_all.head}};
static uint32_t highest_context;
uint32_t ompi_comm_generation;

static const ompi_comm_hooks_t *hooks;

static void introduce(ompi_communicator_t *comm, const char *name, ompi_errhandler_t *errhandler)
{
    ompi_comm_set_name(comm, name);
    ompi_errhandler_attach(&comm->head, errhandler);
}

static void release_group(ompi_group_t *group)
{
    if (group != NULL)
        ompi_object_release(&group->head);
}

static void release_groups(void)
{
    for (uint32_t i = 0; i < OPAL_COUNT_OF(firsts); i++) {
        release_group(firsts[i]->group);
        firsts[i]->group = NULL;
    }
}

int ompi_comm_init(int rank, int size, ompi_errhandler_t *errhandler)
{
    const int first[] = {0, rank, 0}, count[] = {size, 1, size};
    bool all_are_there = true;
    ompi_group_init(rank);
    for (uint32_t i = 0; i < OPAL_COUNT_OF(firsts); i++) {
        ompi_group_t *group = ompi_group_range(first[i], count[i]);
        all_are_there = all_are_there && group != NULL;
        firsts[i]->group = group;
        firsts[i]->rank = group != NULL ? group->rank : 0;
        firsts[i]->size = count[i];
        firsts[i]->local = firsts[i];
        firsts[i]->context = i;
    }
    if (!all_are_there) {
        release_groups();
        ompi_group_fini();
        return MPI_ERR_NO_MEM;
    }
    introduce(&ompi_comm_world, "MPI_COMM_WORLD", errhandler);
    introduce(&ompi_comm_self, "MPI_COMM_SELF", errhandler);
    return MPI_SUCCESS;
}

void ompi_comm_open_world(void)
{
    ompi_handle_define(&ompi_comm_world.head);
    ompi_handle_define(&ompi_comm_self.head);
}

void ompi_comm_close_world(ompi_errhandler_t *errhandler)
{
    ompi_handle_undefine(&ompi_comm_self.head);
    ompi_handle_undefine(&ompi_comm_world.head);
    ompi_errhandler_attach(&ompi_comm_self.head, errhandler);
    ompi_errhandler_attach(&ompi_comm_world.head, errhandler);
}

void ompi_comm_fini(void)
{
    ompi_errhandler_detach(&ompi_comm_self.head);
    ompi_errhandler_detach(&ompi_comm_world.head);
    release_groups();
    ompi_group_fini();
}

/* -- events of tools ----------------------------------------------------------------- */

OPAL_NOINLINE static void raise_event(ompi_event_t event, const ompi_communicator_t *comm)
{
    ompi_event_communicator_t data = {
        .context = comm->context,
        .rank = comm->rank,
        .size = comm->size,
        .remote_size = comm->remote_group != NULL ? comm->remote_group->size : 0,
    };
    ompi_event_raise(event, OMPI_EVENT_LOCKED, comm, &data);
}

/* Called for communicators that the user sees. */
static inline void raise_if_wanted(ompi_event_t event, const ompi_communicator_t *comm)
{
    if (ompi_event_is_wanted(event) && comm != &ompi_comm_processes)
        raise_event(event, comm);
}

/* -- messages ------------------------------------------------------------------------ */

static int start_messages(ompi_communicator_t *comm)
{
    int error = hooks->begin(comm);
    comm->has_begun = error == MPI_SUCCESS;
    if (comm->context > highest_context)
        highest_context = comm->context;
    return error;
}

/* False: not yet; ompi_comm_removed will be called. */
static bool stop_messages(ompi_communicator_t *comm)
{
    comm->has_begun = false;
    return hooks->end(comm);
}

int ompi_comm_start_messages(uint32_t limit, const ompi_comm_hooks_t *comm_hooks)
{
    hooks = comm_hooks;
    highest_context = ompi_comm_generation = 0;
    ompi_contexts_init(limit);
    int error = MPI_SUCCESS;
    for (uint32_t i = 0; i < OPAL_COUNT_OF(firsts) && error == MPI_SUCCESS; i++) {
        ompi_context_take(i);
        error = start_messages(firsts[i]);
        if (error == MPI_SUCCESS)
            raise_if_wanted(OMPI_EVENT_COMMUNICATOR_MADE, firsts[i]);
    }
    return error;
}

static void end_now(ompi_communicator_t *comm)
{
    ompi_attributes_forget_all(&comm->head);
    atomic_store(&comm->head.references, 1);
    ompi_object_release(&comm->head);
}

/* Ends communicators that the program did not free; their attribute callbacks are not called. */
static void end_forgotten(void)
{
    while (!opal_list_is_empty(&ompi_comm_all)) {
        ompi_communicator_t *comm =
            opal_container_of(opal_list_first(&ompi_comm_all), ompi_communicator_t, node);
        if (comm->is_ending)
            opal_progress();
        else
            end_now(comm);
    }
}

void ompi_comm_end_idle(void)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&ompi_comm_all); node != NULL; node = next) {
        ompi_communicator_t *comm = opal_container_of(node, ompi_communicator_t, node);
        next = opal_list_next(&ompi_comm_all, node);
        if (!comm->is_ending && atomic_load(&comm->requests) == 0)
            end_now(comm);
    }
}

void ompi_comm_stop_messages(void)
{
    end_forgotten();
    for (uint32_t i = OPAL_COUNT_OF(firsts); i-- > 0;) {
        if (!firsts[i]->has_begun)
            continue;
        raise_if_wanted(OMPI_EVENT_COMMUNICATOR_FREED, firsts[i]);
        stop_messages(firsts[i]);
    }
    ompi_contexts_fini();
}

ompi_communicator_t *ompi_comm_find(uint32_t context)
{
    if (context < OPAL_COUNT_OF(firsts))
        return firsts[context];
    for (opal_list_node_t *node = opal_list_first(&ompi_comm_all); node != NULL;
         node = opal_list_next(&ompi_comm_all, node)) {
        ompi_communicator_t *comm = opal_container_of(node, ompi_communicator_t, node);
        if (comm->context == context)
            return comm;
    }
    return NULL;
}

void ompi_comm_for_each(void (*each)(ompi_communicator_t *comm, void *context), void *context)
{
    each(&ompi_comm_world, context);
    each(&ompi_comm_self, context);
    for (opal_list_node_t *node = opal_list_first(&ompi_comm_all), *next; node != NULL;
         node = next) {
        next = opal_list_next(&ompi_comm_all, node);
        each(opal_container_of(node, ompi_communicator_t, node), context);
    }
}

uint32_t ompi_comm_highest_context(void)
{
    return highest_context;
}

/* -- made ones ----------------------------------------------------------------------- */

static void free_all(ompi_communicator_t *comm)
{
    if (comm->local != NULL && comm->local != comm)
        ompi_object_release(&comm->local->head);
    release_group(comm->group);
    release_group(comm->remote_group);
    /* Its messages had requests, and each of those a reference: the buffer is empty. */
    if (comm->bsend_buffer != NULL)
        hooks->destroy_buffer(comm->bsend_buffer);
    if (comm->topology != NULL)
        ompi_topology_release(comm->topology);
    opal_list_remove(&comm->node);
    if (comm->session != NULL)
        ompi_object_release(comm->session);
    free(comm->asserted_kinds);
    free(comm->parent_ranks);
    free(comm);
}

/* Only now others may get its context: what has come for it is gone. Not if its collectives have
 * ended, since messages of abandoned ones may still be under way. */
void ompi_comm_removed(ompi_communicator_t *comm)
{
    if (!comm->lends_context && comm->check_error == MPI_SUCCESS)
        ompi_context_give_back(comm->context);
    free_all(comm);
}

/* Whether it is the user's. */
static bool is_listed(const ompi_communicator_t *comm)
{
    return comm->node.next != &comm->node;
}

static void destroy(ompi_object_t *head)
{
    ompi_communicator_t *comm = opal_container_of(head, ompi_communicator_t, head);
    if (!comm->has_begun) {
        free_all(comm);
        return;
    }
    comm->is_ending = true;
    ompi_tool_unbind(head);
    if (is_listed(comm))
        raise_if_wanted(OMPI_EVENT_COMMUNICATOR_FREED, comm);
    if (stop_messages(comm))
        ompi_comm_removed(comm);
}

ompi_communicator_t *ompi_comm_create(ompi_communicator_t *parent)
{
    ompi_communicator_t *comm = calloc(1, sizeof *comm);
    if (comm == NULL)
        return NULL;
    ompi_object_init(&comm->head, OMPI_COMM, destroy);
    comm->node = (opal_list_node_t){&comm->node, &comm->node}; /* opal_list_remove needs a list */
    comm->local = comm;
    ompi_errhandler_t *errhandler = ompi_errhandler_get(&parent->head);
    if (errhandler != NULL) {
        ompi_errhandler_attach(&comm->head, errhandler);
        ompi_object_release(&errhandler->head);
    }
    ompi_comm_set_session(comm, parent->session);
    return comm;
}

void ompi_comm_set_session(ompi_communicator_t *comm, ompi_object_t *session)
{
    if (session != NULL)
        ompi_object_retain(session);
    if (comm->session != NULL)
        ompi_object_release(comm->session);
    comm->session = session;
}

void ompi_comm_set_generation(ompi_communicator_t *comm, uint32_t generation)
{
    comm->generation = generation;
    if (generation > ompi_comm_generation)
        ompi_comm_generation = generation;
}

void ompi_comm_set_groups(ompi_communicator_t *comm, ompi_group_t *group, ompi_group_t *remote)
{
    ompi_object_retain(&group->head);
    comm->group = group;
    comm->rank = group->rank;
    comm->size = group->size;
    if (remote != NULL)
        ompi_object_retain(&remote->head);
    comm->remote_group = remote;
}

/* The communicator of one side, which the user never sees. */
static int begin_local(ompi_communicator_t *comm, uint32_t context)
{
    ompi_communicator_t *local = ompi_comm_create(comm);
    if (local == NULL)
        return MPI_ERR_NO_MEM;
    ompi_comm_set_groups(local, comm->group, NULL);
    local->context = context;
    local->generation = comm->generation;
    int error = start_messages(local);
    if (error != MPI_SUCCESS) {
        ompi_object_release(&local->head);
        return error;
    }
    comm->local = local;
    return MPI_SUCCESS;
}

/* Undoes begin_local, but for the context. */
static void end_local(ompi_communicator_t *comm)
{
    comm->local->lends_context = true;
    ompi_object_release(&comm->local->head);
    comm->local = comm;
}

int ompi_comm_begin(ompi_communicator_t *comm, uint32_t context, uint32_t local_context)
{
    int error = ompi_comm_is_inter(comm) ? begin_local(comm, local_context) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    comm->context = context;
    error = start_messages(comm);
    if (error != MPI_SUCCESS) {
        if (ompi_comm_is_inter(comm))
            end_local(comm);
        return error;
    }
    ompi_comm_list(comm);
    raise_if_wanted(OMPI_EVENT_COMMUNICATOR_MADE, comm);
    return MPI_SUCCESS;
}

void ompi_comm_list(ompi_communicator_t *comm)
{
    opal_list_remove(&comm->node);
    opal_list_append(&ompi_comm_all, &comm->node);
}

/* -- names --------------------------------------------------------------------------- */

void ompi_comm_set_name(ompi_communicator_t *comm, const char *name)
{
    size_t length = strnlen(name, sizeof comm->name - 1);
    pthread_mutex_lock(&name_lock);
    memcpy(comm->name, name, length);
    comm->name[length] = 0;
    pthread_mutex_unlock(&name_lock);
}

void ompi_comm_get_name(const ompi_communicator_t *comm, char name[MPI_MAX_OBJECT_NAME])
{
    pthread_mutex_lock(&name_lock);
    strcpy(name, comm->name);
    pthread_mutex_unlock(&name_lock);
}
