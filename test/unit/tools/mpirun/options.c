/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/options.c: what a command line becomes. (What is refused: test/mpirun/options.test)
 */
#include "tools/mpirun/options.h"

#include "test/unit/opal/support.h"

static job_t job;

/* Words separated by blanks, after the program's name. */
static bool parse(const char *line)
{
    opal_strings_t words = {0};
    opal_strings_add(&words, "mpirun");
    opal_strings_split(&words, line, " ");
    job = (job_t){.host = "node7"};
    bool good = options_parse(&job, (int)words.count, words.items);
    opal_strings_free(&words);
    return good;
}

static void expect(const opal_strings_t *list, const char *wanted)
{
    char *joined = opal_strings_join(list, " ");
    ck_assert_str_eq(joined, wanted);
    free(joined);
}

START_TEST(options_have_defaults)
{
    ck_assert(parse("prog a -n 3"));
    ck_assert_uint_eq(job.app_count, 1);
    expect(&job.apps[0].argv, "prog a -n 3");
    ck_assert_uint_eq(job.apps[0].rank_count, 0);
    ck_assert_int_eq(job.options.bind_to, LEVEL_NONE);
    ck_assert_int_eq(job.options.map_by, LEVEL_SLOT);
    ck_assert_int_eq(job.options.stdin_mode, STDIN_ONE);
    ck_assert_uint_eq(job.options.stdin_rank, 0);
    ck_assert(!job.options.no_oversubscribe && !job.options.has_hosts);
    job_free(&job);
}
END_TEST

START_TEST(options_fill_the_job)
{
    ck_assert(
        parse("--tag-output -timestamp-output --output-filename=dir --stdin all --timeout 1.5 "
              "--bind-to socket --map-by numa --report-bindings --display-map "
              "--no-oversubscribe --host localhost:3,node7 -v -q --mca a_b c=d -mca e f prog"));
    const options_t *options = &job.options;
    ck_assert(options->tag_output && options->timestamp_output && options->report_bindings &&
              options->display_map && options->no_oversubscribe && options->verbose &&
              options->quiet && options->has_hosts);
    ck_assert_str_eq(options->output_dir, "dir");
    ck_assert_int_eq(options->stdin_mode, STDIN_ALL);
    ck_assert(options->timeout == 1.5);
    ck_assert_int_eq(options->bind_to, LEVEL_SOCKET);
    ck_assert_int_eq(options->map_by, LEVEL_NUMA);
    ck_assert_uint_eq(options->hosts.slots, 4);
    ck_assert_uint_eq(options->mca.count, 2);
    ck_assert_str_eq(options->mca.items[0], "a_b=c=d");
    ck_assert_str_eq(options->mca.items[1], "e=f");
    job_free(&job);
}
END_TEST

START_TEST(options_belong_to_their_app)
{
    ck_assert(parse("-n 2 --wdir /a -x A=1 -x B= one x : -np 3 -x C=2 two : --tag-output three"));
    ck_assert_uint_eq(job.app_count, 3);
    ck_assert_uint_eq(job.apps[0].rank_count, 2);
    ck_assert_uint_eq(job.apps[1].rank_count, 3);
    ck_assert_uint_eq(job.apps[2].rank_count, 0);
    ck_assert_str_eq(job.apps[0].wdir, "/a");
    ck_assert_ptr_null(job.apps[1].wdir);
    expect(&job.apps[0].export, "A=1 B=");
    expect(&job.apps[1].export, "C=2");
    expect(&job.apps[0].argv, "one x");
    expect(&job.apps[2].argv, "three");
    ck_assert(job.options.tag_output);
    job_free(&job);
}
END_TEST

START_TEST(options_take_variables_that_are_set)
{
    setenv("UNIT_SET", "here", 1);
    unsetenv("UNIT_UNSET");
    unit_capture();
    ck_assert(parse("-x UNIT_SET -x UNIT_UNSET prog"));
    expect(&job.apps[0].export, "UNIT_SET=here");
    unit_assert_part(unit_stderr(), "UNIT_UNSET: the variable is not set");
    job_free(&job);
}
END_TEST

START_TEST(options_read_app_files)
{
    const char *path = unit_file("app", "-n 2 'a b' # c\n\n-np 1 c : -n 4 d\n");
    char line[600];
    snprintf(line, sizeof line, "-v --app %s", path);
    ck_assert(parse(line));
    ck_assert_uint_eq(job.app_count, 3);
    ck_assert_str_eq(job.apps[0].argv.items[0], "a b");
    ck_assert_uint_eq(job.apps[2].rank_count, 4);
    ck_assert(job.options.verbose);
    job_free(&job);
}
END_TEST

START_TEST(options_need_no_program_for_help)
{
    static const char *const lines[] = {"--help", "-h", "-help", "--version", "-V", "-n 2 --help"};
    ck_assert(parse(lines[_i]));
    ck_assert(job.options.help || job.options.version);
    job_free(&job);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &options_have_defaults},
    {.test = &options_fill_the_job},
    {.test = &options_belong_to_their_app},
    {.test = &options_take_variables_that_are_set},
    {.test = &options_read_app_files},
    {.test = &options_need_no_program_for_help, .repeats = 6},
};

UNIT_MAIN("options", tests, NULL);
