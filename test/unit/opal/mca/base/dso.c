/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/base/dso.c: component files, good and broken (dso_fixture.c), found through
 * mca_base_component_path. A test links those that it wants into its folder.
 */
#include "opal/mca/base/dso.h"

#include <sys/stat.h>

#include "test/unit/opal/mca/base/fake.h"
#include "test/unit/opal/support.h"

/* Every test has a folder of its own for DSOs, and begins with the static components out. */
static char folder[300];

static void setup(void)
{
    fake_setup();
    snprintf(folder, sizeof folder, "%s/dso-XXXXXX", unit_folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fake_set("mca_base_component_path", folder);
    fake_alpha.usable = fake_beta.usable = false;
    fake_gamma.priority = 1;
    unsetenv("UNIT_LOADED");
    unsetenv("UNIT_UNLOADED");
}

/* Makes the fixture mca_fake_<name>.so appear in the folder, as mca_<as>.so. */
static void place_as(const char *name, const char *as)
{
    char *target = opal_xprintf("%s/mca_fake_%s.so", UNIT_FIXTURES, name);
    char *link = opal_xprintf("%s/mca_%s.so", folder, as);
    ck_assert_msg(access(target, R_OK) == 0, "%s is not built", target);
    ck_assert_int_eq(symlink(target, link), 0);
    free(target);
    free(link);
}

static void install(const char *name)
{
    char *as = opal_xprintf("fake_%s", name);
    place_as(name, as);
    free(as);
}

static const char *mark(const char *variable)
{
    return getenv(variable) != NULL ? getenv(variable) : "";
}

static const opal_candidate_t *candidate(const char *name)
{
    for (size_t i = 0; i < fake_framework.candidate_count; i++) {
        if (strcmp(fake_framework.candidates[i].name, name) == 0)
            return &fake_framework.candidates[i];
    }
    return NULL;
}

START_TEST(a_good_one_is_used)
{
    install("good");
    fake_set("fake_good_level", "8");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open good:open");
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    const opal_candidate_t *best = opal_framework_best(&fake_framework);
    ck_assert_str_eq(best->name, "good");
    ck_assert_ptr_nonnull(strstr(best->path, "/mca_fake_good.so"));
    ck_assert_int_eq(*(int *)best->answer.state, 8);
    const fake_ops_t *ops = best->answer.ops;
    ck_assert_int_eq(ops->work(), 42);
    ck_assert_uint_eq(unit_findings(), 0);
    ck_assert_str_eq(mark("UNIT_UNLOADED"), "");
    fake_end();
    ck_assert_str_eq(mark("UNIT_UNLOADED"), "good ");
}
END_TEST

static const struct {
    const char *name, *finding;
} broken[] = {
    {"abi", "it was built for another version of the component interface"},
    {"base", "it was linked to another copy of libopen-pal"},
    {"framework", "it says that it belongs to another framework"},
    {"name", "it has another name inside than outside"},
    {"symbol", "it has no symbol mca_fake_symbol_component"},
    {"unresolved", "it cannot be loaded: undefined symbol: nobody_has_this"},
    {"query", "it has no query, which is required"},
    {"slot", "it lacks the required operation work"},
};

START_TEST(a_broken_one_is_skipped)
{
    install("good");
    install(broken[_i].name);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(opal_framework_best(&fake_framework)->name, "good");
    ck_assert_uint_eq(unit_findings(), 1);
    unit_finding(0, OPAL_WARNING, broken[_i].name);
    unit_finding(0, OPAL_WARNING, "of fake (");
    unit_finding(0, OPAL_WARNING, ") is skipped: it");
    unit_finding(0, OPAL_WARNING, broken[_i].finding);
    ck_assert_str_eq(opal_candidate_state_name(candidate(broken[_i].name)->state), "broken");
    unit_finding(0, OPAL_WARNING, candidate(broken[_i].name)->answer.reason);
    fake_end();
    /* Whatever was mapped is gone. */
    ck_assert_uint_eq(strlen(mark("UNIT_LOADED")), strlen(mark("UNIT_UNLOADED")));
}
END_TEST

/* A file that is no library, a link to nowhere, a folder. */
START_TEST(what_is_no_library_is_skipped)
{
    char *path = opal_xprintf("%s/mca_fake_%s.so", folder, _i == 0 ? "text" : "odd");
    if (_i == 0)
        fclose(fopen(path, "w"));
    else if (_i == 1)
        ck_assert_int_eq(symlink("nowhere", path), 0);
    else
        ck_assert_int_eq(mkdir(path, 0700), 0);
    free(path);
    install("good");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(opal_framework_best(&fake_framework)->name, "good");
    unit_finding(0, OPAL_WARNING, "is skipped: it cannot be loaded: ");
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

static const struct {
    const char *list, *loaded;
} lists[] = {
    {"^good", "other "}, {"other,gamma", "other "}, {"gamma", ""},
    {"^good,other", ""}, {"good", "good "},         {"", "good other "},
};

START_TEST(excluded_ones_are_not_loaded)
{
    install("good");
    install("other");
    fake_set("fake", lists[_i].list);
    fake_set("fake_good_level", "8"); /* nobody knows this parameter, but it is no error */
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(mark("UNIT_LOADED"), lists[_i].loaded);
    ck_assert_uint_eq(opal_param_diagnose_unknown(opal_framework_owns_unseen), 0);
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

START_TEST(a_tool_loads_excluded_ones_but_does_not_open_them)
{
    install("good");
    fake_set("fake", "^good");
    fake_set("fake_good_level", "8");
    opal_framework_load_excluded();
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(mark("UNIT_LOADED"), "good ");
    ck_assert_str_eq(opal_candidate_state_name(candidate("good")->state), "excluded");
    ck_assert_str_eq(candidate("good")->answer.reason, "excluded by fake = ^good (environment)");
    ck_assert(!candidate("good")->opened);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    fake_end();
}
END_TEST

/* Registered, and forgotten; not those that are excluded, nor those of a framework on demand. */
static const struct {
    const char *list, *loaded;
    bool is_on_demand;
} listed[] = {{"", "good other ", false}, {"^good", "other ", false}, {"", "", true}};

static void look_for_good(const opal_param_info_t *info, void *is_known)
{
    if (strcmp(info->full_name, "fake_good_level") == 0)
        *(bool *)is_known = true;
}

START_TEST(a_list_of_parameters_loads_them_but_does_not_open_them)
{
    bool is_known = false;
    install("good");
    install("other");
    fake_framework.is_on_demand = listed[_i].is_on_demand;
    fake_set("fake", listed[_i].list);
    opal_framework_register(&fake_framework);
    ck_assert_str_eq(mark("UNIT_LOADED"), listed[_i].loaded);
    ck_assert_str_eq(mark("UNIT_UNLOADED"), "");
    for (size_t i = 0; i < fake_framework.candidate_count; i++)
        ck_assert(!fake_framework.candidates[i].opened);
    opal_param_visit(look_for_good, &is_known);
    ck_assert(is_known == (strstr(listed[_i].loaded, "good") != NULL));
    fake_end();
    ck_assert_uint_eq(strlen(mark("UNIT_UNLOADED")), strlen(listed[_i].loaded));
}
END_TEST

START_TEST(unknown_names_are_reported_with_the_files)
{
    install("good");
    fake_set("fake", "goood");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "did you mean good? There are: alpha, beta, gamma, good");
    fake_end();
}
END_TEST

START_TEST(other_files_are_not_looked_at)
{
    place_as("abi", "fakes_abi");
    place_as("base", "fake_");
    place_as("name", "other_name");
    char *path = opal_xprintf("%s/mca_fake_good.so.bak", folder);
    fclose(fopen(path, "w"));
    free(path);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    ck_assert_str_eq(mark("UNIT_LOADED"), "");
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

/* The first directory with a name has it; ':' and ',' separate. */
START_TEST(the_first_directory_wins)
{
    char *second = opal_xprintf("%s/second", folder);
    char *path = opal_xprintf("%s:%s", folder, second);
    char *impostor = opal_xprintf("%s/mca_fake_good.so", second);
    char *other = opal_xprintf("%s/mca_fake_other.so", second);
    install("good");
    ck_assert_int_eq(mkdir(second, 0700), 0);
    fclose(fopen(impostor, "w"));
    ck_assert_int_eq(symlink(UNIT_FIXTURES "/mca_fake_other.so", other), 0);
    fake_set("mca_base_component_path", path);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open good:open other:open");
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
    free(second);
    free(path);
    free(impostor);
    free(other);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_reported)
{
    char *path = opal_xprintf("%s/nowhere,%s", folder, folder);
    install("good");
    fake_set("mca_base_component_path", path);
    free(path);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(candidate("good"));
    unit_finding(0, OPAL_WARNING, "/nowhere cannot be searched for components: No such file");
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

START_TEST(a_static_one_hides_a_file_of_its_name)
{
    place_as("good", "fake_alpha");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    ck_assert_str_eq(mark("UNIT_LOADED"), "");
    unit_finding(
        0, OPAL_WARNING,
        "/mca_fake_alpha.so is not loaded: a component of this name is part of the library");
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

START_TEST(a_static_only_framework_loads_none)
{
    install("good");
    fake_framework.static_only = "it must be there before main";
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    ck_assert_str_eq(mark("UNIT_LOADED"), "");
    unit_finding(0, OPAL_WARNING, "/mca_fake_good.so is not loaded: it must be there before main");
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

START_TEST(memory_is_such_a_framework)
{
    place_as("good", "memory_good");
    opal_framework_t *memory = opal_framework_find("memory");
    ck_assert_int_eq(opal_framework_open(memory), OPAL_SUCCESS);
    unit_finding(0, OPAL_WARNING, "/mca_memory_good.so is not loaded: memory components must be");
    ck_assert_str_eq(mark("UNIT_LOADED"), "");
    opal_framework_close(memory);
    fake_end();
}
END_TEST

START_TEST(a_reason_keeps_its_end)
{
    char *deep = opal_xprintf("%s/%0*d", folder, 200, 0), reason[OPAL_REASON_MAX_BYTES];
    void *dso;
    ck_assert_int_eq(mkdir(deep, 0700), 0);
    char *path = opal_xprintf("%s/mca_fake_unresolved.so", deep);
    ck_assert_int_eq(symlink(UNIT_FIXTURES "/mca_fake_unresolved.so", path), 0);
    ck_assert_ptr_null(opal_dso_load("fake", "unresolved", path, &dso, reason));
    ck_assert_ptr_null(dso);
    ck_assert_str_eq(reason, "cannot be loaded: undefined symbol: nobody_has_this");
    free(path);
    free(deep);
    opal_dso_unload(NULL);
    fake_end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_good_one_is_used},
    {.test = &a_broken_one_is_skipped, .repeats = OPAL_COUNT_OF(broken)},
    {.test = &what_is_no_library_is_skipped, .repeats = 3},
    {.test = &excluded_ones_are_not_loaded, .repeats = OPAL_COUNT_OF(lists)},
    {.test = &a_tool_loads_excluded_ones_but_does_not_open_them},
    {.test = &a_list_of_parameters_loads_them_but_does_not_open_them,
     .repeats = OPAL_COUNT_OF(listed)},
    {.test = &unknown_names_are_reported_with_the_files},
    {.test = &other_files_are_not_looked_at},
    {.test = &the_first_directory_wins},
    {.test = &a_directory_that_is_not_there_is_reported},
    {.test = &a_static_one_hides_a_file_of_its_name},
    {.test = &a_static_only_framework_loads_none},
    {.test = &memory_is_such_a_framework},
    {.test = &a_reason_keeps_its_end},
};

UNIT_MAIN("dso", tests, setup);
