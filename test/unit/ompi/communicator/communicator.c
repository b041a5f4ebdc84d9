/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/communicator/communicator.h: what the argument checks ask of a communicator. */
#include "ompi/communicator/communicator.h"

#include "ompi/errhandler/errhandler.h"
#include "opal/process/process.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
    opal_process_own_size = 4;
    ompi_comm_init(2, 4, &ompi_errors_return);
}

START_TEST(ranks)
{
    const ompi_communicator_t *world = &ompi_comm_world;
    for (int rank = -10; rank < 10; rank++) {
        bool is_member = rank >= 0 && rank < 4;
        ck_assert_int_eq(ompi_comm_has_rank(world, rank), is_member);
        ck_assert_int_eq(ompi_comm_may_root(world, rank), is_member);
        ck_assert_int_eq(ompi_comm_may_send(world, rank), is_member || rank == MPI_PROC_NULL);
        ck_assert_int_eq(ompi_comm_may_receive(world, rank),
                         is_member || rank == MPI_PROC_NULL || rank == MPI_ANY_SOURCE);
        ck_assert_int_eq(ompi_comm_is_root(world, rank), rank == 2);
    }
}
END_TEST

START_TEST(self_is_one)
{
    ck_assert_int_eq(ompi_comm_self.rank, 0);
    ck_assert_int_eq(ompi_comm_self.size, 1);
}
END_TEST

static const unit_test_t tests[] = {{.test = &ranks}, {.test = &self_is_one}};

UNIT_MAIN("communicator", tests, setup);
