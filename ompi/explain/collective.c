/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of a collective of MPI_COMM_WORLD, by the bytes of its count: the components are
 * asked about calls of growing length, and where two answers differ the limit is found by
 * bisection. So the limits are those by which the components choose, wherever they come from.
 */
#include <string.h>

#include "ompi/explain/page.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"

enum { LONGEST = 1 << 30, CHANGES_MAX = 8 };

typedef struct answer {
    const char *component, *algorithm;
} answer_t;

static answer_t ask(ompi_coll_kind_t kind, size_t bytes)
{
    static char buffer; /* its address alone is used */
    bool is_reduction = kind == OMPI_ALLREDUCE || kind == OMPI_REDUCE || kind == OMPI_SCAN ||
                        kind == OMPI_REDUCE_SCATTER_BLOCK;
    ompi_coll_side_t side = {
        .buffer = &buffer, .count = (MPI_Count)bytes, .type = ompi_datatype_of(MPI_UINT8_T)};
    ompi_coll_call_t call = {
        .kind = kind,
        .comm = &ompi_comm_world,
        .send = side,
        .recv = side,
        .op = is_reduction ? ompi_handle_object(MPI_SUM) : NULL,
    };
    if (kind == OMPI_BARRIER)
        call.send = call.recv = (ompi_coll_side_t){0};
    answer_t answer = {"", NULL};
    answer.algorithm = ompi_coll_explain(&call, &answer.component);
    if (answer.algorithm == NULL)
        answer = (answer_t){"", "unknown"};
    return answer;
}

static bool is_equal(answer_t one, answer_t other)
{
    return strcmp(one.component, other.component) == 0 &&
           strcmp(one.algorithm, other.algorithm) == 0;
}

/* The least bytes above `low`, up to `high`, whose answer is another than that of `low`. */
static size_t find_limit(ompi_coll_kind_t kind, size_t low, size_t high)
{
    answer_t answer = ask(kind, low);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (is_equal(ask(kind, middle), answer))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The next limit above `low`; 0: there is none. */
static size_t next_limit(ompi_coll_kind_t kind, size_t low)
{
    answer_t answer = ask(kind, low);
    for (size_t high = 2 * low; high <= LONGEST; high *= 2) {
        if (!is_equal(ask(kind, high), answer))
            return find_limit(kind, high / 2 > low ? high / 2 : low, high);
    }
    return 0;
}

void ompi_page_collective(opal_text_t *text, ompi_coll_kind_t kind)
{
    size_t bytes = 1;
    answer_t answer = ask(kind, bytes);
    opal_text_printf(text, "%s %s", answer.component, answer.algorithm);
    for (int i = 0; kind != OMPI_BARRIER && i < CHANGES_MAX; i++) {
        bytes = next_limit(kind, bytes);
        if (bytes == 0)
            break;
        answer = ask(kind, bytes);
        opal_text_printf(text, "; %zu+ %s %s", bytes, answer.component, answer.algorithm);
    }
}
