/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI_process_mapping, the launcher's answer to "which ranks share a node". */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "opal/mca/pmi/wire/wire.h"

static bool take_text(const char **cursor, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*cursor, text, length) != 0)
        return false;
    *cursor += length;
    return true;
}

static bool take_number(const char **cursor, unsigned *number)
{
    unsigned value = 0;
    if (!isdigit((unsigned char)**cursor))
        return false;
    for (; isdigit((unsigned char)**cursor); (*cursor)++) {
        if (value > (INT_MAX - 9) / 10)
            return false;
        value = value * 10 + (unsigned)(**cursor - '0');
    }
    *number = value;
    return true;
}

/* "(first node,nodes,ranks per node)" */
static bool take_block(const char **cursor, unsigned *first, unsigned *nodes, unsigned *ranks)
{
    return take_text(cursor, "(") && take_number(cursor, first) && take_text(cursor, ",") &&
           take_number(cursor, nodes) && take_text(cursor, ",") && take_number(cursor, ranks) &&
           take_text(cursor, ")");
}

/* Takes every block once, filling node_of from rank on; false: there is none, or a bad one. */
static bool take_blocks(const char **cursor, unsigned size, unsigned *node_of, unsigned *rank)
{
    unsigned first, nodes, ranks, blocks = 0;
    while (take_text(cursor, ",")) {
        if (!take_block(cursor, &first, &nodes, &ranks) || nodes == 0 || ranks == 0)
            return false;
        for (unsigned n = 0; n < nodes && *rank < size; n++) {
            for (unsigned r = 0; r < ranks && *rank < size; r++)
                node_of[(*rank)++] = first + n;
        }
        blocks++;
    }
    return blocks > 0 && strcmp(*cursor, ")") == 0;
}

bool wire_parse_mapping(const char *text, unsigned size, unsigned *node_of, unsigned *node_count)
{
    unsigned rank = 0;
    const char *blocks = text;
    if (!take_text(&blocks, "(vector"))
        return false;
    /* Hydra describes one round over the hosts; more ranks go round again. */
    do {
        const char *cursor = blocks;
        if (!take_blocks(&cursor, size, node_of, &rank))
            return false;
    } while (rank < size);

    *node_count = 0;
    for (rank = 0; rank < size; rank++) {
        if (node_of[rank] >= size)
            return false;
        if (node_of[rank] >= *node_count)
            *node_count = node_of[rank] + 1;
    }
    return true;
}
