/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/wire/mapping.c: what launchers say about nodes, and what is no such thing. */
#include "opal/mca/pmi/wire/wire.h"

#include "test/unit/opal/support.h"

enum { MOST = 16 };

static const struct {
    const char *text;
    unsigned size;
    const char *nodes; /* a digit for each rank; NULL: refused */
} mappings[] = {
    {"(vector,(0,1,1))", 1, "0"},
    {"(vector,(0,1,4))", 4, "0000"},
    {"(vector,(0,1,8))", 4, "0000"},
    {"(vector,(0,2,2))", 4, "0011"},
    {"(vector,(0,4,1))", 4, "0123"},
    {"(vector,(0,1,2),(1,1,1))", 3, "001"},
    {"(vector,(1,1,2),(0,1,2))", 4, "1100"},
    {"(vector,(0,2,1),(0,2,1))", 4, "0101"},
    {"(vector,(0,2,1))", 5, "01010"}, /* Hydra's round goes on */
    {"(vector,(0,1,2),(1,1,1))", 7, "0010010"},
    {"(vector,(0,3,4))", 3, "000"},
    {"(vector,(0,1000000,1000000))", 2, "00"},
    {"", 1, NULL},
    {"(vector)", 1, NULL},
    {"(vector,)", 1, NULL},
    {"(vector,())", 1, NULL},
    {"(vector,(0,1))", 1, NULL},
    {"(vector,(0,1,1)", 1, NULL},
    {"(vector,(0,1,1)))", 1, NULL},
    {"(vector,(0,1,1)) ", 1, NULL},
    {"(vector, (0,1,1))", 1, NULL},
    {"(vector,(0,0,1))", 1, NULL},
    {"(vector,(0,1,0))", 1, NULL},
    {"(vector,(-1,1,1))", 1, NULL},
    {"(vector,(+0,1,1))", 1, NULL},
    {"(vector,(1,1,1))", 1, NULL}, /* node 1 of a job that can have one */
    {"(vector,(0,1,1),(7,1,1))", 2, NULL},
    {"(vector,(4294967295,1,1))", 1, NULL},
    {"(vector,(0,99999999999999999999,1))", 1, NULL},
    {"(vector,(0,1,1),x)", 2, NULL},
    {"(vector,(0,1,1),(0,0,0))", 1, NULL}, /* broken behind what is needed */
    {"(list,(0,1,1))", 1, NULL},
};

START_TEST(mapping)
{
    unsigned node_of[MOST], count = 99;
    char nodes[MOST + 1] = "";
    bool good = wire_parse_mapping(mappings[_i].text, mappings[_i].size, node_of, &count);
    ck_assert_int_eq(good, mappings[_i].nodes != NULL);
    if (!good)
        return;
    unsigned highest = 0;
    for (unsigned rank = 0; rank < mappings[_i].size; rank++) {
        nodes[rank] = (char)('0' + node_of[rank]);
        highest = node_of[rank] > highest ? node_of[rank] : highest;
    }
    ck_assert_str_eq(nodes, mappings[_i].nodes);
    ck_assert_uint_eq(count, highest + 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &mapping, .repeats = OPAL_COUNT_OF(mappings)},
};

UNIT_MAIN("mapping", tests, NULL);
