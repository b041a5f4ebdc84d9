/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameter registry: settings (what users wrote, wherever) on one side,
 * entries (what components registered) on the other. Registration joins them.
 */
#include "opal/mca/base/param.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/foreign.h"
#include "opal/mca/base/param_file.h"
#include "opal/mca/base/param_value.h"
#include "opal/util/say.h"

const opal_param_choice_t opal_param_auto_yes_no[] = {
    {"auto", OPAL_PARAM_AUTO}, {"yes", OPAL_PARAM_YES}, {"no", OPAL_PARAM_NO}, {0}};

static const char environment_prefix[] = "OMPI_MCA_";

/* Names the files to read; looked up before they are, so it cannot stand in them. */
static const char files_parameter[] = "mca_base_param_files";

/* Set by mpirun: the names that it got by --mca and put into the environment. */
static const char command_line_names[] = "MICA_MCA_COMMAND_LINE";

typedef struct setting {
    char *name, *value, *origin;
    opal_param_source_t source;
    bool taken; /* a registered parameter has this name */
} setting_t;

typedef struct entry {
    opal_param_info_t info; /* full_name, framework and component are owned */
    const opal_param_row_t *table;
    char *read_out; /* what info.value_text of a read-out points to; NULL: never looked at */
} entry_t;

static struct {
    unsigned init_count;
    setting_t *settings;
    size_t setting_count;
    entry_t *entries;
    size_t entry_count;
    const opal_param_watcher_t *watcher; /* NULL: nobody is told */
} registry;

/* Protects the registry. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void opal_param_lock(void)
{
    pthread_mutex_lock(&lock);
}

void opal_param_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* -- settings ----------------------------------------------------------------- */

static setting_t *find_setting(const char *name, opal_param_source_t source)
{
    for (size_t i = 0; i < registry.setting_count; i++) {
        setting_t *setting = &registry.settings[i];
        if (setting->source == source && strcmp(setting->name, name) == 0)
            return setting;
    }
    return NULL;
}

/* What the strongest source says about a name, or NULL. */
static setting_t *strongest_setting(const char *name)
{
    for (int source = OPAL_PARAM_SOURCE_COUNT - 1; source >= 0; source--) {
        setting_t *setting = find_setting(name, (opal_param_source_t)source);
        if (setting != NULL)
            return setting;
    }
    return NULL;
}

/* A parameter has this name, so that it is no typing error, whichever sources use it. */
static void mark_taken(const char *name)
{
    for (size_t i = 0; i < registry.setting_count; i++) {
        if (strcmp(registry.settings[i].name, name) == 0)
            registry.settings[i].taken = true;
    }
}

/* Within one source the later setting wins, as in a shell script. Takes `origin` over. */
static void add_setting(const char *name, const char *value, opal_param_source_t source,
                        char *origin)
{
    setting_t *setting = find_setting(name, source);
    if (setting == NULL) {
        registry.settings = opal_xrealloc(registry.settings,
                                          (registry.setting_count + 1) * sizeof *registry.settings);
        setting = &registry.settings[registry.setting_count++];
        *setting = (setting_t){.name = opal_xstrdup(name), .source = source};
    }
    free(setting->value);
    free(setting->origin);
    setting->value = opal_xstrdup(value);
    setting->origin = origin;
}

static void read_environment(void)
{
    opal_strings_t by_command_line = {0};
    const char *names = getenv(command_line_names);
    if (names != NULL)
        opal_strings_split(&by_command_line, names, ",");

    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        size_t prefix = sizeof environment_prefix - 1;
        const char *equals = strchr(*variable, '=');
        if (equals == NULL || strncmp(*variable, environment_prefix, prefix) != 0)
            continue;
        char *name = opal_xstrndup(*variable + prefix, (size_t)(equals - *variable) - prefix);
        if (opal_strings_has(&by_command_line, name))
            add_setting(name, equals + 1, OPAL_PARAM_FROM_COMMAND_LINE,
                        opal_xstrdup("mpirun --mca"));
        else
            add_setting(name, equals + 1, OPAL_PARAM_FROM_ENVIRONMENT, opal_xstrdup("environment"));
        free(name);
    }
    opal_strings_free(&by_command_line);
}

typedef struct file_being_read {
    const char *path;
    opal_param_source_t source;
} file_being_read_t;

static void file_setting(const char *name, const char *value, unsigned line, void *context)
{
    const file_being_read_t *file = context;
    if (strncmp(name, environment_prefix, sizeof environment_prefix - 1) == 0)
        name += sizeof environment_prefix - 1;
    if (strcmp(name, files_parameter) == 0) {
        opal_diagnostic(OPAL_WARNING,
                        "%s:%u: %s has no effect in a file; it works in the environment and as "
                        "mpirun --mca",
                        file->path, line, name);
        return;
    }
    add_setting(name, value, file->source, opal_xprintf("%s:%u", file->path, line));
}

static void file_complaint(const char *complaint, unsigned line, void *context)
{
    const file_being_read_t *file = context;
    opal_diagnostic(OPAL_ERROR, "%s:%u: this line cannot be read: %s", file->path, line, complaint);
}

/* A pipe would keep start-up waiting for its writer, or give its text to one rank only. */
static FILE *open_file(const char *path, const char **complaint)
{
    struct stat status;
    errno = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_pipe = fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
    FILE *stream = fd < 0 || is_pipe ? NULL : fdopen(fd, "r");
    *complaint = is_pipe ? "it is a pipe" : strerror(errno);
    if (stream == NULL && fd >= 0)
        close(fd);
    return stream;
}

/*
 * A missing file is an error if the user has named it. An unreadable file that the user has not
 * named is a warning: HOME may be another user's.
 */
static void read_file(const char *path, opal_param_source_t source, bool named)
{
    enum { LARGEST_FILE = 1 << 20 };
    opal_severity_t severity = named ? OPAL_ERROR : OPAL_WARNING;
    const char *complaint;
    FILE *stream = open_file(path, &complaint);
    if (stream == NULL) {
        if (named || (errno != ENOENT && errno != ENOTDIR))
            opal_diagnostic(severity, "the parameter file %s cannot be read: %s", path, complaint);
        return;
    }
    file_being_read_t file = {path, source};
    char *bytes = opal_xmalloc(LARGEST_FILE + 1);
    size_t length = fread(bytes, 1, LARGEST_FILE + 1, stream);
    if (ferror(stream))
        opal_diagnostic(severity, "the parameter file %s cannot be read: %s", path,
                        strerror(errno));
    else if (length > LARGEST_FILE)
        opal_diagnostic(OPAL_ERROR, "the parameter file %s is larger than 1 MiB", path);
    else
        opal_param_file_parse(bytes, length, file_setting, file_complaint, &file);
    free(bytes);
    fclose(stream);
}

static void read_files(void)
{
    char complaint[OPAL_COMPLAINT_MAX_BYTES];
    const setting_t *named = strongest_setting(files_parameter);
    if (named != NULL) {
        opal_strings_t paths = {0};
        opal_strings_split(&paths, named->value, ",");
        for (size_t i = 0; i < paths.count; i++) {
            char *path = opal_param_expand(paths.items[i], complaint);
            if (path != NULL)
                read_file(path, OPAL_PARAM_FROM_USER_FILE, true);
            else
                opal_diagnostic(OPAL_ERROR, "%s names \"%s\": %s", files_parameter, paths.items[i],
                                complaint);
            free(path);
        }
        opal_strings_free(&paths);
        return;
    }
    read_file(opal_param_file_system(), OPAL_PARAM_FROM_SYSTEM_FILE, false);
    char *path = getenv("HOME") != NULL ? opal_param_expand(OPAL_PARAM_FILE_USER, complaint) : NULL;
    if (path != NULL)
        read_file(path, OPAL_PARAM_FROM_USER_FILE, false);
    free(path);
}

void opal_param_init(void)
{
    opal_param_lock();
    if (registry.init_count++ == 0) {
        read_environment();
        read_files();
    }
    opal_param_unlock();
}

const char *opal_param_setting(const char *full_name, const char **origin)
{
    opal_param_lock();
    const setting_t *setting = strongest_setting(full_name);
    const char *value = setting != NULL ? setting->value : NULL;
    if (setting != NULL && origin != NULL)
        *origin = setting->origin;
    opal_param_unlock();
    return value;
}

/* -- entries ------------------------------------------------------------------ */

static char *join_name(const char *framework, const char *component, const char *name)
{
    const char *parts[] = {framework, component, name};
    opal_text_t full = {0};
    for (size_t i = 0; i < OPAL_COUNT_OF(parts); i++) {
        if (*parts[i] != 0)
            opal_text_printf(&full, "%s%s", full.length > 0 ? "_" : "", parts[i]);
    }
    return opal_text_take(&full);
}

static entry_t *find_entry(const char *full_name)
{
    for (size_t i = 0; i < registry.entry_count; i++) {
        if (strcmp(registry.entries[i].info.full_name, full_name) == 0)
            return &registry.entries[i];
    }
    return NULL;
}

/* A variable of another project that the row lists is a setting of the environment under the row's
 * name, unless the environment has one of that name already. */
static void take_foreign_variables(const entry_t *entry)
{
    const char *name = entry->info.full_name;
    opal_strings_t variables = {0};
    if (entry->info.row->variables != NULL)
        opal_strings_split(&variables, entry->info.row->variables, ",");
    for (size_t i = 0; i < variables.count; i++) {
        const char *value = getenv(variables.items[i]);
        if (value != NULL && find_setting(name, OPAL_PARAM_FROM_ENVIRONMENT) == NULL)
            add_setting(name, value, OPAL_PARAM_FROM_ENVIRONMENT,
                        opal_xprintf("environment, %s", variables.items[i]));
    }
    opal_strings_free(&variables);
}

/* Replaced and removed names are known, but nobody is told of them. */
static bool is_hidden(const opal_param_row_t *row)
{
    return row->deprecated != NULL || row->removed != NULL;
}

static void warn_synonym(const entry_t *entry, const setting_t *old, bool wins)
{
    if (entry->info.row->deprecated == NULL)
        opal_diagnostic(OPAL_WARNING, "%s (%s) is deprecated; the parameter's name is %s%s",
                        old->name, old->origin, entry->info.full_name,
                        wins ? "" : ", which is set too and counts");
}

/*
 * The setting that counts for an entry: the strongest, by whichever of its names; the proper
 * name where both are equally strong.
 */
static setting_t *setting_for(entry_t *entry)
{
    take_foreign_variables(entry);
    setting_t *best = strongest_setting(entry->info.full_name);
    entry->info.synonym_used = NULL;
    mark_taken(entry->info.full_name);
    if (entry->info.row->synonyms == NULL)
        return best;

    opal_strings_t synonyms = {0};
    opal_strings_split(&synonyms, entry->info.row->synonyms, ",");
    for (size_t i = 0; i < synonyms.count; i++) {
        setting_t *old = strongest_setting(synonyms.items[i]);
        if (old == NULL)
            continue;
        mark_taken(old->name);
        bool wins = best == NULL || old->source > best->source;
        warn_synonym(entry, old, wins);
        if (wins) {
            best = old;
            entry->info.synonym_used = old->name;
        }
    }
    opal_strings_free(&synonyms);
    return best;
}

static void describe_default(entry_t *entry)
{
    entry->info.source = OPAL_PARAM_FROM_DEFAULT;
    entry->info.origin = "default";
    entry->info.value_text = entry->info.row->preset != NULL ? entry->info.row->preset : "";
}

static opal_status_t refuse(const setting_t *setting, const char *complaint)
{
    opal_diagnostic(OPAL_ERROR, "%s = \"%s\" (%s) is refused: %s", setting->name, setting->value,
                    setting->origin, complaint);
    return OPAL_ERR_BAD_PARAM;
}

static opal_status_t begin_read_out(entry_t *entry)
{
    const setting_t *setting = setting_for(entry);
    describe_default(entry);
    entry->info.origin = "read-out";
    if (setting == NULL)
        return OPAL_SUCCESS;
    return refuse(setting, "it tells what the library does, and nobody can set it");
}

static void warn_removed(entry_t *entry)
{
    const setting_t *setting = setting_for(entry);
    if (setting != NULL)
        opal_diagnostic(OPAL_WARNING, "%s (%s) was removed, so its value \"%s\" has no effect; %s",
                        setting->name, setting->origin, setting->value, entry->info.row->removed);
}

static opal_status_t set_entry(entry_t *entry)
{
    char complaint[OPAL_COMPLAINT_MAX_BYTES];
    const opal_param_row_t *row = entry->info.row;

    if (row->removed != NULL) {
        warn_removed(entry);
        return OPAL_SUCCESS;
    }
    if (row->refresh != NULL)
        return begin_read_out(entry);
    opal_param_value_clear(row);
    describe_default(entry);
    if (!opal_param_value_set(row, row->preset, complaint)) {
        opal_diagnostic(OPAL_ERROR, "the default \"%s\" of the parameter %s is wrong: %s",
                        row->preset != NULL ? row->preset : "", entry->info.full_name, complaint);
        return OPAL_ERR_BAD_PARAM;
    }
    setting_t *setting = setting_for(entry);
    if (setting == NULL)
        return OPAL_SUCCESS;
    if (row->deprecated != NULL)
        opal_diagnostic(OPAL_WARNING, "%s (%s) is deprecated; %s", setting->name, setting->origin,
                        row->deprecated);

    if (!opal_param_value_set(row, setting->value, complaint))
        return refuse(setting, complaint);
    entry->info.source = setting->source;
    entry->info.origin = setting->origin;
    entry->info.value_text = setting->value;
    return OPAL_SUCCESS;
}

static int by_place(const void *a, const void *b)
{
    const opal_param_info_t *left = &((const entry_t *)a)->info;
    const opal_param_info_t *right = &((const entry_t *)b)->info;
    int order = strcmp(left->framework, right->framework);
    if (order == 0)
        order = strcmp(left->component, right->component);
    return order != 0 ? order : strcmp(left->full_name, right->full_name);
}

static entry_t *add_entry(char *full_name, const char *framework, const char *component,
                          const opal_param_row_t *table, const opal_param_row_t *row)
{
    registry.entries =
        opal_xrealloc(registry.entries, (registry.entry_count + 1) * sizeof *registry.entries);
    entry_t *entry = &registry.entries[registry.entry_count++];
    *entry = (entry_t){
        .info = {.full_name = full_name,
                 .framework = opal_xstrdup(framework),
                 .component = opal_xstrdup(component),
                 .row = row},
        .table = table,
    };
    return entry;
}

void opal_param_watch(const opal_param_watcher_t *watcher)
{
    opal_param_lock();
    registry.watcher = watcher;
    opal_param_unlock();
}

static void tell_added(const entry_t *entry)
{
    if (registry.watcher != NULL && !is_hidden(entry->info.row))
        registry.watcher->added(&entry->info);
}

static void tell_leaving(const entry_t *entry)
{
    if (registry.watcher != NULL && !is_hidden(entry->info.row))
        registry.watcher->leaving(&entry->info);
}

opal_status_t opal_param_register(const char *framework, const char *component,
                                  const opal_param_row_t *table)
{
    opal_status_t status = OPAL_SUCCESS;
    opal_param_lock();
    for (const opal_param_row_t *row = table; row != NULL && row->name != NULL; row++) {
        char *full_name = join_name(framework, component, row->name);
        const entry_t *known = find_entry(full_name);
        if (known != NULL) {
            if (known->info.row != row)
                opal_diagnostic(OPAL_ERROR, "two parameters have the name %s", full_name);
            free(full_name);
            continue;
        }
        entry_t *entry = add_entry(full_name, framework, component, table, row);
        if (set_entry(entry) != OPAL_SUCCESS)
            status = OPAL_ERR_BAD_PARAM;
        tell_added(entry);
    }
    opal_param_unlock();
    return status;
}

/* Whether the value of the text makes sense; if not, the old one is back. */
static bool write_entry(const entry_t *entry, const char *text)
{
    const opal_param_row_t *row = entry->info.row;
    char complaint[OPAL_COMPLAINT_MAX_BYTES];
    char *old = opal_xstrdup(entry->info.value_text);
    bool fits = opal_param_value_set(row, text, complaint);
    if (fits && row->written != NULL && !row->written()) {
        opal_diagnostic_report(true); /* why not: start-up is over, and this rank has written it */
        opal_param_value_set(row, old, complaint);
        row->written();
        fits = false;
    }
    free(old);
    return fits;
}

bool opal_param_write(const char *full_name, const char *text)
{
    opal_param_lock();
    entry_t *entry = find_entry(full_name);
    bool fits = entry == NULL || write_entry(entry, text);
    if (fits)
        add_setting(full_name, text, OPAL_PARAM_FROM_TOOL, opal_xstrdup("MPI_T_cvar_write"));
    if (fits && entry != NULL) {
        const setting_t *setting = find_setting(full_name, OPAL_PARAM_FROM_TOOL);
        entry->info.source = setting->source;
        entry->info.origin = setting->origin;
        entry->info.value_text = setting->value;
    }
    opal_param_unlock();
    return fits;
}

/* Whether the text was taken. */
static bool set_early(const opal_param_row_t *row, const char *text)
{
    return text != NULL && opal_param_value_set(row, text, NULL);
}

/* The variables are short names of ours: one that does not fit the buffer is not in the list. */
static bool set_by_variables(const opal_param_row_t *row)
{
    char name[64];
    for (const char *at = row->variables; at != NULL && *at != 0; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (length < sizeof name) {
            memcpy(name, at, length);
            name[length] = 0;
            if (set_early(row, getenv(name)))
                return true;
        }
        at += length;
    }
    return false;
}

void opal_param_read_early(const char *framework, const opal_param_row_t *table)
{
    char name[OPAL_COMPLAINT_MAX_BYTES];
    for (size_t i = 0; i < registry.entry_count; i++) {
        if (registry.entries[i].table == table)
            return;
    }
    for (const opal_param_row_t *row = table; row->name != NULL; row++) {
        if (row->removed != NULL)
            continue;
        opal_say_into(name, sizeof name, "%s%s_%s", environment_prefix, framework, row->name);
        set_early(row, row->preset);
        if (!set_early(row, getenv(name)))
            set_by_variables(row);
    }
}

static void free_entry(entry_t *entry)
{
    tell_leaving(entry);
    opal_param_value_clear(entry->info.row);
    free((char *)entry->info.full_name);
    free((char *)entry->info.framework);
    free((char *)entry->info.component);
    free(entry->read_out);
}

void opal_param_withdraw(const opal_param_row_t *table)
{
    size_t left = 0;
    opal_param_lock();
    for (size_t i = 0; i < registry.entry_count; i++) {
        if (registry.entries[i].table == table)
            free_entry(&registry.entries[i]);
        else
            registry.entries[left++] = registry.entries[i];
    }
    registry.entry_count = left;
    opal_param_unlock();
}

static void look(entry_t *entry)
{
    const opal_param_row_t *row = entry->info.row;
    row->refresh();
    free(entry->read_out);
    entry->read_out = opal_xprintf("%zu", *(const size_t *)row->value);
    entry->info.value_text = entry->read_out;
}

void opal_param_visit(opal_param_visit_fn_t *visit, void *context)
{
    opal_param_lock();
    if (registry.entry_count > 1)
        qsort(registry.entries, registry.entry_count, sizeof *registry.entries, by_place);
    for (size_t i = 0; i < registry.entry_count; i++) {
        if (is_hidden(registry.entries[i].info.row))
            continue;
        if (registry.entries[i].info.row->refresh != NULL)
            look(&registry.entries[i]);
        visit(&registry.entries[i].info, context);
    }
    opal_param_unlock();
}

/* Adds to the note if the setting is another MPI's; `nearest` is what could have been meant. */
static bool note_foreign(const setting_t *setting, const char *nearest, opal_text_t *note)
{
    char *here = NULL;
    if (!opal_foreign_parameter(setting->name, &here) &&
        (nearest != NULL || !opal_foreign_framework(setting->name)))
        return false;
    opal_text_printf(note, "%s%s (%s", note->length > 0 ? ", " : "", setting->name,
                     setting->origin);
    if (here != NULL && find_entry(here) != NULL)
        opal_text_printf(note, "; here it is %s", here);
    opal_text_add(note, ")");
    free(here);
    return true;
}

size_t opal_param_diagnose_unknown(opal_param_foreign_fn_t *is_foreign)
{
    const char **names = opal_xcalloc(registry.entry_count + 1, sizeof *names);
    size_t unknown = 0, name_count = 0;
    opal_text_t note = {0};
    opal_param_lock();
    for (size_t i = 0; i < registry.entry_count; i++) {
        if (!is_hidden(registry.entries[i].info.row))
            names[name_count++] = registry.entries[i].info.full_name;
    }

    for (size_t i = 0; i < registry.setting_count; i++) {
        const setting_t *setting = &registry.settings[i];
        if (setting->taken || find_entry(setting->name) != NULL ||
            setting->source == OPAL_PARAM_FROM_TOOL ||
            (is_foreign != NULL && is_foreign(setting->name)))
            continue;
        const char *nearest = opal_nearest_name(setting->name, names, name_count);
        if (note_foreign(setting, nearest, &note))
            continue;
        unknown++;
        opal_diagnostic(OPAL_WARNING,
                        "%s (%s) is not a parameter, so its value \"%s\" has no effect%s%s%s",
                        setting->name, setting->origin, setting->value,
                        nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "?" : "; ompi_info --all lists all of them");
    }
    if (note.length > 0)
        opal_diagnostic(OPAL_NOTE, "parameters of another MPI have no effect: %s",
                        opal_text_string(&note));
    opal_param_unlock();
    opal_text_free(&note);
    free(names);
    return unknown;
}

/* All but what a tool has written, which counts when the library starts again. */
static void free_settings(void)
{
    size_t left = 0;
    for (size_t i = 0; i < registry.setting_count; i++) {
        setting_t *setting = &registry.settings[i];
        if (setting->source == OPAL_PARAM_FROM_TOOL) {
            registry.settings[left++] = *setting;
            continue;
        }
        free(setting->name);
        free(setting->value);
        free(setting->origin);
    }
    registry.setting_count = left;
    if (left == 0) {
        free(registry.settings);
        registry.settings = NULL;
    }
}

void opal_param_fini(void)
{
    opal_param_lock();
    if (registry.init_count > 0 && --registry.init_count == 0) {
        for (size_t i = 0; i < registry.entry_count; i++)
            free_entry(&registry.entries[i]);
        free(registry.entries);
        registry.entries = NULL;
        registry.entry_count = 0;
        free_settings();
    }
    opal_param_unlock();
}
