/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/base/param.c: where settings come from, which of them counts, and what is said about
 * those that do not. The system's file is one in our folder (the linker wraps its path), and so
 * is HOME.
 */
#include "opal/mca/base/param.h"

#include <sys/stat.h>

#include "opal/mca/base/param_file.h"

#include "test/unit/opal/support.h"

const char *__wrap_opal_param_file_system(void);

const char *__wrap_opal_param_file_system(void)
{
    return unit_path("system.conf");
}

static int timeout;
static const char *color;
static opal_strings_t list;

static const opal_param_row_t table[] = {
    {.name = "timeout",
     .type = OPAL_PARAM_INT,
     .value = &timeout,
     .preset = "10",
     .min = "1",
     .max = "100",
     .unit = "s",
     .synonyms = "fake_old_timeout, fake_older"},
    {.name = "color", .type = OPAL_PARAM_STRING, .value = &color, .preset = "red"},
    {.name = "list", .type = OPAL_PARAM_LIST, .value = &list},
    {0},
};

static void write_system_file(const char *bytes)
{
    unit_file("system.conf", bytes);
}

static void write_user_file(const char *bytes)
{
    unit_file(".openmpi/mca-params.conf", bytes);
}

/* A home with a folder for parameters, no files, and nothing in the environment. */
static void setup(void)
{
    for (char **variable = environ; *variable != NULL;) {
        if (strncmp(*variable, "OMPI_MCA_", 9) != 0) {
            variable++;
            continue;
        }
        char *name = opal_xstrndup(*variable, strcspn(*variable, "="));
        unsetenv(name);
        free(name);
        variable = environ;
    }
    unsetenv("MICA_MCA_COMMAND_LINE");
    setenv("HOME", unit_folder, 1);
    mkdir(unit_path(".openmpi"), 0700);
    unlink(unit_path(".openmpi/mca-params.conf"));
    remove(unit_path("system.conf"));
}

static opal_status_t start(void)
{
    opal_param_init();
    return opal_param_register("fake", "one", table);
}

static void stop(void)
{
    opal_param_fini();
    opal_diagnostic_reset();
}

typedef struct lookup {
    const char *full_name;
    const opal_param_info_t *info;
    opal_param_info_t copy;
} lookup_t;

static void look(const opal_param_info_t *info, void *context)
{
    lookup_t *lookup = context;
    if (strcmp(info->full_name, lookup->full_name) != 0)
        return;
    lookup->copy = *info;
    lookup->info = &lookup->copy;
}

/* Valid until the next call. */
static const opal_param_info_t *info_of(const char *full_name)
{
    static lookup_t lookup;
    lookup = (lookup_t){.full_name = full_name};
    opal_param_visit(look, &lookup);
    return lookup.info;
}

/* -- sources ---------------------------------------------------------------------- */

static const struct {
    int value;
    const char *text, *origin; /* origin behind the folder's name */
} by_source[] = {
    [OPAL_PARAM_FROM_DEFAULT] = {10, "10", "default"},
    [OPAL_PARAM_FROM_SYSTEM_FILE] = {11, "11", "/system.conf:1"},
    [OPAL_PARAM_FROM_USER_FILE] = {12, "0xc", "/.openmpi/mca-params.conf:3"},
    [OPAL_PARAM_FROM_ENVIRONMENT] = {13, "13", "environment"},
    [OPAL_PARAM_FROM_COMMAND_LINE] = {14, "14", "mpirun --mca"},
};

/* Sets all sources up to _i, and the one that has to lose is always there. */
START_TEST(later_sources_win)
{
    if (_i >= OPAL_PARAM_FROM_SYSTEM_FILE)
        write_system_file("fake_one_timeout = 11\n");
    if (_i >= OPAL_PARAM_FROM_USER_FILE)
        write_user_file("# mine\n\nfake_one_timeout = 0xc # twelve\n");
    if (_i == OPAL_PARAM_FROM_ENVIRONMENT)
        setenv("OMPI_MCA_fake_one_timeout", "13", 1);
    if (_i == OPAL_PARAM_FROM_COMMAND_LINE) {
        setenv("OMPI_MCA_fake_one_timeout", "14", 1);
        setenv("MICA_MCA_COMMAND_LINE", "btl,fake_one_timeout", 1);
    }
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_uint_eq(unit_findings(), 0);

    const opal_param_info_t *info = info_of("fake_one_timeout");
    ck_assert_int_eq(timeout, by_source[_i].value);
    ck_assert_int_eq((int)info->source, _i);
    ck_assert_str_eq(info->value_text, by_source[_i].text);
    bool file = by_source[_i].origin[0] == '/';
    ck_assert_str_eq(info->origin + (file ? strlen(unit_folder) : 0), by_source[_i].origin);
    stop();
}
END_TEST

START_TEST(the_later_line_wins)
{
    write_user_file("fake_one_timeout = 20\nOMPI_MCA_fake_one_timeout = 21\n"
                    "fake_one_color=blue\n");
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 21);
    ck_assert_str_eq(color, "blue");
    ck_assert_ptr_nonnull(strstr(info_of("fake_one_timeout")->origin, "mca-params.conf:2"));
    stop();
}
END_TEST

START_TEST(setting_without_a_parameter)
{
    const char *origin = "unchanged";
    write_user_file("nobodys_own = 7\n");
    setenv("OMPI_MCA_fake", "^one", 1);
    opal_param_init();
    ck_assert_ptr_null(opal_param_setting("fake_one_timeout", &origin));
    ck_assert_str_eq(origin, "unchanged");
    ck_assert_str_eq(opal_param_setting("fake", &origin), "^one");
    ck_assert_str_eq(origin, "environment");
    ck_assert_str_eq(opal_param_setting("nobodys_own", NULL), "7");
    stop();
}
END_TEST

/* -- files ------------------------------------------------------------------------ */

START_TEST(named_files_replace_the_others)
{
    write_system_file("fake_one_color = system\n");
    write_user_file("fake_one_color = user\n");
    unit_file("first.conf", "fake_one_timeout = 31\nfake_one_list = a\n");
    unit_file("second.conf", "fake_one_timeout = 32\n");
    setenv("OMPI_MCA_mca_base_param_files", "~/first.conf, ${HOME}/second.conf", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 32);
    ck_assert_str_eq(color, "red");
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(unit_findings(), 0);
    stop();
}
END_TEST

START_TEST(no_files_are_wanted)
{
    write_system_file("fake_one_color = system\n");
    write_user_file("fake_one_color = user\n");
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_str_eq(color, "red");
    ck_assert_uint_eq(unit_findings(), 0);
    stop();
}
END_TEST

/* Named files must be there and readable; the folder and /proc/self/mem are not. */
static const struct {
    const char *path, *finding;
} bad_files[] = {
    {"~/missing.conf", "/missing.conf cannot be read: No such file"},
    {"~/pipe.conf", "/pipe.conf cannot be read: it is a pipe"},
    {"~/.openmpi", "/.openmpi cannot be read: Is a directory"},
    {"/proc/self/mem", "/proc/self/mem cannot be read: Input/output error"},
    {"$UNIT_UNSET/x", "mca_base_param_files names \"$UNIT_UNSET/x\": the variable UNIT_UNSET"},
};

START_TEST(named_files_must_be_readable)
{
    unsetenv("UNIT_UNSET");
    remove(unit_path("pipe.conf"));
    ck_assert_int_eq(mkfifo(unit_path("pipe.conf"), 0600), 0);
    unit_file("good.conf", "fake_one_timeout = 33\n");
    char *files = opal_xprintf("%s,~/good.conf", bad_files[_i].path);
    setenv("OMPI_MCA_mca_base_param_files", files, 1);
    free(files);
    opal_param_init();
    ck_assert_uint_eq(unit_findings(), 1);
    unit_finding(0, OPAL_ERROR, bad_files[_i].finding);
    ck_assert_str_eq(opal_param_setting("fake_one_timeout", NULL), "33");
    stop();
}
END_TEST

START_TEST(too_large_a_file)
{
    FILE *stream = fopen(unit_file("large.conf", "fake_one_timeout = 33\n"), "r+");
    ck_assert_int_eq(ftruncate(fileno(stream), 100 << 20), 0);
    fclose(stream);
    setenv("OMPI_MCA_mca_base_param_files", "~/large.conf", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    unit_finding(0, OPAL_ERROR, "large.conf is larger than 1 MiB");
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_int_eq(timeout, 10);
    stop();
}
END_TEST

/* What nobody named and cannot be read is no reason to fail: HOME may be somebody else's. */
START_TEST(unreadable_files_of_their_own_accord)
{
    mkdir(unit_path("system.conf"), 0700);
    setenv("HOME", "/dev/null", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_uint_eq(unit_findings(), 1);
    unit_finding(0, OPAL_WARNING, "system.conf cannot be read: Is a directory");
    stop();
}
END_TEST

START_TEST(without_a_home)
{
    unsetenv("HOME");
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_uint_eq(unit_findings(), 0);
    stop();
}
END_TEST

START_TEST(a_file_cannot_name_files)
{
    unit_file("other.conf", "fake_one_timeout = 34\n");
    write_user_file("fake_one_color = blue\nmca_base_param_files = ~/other.conf\n");
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 10);
    ck_assert_str_eq(color, "blue");
    unit_finding(0, OPAL_WARNING,
                 "mca-params.conf:2: mca_base_param_files has no effect in a file");
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_uint_eq(unit_findings(), 1);
    stop();
}
END_TEST

START_TEST(junk_lines_are_named)
{
    write_user_file("fake_one_timeout = 35\njunk\n\nfake_one_color = \"blue\n");
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 35);
    ck_assert_str_eq(color, "red");
    unit_finding(0, OPAL_ERROR, "/.openmpi/mca-params.conf:2: this line cannot be read: there is");
    unit_finding(1, OPAL_ERROR, "/.openmpi/mca-params.conf:4: this line cannot be read: the clos");
    ck_assert_uint_eq(unit_findings(), 2);
    stop();
}
END_TEST

/* -- refused and unknown ---------------------------------------------------------- */

static const struct {
    const char *name, *value, *finding;
} refused[] = {
    {"fake_one_timeout", "12xyz",
     "fake_one_timeout = \"12xyz\" (environment) is refused: expected a whole number, but \"xyz\" "
     "is left over"},
    {"fake_one_timeout", "abc", "\"abc\" (environment) is refused: expected a whole number"},
    {"fake_one_timeout", "", "\"\" (environment) is refused: the value is empty"},
    {"fake_one_timeout", "101", "\"101\" (environment) is refused: expected 1 to 100 s"},
    {"fake_old_timeout", "x", "fake_old_timeout = \"x\" (environment) is refused"},
    {"fake_one_color", "$UNIT_UNSET", "(environment) is refused: the variable UNIT_UNSET is not"},
    {"fake_one_list", "a,${x", "(environment) is refused: a \"$\" is not followed"},
};

START_TEST(refused_values_leave_the_default)
{
    char *variable = opal_xprintf("OMPI_MCA_%s", refused[_i].name);
    setenv(variable, refused[_i].value, 1);
    free(variable);
    unsetenv("UNIT_UNSET");
    ck_assert_int_eq(start(), OPAL_ERR_BAD_PARAM);
    size_t deprecated = strcmp(refused[_i].name, "fake_old_timeout") == 0;
    ck_assert_uint_eq(unit_findings(), 1 + deprecated);
    unit_finding(deprecated, OPAL_ERROR, refused[_i].finding);
    ck_assert_int_eq(timeout, 10);
    ck_assert_str_eq(color, "red");
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq((int)info_of("fake_one_timeout")->source, OPAL_PARAM_FROM_DEFAULT);
    ck_assert_str_eq(info_of("fake_one_timeout")->value_text, "10");
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    stop();
}
END_TEST

START_TEST(refused_values_name_their_line)
{
    write_user_file("\nfake_one_timeout = 0\n");
    ck_assert_int_eq(start(), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "/.openmpi/mca-params.conf:2) is refused: expected 1 to 100 s");
    ck_assert_uint_eq(unit_findings(), 1);
    stop();
}
END_TEST

static bool is_foreign(const char *full_name)
{
    return strncmp(full_name, "foreign_", 8) == 0;
}

START_TEST(unknown_names_and_the_nearest)
{
    write_user_file("fake_one_tiemout = 5\nforeign_x = 1\n");
    setenv("OMPI_MCA_nothing_like_it_at_all", "x", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_param_diagnose_unknown(is_foreign), 2);
    ck_assert_uint_eq(unit_findings(), 2);
    unit_finding(0, OPAL_WARNING,
                 "nothing_like_it_at_all (environment) is not a parameter, so its value \"x\" has "
                 "no effect; ompi_info --all lists all of them");
    unit_finding(1, OPAL_WARNING, "/mca-params.conf:1) is not a parameter");
    unit_finding(1, OPAL_WARNING, "did you mean fake_one_timeout?");
    stop();
}
END_TEST

START_TEST(a_wrong_default_is_our_mistake)
{
    static int number;
    static const opal_param_row_t wrong[] = {
        {.name = "number", .type = OPAL_PARAM_INT, .value = &number, .preset = "1x"}, {0}};
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "", wrong), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "the default \"1x\" of the parameter fake_number is wrong");
    stop();
}
END_TEST

/* -- synonyms --------------------------------------------------------------------- */

START_TEST(synonyms_work_and_warn)
{
    setenv("OMPI_MCA_fake_older", "41", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 41);
    ck_assert_str_eq(info_of("fake_one_timeout")->synonym_used, "fake_older");
    unit_finding(0, OPAL_WARNING,
                 "fake_older (environment) is deprecated; the parameter's name is "
                 "fake_one_timeout");
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_uint_eq(unit_findings(), 1);
    stop();
}
END_TEST

START_TEST(the_proper_name_counts_more)
{
    setenv("OMPI_MCA_fake_old_timeout", "41", 1);
    setenv("OMPI_MCA_fake_one_timeout", "42", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 42);
    ck_assert_ptr_null(info_of("fake_one_timeout")->synonym_used);
    unit_finding(0, OPAL_WARNING, "fake_one_timeout, which is set too and counts");
    ck_assert_uint_eq(unit_findings(), 1);
    stop();
}
END_TEST

START_TEST(the_stronger_source_counts_even_more)
{
    write_user_file("fake_one_timeout = 42\n");
    setenv("OMPI_MCA_fake_old_timeout", "43", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 43);
    stop();
}
END_TEST

START_TEST(synonyms_in_several_sources_are_known)
{
    write_system_file("fake_old_timeout = 44\n");
    write_user_file("fake_old_timeout = 45\n");
    setenv("OMPI_MCA_fake_old_timeout", "46", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 46);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_uint_eq(unit_findings(), 1);
    stop();
}
END_TEST

/* -- replaced and removed names --------------------------------------------------- */

static int limit, limit_kib;

static const opal_param_row_t shrunk[] = {
    {.name = "limit", .type = OPAL_PARAM_INT, .value = &limit, .preset = "3", .is_internal = true},
    {.name = "limit_kib",
     .type = OPAL_PARAM_INT,
     .value = &limit_kib,
     .preset = "1",
     .synonyms = "fake_older_kib",
     .deprecated = "use fake_one_limit, in bytes"},
    {.name = "old_limit", .removed = "use fake_one_limit"},
    {.name = "old_table", .removed = "there is nothing to set any more"},
    {0},
};

START_TEST(removed_names_warn_and_do_nothing)
{
    write_user_file("fake_one_old_limit = no number\n");
    setenv("OMPI_MCA_fake_one_old_limit", "7", 1);
    opal_param_read_early("fake_one", shrunk);
    ck_assert_int_eq(limit, 3);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "one", shrunk), OPAL_SUCCESS);
    ck_assert_int_eq(limit, 3);
    unit_finding(0, OPAL_WARNING,
                 "fake_one_old_limit (environment) was removed, so its value \"7\" has no effect; "
                 "use fake_one_limit");
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_ptr_null(info_of("fake_one_old_limit"));
    ck_assert(info_of("fake_one_limit")->row->is_internal);
    opal_param_withdraw(shrunk);
    stop();
}
END_TEST

/* By its name and by a synonym. */
START_TEST(replaced_names_warn_and_have_their_effect)
{
    static const char *const names[] = {"fake_one_limit_kib", "fake_older_kib"};
    char *variable = opal_xprintf("OMPI_MCA_%s", names[_i]);
    char *warning =
        opal_xprintf("%s (environment) is deprecated; use fake_one_limit, in bytes", names[_i]);
    setenv(variable, "7", 1);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "one", shrunk), OPAL_SUCCESS);
    ck_assert_int_eq(limit_kib, 7);
    unit_finding(0, OPAL_WARNING, warning);
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_ptr_null(info_of("fake_one_limit_kib"));
    opal_param_withdraw(shrunk);
    free(variable);
    free(warning);
    stop();
}
END_TEST

START_TEST(a_replaced_name_that_is_not_set_says_nothing)
{
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "one", shrunk), OPAL_SUCCESS);
    ck_assert_int_eq(limit_kib, 1);
    ck_assert_uint_eq(unit_findings(), 0);
    opal_param_withdraw(shrunk);
    stop();
}
END_TEST

START_TEST(hidden_names_are_not_suggested)
{
    static const char *const names[] = {"fake_one_old_tabel", "fake_one_limit_kbi"};
    char *variable = opal_xprintf("OMPI_MCA_%s", names[_i]);
    setenv(variable, "x", 1);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "one", shrunk), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 1);
    unit_finding(0, OPAL_WARNING,
                 _i == 0 ? "ompi_info --all lists all of them" : "did you mean fake_one_limit?");
    free(variable);
    stop();
}
END_TEST

/* -- registration ----------------------------------------------------------------- */

START_TEST(registering_twice_is_harmless)
{
    setenv("OMPI_MCA_fake_one_color", "blue", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    const char *before = color;
    ck_assert_int_eq(opal_param_register("fake", "one", table), OPAL_SUCCESS);
    ck_assert_ptr_eq(color, before);
    ck_assert_uint_eq(unit_findings(), 0);
    ck_assert_int_eq(opal_param_register("fake", "one", NULL), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(two_rows_of_one_name)
{
    static int other;
    static const opal_param_row_t again[] = {
        {.name = "one_timeout", .type = OPAL_PARAM_INT, .value = &other, .preset = "1"}, {0}};
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    opal_param_register("fake", "", again);
    unit_finding(0, OPAL_ERROR, "two parameters have the name fake_one_timeout");
    opal_param_withdraw(again);
    ck_assert_ptr_nonnull(info_of("fake_one_timeout"));
    stop();
}
END_TEST

START_TEST(withdrawn_tables_are_gone)
{
    setenv("OMPI_MCA_fake_one_list", "a,b", 1);
    setenv("OMPI_MCA_fake_one_timeout", "50", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_uint_eq(list.count, 2);
    opal_param_withdraw(table);
    ck_assert_ptr_null(color);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_ptr_null(info_of("fake_one_timeout"));
    opal_param_withdraw(table);
    opal_param_withdraw(NULL);

    ck_assert_int_eq(opal_param_register("fake", "two", table), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 10);
    ck_assert_str_eq(color, "red");
    ck_assert_ptr_nonnull(info_of("fake_two_color"));
    stop();
}
END_TEST

START_TEST(init_nests)
{
    setenv("OMPI_MCA_fake_one_timeout", "60", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    opal_param_init();
    opal_param_fini();
    ck_assert_int_eq(timeout, 60);
    ck_assert_str_eq(color, "red");
    ck_assert_ptr_nonnull(info_of("fake_one_timeout"));
    opal_param_fini();
    ck_assert_ptr_null(color);
    ck_assert_ptr_null(opal_param_setting("fake_one_timeout", NULL));
    opal_param_fini();

    setenv("OMPI_MCA_fake_one_timeout", "61", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_int_eq(timeout, 61);
    stop();
}
END_TEST

static void append_name(const opal_param_info_t *info, void *context)
{
    opal_text_printf(context, "%s ", info->full_name);
}

START_TEST(visits_are_in_order)
{
    static bool flag;
    static const opal_param_row_t rows[] = {
        {.name = "z", .type = OPAL_PARAM_BOOL, .value = &flag, .preset = "no"},
        {.name = "a", .type = OPAL_PARAM_BOOL, .value = &flag, .preset = "no"},
        {0},
    };
    static const opal_param_row_t self[] = {{.name = "", .type = OPAL_PARAM_LIST, .value = &list},
                                            {0}};
    static opal_param_row_t framework_rows[3];
    memcpy(framework_rows, rows, sizeof rows);
    opal_text_t names = {0};

    opal_param_init();
    opal_param_register("b", "one", rows);
    opal_param_register("a", "", framework_rows);
    opal_param_register("b", "", self);
    opal_param_visit(append_name, &names);
    ck_assert_str_eq(opal_text_string(&names), "a_a a_z b b_one_a b_one_z ");
    opal_text_free(&names);
    stop();
}
END_TEST

/* -- other projects' variables, and reading early --------------------------------- */

static int depth;
static bool wet;

static const opal_param_row_t sea[] = {
    {.name = "depth",
     .type = OPAL_PARAM_INT,
     .value = &depth,
     .preset = "5",
     .max = "100",
     .variables = "SEA_DEPTH,SEA_LEVEL"},
    {.name = "wet",
     .type = OPAL_PARAM_BOOL,
     .value = &wet,
     .preset = "yes",
     .variables = "SEA_WET"},
    {0},
};

static const struct {
    const char *own, *first, *second, *file;
    int depth;
    const char *origin;
} seas[] = {
    {NULL, NULL, NULL, NULL, 5, "default"},
    {NULL, "6", NULL, NULL, 6, "environment, SEA_DEPTH"},
    {NULL, NULL, "7", NULL, 7, "environment, SEA_LEVEL"},
    {NULL, "6", "7", NULL, 6, "environment, SEA_DEPTH"},
    {"8", "6", "7", NULL, 8, "environment"},
    {NULL, "6", NULL, "sea_depth = 9\n", 6, "environment, SEA_DEPTH"},
};

static void set_or_unset(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

START_TEST(variables_of_others_count)
{
    set_or_unset("OMPI_MCA_sea_depth", seas[_i].own);
    set_or_unset("SEA_DEPTH", seas[_i].first);
    set_or_unset("SEA_LEVEL", seas[_i].second);
    if (seas[_i].file != NULL)
        write_user_file(seas[_i].file);
    opal_param_read_early("sea", sea);
    ck_assert_int_eq(depth, seas[_i].depth);
    depth = 0;
    opal_param_init();
    ck_assert_int_eq(opal_param_register("sea", "", sea), OPAL_SUCCESS);
    ck_assert_int_eq(depth, seas[_i].depth);
    ck_assert_str_eq(info_of("sea_depth")->origin, seas[_i].origin);
    stop();
}
END_TEST

START_TEST(early_is_without_files_and_findings)
{
    setenv("SEA_DEPTH", "101", 1); /* too deep: told when it is registered */
    setenv("SEA_WET", "n", 1);
    write_user_file("sea_depth = 9\n");
    opal_param_read_early("sea", sea);
    ck_assert_int_eq(depth, 5);
    ck_assert(!wet);
    opal_param_init();
    unsetenv("SEA_DEPTH");
    ck_assert_int_eq(opal_param_register("sea", "", sea), OPAL_SUCCESS);
    ck_assert_int_eq(depth, 9);
    opal_param_read_early("sea", sea); /* the registry knows more */
    ck_assert_int_eq(depth, 9);
    stop();
}
END_TEST

/* -- read-outs -------------------------------------------------------------------- */

static size_t counter;

static void count(void)
{
    counter++;
}

static const opal_param_row_t counters[] = {
    {.name = "counter", .type = OPAL_PARAM_SIZE, .value = &counter, .refresh = count},
    {0},
};

START_TEST(a_read_out_is_looked_at)
{
    opal_param_init();
    counter = 41;
    ck_assert_int_eq(opal_param_register("fake", "one", counters), OPAL_SUCCESS);
    ck_assert_uint_eq(counter, 41);
    ck_assert_str_eq(info_of("fake_one_counter")->value_text, "42");
    ck_assert_str_eq(info_of("fake_one_counter")->value_text, "43");
    ck_assert_str_eq(info_of("fake_one_counter")->origin, "read-out");
    stop();
}
END_TEST

START_TEST(a_read_out_cannot_be_set)
{
    setenv("OMPI_MCA_fake_one_counter", "7", 1);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("fake", "one", counters), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "fake_one_counter = \"7\" (environment) is refused");
    ck_assert_uint_eq(counter, 0);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
    ck_assert_str_eq(info_of("fake_one_counter")->value_text, "1");
    stop();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &later_sources_win, .repeats = OPAL_COUNT_OF(by_source)},
    {.test = &the_later_line_wins},
    {.test = &setting_without_a_parameter},
    {.test = &named_files_replace_the_others},
    {.test = &no_files_are_wanted},
    {.test = &named_files_must_be_readable, .repeats = OPAL_COUNT_OF(bad_files)},
    {.test = &too_large_a_file},
    {.test = &unreadable_files_of_their_own_accord},
    {.test = &without_a_home},
    {.test = &a_file_cannot_name_files},
    {.test = &junk_lines_are_named},
    {.test = &refused_values_leave_the_default, .repeats = OPAL_COUNT_OF(refused)},
    {.test = &refused_values_name_their_line},
    {.test = &unknown_names_and_the_nearest},
    {.test = &a_wrong_default_is_our_mistake},
    {.test = &synonyms_work_and_warn},
    {.test = &the_proper_name_counts_more},
    {.test = &the_stronger_source_counts_even_more},
    {.test = &synonyms_in_several_sources_are_known},
    {.test = &removed_names_warn_and_do_nothing},
    {.test = &replaced_names_warn_and_have_their_effect, .repeats = 2},
    {.test = &a_replaced_name_that_is_not_set_says_nothing},
    {.test = &hidden_names_are_not_suggested, .repeats = 2},
    {.test = &registering_twice_is_harmless},
    {.test = &two_rows_of_one_name},
    {.test = &withdrawn_tables_are_gone},
    {.test = &init_nests},
    {.test = &visits_are_in_order},
    {.test = &variables_of_others_count, .repeats = OPAL_COUNT_OF(seas)},
    {.test = &early_is_without_files_and_findings},
    {.test = &a_read_out_is_looked_at},
    {.test = &a_read_out_cannot_be_set},
};

UNIT_MAIN("param", tests, setup);
