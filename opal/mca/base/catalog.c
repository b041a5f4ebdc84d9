/* SPDX-License-Identifier: BSD-3-Clause */
/* The catalog of parameters. It hears of them from the registry, as its watcher. */
#include "opal/mca/base/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param_value.h"

/* A table of settings of objects. Start-up only notes it. */
typedef struct table {
    const char *framework, *component;
    const opal_bound_row_t *rows;
} table_t;

static struct {
    bool is_started;
    opal_record_t **records; /* pointers, so that a record stays where it is */
    size_t count;
    table_t *tables;
    size_t table_count;
} catalog;

static const char *copy_text(const char *text)
{
    return text != NULL ? opal_xstrdup(text) : NULL;
}

static const opal_param_choice_t *copy_choices(const opal_param_choice_t *choices)
{
    size_t count = 0;
    if (choices == NULL)
        return NULL;
    while (choices[count].name != NULL)
        count++;
    opal_param_choice_t *copy = opal_xcalloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = (opal_param_choice_t){opal_xstrdup(choices[i].name), choices[i].value};
    return copy;
}

/* The row may be in a DSO that will be unloaded. */
static void copy_row(opal_record_t *record, const opal_param_row_t *row)
{
    record->row = (opal_param_row_t){
        .name = copy_text(row->name),
        .type = row->type,
        .is_internal = row->is_internal,
        .value = &record->value,
        .preset = copy_text(row->preset),
        .min = copy_text(row->min),
        .max = copy_text(row->max),
        .unit = copy_text(row->unit),
        .choices = copy_choices(row->choices),
        .prose = copy_text(row->prose != NULL ? row->prose : ""),
        .write = row->refresh != NULL ? OPAL_PARAM_NEVER : row->write,
    };
}

static opal_record_t *find(const char *full_name, size_t *index)
{
    for (size_t i = 0; i < catalog.count; i++) {
        if (strcmp(catalog.records[i]->full_name, full_name) == 0) {
            *index = i;
            return catalog.records[i];
        }
    }
    return NULL;
}

static opal_record_t *add(const char *full_name, const char *framework, const char *component,
                          const opal_param_row_t *row)
{
    opal_record_t *record = opal_xcalloc(1, sizeof *record);
    record->full_name = opal_xstrdup(full_name);
    record->framework = opal_xstrdup(framework);
    record->component = opal_xstrdup(component);
    copy_row(record, row);
    catalog.records = opal_xrealloc(catalog.records, (catalog.count + 1) * sizeof *catalog.records);
    catalog.records[catalog.count++] = record;
    return record;
}

static void copy_list(opal_strings_t *copy, const opal_strings_t *list)
{
    opal_strings_free(copy);
    for (size_t i = 0; i < list->count; i++)
        opal_strings_add(copy, list->items[i]);
}

/* From the variable of the parameter. */
static void copy_value(opal_record_t *record)
{
    const opal_param_row_t *live = record->live;
    switch (live->type) {
    case OPAL_PARAM_BOOL:
        record->value.boolean = *(const bool *)live->value;
        return;
    case OPAL_PARAM_INT:
    case OPAL_PARAM_ENUM:
        record->value.integer = *(const int *)live->value;
        return;
    case OPAL_PARAM_UNSIGNED:
        record->value.natural = *(const unsigned *)live->value;
        return;
    case OPAL_PARAM_SIZE:
        record->value.size = *(const size_t *)live->value;
        return;
    case OPAL_PARAM_DOUBLE:
        record->value.real = *(const double *)live->value;
        return;
    case OPAL_PARAM_STRING:
        opal_param_value_clear(&record->row);
        record->value.string = copy_text(*(const char *const *)live->value);
        return;
    case OPAL_PARAM_LIST:
        copy_list(&record->value.list, live->value);
        return;
    case OPAL_PARAM_TYPE_COUNT:
        return;
    }
}

static void parameter_added(const opal_param_info_t *info)
{
    size_t index;
    opal_record_t *record = find(info->full_name, &index);
    if (record == NULL)
        record = add(info->full_name, info->framework, info->component, info->row);
    record->live = info->row;
    copy_value(record);
}

static void parameter_leaves(const opal_param_info_t *info)
{
    size_t index;
    opal_record_t *record = find(info->full_name, &index);
    if (record == NULL || record->live != info->row)
        return;
    copy_value(record);
    record->live = NULL;
}

static void visit_table(const table_t *table, opal_bound_visit_fn_t *visit, void *context)
{
    for (const opal_bound_row_t *row = table->rows; row->param.name != NULL; row++) {
        char *full_name =
            opal_xprintf("%s%s%s_%s", table->framework, *table->component != 0 ? "_" : "",
                         table->component, row->param.name);
        visit(table->framework, table->component, full_name, row, context);
        free(full_name);
    }
}

void opal_bound_visit(opal_bound_visit_fn_t *visit, void *context)
{
    opal_param_lock();
    for (size_t i = 0; i < catalog.table_count; i++)
        visit_table(&catalog.tables[i], visit, context);
    opal_param_unlock();
}

static void bound_added(const char *framework, const char *component, const char *full_name,
                        const opal_bound_row_t *row, void *context OPAL_UNUSED)
{
    size_t index;
    opal_record_t *record = find(full_name, &index);
    if (record == NULL)
        record = add(full_name, framework, component, &row->param);
    record->bound = row;
    record->bind = row->bind;
}

void opal_bound_register(const char *framework, const char *component, const opal_bound_row_t *rows)
{
    size_t i = 0;
    if (rows == NULL)
        return;
    opal_param_lock();
    while (i < catalog.table_count && catalog.tables[i].rows != rows)
        i++;
    if (i == catalog.table_count) {
        catalog.tables = opal_xrealloc(catalog.tables, (i + 1) * sizeof *catalog.tables);
        catalog.tables[catalog.table_count++] = (table_t){framework, component, rows};
        if (catalog.is_started)
            visit_table(&catalog.tables[i], bound_added, NULL);
    }
    opal_param_unlock();
}

void opal_bound_withdraw(const opal_bound_row_t *rows)
{
    size_t left = 0;
    opal_param_lock();
    for (size_t i = 0; i < catalog.table_count; i++) {
        if (catalog.tables[i].rows != rows)
            catalog.tables[left++] = catalog.tables[i];
    }
    catalog.table_count = left;
    for (const opal_bound_row_t *row = rows; row != NULL && row->param.name != NULL; row++) {
        for (size_t i = 0; i < catalog.count; i++) {
            if (catalog.records[i]->bound == row)
                catalog.records[i]->bound = NULL;
        }
    }
    opal_param_unlock();
}

static void visit(const opal_param_info_t *info, void *context OPAL_UNUSED)
{
    parameter_added(info);
}

void opal_catalog_start(void)
{
    static const opal_param_watcher_t watcher = {parameter_added, parameter_leaves};
    opal_param_lock();
    if (!catalog.is_started) {
        catalog.is_started = true;
        opal_param_visit(visit, NULL);
        opal_param_watch(&watcher);
        opal_bound_visit(bound_added, NULL);
    }
    opal_param_unlock();
}

size_t opal_catalog_count(void)
{
    opal_param_lock();
    size_t count = catalog.count;
    opal_param_unlock();
    return count;
}

static opal_record_t *at(size_t index)
{
    opal_param_lock();
    opal_record_t *record = catalog.records[index];
    opal_param_unlock();
    return record;
}

const opal_record_t *opal_catalog_at(size_t index)
{
    return at(index);
}

bool opal_catalog_find(const char *full_name, size_t *index)
{
    opal_param_lock();
    bool found = find(full_name, index) != NULL;
    opal_param_unlock();
    return found;
}

static void get_bound(opal_record_t *record, void *object)
{
    if (record->row.type == OPAL_PARAM_LIST)
        opal_strings_free(&record->value.list);
    record->bound->get(object, &record->value);
}

void opal_catalog_look(size_t index, void *object)
{
    opal_record_t *record = at(index);
    opal_param_lock();
    if (record->bound != NULL)
        get_bound(record, object);
    if (record->live != NULL && record->live->refresh != NULL)
        record->live->refresh();
    if (record->live != NULL)
        copy_value(record);
    opal_param_unlock();
}

static opal_status_t write_bound(opal_record_t *record, void *object, const char *text)
{
    char complaint[OPAL_COMPLAINT_MAX_BYTES];
    if (record->row.write == OPAL_PARAM_NEVER)
        return OPAL_ERR_NOT_SUPPORTED;
    if (record->bound == NULL)
        return OPAL_ERR_BUSY;
    if (!opal_param_value_set(&record->row, text, complaint))
        return OPAL_ERR_BAD_PARAM;
    if (record->bound->set(object, &record->value))
        return OPAL_SUCCESS;
    opal_diagnostic_report(true); /* why not: start-up is over, and this rank has written it */
    return OPAL_ERR_BAD_PARAM;
}

static opal_status_t write_record(opal_record_t *record, const char *text)
{
    char complaint[OPAL_COMPLAINT_MAX_BYTES];
    opal_param_write_t when = record->row.write;
    if (when == OPAL_PARAM_NEVER)
        return OPAL_ERR_NOT_SUPPORTED;
    if (when == OPAL_PARAM_AT_START && record->live != NULL)
        return OPAL_ERR_BUSY;
    /* While it is registered, its own variable counts: what is in the record is looked up again. */
    if (!opal_param_value_set(&record->row, text, complaint) ||
        !opal_param_write(record->full_name, text))
        return OPAL_ERR_BAD_PARAM;
    return OPAL_SUCCESS;
}

opal_status_t opal_catalog_write(size_t index, void *object, const char *text)
{
    opal_record_t *record = at(index);
    opal_param_lock();
    opal_status_t status = record->bind != OPAL_PVAR_OF_PROCESS ? write_bound(record, object, text)
                                                                : write_record(record, text);
    opal_param_unlock();
    return status;
}
