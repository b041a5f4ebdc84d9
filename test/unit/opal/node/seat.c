/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/node/seat: a slot that another process maps, and who may pass descriptors to whom. */
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "opal/node/fd_pass.h"
#include "opal/node/seat.h"
#include "test/unit/opal/support.h"

/* -- seats ------------------------------------------------------------------------------------- */

/* Reads the seat of its parent, and writes to it. */
static int be_other(int from)
{
    uint64_t offset;
    int fds[OPAL_PASS_FDS];
    unsigned count;
    opal_seat_t seat;
    if (opal_pass_receive(from, &offset, sizeof offset, fds, &count) != (ssize_t)sizeof offset ||
        count != 1 || opal_seat_map(fds[0], offset, &seat) != OPAL_SUCCESS)
        return 1;
    close(fds[0]);
    bool is_parent = seat.slot->rank == 7 && atomic_load(&seat.slot->pid) == getppid();
    atomic_store(&seat.slot->share_done, 5);
    opal_seat_unmap(&seat);
    return is_parent && seat.slot == NULL ? 0 : 2;
}

START_TEST(another_process_maps_a_seat)
{
    opal_seat_t seat, again;
    int ends[2], status, before = (int)unit_descriptors();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(opal_seat_take(7, &seat), OPAL_SUCCESS);
    ck_assert_int_eq(opal_seat_take(7, &again), OPAL_SUCCESS);
    ck_assert_ptr_eq(seat.slot, again.slot);
    pid_t pid = fork();
    if (pid == 0)
        _exit(be_other(ends[1]));
    ck_assert_int_eq(opal_pass_send(ends[0], &seat.offset, sizeof seat.offset, &seat.fd, 1),
                     sizeof seat.offset);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(atomic_load(&seat.slot->share_done), 5);
    close(ends[0]);
    close(ends[1]);
    opal_seat_leave();
    ck_assert_int_eq((int)unit_descriptors(), before);
}
END_TEST

START_TEST(what_does_not_lie_in_the_memory_is_no_seat)
{
    opal_seat_t seat, mapped;
    ck_assert_int_eq(opal_seat_take(0, &seat), OPAL_SUCCESS);
    ck_assert_int_eq(opal_seat_map(seat.fd, 64, &mapped), OPAL_ERR_PROTOCOL);
    ck_assert_int_eq(opal_seat_map(seat.fd, 1, &mapped), OPAL_ERR_PROTOCOL);
    ck_assert_int_eq(opal_seat_map(seat.fd, UINT64_MAX & ~UINT64_C(63), &mapped),
                     OPAL_ERR_PROTOCOL);
    ck_assert_int_eq(opal_seat_map(-1, 0, &mapped), OPAL_ERR_PROTOCOL);
    opal_seat_leave();
}
END_TEST

/* -- hosts ------------------------------------------------------------------------------------- */

START_TEST(a_namespace_is_another_host)
{
    static const int spaces[] = {CLONE_NEWNET, CLONE_NEWUSER};
    unsigned char here[OPAL_HOST_BYTES], there[OPAL_HOST_BYTES];
    int status;
    ck_assert(opal_host_identity(here));
    pid_t pid = fork();
    if (pid == 0) {
        bool is_same = opal_host_identity(there) && memcmp(here, there, sizeof here) == 0;
        if (!is_same || unshare(spaces[_i]) != 0)
            _exit(is_same ? 0 : 1); /* the system permits no namespace */
        _exit(opal_host_identity(there) && memcmp(here, there, sizeof here) == 0 ? 2 : 0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &another_process_maps_a_seat},
    {.test = &what_does_not_lie_in_the_memory_is_no_seat},
    {.test = &a_namespace_is_another_host, .repeats = 2},
};

UNIT_MAIN("node_seat", tests, NULL);
