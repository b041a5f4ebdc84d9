/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and mapping seats. */
#include "opal/node/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/node/region.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"

/* The seat of a process without a segment. */
static opal_seat_t alone = {.fd = -1};

/* -- this process -------------------------------------------------------------------------- */

static opal_status_t make_alone(unsigned rank)
{
    int fd = memfd_create("mica-seat", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)sizeof *alone.slot) == 0)
        memory = mmap(NULL, sizeof *alone.slot, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        opal_log_error("cannot make memory to share with processes of other jobs: %s",
                       strerror(errno));
        if (fd >= 0)
            close(fd);
        return OPAL_ERR_SYSTEM;
    }
    alone = (opal_seat_t){.slot = memory, .fd = fd};
    opal_slot_introduce(alone.slot, rank);
    opal_wait_join_membarrier();
    opal_wait_set_doorbell(&alone.slot->doorbell);
    opal_region_meet_peers();
    atomic_store_explicit(&alone.slot->pid, (int)getpid(), memory_order_release);
    return OPAL_SUCCESS;
}

opal_status_t opal_seat_take(unsigned rank, opal_seat_t *seat)
{
    if (opal_node_own_slot() != NULL) {
        *seat = (opal_seat_t){.slot = opal_node_own_slot(),
                              .fd = opal_node_fd(),
                              .offset = opal_node_offset(opal_node_own_slot())};
        return OPAL_SUCCESS;
    }
    opal_status_t status = alone.slot == NULL ? make_alone(rank) : OPAL_SUCCESS;
    if (status == OPAL_SUCCESS)
        *seat = alone;
    return status;
}

void opal_seat_leave(void)
{
    if (alone.slot == NULL)
        return;
    opal_wait_set_doorbell(NULL);
    atomic_store(&alone.slot->pid, -1);
    opal_region_leave_peers();
    munmap(alone.slot, sizeof *alone.slot);
    close(alone.fd);
    alone = (opal_seat_t){.fd = -1};
}

/* -- another process ----------------------------------------------------------------------- */

/* The pages of a slot. */
static void find_pages(uint64_t offset, uint64_t *begin, size_t *bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *begin = offset / page * page;
    *bytes = (size_t)(offset + sizeof(opal_node_slot_t) - *begin);
}

opal_status_t opal_seat_map(int fd, uint64_t offset, opal_seat_t *seat)
{
    struct stat status;
    uint64_t begin;
    size_t bytes;
    if (fstat(fd, &status) != 0 || offset % _Alignof(opal_node_slot_t) != 0 ||
        offset > (uint64_t)status.st_size ||
        sizeof(opal_node_slot_t) > (uint64_t)status.st_size - offset)
        return OPAL_ERR_PROTOCOL;
    find_pages(offset, &begin, &bytes);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);
    if (memory == MAP_FAILED)
        return OPAL_ERR_SYSTEM;
    *seat = (opal_seat_t){.slot = (opal_node_slot_t *)(void *)(memory + (offset - begin)),
                          .fd = -1,
                          .offset = offset};
    if (!opal_wait_has_membarrier())
        atomic_fetch_or(&seat->slot->doorbell.state, OPAL_DOORBELL_FENCED);
    return OPAL_SUCCESS;
}

void opal_seat_unmap(opal_seat_t *seat)
{
    uint64_t begin;
    size_t bytes;
    if (seat->slot == NULL)
        return;
    find_pages(seat->offset, &begin, &bytes);
    munmap((char *)seat->slot - (seat->offset - begin), bytes);
    seat->slot = NULL;
}

/* -- where this process is ----------------------------------------------------------------- */

static bool add_boot(opal_sha256_t *hash)
{
    char text[64] = "";
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (stream == NULL)
        return false;
    bool is_known = fgets(text, sizeof text, stream) != NULL;
    fclose(stream);
    opal_sha256_add(hash, text, strlen(text));
    return is_known;
}

static bool add_namespace(opal_sha256_t *hash, const char *path)
{
    struct stat space;
    if (stat(path, &space) != 0)
        return false;
    const uint64_t number[] = {space.st_dev, space.st_ino};
    opal_sha256_add(hash, number, sizeof number);
    return true;
}

bool opal_host_identity(unsigned char identity[OPAL_HOST_BYTES])
{
    opal_sha256_t hash;
    uid_t user = geteuid();
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, &user, sizeof user);
    bool is_known = add_boot(&hash) && add_namespace(&hash, "/proc/self/ns/net") &&
                    add_namespace(&hash, "/proc/self/ns/pid") &&
                    add_namespace(&hash, "/proc/self/ns/user");
    opal_sha256_end(&hash, identity);
    return is_known;
}
