/* SPDX-License-Identifier: BSD-3-Clause */
/* The launcher's thread: reads lines, keeps what is put, answers. */
#include "test/unit/opal/mca/pmi/wire/launcher.h"

#include <pthread.h>
#include <sys/socket.h>

#include "opal/mca/pmi/base/message.h"
#include "test/unit/opal/support.h"

typedef struct pair {
    char *key, *value;
} pair_t;

static struct {
    int fd, rank_fd;
    pthread_t thread;
    const launcher_fault_t *fault;
    unsigned skipped;
    pthread_mutex_t lock; /* of pairs */
    pair_t *pairs;
    size_t pair_count;
    opal_text_t commands;
} launcher;

static pair_t *find_pair(const char *key)
{
    for (size_t i = 0; i < launcher.pair_count; i++) {
        if (strcmp(launcher.pairs[i].key, key) == 0)
            return &launcher.pairs[i];
    }
    return NULL;
}

/* As Hydra: a key once, and nothing that is too long. */
static void answer_put(const opal_pmi_message_t *request, opal_text_t *answer)
{
    const char *key = opal_pmi_message_get(request, "key");
    const char *value = opal_pmi_message_get(request, "value");
    if (key == NULL || value == NULL || strlen(key) > OPAL_PMI_MAX_KEY ||
        strlen(value) > OPAL_PMI_MAX_VALUE || find_pair(key) != NULL) {
        opal_text_add(answer, "cmd=put_result rc=-1 msg=duplicate_or_too_long\n");
        return;
    }
    launcher.pairs =
        opal_xrealloc(launcher.pairs, (launcher.pair_count + 1) * sizeof *launcher.pairs);
    launcher.pairs[launcher.pair_count++] = (pair_t){opal_xstrdup(key), opal_xstrdup(value)};
    opal_text_add(answer, "cmd=put_result rc=0 msg=success\n");
}

static void answer_get(const opal_pmi_message_t *request, opal_text_t *answer)
{
    const char *key = opal_pmi_message_get(request, "key");
    const pair_t *pair = key != NULL ? find_pair(key) : NULL;
    if (pair != NULL)
        opal_text_printf(answer, "cmd=get_result rc=0 msg=success value=%s\n", pair->value);
    else if (key != NULL && strcmp(key, "PMI_process_mapping") == 0)
        opal_text_add(answer, "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
    else
        opal_text_printf(answer, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
}

static const struct {
    const char *command, *answer;
} simple_answers[] = {
    {"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
    {"get_my_kvsname", "cmd=my_kvsname kvsname=kvs_unit_0\n"},
    {"barrier_in", "cmd=barrier_out\n"},
    {"get_appnum", "cmd=appnum appnum=2\n"},
    {"get_universe_size", "cmd=universe_size size=-1\n"},
    {"finalize", "cmd=finalize_ack\n"},
};

static void answer_well(const opal_pmi_message_t *request, opal_text_t *answer)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(simple_answers); i++) {
        if (strcmp(request->cmd, simple_answers[i].command) == 0)
            opal_text_add(answer, simple_answers[i].answer);
    }
    if (strcmp(request->cmd, "put") == 0)
        answer_put(request, answer);
    else if (strcmp(request->cmd, "get") == 0)
        answer_get(request, answer);
}

static bool send_all(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(launcher.fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* False: the connection is to be closed. */
static bool answer_one(const opal_pmi_message_t *request)
{
    const launcher_fault_t *fault = launcher.fault;
    opal_text_t answer = {0};
    opal_text_printf(&launcher.commands, "%s ", request->cmd);
    bool wrong = fault != NULL && strcmp(fault->command, request->cmd) == 0 &&
                 launcher.skipped++ >= fault->skip;
    pthread_mutex_lock(&launcher.lock);
    if (!wrong)
        answer_well(request, &answer);
    else if (fault->answer != NULL)
        opal_text_add(&answer, fault->answer);
    pthread_mutex_unlock(&launcher.lock);
    bool goes_on = !wrong || (fault->answer != NULL && !fault->half);
    goes_on = send_all(opal_text_string(&answer), answer.length) && goes_on;
    opal_text_free(&answer);
    /* An abort has no answer: the launcher ends the job. */
    return goes_on && strcmp(request->cmd, "abort") != 0;
}

static void *serve(void *context OPAL_UNUSED)
{
    static char bytes[OPAL_PMI_MAX_MESSAGE];
    size_t length = 0, used;
    ssize_t got;
    bool goes_on = true;
    while (goes_on && (got = read(launcher.fd, bytes + length, sizeof bytes - length)) > 0) {
        length += (size_t)got;
        opal_pmi_message_t request;
        const char *complaint;
        while (goes_on &&
               opal_pmi_message_parse(bytes, length, &request, &used, &complaint) == OPAL_SUCCESS &&
               used > 0) {
            goes_on = answer_one(&request);
            length -= used;
            memmove(bytes, bytes + used, length);
        }
    }
    close(launcher.fd);
    return NULL;
}

static void set_number(const char *name, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    setenv(name, text, 1);
}

int launcher_start(unsigned rank, unsigned size, const launcher_fault_t *fault)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    set_number("PMI_FD", (unsigned)ends[1]);
    set_number("PMI_RANK", rank);
    set_number("PMI_SIZE", size);
    launcher.fd = ends[0];
    launcher.rank_fd = ends[1];
    launcher.fault = fault;
    pthread_mutex_init(&launcher.lock, NULL);
    ck_assert_int_eq(pthread_create(&launcher.thread, NULL, serve, NULL), 0);
    return launcher.rank_fd;
}

const char *launcher_stop(void)
{
    static char commands[4096];
    shutdown(launcher.rank_fd, SHUT_RDWR);
    pthread_join(launcher.thread, NULL);
    close(launcher.rank_fd);
    for (size_t i = 0; i < launcher.pair_count; i++) {
        free(launcher.pairs[i].key);
        free(launcher.pairs[i].value);
    }
    free(launcher.pairs);
    launcher.pairs = NULL;
    launcher.pair_count = 0;
    launcher.skipped = 0;
    snprintf(commands, sizeof commands, "%s", opal_text_string(&launcher.commands));
    opal_text_free(&launcher.commands);
    return commands;
}

bool launcher_replace(const char *key, const char *value)
{
    pthread_mutex_lock(&launcher.lock);
    pair_t *pair = find_pair(key);
    if (pair != NULL) {
        free(pair->value);
        pair->value = opal_xstrdup(value);
    }
    pthread_mutex_unlock(&launcher.lock);
    return pair != NULL;
}
