/* SPDX-License-Identifier: BSD-3-Clause */
/* The page: gathering and printing. See explain.h. */
#include "ompi/explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "ompi/explain/counts.h"
#include "ompi/explain/page.h"
#include "ompi/explain/sheet.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

static bool has_started;

/* Of a rank but rank 0, while it counts: rank 0 has ended its counting, and asks for the counts. A
 * rank that sent them unasked would be counted by rank 0. NULL: none. */
static ompi_request_t *question;

/* -- messages --------------------------------------------------------------------------------- */

/* The tag is that of messages of ranks that leave: errors of those are not reported. A rank sends
 * its facts before it sends anything else there. */
static ompi_route_t route_to(int rank)
{
    return (ompi_route_t){&ompi_comm_world, OMPI_CONTEXT_COLLECTIVE, rank,
                          ompi_tags_at(OMPI_TAGS_LEAVE, 0)};
}

static void send_text(const opal_text_t *text)
{
    ompi_route_t route = route_to(0);
    ompi_data_t data = {(void *)(uintptr_t)opal_text_string(text), text->length,
                        ompi_datatype_of(MPI_BYTE)};
    ompi_lock();
    ompi_pml->send(&route, &data, OMPI_SEND_STANDARD);
    ompi_unlock();
}

static void ask(int rank)
{
    ompi_route_t route = route_to(rank);
    ompi_data_t data = {NULL, 0, ompi_datatype_of(MPI_BYTE)};
    ompi_lock();
    ompi_pml->send(&route, &data, OMPI_SEND_STANDARD);
    ompi_unlock();
}

static void expect_question(void)
{
    ompi_route_t route = route_to(0);
    ompi_data_t data = {NULL, 0, ompi_datatype_of(MPI_BYTE)};
    ompi_lock();
    if (ompi_pml->irecv(&route, &data, &question) != MPI_SUCCESS)
        question = NULL;
    ompi_unlock();
}

/* False: rank 0 has failed. */
static bool await_question(void)
{
    if (question == NULL)
        return false;
    ompi_lock();
    ompi_request_wait_alone(question);
    int error = ompi_request_finish(&question, MPI_STATUS_IGNORE);
    ompi_unlock();
    return error == MPI_SUCCESS;
}

/* NULL: the rank has failed. */
static char *receive_text(int rank)
{
    MPI_Status status;
    ompi_route_t route = route_to(rank);
    char *text = NULL;
    ompi_lock();
    if (ompi_pml->probe(&route, NULL, &status) == MPI_SUCCESS) {
        size_t length = ompi_status_bytes(&status);
        text = opal_xcalloc(length + 1, 1);
        ompi_data_t data = {text, length, ompi_datatype_of(MPI_BYTE)};
        if (ompi_pml->recv(&route, &data, &status) != MPI_SUCCESS) {
            free(text);
            text = NULL;
        }
    }
    ompi_unlock();
    return text;
}

/* Ranks with what is taken, and ranks that have failed. */
typedef struct gathering {
    ompi_sheet_t sheet;
    ompi_counts_t sums;
    ompi_sheet_t missing; /* one line, whose variant has these ranks */
} gathering_t;

typedef void take_fn_t(gathering_t *gathering, unsigned rank, const char *text);

static void gather(gathering_t *gathering, const opal_text_t *own, take_fn_t *take)
{
    const opal_pmi_job_t *job = opal_job();
    take(gathering, 0, opal_text_string(own));
    for (unsigned rank = 1; rank < job->size; rank++) {
        char *text = receive_text((int)rank);
        if (text != NULL)
            take(gathering, rank, text);
        else
            ompi_sheet_merge(&gathering->missing, rank, "\t\t\n");
        free(text);
    }
}

static void add_missing(const gathering_t *gathering, opal_text_t *page)
{
    if (gathering->missing.line_count == 0)
        return;
    const ompi_sheet_variant_t *ranks = &gathering->missing.lines[0].variants[0];
    opal_text_add(page, "; failed or left: ");
    ompi_sheet_print_ranks(page, ranks->ranges, ranks->range_count);
}

/* One write, so that lines of ranks do not come in between. */
static void print(const opal_text_t *page)
{
    fflush(stderr);
    fwrite(opal_text_string(page), 1, page->length, stderr);
    fflush(stderr);
}

/* -- the page --------------------------------------------------------------------------------- */

static void meet(void)
{
    ompi_coll_call_t barrier = {.kind = OMPI_BARRIER, .comm = &ompi_comm_world};
    ompi_lock();
    ompi_coll_run(&barrier);
    ompi_request_look(); /* finds out whether the node has a core for each rank: all are there */
    ompi_unlock();
}

static void take_facts(gathering_t *gathering, unsigned rank, const char *text)
{
    ompi_sheet_merge(&gathering->sheet, rank, text);
}

static void print_choices(const opal_text_t *facts)
{
    gathering_t gathering = {0};
    opal_text_t page = {0};
    gather(&gathering, facts, take_facts);
    opal_text_printf(&page, "mpi_explain: the choices of this job, as rank 0 has gathered them");
    add_missing(&gathering, &page);
    opal_text_add(&page, "\n");
    ompi_sheet_print(&gathering.sheet, &page);
    print(&page);
    opal_text_free(&page);
    ompi_sheet_free(&gathering.sheet);
    ompi_sheet_free(&gathering.missing);
}

void ompi_explain_start(const char *thread_level)
{
    void *state;
    opal_text_t facts = {0};
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    meet();
    ompi_page_choices(&facts, thread_level);
    ompi_page_reasons(&facts);
    if (opal_job()->rank == 0)
        print_choices(&facts);
    else
        send_text(&facts);
    opal_text_free(&facts);
    ompi_pml->flush(); /* nobody polls in the fence */
    ompi_counts_demand();
    ompi_counts_begin();
    if (opal_job()->rank != 0)
        expect_question();
    pmi->fence(state); /* a failure was reported, and is the end of the job */
    has_started = true;
}

/* -- the counts ------------------------------------------------------------------------------- */

static void take_counts(gathering_t *gathering, unsigned rank OPAL_UNUSED, const char *text)
{
    ompi_counts_add(&gathering->sums, text);
    gathering->sheet.ranks++;
}

static void print_counts(const opal_text_t *facts)
{
    gathering_t gathering = {0};
    opal_text_t page = {0};
    for (unsigned rank = 1; rank < opal_job()->size; rank++)
        ask((int)rank);
    gather(&gathering, facts, take_counts);
    opal_text_printf(&page, "mpi_explain: counts from MPI_Init to MPI_Finalize, sums of %u rank%s",
                     gathering.sheet.ranks, gathering.sheet.ranks == 1 ? "" : "s");
    add_missing(&gathering, &page);
    opal_text_add(&page, "\n");
    ompi_counts_print(&gathering.sums, &page);
    print(&page);
    opal_text_free(&page);
    ompi_counts_free(&gathering.sums);
    ompi_sheet_free(&gathering.missing);
}

/* The variable that has counted the question, if that is here already; NULL: none has. Nothing
 * polls between this and the reading of the variables. */
static char *counted_question(void)
{
    if (question == NULL || !ompi_request_is_done(question))
        return NULL;
    char *transport = ompi_page_transport(0);
    bool is_network = strcmp(transport, "network") == 0;
    char *name = is_network ? opal_xstrdup("pml_cm_received")
                            : opal_xprintf("pml_ob1_received_%s", transport);
    free(transport);
    return name;
}

void ompi_explain_finish(void)
{
    opal_text_t facts = {0};
    if (!has_started)
        return;
    has_started = false;
    char *counted = counted_question();
    ompi_counts_end(&facts, counted);
    free(counted);
    if (opal_job()->rank == 0)
        print_counts(&facts);
    else if (await_question())
        send_text(&facts);
    opal_text_free(&facts);
}
