/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/lines/lines.c, elf_file.c and line_table.c: programs and libraries that the installed
 * compilers make of one source, with all kinds of debug sections, and with none. Each answer is
 * held against the line that the source says itself (__LINE__).
 */
#include "opal/lines/lines.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "test/unit/opal/support.h"

/* Prints the place of a call in a static function, and its line; then waits to be ended. */
static const char source[] = "#include <stdio.h>\n"
                             "#include <unistd.h>\n"
                             "extern int line;\n"
                             "extern void *place;\n"
                             "__attribute__((noinline)) void *note(int own)\n"
                             "{\n"
                             "    line = own;\n"
                             "    return __builtin_return_address(0);\n"
                             "}\n"
                             "int line;\n"
                             "void *place;\n"
                             "static __attribute__((noinline, used)) void inner(void)\n"
                             "{\n"
                             "    line = 1;\n"
                             "    place = note(__LINE__);\n"
                             "    line++;\n"
                             "    line--;\n"
                             "}\n"
                             "void outer(void **where, int *which)\n"
                             "{\n"
                             "    inner();\n"
                             "    *where = place;\n"
                             "    *which = line;\n"
                             "}\n"
                             "int main(void)\n"
                             "{\n"
                             "    inner();\n"
                             "    printf(\"%p %d\\n\", place, line);\n"
                             "    fflush(stdout);\n"
                             "    return (int)read(0, &line, 1);\n"
                             "}\n";

static const char *const compilers[] = {"gcc", "clang", "clang-19"};

static bool has_tool(const char *tool)
{
    char *command = opal_xprintf("command -v %s >/dev/null 2>&1", tool);
    bool has = system(command) == 0;
    free(command);
    return has;
}

/* Runs a command in the folder of the test. */
static void shell(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char *command = opal_xprintf("cd '%s' && %s", unit_folder, line);
    ck_assert_msg(system(command) == 0, "%s", command);
    free(command);
}

static void begin(void)
{
    unit_file("probe.c", source);
    opal_lines_debug_folder = unit_folder; /* no debug files of this machine */
}

typedef struct running {
    pid_t pid;
    int to, from;
    uintptr_t call; /* an address in the call */
    int line;
} running_t;

static running_t run(const char *path)
{
    running_t running;
    int in[2], out[2];
    char text[128] = "";
    void *place;
    ck_assert_int_eq(pipe(in) | pipe(out), 0);
    running.pid = fork();
    if (running.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    running.to = in[1];
    running.from = out[0];
    ck_assert_int_gt(read(running.from, text, sizeof text - 1), 0);
    ck_assert_int_eq(sscanf(text, "%p %d", &place, &running.line), 2);
    running.call = (uintptr_t)place - 1;
    return running;
}

static void end(running_t *running)
{
    close(running->to);
    close(running->from);
    ck_assert_int_eq(waitpid(running->pid, NULL, 0), running->pid);
}

/* What is at the call, in a process of the program. */
static void look(const char *name, opal_location_t *place, int *line, char *text, size_t bytes)
{
    static opal_lines_t *lines; /* the place needs it */
    running_t running = run(unit_path(name));
    if (lines != NULL)
        opal_lines_close(lines);
    lines = opal_lines_open(running.pid);
    ck_assert_ptr_nonnull(lines);
    ck_assert(opal_lines_find(lines, running.call, place));
    opal_lines_describe(place, text, bytes);
    *line = running.line;
    end(&running);
}

/* Function, file and line are known. */
static void expect_line(const char *name)
{
    opal_location_t place;
    char text[256], expected[64];
    int line;
    look(name, &place, &line, text, sizeof text);
    ck_assert_str_eq(place.function, "inner");
    ck_assert_int_eq((int)place.line, line);
    snprintf(expected, sizeof expected, "inner (probe.c:%d)", line);
    ck_assert_str_eq(text, expected);
    ck_assert(!place.is_compressed);
}

static const char *const kinds[] = {
    "-g",
    "-g -O2",
    "-gdwarf-4",
    "-gdwarf-3",
    "-gdwarf-2",
    "-gdwarf-5",
    "-g -no-pie",
    "-gdwarf-5 -gdwarf64",
    "-gdwarf-4 -gdwarf64 -ffunction-sections -Wl,--gc-sections",
};

START_TEST(all_versions_are_read)
{
    unsigned tried = 0;
    for (size_t i = 0; i < OPAL_COUNT_OF(compilers); i++) {
        if (!has_tool(compilers[i]))
            continue;
        tried++;
        shell("%s %s -o probe probe.c", compilers[i], kinds[_i]);
        expect_line("probe");
    }
    ck_assert_uint_gt(tried, 0);
}
END_TEST

START_TEST(the_path_has_its_folder)
{
    opal_location_t place;
    char text[256];
    int line;
    shell("mkdir deep && cp probe.c deep && cc -gdwarf-5 -o probe deep/probe.c");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_str_eq(place.file, unit_path("deep/probe.c"));
    shell("cc -gdwarf-4 -o probe deep/probe.c");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_str_eq(place.file, "deep/probe.c");
    ck_assert_str_eq(place.object, unit_path("probe"));
}
END_TEST

START_TEST(without_lines_there_are_functions)
{
    opal_location_t place;
    char text[256];
    int line;
    shell("cc -g0 -o probe probe.c");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_str_eq(place.function, "inner");
    ck_assert_uint_eq(place.line, 0);
    ck_assert_int_eq(strncmp(text, "inner+0x", 8), 0);
    ck_assert_ptr_nonnull(strstr(text, " (probe)"));
}
END_TEST

START_TEST(of_a_stripped_program_the_offset_remains)
{
    opal_location_t place;
    char text[256], expected[64];
    int line;
    shell("cc -g -o probe probe.c && strip probe");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_ptr_null(place.function);
    snprintf(expected, sizeof expected, "probe+%#lx", (unsigned long)place.object_offset);
    ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(compressed_lines_are_named_as_such)
{
    opal_location_t place;
    char text[256];
    int line;
    shell("cc -g -gz=zlib -o probe probe.c");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_str_eq(place.function, "inner");
    ck_assert_uint_eq(place.line, 0);
    ck_assert(place.is_compressed);
}
END_TEST

START_TEST(debug_files_are_found_by_the_build_id)
{
    shell("cc -g -Wl,--build-id=0x1234567890 -o probe probe.c && mkdir -p .build-id/12 && "
          "objcopy --only-keep-debug probe .build-id/12/34567890.debug && strip probe");
    expect_line("probe");
}
END_TEST

START_TEST(debug_files_are_found_by_their_name)
{
    static const char *const folders[] = {".", ".debug"};
    for (size_t i = 0; i < OPAL_COUNT_OF(folders); i++) {
        shell(
            "cc -g -Wl,--build-id -o probe probe.c && mkdir -p .debug && "
            "objcopy --only-keep-debug probe probe.debug && strip probe && "
            "objcopy --add-gnu-debuglink=probe.debug probe && { [ %s = . ] || mv probe.debug %s; }",
            folders[i], folders[i]);
        expect_line("probe");
    }
}
END_TEST

START_TEST(a_debug_file_of_another_build_is_refused)
{
    opal_location_t place;
    char text[256];
    int line;
    shell("cc -g -Wl,--build-id=0x1234567890 -o probe probe.c && mkdir -p .build-id/12 && "
          "cc -g -Wl,--build-id=0x1234567891 -o other probe.c && "
          "objcopy --only-keep-debug other .build-id/12/34567890.debug && strip probe");
    look("probe", &place, &line, text, sizeof text);
    ck_assert_uint_eq(place.line, 0);
}
END_TEST

/* Loaded after the lines were opened. */
START_TEST(libraries_of_this_process_are_read)
{
    void (*outer)(void **, int *);
    void *where;
    int line;
    opal_location_t place;
    opal_lines_t *lines = opal_lines_open(getpid());
    ck_assert(opal_lines_find(lines, (uintptr_t)&opal_lines_find, &place));
    ck_assert_str_eq(place.function, "opal_lines_find");
    shell("cc -g -fpic -shared -o probe.so probe.c");
    void *library = dlopen(unit_path("probe.so"), RTLD_NOW);
    ck_assert_ptr_nonnull(library);
    *(void **)&outer = dlsym(library, "outer");
    outer(&where, &line);
    ck_assert(opal_lines_find(lines, (uintptr_t)where - 1, &place));
    ck_assert_str_eq(place.function, "inner");
    ck_assert_int_eq((int)place.line, line);

    opal_location_t again;
    ck_assert(opal_lines_find_in(lines, place.object, place.object_offset, &again));
    ck_assert_str_eq(again.function, "inner");
    ck_assert_int_eq((int)again.line, line);
    ck_assert(!opal_lines_find_in(lines, unit_path("missing"), 1, &again));

    uintptr_t bias;
    opal_elf_t *elf = opal_lines_elf(lines, (uintptr_t)where, &bias);
    ck_assert_ptr_nonnull(elf);
    ck_assert_uint_eq((uintptr_t)where - 1 - bias, place.object_offset);
    opal_lines_close(lines);
    dlclose(library);
}
END_TEST

START_TEST(what_is_in_no_file_is_an_address)
{
    opal_location_t place;
    char text[64];
    opal_lines_t *lines = opal_lines_open(getpid());
    ck_assert(!opal_lines_find(lines, 0x10, &place));
    ck_assert_str_eq(opal_lines_describe(&place, text, sizeof text), "0x10");
    opal_lines_close(lines);
    ck_assert_ptr_null(opal_lines_open(999999999));
}
END_TEST

START_TEST(a_program_that_was_replaced_is_read)
{
    shell("cc -g -o probe probe.c");
    running_t running = run(unit_path("probe"));
    shell("rm probe && echo none >probe");
    opal_location_t place;
    opal_lines_t *lines = opal_lines_open(running.pid);
    ck_assert(opal_lines_find(lines, running.call, &place));
    ck_assert_str_eq(place.function, "inner");
    ck_assert_int_eq((int)place.line, running.line);
    opal_lines_close(lines);
    end(&running);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &all_versions_are_read, .repeats = OPAL_COUNT_OF(kinds)},
    {.test = &the_path_has_its_folder},
    {.test = &without_lines_there_are_functions},
    {.test = &of_a_stripped_program_the_offset_remains},
    {.test = &compressed_lines_are_named_as_such},
    {.test = &debug_files_are_found_by_the_build_id},
    {.test = &debug_files_are_found_by_their_name},
    {.test = &a_debug_file_of_another_build_is_refused},
    {.test = &libraries_of_this_process_are_read},
    {.test = &what_is_in_no_file_is_an_address},
    {.test = &a_program_that_was_replaced_is_read},
};

UNIT_MAIN("lines", tests, begin);
