/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of Open MPI's mpirun and MPICH's mpiexec. Each is translated into an option of this
 * mpirun, or refused with a message that names the option to use instead. Other names for options
 * of this mpirun are in the rows of option_rows.c.
 */
#include <string.h>
#include <strings.h>

#include "opal/util/log.h"
#include "tools/mpirun/option_rows.h"

/* Accepts an option that asks for what mpirun does anyway. */
static bool take_nothing(cursor_t *cursor, const char *option, char **values)
{
    (void)cursor, (void)option, (void)values;
    return true;
}

static bool take_setting(const cursor_t *cursor, opal_strings_t *list, const char *option,
                         char **values)
{
    if (values[0][0] == 0 || strchr(values[0], '=') != NULL)
        return option_refuse(cursor, option, values[0], "the name of a variable");
    char *setting = opal_xprintf("%s=%s", values[0], values[1]);
    bool good = option_add_export(cursor, list, option, setting);
    free(setting);
    return good;
}

static bool take_names(const cursor_t *cursor, opal_strings_t *list, const char *option,
                       const char *names)
{
    opal_strings_t each = {0};
    bool good = true;
    opal_strings_split(&each, names, ",");
    for (size_t i = 0; good && i < each.count; i++)
        good = option_add_export(cursor, list, option, each.items[i]);
    opal_strings_free(&each);
    return good;
}

static bool take_env(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    return take_setting(cursor, &cursor->app.export, option, values);
}

static bool take_envlist(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    return take_names(cursor, &cursor->app.export, option, values[0]);
}

static bool take_genv(cursor_t *cursor, const char *option, char **values)
{
    return take_setting(cursor, &cursor->job->options.export, option, values);
}

static bool take_genvlist(cursor_t *cursor, const char *option, char **values)
{
    return take_names(cursor, &cursor->job->options.export, option, values[0]);
}

static bool take_iface(cursor_t *cursor, const char *option, char **values)
{
    return option_add_mca(cursor, option, "btl_sock_if_include", values[0]);
}

static bool take_launcher_exec(cursor_t *cursor, const char *option, char **values)
{
    return option_add_mca(cursor, option, "plm_rsh_agent", values[0]);
}

/* The option of this mpirun for a word of a list such as "map,bind". */
typedef struct listed {
    const char *word, *name;
} listed_t;

static bool take_listed(cursor_t *cursor, const char *option, const char *word,
                        const listed_t *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(word, known[i].word) == 0)
            return option_take(cursor, known[i].name, option, NULL);
    }
    opal_text_t wanted = {0};
    for (size_t i = 0; i < count; i++)
        opal_text_printf(&wanted, "%s%s", i == 0 ? "one of " : ", ", known[i].word);
    option_refuse(cursor, option, word, opal_text_string(&wanted));
    opal_text_free(&wanted);
    return false;
}

/* Open MPI 5: "--output tag,dir=here" */
static bool take_output(cursor_t *cursor, const char *option, char **values)
{
    static const listed_t known[] = {
        {"tag", "tag-output"}, {"timestamp", "timestamp-output"}, {"rank", "tag-output"}};
    opal_strings_t words = {0};
    bool good = true;
    opal_strings_split(&words, values[0], ",:");
    for (size_t i = 0; good && i < words.count; i++) {
        const char *word = words.items[i];
        if (strncasecmp(word, "dir=", 4) == 0)
            good = option_take(cursor, "output-filename", option, word + 4);
        else
            good = take_listed(cursor, option, word, known, OPAL_COUNT_OF(known));
    }
    opal_strings_free(&words);
    return good;
}

static bool take_display(cursor_t *cursor, const char *option, char **values)
{
    static const listed_t known[] = {{"map", "display-map"},
                                     {"allocation", "display-map"},
                                     {"bind", "report-bindings"},
                                     {"bindings", "report-bindings"}};
    opal_strings_t words = {0};
    bool good = true;
    opal_strings_split(&words, values[0], ",:");
    for (size_t i = 0; good && i < words.count; i++)
        good = take_listed(cursor, option, words.items[i], known, OPAL_COUNT_OF(known));
    opal_strings_free(&words);
    return good;
}

/* clang-format off */
const option_row_t options_foreign[] = {
    {"genv", "NAME VALUE", take_genv, NULL, OPTION_TRANSLATED},
    {"genvlist", "LIST", take_genvlist, NULL, OPTION_TRANSLATED},
    {"env", "NAME VALUE", take_env, NULL, OPTION_TRANSLATED},
    {"envlist", "LIST", take_envlist, NULL, OPTION_TRANSLATED},
    {"genvall envall", "", take_nothing, NULL, OPTION_TRANSLATED},
    {"allow-run-as-root", "", take_nothing, NULL, OPTION_TRANSLATED},
    {"iface", "NAME", take_iface, NULL, OPTION_TRANSLATED},
    {"launcher bootstrap", "NAME", take_nothing, NULL, OPTION_RECORDED},
    {"launcher-exec bootstrap-exec", "FILE", take_launcher_exec, NULL, OPTION_TRANSLATED},
    {"disable-auto-cleanup", "", take_nothing, NULL, OPTION_RECORDED},
    {"output", "LIST", take_output, NULL, OPTION_TRANSLATED},
    {"display", "LIST", take_display, NULL, OPTION_TRANSLATED},

    {"genvnone envnone", "", NULL, "env -i mpirun ... starts ranks without the environment", OPTION_REFUSED},
    {"cpu-set cpu-list", "LIST", NULL, "taskset -c LIST mpirun ... keeps all ranks on these", OPTION_REFUSED},
    {"outfile-pattern errfile-pattern", "NAME", NULL,
     "--output-filename DIR writes DIR/rank.N/stdout and stderr", OPTION_REFUSED},
    {"merge-stderr-to-stdout", "", NULL, "2>&1 behind the command line does that", OPTION_REFUSED},
    {"xterm gdb tv", "", NULL, "--debug starts ranks in gdb; --wrap COMMAND starts them by any command", OPTION_REFUSED},
    {"rmk", "NAME", NULL, "an allocation of Slurm is found; for others write --hostfile", OPTION_REFUSED},
    {"path", "DIR", NULL, "write the program with its directory, or set PATH", OPTION_REFUSED},
    {"prefix", "DIR", NULL, "programs find the library where they were linked with it; -x LD_LIBRARY_PATH=DIR names another", OPTION_REFUSED},
    {"am tune", "FILE", NULL, "-x OMPI_MCA_mca_base_param_files=FILE reads parameters from a file", OPTION_REFUSED},
    {"enable-recovery continuous", "", NULL, "a rank that fails ends the job", OPTION_REFUSED},
    {0},
};
/* clang-format on */
