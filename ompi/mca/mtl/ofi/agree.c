/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' cards: handing out the own one, comparing it with that of the next rank, and looking
 * up where a peer is. See card.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/runtime/cards.h"
#include "opal/runtime/init.h"
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/card.h"
#include "ompi/mca/mtl/ofi/ofi.h"

static void **cards; /* the bytes, by rank; NULL: not read */

/* -- putting ------------------------------------------------------------------------------------
 */

static void find_host(char *host, size_t bytes)
{
    if (gethostname(host, bytes - 1) != 0)
        snprintf(host, bytes, "localhost");
    host[bytes - 1] = 0;
    host[strcspn(host, ".")] = 0;
}

/* Returns when all ranks have. */
static opal_status_t exchange_cards(const ofi_choice_t *choice)
{
    char host[64];
    const char *fabric = choice->info->fabric_attr->name;
    size_t length;
    find_host(host, sizeof host);
    ofi_card_t card = {.mode = choice->tags.mode,
                       .comm_bits = choice->tags.comm_bits,
                       .address_format = choice->info->addr_format,
                       .version = fi_version(),
                       .word_bits = ofi_data_word_bits(choice->info),
                       .host = host,
                       .provider = choice->info->fabric_attr->prov_name,
                       .fabric = fabric != NULL ? fabric : "",
                       .address = ofi.address,
                       .address_bytes = ofi.address_bytes};
    unsigned char *bytes = ofi_card_encode(&card, &length);
    opal_status_t status = opal_cards_exchange(OPAL_NODE_CARD_MTL, bytes, length);
    free(bytes);
    return status;
}

/* -- getting ------------------------------------------------------------------------------------
 */

typedef enum found {
    FOUND_CARD,
    FOUND_NONE,    /* it has put none */
    FOUND_FAILURE, /* which is reported */
} found_t;

static found_t get_card(unsigned rank, ofi_card_t *card)
{
    void *bytes;
    size_t length;
    opal_status_t status = opal_cards_get(OPAL_NODE_CARD_MTL, opal_process(rank), &bytes, &length);
    if (status == OPAL_ERR_NOT_FOUND)
        return FOUND_NONE;
    if (status != OPAL_SUCCESS)
        return FOUND_FAILURE;
    if (!ofi_card_decode(card, bytes, length)) {
        opal_log_error("mtl/ofi: what rank %u says of its address is not understood: it runs "
                       "another version of Mica",
                       rank);
        free(bytes);
        return FOUND_FAILURE;
    }
    if (cards == NULL)
        cards = opal_xcalloc(opal_job()->size, sizeof *cards);
    free(cards[rank]);
    cards[rank] = bytes;
    return FOUND_CARD;
}

static void complain_none(unsigned rank, const ofi_card_t *mine, unsigned other)
{
    opal_log_error(
        "mtl/ofi: rank %u on %s sends by pml = cm and the provider %s, and rank %u "
        "(node %u) does not; all ranks need the same: set pml to cm or to ob1 for all of "
        "them, and see ompi_info --why mtl there",
        rank, mine->host, mine->provider, other, opal_job()->node_of[other]);
}

/* Compares this rank with the next one. */
static opal_status_t compare(void)
{
    const opal_pmi_job_t *job = opal_job();
    ofi_card_t mine, others;
    opal_text_t message = {0};
    unsigned other = (job->rank + 1) % job->size;
    if (other == job->rank)
        return OPAL_SUCCESS;
    if (get_card(job->rank, &mine) != FOUND_CARD)
        return OPAL_ERR_SYSTEM;
    found_t found = get_card(other, &others);
    if (found == FOUND_NONE)
        complain_none(job->rank, &mine, other);
    if (found != FOUND_CARD)
        return OPAL_ERR_BAD_PARAM;
    if (ofi_cards_agree(&mine, job->rank, &others, other, &message))
        return OPAL_SUCCESS;
    /* Two ranks are each other's next: one speaks. */
    if (job->size > 2 || job->rank == 0)
        opal_log_error("mtl/ofi: %s", opal_text_string(&message));
    opal_text_free(&message);
    return OPAL_ERR_BAD_PARAM;
}

/* -- for the others of this component -----------------------------------------------------------
 */

opal_status_t ofi_agree(const ofi_choice_t *choice)
{
    opal_status_t status = exchange_cards(choice);
    return status == OPAL_SUCCESS ? compare() : status;
}

bool ofi_address_of(unsigned process, const void **address, size_t *bytes)
{
    ofi_card_t card;
    found_t found = get_card(process, &card);
    if (found == FOUND_NONE)
        opal_log_error("mtl/ofi: rank %u has told no address", process);
    if (found != FOUND_CARD)
        return false;
    *address = card.address;
    *bytes = card.address_bytes;
    return true;
}

void ofi_cards_forget(void)
{
    for (unsigned i = 0; cards != NULL && i < opal_job()->size; i++)
        free(cards[i]);
    free(cards);
    cards = NULL;
    opal_cards_forget(OPAL_NODE_CARD_MTL);
}
