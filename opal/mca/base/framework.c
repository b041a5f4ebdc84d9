/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frameworks: which there are, which components they have, and which of these the user allows.
 * select.c chooses. The candidates keep the reasons of every decision, for a person who asks.
 */
#include "opal/mca/base/framework.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/bound.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/dso.h"
#include "opal/mca/base/foreign.h"

enum { MAX_PROJECTS = 4 };

static const opal_project_t *projects[MAX_PROJECTS] = {&opal_project};
static bool load_excluded;

static opal_strings_t component_path, param_files;

static const opal_param_row_t base_params[] = {
    {.name = "component_path",
     .type = OPAL_PARAM_LIST,
     .value = &component_path,
     .write = OPAL_PARAM_NEVER,
     .prose = "Directories that are searched for component DSOs before the directory of the "
              "installed ones; ',' or ':' separates them"},
    {.name = "param_files",
     .type = OPAL_PARAM_LIST,
     .value = &param_files,
     .write = OPAL_PARAM_NEVER,
     .prose = "The parameter files that are read instead of the system's and the user's. Has no "
              "effect in a file, only in the environment and as mpirun --mca"},
    {0},
};

/* The list is cut at commas already; Open MPI's users write colons. */
static opal_strings_t component_directories(void)
{
    opal_strings_t directories = {0};
    for (size_t i = 0; i < component_path.count; i++)
        opal_strings_split(&directories, component_path.items[i], ":");
    return directories;
}

opal_status_t opal_framework_register_base(void)
{
    opal_status_t status = opal_param_register("mca", "base", base_params);
    opal_strings_t directories = component_directories();
    for (size_t i = 0; i < directories.count; i++) {
        DIR *stream = opendir(directories.items[i]);
        if (stream != NULL)
            closedir(stream);
        else
            opal_diagnostic(OPAL_WARNING, "%s cannot be searched for components: %s",
                            directories.items[i], strerror(errno));
    }
    opal_strings_free(&directories);
    return status;
}

void opal_framework_withdraw_base(void)
{
    opal_param_withdraw(base_params);
}

void opal_framework_load_excluded(void)
{
    load_excluded = true;
}

void opal_project_add(const opal_project_t *project)
{
    for (size_t i = 0; i < MAX_PROJECTS; i++) {
        if (projects[i] == project)
            return;
        if (projects[i] == NULL) {
            projects[i] = project;
            return;
        }
    }
    assert(!"more projects than MAX_PROJECTS");
}

opal_framework_t *opal_framework_at(size_t index, const opal_project_t **project)
{
    for (size_t p = 0; p < MAX_PROJECTS && projects[p] != NULL; p++) {
        for (opal_framework_t *const *f = projects[p]->frameworks; *f != NULL; f++) {
            if (index-- > 0)
                continue;
            if (project != NULL)
                *project = projects[p];
            return *f;
        }
    }
    return NULL;
}

opal_framework_t *opal_framework_find(const char *name)
{
    opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        if (strcmp(framework->name, name) == 0)
            return framework;
    }
    return NULL;
}

/* -- finding ------------------------------------------------------------------ */

static opal_candidate_t *find_candidate(const opal_framework_t *framework, const char *name)
{
    for (size_t i = 0; i < framework->candidate_count; i++) {
        if (strcmp(framework->candidates[i].name, name) == 0)
            return &framework->candidates[i];
    }
    return NULL;
}

static void add_candidate(opal_framework_t *framework, const char *name, const char *path,
                          const opal_component_t *component)
{
    framework->candidates = opal_xrealloc(framework->candidates, (framework->candidate_count + 1) *
                                                                     sizeof *framework->candidates);
    framework->candidates[framework->candidate_count++] = (opal_candidate_t){
        .component = component,
        .name = opal_xstrdup(name),
        .path = path != NULL ? opal_xstrdup(path) : NULL,
        .state = OPAL_CANDIDATE_EXCLUDED,
    };
}

static void find_static(opal_framework_t *framework)
{
    for (size_t p = 0; p < MAX_PROJECTS && projects[p] != NULL; p++) {
        for (const opal_component_t *const *c = projects[p]->components; *c != NULL; c++) {
            if (strcmp((*c)->framework, framework->name) == 0)
                add_candidate(framework, (*c)->name, NULL, *c);
        }
    }
}

static void found_dso(const char *name, const char *path, void *context)
{
    opal_framework_t *framework = context;
    const opal_candidate_t *known = find_candidate(framework, name);
    if (framework->static_only != NULL)
        opal_diagnostic(OPAL_WARNING, "the component %s is not loaded: %s", path,
                        framework->static_only);
    else if (known == NULL)
        add_candidate(framework, name, path, NULL);
    else if (known->path == NULL)
        opal_diagnostic(OPAL_WARNING,
                        "the component %s is not loaded: a component of this name is part of the "
                        "library",
                        path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const opal_candidate_t *)a)->name, ((const opal_candidate_t *)b)->name);
}

static void find_candidates(opal_framework_t *framework)
{
    opal_strings_t directories = component_directories();
    find_static(framework);
    opal_dso_find(framework->name, &directories, found_dso, framework);
    opal_strings_free(&directories);
    if (framework->candidate_count > 1)
        qsort(framework->candidates, framework->candidate_count, sizeof *framework->candidates,
              by_name);
}

/* -- the user's list ---------------------------------------------------------- */

static bool is_exclude_list(const opal_framework_t *framework)
{
    return framework->selection.count > 0 && framework->selection.items[0][0] == '^';
}

static const char *selection_origin(const opal_framework_t *framework)
{
    const char *origin = "default";
    opal_param_setting(framework->name, &origin);
    return origin;
}

static void complain_unknown(const opal_framework_t *framework, const char *name)
{
    const char **names = opal_xcalloc(framework->candidate_count + 1, sizeof *names);
    opal_text_t all = {0};
    for (size_t i = 0; i < framework->candidate_count; i++) {
        names[i] = framework->candidates[i].name;
        opal_text_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = opal_nearest_name(name, names, framework->candidate_count);
    opal_diagnostic(
        OPAL_ERROR, "%s (%s) names the component \"%s\", which does not exist; %s%s%s%s%s",
        framework->name, selection_origin(framework), name, nearest != NULL ? "did you mean " : "",
        nearest != NULL ? nearest : "", nearest != NULL ? "? There are: " : "there are: ",
        framework->candidate_count > 0 ? "" : "none", opal_text_string(&all));
    opal_text_free(&all);
    free(names);
}

/*
 * Puts our components in the place of another MPI's, or nothing where none of ours is like it: what
 * is left of the list may be empty, and then all may be used.
 */
static void translate_selection(opal_framework_t *framework)
{
    bool exclude = is_exclude_list(framework);
    opal_strings_t list = {0};
    opal_text_t note = {0};
    for (size_t i = 0; i < framework->selection.count; i++) {
        const char *item = framework->selection.items[i];
        const char *name = item + (i == 0 && exclude), *here = NULL;
        if (find_candidate(framework, name) == NULL)
            here = opal_foreign_component(framework->name, name, exclude);
        if (here != NULL)
            opal_text_printf(&note, "%s%s (%s%s)", note.length > 0 ? ", " : "", name,
                             here[0] != 0 ? "here " : "left out", here);
        if (here != NULL && here[0] == 0)
            continue;
        char *word =
            opal_xprintf("%s%s", exclude && list.count == 0 ? "^" : "", here != NULL ? here : name);
        opal_strings_add(&list, word);
        free(word);
    }
    if (note.length > 0) {
        opal_diagnostic(OPAL_NOTE, "%s (%s) names components of another MPI: %s", framework->name,
                        selection_origin(framework), opal_text_string(&note));
        opal_strings_free(&framework->selection);
        framework->selection = list;
        list = (opal_strings_t){0};
    }
    opal_strings_free(&list);
    opal_text_free(&note);
}

/* Every name in the list must exist, and only the first may carry the '^'. */
static opal_status_t check_selection(const opal_framework_t *framework)
{
    opal_status_t status = OPAL_SUCCESS;
    for (size_t i = 0; i < framework->selection.count; i++) {
        const char *item = framework->selection.items[i];
        const char *name = item + (item[0] == '^');
        if (i > 0 && item[0] == '^' && is_exclude_list(framework))
            opal_diagnostic(OPAL_ERROR,
                            "%s (%s) has a second '^' in \"%s\"; one before the first name holds "
                            "for all: ^a,b",
                            framework->name, selection_origin(framework), item);
        else if (i > 0 && item[0] == '^')
            opal_diagnostic(OPAL_ERROR,
                            "%s (%s) mixes a list of what to use with \"%s\"; write either a,b "
                            "(only these) or ^a,b (all but these)",
                            framework->name, selection_origin(framework), item);
        else if (name[0] == 0)
            opal_diagnostic(OPAL_ERROR, "%s (%s): the '^' is not followed by a name",
                            framework->name, selection_origin(framework));
        else if (find_candidate(framework, name) == NULL)
            complain_unknown(framework, name);
        else
            continue;
        status = OPAL_ERR_BAD_PARAM;
    }
    return status;
}

bool opal_framework_allows(const opal_framework_t *framework, const char *name)
{
    if (framework->selection.count == 0)
        return true;
    bool exclude = is_exclude_list(framework);
    for (size_t i = 0; i < framework->selection.count; i++) {
        const char *item = framework->selection.items[i];
        if (strcmp(item + (item[0] == '^'), name) == 0)
            return !exclude;
    }
    return exclude;
}

/* -- opening ------------------------------------------------------------------ */

static opal_gate_fn_t *find_gate(const char *framework, const char *component)
{
    for (size_t p = 0; p < MAX_PROJECTS && projects[p] != NULL; p++) {
        for (const opal_gate_t *g = projects[p]->gates; g != NULL && g->framework != NULL; g++) {
            if (strcmp(g->framework, framework) == 0 && strcmp(g->component, component) == 0)
                return g->ask;
        }
    }
    return NULL;
}

/* Whether the gate, if there is one, lets it pass. */
static bool pass_gate(const opal_framework_t *framework, opal_candidate_t *candidate)
{
    opal_gate_fn_t *ask = find_gate(framework->name, candidate->name);
    if (ask == NULL)
        return true;
    candidate->answer = (opal_answer_t){0};
    ask(&candidate->answer);
    if (!candidate->answer.usable)
        candidate->state = OPAL_CANDIDATE_REFUSED;
    return candidate->answer.usable;
}

/* Whether the user's list and its gate allow it; if not, its answer has the reason. */
static bool is_wanted(const opal_framework_t *framework, opal_candidate_t *candidate)
{
    if (opal_framework_allows(framework, candidate->name))
        return pass_gate(framework, candidate);
    candidate->state = OPAL_CANDIDATE_EXCLUDED;
    opal_answer_no(&candidate->answer, "excluded by %s = %s (%s)", framework->name,
                   opal_param_setting(framework->name, NULL), selection_origin(framework));
    return false;
}

/* Loads what must be loaded; false when the candidate goes no further. */
static bool load_candidate(const opal_framework_t *framework, opal_candidate_t *candidate,
                           bool wanted)
{
    if (candidate->component == NULL && (wanted || load_excluded)) {
        char reason[OPAL_REASON_MAX_BYTES];
        candidate->component = opal_dso_load(framework->name, candidate->name, candidate->path,
                                             &candidate->dso, reason);
        if (candidate->component == NULL) {
            opal_answer_no(&candidate->answer, "%s", reason);
            opal_candidate_break(framework, candidate);
        }
    } else if (candidate->path == NULL) {
        const char *complaint =
            opal_component_complaint(candidate->component, framework->name, candidate->name);
        if (complaint != NULL) {
            opal_answer_no(&candidate->answer, "%s", complaint);
            opal_candidate_break(framework, candidate);
            return false;
        }
    }
    return candidate->component != NULL;
}

/* Its variables stay registered, unless it is in a DSO. */
static opal_status_t register_component(const opal_framework_t *framework,
                                        const opal_component_t *component)
{
    opal_pvar_register(framework->name, component->name, component->pvars);
    opal_bound_register(framework->name, component->name, component->bound);
    return opal_param_register(framework->name, component->name, component->params);
}

static opal_status_t open_candidate(const opal_framework_t *framework, opal_candidate_t *candidate)
{
    bool wanted = is_wanted(framework, candidate);
    if (!load_candidate(framework, candidate, wanted))
        return OPAL_SUCCESS;

    /* The rows of one that stays out are registered too: its settings are no typing errors. */
    opal_status_t status = register_component(framework, candidate->component);
    if (!wanted)
        return status;

    opal_status_t opened =
        candidate->component->open != NULL ? candidate->component->open() : OPAL_SUCCESS;
    if (opened != OPAL_SUCCESS) {
        candidate->state = OPAL_CANDIDATE_CLOSED;
        opal_answer_no(&candidate->answer, "its open failed: %s", opal_status_text(opened));
    } else {
        candidate->opened = true;
        candidate->state = OPAL_CANDIDATE_OPEN;
    }
    return status;
}

static opal_status_t worse_of(opal_status_t first, opal_status_t second)
{
    return first != OPAL_SUCCESS ? first : second;
}

/* The rows of the framework itself. */
static opal_status_t register_own(opal_framework_t *framework)
{
    framework->selection_row[0] = (opal_param_row_t){
        .name = "",
        .type = OPAL_PARAM_LIST,
        .value = &framework->selection,
        .prose =
            "The components that may be used (a,b), or that may not be used (^a,b); empty: all may",
    };
    opal_status_t status = opal_param_register(framework->name, "", framework->selection_row);
    opal_pvar_register(framework->name, "", framework->pvars);
    return worse_of(status, opal_param_register(framework->name, "", framework->params));
}

/* Whether a list of parameters has those of the component. */
static bool is_listed(const opal_framework_t *framework, const opal_candidate_t *candidate)
{
    return candidate->path == NULL ||
           (!framework->is_on_demand && opal_framework_allows(framework, candidate->name) &&
            find_gate(framework->name, candidate->name) == NULL);
}

void opal_framework_register(opal_framework_t *framework)
{
    if (framework->open_count++ > 0)
        return;
    register_own(framework);
    find_candidates(framework);
    translate_selection(framework);
    for (size_t i = 0; i < framework->candidate_count; i++) {
        opal_candidate_t *candidate = &framework->candidates[i];
        if (is_listed(framework, candidate) && load_candidate(framework, candidate, true))
            register_component(framework, candidate->component);
    }
}

opal_status_t opal_framework_open(opal_framework_t *framework)
{
    if (framework->open_count++ > 0)
        return framework->open_status;

    opal_status_t status = register_own(framework);
    find_candidates(framework);
    translate_selection(framework);
    if (check_selection(framework) != OPAL_SUCCESS) {
        /* The run fails with what was said; nothing is to be said about the consequences. */
        opal_strings_free(&framework->selection);
        status = OPAL_ERR_BAD_PARAM;
    }
    for (size_t i = 0; i < framework->candidate_count; i++)
        status = worse_of(status, open_candidate(framework, &framework->candidates[i]));
    framework->open_status = status;
    return status;
}

const opal_answer_t *opal_framework_engage(opal_framework_t *framework, const char *name)
{
    opal_candidate_t *candidate = find_candidate(framework, name);
    if (candidate == NULL || candidate->state == OPAL_CANDIDATE_BROKEN)
        return NULL;
    if (candidate->component == NULL &&
        (!load_candidate(framework, candidate, true) ||
         register_component(framework, candidate->component) != OPAL_SUCCESS))
        return NULL;
    if (!candidate->opened && candidate->component->open != NULL &&
        candidate->component->open() != OPAL_SUCCESS)
        return NULL;
    candidate->opened = true;
    opal_candidate_ask(framework, candidate);
    return candidate->answer.usable ? &candidate->answer : NULL;
}

void opal_framework_close(opal_framework_t *framework)
{
    if (framework->open_count == 0 || --framework->open_count > 0)
        return;
    for (size_t i = 0; i < framework->candidate_count; i++) {
        opal_candidate_t *candidate = &framework->candidates[i];
        if (candidate->opened && candidate->component->close != NULL)
            candidate->component->close();
        if (candidate->component != NULL)
            opal_param_withdraw(candidate->component->params);
        if (candidate->component != NULL && candidate->dso != NULL) {
            opal_pvar_withdraw(candidate->component->pvars);
            opal_bound_withdraw(candidate->component->bound);
        }
        opal_dso_unload(candidate->dso);
        opal_strings_free(&candidate->answer.notes);
        free(candidate->name);
        free(candidate->path);
    }
    free(framework->candidates);
    framework->candidates = NULL;
    framework->candidate_count = 0;
    framework->selected = false;
    opal_param_withdraw(framework->params);
    opal_param_withdraw(framework->selection_row);
}

const char *opal_framework_prose(const char *framework, const char *component)
{
    const opal_framework_t *found = opal_framework_find(framework);
    if (*component == 0)
        return found != NULL ? found->prose : "";
    for (size_t i = 0; found != NULL && i < found->candidate_count; i++) {
        const opal_candidate_t *candidate = &found->candidates[i];
        if (candidate->component != NULL && strcmp(candidate->name, component) == 0)
            return candidate->component->prose;
    }
    for (size_t p = 0; p < MAX_PROJECTS && projects[p] != NULL; p++) {
        for (const opal_component_t *const *c = projects[p]->components; *c != NULL; c++) {
            if (strcmp((*c)->framework, framework) == 0 && strcmp((*c)->name, component) == 0)
                return (*c)->prose;
        }
    }
    return "";
}

/* True if name begins with prefix and a '_'. */
static bool is_below(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] == '_';
}

bool opal_framework_owns_unseen(const char *full_name)
{
    opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        if (framework->open_count == 0) {
            if (strcmp(full_name, framework->name) == 0 || is_below(full_name, framework->name))
                return true;
            continue;
        }
        if (!is_below(full_name, framework->name))
            continue;
        const char *rest = full_name + strlen(framework->name) + 1;
        for (size_t c = 0; c < framework->candidate_count; c++) {
            if (framework->candidates[c].component == NULL &&
                is_below(rest, framework->candidates[c].name))
                return true;
        }
    }
    return false;
}
