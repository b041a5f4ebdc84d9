/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer: the inputs of a corpus as they are, then mutations of
 * them, for a bounded time.
 *
 *   PROGRAM [--seconds N] [--seed N] [--run N] CORPUS...      (files or folders)
 *
 * The mutated input of a run depends on the seed and the run's number and nothing else, so what
 * is printed at a crash makes it again: --seed S --run N. The crashing input is saved as
 * crash-S-N, and printed, since the folder may be a temporary one. One thread.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef FUZZ_BY_LIBFUZZER /* which brings a main and mutations of its own */

enum {
    MAX_INPUT_BYTES = 16384,
    MAX_MUTATIONS = 8,
    HANG_SECONDS = 20,
    MAX_SHOWN_BYTES = 1024,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct input {
    uint8_t *bytes;
    size_t length;
} input_t;

static struct {
    input_t *items;
    size_t count;
} corpus;

/* The run that is under way, for the report of a crash. */
static struct {
    uint64_t seed, run;   /* run 0: an input of the corpus as it is */
    const uint8_t *bytes; /* NULL between runs */
    size_t length;
} current;

/* -- random numbers: xorshift64*, one state a run -- */

static uint64_t random_state;

static void random_begin(uint64_t seed, uint64_t run)
{
    random_state = (seed * 0x9e3779b97f4a7c15u) ^ (run * 0xbf58476d1ce4e5b9u);
    if (random_state == 0)
        random_state = 1;
}

/* In [0, limit). */
static size_t random_below(size_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    uint64_t number = random_state * 0x2545f4914f6cdd1du;
    return limit > 0 ? (size_t)((number >> 11) % limit) : 0;
}

/* -- mutations: each keeps the length within MAX_INPUT_BYTES -- */

static void remove_range(input_t *input)
{
    if (input->length == 0)
        return;
    size_t at = random_below(input->length);
    size_t count = 1 + random_below(input->length - at);
    if (count > 16 && random_below(4) != 0)
        count = 1 + count % 16;
    memmove(input->bytes + at, input->bytes + at + count, input->length - at - count);
    input->length -= count;
}

static void insert_bytes(input_t *input, const uint8_t *bytes, size_t count)
{
    if (count > MAX_INPUT_BYTES - input->length)
        count = MAX_INPUT_BYTES - input->length;
    size_t at = random_below(input->length + 1);
    memmove(input->bytes + at + count, input->bytes + at, input->length - at);
    memcpy(input->bytes + at, bytes, count);
    input->length += count;
}

/* A piece of some corpus input, which may be the same one. */
static void insert_piece(input_t *input)
{
    const input_t *other = &corpus.items[random_below(corpus.count)];
    if (other->length == 0)
        return;
    size_t at = random_below(other->length);
    insert_bytes(input, other->bytes + at, 1 + random_below(other->length - at));
}

/* What parsers of text and numbers trip over. */
static void insert_token(input_t *input)
{
    static const char *const tokens[] = {
        "=",          "\n",
        "\r\n",       "#",
        "\"",         "'",
        "\\",         "$",
        "${",         "}",
        "~",          ",",
        ";",          ":",
        " ",          "\t",
        "-",          "0",
        "-1",         "2147483648",
        "4294967296", "18446744073709551616",
        "1e999",      "nan",
        "0x",         "%s",
        "%n",         "\xff",
        "\xc3\x28",   "\xef\xbb\xbf",
    };
    const char *token = tokens[random_below(sizeof tokens / sizeof tokens[0])];
    insert_bytes(input, (const uint8_t *)token, strlen(token));
}

/* The same bytes many times: long lines, long numbers, many words. */
static void insert_repeated(input_t *input)
{
    uint8_t bytes[2048];
    size_t count = random_below(sizeof bytes);
    int byte = input->length > 0 ? input->bytes[random_below(input->length)] : 'a';
    memset(bytes, byte, count);
    insert_bytes(input, bytes, count);
}

static void change_byte(input_t *input)
{
    if (input->length == 0)
        return;
    uint8_t *byte = &input->bytes[random_below(input->length)];
    if (random_below(2) == 0)
        *byte ^= (uint8_t)(1u << random_below(8));
    else
        *byte = (uint8_t)random_below(256);
}

static void mutate(input_t *input)
{
    static void (*const mutations[])(input_t *) = {
        change_byte, change_byte, remove_range, insert_piece, insert_token, insert_repeated,
    };
    for (size_t left = 1 + random_below(MAX_MUTATIONS); left > 0; left--)
        mutations[random_below(sizeof mutations / sizeof mutations[0])](input);
}

/* -- what remains of a crash -- */

static void print_escaped(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length && i < MAX_SHOWN_BYTES; i++) {
        if (bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '\\')
            fputc(bytes[i], stderr);
        else
            fprintf(stderr, "\\x%02x", bytes[i]);
    }
    fprintf(stderr, length > MAX_SHOWN_BYTES ? "...\n" : "\n");
}

/* stdio in a signal handler: the process is lost anyway, and its input is all that counts. */
static void save_current(void)
{
    char name[64];
    if (current.bytes == NULL) { /* between runs, or the leak check at the end */
        printf("not ok 1 - failed outside of a run, seed %" PRIu64 "\n", current.seed);
        fflush(stdout);
        return;
    }
    snprintf(name, sizeof name, "crash-%" PRIu64 "-%" PRIu64, current.seed, current.run);
    FILE *file = fopen(name, "wb");
    if (file != NULL) {
        fwrite(current.bytes, 1, current.length, file);
        fclose(file);
    }
    fprintf(stderr,
            "input of %zu bytes, again with --seed %" PRIu64 " --run %" PRIu64 ", saved as %s:\n",
            current.length, current.seed, current.run, name);
    print_escaped(current.bytes, current.length);
    printf("not ok 1 - crash at seed %" PRIu64 " run %" PRIu64 "\n", current.seed, current.run);
    fflush(stdout);
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    if (number == SIGPROF)
        fprintf(stderr, "one input takes longer than %d s of CPU time\n", HANG_SECONDS);
    save_current();
    raise(number);
}

/* -- running -- */

/* The target gets a copy of exactly the length, so the sanitizer sees a read behind it. */
static void run_input(const input_t *input, uint64_t run)
{
    uint8_t *copy = malloc(input->length > 0 ? input->length : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, input->bytes, input->length);
    current.run = run;
    current.bytes = copy;
    current.length = input->length;
    LLVMFuzzerTestOneInput(copy, input->length);
    current.bytes = NULL;
    free(copy);
}

static void run_mutated(uint64_t seed, uint64_t run)
{
    static uint8_t bytes[MAX_INPUT_BYTES];
    random_begin(seed, run);
    const input_t *base = &corpus.items[random_below(corpus.count)];
    input_t input = {bytes, base->length};
    memcpy(bytes, base->bytes, base->length);
    mutate(&input);
    run_input(&input, run);
}

static void add_input(const uint8_t *bytes, size_t length)
{
    input_t *items = realloc(corpus.items, (corpus.count + 1) * sizeof *items);
    uint8_t *copy = malloc(length > 0 ? length : 1);
    if (items == NULL || copy == NULL)
        abort();
    memcpy(copy, bytes, length);
    items[corpus.count] = (input_t){copy, length};
    corpus.items = items;
    corpus.count++;
}

static bool add_file(const char *path)
{
    static uint8_t bytes[MAX_INPUT_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    add_input(bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    return true;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A file, or all files of a folder in the order of their names. */
static bool add_path(const char *path)
{
    struct stat status;
    struct dirent **entries = NULL;
    bool good = true;

    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return add_file(path);
    int count = scandir(path, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        good = add_file(name) && good;
        free(entries[i]);
    }
    free(entries);
    return good && count >= 0;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* By CPU time: a busy machine makes no input look as if it took long. */
static void limit(int seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static void run_for(double seconds, uint64_t seed)
{
    double begin = seconds_now();
    uint64_t run = 0;
    while (run % 64 != 0 || seconds_now() - begin < seconds) {
        if (run % 64 == 0)
            limit(HANG_SECONDS);
        run_mutated(seed, ++run);
    }
    limit(0);
    printf("ok 1 - %zu inputs and %" PRIu64 " mutations in %.0f s, seed %" PRIu64 "\n1..1\n",
           corpus.count, run, seconds, seed);
}

static uint64_t number_of(const char *text)
{
    char *end;
    errno = 0;
    uint64_t number = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || *text == 0 || *end != 0 || errno != 0) {
        fprintf(stderr, "a number is missing or wrong: %s\n", text != NULL ? text : "");
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    static const int deadly[] = {SIGABRT, SIGPROF};
    uint64_t seconds = 10, run = 0;

    current.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = number_of(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0)
            current.seed = number_of(argv[++i]);
        else if (strcmp(argv[i], "--run") == 0)
            run = number_of(argv[++i]);
        else if (!add_path(argv[i]))
            return 2;
    }
    if (corpus.count == 0)
        add_input((const uint8_t *)"", 0);
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        signal(deadly[i], on_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(save_current);

    if (run > 0) {
        run_mutated(current.seed, run);
        printf("ok 1 - seed %" PRIu64 " run %" PRIu64 "\n1..1\n", current.seed, run);
        return 0;
    }
    for (size_t i = 0; i < corpus.count; i++)
        run_input(&corpus.items[i], 0);
    run_for((double)seconds, current.seed);
    return 0;
}

#else
typedef int fuzz_driver_is_not_used_t;
#endif
