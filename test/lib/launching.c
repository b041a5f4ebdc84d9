/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that does what lines of its standard input say, by the operations of pmi.h alone, and
 * prints a line for each. For tests of starting processes and of names, under every launcher.
 *
 *   spawn N COMMAND WORD...    spawn2 N COMMAND : N COMMAND    info KEY VALUE (of the next spawn)
 *   publish SERVICE PORT       lookup SERVICE                  unpublish SERVICE
 *   trouble                    until the launcher says that the new job will not connect
 *   fork                       a child that holds all descriptors until it is killed
 *   mark                       the file mark, when all before it is done
 *   end                        the end of the input, without a goodbye: crash
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/process/job.h"
#include "opal/runtime/init.h"

enum { MOST = 64 };

static const opal_pmi_ops_t *pmi;
static void *state;
static opal_pmi_info_t infos[MOST];
static size_t info_count;

/* Cuts a program off the words: N COMMAND WORD... up to ":" or the end. Returns the rest. */
static char **take_program(char **words, opal_pmi_program_t *program)
{
    *program = (opal_pmi_program_t){.command = words[1],
                                    .arguments = words + 2,
                                    .max_processes = (unsigned)atoi(words[0]),
                                    .infos = infos,
                                    .info_count = info_count};
    for (words += 2; *words != NULL; words++) {
        if (strcmp(*words, ":") == 0) {
            *words = NULL;
            return words + 1;
        }
    }
    return words;
}

static void spawn(char **words)
{
    opal_pmi_program_t programs[MOST];
    opal_status_t errors[MOST] = {OPAL_SUCCESS};
    size_t count = 0;
    unsigned started = 0, all = 0;
    while (*words != NULL) {
        words = take_program(words, &programs[count]);
        all += programs[count++].max_processes;
    }
    opal_status_t status = pmi->spawn(state, programs, count, "unit:port", errors);
    for (unsigned i = 0; i < all; i++)
        started += errors[i] == OPAL_SUCCESS;
    for (; info_count > 0; info_count--) {
        free((char *)infos[info_count - 1].key);
        free((char *)infos[info_count - 1].value);
    }
    printf("spawn %s %u\n", status == OPAL_SUCCESS ? "SUCCESS" : opal_status_name(status), started);
}

static void say(const char *what, opal_status_t status, const char *more)
{
    printf("%s %s%s\n", what, status == OPAL_SUCCESS ? "SUCCESS" : opal_status_name(status), more);
}

static void hold(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* the test kills it before */
        pause();
    }
    printf("fork %d\n", (int)child);
}

/* Until the launcher knows of some; forever, if it does not. */
static void await_trouble(void)
{
    char *text = NULL;
    while (pmi->spawn_trouble(state, "unit:port", &text) == OPAL_ERR_NOT_FOUND)
        poll(NULL, 0, 1);
    printf("trouble %s\n", text != NULL ? text : "none");
    fflush(stdout);
    free(text);
}

static void obey(char **words, size_t count)
{
    char *port = NULL;
    if (strcmp(words[0], "info") == 0) {
        infos[info_count++] = (opal_pmi_info_t){strdup(words[1]), strdup(words[2])};
    } else if (strcmp(words[0], "spawn") == 0) {
        spawn(words + 1);
    } else if (strcmp(words[0], "trouble") == 0) {
        await_trouble();
    } else if (strcmp(words[0], "publish") == 0 && count == 3) {
        say(words[0], pmi->publish(state, words[1], words[2]), "");
    } else if (strcmp(words[0], "unpublish") == 0) {
        say(words[0], pmi->unpublish(state, words[1]), "");
    } else if (strcmp(words[0], "lookup") == 0) {
        opal_status_t status = pmi->lookup(state, words[1], &port);
        char more[300] = "";
        if (status == OPAL_SUCCESS)
            snprintf(more, sizeof more, " %s", port);
        say(words[0], status, more);
        free(port);
    } else if (strcmp(words[0], "fork") == 0) {
        hold();
    } else if (strcmp(words[0], "mark") == 0) {
        fclose(fopen("mark", "w"));
    }
    fflush(stdout);
}

int main(void)
{
    char line[4096];
    bool says_goodbye = false;
    if (opal_init(OPAL_FAILURE_ENDS_JOB) != OPAL_SUCCESS)
        return 1;
    pmi = opal_pmi(&state);
    const opal_pmi_job_t *job = opal_job();
    printf("rank %u of %u app %d parent %s universe %d\n", job->rank, job->size, job->app_number,
           job->parent_port != NULL ? job->parent_port : "none", job->universe_size);
    fflush(stdout);
    says_goodbye = job->parent_port != NULL;
    while (!says_goodbye && fgets(line, sizeof line, stdin) != NULL) {
        char *words[MOST] = {NULL}, *rest = line;
        size_t count = 0;
        for (char *word; count < MOST - 1 && (word = strsep(&rest, " \n")) != NULL;) {
            if (*word != 0)
                words[count++] = word;
        }
        says_goodbye = count > 0 && strcmp(words[0], "end") == 0;
        if (count > 0)
            obey(words, count);
    }
    if (!says_goodbye)
        _exit(3);
    return opal_finalize() != OPAL_SUCCESS;
}
