/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values as text. Handles come as the objects that they stand for, which are looked at only as far
 * as the checks of arguments have looked before: at their marks.
 */
#include "ompi/api/arguments.h"

#include <stdio.h>
#include <string.h>

#include "ompi/api/wrapper.h"
#include "ompi/check/caller.h"

enum { STRING_MAX = 64 };

void ompi_api_call_name(const char *call, char name[OMPI_API_NAME_BYTES])
{
    snprintf(name, OMPI_API_NAME_BYTES, "%.*s", (int)strcspn(call, "("), call);
}

static const struct {
    char letter;
    const char *null; /* the name of the handle that stands for no object */
} handles[] = {
    {'C', "MPI_COMM_NULL"},       {'D', "MPI_DATATYPE_NULL"}, {'O', "MPI_OP_NULL"},
    {'G', "MPI_GROUP_NULL"},      {'W', "MPI_WIN_NULL"},      {'F', "MPI_FILE_NULL"},
    {'R', "MPI_REQUEST_NULL"},    {'M', "MPI_MESSAGE_NULL"},  {'I', "MPI_INFO_NULL"},
    {'E', "MPI_ERRHANDLER_NULL"}, {'S', "MPI_SESSION_NULL"},
};

/* The name that the standard or the program has given the object; "": it has none. */
static void name_object(const ompi_object_t *object, char name[MPI_MAX_OBJECT_NAME])
{
    name[0] = 0;
    if (ompi_object_is(object, OMPI_COMM))
        ompi_comm_get_name((const ompi_communicator_t *)object, name);
    else if (ompi_object_is(object, OMPI_DATATYPE))
        ompi_datatype_get_name((const ompi_datatype_t *)object, name);
    else if (ompi_object_is(object, OMPI_OP) && ((const ompi_op_t *)object)->name != NULL)
        snprintf(name, MPI_MAX_OBJECT_NAME, "%s", ((const ompi_op_t *)object)->name);
    else if (ompi_object_is(object, OMPI_WIN))
        snprintf(name, MPI_MAX_OBJECT_NAME, "%s",
                 opal_container_of(object, const ompi_win_t, head)->name);
}

/* One of another kind than it should be is named, too: that is the mistake. */
static void print_object(char letter, const void *object, opal_text_t *text)
{
    char name[MPI_MAX_OBJECT_NAME];
    for (size_t i = 0; i < OPAL_COUNT_OF(handles) && object == NULL; i++) {
        if (handles[i].letter == letter)
            opal_text_add(text, handles[i].null);
    }
    if (object == NULL)
        return;
    name_object(object, name);
    if (memcmp(name, "MPI_", 4) == 0)
        opal_text_add(text, name);
    else if (name[0] != 0)
        opal_text_printf(text, "%p \"%s\"", (void *)(uintptr_t)object, name);
    else
        opal_text_printf(text, "%p", (void *)(uintptr_t)object);
}

static void print_rank(int rank, opal_text_t *text)
{
    if (rank == MPI_PROC_NULL)
        opal_text_add(text, "MPI_PROC_NULL");
    else if (rank == MPI_ANY_SOURCE)
        opal_text_add(text, "MPI_ANY_SOURCE");
    else if (rank == MPI_ROOT)
        opal_text_add(text, "MPI_ROOT");
    else
        opal_text_printf(text, "%d", rank);
}

static void print_pointer(char letter, const void *pointer, opal_text_t *text)
{
    if (letter == 'b' && pointer == MPI_BOTTOM)
        opal_text_add(text, "MPI_BOTTOM");
    else if (letter == 'b' && pointer == MPI_IN_PLACE)
        opal_text_add(text, "MPI_IN_PLACE");
    else if (letter == 'u' && pointer == MPI_STATUS_IGNORE)
        opal_text_add(text, "MPI_STATUS_IGNORE");
    else if (pointer == NULL)
        opal_text_add(text, "NULL");
    else
        opal_text_printf(text, "%p", (void *)(uintptr_t)pointer);
}

static void print_string(const char *string, opal_text_t *text)
{
    if (string == NULL) {
        opal_text_add(text, "NULL");
        return;
    }
    size_t length = strnlen(string, STRING_MAX + 1);
    opal_text_printf(text, "\"%.*s\"%s", STRING_MAX, string, length > STRING_MAX ? "..." : "");
}

static void print_tag(int tag, opal_text_t *text)
{
    if (tag == MPI_ANY_TAG)
        opal_text_add(text, "MPI_ANY_TAG");
    else
        opal_text_printf(text, "%d", tag);
}

/* The form up to the next letter, which is returned; 0: there is none. */
static char print_plain(const char **at, opal_text_t *text)
{
    size_t plain = strcspn(*at, "%");
    opal_text_append(text, *at, plain);
    *at += plain;
    if (**at == 0)
        return 0;
    *at += 2;
    return (*at)[-1];
}

static void print_value(char letter, va_list *values, opal_text_t *text)
{
    switch (letter) {
    case 'd':
        opal_text_printf(text, "%d", va_arg(*values, int));
        break;
    case 'l':
        opal_text_printf(text, "%lld", (long long)va_arg(*values, MPI_Count));
        break;
    case 'r':
        print_rank(va_arg(*values, int), text);
        break;
    case 't':
        print_tag(va_arg(*values, int), text);
        break;
    case 's':
        print_string(va_arg(*values, const char *), text);
        break;
    case 'b':
    case 'u':
    case 'p':
        print_pointer(letter, va_arg(*values, const void *), text);
        break;
    default:
        print_object(letter, va_arg(*values, const void *), text);
        break;
    }
}

/* A copy of the list is walked: in some ABIs a va_list parameter is a pointer, in others not. */
void ompi_api_call_print(const char *call, va_list values, opal_text_t *text)
{
    va_list own;
    va_copy(own, values);
    for (char letter; (letter = print_plain(&call, text)) != 0;)
        print_value(letter, &own, text);
    va_end(own);
}

void ompi_api_place_print(opal_text_t *text)
{
    ompi_check_caller_t caller;
    char place[OMPI_CHECK_CALLER_BYTES];
    ompi_check_callers_start();
    ompi_check_caller_here(&caller);
    if (ompi_check_caller_address(&caller) == 0)
        return;
    ompi_check_caller_describe(&caller, place);
    opal_text_printf(text, ", called from %s", place);
}
