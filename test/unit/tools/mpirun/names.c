/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/names.c: names of this mpirun, and how another one finds them. */
#include "tools/mpirun/names.h"

#include <pthread.h>

#include "opal/include/clock.h"
#include "opal/mca/pmi/base/names.h"
#include "opal/util/shortage.h"
#include "test/unit/opal/support.h"
#include "test/unit/opal/shortage.h"

/* A service that no other run of this test uses. */
static char service[64];
static loop_t loop, other_loop;
static names_t *names, *other;

static void setup(void)
{
    snprintf(service, sizeof service, "unit-mpirun-names-%d", (int)getpid());
    ck_assert(loop_init(&loop) && loop_init(&other_loop));
    names = names_create(&loop);
    other = names_create(&other_loop);
}

static void end(void)
{
    names_destroy(names);
    names_destroy(other);
    loop_fini(&loop);
    loop_fini(&other_loop);
}

START_TEST(names_live_until_unpublished)
{
    ck_assert_ptr_null(names_lookup(names, service));
    ck_assert(!names_unpublish(names, service));
    for (int round = 0; round < 3; round++) {
        ck_assert_ptr_null(names_publish(names, service, "port"));
        ck_assert_str_eq(names_lookup(names, service), "port");
        ck_assert_str_eq(names_publish(names, service, "again"), "exists_already");
        ck_assert_str_eq(names_lookup(names, service), "port");
        ck_assert(names_unpublish(names, service));
        ck_assert_ptr_null(names_lookup(names, service));
        ck_assert(!names_unpublish(names, service));
        names_sweep(names);
    }
    end();
}
END_TEST

START_TEST(a_name_is_of_one_mpirun)
{
    ck_assert_ptr_null(names_publish(names, service, "port"));
    ck_assert_str_eq(names_publish(other, service, "port"), "exists_already");
    ck_assert_ptr_null(names_lookup(other, service));
    ck_assert(!names_unpublish(other, service));
    names_destroy(names);
    names = names_create(&loop);
    ck_assert_ptr_null(names_publish(other, service, "port"));
    end();
}
END_TEST

static void *find(void *port)
{
    return (void *)(intptr_t)opal_pmi_name_find(service, port);
}

START_TEST(another_mpirun_is_told)
{
    pthread_t thread;
    char *port = NULL;
    void *status;
    ck_assert_ptr_null(names_publish(names, service, "port"));
    ck_assert_int_eq(pthread_create(&thread, NULL, find, &port), 0);
    loop_turn(&loop);
    pthread_join(thread, &status);
    ck_assert_ptr_null(status);
    ck_assert_str_eq(port, "port");
    free(port);
    ck_assert(names_unpublish(names, service));
    ck_assert_int_eq(opal_pmi_name_find(service, &port), OPAL_ERR_NOT_FOUND);
    end();
}
END_TEST

/* Who asks meanwhile waits, and the loop does not spin. */
START_TEST(descriptors_that_run_out_come_back)
{
    struct sockaddr_un address;
    socklen_t length;
    char port[8] = "";
    ck_assert_ptr_null(names_publish(names, service, "port"));
    opal_pmi_name_address(service, &address, &length);
    int asker = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(asker, (const struct sockaddr *)&address, length), 0);
    rlim_t before = shortage_begin();
    int turns = 0;
    for (uint64_t begun = opal_clock_nsec(); opal_clock_nsec() - begun < 3 * OPAL_SHORTAGE_NSEC;
         turns++)
        loop_turn(&loop);
    ck_assert_int_lt(turns, 20);
    shortage_end(before);
    while (recv(asker, port, sizeof port, MSG_DONTWAIT) != 4)
        loop_turn(&loop);
    ck_assert_str_eq(port, "port");
    close(asker);
    end();
}
END_TEST

/* While no name can be accepted at. */
START_TEST(a_name_is_unpublished_in_a_shortage)
{
    struct sockaddr_un address;
    socklen_t length;
    ck_assert_ptr_null(names_publish(names, service, "port"));
    opal_pmi_name_address(service, &address, &length);
    int asker = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(asker, (const struct sockaddr *)&address, length), 0);
    rlim_t before = shortage_begin();
    loop_turn(&loop);
    ck_assert(names_unpublish(names, service));
    names_sweep(names);
    shortage_end(before);
    ck_assert_ptr_null(loop.timers);
    close(asker);
    end();
}
END_TEST

START_TEST(names_are_bounded)
{
    static char longest[5000];
    char name[80];
    const char *complaint = NULL;
    memset(longest, 'x', sizeof longest - 1);
    ck_assert_str_eq(names_publish(names, service, longest), "refused_for_lack_of_room");
    ck_assert_str_eq(names_publish(names, longest, "port"), "refused_for_lack_of_room");
    int count = 0;
    for (; complaint == NULL && count < 2000; count++) {
        snprintf(name, sizeof name, "%s-%d", service, count);
        complaint = names_publish(names, name, "port");
    }
    ck_assert_int_lt(count, 2000);
    ck_assert_int_eq(strncmp(complaint, "refused_", 8), 0);
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &names_live_until_unpublished},
    {.test = &a_name_is_of_one_mpirun},
    {.test = &another_mpirun_is_told},
    {.test = &descriptors_that_run_out_come_back},
    {.test = &a_name_is_unpublished_in_a_shortage},
    {.test = &names_are_bounded},
};

UNIT_MAIN("tools/mpirun/names", tests, setup);
