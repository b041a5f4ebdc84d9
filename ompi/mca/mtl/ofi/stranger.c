/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of strangers. A process that reaches the endpoint of a rank can send to it. None of the
 * providers that run over sockets asks that process for a proof, and the address that a message
 * comes from is what its sender says. So every message says something that only ranks of the job
 * know, words that are made of the job's key:
 *
 *   in the tag      a word is laid over the bits of the communicator (ofi_tag_set_secret). It is
 *                   matched like the rest: what is sent without it meets no receive and no probe.
 *   in the data     of a completion a second word is above the sender's rank, if there is room (64
 *                   bits, as with all providers over sockets).
 *   in the message  of what control.c sends, a third word.
 *
 * A stranger that has guessed the first word meets a receive, which is posted again. That receive
 * then stands behind later ones of the same source and tag, and a message may meet one of those
 * instead.
 *
 * The first two cost an instruction, the third 8 bytes of a control message. Parts of long messages
 * have the first word alone, and their length is compared. SECURITY.md says what the words are
 * worth with which provider. The rank that a message claims to be of is compared with the
 * communicator's size before anything is done with it.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/process/key.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "opal/util/text.h"
#include "ompi/mca/mtl/ofi/ofi.h"

enum { WORDS = 3, DATA_BITS = 32 };

/* -- the words ----------------------------------------------------------------------- */

unsigned ofi_data_word_bits(const struct fi_info *info)
{
    bool has_room = info->domain_attr->cq_data_size * 8 >= 2 * (size_t)DATA_BITS;
    return ofi.source_is_data && has_room ? DATA_BITS : 0;
}

static void set_words(const uint64_t words[WORDS])
{
    ofi_tag_set_secret(&ofi.tags, words[0]);
    if (ofi_data_word_bits(ofi.endpoint.info) > 0) {
        ofi.data_mask = UINT64_MAX << DATA_BITS;
        ofi.data_word = words[1] & ofi.data_mask;
    }
    ofi.proof = words[2];
}

opal_status_t ofi_words_start(void)
{
    static const char purpose[] = "mtl/ofi";
    unsigned char key[OPAL_JOB_KEY_BYTES], digest[OPAL_SHA256_BYTES];
    uint64_t words[WORDS];
    opal_hmac_t hmac;
    opal_status_t status = opal_job_key(key);
    if (status != OPAL_SUCCESS)
        return status;
    opal_hmac_begin(&hmac, key, sizeof key);
    opal_hmac_add(&hmac, purpose, sizeof purpose);
    opal_hmac_end(&hmac, digest);
    memcpy(words, digest, sizeof words);
    set_words(words);
    explicit_bzero(key, sizeof key);
    explicit_bzero(digest, sizeof digest);
    explicit_bzero(words, sizeof words);
    return OPAL_SUCCESS;
}

/* -- telling them from others -------------------------------------------------------- */

void ofi_report_stranger(void)
{
    static bool is_reported;
    if (!is_reported)
        opal_log_warning(
            "mtl/ofi: a message has come by the provider %s that is of no rank of this "
            "job; it was thrown away, and so are others like it. Somebody can reach "
            "the endpoints of this job: see SECURITY.md",
            ofi.endpoint.info->fabric_attr->prov_name);
    is_reported = true;
}

/* A communicator that is not known may be one that others have made already. */
bool ofi_is_of_rank(const ompi_communicator_t *comm, uint64_t bits, uint64_t data)
{
    int source = ofi_source(bits, data);
    if (opal_unlikely((data & ofi.data_mask) != ofi.data_word))
        return false;
    if (comm == NULL)
        comm = ompi_comm_find(ofi_tag_comm(&ofi.tags, bits));
    return comm == NULL || opal_likely(ompi_comm_has_rank(comm, source));
}

ofi_peer_t *ofi_peer_from(const ompi_communicator_t *comm, int source)
{
    ofi_peer_error = MPI_ERR_OTHER;
    return ompi_comm_has_rank(comm, source) ? ofi_peer_of(comm, source) : NULL;
}
