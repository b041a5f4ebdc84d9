/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/nearest.c: near names are found, and a suggestion is no riddle of its own. */
#include "test/unit/opal/support.h"

static const char *const names[] = {
    "wire", "singleton", "sock", "sm", "self", "ptmalloc2", "smheap", "cm", "ob1",
};

static const struct {
    const char *mistyped, *nearest;
} cases[] = {
    {"wire", "wire"},           /* no mistake */
    {"WIRE", "wire"},           /* letter case */
    {"wir", "wire"},            /* a letter is missing */
    {"wirre", "wire"},          /* a letter too many */
    {"wise", "wire"},           /* another letter */
    {"wrie", "wire"},           /* neighbours swapped */
    {"singelton", "singleton"}, /* in a longer name */
    {"single", "singleton"},    /* cut short */
    {"ptmaloc", "ptmalloc2"},   /* two mistakes */
    {"ob", "ob1"},              /* a short one */
    {"slef", "self"},           /* swapped again */
    {"ucx", NULL},              /* two of three letters would be wrong in cm */
    {"tcp", NULL},              /* likewise */
    {"x", NULL},                /* nothing is right */
    {"ofi", NULL},              /* */
    {"portals4", NULL},         /* */
    {"", NULL},                 /* */
};

START_TEST(nearest_of_the_components)
{
    const char *got = opal_nearest_name(cases[_i].mistyped, names, OPAL_COUNT_OF(names));
    ck_assert_pstr_eq(got, cases[_i].nearest);
}
END_TEST

START_TEST(hyphen_is_underscore)
{
    const char *const parameters[] = {"pmi_wire_timeout"};
    ck_assert_pstr_eq(opal_nearest_name("pmi-wire-timeout", parameters, 1), "pmi_wire_timeout");
    ck_assert_pstr_eq(opal_nearest_name("PMI-Wire_tmeout", parameters, 1), "pmi_wire_timeout");
}
END_TEST

START_TEST(the_first_of_equally_near_ones)
{
    const char *const candidates[] = {"node1", "node2", "node3"};
    ck_assert_pstr_eq(opal_nearest_name("node4", candidates, 3), "node1");
}
END_TEST

START_TEST(nobody_to_suggest)
{
    ck_assert_ptr_null(opal_nearest_name("wire", names, 0));
}
END_TEST

START_TEST(very_long_names)
{
    char longest[128], longer[129], near[128];
    memset(longest, 'a', sizeof longest);
    memset(longer, 'a', sizeof longer);
    longest[127] = longer[128] = 0;
    strcpy(near, longest);
    near[60] = 'b';

    const char *const candidates[] = {longer, longest};
    ck_assert_ptr_null(opal_nearest_name(longer, candidates, 2));
    ck_assert_ptr_eq(opal_nearest_name(near, candidates, 2), longest);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nearest_of_the_components, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &hyphen_is_underscore},
    {.test = &the_first_of_equally_near_ones},
    {.test = &nobody_to_suggest},
    {.test = &very_long_names},
};

UNIT_MAIN("nearest", tests, NULL);
