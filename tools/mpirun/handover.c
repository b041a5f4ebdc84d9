/* SPDX-License-Identifier: BSD-3-Clause */
/* Translating a job for another launcher. See handover.h. */
#include "tools/mpirun/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/launcher.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/spelling.h"

/* The translation of mpirun's command line into the other launcher's. */
typedef struct translation {
    const job_t *job;
    opal_launcher_t launcher;
    handover_t *to;
    bool good;
} translation_t;

static void refuse(translation_t *translation, const char *option, const char *why)
{
    opal_log_error("%s cannot be handed over to %s: %s", option,
                   launcher_name(translation->launcher), why);
    translation->good = false;
}

OPAL_PRINTF(2, 3) static void add(opal_strings_t *list, const char *format, ...)
{
    opal_text_t text = {0};
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(&text, format, arguments);
    va_end(arguments);
    opal_strings_add(list, opal_text_string(&text));
    opal_text_free(&text);
}

/* -- options by the table ------------------------------------------------------------------- */

/* The text with the value in the place of %s or %u. */
static char *fill(const char *text, const char *value)
{
    const char *conversion = strchr(text, '%');
    if (conversion == NULL || value == NULL)
        return opal_xstrdup(text);
    opal_text_t filled = {0};
    opal_text_append(&filled, text, (size_t)(conversion - text));
    if (conversion[1] == 'u') {
        double number = strtod(value, NULL);
        long whole = (long)number;
        opal_text_printf(&filled, "%ld", whole + (whole < number));
    } else {
        opal_text_add(&filled, value);
    }
    opal_text_add(&filled, conversion + 2);
    return opal_text_take(&filled);
}

/* Appends to a word, separated by a comma unless the addition begins with a colon. */
static void extend(char **word, const char *addition)
{
    char *longer = opal_xprintf("%s%s%s", *word, addition[0] == ':' ? "" : ",", addition);
    free(*word);
    *word = longer;
}

/* Adds "--option value" or "--option=value"; a second value of one option joins the first. */
static void add_words(opal_strings_t *list, const char *option, const char *value)
{
    size_t length = strcspn(option, "=");
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i], option, length) != 0)
            continue;
        if (option[length] == '=' && list->items[i][length] == '=') {
            extend(&list->items[i], option + length + 1);
            return;
        }
        if (value != NULL && list->items[i][length] == 0 && i + 1 < list->count) {
            extend(&list->items[i + 1], value);
            return;
        }
    }
    opal_strings_add(list, option);
    if (value != NULL)
        opal_strings_add(list, value);
}

static void apply(translation_t *translation, const given_t *given, const spelling_t *spelling)
{
    handover_t *to = translation->to;
    char *text = fill(spelling->text != NULL ? spelling->text : "", given->value);
    char *value;
    switch (spelling->kind) {
    case SPELLING_WORDS:
        value = strchr(text, ' ');
        if (value != NULL)
            *value++ = 0;
        add_words(&to->words, text, value);
        break;
    case SPELLING_VARIABLE:
        opal_strings_add(&to->settings, text);
        break;
    case SPELLING_NO_INPUT:
        to->has_no_input = true;
        break;
    case SPELLING_REFUSED:
        refuse(translation, given->typed, spelling->text);
        break;
    case SPELLING_DONE:
    case SPELLING_BUILT:
        break;
    }
    free(text);
}

/* The last occurrence of an option on the command line; NULL: it was not given. */
static const given_t *find_given(const options_t *options, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = options->given_count; i > 0; i--) {
        const given_t *given = &options->given[i - 1];
        if (strcspn(given->name, " ") == length && strncmp(given->name, name, length) == 0)
            return given;
    }
    return NULL;
}

static void translate_options(translation_t *translation)
{
    const spelling_row_t *row;
    for (size_t i = 0; (row = spelling_row(i)) != NULL; i++) {
        const given_t *given = find_given(&translation->job->options, row->option);
        if (given != NULL && spelling_find(row->option, given->value) == row)
            apply(translation, given, &row->by[translation->launcher]);
    }
}

/* Hydra's -bind-to combines two options of this mpirun: the level, and how many objects of it. */
static void translate_binding(translation_t *translation)
{
    const options_t *options = &translation->job->options;
    opal_strings_t *words = &translation->to->words;
    const given_t *bind = find_given(options, "bind-to");
    const given_t *count = find_given(options, "cpus-per-rank");
    if (translation->launcher != OPAL_LAUNCHER_HYDRA || (bind == NULL && count == NULL))
        return;
    const char *level = bind != NULL ? bind->value : options->use_hwthreads ? "hwthread" : "core";
    bool is_small = strcmp(level, "core") == 0 || strcmp(level, "hwthread") == 0;
    if (options->cpus_per_rank > 1 && !is_small)
        refuse(translation, count->typed,
               "several cores for each rank need --bind-to core or hwthread");
    opal_strings_add(words, "-bind-to");
    if (options->cpus_per_rank > 0 && is_small)
        add(words, "%s:%u", level, options->cpus_per_rank);
    else
        opal_strings_add(words, level);
}

/* -- hosts --------------------------------------------------------------------------------------
 */

/* In Slurm the allocation decides how many ranks a node takes; srun accepts one number for all. */
static void name_nodes(translation_t *translation, opal_text_t *list)
{
    const hosts_t *hosts = &translation->job->options.hosts;
    const host_t *first = &hosts->items[0];
    bool same = true;
    for (size_t i = 0; i < hosts->count; i++) {
        const host_t *host = &hosts->items[i];
        same = same && host->has_number == first->has_number && host->slots == first->slots;
        opal_text_printf(list, "%s%s", i > 0 ? "," : "", host->name);
    }
    if (translation->job->options.per_node > 0)
        return; /* translate_options has added it */
    if (!same)
        refuse(translation, "slots", "there each host can only have the same number of them");
    else if (first->has_number)
        add(&translation->to->words, "--ntasks-per-node=%u", first->slots);
}

static void name_hosts(translation_t *translation, opal_text_t *list)
{
    const hosts_t *hosts = &translation->job->options.hosts;
    for (size_t i = 0; i < hosts->count; i++) {
        const host_t *host = &hosts->items[i];
        bool is_ipv6 = strchr(host->name, ':') != NULL;
        if (is_ipv6 && translation->launcher == OPAL_LAUNCHER_HYDRA)
            refuse(translation, host->name, "it takes no IPv6 address; use a name");
        opal_text_printf(list, is_ipv6 ? "%s[%s]" : "%s%s", i > 0 ? "," : "", host->name);
        if (host->has_number)
            opal_text_printf(list, ":%u", host->slots);
        else if (host->slots == 0 && translation->launcher == OPAL_LAUNCHER_PRTERUN)
            opal_text_add(list, ":auto");
    }
}

static void translate_hosts(translation_t *translation)
{
    opal_strings_t *words = &translation->to->words;
    opal_text_t list = {0};
    if (translation->job->options.hosts.count == 0)
        return;
    if (translation->launcher == OPAL_LAUNCHER_SRUN) {
        name_nodes(translation, &list);
        add(words, "--nodelist=%s", opal_text_string(&list));
    } else {
        name_hosts(translation, &list);
        opal_strings_add(words, translation->launcher == OPAL_LAUNCHER_HYDRA ? "-hosts" : "--host");
        opal_strings_add(words, opal_text_string(&list));
    }
    opal_text_free(&list);
}

static void translate_agent(translation_t *translation)
{
    opal_strings_t *words = &translation->to->words;
    const options_t *options = &translation->job->options;
    bool is_hydra = translation->launcher == OPAL_LAUNCHER_HYDRA;
    if (translation->launcher == OPAL_LAUNCHER_SRUN)
        return; /* it has daemons on its nodes */
    if (options->rsh_agent != NULL && is_hydra) {
        opal_strings_split(words, "-launcher ssh -launcher-exec", " ");
        opal_strings_add(words, options->rsh_agent);
    } else if (options->rsh_agent != NULL) {
        opal_strings_split(words, "--prtemca plm_ssh_agent", " ");
        opal_strings_add(words, options->rsh_agent);
    }
    if (options->rsh_args != NULL && is_hydra) {
        add(&translation->to->settings, "HYDRA_LAUNCHER_EXTRA_ARGS=%s", options->rsh_args);
    } else if (options->rsh_args != NULL) {
        opal_strings_split(words, "--prtemca plm_ssh_args", " ");
        opal_strings_add(words, options->rsh_args);
    }
}

/* -- programs -----------------------------------------------------------------------------------
 */

/* The number of ranks of an app; 0: the launcher decides. */
static unsigned count_ranks(translation_t *translation, const app_t *app)
{
    const hosts_t *hosts = &translation->job->options.hosts;
    unsigned per_node = translation->job->options.per_node;
    if (app->rank_count != 0)
        return app->rank_count;
    if (translation->job->app_count > 1)
        return 1;
    if (per_node > 0 && hosts->count > 0)
        return per_node * (unsigned)hosts->count;
    if (translation->launcher != OPAL_LAUNCHER_HYDRA)
        return 0;
    if (hosts->count == 0 || hosts->whole_node)
        refuse(translation, "a job without -n",
               "it does not know how many slots the hosts have; give -n, or slots=N for each");
    return hosts->slots;
}

/* Adds what executes a program, by --wrap. */
static void add_wraps(translation_t *translation, opal_strings_t *words)
{
    const char *complaint = wrap_foreign_words(&translation->job->options.wraps, words);
    if (complaint != NULL)
        refuse(translation, "--wrap with RANKS", complaint);
}

static void add_app_context(translation_t *translation, const app_t *app)
{
    opal_strings_t *words = &translation->to->words;
    bool is_hydra = translation->launcher == OPAL_LAUNCHER_HYDRA;
    unsigned count = count_ranks(translation, app);
    if (count > 0)
        opal_strings_add(words, "-n"), add(words, "%u", count);
    if (app->wdir != NULL) {
        opal_strings_add(words, is_hydra ? "-wdir" : "--wdir");
        opal_strings_add(words, app->wdir);
    }
    for (char **setting = environ; !is_hydra && *setting != NULL; setting++) {
        if (strncmp(*setting, "OMPI_MCA_", 9) == 0 || strncmp(*setting, "MICA_MCA_", 9) == 0)
            opal_strings_add(words, "-x"), opal_strings_add(words, *setting);
    }
    for (size_t i = 0; i < app->export.count; i++) {
        const char *setting = app->export.items[i];
        opal_strings_add(words, is_hydra ? "-env" : "-x");
        if (is_hydra) {
            add(words, "%.*s", (int)strcspn(setting, "="), setting);
            opal_strings_add(words, strchr(setting, '=') + 1);
        } else {
            opal_strings_add(words, setting);
        }
    }
    add_wraps(translation, words);
    for (size_t i = 0; i < app->argv.count; i++)
        opal_strings_add(words, app->argv.items[i]);
}

/* Adds a word to srun's file of programs, in which quotes, % and # have a meaning of their own. */
static void add_program_word(translation_t *translation, const char *word)
{
    if (word[0] == 0 || strpbrk(word, " \t\n\"'\\%#") != NULL)
        refuse(translation, word[0] != 0 ? word : "an empty word",
               "with several programs no word may be empty, or have blanks, quotes, \\, % or #");
    opal_text_printf(&translation->to->programs, " %s", word);
}

static void add_program(translation_t *translation, const app_t *app, unsigned first)
{
    opal_text_t *file = &translation->to->programs;
    unsigned count = count_ranks(translation, app);
    if (count > 1)
        opal_text_printf(file, "%u-%u", first, first + count - 1);
    else
        opal_text_printf(file, "%u", first);
    if (app->wdir != NULL || app->export.count > 0)
        opal_text_add(file, " env");
    if (app->wdir != NULL) {
        opal_text_add(file, " -C");
        add_program_word(translation, app->wdir);
    }
    for (size_t i = 0; i < app->export.count; i++)
        add_program_word(translation, app->export.items[i]);
    opal_strings_t words = {0};
    add_wraps(translation, &words);
    for (size_t i = 0; i < app->argv.count; i++)
        opal_strings_add(&words, app->argv.items[i]);
    for (size_t i = 0; i < words.count; i++)
        add_program_word(translation, words.items[i]);
    opal_strings_free(&words);
    opal_text_add(file, "\n");
}

static void translate_programs_for_srun(translation_t *translation)
{
    const job_t *job = translation->job;
    handover_t *to = translation->to;
    unsigned total = 0;
    for (size_t i = 0; i < job->app_count; i++)
        total += count_ranks(translation, &job->apps[i]);
    if (total > 0)
        add(&to->words, "--ntasks=%u", total);
    if (job->app_count > 1) {
        unsigned first = 0;
        for (size_t i = 0; i < job->app_count; i++) {
            add_program(translation, &job->apps[i], first);
            first += count_ranks(translation, &job->apps[i]);
        }
        opal_strings_add(&to->words, "--multi-prog");
        opal_strings_add(&to->words, HANDOVER_FILE);
        return;
    }
    const app_t *app = &job->apps[0];
    if (app->wdir != NULL)
        add(&to->words, "--chdir=%s", app->wdir);
    for (size_t i = 0; i < app->export.count; i++)
        opal_strings_add(&to->settings, app->export.items[i]);
    add_wraps(translation, &to->words);
    for (size_t i = 0; i < app->argv.count; i++)
        opal_strings_add(&to->words, app->argv.items[i]);
}

static void translate_programs(translation_t *translation)
{
    for (size_t i = 0; i < translation->job->app_count; i++) {
        if (i > 0)
            opal_strings_add(&translation->to->words, ":");
        add_app_context(translation, &translation->job->apps[i]);
    }
}

/* -- all ----------------------------------------------------------------------------------------
 */

/* The ranks do not know that the errors go to a terminal in the end. */
static void hand_over_hang(translation_t *translation)
{
    static const char name[] = "OMPI_MCA_mpirun_report_hang";
    double seconds = translation->job->options.report_hang;
    if (seconds <= 0 || getenv(name) != NULL)
        return;
    char *value = opal_xprintf("%g", seconds);
    setenv(name, value, 1); /* add_app_context reads it */
    add(&translation->to->settings, "%s=%s", name, value);
    free(value);
}

/* Adds the words that do not depend on options. */
static void begin(translation_t *translation)
{
    const options_t *options = &translation->job->options;
    opal_strings_t *words = &translation->to->words;
    for (size_t i = 0; i < options->mca.count; i++)
        add(&translation->to->settings, "OMPI_MCA_%s", options->mca.items[i]);
    hand_over_hang(translation);
    if (translation->launcher == OPAL_LAUNCHER_HYDRA)
        opal_strings_add(words, "-genvall");
    if (translation->launcher != OPAL_LAUNCHER_SRUN)
        return;
    opal_strings_add(words, "--export=ALL");
    if (getenv("SLURM_MPI_TYPE") == NULL)
        add(words, "--mpi=%s", options->slurm_mpi);
    if (getenv("SLURM_KILL_BAD_EXIT") == NULL)
        opal_strings_add(words,
                         "--kill-on-bad-exit=1"); /* else ranks wait for one that failed to start */
    if (find_given(options, "stdin") == NULL)
        opal_strings_add(words, "--input=0"); /* by default all ranks get the input */
}

bool handover_translate(const job_t *job, opal_launcher_t launcher, const char *path,
                        handover_t *handover)
{
    translation_t translation = {.job = job, .launcher = launcher, .to = handover, .good = true};
    *handover = (handover_t){0};
    opal_strings_add(&handover->words, path);
    begin(&translation);
    translate_options(&translation);
    translate_binding(&translation);
    translate_hosts(&translation);
    translate_agent(&translation);
    if (launcher == OPAL_LAUNCHER_SRUN)
        translate_programs_for_srun(&translation);
    else
        translate_programs(&translation);
    if (!translation.good)
        handover_free(handover);
    return translation.good;
}

void handover_free(handover_t *handover)
{
    opal_strings_free(&handover->settings);
    opal_strings_free(&handover->words);
    opal_text_free(&handover->programs);
    *handover = (handover_t){0};
}

/* -- doing it -----------------------------------------------------------------------------------
 */

static void quote(opal_text_t *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_+=:,./-";
    if (word[0] != 0 && word[strspn(word, plain)] == 0) {
        opal_text_add(text, word);
        return;
    }
    opal_text_add(text, "'");
    for (; *word != 0; word++)
        opal_text_printf(text, *word == '\'' ? "'\\''" : "%c", *word);
    opal_text_add(text, "'");
}

char *handover_text(const handover_t *handover)
{
    opal_text_t text = {0};
    for (size_t i = 0; i < handover->settings.count; i++) {
        quote(&text, handover->settings.items[i]);
        opal_text_add(&text, " ");
    }
    for (size_t i = 0; i < handover->words.count; i++) {
        opal_text_add(&text, i > 0 ? " " : "");
        quote(&text, handover->words.items[i]);
    }
    if (handover->has_no_input)
        opal_text_add(&text, " </dev/null");
    if (handover->programs.length > 0)
        opal_text_printf(&text, " %d<<'END'\n%sEND", HANDOVER_FD,
                         opal_text_string(&handover->programs));
    return opal_text_take(&text);
}

/* The file of programs, at its descriptor. */
static bool offer_programs(const opal_text_t *programs)
{
    int fd = memfd_create("mica-programs", 0);
    if (fd < 0 ||
        write(fd, opal_text_string(programs), programs->length) != (ssize_t)programs->length ||
        (fd != HANDOVER_FD && dup2(fd, HANDOVER_FD) < 0)) {
        opal_log_error("cannot write the list of programs: %s", strerror(errno));
        return false;
    }
    return true;
}

int handover_run(const handover_t *handover)
{
    const char *path = handover->words.items[0];
    if (handover->programs.length > 0 && !offer_programs(&handover->programs))
        return STATUS_TROUBLE;
    if (handover->has_no_input && freopen("/dev/null", "r", stdin) == NULL) {
        opal_log_error("cannot open /dev/null: %s", strerror(errno));
        return STATUS_TROUBLE;
    }
    environment_drop_foreign();
    for (size_t i = 0; i < handover->settings.count; i++)
        putenv(handover->settings.items[i]);
    char **words = opal_xcalloc(handover->words.count + 1, sizeof *words);
    memcpy(words, handover->words.items, handover->words.count * sizeof *words);
    execv(path, words);
    opal_log_error("cannot start %s: %s", path, strerror(errno));
    free(words);
    return STATUS_NOT_EXECUTABLE;
}
