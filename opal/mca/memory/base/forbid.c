/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches and lists in the environment. */
#include "opal/mca/memory/base/forbid.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *text, const char *const *words)
{
    for (; text != NULL && *words != NULL; words++) {
        if (strcasecmp(text, *words) == 0)
            return true;
    }
    return false;
}

bool opal_memory_says_yes(const char *text)
{
    static const char *const words[] = {"yes", "true", "on", "enable", "1", NULL};
    return is_one_of(text, words);
}

bool opal_memory_says_no(const char *text)
{
    static const char *const words[] = {"no", "false", "off", "disable", "0", NULL};
    return is_one_of(text, words);
}

/* Whether the user's list of components ("a,b" or "^a,b") excludes this one. */
static bool is_left_out(const char *list, const char *component)
{
    if (list == NULL || list[0] == 0)
        return false;
    bool inverted = list[0] == '^', named = false;
    for (const char *word = list + inverted; *word != 0;) {
        size_t length = strcspn(word, ",");
        named |= length == strlen(component) && strncmp(word, component, length) == 0;
        word += length + (word[length] == ',');
    }
    return named == inverted;
}

const char *opal_memory_forbids(opal_memory_variable_fn_t *variable, const char *component)
{
    if (is_left_out(variable("OMPI_MCA_memory"), component))
        return "OMPI_MCA_memory leaves it out";
    if (opal_memory_says_no(variable("OMPI_MCA_memory_malloc_hooks")) ||
        (variable("OMPI_MCA_memory_malloc_hooks") == NULL &&
         opal_memory_says_no(variable("UCX_MEM_MALLOC_HOOKS"))))
        return "memory_malloc_hooks is no";
    if (variable("FAKEROOTKEY") != NULL)
        return "FAKEROOTKEY is set: fakeroot has hooks of its own";
    return NULL;
}
