/* SPDX-License-Identifier: BSD-3-Clause */
/* Control variables of one communicator or window: what is written has its effect there alone. */
#include <limits.h>
#include <mpi.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

enum { TEXT = 2048 };

static int rank;

/* -- variables of an object, by name ----------------------------------------------------------- */

static MPI_T_cvar_handle open_cvar(const char *name, void *object)
{
    int count;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_T_cvar_handle_alloc(tool_cvar(name), object, &handle, &count) == MPI_SUCCESS
               ? handle
               : MPI_T_CVAR_HANDLE_NULL;
}

static int read_of(const char *name, void *object, void *value)
{
    MPI_T_cvar_handle handle = open_cvar(name, object);
    int error = MPI_T_cvar_read(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return error;
}

static int write_of(const char *name, void *object, const void *value)
{
    MPI_T_cvar_handle handle = open_cvar(name, object);
    int error = MPI_T_cvar_write(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return error;
}

/* -- counters ---------------------------------------------------------------------------------- */

static MPI_T_pvar_session session;

static MPI_T_pvar_handle count_from_now(const char *name)
{
    int index = -1, count;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_start(session, handle);
    return handle;
}

/* Since the last call. */
static unsigned long counted(MPI_T_pvar_handle handle)
{
    unsigned long value = ULONG_MAX;
    MPI_T_pvar_readreset(session, handle, &value);
    return value;
}

/* -- checks ------------------------------------------------------------------------------------ */

static void check_info(const char *name, int expected_bind, int expected_scope, void *other)
{
    int bind = -1, scope = -1, count = -7;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index = tool_cvar(name);
    tap_check(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, &scope) ==
                      MPI_SUCCESS &&
                  bind == expected_bind && scope == expected_scope,
              "%s tells what it is bound to", name);
    tap_check(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_handle_alloc(index, other, &handle, &count) == MPI_T_ERR_INVALID &&
                  handle == MPI_T_CVAR_HANDLE_NULL && count == -7,
              "%s is of no other object, and not of none", name);
}

static void check_table(MPI_Comm first, MPI_Comm second)
{
    char text[TEXT] = "x";
    int data = rank;
    MPI_T_pvar_handle linear = count_from_now("coll_p2p_bcast_linear");
    tap_check(read_of("coll_p2p_comm_table", &first, text) == MPI_SUCCESS && text[0] == 0,
              "a communicator begins with the rules of the process");
    MPI_Bcast(&data, 1, MPI_INT, 0, first);
    tap_check(counted(linear) == 0, "which have no linear broadcast");
    tap_check(write_of("coll_p2p_comm_table", &first, "bcast=linear") == MPI_SUCCESS &&
                  read_of("coll_p2p_comm_table", &first, text) == MPI_SUCCESS &&
                  strcmp(text, "bcast=linear") == 0,
              "a rule is written");
    MPI_Bcast(&data, 1, MPI_INT, 0, first);
    tap_check(counted(linear) == 1, "and counts in this communicator");
    MPI_Bcast(&data, 1, MPI_INT, 0, second);
    tap_check(counted(linear) == 0 &&
                  read_of("coll_p2p_comm_table", &second, text) == MPI_SUCCESS && text[0] == 0,
              "and in no other one");
    tap_check(write_of("coll_p2p_comm_table", &first, "bcast=whale") == MPI_T_ERR_INVALID &&
                  read_of("coll_p2p_comm_table", &first, text) == MPI_SUCCESS &&
                  strcmp(text, "bcast=linear") == 0,
              "a rule that does not exist is refused");
    MPI_Bcast(&data, 1, MPI_INT, 0, first);
    tap_check(counted(linear) == 1, "and the one before remains");
    tap_check(write_of("coll_p2p_comm_table", &first, "") == MPI_SUCCESS, "no rule is written");
    MPI_Bcast(&data, 1, MPI_INT, 0, first);
    tap_check(counted(linear) == 0 && data == 0, "and the rules of the process are back");
    tap_check(write_of("coll_p2p_comm_table", &first, "bcast=linear") == MPI_SUCCESS,
              "a communicator is freed with rules of its own");
}

/* From rank 0 to rank 1, or to itself. Returns how many messages were announced first. */
static unsigned long announced(MPI_T_pvar_handle rendezvous, MPI_Comm comm, int bytes)
{
    static char out[5000], in[5000];
    MPI_Request request;
    int size = 1, last;
    MPI_Status status;
    MPI_Comm_size(comm, &size);
    last = size - 1;
    memset(out, bytes % 100, sizeof out);
    memset(in, 0, sizeof in);
    counted(rendezvous);
    if (rank == 0) {
        MPI_Isend(out, bytes, MPI_CHAR, last, 1, comm, &request);
        if (last != 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == last) {
        MPI_Recv(in, sizeof in, MPI_CHAR, 0, MPI_ANY_TAG, comm, &status);
        if (in[0] != bytes % 100 || in[bytes - 1] != bytes % 100)
            tap_check(false, "%d bytes have arrived", bytes);
        if (last == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return counted(rendezvous);
}

static void check_limit(MPI_Comm first, MPI_Comm second)
{
    unsigned long limit = 0, hundred = 100, none = ULONG_MAX, mine = rank == 0;
    MPI_T_pvar_handle rendezvous = count_from_now("pml_ob1_rendezvous");
    tap_check(read_of("pml_ob1_comm_rendezvous_limit", &first, &limit) == MPI_SUCCESS &&
                  limit == ULONG_MAX,
              "a communicator has no limit of its own");
    tap_check(announced(rendezvous, first, 1000) == 0, "1000 bytes are sent at once");
    tap_check(write_of("pml_ob1_comm_rendezvous_limit", &first, &hundred) == MPI_SUCCESS &&
                  read_of("pml_ob1_comm_rendezvous_limit", &first, &limit) == MPI_SUCCESS &&
                  limit == 100,
              "a limit is written");
    tap_check(announced(rendezvous, first, 101) == mine, "101 bytes are announced");
    tap_check(announced(rendezvous, first, 5000) == mine, "5000 bytes are announced");
    tap_check(announced(rendezvous, first, 100) == 0, "100 bytes are not");
    tap_check(announced(rendezvous, second, 1000) == 0, "nor is anything elsewhere");
    tap_check(write_of("pml_ob1_comm_rendezvous_limit", &first, &none) == MPI_SUCCESS &&
                  announced(rendezvous, first, 1000) == 0,
              "without a limit all is as before");
}

/* Whether the hint is told. */
static bool has_hint(MPI_Win win, const char *key, const char *expected)
{
    char value[TEXT] = "";
    int length = TEXT, flag = 0;
    MPI_Info info;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag && strcmp(value, expected) == 0;
}

static int try_lock(MPI_Win win)
{
    int error = MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (error == MPI_SUCCESS)
        MPI_Win_unlock(rank, win);
    return error;
}

static void check_window(void)
{
    int data[2] = {0}, value = -1, yes = 1, no = 0;
    MPI_Win first, second;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Win_create(&data[0], sizeof(int), 1, info, MPI_COMM_WORLD, &first);
    MPI_Win_create(&data[1], sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Win_set_errhandler(first, MPI_ERRORS_RETURN);
    MPI_Info_free(&info);
    MPI_Comm world = MPI_COMM_WORLD;
    check_info("win_no_locks", MPI_T_BIND_MPI_WIN, MPI_T_SCOPE_LOCAL, &world);
    tap_check(read_of("win_no_locks", &first, &value) == MPI_SUCCESS && value == 0 &&
                  try_lock(first) == MPI_SUCCESS,
              "a window can be locked");
    tap_check(write_of("win_no_locks", &first, &yes) == MPI_SUCCESS &&
                  try_lock(first) == MPI_ERR_RMA_SYNC && has_hint(first, "no_locks", "true"),
              "and then it cannot");
    tap_check(try_lock(second) == MPI_SUCCESS && has_hint(second, "no_locks", "false"),
              "but another one can");
    tap_check(read_of("win_unordered_accumulates", &first, &value) == MPI_SUCCESS && value == 1 &&
                  read_of("win_unordered_accumulates", &second, &value) == MPI_SUCCESS &&
                  value == 0,
              "what the program has said of the order is read");
    tap_check(write_of("win_unordered_accumulates", &first, &no) == MPI_SUCCESS &&
                  read_of("win_unordered_accumulates", &first, &value) == MPI_SUCCESS &&
                  value == 0 && has_hint(first, "accumulate_ordering", "rar,raw,war,waw") &&
                  write_of("win_unordered_accumulates", &second, &yes) == MPI_SUCCESS &&
                  has_hint(second, "accumulate_ordering", "none"),
              "and written");
    tap_check(write_of("win_unordered_accumulates", &second, &(int){2}) == MPI_T_ERR_INVALID,
              "2 is neither yes nor no");
    MPI_Win_free(&first);
    MPI_Win_free(&second);
}

static void check_freed(void)
{
    int count;
    MPI_Comm comm;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    size_t limit = 77;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_T_cvar_handle_alloc(tool_cvar("pml_ob1_comm_rendezvous_limit"), &comm, &handle, &count);
    MPI_Comm_free(&comm);
    tap_check(MPI_T_cvar_read(handle, &limit) == MPI_T_ERR_INVALID_HANDLE && limit == 77 &&
                  MPI_T_cvar_write(handle, &limit) == MPI_T_ERR_INVALID_HANDLE,
              "a handle of a communicator that was freed is none");
    tap_check(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL,
              "but it can be freed");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm first, second;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    first = MPI_COMM_WORLD;
    tap_check(open_cvar("coll_p2p_comm_table", &first) == MPI_T_CVAR_HANDLE_NULL &&
                  tool_cvar("coll_p2p_comm_table") >= 0,
              "before MPI_Init there is the variable, but no communicator");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_T_pvar_session_create(&session);
    MPI_Win none = MPI_WIN_NULL;
    check_info("coll_p2p_comm_table", MPI_T_BIND_MPI_COMM, MPI_T_SCOPE_ALL_EQ, &none);
    check_info("pml_ob1_comm_rendezvous_limit", MPI_T_BIND_MPI_COMM, MPI_T_SCOPE_LOCAL, &none);
    check_table(first, second);
    check_limit(first, second);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    check_window();
    check_freed();
    MPI_Finalize();
    MPI_T_finalize();
    return tap_finish();
}
