/* SPDX-License-Identifier: BSD-3-Clause */
/* See board.h. What a rank has written there is checked as any message of a rank's. */
#include "tools/mpirun/board.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void board_create(job_t *first)
{
    int fd = memfd_create(OPAL_BOARD_NAME, MFD_CLOEXEC);
    if (fd < 0)
        return;
    opal_crash_board_t *board = MAP_FAILED;
    if (ftruncate(fd, sizeof *board) == 0)
        board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED) {
        close(fd);
        return;
    }
    board->magic = OPAL_BOARD_MAGIC;
    first->board = board;
    first->crash_fd = fd;
}

void board_destroy(job_t *first)
{
    if (first->board == NULL)
        return;
    munmap(first->board, sizeof *first->board);
    close(first->crash_fd);
    first->board = NULL;
    first->crash_fd = -1;
}

void board_share(job_t *job, const job_t *first)
{
    job->board = first->board;
    job->crash_fd = first->crash_fd;
}

bool board_is_owner(const job_t *job, unsigned rank)
{
    const opal_crash_board_t *board = job->board;
    return board != NULL && atomic_load(&board->claim.owner) != 0 && board->rank == rank &&
           strnlen(board->job_id, sizeof board->job_id) < sizeof board->job_id &&
           strcmp(board->job_id, job->id) == 0;
}

char *board_take_report(const job_t *job, unsigned rank)
{
    if (!board_is_owner(job, rank) || atomic_load(&job->board->claim.is_done) == 0)
        return NULL;
    size_t length = job->board->length;
    if (length == 0 || length > sizeof job->board->text)
        return NULL;
    char *text = opal_xstrndup(job->board->text, length);
    for (char *c = text; *c != 0; c++) {
        if ((unsigned char)*c < ' ' && *c != '\n')
            *c = '?';
    }
    return text;
}

char *board_take_any_report(const job_t *job)
{
    return job->board != NULL ? board_take_report(job, job->board->rank) : NULL;
}
