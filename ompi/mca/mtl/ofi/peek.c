/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking the provider for a message that nobody has received yet (FI_PEEK). Its answer is a
 * completion, which has the error FI_ENOMSG if there is none.
 */
#include <sched.h>

#include "ompi/mca/mtl/ofi/ofi.h"

enum { POLLS_PER_YIELD = 64 };

static ofi_found_t *asked; /* one question at a time */
static bool is_answered;
static int failure;
static int completions; /* since it was asked, with the answer */

static void peek_completed(ofi_operation_t *operation OPAL_UNUSED,
                           const struct fi_cq_tagged_entry *entry)
{
    is_answered = true;
    *asked = (ofi_found_t){true, entry->tag, entry->data, entry->len, false};
}

static void peek_failed(ofi_operation_t *operation OPAL_UNUSED, const struct fi_cq_err_entry *error)
{
    is_answered = true;
    failure = error->err == FI_ENOMSG ? 0 : error->err;
}

static const ofi_operation_kind_t peek_kind = {
    .completed = peek_completed,
    .failed = peek_failed,
};

bool ofi_is_peeking(void)
{
    return asked != NULL;
}

/* The provider may need this core for its answer. */
static void wait_for_answer(void)
{
    for (unsigned polls = 1; !is_answered; polls++) {
        int count = ofi_progress();
        completions += count;
        if (count == 0 && polls % POLLS_PER_YIELD == 0)
            sched_yield();
    }
}

int ofi_peek(ofi_operation_t *operation, fi_addr_t from, const ofi_tag_pattern_t *pattern,
             uint64_t flags, ofi_found_t *found)
{
    struct fi_msg_tagged question = {
        .addr = from,
        .tag = pattern->bits,
        .ignore = pattern->ignore,
        .context = &operation->context,
    };
    ssize_t result;
    operation->kind = &peek_kind;
    asked = found;
    ofi_receives_are_held = true;
    *found = (ofi_found_t){0};
    is_answered = false;
    failure = completions = 0;
    while ((result = fi_trecvmsg(ofi.endpoint.ep, &question, FI_PEEK | flags)) == -FI_EAGAIN)
        completions += ofi_progress();
    if (result == 0) {
        ofi_operation_posted(operation);
        wait_for_answer();
    } else if (result != -FI_ENOMSG) {
        failure = (int)-result;
    }
    found->may_be_taken = ofi.endpoint.quirks.peeks_taken && completions > 1;
    asked = NULL;
    ofi_receives_are_held = false;
    if (failure != 0)
        ofi_log_failure("a probe for a message of", OFI_ANY_PROCESS, failure, NULL);
    return failure;
}
