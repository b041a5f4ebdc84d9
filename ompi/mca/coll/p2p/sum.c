/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partial results: see p2p.h. `inout = in op inout` overwrites its right operand. So a value takes
 * in a higher operand by being reduced into it, and is there from then on. If the operator
 * commutes, the value can stay at home.
 */
#include "ompi/mca/coll/p2p/p2p.h"

void p2p_sum_init(p2p_sum_t *sum, ompi_schedule_t *schedule, ompi_data_t contribution,
                  p2p_buffer_t home)
{
    *sum = (p2p_sum_t){
        .schedule = schedule,
        .value = contribution,
        .home = home,
        .value_is_foreign = !p2p_buffer_is(home, contribution.buffer),
        .is_commutative = ompi_op_is_commutative(schedule->op),
    };
}

static void *memory_of(p2p_sum_t *sum, p2p_buffer_t *memory)
{
    if (!memory->is_there)
        *memory =
            p2p_buffer(ompi_schedule_elements(sum->schedule, sum->value.count, sum->value.type));
    return memory->buffer;
}

void *p2p_sum_room(p2p_sum_t *sum)
{
    bool is_home_taken = p2p_buffer_is(sum->home, sum->value.buffer);
    return memory_of(sum, is_home_taken ? &sum->spare : &sum->home);
}

/* operand = value op operand; the value is where the operand was. */
static void move_into(p2p_sum_t *sum, void *operand)
{
    ompi_data_t target = ompi_data(operand, sum->value.count, sum->value.type);
    ompi_schedule_reduce(sum->schedule, sum->value.buffer, target);
    if (!p2p_buffer_is(sum->home, operand))
        sum->spare = p2p_buffer(operand);
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
        /* The value needs a buffer of its own, and the operand may be at home. */
        bool is_home_taken = p2p_buffer_is(sum->home, operand);
        void *other = memory_of(sum, is_home_taken ? &sum->spare : &sum->home);
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
    if (p2p_buffer_is(sum->home, sum->value.buffer))
        return;
    ompi_data_t home = ompi_data(sum->home.buffer, sum->value.count, sum->value.type);
    ompi_schedule_copy(sum->schedule, sum->value, home);
    sum->value = home;
}
