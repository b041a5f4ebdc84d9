/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpicc, mpicxx and mpifort: call the compiler with the flags of MPI programs.
 *
 * All are one program, and the name it is called by decides the language. The user's words come
 * first, so the user's -I and -L win. The wrapper becomes the compiler by exec: no shell, no child.
 * Only mpifort runs the compiler before, to know its version, by which it finds the modules.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/wrapper/modules.h"
#include "tools/wrapper/shell.h"
#include "tools/wrapper/tree.h"

/* -- the compiler's options ----------------------------------------------------------------- */

/*
 * What the user's words say about the compiler's work. Libraries are added only if the compiler
 * links, because it warns about unused libraries otherwise.
 */
typedef struct command_line {
    bool stops_early; /* -c, -S, -E, ...: the compiler does not link */
    bool has_input;   /* a file, a library or "-": there is something to link */
    bool is_static;   /* -static, -static-pie */
} command_line_t;

/* Options without a link of libraries. -r links, but only object files. */
static const char *const early_options[] = {
    "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--preprocess", "--compile", "--assemble", "-r",
};

static const char *const static_options[] = {"-static", "--static", "-static-pie"};

/* The next word is the value of the option, and no input file. */
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

static command_line_t command_line_read(char *const *words, size_t count)
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

/* -- our options ---------------------------------------------------------------------------- */

/* What depends on the language. Of several variables the first one that is set wins. */
typedef struct language {
    const char *compiler; /* configured */
    const char *compiler_variables[7];
    const char *flag_variables[3];
    const char *compiler_options[4]; /* of MPICH */
    bool has_modules;                /* Fortran */
} language_t;

static const language_t language_c = {
    .compiler = WRAPPER_CC,
    .compiler_variables = {"OMPI_CC", "MPICH_CC"},
    .flag_variables = {"OMPI_CFLAGS", "MPICH_CFLAGS"},
    .compiler_options = {"-cc="},
};

static const language_t language_cxx = {
    .compiler = WRAPPER_CXX,
    .compiler_variables = {"OMPI_CXX", "MPICH_CXX"},
    .flag_variables = {"OMPI_CXXFLAGS", "MPICH_CXXFLAGS"},
    .compiler_options = {"-cxx="},
};

static const language_t language_fortran = {
    .compiler = WRAPPER_FC,
    .compiler_variables = {"OMPI_FC", "MPICH_FC", "OMPI_F90", "MPICH_F90", "OMPI_F77", "MPICH_F77"},
    .flag_variables = {"OMPI_FCFLAGS", "MPICH_FCFLAGS"},
    .compiler_options = {"-fc=", "-f90=", "-f77="},
    .has_modules = true,
};

typedef enum show {
    SHOW_NOTHING, /* run it */
    SHOW_COMMAND,
    SHOW_COMPILE_COMMAND,
    SHOW_LINK_COMMAND,
    SHOW_COMPILER,
    SHOW_COMPILE_FLAGS,
    SHOW_LINK_FLAGS,
    SHOW_INCLUDE_DIRS,
    SHOW_LIBRARY_DIRS,
    SHOW_LIBRARIES,
    SHOW_VERSION,
    SHOW_HELP,
} show_t;

/* Open MPI's and MPICH's options; each may have one dash or two. */
static const struct {
    const char *option;
    show_t show;
} show_options[] = {
    {"-show", SHOW_COMMAND},
    {"-showme", SHOW_COMMAND},
    {"-compile_info", SHOW_COMPILE_COMMAND},
    {"-compile-info", SHOW_COMPILE_COMMAND},
    {"-link_info", SHOW_LINK_COMMAND},
    {"-link-info", SHOW_LINK_COMMAND},
    {"-showme:command", SHOW_COMPILER},
    {"-showme:compile", SHOW_COMPILE_FLAGS},
    {"-showme:link", SHOW_LINK_FLAGS},
    {"-showme:incdirs", SHOW_INCLUDE_DIRS},
    {"-showme:libdirs", SHOW_LIBRARY_DIRS},
    {"-showme:libs", SHOW_LIBRARIES},
    {"-showme:version", SHOW_VERSION},
    {"-showme:help", SHOW_HELP},
    {"-help", SHOW_HELP},
};

static const char help[] =
    "usage: %s [OPTION | COMPILER ARGUMENT]...\n"
    "\n"
    "Calls the compiler with the flags of MPI programs. Words that are not listed here are passed to\n"
    "the compiler. mpifort (mpif90, mpif77) compiles the modules mpi and mpi_f08 when a compiler\n"
    "first needs them.\n"
    "\n"
    "  -show, --showme        print the command instead of running it\n"
    "  -compile_info          print the command for compiling\n"
    "  -link_info             print the command for linking\n"
    "  --showme:command       print the compiler\n"
    "  --showme:compile       print the flags for compiling\n"
    "  --showme:link          print the flags for linking\n"
    "  --showme:incdirs       print the directories with headers\n"
    "  --showme:libdirs       print the directories with libraries\n"
    "  --showme:libs          print the libraries' names\n"
    "  --showme:version       print the version\n"
    "  --help, --showme:help  print this help\n"
    "  %s<compiler>%*suse this compiler\n"
    "\n"
    "Each option may have one dash or two.\n"
    "\n"
    "Environment: %s or %s names the compiler. OMPI_CPPFLAGS and %s are\n"
    "added when compiling, OMPI_LDFLAGS and OMPI_LIBS when linking.\n";

typedef struct request {
    const char *program; /* "mpicc" */
    const language_t *language;
    show_t show;
    const char *compiler; /* one or several words, as configured or set by the user */
    const char *compiler_origin;
    opal_strings_t words; /* the compiler's */
    command_line_t line;
    modules_t modules; /* of Fortran; all zero: none are needed */
} request_t;

/* The value of the first variable that is set and not empty, and its name in `*which`; or NULL. */
static const char *first_set(const char *const *variables, const char **which)
{
    for (; *variables != NULL; variables++) {
        const char *value = getenv(*variables);
        if (value != NULL && value[strspn(value, " \t")] != 0) {
            if (which != NULL)
                *which = *variables;
            return value;
        }
    }
    return NULL;
}

/* "mpifort", "mpif90", "mpif77"; "mpicxx", "mpic++", "mpiCC", with anything around it. */
static const language_t *language_of(const char *program)
{
    if (strstr(program, "mpif") != NULL)
        return &language_fortran;
    bool is_cxx = strstr(program, "cxx") != NULL || strstr(program, "c++") != NULL ||
                  strstr(program, "CC") != NULL;
    return is_cxx ? &language_cxx : &language_c;
}

static void choose_compiler(request_t *request)
{
    const char *named = first_set(request->language->compiler_variables, &request->compiler_origin);
    if (named != NULL) {
        request->compiler = named;
    } else {
        request->compiler = request->language->compiler;
        request->compiler_origin = "configure";
    }
}

/* Handles a word that is an option of the wrapper. False: the word is for the compiler. */
static bool take_word(request_t *request, const char *word)
{
    if (strncmp(word, "--", 2) == 0)
        word++;
    for (size_t i = 0; i < OPAL_COUNT_OF(show_options); i++) {
        if (strcmp(word, show_options[i].option) == 0) {
            request->show = show_options[i].show;
            return true;
        }
    }
    for (const char *const *option = request->language->compiler_options; *option != NULL;
         option++) {
        if (strncmp(word, *option, strlen(*option)) == 0) {
            request->compiler = word + strlen(*option);
            request->compiler_origin = *option;
            return true;
        }
    }
    return false;
}

static request_t read_request(int argc, char **argv)
{
    request_t request = {0};
    const char *slash = strrchr(argv[0], '/');

    request.program = slash != NULL ? slash + 1 : argv[0];
    request.language = language_of(request.program);
    choose_compiler(&request);
    for (int i = 1; i < argc; i++)
        if (!take_word(&request, argv[i]))
            opal_strings_add(&request.words, argv[i]);
    request.line = command_line_read(request.words.items, request.words.count);
    return request;
}

static void add_from(opal_strings_t *command, const char *variable)
{
    const char *value = getenv(variable);
    if (value != NULL)
        shell_split(command, value);
}

static void add_joined(opal_strings_t *command, const char *option, const char *value)
{
    char *word = opal_xprintf("%s%s", option, value);
    opal_strings_add(command, word);
    free(word);
}

/* Flags before the user's words, which can override them. */
static void add_early_flags(opal_strings_t *command, const request_t *request)
{
    const char *flags = first_set(request->language->flag_variables, NULL);
    char *mismatch = modules_feature(&request->modules, "mismatch");
    shell_split(command, mismatch);
    free(mismatch);
    add_from(command, "OMPI_CPPFLAGS");
    if (flags != NULL)
        shell_split(command, flags);
}

static bool is_installed(const tree_t *tree, const char *library)
{
    char *path = opal_xprintf("%s/%s", tree->library_dir, library);
    bool is_there = access(path, F_OK) == 0;
    free(path);
    return is_there;
}

/* True if the libraries that libmpi_abi needs must be named: in a static link. */
static bool needs_private_libraries(const request_t *request, const tree_t *tree)
{
    return request->line.is_static || !is_installed(tree, "libmpi_abi.so");
}

static void add_include_flags(opal_strings_t *command, const request_t *request, const tree_t *tree)
{
    add_joined(command, "-I", tree->include_dir);
    if (request->modules.folder != NULL)
        add_joined(command, "-I", request->modules.folder);
}

/* What libmpifort_abi has to know of the compiler (ompi/fortran/logical.c). */
static void add_literals(opal_strings_t *command, const request_t *request)
{
    char *yes = modules_feature(&request->modules, "true");
    char *no = modules_feature(&request->modules, "false");
    if (*yes != 0 && *no != 0 && (strcmp(yes, "1") != 0 || strcmp(no, "0") != 0)) {
        add_joined(command, "-Wl,--defsym=mpifort_logical_true=", yes);
        add_joined(command, "-Wl,--defsym=mpifort_logical_false=", no);
    }
    free(yes);
    free(no);
}

static void add_fortran_libraries(opal_strings_t *command, const request_t *request)
{
    if (request->modules.folder != NULL) {
        add_literals(command, request);
        add_joined(command, "-L", request->modules.folder);
        opal_strings_add(command, "-lmpifort_modules");
    }
    opal_strings_add(command, "-lmpifort_abi");
}

static void add_link_flags(opal_strings_t *command, const request_t *request, const tree_t *tree)
{
    add_from(command, "OMPI_LDFLAGS");
    add_joined(command, "-L", tree->library_dir);
    if (!request->line.is_static) {
        /* RUNPATH, not RPATH: LD_LIBRARY_PATH stays the user's way to run on another build. */
        add_joined(command, "-Wl,-rpath,", tree->library_dir);
        opal_strings_add(command, "-Wl,--enable-new-dtags");
    }
    if (request->language->has_modules)
        add_fortran_libraries(command, request);
    opal_strings_add(command, "-lmpi_abi");
    if (needs_private_libraries(request, tree)) {
        opal_strings_add(command, "-lopen-pal");
        shell_split(command, WRAPPER_PRIVATE_LIBS);
    }
    add_from(command, "OMPI_LIBS");
}

/* The whole command, as it is run or shown. */
static void build_command(opal_strings_t *command, const request_t *request, const tree_t *tree,
                          bool links)
{
    shell_split(command, request->compiler);
    add_early_flags(command, request);
    for (size_t i = 0; i < request->words.count; i++)
        opal_strings_add(command, request->words.items[i]);
    add_include_flags(command, request, tree);
    if (links)
        add_link_flags(command, request, tree);
}

static int print_words(const opal_strings_t *words)
{
    opal_text_t text = {0};
    for (size_t i = 0; i < words->count; i++)
        shell_quote(&text, words->items[i]);
    int status = puts(opal_text_string(&text)) < 0 || fflush(stdout) != 0;
    opal_text_free(&text);
    return status;
}

static int print_help(const request_t *request)
{
    const language_t *language = request->language;
    printf(help, request->program, language->compiler_options[0],
           (int)(13 - strlen(language->compiler_options[0])), "", language->compiler_variables[0],
           language->compiler_variables[1], language->flag_variables[0]);
    return fflush(stdout) != 0;
}

static int show(const request_t *request, const tree_t *tree)
{
    opal_strings_t words = {0};

    switch (request->show) {
    case SHOW_COMMAND: /* without an input file it shows the flags for linking, too */
        build_command(&words, request, tree, !request->line.stops_early);
        break;
    case SHOW_COMPILE_COMMAND:
        build_command(&words, request, tree, false);
        break;
    case SHOW_LINK_COMMAND:
        build_command(&words, request, tree, true);
        break;
    case SHOW_COMPILER:
        shell_split(&words, request->compiler);
        break;
    case SHOW_COMPILE_FLAGS:
        add_early_flags(&words, request);
        add_include_flags(&words, request, tree);
        break;
    case SHOW_LINK_FLAGS:
        add_link_flags(&words, request, tree);
        break;
    case SHOW_INCLUDE_DIRS:
        opal_strings_add(&words, tree->include_dir);
        if (request->modules.folder != NULL)
            opal_strings_add(&words, request->modules.folder);
        break;
    case SHOW_LIBRARY_DIRS:
        opal_strings_add(&words, tree->library_dir);
        if (request->modules.folder != NULL)
            opal_strings_add(&words, request->modules.folder);
        break;
    case SHOW_LIBRARIES:
        if (request->modules.folder != NULL)
            opal_strings_add(&words, "mpifort_modules");
        if (request->language->has_modules)
            opal_strings_add(&words, "mpifort_abi");
        opal_strings_add(&words, "mpi_abi");
        break;
    case SHOW_VERSION:
        printf("%s: %s\n", request->program, PACKAGE_STRING);
        return fflush(stdout) != 0;
    case SHOW_HELP:
    case SHOW_NOTHING:
        return print_help(request);
    }
    int status = print_words(&words);
    opal_strings_free(&words);
    return status;
}

/* errno says why the compiler cannot be started. Returns the exit status. */
static int refuse_compiler(const request_t *request, const char *compiler)
{
    int status = errno == ENOENT ? 127 : 126;
    opal_log_error("the compiler '%s' (named by %s) cannot be started: %s; %sset %s to another one",
                   compiler, request->compiler_origin, strerror(errno),
                   request->language->has_modules && errno == ENOENT
                       ? "install it (gfortran is in the package gfortran or gcc-gfortran), or "
                       : "",
                   request->language->compiler_variables[0]);
    return status;
}

/* Becomes the compiler; returns the exit status if that fails. */
static int run(const request_t *request, const tree_t *tree)
{
    opal_strings_t command = {0};
    const command_line_t *line = &request->line;
    bool links = line->has_input && !line->stops_early;

    if (links && line->is_static && !is_installed(tree, "libmpi_abi.a"))
        opal_log_warning("%s has no static libraries; configure Mica with --enable-static",
                         tree->library_dir);
    build_command(&command, request, tree, links);
    execvp(command.items[0], command.items);
    int status = refuse_compiler(request, command.items[0]);
    opal_strings_free(&command);
    return status;
}

/* -- Fortran -------------------------------------------------------------------------------- */

static bool asks_flags(const request_t *request)
{
    return request->show >= SHOW_COMPILE_FLAGS && request->show <= SHOW_LIBRARIES;
}

/* Without an input file the compiler only tells about itself. */
static bool needs_modules(const request_t *request)
{
    if (!request->language->has_modules)
        return false;
    return request->show == SHOW_NOTHING
               ? request->line.has_input
               : asks_flags(request) || request->show <= SHOW_LINK_COMMAND;
}

/*
 * Finds the modules, or makes them. Returns the exit status if that fails. Flags that cannot be
 * told are none, without a failure: CMake's FindMPI would take the pkg-config file of another MPI
 * after a failure, and finds by empty flags that there is no MPI for Fortran.
 */
static int find_modules(request_t *request, const tree_t *tree)
{
    opal_strings_t compiler = {0};
    int status = 0;
    shell_split(&compiler, request->compiler);
    switch (modules_find(&request->modules, &compiler, tree)) {
    case MODULES_FOUND:
        break;
    case MODULES_NO_COMPILER:
        status = refuse_compiler(request, compiler.items[0]);
        break;
    case MODULES_FAILED:
        status = 1;
        break;
    }
    opal_strings_free(&compiler);
    return status;
}

static int work(request_t *request, const tree_t *tree)
{
    if (request->compiler[strspn(request->compiler, " \t")] == 0) {
        opal_log_error("%s names no compiler", request->compiler_origin);
        return 2;
    }
    int status = needs_modules(request) ? find_modules(request, tree) : 0;
    if (status != 0)
        return asks_flags(request) ? 0 : status;
    return request->show != SHOW_NOTHING ? show(request, tree) : run(request, tree);
}

int main(int argc, char **argv)
{
    if (argc < 1) /* exec allows it; then no name says the language */
        return 2;
    request_t request = read_request(argc, argv);
    tree_t tree = tree_find();

    opal_log_set_origin(request.program);
    int status = work(&request, &tree);
    modules_free(&request.modules);
    tree_free(&tree);
    opal_strings_free(&request.words);
    return status;
}
