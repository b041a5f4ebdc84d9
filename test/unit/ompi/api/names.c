/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/api/spawn.c: no thread waits for one that looks a name up. */
#include <pthread.h>

#include "ompi/api/bodies.h"
#include "opal/mca/pmi/base/names.h"
#include "test/unit/opal/support.h"

static char service[64];
static char port[MPI_MAX_PORT_NAME];

static void *look_up(void *code)
{
    *(int *)code = MPI_Lookup_name(service, MPI_INFO_NULL, port);
    return NULL;
}

/* Where an mpirun serves the name that is slow to answer. */
static int listen_for_name(void)
{
    struct sockaddr_un address;
    socklen_t length;
    snprintf(service, sizeof service, "unit-api-names-%d", (int)getpid());
    opal_pmi_name_address(service, &address, &length);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    return listener;
}

START_TEST(messages_go_on_while_a_name_is_looked_up)
{
    int level, code = -1, sent = 42, got = 0, listener = listen_for_name();
    pthread_t thread;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    ck_assert_int_eq(pthread_create(&thread, NULL, look_up, &code), 0);
    int peer = accept(listener, NULL, NULL); /* so the thread waits for the answer */
    MPI_Sendrecv(&sent, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    ck_assert_int_eq(got, 42);
    ck_assert_int_eq(send(peer, "a port", 6, MSG_NOSIGNAL), 6);
    close(peer);
    pthread_join(thread, NULL);
    ck_assert_int_eq(code, MPI_SUCCESS);
    ck_assert_str_eq(port, "a port");
    MPI_Finalize();
    close(listener);
}
END_TEST

static const unit_test_t tests[] = {{.test = &messages_go_on_while_a_name_is_looked_up}};

UNIT_MAIN("ompi/api/names", tests, NULL);
