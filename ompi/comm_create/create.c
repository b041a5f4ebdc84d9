/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplicates, parts, and communicators of groups. See create.h; inter.c has the rest. */
#include "ompi/comm_create/create.h"

#include <stdlib.h>

#include "opal/util/text.h"
#include "ompi/attribute/attribute.h"
#include "ompi/comm_create/creation.h"
#include "ompi/topology/topology.h"

/* -- duplicates ---------------------------------------------------------------------- */

/* All of the duplicate but its context; *error is that of an attribute's callback. NULL: no memory,
 * which *error says too. */
static ompi_communicator_t *copy_of(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                                    int *error)
{
    ompi_communicator_t *copy = ompi_comm_create(comm);
    *error = MPI_ERR_NO_MEM;
    if (copy == NULL)
        return NULL;
    ompi_comm_set_groups(copy, comm->group, comm->remote_group);
    if (comm->topology != NULL)
        ompi_topology_retain(comm->topology);
    copy->topology = comm->topology;
    if (has_info)
        ompi_comm_set_hints(copy, info);
    else
        ompi_comm_copy_hints(comm, copy);
    *error = ompi_attributes_copy_all(&comm->head, &copy->head);
    return copy;
}

/* A process that cannot go on takes part nevertheless, so that the others learn of its error. */
static void begin_copy(ompi_comm_creation_t *creation, ompi_communicator_t *comm,
                       ompi_communicator_t *copy, int error)
{
    ompi_comm_creation_init(creation, comm, copy);
    creation->error = error;
    ompi_lock();
    ompi_comm_creation_of_all(creation);
    ompi_unlock();
}

int ompi_comm_dup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                  ompi_communicator_t **result)
{
    int error;
    ompi_comm_creation_t creation;
    ompi_communicator_t *copy = copy_of(comm, has_info, info, &error);
    begin_copy(&creation, comm, copy, error);
    return ompi_comm_creation_run(&creation, result);
}

static void destroy_idup(ompi_object_t *head)
{
    free(opal_container_of(head, ompi_comm_creation_t, request.head));
}

int ompi_comm_idup(ompi_communicator_t *comm, bool has_info, ompi_info_t *info,
                   ompi_communicator_t **result, ompi_request_t **request)
{
    static const ompi_request_ops_t ops = {.describe = ompi_comm_creation_describe};
    int error;
    ompi_comm_creation_t *creation = opal_xmalloc(sizeof *creation);
    ompi_communicator_t *copy = copy_of(comm, has_info, info, &error);
    if (error != MPI_SUCCESS && copy != NULL) {
        ompi_object_release(&copy->head); /* it has not begun, so without the lock */
        copy = NULL;
    }
    begin_copy(creation, comm, copy, error);

    ompi_request_t *own = &creation->request;
    ompi_lock();
    ompi_request_init(own, &ops, comm, destroy_idup);
    if (copy != NULL)
        ompi_comm_list(copy);
    ompi_comm_creation_begin(creation);
    if (error != MPI_SUCCESS) {
        ompi_request_free(&own); /* the others will hear of it */
    } else {
        *result = copy;
        *request = own;
    }
    ompi_unlock();
    return error;
}

/* -- parts --------------------------------------------------------------------------- */

/* The item of each process in the exchange. */
typedef struct split_item {
    int color, key;
} split_item_t;

typedef struct candidate {
    int key, rank;
} candidate_t;

static int compare_candidates(const void *first, const void *second)
{
    const candidate_t *a = first, *b = second;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The members of a group that gave the color, sorted by key; NULL: no memory. */
static ompi_group_t *group_of_color(const ompi_group_t *group, const split_item_t *items, int color)
{
    size_t count = 0;
    ompi_group_builder_t builder = {.session = group->session};
    candidate_t *found = malloc((size_t)group->size * sizeof *found);
    if (found == NULL)
        return NULL;
    for (int rank = 0; rank < group->size; rank++) {
        if (items[rank].color == color)
            found[count++] = (candidate_t){items[rank].key, rank};
    }
    qsort(found, count, sizeof *found, compare_candidates);
    for (size_t i = 0; i < count; i++)
        ompi_group_builder_add(&builder, ompi_group_process(group, found[i].rank));
    free(found);
    return ompi_group_builder_finish(&builder);
}

static int form_part(ompi_comm_creation_t *creation, bool *is_left)
{
    const ompi_communicator_t *parent = creation->parent;
    const split_item_t *items = (const split_item_t *)creation->agreement.exchange.items;
    int color = items[parent->rank].color;
    if (creation->comm == NULL)
        return MPI_SUCCESS;
    ompi_group_t *group = group_of_color(parent->group, items, color), *remote = NULL;
    if (ompi_comm_is_inter(parent))
        remote = group_of_color(parent->remote_group, items + parent->size, color);
    int error = MPI_ERR_NO_MEM;
    if (group != NULL && (remote != NULL || !ompi_comm_is_inter(parent))) {
        error = MPI_SUCCESS;
        *is_left = remote == &ompi_group_empty;
        ompi_comm_set_groups(creation->comm, group, remote);
    }
    if (group != NULL)
        ompi_object_release(&group->head);
    if (remote != NULL)
        ompi_object_release(&remote->head);
    return error;
}

int ompi_comm_split(ompi_communicator_t *comm, int color, int key, const char *resource,
                    ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    ompi_communicator_t *part = NULL;
    split_item_t *items = calloc((size_t)comm->size + (size_t)ompi_comm_peers(comm), sizeof *items);
    if (color != MPI_UNDEFINED)
        part = ompi_comm_create(comm);
    ompi_comm_creation_init(&creation, comm, part);
    if (color != MPI_UNDEFINED && part == NULL)
        creation.error = MPI_ERR_NO_MEM;
    if (part != NULL)
        part->resource = resource;
    creation.form = form_part;
    creation.agreement.is_bystander = color == MPI_UNDEFINED;
    creation.agreement.exchange.item_bytes = sizeof *items;
    creation.agreement.exchange.items = (unsigned char *)items;
    if (items != NULL) /* if NULL, the exchange reports that to the others */
        items[comm->rank] = (split_item_t){color, key};
    ompi_lock();
    ompi_comm_creation_of_all(&creation);
    ompi_unlock();
    int error = ompi_comm_creation_run(&creation, result);
    free(items);
    return error;
}

/* -- of groups ----------------------------------------------------------------------- */

/* All processes of comm take part, also those without a group, so that all learn of an error. */
static void begin_among(ompi_comm_creation_t *creation, ompi_communicator_t *comm,
                        ompi_group_t *group)
{
    ompi_communicator_t *made = group != NULL ? ompi_comm_create(comm) : NULL;
    ompi_comm_creation_init(creation, comm, made);
    creation->agreement.is_bystander = group == NULL;
    if (made != NULL)
        ompi_comm_set_groups(made, group, NULL);
    else if (group != NULL)
        creation->error = MPI_ERR_NO_MEM;
    ompi_lock();
    ompi_comm_creation_of_all(creation);
    ompi_unlock();
}

int ompi_comm_create_of(ompi_communicator_t *comm, ompi_group_t *group,
                        ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    bool is_in = group->rank != MPI_UNDEFINED;
    if (ompi_comm_is_inter(comm))
        return ompi_comm_split(comm, is_in ? 0 : MPI_UNDEFINED, is_in ? group->rank : 0, NULL,
                               result);
    begin_among(&creation, comm, is_in ? group : NULL);
    return ompi_comm_creation_run(&creation, result);
}

int ompi_comm_create_with(ompi_communicator_t *comm, ompi_group_t *group,
                          struct ompi_topology *topology, uint64_t alike,
                          ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    begin_among(&creation, comm, group);
    if (group != NULL && topology == NULL)
        creation.error = MPI_ERR_NO_MEM;
    if (creation.comm != NULL)
        creation.comm->topology = topology;
    else if (topology != NULL)
        ompi_topology_release(topology);
    creation.agreement.exchange.ballot.least = creation.agreement.exchange.ballot.most = alike;
    return ompi_comm_creation_run(&creation, result);
}

int ompi_comm_create_group(ompi_communicator_t *comm, ompi_group_t *group, int tag,
                           ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    *result = NULL;
    if (group->rank == MPI_UNDEFINED)
        return MPI_SUCCESS;
    ompi_communicator_t *made = ompi_comm_create(comm);
    ompi_comm_creation_init(&creation, comm, made);
    if (made != NULL)
        ompi_comm_set_groups(made, group, NULL);
    else
        creation.error = MPI_ERR_NO_MEM;
    ompi_comm_creation_of_group(&creation, comm, group, ompi_exchange_user_tag(tag));
    return ompi_comm_creation_run(&creation, result);
}

int ompi_comm_create_from_group(ompi_group_t *group, const char *stringtag, ompi_info_t *info,
                                ompi_errhandler_t *errhandler, ompi_communicator_t **result)
{
    ompi_comm_creation_t creation;
    *result = NULL;
    if (group->rank == MPI_UNDEFINED)
        return MPI_SUCCESS;
    ompi_communicator_t *comm = ompi_comm_create(&ompi_comm_processes);
    ompi_comm_creation_init(&creation, &ompi_comm_processes, comm);
    if (comm != NULL) {
        ompi_errhandler_attach(&comm->head, errhandler);
        ompi_comm_set_hints(comm, info);
        ompi_comm_set_session(comm, group->session);
        ompi_comm_set_groups(comm, group, NULL);
    } else {
        creation.error = MPI_ERR_NO_MEM;
    }
    ompi_comm_creation_of_group(&creation, &ompi_comm_processes, group,
                                ompi_comm_creation_set_string(&creation, stringtag));
    return ompi_comm_creation_run(&creation, result);
}
