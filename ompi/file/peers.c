/* SPDX-License-Identifier: BSD-3-Clause */
/* Views of other ranks, and messages between a rank and its proxies. See peers.h. */
#include "ompi/file/peers.h"

#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "ompi/datatype/wire.h"
#include "ompi/mca/pml/pml.h"

/* A rank of the file: its view, and whether it has that of this rank. */
typedef struct peer {
    ompi_view_t *view;    /* NULL: none, or no memory for it */
    uint32_t number;      /* of its view that this rank was sent; 0: none */
    uint32_t sent_number; /* of this rank's view that it was sent; 0: none */

    char *words; /* of its view, being received */
    uint64_t bytes;
    ompi_request_t *requests[2]; /* a receive and a send, under way; NULL: none */
} peer_t;

/* Of this rank's view: its words, behind the displacement. */
struct ompi_file_peers {
    int count;
    uint32_t number; /* of the view; from 1 on */
    char *words;     /* NULL: not written yet */
    uint64_t bytes;
    peer_t peers[];
};

ompi_file_peers_t *ompi_file_peers_create(int ranks)
{
    ompi_file_peers_t *peers = calloc(1, sizeof *peers + (size_t)ranks * sizeof(peer_t));
    if (peers != NULL) {
        peers->count = ranks;
        peers->number = 1;
    }
    return peers;
}

void ompi_file_peers_destroy(ompi_file_peers_t *peers)
{
    if (peers == NULL)
        return;
    for (int rank = 0; rank < peers->count; rank++)
        ompi_view_release(peers->peers[rank].view);
    free(peers->words);
    free(peers);
}

void ompi_file_peers_renew(ompi_file_peers_t *peers)
{
    free(peers->words);
    peers->words = NULL;
    peers->number++;
}

static int write_words(ompi_file_peers_t *peers, const ompi_view_t *view)
{
    size_t bytes;
    uint64_t *type = ompi_datatype_write(view->layout, &bytes);
    char *words = type != NULL ? malloc(sizeof view->disp + bytes) : NULL;
    if (words != NULL) {
        memcpy(words, &view->disp, sizeof view->disp);
        memcpy(words + sizeof view->disp, type, bytes);
        peers->words = words;
        peers->bytes = sizeof view->disp + bytes;
    }
    free(type);
    return words != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_file_peers_describe(ompi_file_peers_t *peers, const ompi_view_t *view, uint64_t *bytes,
                             uint32_t *number)
{
    int error = peers->words == NULL ? write_words(peers, view) : MPI_SUCCESS;
    *bytes = peers->bytes;
    *number = peers->number;
    return error;
}

/* -- messages -------------------------------------------------------------------------------- */

static ompi_route_t route_to(ompi_file_t *file, int rank, int tag)
{
    return (ompi_route_t){file->comm, OMPI_CONTEXT_USER, rank, tag};
}

int ompi_file_send(ompi_file_t *file, int rank, int tag, const void *bytes, size_t count,
                   ompi_request_t **request)
{
    ompi_route_t route = route_to(file, rank, tag);
    ompi_data_t data = {(void *)(uintptr_t)bytes, count, ompi_datatype_of(MPI_BYTE)};
    ompi_lock();
    int error = ompi_pml->isend(&route, &data, OMPI_SEND_STANDARD, request);
    ompi_unlock();
    return error;
}

int ompi_file_receive(ompi_file_t *file, int rank, int tag, void *bytes, size_t count,
                      ompi_request_t **request)
{
    ompi_route_t route = route_to(file, rank, tag);
    ompi_data_t data = {bytes, count, ompi_datatype_of(MPI_BYTE)};
    ompi_lock();
    int error = ompi_pml->irecv(&route, &data, request);
    ompi_unlock();
    return error;
}

/* -- views ----------------------------------------------------------------------------------- */

/* Where there is no memory for a message now, one that is under way frees some. */
static bool begin(int error)
{
    if (error != MPI_ERR_NO_MEM)
        return true;
    ompi_lock();
    opal_progress();
    ompi_unlock();
    return false;
}

void ompi_file_peers_send(ompi_file_t *file, int proxy)
{
    ompi_file_peers_t *peers = file->peers;
    peer_t *peer = &peers->peers[proxy];
    if (peer->sent_number == peers->number)
        return;
    peer->sent_number = peers->number;
    while (!begin(ompi_file_send(file, proxy, OMPI_FILE_TAG_VIEW, peers->words, peers->bytes,
                                 &peer->requests[1])))
        continue;
}

void ompi_file_peers_receive(ompi_file_t *file, int rank, const ompi_conveyor_part_t *part)
{
    peer_t *peer = &file->peers->peers[rank];
    if (peer->number == part->view_number)
        return;
    ompi_view_release(peer->view);
    peer->view = NULL;
    peer->number = part->view_number;
    peer->words = malloc(part->view_bytes);
    peer->bytes = peer->words != NULL ? part->view_bytes : 0; /* it is received nevertheless */
    while (!begin(ompi_file_receive(file, rank, OMPI_FILE_TAG_VIEW, peer->words, peer->bytes,
                                    &peer->requests[0])))
        continue;
}

static ompi_view_t *read_words(const char *words, uint64_t bytes)
{
    bool is_wrong;
    const char *reason;
    MPI_Offset disp;
    ompi_view_t *view = NULL;
    memcpy(&disp, words, sizeof disp);
    ompi_datatype_t *type = ompi_datatype_read(words + sizeof disp, bytes - sizeof disp, &is_wrong);
    if (type == NULL)
        return NULL;
    ompi_view_create(disp, ompi_datatype_of(MPI_BYTE), type, ompi_datarep_find("native"), &view,
                     &reason);
    ompi_datatype_release(type);
    return view;
}

/* The view is there, or will never be. */
static void finish(peer_t *peer)
{
    int error = MPI_ERR_OTHER;
    ompi_lock();
    ompi_request_wait(peer->requests, 2, 2);
    if (peer->requests[1] != NULL)
        ompi_request_finish(&peer->requests[1], MPI_STATUS_IGNORE);
    if (peer->requests[0] != NULL)
        error = ompi_request_finish(&peer->requests[0], MPI_STATUS_IGNORE);
    ompi_unlock();
    if (error == MPI_SUCCESS && peer->words != NULL)
        peer->view = read_words(peer->words, peer->bytes);
    free(peer->words);
    peer->words = NULL;
}

void ompi_file_peers_finish(ompi_file_t *file)
{
    for (int rank = 0; rank < file->peers->count; rank++) {
        peer_t *peer = &file->peers->peers[rank];
        if (peer->words != NULL || peer->requests[0] != NULL || peer->requests[1] != NULL)
            finish(peer);
    }
}

const ompi_view_t *ompi_file_peers_view(const ompi_file_t *file, int rank)
{
    return file->peers->peers[rank].view;
}
