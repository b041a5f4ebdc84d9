/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The moods of the provider, from the environment. FAKE_NAME_<rank> is for one rank of an MPI job
 * (PMI_RANK), FAKE_NAME for all others.
 *
 *   FAKE_FAIL=send:3:EIO,cq_read:2+    the third call of a send returns -FI_EIO, each cq_read from
 *   FAKE_ERROR=recv:1                  the second one on fails (EIO if no error is named); and an
 *                                      error completion of the first receive
 *   FAKE_SEED=N                        other random decisions
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

fake_settings_t fake;
int fake_open_objects;

static const struct setting {
    const char *name;
    uint64_t *value, preset;
} settings[] = {
    {"AGAIN", &fake.again, 0},           /* percent of the calls that say -FI_EAGAIN */
    {"DELAY", &fake.delay, 0},           /* completions are seen up to so many reads later */
    {"REORDER", &fake.reorder, 0},       /* ... and in any order */
    {"LATE", &fake.late, 0},             /* a send takes its data up to so many reads later */
    {"MAX_MSG", &fake.max_msg, 1 << 26}, /* max_msg_size */
    {"INJECT", &fake.inject, 64},        /* inject_size */
    {"IOV", &fake.iov, FAKE_MAX_IOV},    /* iov_limit */
    {"CQ_DATA", &fake.cq_data, 8},       /* cq_data_size */
    {"TAG_FORMAT", &fake.tag_format,
     ~0UL},                       /* mem_tag_format; what is above its first 1 is refused */
    {"TX", &fake.tx_size, 256},   /* sends that may wait */
    {"RX", &fake.rx_size, 65536}, /* receives that may be posted */
    {"ADDRESS", &fake.address_bytes, FAKE_ADDRESS_BYTES}, /* length of an address, or more */
    {"INFOS", &fake.infos, 1},             /* entries of fi_getinfo: domains fake0, fake1 ... */
    {"DIRECTED", &fake.directed, 1},       /* 0: no FI_DIRECTED_RECV */
    {"CONTEXT", &fake.context, 1},         /* 0, 1: FI_CONTEXT, 2: FI_CONTEXT2 is demanded */
    {"MR_LOCAL", &fake.mr_local, 0},       /* 1: FI_MR_LOCAL, and memory.c looks */
    {"MR_ENDPOINT", &fake.mr_endpoint, 0}, /* 1: FI_MR_ENDPOINT */
    {"WAIT", &fake.wait, 1},               /* 0: no wait object, and no fd */
    {"THREAD_SAFE", &fake.thread_safe, 1}, /* 0: FI_THREAD_DOMAIN is all that it has */
    {"PEEK", &fake.peek, FAKE_PEEK_NOW},   /* 1: answers some reads later, 2: no message at once */
    {"VERSION", &fake.version, 1},         /* minor version of the provider */
    {"BARE_ERRORS", &fake.bare_errors, 0}, /* 1: no data in errors */
    {"LEAKS", &fake.leaks, 0},             /* 1: tells at the end what was not closed */
};

static const char *const operations[FAKE_OPERATIONS] = {
    "getinfo", "fabric",  "domain",    "cq_open", "av_open",    "endpoint", "bind",   "enable",
    "getname", "getwait", "av_insert", "mr_reg",  "mr_enable",  "send",     "inject", "recv",
    "peek",    "claim",   "cancel",    "cq_read", "cq_readerr", "trywait",  "close",
};

/* When an operation fails: never if number is 0. */
typedef struct failure {
    uint64_t number, count;
    bool and_later;
    int error;
} failure_t;

static failure_t call_failures[FAKE_OPERATIONS], completion_failures[FAKE_OPERATIONS];
static uint64_t random_state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fake_refuse(const char *format, ...)
{
    va_list arguments;
    char text[512];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fake: rank %s: %s\n", getenv("PMI_RANK") ? getenv("PMI_RANK") : "-", text);
    _exit(FAKE_REFUSED);
}

void fake_enter(void)
{
    if (fake.thread_safe)
        pthread_mutex_lock(&lock);
    else if (pthread_mutex_trylock(&lock) != 0)
        fake_refuse("two threads at once in a domain of FI_THREAD_DOMAIN");
}

void fake_leave(void)
{
    pthread_mutex_unlock(&lock);
}

uint64_t fake_random(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

bool fake_again(void)
{
    return fake.again > 0 && fake_random(100) < fake.again;
}

static int error_of(failure_t *failure)
{
    failure->count++;
    if (failure->number == 0 || failure->count < failure->number ||
        (failure->count > failure->number && !failure->and_later))
        return 0;
    return -failure->error;
}

int fake_call_error(fake_operation_t operation)
{
    return error_of(&call_failures[operation]);
}

int fake_completion_error(fake_operation_t operation)
{
    return error_of(&completion_failures[operation]);
}

static const char *find(const char *name)
{
    char text[64];
    const char *rank = getenv("PMI_RANK"), *value = NULL;
    if (rank != NULL) {
        snprintf(text, sizeof text, "FAKE_%s_%s", name, rank);
        value = getenv(text);
    }
    snprintf(text, sizeof text, "FAKE_%s", name);
    return value != NULL ? value : getenv(text);
}

static int error_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {
        {"", FI_EIO},
        {"EIO", FI_EIO},
        {"ENOMEM", FI_ENOMEM},
        {"EINVAL", FI_EINVAL},
        {"EAGAIN", FI_EAGAIN},
        {"ENOSYS", FI_ENOSYS},
        {"ENODATA", FI_ENODATA},
        {"EBUSY", FI_EBUSY},
        {"ECONNREFUSED", FI_ECONNREFUSED},
        {"EAVAIL", FI_EAVAIL},
        {"ECANCELED", FI_ECANCELED},
        {"EHOSTUNREACH", FI_EHOSTUNREACH},
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    }
    fake_refuse("no error is called %s", name);
}

static void read_failures(const char *name, failure_t *failures)
{
    const char *at = find(name);
    memset(failures, 0, FAKE_OPERATIONS * sizeof *failures);
    while (at != NULL && *at != '\0') {
        char operation[16] = "", number[16] = "", error[16] = "";
        int end = 0, i = 0;
        sscanf(at, "%15[a-z_]:%15[0-9+]%n:%15[A-Z]%n", operation, number, &end, error, &end);
        while (i < FAKE_OPERATIONS && strcmp(operations[i], operation) != 0)
            i++;
        if (i == FAKE_OPERATIONS || end == 0)
            fake_refuse("FAKE_%s: cannot read '%s'", name, at);
        failures[i] = (failure_t){.number = strtoull(number, NULL, 10),
                                  .and_later = strchr(number, '+') != NULL,
                                  .error = error_number(error)};
        at += end;
        at += *at == ',';
    }
}

void fake_read_settings(void)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const char *text = find(settings[i].name);
        *settings[i].value = text != NULL ? strtoull(text, NULL, 0) : settings[i].preset;
    }
    read_failures("FAIL", call_failures);
    read_failures("ERROR", completion_failures);
    const char *seed = find("SEED"), *rank = getenv("PMI_RANK");
    random_state = 0x9e3779b97f4a7c15 * (1 + (seed != NULL ? strtoull(seed, NULL, 0) : 0)) +
                   (rank != NULL ? strtoull(rank, NULL, 0) : 0);
    for (int i = 0; i < 8; i++)
        fake_random(2);
}
