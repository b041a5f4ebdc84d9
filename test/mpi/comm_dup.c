/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplicates: their group, messages, names, hints, error handlers and attributes; their end. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

static int rank, size;

/* A message around the ring. */
static bool talks(MPI_Comm comm, int number)
{
    int own, count, got = -1, mine;
    MPI_Request request;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    mine = number * 1000 + own;
    MPI_Irecv(&got, 1, MPI_INT, (own + count - 1) % count, 5, comm, &request);
    MPI_Send(&mine, 1, MPI_INT, (own + 1) % count, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return got == number * 1000 + (own + count - 1) % count;
}

static void check_like_parent(MPI_Comm comm, const char *how)
{
    int own = -1, count = -1, result = -1, inter = -1, length = -1;
    char name[MPI_MAX_OBJECT_NAME] = "?";
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    tap_check(own == rank && count == size, "%s: rank and size", how);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    tap_check(result == MPI_CONGRUENT, "%s: congruent", how);
    MPI_Comm_compare(comm, comm, &result);
    tap_check(result == MPI_IDENT, "%s: identical to itself", how);
    MPI_Comm_test_inter(comm, &inter);
    tap_check(inter == 0, "%s: no intercommunicator", how);
    MPI_Comm_get_name(comm, name, &length);
    tap_check(length == 0 && name[0] == 0, "%s: no name", how);
    tap_check(talks(comm, 1), "%s: messages", how);
    tap_check(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm, "%s: a number", how);
}

/* The same tag in two communicators, received in the other order. */
static void check_separate(MPI_Comm comm)
{
    int first = 1, second = 2, got_first = 0, got_second = 0;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Isend(&first, 1, MPI_INT, to, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&second, 1, MPI_INT, to, 7, comm, &requests[1]);
    MPI_Recv(&got_second, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    MPI_Recv(&got_first, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    tap_check(got_first == 1 && got_second == 2, "messages of two communicators do not mix");
}

static void check_idup(void)
{
    enum { MANY = 8 };
    MPI_Comm comms[MANY];
    MPI_Request requests[MANY];
    bool all = true;
    for (int i = 0; i < MANY; i++)
        MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]);
    /* In an order of its own on each rank. */
    for (int i = 0; i < MANY; i++)
        MPI_Wait(&requests[(i * 3 + rank) % MANY], MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++)
        all &= talks(comms[i], i);
    tap_check(all, "MPI_Comm_idup: several at once");
    check_like_parent(comms[0], "MPI_Comm_idup");
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
    tap_check(comms[0] == MPI_COMM_NULL, "freed");
}

/* What begins in another order than on the neighbour must not wait for it. */
static void check_idup_order(void)
{
    MPI_Comm parent, begun, made;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    if (rank % 2 == 0)
        MPI_Comm_idup(parent, &begun, &request);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (rank % 2 != 0)
        MPI_Comm_idup(parent, &begun, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(talks(begun, 3) && talks(made, 4),
              "MPI_Comm_idup and MPI_Comm_dup in any order of the ranks");
    MPI_Comm_free(&parent);
    MPI_Comm_free(&begun);
    MPI_Comm_free(&made);
}

static const char *value_of(MPI_Comm comm, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    int flag = 0, length = sizeof value;
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag ? value : "";
}

static bool has(MPI_Comm comm, const char *key, const char *value)
{
    return strcmp(value_of(comm, key), value) == 0;
}

static const char memory_kinds[] =
    "system,mpi,mpi:alloc_mem,mpi:win_allocate,mpi:win_allocate_shared";

static void check_hints(void)
{
    MPI_Comm first, second, third;
    MPI_Info info;
    MPI_Request request;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "mpi_assert_exact_length", "perhaps");
    MPI_Info_set(info, "colour", "blue");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &first);
    tap_check(has(first, "mpi_assert_no_any_tag", "true"), "a hint is kept");
    tap_check(has(first, "mpi_assert_no_any_source", "false"), "one that was not given is false");
    tap_check(has(first, "mpi_assert_exact_length", "false"), "a wrong value is ignored");
    tap_check(has(first, "colour", ""), "as is an unknown key");
    MPI_Comm_dup(first, &second);
    tap_check(has(second, "mpi_assert_no_any_tag", "true"), "a duplicate has the hints");
    MPI_Comm_idup_with_info(first, MPI_INFO_NULL, &third, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(has(third, "mpi_assert_no_any_tag", "false"), "but for one that gets others");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
    MPI_Comm_set_info(second, info);
    tap_check(has(second, "mpi_assert_no_any_tag", "false") &&
                  has(second, "mpi_assert_allow_overtaking", "true") &&
                  has(second, "mpi_assert_strict_persistent_collective_ordering", "true"),
              "MPI_Comm_set_info");
    tap_check(has(first, "mpi_assert_no_any_tag", "true"), "only of that communicator");
    MPI_Info_free(&info);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Comm_free(&third);
}

/* Messages that have come while the program promised to use no wildcard are found by wildcards. */
static void check_promise(int rank)
{
    int value = rank, got = -1;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Status status;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_source", "true");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_SELF, info, &comm);
    for (int tag = 0; tag < 3; tag++)
        MPI_Send(&value, 1, MPI_INT, 0, tag, comm);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Info_set(info, "mpi_assert_no_any_source", "false");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(comm, info);
    MPI_Recv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &status);
    tap_check(got == rank && status.MPI_TAG == 0, "any tag, after a promise to use none");
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &status);
    tap_check(got == rank && status.MPI_TAG == 2, "and any source");
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

/* Kinds of memory: what buffers may have, and what the program promises. */
static void check_memory_kinds(void)
{
    static const char key[] = "mpi_assert_memory_alloc_kinds";
    static const struct {
        const char *value;
        bool holds;
    } rows[] = {
        {"system", true},
        {"cuda:device,system", false},
        {"mpi:alloc_mem:win_allocate,system", true},
        {"mpi:device", false},
        {"system:alloc_mem", false},
        {"system,", false},
        {"", true},
        {"mpi,mpi:win_allocate_shared", true},
    };
    MPI_Comm comm, copy;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Info_create(&info);
    const char *promised = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "system");
        MPI_Info_set(info, key, rows[i].value);
        MPI_Comm_set_info(comm, info);
        promised = rows[i].holds ? rows[i].value : promised;
        tap_check(has(comm, key, promised), "%s '%s' %s", key, rows[i].value,
                  rows[i].holds ? "holds" : "is ignored");
    }
    MPI_Comm_dup(comm, &copy);
    tap_check(has(copy, key, promised) && has(MPI_COMM_WORLD, key, ""), "a duplicate has it, too");
    tap_check(has(comm, "mpi_memory_alloc_kinds", memory_kinds) &&
                  has(MPI_COMM_WORLD, "mpi_memory_alloc_kinds", memory_kinds) &&
                  has(MPI_COMM_SELF, "mpi_memory_alloc_kinds", memory_kinds),
              "buffers may have %s, whatever is set", memory_kinds);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&copy);
}

static int calls;

static void tell(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    calls++;
}

static void check_errhandler(void)
{
    MPI_Errhandler handler, got;
    MPI_Comm parent, comm;
    int value;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(parent, handler);
    MPI_Comm_dup(parent, &comm);
    MPI_Comm_get_errhandler(comm, &got);
    tap_check(got == handler, "a duplicate has its parent's error handler");
    MPI_Errhandler_free(&got);
    MPI_Comm_free(&parent);
    MPI_Errhandler_free(&handler);
    MPI_Send(&value, 1, MPI_INT, size, 0, comm);
    tap_check(calls == 1, "which is called");
    MPI_Comm_free(&comm);
}

static int copies, deletes;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    copies++;
    memcpy(out, &in, sizeof in);
    *flag = 1;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)in;
    (void)out;
    *flag = 0;
    return *(int *)extra == rank ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

static int count_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void check_attributes(void)
{
    MPI_Comm parent, comm;
    MPI_Request request;
    int keyval, refusing, who = size - 1, flag = 0, *value = NULL;
    MPI_Comm_create_keyval(copy, count_delete, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_attr(parent, keyval, &who);
    MPI_Comm_dup(parent, &comm);
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    tap_check(copies == 1 && flag && value == &who, "attributes are copied");
    MPI_Comm_free(&comm);
    tap_check(deletes == 1, "and deleted");
    MPI_Comm_idup(parent, &comm, &request);
    tap_check(copies == 2, "MPI_Comm_idup copies them at once");
    MPI_Comm_delete_attr(parent, keyval);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    tap_check(flag && value == &who, "and what happens to them later does not matter");
    MPI_Comm_free(&comm);
    MPI_Comm_set_attr(parent, keyval, &who);
    copies = deletes = 0;

    /* The last rank's callback fails: nobody gets a communicator, and nothing is left of it. */
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPI_Wait's */
    MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &refusing, &who);
    MPI_Comm_set_attr(parent, refusing, NULL);
    comm = MPI_COMM_SELF;
    int error = MPI_Comm_dup(parent, &comm), class;
    MPI_Error_class(error, &class);
    tap_check(class == (rank == who ? MPI_ERR_BUFFER : MPI_ERR_OTHER),
              "a callback that fails lets the call fail: class %d", class);
    tap_check(comm == MPI_COMM_NULL, "nothing is made");
    tap_check(copies == 1 && deletes == 1, "what was copied is deleted");
    error = MPI_Comm_idup(parent, &comm, &request);
    if (rank != who)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(error, &class);
    tap_check(class == (rank == who ? MPI_ERR_BUFFER : MPI_ERR_OTHER),
              "also MPI_Comm_idup: class %d", class);
    if (rank != who)
        MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_delete_attr(parent, refusing);
    MPI_Comm_dup(parent, &comm);
    tap_check(talks(comm, 5), "then it works");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&parent);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_free_keyval(&refusing);
}

static void check_free(void)
{
    enum { LONG = 1 << 20 };
    static char out[LONG], in[LONG];
    MPI_Comm comm, world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
    MPI_Request requests[2];
    int class;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    memset(out, rank + 1, LONG);
    MPI_Irecv(in, LONG, MPI_CHAR, (rank + size - 1) % size, 0, comm, &requests[0]);
    MPI_Isend(out, LONG, MPI_CHAR, (rank + 1) % size, 0, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    char wanted = (char)((rank + size - 1) % size + 1);
    tap_check(in[0] == wanted && in[LONG - 1] == wanted, "what has begun ends after MPI_Comm_free");

    MPI_Message message;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Isend(out, 1, MPI_CHAR, 0, 0, comm, &requests[0]);
    MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    in[0] = 0;
    MPI_Mrecv(in, 1, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    tap_check(in[0] == out[0], "also a message that was probed for");

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Comm_free(&world), &class);
    tap_check(class == MPI_ERR_COMM && world == MPI_COMM_WORLD, "the world is not freed");
    MPI_Error_class(MPI_Comm_free(&self), &class);
    tap_check(class == MPI_ERR_COMM && self == MPI_COMM_SELF, "nor is oneself");
    comm = MPI_COMM_NULL;
    tap_check(MPI_Comm_free(&comm) == MPI_ERR_COMM, "nor is nothing");
    tap_check(MPI_Comm_remote_size(world, &class) == MPI_ERR_COMM, "the world has no other side");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_like_parent(comm, "MPI_Comm_dup");
    check_separate(comm);
    MPI_Comm_dup(comm, &again);
    tap_check(talks(again, 2), "a duplicate of a duplicate");
    MPI_Comm_free(&comm);
    tap_check(talks(again, 3), "lives longer than what it was made of");
    MPI_Comm_free(&again);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    tap_check(talks(comm, 6), "a duplicate of MPI_COMM_SELF");
    MPI_Comm_free(&comm);
    check_idup();
    check_idup_order();
    check_hints();
    check_promise(rank);
    check_memory_kinds();
    check_errhandler();
    check_attributes();
    check_free();
    MPI_Finalize();
    return tap_finish();
}
