/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the tool interface: each type is raised by what a program does, and seen with its
 * elements. Two ranks. The first argument is the transport between them.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "declare_dead.h"
#include "tap.h"

enum { SHORT = 24, LONG = 1 << 20, MOST = 64, MOST_ELEMENTS = 8 };
enum { TRAFFIC_USER, TRAFFIC_COLLECTIVE };
enum { BY_OTHER, BY_SELF, BY_SM, BY_SOCK };
enum { EAGER, EAGER_SYNCHRONOUS, STREAM, RENDEZVOUS };
enum { SENDER, RECEIVER };

static int rank, transport;
static char buffer[LONG];

/* -- what was seen ------------------------------------------------------------------------- */

/* A registration, and the elements of the events that it has seen, as 64 bits each. */
typedef struct seen {
    MPI_T_event_registration handle;
    int element_count;
    char names[MOST_ELEMENTS][32];
    MPI_Datatype types[MOST_ELEMENTS];
    MPI_Aint offsets[MOST_ELEMENTS];
    int count, freed;
    long long events[MOST][MOST_ELEMENTS];
    MPI_T_cb_safety level;
    MPI_Count time, dropped;
    int source, wrong; /* reading and copying disagree, or time runs backwards */
} seen_t;

static long long widen(MPI_Datatype type, const void *bytes)
{
    if (type == MPI_COUNT)
        return *(const MPI_Count *)bytes;
    return type == MPI_UNSIGNED ? (long long)*(const unsigned *)bytes : *(const int *)bytes;
}

static void note(MPI_T_event_instance instance, MPI_T_event_registration handle,
                 MPI_T_cb_safety level, void *user_data)
{
    seen_t *seen = user_data;
    _Alignas(8) char copy[256], one[8];
    MPI_Count time = -1;
    long long *event = seen->events[seen->count < MOST ? seen->count : MOST - 1];
    seen->count++;
    seen->wrong += handle != seen->handle;
    seen->wrong += MPI_T_event_copy(instance, copy) != MPI_SUCCESS;
    for (int i = 0; i < seen->element_count; i++) {
        seen->wrong += MPI_T_event_read(instance, i, one) != MPI_SUCCESS;
        event[i] = widen(seen->types[i], one);
        seen->wrong += event[i] != widen(seen->types[i], copy + seen->offsets[i]);
    }
    seen->wrong += MPI_T_event_read(instance, seen->element_count, one) != MPI_T_ERR_INVALID_INDEX;
    MPI_T_event_get_timestamp(instance, &time);
    MPI_T_event_get_source(instance, &seen->source);
    seen->wrong += time < seen->time;
    seen->time = time;
    seen->level = level;
}

static void note_freed(MPI_T_event_registration handle, MPI_T_cb_safety level, void *user_data)
{
    seen_t *seen = user_data;
    (void)level;
    seen->freed += handle == seen->handle;
}

/* Watches the events of that name: of one communicator, or of all. */
static seen_t *watch(const char *name, MPI_Comm *comm, MPI_T_cb_safety level)
{
    seen_t *seen = calloc(1, sizeof *seen);
    int index = -1, length;
    MPI_T_enum names;
    seen->element_count = MOST_ELEMENTS;
    if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_event_get_info(index, NULL, NULL, NULL, seen->types, seen->offsets,
                             &seen->element_count, &names, NULL, NULL, NULL, NULL) != MPI_SUCCESS ||
        MPI_T_event_handle_alloc(index, comm, MPI_INFO_NULL, &seen->handle) != MPI_SUCCESS ||
        MPI_T_event_register_callback(seen->handle, level, MPI_INFO_NULL, seen, note) !=
            MPI_SUCCESS) {
        tap_check(false, "events %s can be watched", name);
        exit(1);
    }
    for (int i = 0; i < seen->element_count; i++) {
        length = sizeof seen->names[i];
        MPI_T_enum_get_item(names, i, NULL, seen->names[i], &length);
    }
    return seen;
}

static seen_t *watch_all(const char *name)
{
    return watch(name, NULL, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
}

static void unwatch(seen_t *seen)
{
    MPI_T_event_handle_free(seen->handle, seen, note_freed);
    if (seen->wrong != 0 || seen->freed != 1)
        tap_check(false, "an event is read as it is copied (%d), freed once (%d)", seen->wrong,
                  seen->freed);
    free(seen);
}

/* An element of an event by name. */
static long long get(const seen_t *seen, int event, const char *name)
{
    for (int i = 0; i < seen->element_count; i++) {
        if (strcmp(seen->names[i], name) == 0)
            return seen->events[event][i];
    }
    tap_check(false, "there is an element %s", name);
    return -1;
}

/* The first event, from `event` on, of which that element has the value; -1: none. */
static int find(const seen_t *seen, int event, const char *name, long long value)
{
    while (event < seen->count && event < MOST && get(seen, event, name) != value)
        event++;
    return event < seen->count && event < MOST ? event : -1;
}

/* -- what there is -------------------------------------------------------------------------- */

static void check_type(int index)
{
    char name[64], desc[1024];
    int name_length = sizeof name, desc_length = sizeof desc, verbosity = 0, bind = 0;
    int elements = 0, found = -1, keys = -1;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_T_event_get_info(index, name, &name_length, &verbosity, NULL, NULL, &elements, &names,
                         &info, desc, &desc_length, &bind);
    bool is_whole = name_length == (int)strlen(name) + 1 && desc_length == (int)strlen(desc) + 1 &&
                    elements > 0 && elements <= MOST_ELEMENTS;
    int named = 0;
    MPI_T_enum_get_info(names, &named, NULL, NULL);
    MPI_T_event_get_index(name, &found);
    MPI_Info_get_nkeys(info, &keys);
    MPI_Info_free(&info);
    tap_check(is_whole && named == elements && found == index && keys == 0 &&
                  verbosity >= MPI_T_VERBOSITY_USER_BASIC &&
                  (bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM),
              "%s: %d elements", name, elements);
}

static void check_types(void)
{
    int count = 0, index;
    tap_check(MPI_T_event_get_num(&count) == MPI_SUCCESS && count >= 11, "%d types", count);
    for (int i = 0; i < count; i++)
        check_type(i);
    tap_check(MPI_T_event_get_index("whale", &index) == MPI_T_ERR_INVALID_NAME &&
                  MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                       NULL, NULL) == MPI_T_ERR_INVALID_INDEX,
              "and no others");

    /* Truncated, as strings and arrays are. */
    char name[5];
    int length = sizeof name, elements = 1;
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_T_event_get_info(0, name, &length, NULL, types, NULL, &elements, NULL, NULL, NULL, NULL,
                         NULL);
    tap_check(strlen(name) == 4 && length > 5 && elements > 1 && types[0] != MPI_DATATYPE_NULL &&
                  types[1] == MPI_DATATYPE_NULL,
              "a part where there is room for a part");
}

static void check_sources(void)
{
    int count = 0, length = 64;
    char name[64] = "";
    MPI_T_source_order order = MPI_T_SOURCE_UNORDERED;
    MPI_Count ticks = 0, most = 0, first = 0, second = 0;
    MPI_T_source_get_num(&count);
    int error = MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL);
    tap_check(error == MPI_SUCCESS && strcmp(name, "process") == 0 &&
                  order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > ticks,
              "a source in order");
    MPI_T_source_get_timestamp(0, &first);
    MPI_T_source_get_timestamp(0, &second);
    tap_check(first > 0 && second >= first, "its time goes on");
    tap_check(MPI_T_source_get_timestamp(count, &first) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_source_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_T_ERR_INVALID_INDEX,
              "%d sources", count);
}

static void check_handles(void)
{
    MPI_T_event_registration handle = NULL;
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int index;
    MPI_T_event_get_index("message_matched", &index);
    tap_check(
        MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_INDEX &&
            MPI_T_event_handle_alloc(index, &none, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID &&
            handle == NULL,
        "wrong allocations make nothing");
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &handle);
    tap_check(MPI_T_event_handle_set_info(handle, MPI_INFO_NULL) == MPI_SUCCESS &&
                  MPI_T_event_handle_get_info(handle, &info) == MPI_SUCCESS &&
                  info != MPI_INFO_NULL,
              "a handle has hints, none");
    MPI_Info_free(&info);
    tap_check(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) ==
                      MPI_SUCCESS &&
                  MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, &info) ==
                      MPI_SUCCESS,
              "as has a callback");
    MPI_Info_free(&info);
    tap_check(MPI_T_event_register_callback(handle, (MPI_T_cb_safety)1, MPI_INFO_NULL, NULL,
                                            note) == MPI_T_ERR_INVALID,
              "there are four levels");
    MPI_T_event_handle_free(handle, NULL, NULL);
    tap_check(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                                note) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_event_set_dropped_handler(handle, NULL) == MPI_T_ERR_INVALID_HANDLE,
              "a freed handle is none");
}

/* -- messages ------------------------------------------------------------------------------- */

static void check_message(const seen_t *seen, int tag, int count, int protocol, const char *what)
{
    int i = find(seen, 0, "tag", tag);
    tap_check(i >= 0 && get(seen, i, "source") == 0 && get(seen, i, "bytes") == count &&
                  get(seen, i, "traffic") == TRAFFIC_USER &&
                  get(seen, i, "transport") == transport && get(seen, i, "protocol") == protocol &&
                  find(seen, i + 1, "tag", tag) < 0,
              "%s: tag %d, %d bytes", what, tag, count);
}

/* Rank 1 receives the last message first: all before it are unexpected. */
static void check_messages(void)
{
    seen_t *matched = watch_all("message_matched"), *early = watch_all("message_unexpected");
    MPI_Barrier(MPI_COMM_WORLD); /* nothing is sent to a rank that does not watch yet */
    if (rank == 0) {
        MPI_Send(buffer, SHORT, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
        MPI_Request synchronous;
        MPI_Issend(buffer, 2 * SHORT, MPI_CHAR, 1, 8, MPI_COMM_WORLD, &synchronous);
        MPI_Send(buffer, 0, MPI_CHAR, 1, 9, MPI_COMM_WORLD);
        MPI_Wait(&synchronous, MPI_STATUS_IGNORE);
        tap_check(find(matched, 0, "traffic", TRAFFIC_USER) < 0 &&
                      find(early, 0, "traffic", TRAFFIC_USER) < 0,
                  "the sender sees nothing of it");
    } else {
        MPI_Recv(buffer, 0, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_message(early, 7, SHORT, EAGER, "unexpected");
        check_message(early, 8, 2 * SHORT, EAGER_SYNCHRONOUS, "unexpected");
        tap_check(find(matched, 0, "tag", 7) < 0, "it has not matched yet");
        MPI_Recv(buffer, LONG, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, LONG, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check_message(matched, 7, SHORT, EAGER, "matched");
        check_message(matched, 8, 2 * SHORT, EAGER_SYNCHRONOUS, "matched");
        check_message(matched, 9, 0, EAGER, "matched");
        tap_check(matched->level == MPI_T_CB_REQUIRE_MPI_RESTRICTED && matched->source == 0,
                  "at the restricted level, of the source in order");
    }
    unwatch(matched);
    unwatch(early);
}

static void check_bound(void)
{
    MPI_Comm copy, self = MPI_COMM_SELF, world = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    seen_t *of_copy = watch("message_matched", &copy, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    seen_t *of_world = watch("message_matched", &world, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    seen_t *of_self = watch("message_matched", &self, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    int other = 1 - rank;
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(buffer, 1, MPI_CHAR, other, 20, buffer + 1, 1, MPI_CHAR, other, 20,
                     i < 2 ? copy : world, MPI_STATUS_IGNORE);
    tap_check(of_copy->count == 2 && of_world->count == 1 && of_self->count == 0,
              "a bound handle sees its communicator");
    MPI_Sendrecv(buffer, 1, MPI_CHAR, 0, 20, buffer + 1, 1, MPI_CHAR, 0, 20, self,
                 MPI_STATUS_IGNORE);
    tap_check(of_self->count == 1 && get(of_self, 0, "transport") == BY_SELF, "also its own");
    MPI_Comm_free(&copy);
    unwatch(of_copy);
    unwatch(of_world);
    unwatch(of_self);
}

static void check_rendezvous(void)
{
    seen_t *begun = watch_all("rendezvous_begun"), *ended = watch_all("rendezvous_ended");
    if (rank == 0)
        MPI_Send(buffer, LONG, MPI_CHAR, 1, 30, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, LONG, MPI_CHAR, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(begun->count == 1 && ended->count == 1 && ended->time >= begun->time,
              "a rendezvous begins and ends");
    tap_check(get(begun, 0, "peer") == 1 - rank && get(begun, 0, "tag") == 30 &&
                  get(begun, 0, "bytes") == LONG && get(begun, 0, "transport") == transport &&
                  get(begun, 0, "side") == (rank == 0 ? SENDER : RECEIVER),
              "with its peer, its tag and its bytes");
    tap_check(get(ended, 0, "peer") == 1 - rank && get(ended, 0, "bytes") == LONG &&
                  get(ended, 0, "side") == get(begun, 0, "side") &&
                  get(ended, 0, "error") == MPI_SUCCESS,
              "and without an error");
    unwatch(begun);
    unwatch(ended);
}

/* -- collectives ---------------------------------------------------------------------------- */

static void check_pair(const seen_t *begun, const seen_t *ended, int i, int form, long long bytes,
                       const char *what)
{
    int end = find(ended, 0, "number", get(begun, i, "number"));
    tap_check(end >= 0 && get(begun, i, "form") == form && get(begun, i, "bytes") == bytes &&
                  get(ended, end, "operation") == get(begun, i, "operation") &&
                  get(ended, end, "error") == MPI_SUCCESS &&
                  find(ended, end + 1, "number", get(begun, i, "number")) < 0,
              "%s begins and ends", what);
}

static void check_collectives(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    seen_t *begun = watch("collective_begun", &world, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    seen_t *ended = watch("collective_ended", &world, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    int one = 1, sum = 0, counts[] = {1, 2}, displs[] = {0, 1}, gathered[3];
    MPI_Request request;
    MPI_Barrier(world);
    tap_check(begun->level == MPI_T_CB_REQUIRE_NONE && ended->level == MPI_T_CB_REQUIRE_NONE,
              "a callback of a blocking one may call MPI");
    MPI_Bcast(buffer, 1000, MPI_INT, 1, world);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world, &request);
    tap_check(begun->count == 3, "a nonblocking one begins at once");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, gathered, counts, displs, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Allgatherv(displs, counts[rank], MPI_INT, gathered, counts, displs, MPI_INT, world);
    MPI_Barrier_init(world, MPI_INFO_NULL, &request);
    int before = begun->count;
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    tap_check(before == 4 && begun->count == 6 && ended->count == 6, "six are seen, one is not");
    check_pair(begun, ended, 0, 0, 0, "a barrier");
    check_pair(begun, ended, 1, 0, 4000, "a bcast");
    tap_check(get(begun, 1, "root") == 1, "from its root");
    check_pair(begun, ended, 2, 1, 4, "an iallreduce");
    check_pair(begun, ended, 3, 0, 4 * counts[rank], "an allgatherv");
    check_pair(begun, ended, 4, 2, 0, "a persistent barrier");
    check_pair(begun, ended, 5, 2, 0, "and once more");
    unwatch(begun);
    unwatch(ended);
}

/* -- dropped events, and calls within callbacks ---------------------------------------------- */

static void note_dropped(MPI_Count count, MPI_T_event_registration handle, int source,
                         MPI_T_cb_safety level, void *user_data)
{
    seen_t *seen = user_data;
    seen->dropped += count;
    seen->source = source;
    seen->wrong += handle != seen->handle || level != MPI_T_CB_REQUIRE_NONE;
}

static void check_dropped(void)
{
    seen_t *matched = watch("message_matched", NULL, MPI_T_CB_REQUIRE_NONE);
    seen_t *collective = watch("collective_begun", NULL, MPI_T_CB_REQUIRE_NONE);
    MPI_T_event_set_dropped_handler(matched->handle, note_dropped);
    for (int i = 0; i < 5; i++)
        MPI_Sendrecv(buffer, 1, MPI_CHAR, 0, 40, buffer + 1, 1, MPI_CHAR, 0, 40, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    tap_check(matched->count == 0 && matched->dropped == 0, "no callback may be called there");
    MPI_Barrier(MPI_COMM_SELF);
    tap_check(collective->count == 1 && matched->dropped == 5 && matched->source == 0,
              "the next event tells how many were dropped");
    unwatch(matched);
    unwatch(collective);
}

static int callback_errors, callback_rank;

/* Calls MPI, as it may at this level. The inner events need another level, and are dropped. */
static void call_mpi(MPI_T_event_instance instance, MPI_T_event_registration handle,
                     MPI_T_cb_safety level, void *user_data)
{
    seen_t *seen = user_data;
    int sent = 1, received = 0;
    (void)handle;
    seen->count++;
    callback_errors += instance == NULL || level != MPI_T_CB_REQUIRE_NONE;
    callback_errors += MPI_Comm_rank(MPI_COMM_WORLD, &callback_rank);
    callback_errors += MPI_Barrier(MPI_COMM_SELF);
    callback_errors += MPI_Allreduce(&sent, &received, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    callback_errors += received != 2;
}

/* Frees its own handle, and allocates another one, under the lock of messages. */
static void replace(MPI_T_event_instance instance, MPI_T_event_registration handle,
                    MPI_T_cb_safety level, void *user_data)
{
    seen_t *seen = user_data;
    int index = -1, source = -1, count = 0;
    (void)level;
    seen->count++;
    callback_errors += MPI_T_cvar_get_num(&count) || count == 0;
    callback_errors += MPI_T_cvar_write(NULL, &count) != MPI_T_ERR_CVAR_SET_NOT_NOW;
    MPI_T_event_get_index("message_matched", &index);
    callback_errors += MPI_T_event_handle_free(handle, seen, note_freed);
    callback_errors += MPI_T_event_get_source(instance, &source) || source != 0;
    callback_errors += seen->freed != 0;
    MPI_T_event_registration other;
    callback_errors += MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &other);
    callback_errors += MPI_T_event_handle_free(other, NULL, NULL);
}

static void check_calls_within(void)
{
    seen_t *collective = watch("collective_begun", NULL, MPI_T_CB_REQUIRE_NONE);
    MPI_T_event_set_dropped_handler(collective->handle, note_dropped);
    MPI_T_event_register_callback(collective->handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                  collective, call_mpi);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(callback_errors == 0 && callback_rank == rank && collective->count == 1,
              "a callback calls collectives of its own");
    unwatch(collective);

    seen_t *matched = watch_all("message_matched");
    MPI_T_event_register_callback(matched->handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                  matched, replace);
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(buffer, 1, MPI_CHAR, 0, 41, buffer + 1, 1, MPI_CHAR, 0, 41, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    tap_check(callback_errors == 0 && matched->count == 1 && matched->freed == 1,
              "a callback frees its own handle");
    free(matched);
}

/* -- communicators, peers -------------------------------------------------------------------- */

static void check_communicators(seen_t *made, seen_t *freed)
{
    MPI_Comm half, inter;
    tap_check(made->count == 2 && find(made, 0, "size", 1) >= 0,
              "world and self are made when MPI starts");
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 50, &inter);
    int last = made->count - 1;
    tap_check(last == 3 && get(made, 2, "size") == 1 && get(made, 2, "remote_size") == 0 &&
                  get(made, 3, "remote_size") == 1,
              "communicators are made");
    tap_check(freed->count == 0, "none is freed");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    tap_check(freed->count == 2 && get(freed, 0, "context") == get(made, 3, "context") &&
                  get(freed, 1, "context") == get(made, 2, "context"),
              "they are freed");
}

/* Rank 0 is told that rank 1 is dead. */
static void check_failure(void)
{
    seen_t *failed = watch_all("peer_failed");
    int class = MPI_SUCCESS;
    if (rank == 0) {
        declare_dead(1);
        tap_check(failed->count == 1 && get(failed, 0, "rank") == 1,
                  "the failure of a peer is seen");
        MPI_Error_class((int)get(failed, 0, "error"), &class);
        tap_check(class == MPI_ERR_PROC_ABORTED, "with its error");
    }
    unwatch(failed);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "sm";
    int provided, connected_count;
    MPI_Count time;
    transport = strcmp(name, "sm") == 0 ? BY_SM : BY_SOCK;
    tap_check(MPI_T_event_get_num(&provided) == MPI_T_ERR_NOT_INITIALIZED,
              "not before the interface is initialized");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_types();
    check_sources();
    check_handles();
    seen_t *connected = watch_all("peer_connected");
    seen_t *made = watch_all("communicator_made"), *freed = watch_all("communicator_freed");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_communicators(made, freed);
    check_messages();
    check_bound();
    check_rendezvous();
    check_collectives();
    check_dropped();
    check_calls_within();
    int to_peer = find(connected, 0, "rank", 1 - rank);
    connected_count = connected->count;
    tap_check(to_peer >= 0 && get(connected, to_peer, "transport") == transport,
              "the peer is connected, over %s", name);
    MPI_Barrier(MPI_COMM_WORLD);
    check_failure();
    int before = freed->count;
    MPI_Finalize();

    tap_check(freed->count == before + 2, "world and self are freed when MPI ends");
    tap_check(connected->count == connected_count, "and nobody is connected any more");
    check_sources();
    unwatch(connected);
    unwatch(made);
    unwatch(freed);
    seen_t *left = watch_all("peer_failed"); /* is not freed by the tool */
    MPI_T_finalize();
    free(left);
    tap_check(MPI_T_source_get_timestamp(0, &time) == MPI_T_ERR_NOT_INITIALIZED,
              "not when the interface is finalized");
    return tap_finish();
}
