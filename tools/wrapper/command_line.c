/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of gcc and clang that matter here. */
#include "tools/wrapper/command_line.h"

#include <string.h>

#include "opal/include/compiler.h"

/* The compiler is done before the linker's turn. -r links, but only object files. */
static const char *const early_options[] = {
    "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--preprocess", "--compile", "--assemble", "-r",
};

static const char *const static_options[] = {"-static", "--static", "-static-pie"};

/* Their value is the next word, which therefore is no input file. */
static const char *const options_with_value[] = {
    "-o",           "-x",
    "-I",           "-D",
    "-U",           "-L",
    "-l",           "-T",
    "-u",           "-z",
    "-e",           "-A",
    "-B",           "-MF",
    "-MT",          "-MQ",
    "-include",     "-imacros",
    "-isystem",     "-iquote",
    "-idirafter",   "-iprefix",
    "-iwithprefix", "-iwithprefixbefore",
    "-isysroot",    "-imultilib",
    "-Xlinker",     "-Xpreprocessor",
    "-Xassembler",  "-Xclang",
    "-mllvm",       "-target",
    "-arch",        "-aux-info",
    "-wrapper",     "-dumpbase",
    "-dumpdir",     "-dumpbase-ext",
    "--param",      "--output",
    "--sysroot",
};

static bool is_one_of(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

command_line_t command_line_read(char *const *words, size_t count)
{
    command_line_t found = {0};

    for (size_t i = 0; i < count; i++) {
        const char *word = words[i];
        if (word[0] != '-' || word[1] == 0 || strncmp(word, "-l", 2) == 0)
            found.has_input = true;
        if (is_one_of(word, early_options, OPAL_COUNT_OF(early_options)))
            found.stops_early = true;
        if (is_one_of(word, static_options, OPAL_COUNT_OF(static_options)))
            found.is_static = true;
        if (is_one_of(word, options_with_value, OPAL_COUNT_OF(options_with_value)))
            i++;
    }
    return found;
}
