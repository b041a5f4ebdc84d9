/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/wrap.c: commands for launchers that know the rank when the program starts. The rest
 * is in test/mpirun/wrap.test. */
#include "tools/mpirun/wrap.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/opal/support.h"

/* Executes the words with a program behind them, as a launcher does. */
static void execute(const opal_strings_t *words, char *output, size_t size)
{
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        unsetenv("PMIX_RANK");
        setenv("PMI_RANK", "3", 1);
        execvp(words->items[0], words->items);
        _exit(1);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], output, size - 1);
    output[length > 0 ? length : 0] = 0;
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(wrap_has_a_shell_fill_in_the_rank)
{
    wraps_t wraps = {0};
    opal_strings_t words = {0};
    char output[256];
    ck_assert_ptr_null(wrap_add(&wraps, "echo out.%r%% '%p a'"));
    ck_assert_ptr_null(wrap_add(&wraps, "\"it's\" %r"));
    ck_assert_ptr_null(wrap_foreign_words(&wraps, &words));
    opal_strings_add(&words, "program");
    opal_strings_add(&words, "two words");
    execute(&words, output, sizeof output);
    ck_assert_str_eq(output, "out.3% %p a it's 3 program two words\n");
    opal_strings_free(&words);
    wraps_free(&wraps);
}
END_TEST

START_TEST(wrap_needs_no_shell_without_a_rank)
{
    wraps_t wraps = {0};
    opal_strings_t words = {0};
    ck_assert_ptr_null(wrap_add(&wraps, "tool 'a b'"));
    ck_assert_ptr_null(wrap_foreign_words(&wraps, &words));
    ck_assert_uint_eq(words.count, 2);
    ck_assert_str_eq(words.items[1], "a b");
    ck_assert_ptr_null(wrap_add(&wraps, "0,2:tool"));
    unit_assert_part(wrap_foreign_words(&wraps, &words), "leave RANKS: out");
    opal_strings_free(&words);
    wraps_free(&wraps);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &wrap_has_a_shell_fill_in_the_rank},
    {.test = &wrap_needs_no_shell_without_a_rank},
};

UNIT_MAIN("wrap", tests, NULL);
