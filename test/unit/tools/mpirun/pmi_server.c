/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/pmi_server.c: what each command is answered, and what is refused. */
#include "tools/mpirun/pmi_server.h"

#include "test/unit/opal/support.h"

enum { RANKS = 3 };

static pmi_server_t *server;

/* The last event. */
static struct {
    int rank, code, count;
    char text[256];
} aborted, broken;

static void on_abort(void *context, unsigned rank, int code, const char *message)
{
    ck_assert_ptr_eq(context, &server);
    aborted.rank = (int)rank;
    aborted.code = code;
    aborted.count++;
    snprintf(aborted.text, sizeof aborted.text, "%s", message != NULL ? message : "");
}

static void on_broken(void *context, unsigned rank, const char *complaint)
{
    ck_assert_ptr_eq(context, &server);
    broken.rank = (int)rank;
    broken.count++;
    snprintf(broken.text, sizeof broken.text, "%s", complaint);
}

/* The last spawn as "2 x y|a b;wdir=/;...+K=V", what it is answered, and the name that is
 * published. */
static struct {
    char text[512];
    const char *complaint, *started;
} spawned;
static char service[32], port[32];

static char *on_spawn(void *context, unsigned rank, const spawn_request_t *request,
                      opal_text_t *started)
{
    opal_text_t text = {0};
    ck_assert_ptr_eq(context, &server);
    ck_assert_uint_eq(rank, 0);
    for (size_t i = 0; i < request->count; i++) {
        const spawn_command_t *command = &request->commands[i];
        char *argv = opal_strings_join(&command->argv, "|");
        opal_text_printf(&text, "%s%u %s", i == 0 ? "" : " & ", command->processes, argv);
        for (size_t k = 0; k < command->infos.keys.count; k++)
            opal_text_printf(&text, ";%s=%s", command->infos.keys.items[k],
                             command->infos.values.items[k]);
        free(argv);
    }
    for (size_t i = 0; i < request->preputs.keys.count; i++)
        opal_text_printf(&text, "+%s=%s", request->preputs.keys.items[i],
                         request->preputs.values.items[i]);
    snprintf(spawned.text, sizeof spawned.text, "%s", opal_text_string(&text));
    opal_text_free(&text);
    if (spawned.started != NULL)
        opal_text_add(started, spawned.started);
    return spawned.complaint != NULL ? opal_xstrdup(spawned.complaint) : NULL;
}

static const char *on_publish(void *context, const char *name, const char *value)
{
    ck_assert_ptr_eq(context, &server);
    if (strcmp(name, service) == 0)
        return "exists_already";
    snprintf(service, sizeof service, "%s", name);
    snprintf(port, sizeof port, "%s", value);
    return NULL;
}

static const char *on_lookup(void *context, const char *name)
{
    ck_assert_ptr_eq(context, &server);
    return strcmp(name, service) == 0 ? port : NULL;
}

static bool on_unpublish(void *context, const char *name)
{
    ck_assert_ptr_eq(context, &server);
    bool is_there = strcmp(name, service) == 0;
    service[0] = 0;
    return is_there;
}

static void create(void)
{
    static const pmi_server_events_t events = {on_abort,   on_broken, on_spawn,
                                               on_publish, on_lookup, on_unpublish};
    static const unsigned apps[RANKS] = {0, 0, 1};
    const pmi_server_setup_t setup = {.size = RANKS,
                                      .universe_size = 8,
                                      .app_of = apps,
                                      .mapping = "(vector,(0,1,3))",
                                      .job_id = "17-ab",
                                      .events = &events,
                                      .context = &server};
    server = pmi_server_create(&setup);
}

static void tell(unsigned rank, const char *text)
{
    pmi_server_receive(server, rank, text, strlen(text));
}

/* Everything that waits for a rank, taken. */
static const char *answers_to(unsigned rank)
{
    static char text[4096];
    const char *bytes;
    size_t length = pmi_server_pending(server, rank, &bytes);
    ck_assert_uint_lt(length, sizeof text);
    memcpy(text, bytes, length);
    text[length] = 0;
    pmi_server_sent(server, rank, length);
    return text;
}

#define ask(rank, question, answer)                                                                \
    do {                                                                                           \
        tell(rank, question);                                                                      \
        ck_assert_str_eq(answers_to(rank), answer);                                                \
    } while (0)

static void init(unsigned rank)
{
    ask(rank, "cmd=init pmi_version=1 pmi_subversion=1\n",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

START_TEST(server_answers)
{
    ck_assert_int_eq(pmi_server_state(server, 2), PMI_NEW);
    init(2);
    ck_assert_int_eq(pmi_server_state(server, 2), PMI_RUNNING);
    ask(2, "cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    ask(2, "cmd=get_appnum\n", "cmd=appnum appnum=1\n");
    ask(2, "cmd=get_universe_size\n", "cmd=universe_size size=8\n");
    ask(2, "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_17-ab\n");
    ask(2, "cmd=get kvsname=kvs_17-ab key=PMI_process_mapping\n",
        "cmd=get_result rc=0 msg=success value=(vector,(0,1,3))\n");
    ask(2, "cmd=finalize\n", "cmd=finalize_ack\n");
    ck_assert_int_eq(pmi_server_state(server, 2), PMI_FINALIZED);
    init(2); /* a script may run another program */
    ck_assert_int_eq(pmi_server_state(server, 2), PMI_RUNNING);
    ck_assert_int_eq(broken.count + aborted.count, 0);
}
END_TEST

START_TEST(server_refuses_another_version)
{
    ask(0, "cmd=init pmi_version=2 pmi_subversion=0\n",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
    ck_assert_int_eq(pmi_server_state(server, 0), PMI_NEW);
}
END_TEST

START_TEST(server_keeps_what_is_put)
{
    init(0);
    init(1);
    ask(0, "cmd=put kvsname=k key=a value=x=y z\n", "cmd=put_result rc=0 msg=success\n");
    ask(1, "cmd=get kvsname=k key=a\n", "cmd=get_result rc=0 msg=success value=x=y\n");
    ask(0, "cmd=put kvsname=k key=a value=1 2\n", "cmd=put_result rc=0 msg=success\n");
    ask(1, "cmd=get kvsname=k key=a\n", "cmd=get_result rc=0 msg=success value=1 2\n");
    ask(1, "cmd=get kvsname=k key=b\n", "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}
END_TEST

/* The form is pmi/wire's, which finds there what it is looking for. */
START_TEST(server_puts_bytes_of_its_own)
{
    init(1);
    pmi_server_put_bytes(server, 2, "note", "\1\xab\0", 3);
    ask(1, "cmd=get kvsname=k key=note-2-0\n", "cmd=get_result rc=0 msg=success value=3:01ab00\n");
}
END_TEST

START_TEST(server_reads_in_pieces)
{
    static const char text[] = "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_appnum\n";
    for (size_t i = 0; i < sizeof text - 1; i++)
        pmi_server_receive(server, 0, text + i, 1);
    ck_assert_str_eq(answers_to(0), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
                                    "cmd=appnum appnum=0\n");
}
END_TEST

START_TEST(server_holds_a_barrier)
{
    for (unsigned i = 0; i < RANKS; i++)
        init(i);
    for (int round = 0; round < 2; round++) {
        tell(1, "cmd=barrier_in\n");
        tell(0, "cmd=barrier_in\n");
        ck_assert_str_eq(answers_to(0), "");
        ck_assert_str_eq(answers_to(1), "");
        while (pmi_server_next_pending(server) >= 0)
            continue;
        tell(2, "cmd=barrier_in\n");
        bool pending[RANKS] = {false};
        for (int rank; (rank = pmi_server_next_pending(server)) >= 0;)
            pending[rank] = true;
        for (unsigned i = 0; i < RANKS; i++) {
            ck_assert(pending[i]);
            ck_assert_str_eq(answers_to(i), "cmd=barrier_out\n");
        }
    }
}
END_TEST

START_TEST(server_sees_a_barrier_that_cannot_end)
{
    for (unsigned i = 0; i < RANKS; i++)
        init(i);
    tell(1, "cmd=barrier_in\n");
    pmi_server_rank_ended(server, 1); /* who was in it is not missed */
    ck_assert_int_eq(broken.count, 0);
    tell(2, "cmd=barrier_in\n");
    ck_assert_int_eq(broken.count, 0);
    pmi_server_rank_ended(server, 0);
    ck_assert_int_eq(broken.count, 1);
    ck_assert_int_eq(broken.rank, 2);
    unit_assert_part(broken.text, "waits for a rank");
}
END_TEST

START_TEST(server_sees_who_enters_such_a_barrier)
{
    init(1);
    pmi_server_rank_ended(server, 0);
    ck_assert_int_eq(broken.count, 0);
    tell(1, "cmd=barrier_in\n");
    ck_assert_int_eq(broken.rank, 1);
    unit_assert_part(broken.text, "waits for a rank");
}
END_TEST

START_TEST(server_tells_of_an_abort)
{
    init(1);
    tell(1, "cmd=abort exitcode=-7 msg=no way\ncmd=get_appnum\n");
    ck_assert_int_eq(aborted.count, 1);
    ck_assert_int_eq(aborted.rank, 1);
    ck_assert_int_eq(aborted.code, -7);
    ck_assert_str_eq(aborted.text, "no way");
    ck_assert_str_eq(answers_to(1), "");
    tell(2, "cmd=abort\n"); /* before init, and without a code */
    ck_assert_int_eq(aborted.code, 1);
    ck_assert_str_eq(aborted.text, "");
}
END_TEST

START_TEST(server_keeps_names)
{
    init(0);
    init(1);
    ask(0, "cmd=lookup_name service=s\n", "cmd=lookup_result info=error rc=1 msg=not_found\n");
    ask(0, "cmd=publish_name service=s port=p#1\n",
        "cmd=publish_result info=ok rc=0 msg=success\n");
    ask(1, "cmd=publish_name service=s port=q\n",
        "cmd=publish_result info=error rc=1 msg=exists_already\n");
    ask(1, "cmd=lookup_name service=s\n", "cmd=lookup_result info=ok rc=0 port=p#1\n");
    ask(1, "cmd=unpublish_name service=s\n", "cmd=unpublish_result info=ok rc=0 msg=success\n");
    ask(1, "cmd=unpublish_name service=s\n",
        "cmd=unpublish_result info=error rc=1 msg=not_found\n");
}
END_TEST

/* As MPICH's library sends it, and as ours does. */
static const struct {
    const char *request, *seen;
} spawns[] = {
    {"mcmd=spawn\nnprocs=2\nexecname=x y\nendcmd\n", "2 x y"},
    {"mcmd=spawn\nnprocs=1\nexecname=./w\ntotspawns=1\nspawnssofar=1\narg1=a b\narg2=\narg3=c=d\n"
     "argcnt=3\npreput_num=1\npreput_key_0=P\npreput_val_0=tag#0 port\n"
     "info_num=2\ninfo_key_0=wdir\ninfo_val_0=/a b\ninfo_key_1=soft\ninfo_val_1=1,2\nendcmd\n",
     "1 ./w|a b||c=d;wdir=/a b;soft=1,2+P=tag#0 port"},
    {"mcmd=spawn\nnprocs=1\nexecname=w%25\ncoding=percent\narg1=a%0ab%2\nargcnt=1\nendcmd\n",
     "1 w%|a\nb%2"},
    {"mcmd=spawn\nnprocs=1\nexecname=one\ntotspawns=2\nspawnssofar=1\npreput_num=1\n"
     "preput_key_0=P\npreput_val_0=1\nendcmd\n"
     "mcmd=spawn\nnprocs=3\nexecname=two\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd\n",
     "1 one & 3 two+P=1"},
};

START_TEST(server_reads_a_spawn)
{
    init(0);
    ask(0, spawns[_i].request, "cmd=spawn_result rc=0\n");
    ck_assert_str_eq(spawned.text, spawns[_i].seen);
    ask(0, spawns[_i].request, "cmd=spawn_result rc=0\n"); /* nothing is left of the first */
    ck_assert_str_eq(spawned.text, spawns[_i].seen);
    ck_assert_int_eq(broken.count, 0);
}
END_TEST

START_TEST(server_answers_a_spawn)
{
    static const char request[] = "mcmd=spawn\nnprocs=2\nexecname=x\nendcmd\n";
    init(0);
    spawned.started = "1";
    ask(0, request, "cmd=spawn_result rc=0 started=1\n");
    spawned.complaint = "no x\nin 100% of PATH";
    ask(0, request,
        "cmd=spawn_result rc=-1 text=no%20x%0ain%20100%25%20of%20PATH msg=spawn_failed\n");
}
END_TEST

static const struct {
    const char *request, *complaint;
} bad_spawns[] = {
    {"mcmd=spawn\nexecname=x\nendcmd\n", "without a number of processes"},
    {"mcmd=spawn\nnprocs=-1\nexecname=x\nendcmd\n", "without a number of processes"},
    {"mcmd=spawn\nnprocs=1\nendcmd\n", "without a command"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\nargcnt=2\narg1=a\nendcmd\n", "lacks an argument"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\nargcnt=-2\nendcmd\n", "bad number of arguments"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\ninfo_num=1\ninfo_key_0=a\nendcmd\n", "lacks an info"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\npreput_num=1\npreput_val_0=a\nendcmd\n",
     "lacks a value to put"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\nspawnssofar=2\nendcmd\n", "out of order"},
    {"mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=2\nendcmd\n", "out of order"},
};

START_TEST(server_refuses_a_bad_spawn)
{
    init(0);
    tell(0, bad_spawns[_i].request);
    ck_assert_int_eq(broken.count, 1);
    unit_assert_part(broken.text, bad_spawns[_i].complaint);
    ck_assert_str_eq(answers_to(0), "");
}
END_TEST

START_TEST(server_refuses_nonsense)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"hello\n", "does not begin with cmd="},
        {"\n", "it is empty"},
        {"cmd=frobnicate\n", "a command that PMI-1 does not have"},
        {"cmd=init pmi_version=1\n", "sent init twice"},
        {"cmd=init\n", "without a version"},
        {"cmd=init pmi_version=one\n", "without a version"},
        {"cmd=put kvsname=k key=a\n", "without key or value"},
        {"cmd=put kvsname=k value=a\n", "without key or value"},
        {"cmd=put kvsname=k key= value=a\n", "without key or value"},
        {"cmd=get kvsname=k\n", "get without a key"},
        {"cmd=barrier_in\ncmd=barrier_in\n", "in already"},
        {"cmd=publish_name service=s\n", "without service or port"},
        {"cmd=lookup_name\n", "without a service"},
        {"cmd=unpublish_name\n", "without a service"},
    };
    init(0);
    tell(0, cases[_i].text);
    ck_assert_int_eq(broken.count, 1);
    ck_assert_int_eq(broken.rank, 0);
    unit_assert_part(broken.text, cases[_i].complaint);
    tell(0, "cmd=get_appnum\n");
    ck_assert_str_eq(answers_to(0), "");
    ck_assert_int_eq(broken.count, 1);
}
END_TEST

START_TEST(server_wants_init_first)
{
    tell(0, "cmd=get_maxes\n");
    unit_assert_part(broken.text, "before init");
}
END_TEST

START_TEST(server_refuses_what_is_too_long)
{
    init(0);
    static char text[2048];
    if (_i == 0)
        snprintf(text, sizeof text, "cmd=put kvsname=k key=%065d value=x\n", 1);
    else
        snprintf(text, sizeof text, "cmd=put kvsname=k key=a value=%01025d\n", 1);
    tell(0, text);
    unit_assert_part(broken.text, "too long");
}
END_TEST

START_TEST(server_refuses_a_line_without_end)
{
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 1000; i++)
        pmi_server_receive(server, 0, bytes, sizeof bytes);
    ck_assert_int_eq(broken.count, 1);
    unit_assert_part(broken.text, "longer than 64 KiB");
}
END_TEST

/* A rank that asks and never reads is not served on and on. */
START_TEST(server_bounds_its_answers)
{
    static const char question[] = "cmd=get_maxes\n";
    init(0);
    unsigned asked = 0;
    while (!pmi_server_is_full(server, 0)) {
        tell(0, question);
        ck_assert_uint_lt(++asked, 100000);
    }
    const char *bytes;
    size_t full = pmi_server_pending(server, 0, &bytes);
    tell(0, question);
    ck_assert_uint_eq(pmi_server_pending(server, 0, &bytes), full);

    unsigned answered = 0;
    for (size_t length; (length = pmi_server_pending(server, 0, &bytes)) > 0;) {
        if (length > 7)
            length = 7;
        for (size_t i = 0; i < length; i++)
            answered += bytes[i] == '\n';
        pmi_server_sent(server, 0, length);
    }
    ck_assert_uint_eq(answered, asked + 1);
    ck_assert_int_eq(broken.count, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &server_answers},
    {.test = &server_refuses_another_version},
    {.test = &server_keeps_what_is_put},
    {.test = &server_puts_bytes_of_its_own},
    {.test = &server_reads_in_pieces},
    {.test = &server_holds_a_barrier},
    {.test = &server_sees_a_barrier_that_cannot_end},
    {.test = &server_sees_who_enters_such_a_barrier},
    {.test = &server_tells_of_an_abort},
    {.test = &server_keeps_names},
    {.test = &server_reads_a_spawn, .repeats = OPAL_COUNT_OF(spawns)},
    {.test = &server_answers_a_spawn},
    {.test = &server_refuses_a_bad_spawn, .repeats = OPAL_COUNT_OF(bad_spawns)},
    {.test = &server_refuses_nonsense, .repeats = 14},
    {.test = &server_wants_init_first},
    {.test = &server_refuses_what_is_too_long, .repeats = 2},
    {.test = &server_refuses_a_line_without_end},
    {.test = &server_bounds_its_answers},
};

UNIT_MAIN("pmi_server", tests, create);
