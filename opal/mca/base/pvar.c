/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of performance variables. */
#include "opal/mca/base/pvar.h"

#include <stdlib.h>
#include <string.h>

/* Tables that are registered. Start-up only notes them; their rows are listed from the first
 * question of a tool on. */
typedef struct table {
    const char *framework, *component;
    const opal_pvar_row_t *rows;
} table_t;

static table_t *tables;
static size_t table_count, listed;

static opal_pvar_t **variables; /* pointers, so that a variable stays where it is */
static size_t count;

static const char *copy_text(const char *text)
{
    return text != NULL ? opal_xstrdup(text) : NULL;
}

static opal_pvar_t *find(const char *full_name, opal_pvar_class_t class, size_t *index)
{
    for (size_t i = 0; i < count; i++) {
        if (variables[i]->row.class == class && strcmp(variables[i]->full_name, full_name) == 0) {
            *index = i;
            return variables[i];
        }
    }
    return NULL;
}

/* Choices are not copied: what has states is not in a DSO. */
static void add(char *full_name, const char *framework, const char *component,
                const opal_pvar_row_t *row)
{
    opal_pvar_t *variable = opal_xcalloc(1, sizeof *variable);
    *variable = (opal_pvar_t){
        .full_name = full_name,
        .framework = opal_xstrdup(framework),
        .component = opal_xstrdup(component),
        .row = *row,
        .live = row,
    };
    variable->row.name = copy_text(row->name);
    variable->row.unit = copy_text(row->unit);
    variable->row.prose = copy_text(row->prose);
    variables = opal_xrealloc(variables, (count + 1) * sizeof *variables);
    variables[count++] = variable;
}

/* Counting for the variable begins, or ends. */
static void demand(const opal_pvar_t *variable, bool wanted)
{
    if (variable->live != NULL && variable->live->demand != NULL)
        opal_demand_change(variable->live->demand, wanted);
}

static void list_rows(const table_t *table)
{
    for (const opal_pvar_row_t *row = table->rows; row->name != NULL; row++) {
        size_t index;
        char *full_name =
            *table->component != 0
                ? opal_xprintf("%s_%s_%s", table->framework, table->component, row->name)
                : opal_xprintf("%s_%s", table->framework, row->name);
        opal_pvar_t *known = find(full_name, row->class, &index);
        if (known == NULL) {
            add(full_name, table->framework, table->component, row);
            continue;
        }
        free(full_name);
        if (known->live == row)
            continue;
        known->live = row;
        if (known->started > 0)
            demand(known, true);
    }
}

static void list_all(void)
{
    for (; listed < table_count; listed++)
        list_rows(&tables[listed]);
}

void opal_pvar_register(const char *framework, const char *component, const opal_pvar_row_t *rows)
{
    size_t i = 0;
    if (rows == NULL)
        return;
    opal_param_lock();
    while (i < table_count && tables[i].rows != rows)
        i++;
    if (i == table_count) {
        tables = opal_xrealloc(tables, (table_count + 1) * sizeof *tables);
        tables[table_count++] = (table_t){framework, component, rows};
        if (count > 0) /* a handle of one that comes again may be started */
            list_all();
    }
    opal_param_unlock();
}

static uint64_t value_of(const opal_pvar_t *variable, void *object)
{
    const opal_pvar_row_t *row = variable->live;
    if (row == NULL)
        return variable->last;
    return row->value != NULL ? opal_counted(row->value) : row->read(row, object);
}

static void remove_table(const opal_pvar_row_t *rows)
{
    size_t left = 0, left_listed = 0;
    for (size_t i = 0; i < table_count; i++) {
        if (tables[i].rows == rows)
            continue;
        left_listed += i < listed;
        tables[left++] = tables[i];
    }
    table_count = left;
    listed = left_listed;
}

void opal_pvar_withdraw(const opal_pvar_row_t *rows)
{
    opal_param_lock();
    remove_table(rows);
    for (const opal_pvar_row_t *row = rows; row != NULL && row->name != NULL; row++) {
        for (size_t i = 0; i < count; i++) {
            if (variables[i]->live != row)
                continue;
            if (row->bind == OPAL_PVAR_OF_PROCESS)
                variables[i]->last = value_of(variables[i], NULL);
            if (variables[i]->started > 0)
                demand(variables[i], false);
            variables[i]->live = NULL;
        }
    }
    opal_param_unlock();
}

size_t opal_pvar_count(void)
{
    opal_param_lock();
    list_all();
    size_t result = count;
    opal_param_unlock();
    return result;
}

static opal_pvar_t *at(size_t index)
{
    opal_param_lock();
    opal_pvar_t *variable = variables[index];
    opal_param_unlock();
    return variable;
}

const opal_pvar_t *opal_pvar_at(size_t index)
{
    return at(index);
}

bool opal_pvar_find(const char *full_name, opal_pvar_class_t class, size_t *index)
{
    opal_param_lock();
    list_all();
    bool found = find(full_name, class, index) != NULL;
    opal_param_unlock();
    return found;
}

uint64_t opal_pvar_read(size_t index, void *object)
{
    opal_param_lock();
    list_all();
    uint64_t value = value_of(at(index), object);
    opal_param_unlock();
    return value;
}

const char *opal_pvar_class_name(opal_pvar_class_t class)
{
    static const char *const names[] = {
        [OPAL_PVAR_STATE] = "state",
        [OPAL_PVAR_LEVEL] = "level",
        [OPAL_PVAR_SIZE] = "size",
        [OPAL_PVAR_PERCENTAGE] = "percentage",
        [OPAL_PVAR_HIGHWATERMARK] = "highest level",
        [OPAL_PVAR_LOWWATERMARK] = "lowest level",
        [OPAL_PVAR_COUNTER] = "counter",
        [OPAL_PVAR_AGGREGATE] = "sum",
        [OPAL_PVAR_TIMER] = "timer",
        [OPAL_PVAR_GENERIC] = "generic",
    };
    return names[class];
}

void opal_pvar_use(size_t index, bool wanted)
{
    opal_param_lock();
    opal_pvar_t *variable = at(index);
    bool changes = wanted ? variable->started++ == 0 : --variable->started == 0;
    if (changes)
        demand(variable, wanted);
    opal_param_unlock();
}

void opal_pvar_set_profiled(size_t index, bool is_profiled)
{
    opal_param_lock();
    const opal_pvar_row_t *live = at(index)->live;
    if (live != NULL && live->demand != NULL)
        opal_demand_set_profiled(live->demand, is_profiled);
    opal_param_unlock();
}
