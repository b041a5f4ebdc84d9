/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/spawn.c: which job becomes of a request, and which request becomes none. */
#include "tools/mpirun/spawn.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include "test/unit/opal/support.h"
#include "tools/mpirun/environment.h"

/* -- soft --------------------------------------------------------------------------------- */

static const struct {
    const char *set;
    unsigned most;
    int chosen; /* -1: refused */
} sets[] = {
    {"3", 4, 3},
    {"5", 4, -1},
    {"0:4", 4, 4},
    {"0:10", 4, 4},
    {"1:10:3", 9, 7},
    {"1, 2, 8:16:4", 9, 8},
    {"8:16:4", 7, -1},
    {"7:1:-2", 6, 5},
    {"7:1:-2", 20, 7},
    {"5:1", 9, -1},
    {"1:5:-1", 9, -1},
    {"-3:-1, 2", 9, 2},
    {"-7:9:4", 8, 5},
    {"0", 5, 0},
    {"", 5, -1},
    {"x", 5, -1},
    {"1:2:3:4", 5, -1},
    {"1:5:0", 5, -1},
    {"1:", 5, -1},
    {"1 2", 5, -1},
    {"99999999999", 5, -1},
    {"-2000000000:2000000000:1000000000", 5, 0},
};

START_TEST(soft_is_a_set_of_numbers)
{
    unsigned number = 77;
    bool good = spawn_choose_soft(sets[_i].set, sets[_i].most, &number);
    ck_assert_int_eq(good ? (int)number : -1, sets[_i].chosen);
    ck_assert(good || number == 77);
}
END_TEST

/* -- jobs --------------------------------------------------------------------------------- */

static job_t first;
static spawn_origin_t origin;
static spawn_request_t request;
static opal_text_t started;

static void add_command(const char *argv, unsigned processes)
{
    request.commands =
        opal_xrealloc(request.commands, (request.count + 1) * sizeof *request.commands);
    spawn_command_t *command = &request.commands[request.count++];
    *command = (spawn_command_t){.processes = processes};
    opal_strings_split(&command->argv, argv, " ");
}

static void add_info(const char *key, const char *value)
{
    spawn_command_t *command = &request.commands[request.count - 1];
    opal_strings_add(&command->infos.keys, key);
    opal_strings_add(&command->infos.values, value);
}

static void setup(void)
{
    ck_assert_int_eq(chdir(unit_folder), 0);
    setenv("OF_MPIRUN", "1", 1);
    job_init(&first);
    app_t *app = job_add_app(&first);
    opal_strings_add(&app->argv, "/bin/true");
    opal_strings_add(&app->export, "OF_PARENT=2");
    app->rank_count = 1;
    first.options.map_by = LEVEL_SLOT;
    ck_assert_int_eq(job_prepare(&first), 0);
    first.universe_size = 4;
    origin = (spawn_origin_t){.first = &first, .parents = &first, .number = 2, .running = 1};
    unit_capture();
}

static job_t *prepare(void)
{
    return spawn_prepare(&origin, &request, &started);
}

static void end(job_t *job)
{
    job_free(job);
    free(job);
    job_free(&first);
    spawn_request_free(&request);
    opal_text_free(&started);
    ck_assert_str_eq(unit_stderr(), "");
}

START_TEST(a_job_of_two_commands)
{
    add_command("/bin/echo a b", 2);
    add_info("wdir", "/");
    add_info("env", "MINE=3\nOF_PARENT=4");
    add_command("/bin/true", 1);
    opal_strings_add(&request.preputs.keys, "PARENT_ROOT_PORT_NAME");
    opal_strings_add(&request.preputs.values, "mica:1:port");
    job_t *job = prepare();
    ck_assert_ptr_nonnull(job);
    ck_assert_uint_eq(job->number, 2);
    ck_assert_uint_eq(job->size, 3);
    ck_assert_uint_eq(job->universe_size, 4);
    ck_assert_str_ne(job->id, first.id);
    ck_assert_str_eq(job->parent_port, "mica:1:port");
    ck_assert_uint_eq(job->apps[0].argv.count, 3);
    ck_assert_str_eq(job->apps[0].wdir, "/");
    ck_assert(opal_strings_has(&job->apps[0].environment, "OF_MPIRUN=1"));
    ck_assert(opal_strings_has(&job->apps[0].environment, "OF_PARENT=4"));
    ck_assert(opal_strings_has(&job->apps[0].environment, "MINE=3"));
    ck_assert(opal_strings_has(&job->apps[1].environment, "OF_PARENT=2"));
    ck_assert_uint_eq(job->apps[1].number, 1);
    ck_assert_uint_eq(job->ranks[2].app->number, 1);
    ck_assert_uint_eq(started.length, 0);
    rank_environment_t environment;
    environment_of_rank(job, 2, &environment);
    ck_assert(opal_strings_has(&environment.own, "MICA_PARENT_PORT=mica:1:port"));
    ck_assert(opal_strings_has(&environment.own, "PMI_SPAWNED=1"));
    ck_assert(opal_strings_has(&environment.own, "MICA_APP_NUMBER=1"));
    ck_assert(opal_strings_has(&environment.own, "OMPI_UNIVERSE_SIZE=4"));
    environment_free(&environment);
    end(job);
}
END_TEST

START_TEST(fewer_processes_by_soft)
{
    add_command("/bin/true", 5);
    add_info("soft", "1,3");
    add_command("/bin/true", 2);
    add_info("soft", "0");
    add_command("/bin/false", 1);
    job_t *job = prepare();
    ck_assert_ptr_nonnull(job);
    ck_assert_str_eq(opal_text_string(&started), "3,0,1");
    ck_assert_uint_eq(job->size, 4);
    ck_assert_uint_eq(job->app_count, 2);
    ck_assert_uint_eq(job->ranks[3].app->number, 2);
    end(job);
}
END_TEST

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(programs_are_found)
{
    char folder[300];
    mkdir("bin", 0777);
    write_file("bin/worker", "#!/bin/sh\n");
    ck_assert_int_eq(chmod("bin/worker", 0777), 0);
    snprintf(folder, sizeof folder, "%s/bin", unit_folder);
    add_command("worker", 1);
    add_info("path", folder);
    add_command("./worker", 1);
    add_info("cwd", folder);
    write_file("infos", "# a comment\n\n path = /nowhere:bin \nfrobnicate=7\n");
    add_command("worker", 1);
    add_info("file", "infos");
    job_t *job = prepare();
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_ptr_nonnull(job);
    ck_assert_ptr_nonnull(strstr(job->apps[0].path, "/bin/worker"));
    ck_assert_str_eq(job->apps[1].path, "./worker");
    ck_assert_str_eq(job->apps[2].path, "bin/worker");
    end(job);
}
END_TEST

START_TEST(options_of_the_first_job_hold)
{
    first.options.verbose = true;
    first.options.per_node = 7;
    first.options.cpus_per_rank = 0;
    first.options.use_hwthreads = true;
    add_command("/bin/true", 1);
    add_info("mpi_initial_errhandler", "mpi_errors_return");
    add_info("map_bynode", "true");
    add_info("unknown", "x");
    add_info("PMIX_HOST", "localhost:3");
    job_t *job = prepare();
    ck_assert_ptr_nonnull(job);
    ck_assert(job->options.verbose && job->options.use_hwthreads);
    ck_assert_uint_eq(job->options.per_node, 0);
    ck_assert_int_eq(job->options.stdin_mode, STDIN_NONE);
    ck_assert_int_eq(job->options.map_by, LEVEL_NODE);
    ck_assert(opal_strings_has(&job->apps[0].environment,
                               "OMPI_MCA_mpi_initial_errhandler=mpi_errors_return"));
    end(job);
}
END_TEST

static const struct {
    const char *key, *value, *complaint;
} refused[] = {
    {"host", "elsewhere.example", "'elsewhere.example' is not this machine"},
    {"hostfile", "/nowhere/hosts", "cannot read /nowhere/hosts"},
    {"wdir", "/nowhere", "info wdir: cannot go to /nowhere: No such file"},
    {"wdir", "/dev/null", "info wdir: cannot go to /dev/null: Not a directory"},
    {"bind_to", "moon", "info bind_to: 'moon' is not one of none, core"},
    {"map_by", "moon", "info map_by: 'moon' is not one of"},
    {"soft", "9:12", "info soft: '9:12' is not a set"},
    {"arch", "pdp11", "info arch: 'pdp11' is asked for, but this machine is"},
    {"env", "=x", "info env: '=x' is not NAME or NAME=VALUE"},
    {"display_map", "maybe", "info display_map: 'maybe' is not true or false"},
    {"file", "/nowhere/infos", "info file: cannot read /nowhere/infos"},
    {"file", "loop", "info file: cannot read loop: it is named in another file"},
    {"file", "bad", "info file: 'nonsense' is not KEY=VALUE"},
};

START_TEST(what_cannot_be_honoured_is_refused)
{
    write_file("loop", "file=loop\n");
    write_file("bad", "nonsense\n");
    add_command("/bin/true", 2);
    add_info(refused[_i].key, refused[_i].value);
    ck_assert_ptr_null(prepare());
    unit_assert_part(unit_stderr(), refused[_i].complaint);
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
}
END_TEST

START_TEST(what_cannot_be_started_is_refused)
{
    static const struct {
        const char *argv;
        unsigned processes;
        const char *complaint;
    } cases[] = {
        {"no-such-program", 1, "no-such-program is in no directory of PATH"},
        {"/nowhere/x", 1, "program not found: /nowhere/x"},
        {"/dev/null", 1, "cannot execute /dev/null"},
        {"/bin/true", 70000, "70000 ranks are asked for"},
        {"/bin/true", 0, "no process is asked for"},
    };
    add_command(cases[_i].argv, cases[_i].processes);
    ck_assert_ptr_null(prepare());
    unit_assert_part(unit_stderr(), cases[_i].complaint);
}
END_TEST

START_TEST(places_may_be_few)
{
    first.options.no_oversubscribe = true;
    add_command("/bin/true", 4);
    ck_assert_ptr_null(prepare());
    unit_assert_part(unit_stderr(), "4 processes are asked for with --no-oversubscribe, but 1 of 4 "
                                    "places are taken");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &soft_is_a_set_of_numbers, .repeats = OPAL_COUNT_OF(sets)},
    {.test = &a_job_of_two_commands},
    {.test = &fewer_processes_by_soft},
    {.test = &programs_are_found},
    {.test = &options_of_the_first_job_hold},
    {.test = &what_cannot_be_honoured_is_refused, .repeats = OPAL_COUNT_OF(refused)},
    {.test = &what_cannot_be_started_is_refused, .repeats = 5},
    {.test = &places_may_be_few},
};

UNIT_MAIN("tools/mpirun/spawn", tests, setup);
