/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums: see p2p.h. `inout = in op inout` overwrites its right operand; so a value takes in a higher
 * operand by being reduced into it, and moves there. What commutes can be kept at home.
 */
#include "ompi/mca/coll/p2p/p2p.h"

void p2p_sum_init(p2p_sum_t *sum, ompi_schedule_t *schedule, ompi_data_t contribution, void *home)
{
    *sum = (p2p_sum_t){
        .schedule = schedule,
        .value = contribution,
        .home = home,
        .value_is_foreign = contribution.buffer != home,
        .is_commutative = ompi_op_is_commutative(schedule->op),
    };
}

static void *place(p2p_sum_t *sum, void **kept)
{
    if (*kept == NULL)
        *kept = ompi_schedule_elements(sum->schedule, sum->value.count, sum->value.type);
    return *kept;
}

void *p2p_sum_room(p2p_sum_t *sum)
{
    bool is_home_taken = sum->home != NULL && sum->value.buffer == sum->home;
    return place(sum, is_home_taken ? &sum->spare : &sum->home);
}

/* operand = value op operand: the value is there now. */
static void move_into(p2p_sum_t *sum, void *operand)
{
    ompi_data_t target = ompi_data(operand, sum->value.count, sum->value.type);
    ompi_schedule_reduce(sum->schedule, sum->value.buffer, target);
    if (operand != sum->home)
        sum->spare = operand;
    sum->value = target;
    sum->value_is_foreign = false;
}

void p2p_sum_lower(p2p_sum_t *sum, void *operand)
{
    if (sum->value_is_foreign && sum->is_commutative) {
        move_into(sum, operand);
        return;
    }
    if (sum->value_is_foreign) {
        /* The value needs a place of its own, and the operand may be at home. */
        void *other = place(sum, operand == sum->home ? &sum->spare : &sum->home);
        ompi_data_t copy = ompi_data(other, sum->value.count, sum->value.type);
        ompi_schedule_copy(sum->schedule, sum->value, copy);
        sum->value = copy;
        sum->value_is_foreign = false;
    }
    ompi_schedule_reduce(sum->schedule, operand, sum->value);
}

void p2p_sum_higher(p2p_sum_t *sum, void *operand)
{
    if (sum->is_commutative && !sum->value_is_foreign)
        ompi_schedule_reduce(sum->schedule, operand, sum->value);
    else
        move_into(sum, operand);
}

void p2p_sum_finish(p2p_sum_t *sum)
{
    if (sum->value.buffer == sum->home)
        return;
    ompi_data_t home = ompi_data(sum->home, sum->value.count, sum->value.type);
    ompi_schedule_copy(sum->schedule, sum->value, home);
    sum->value = home;
}
