/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address record of a process of another job, from somebody who says anything. Whatever it is:
 * it is refused, or what was read of it is written and read again as the same; and the process
 * that it describes can be added, found and forgotten.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/process.h"
#include "opal/process/process_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static const unsigned node_of[2];
static const opal_pmi_job_t job = {
    .size = 2, .local_size = 2, .node_of = node_of, .node_count = 1, .job_id = "own"};

static void begin(void)
{
    if (opal_process_own_job != NULL)
        return;
    require(opal_process_start(&job) == OPAL_SUCCESS, "there is a table");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static opal_process_record_t record, again;
    static unsigned char written[OPAL_RECORD_MOST_BYTES];
    opal_process_t *process;
    begin();
    if (!opal_record_decode(&record, bytes, length) ||
        (strcmp(record.job_id, job.job_id) == 0 && record.rank >= job.size))
        return 0; /* it is refused, which is told */
    opal_status_t status = opal_process_add(bytes, length, &process);
    require(record.rank < record.size && memchr(record.job_id, 0, sizeof record.job_id) != NULL,
            "it describes a process");
    require(opal_record_decode(&again, written, opal_record_encode(&record, written)),
            "it is written as a record");
    require(again.rank == record.rank && strcmp(again.job_id, record.job_id) == 0 &&
                memcmp(again.job, record.job, sizeof again.job) == 0 &&
                memcmp(again.key, record.key, sizeof again.key) == 0 &&
                memcmp(again.modex, record.modex, sizeof again.modex) == 0,
            "it is read again as the same");
    require(status == OPAL_SUCCESS, "it is added");
    opal_process_name_t name = opal_process_name(process->index);
    require(opal_process_find(&name) == process && process->rank == record.rank, "it is found");
    opal_process_release(process->index);
    require(process->index < 2 || opal_process_find(&name) == NULL, "it is forgotten");
    return 0;
}
