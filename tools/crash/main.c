/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mica-crash: started by a rank that crashes (opal/crash/crash.c), as its child, to report where it
 * was. It has no arguments; its descriptors are those of opal/crash/notice.h.
 *
 * With a board the report goes there, and mpirun prints it. Else it is printed here, on stderr, as
 * one write, so that it does not mix with other output.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/crash/board.h"
#include "tools/crash/report.h"

/* Signals as a program finds them: the process has blocked all of them. */
static void unblock_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool receive_notice(opal_crash_notice_t *notice)
{
    return recv(OPAL_CRASH_SOCKET, notice, sizeof *notice, 0) == (ssize_t)sizeof *notice &&
           notice->version == OPAL_CRASH_NOTICE_VERSION && notice->bytes == sizeof *notice;
}

static bool write_to_board(const opal_text_t *text)
{
    opal_crash_board_t *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, OPAL_CRASH_BOARD, 0);
    if (board == MAP_FAILED)
        return false;
    size_t length = text->length < sizeof board->text ? text->length : sizeof board->text;
    memcpy(board->text, text->bytes, length);
    board->length = (uint32_t)length;
    return true;
}

static bool print(const opal_crash_notice_t *notice, const opal_text_t *report)
{
    opal_text_t text = {0};
    opal_text_printf(&text, "[%s:%u] error: rank %u of %u (pid %d) ", notice->host, notice->rank,
                     notice->rank, notice->size, notice->pid);
    opal_text_add(&text, notice->signal != 0 ? "is ended by " : "ends the job");
    if (notice->signal != 0)
        report_signal(&text, notice->signal);
    opal_text_printf(&text, "\n%s\n", opal_text_string(report));
    bool is_written = write(STDERR_FILENO, text.bytes, text.length) == (ssize_t)text.length;
    opal_text_free(&text);
    return is_written;
}

int main(int argc, char **argv)
{
    static stack_of_thread_t stack;
    opal_crash_notice_t notice;
    opal_text_t text = {0};
    unblock_signals();
    if (argc > 1 || !receive_notice(&notice)) {
        fprintf(stderr, "%s is started by a rank that crashes, and by nobody else\n", argv[0]);
        return EXIT_FAILURE;
    }
    opal_lines_t *lines = opal_lines_open_maps(notice.pid, OPAL_CRASH_MAPS);
    if (lines == NULL)
        return EXIT_FAILURE;
    stack_walk(lines, notice.frame, &stack);
    if (notice.signal != 0)
        report_write(&text, &notice, &stack);
    else
        report_call(&text, &notice, &stack);
    if (text.length == 0)
        return EXIT_FAILURE;
    bool is_good = notice.has_board ? write_to_board(&text) : print(&notice, &text);
    opal_text_free(&text);
    opal_lines_close(lines);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
