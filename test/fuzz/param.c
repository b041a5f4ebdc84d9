/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds bytes to the parameters as a user can: a parameter file, and the environment.
 *
 *   OMPI_MCA_demo_int=3        lines up to the first line of "---" become environment variables
 *   ---
 *   demo_size = 64K            the rest is the file
 *
 * Whatever they say: every parameter is within its limits afterwards, and a refusal has left a
 * diagnostic.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/param.h"

extern char **environ;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static bool demo_bool;
static int demo_int, demo_enum;
static unsigned demo_unsigned;
static size_t demo_size;
static double demo_double;
static const char *demo_string;
static opal_strings_t demo_list;

static const opal_param_choice_t colours[] = {{"red", 3}, {"green", 5}, {NULL, 0}};

static const opal_param_row_t rows[] = {
    {.name = "bool", .type = OPAL_PARAM_BOOL, .value = &demo_bool, .preset = "no", .prose = "b"},
    {.name = "int",
     .type = OPAL_PARAM_INT,
     .value = &demo_int,
     .preset = "-5",
     .min = "-10",
     .max = "0x10",
     .prose = "i"},
    {.name = "unsigned",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &demo_unsigned,
     .preset = "7",
     .max = "1000",
     .prose = "u"},
    {.name = "size",
     .type = OPAL_PARAM_SIZE,
     .value = &demo_size,
     .preset = "4K",
     .min = "1K",
     .max = "1G",
     .unit = "bytes",
     .synonyms = "old_size,older_size",
     .prose = "z"},
    {.name = "double",
     .type = OPAL_PARAM_DOUBLE,
     .value = &demo_double,
     .preset = "0.5",
     .min = "0",
     .max = "1e3",
     .prose = "d"},
    {.name = "enum",
     .type = OPAL_PARAM_ENUM,
     .value = &demo_enum,
     .preset = "red",
     .choices = colours,
     .prose = "e"},
    {.name = "string", .type = OPAL_PARAM_STRING, .value = &demo_string, .prose = "s"},
    {.name = "list", .type = OPAL_PARAM_LIST, .value = &demo_list, .preset = "a,b", .prose = "l"},
    {0},
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void check_values(void)
{
    require(demo_int >= -10 && demo_int <= 16, "the int is within its limits");
    require(demo_unsigned <= 1000, "the unsigned is within its limits");
    require(demo_size >= 1 << 10 && demo_size <= 1 << 30, "the size is within its limits");
    require(demo_double >= 0 && demo_double <= 1e3, "the double is within its limits");
    require(demo_enum == 3 || demo_enum == 5, "the enum is one of its choices");
    require(demo_string == NULL || strlen(demo_string) < SIZE_MAX, "the string is one");
    for (size_t i = 0; i < demo_list.count; i++)
        require(demo_list.items[i] != NULL, "the list is full");
}

static void touch(const opal_param_info_t *info, void *context)
{
    size_t *bytes = context;
    *bytes += strlen(info->full_name) + strlen(info->origin) + strlen(info->value_text);
}

/* Lines that look like variables, as the kernel hands them over; what follows is the file. */
static const uint8_t *read_environment(opal_strings_t *variables, const uint8_t *bytes,
                                       const uint8_t *end)
{
    while (bytes < end) {
        const uint8_t *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const uint8_t *line_end = newline != NULL ? newline : end;
        char *line = opal_xstrndup((const char *)bytes, (size_t)(line_end - bytes));
        bool is_divider = strcmp(line, "---") == 0;
        bytes = newline != NULL ? newline + 1 : end;
        if (!is_divider)
            opal_strings_add(variables, line);
        free(line);
        if (is_divider)
            break;
    }
    return bytes;
}

/* Where a file of these bytes can be opened; the descriptor is the caller's. */
static int make_file(char *path, size_t size, const uint8_t *bytes, size_t length)
{
    int fd = memfd_create("param-file", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "there is room for a file");
    snprintf(path, size, "OMPI_MCA_mca_base_param_files=/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char *no_variables[] = {NULL};
    char **own_environ = environ;
    opal_strings_t variables = {0};
    char path[64];
    size_t total = 0;

    const uint8_t *file = read_environment(&variables, bytes, bytes + length);
    int fd = make_file(path, sizeof path, file, (size_t)(bytes + length - file));
    opal_strings_add(&variables, path);
    environ = variables.count > 0 ? variables.items : no_variables;

    opal_param_init();
    if (opal_param_register("demo", "", rows) != OPAL_SUCCESS)
        require(opal_diagnostic_peek(0, NULL) != NULL, "a refusal has a diagnostic");
    check_values();
    opal_param_visit(touch, &total);
    opal_param_diagnose_unknown(NULL);
    opal_param_withdraw(rows);
    opal_param_fini();
    opal_diagnostic_reset();

    environ = own_environ;
    opal_strings_free(&variables);
    close(fd);
    return 0;
}
