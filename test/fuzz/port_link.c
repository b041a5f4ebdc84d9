/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes over the socket of a meeting, from somebody who says anything. The first byte is the
 * role of this end; the other bytes are fed to a link, and then as they are taken for the name of a
 * port, for the list of processes that a root sends, and for a record in it. Nobody gets further
 * than to be asked for the key, and what is taken for a name is written and read again as the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/comm_create/remote_processes.h"
#include "ompi/dynamic/records.h"
#include "ompi/errhandler/error_code.h"
#include "opal/process/port_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void try_link(opal_link_role_t role, const uint8_t *bytes, size_t length)
{
    static const unsigned char key[OPAL_PORT_KEY_BYTES] = {1}, nonce[OPAL_LINK_NONCE_BYTES] = {2};
    const unsigned char *output;
    opal_link_t link;
    opal_link_begin(&link, role, key, nonce);
    for (size_t at = 0; at < length && opal_link_wants(&link) > 0;) {
        size_t wants = opal_link_wants(&link), part = length - at < wants ? length - at : wants;
        require(wants <= OPAL_LINK_ROOM_BYTES, "a link wants what it has room for");
        opal_link_feed(&link, bytes + at, part);
        at += part;
        size_t sent = opal_link_output(&link, &output);
        opal_link_sent(&link, sent);
    }
    require(link.state != OPAL_LINK_PROVEN && !link.has_message, "there is no proof of the key");
    require(link.state != OPAL_LINK_OPEN || role == OPAL_LINK_JOINER, "nobody gets in");
    require(link.state != OPAL_LINK_FAILED || link.trouble != NULL, "a failure has a reason");
    opal_link_end(&link);
}

static void try_name(const uint8_t *bytes, size_t length)
{
    char text[2 * OPAL_PORT_NAME_BYTES] = "", again[OPAL_PORT_NAME_BYTES];
    opal_port_name_t name, other;
    memcpy(text, bytes, length < sizeof text ? length : sizeof text - 1);
    if (!opal_port_name_parse(&name, text))
        return;
    opal_port_name_print(&name, again);
    require(opal_port_name_parse(&other, again) && memcmp(&name, &other, sizeof name) == 0,
            "a name is read again as the same");
}

static void try_records(const uint8_t *bytes, size_t length)
{
    ompi_side_head_t head;
    const unsigned char *at = bytes, *record;
    size_t record_bytes;
    if (!ompi_records_check(&head, bytes, length))
        return;
    require(ompi_error_is_standard(head.error), "an error is one of the standard's classes");
    at += OMPI_SIDE_HEAD_BYTES;
    for (int i = 0; i < head.count; i++) {
        at = ompi_record_next(at, &record, &record_bytes);
        require(record + record_bytes == at && at <= bytes + length, "records are in the message");
    }
    require(at == bytes + length, "all of it are records");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return 0;
    try_link((opal_link_role_t)(bytes[0] % 3), bytes + 1, length - 1);
    try_name(bytes, length);
    try_records(bytes, length);
    return 0;
}
