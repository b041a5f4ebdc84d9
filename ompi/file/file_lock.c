/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the node, and which locks an access takes. See file_lock.h. */
#include "ompi/file/file_lock.h"

#include <stdlib.h>
#include <string.h>

#include "opal/node/shared.h"
#include "opal/process/job.h"
#include "opal/process/process.h"

enum { TABLES = 16 };

static ompi_range_locks_t locks[TABLES];
static ompi_range_table_t *private_tables;

static bool has_ended(uint32_t owner)
{
    return opal_node_deaths() != 0 && opal_node_peer_is_dead(owner - 1);
}

bool ompi_file_locks_start(void)
{
    size_t bytes = TABLES * sizeof(ompi_range_table_t);
    if (locks[0].table != NULL)
        return true;
    ompi_range_table_t *tables = NULL;
    uint32_t owner = 1;
    if (opal_node_base() != NULL) {
        tables = opal_shared_find(&opal_node_slot(0)->file_locks, bytes);
        owner += (uint32_t)opal_node_local_rank(opal_process_self()->index);
    }
    bool is_private = tables == NULL;
    if (is_private && posix_memalign((void **)&private_tables, 64, bytes) == 0)
        tables = memset(private_tables, 0, bytes);
    for (size_t i = 0; i < TABLES && tables != NULL; i++)
        locks[i] =
            (ompi_range_locks_t){&tables[i], is_private ? 1 : owner, is_private ? NULL : has_ended};
    return tables != NULL;
}

void ompi_file_locks_stop(void)
{
    memset(locks, 0, sizeof locks);
    free(private_tables);
    private_tables = NULL;
}

/* Two files may have one table: then ranges of one wait for equal ranges of the other. */
static const ompi_range_locks_t *locks_of(const ompi_file_t *file)
{
    return &locks[file->io->identity * UINT64_C(0x9e3779b97f4a7c15) >> 60];
}

_Static_assert(TABLES == 1 << (64 - 60), "the shift of locks_of");

/* Whether this process shares the tables with all of its job, and with all ranks of the file, which
 * may be of several jobs. */
static bool is_job_on_node(const ompi_file_t *file)
{
    return opal_job()->local_size == opal_job()->size && file->area->nodes == 1;
}

void ompi_file_probe_locks(ompi_file_t *file)
{
    if (!is_job_on_node(file) && file->io->ops->probe_locks != NULL)
        file->io->ops->probe_locks(file->io);
}

bool ompi_file_may_sieve_writes(const ompi_file_t *file)
{
    bool is_asked = file->hints.ds_write == OMPI_HINT_ENABLE;
    return file->io->can_read && (is_job_on_node(file) || (is_asked && file->io->can_lock));
}

/* Other nodes are locked out, where the system can do it, in atomic mode, and by all writes if any
 * may be sieved. */
static bool needs_system(const ompi_file_t *file, ompi_file_lock_kind_t kind)
{
    return file->io->can_lock && !is_job_on_node(file) &&
           (kind == OMPI_FILE_LOCK_ALL || ompi_file_may_sieve_writes(file));
}

void ompi_file_lock(ompi_access_t *access, ompi_file_lock_kind_t kind, ompi_run_t range,
                    ompi_file_hold_t *hold)
{
    const ompi_file_t *file = access->file;
    bool is_exclusive = access->is_write && kind != OMPI_FILE_LOCK_PIECE;
    if (range.bytes == 0 ||
        (kind != OMPI_FILE_LOCK_ALL && (!access->is_write || access->is_atomic)))
        return;
    /* The file system's lock is one of the process, not of the thread: of two holds that overlap
     * the first to end would end both. So there are none, though readers alone could share. */
    bool has_system = needs_system(file, kind);
    hold->locks = locks_of(file);
    hold->entry =
        ompi_range_lock(hold->locks, range.offset, range.bytes, is_exclusive || has_system);
    hold->range = range;
    if (!has_system)
        return;
    int error = file->io->ops->lock(file->io, range.offset, range.bytes, is_exclusive);
    if (error == 0)
        hold->system = file->io;
    else
        ompi_access_fail_system(access, error, range.offset);
}

void ompi_file_unlock(ompi_file_hold_t *hold)
{
    if (hold->locks == NULL)
        return;
    if (hold->system != NULL)
        hold->system->ops->unlock(hold->system, hold->range.offset, hold->range.bytes);
    ompi_range_unlock(hold->locks, hold->entry);
}
