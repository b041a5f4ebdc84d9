/* SPDX-License-Identifier: BSD-3-Clause */
/* Categories. They live as long as the process, as their indices do. */
#include "ompi/tool/category.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/framework.h"
#include "opal/util/text.h"

typedef struct category {
    char *name, *description;
    struct {
        int *indices;
        int count;
    } members[OMPI_TOOL_MEMBERS];
} category_t;

static category_t *categories;
static int category_count, changes;

static category_t *find(const char *name)
{
    for (int i = 0; i < category_count; i++) {
        if (strcmp(categories[i].name, name) == 0)
            return &categories[i];
    }
    return NULL;
}

static void add_member(category_t *category, ompi_tool_member_t member, int index)
{
    int count = category->members[member].count++;
    category->members[member].indices =
        opal_xrealloc(category->members[member].indices, (size_t)(count + 1) * sizeof(int));
    category->members[member].indices[count] = index;
    changes++;
}

/* Takes the name over. */
static category_t *add_category(char *name, const char *framework, const char *component)
{
    const char *prose = opal_framework_prose(framework, component);
    categories = opal_xrealloc(categories, (size_t)(category_count + 1) * sizeof *categories);
    category_t *category = &categories[category_count++];
    *category = (category_t){
        .name = name,
        .description =
            *prose != 0 ? opal_xstrdup(prose) : opal_xprintf("What begins with %s_", name),
    };
    changes++;
    return category;
}

static category_t *framework_category(const char *framework)
{
    category_t *known = find(framework);
    return known != NULL ? known : add_category(opal_xstrdup(framework), framework, "");
}

void ompi_tool_category_add(const char *framework, const char *component, ompi_tool_member_t member,
                            int index)
{
    if (*framework == 0)
        framework = "mpi";
    category_t *category = framework_category(framework);
    if (*component != 0) {
        char *name = opal_xprintf("%s_%s", framework, component);
        category_t *known = find(name);
        if (known == NULL) {
            int own = category_count;
            known = add_category(name, framework, component);
            add_member(find(framework), OMPI_TOOL_CATEGORY, own);
        } else {
            free(name);
        }
        category = known;
    }
    add_member(category, member, index);
}

int ompi_tool_category_changes(void)
{
    return changes;
}

int ompi_tool_category_count(void)
{
    return category_count;
}

int ompi_tool_category_find(const char *name, int *index)
{
    if (name == NULL || index == NULL)
        return MPI_T_ERR_INVALID;
    const category_t *category = find(name);
    if (category == NULL)
        return MPI_T_ERR_INVALID_NAME;
    *index = (int)(category - categories);
    return MPI_SUCCESS;
}

int ompi_tool_category_info(int index, ompi_tool_category_info_t *info)
{
    if (index < 0 || index >= category_count)
        return MPI_T_ERR_INVALID_INDEX;
    const category_t *category = &categories[index];
    *info = (ompi_tool_category_info_t){category->name, category->description, {0}};
    for (int i = 0; i < OMPI_TOOL_MEMBERS; i++)
        info->counts[i] = category->members[i].count;
    return MPI_SUCCESS;
}

int ompi_tool_category_list(int index, ompi_tool_member_t member, int length, int *indices)
{
    if (index < 0 || index >= category_count)
        return MPI_T_ERR_INVALID_INDEX;
    if (length < 0 || (length > 0 && indices == NULL))
        return MPI_T_ERR_INVALID;
    int count = categories[index].members[member].count;
    if (length > count)
        length = count;
    if (length > 0)
        memcpy(indices, categories[index].members[member].indices,
               (size_t)length * sizeof *indices);
    return MPI_SUCCESS;
}
