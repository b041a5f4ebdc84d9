/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program of calls.test: it makes objects of every kind, has Fortran call all procedures,
 * and prints the names of those that have been called. Run by two ranks, of which the first calls.
 * See calls.py and recorder.h.
 */
#include "recorder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG = 300, CART_DIMS = 2 };

enum pass pass;
static const char *expected = "";          /* the C function that Fortran's procedure must call */
static char current[MPI_MAX_ERROR_STRING]; /* the procedure, with P for PMPI */
static int error, arrivals, failures;

MPI_Comm comms[OBJECTS];
MPI_Datatype datatypes[OBJECTS];
MPI_Errhandler errhandlers[OBJECTS];
MPI_File files[OBJECTS];
MPI_Group groups[OBJECTS];
MPI_Info infos[OBJECTS];
MPI_Message messages[OBJECTS];
MPI_Op ops[OBJECTS];
MPI_Request requests[OBJECTS];
MPI_Session sessions[OBJECTS];
MPI_Win wins[OBJECTS];

/* Fortran's variables, of results.f90 and of what calls.py writes. */
extern int recorder_buffers[BUFFERS][BUFFER_LENGTH];
extern function_t *recorder_functions[3];
extern MPI_Fint recorder_comms[], recorder_datatypes[], recorder_errhandlers[], recorder_files[],
    recorder_groups[], recorder_infos[], recorder_messages[], recorder_ops[], recorder_requests[],
    recorder_sessions[], recorder_wins[];
void call_all(void);

/* -- called by Fortran ------------------------------------------------------------------------- */

void recorder_begin(const char *name, int error_code, int pass_number);
void recorder_finish(int ierror);
void recorder_finish_without_c(const char *name, int ierror);
void recorder_difference(const char *name, const char *wanted, const char *found);

static const char *pass_name(void)
{
    static const char *const names[] = {"", "failing", "plain", "with constants"};
    return names[pass];
}

void recorder_difference(const char *name, const char *wanted, const char *found)
{
    printf("wrong: %s (%s): %s: expected %s, found %s\n", current, pass_name(), name, wanted,
           found);
    failures++;
}

static void difference(const char *name, long long wanted, long long found)
{
    char texts[2][32];
    snprintf(texts[0], sizeof texts[0], "%lld", wanted);
    snprintf(texts[1], sizeof texts[1], "%lld", found);
    recorder_difference(name, texts[0], texts[1]);
}

void recorder_begin(const char *name, int error_code, int pass_number)
{
    snprintf(current, sizeof current, "%s", name);
    expected = current[0] == 'P' ? current + 1 : current;
    error = error_code;
    pass = (enum pass)pass_number;
    arrivals = 0;
}

void recorder_finish(int ierror)
{
    int wanted = pass == FAILING ? error : MPI_SUCCESS;
    if (arrivals != 1)
        difference("calls of the C function", 1, arrivals);
    if (ierror != wanted)
        difference("ierror", wanted, ierror);
    if (pass == CONSTANTS && arrivals == 1)
        printf("called %s\n", current);
    expected = "";
}

void recorder_finish_without_c(const char *name, int ierror)
{
    snprintf(current, sizeof current, "%s", name);
    if (ierror != MPI_SUCCESS)
        difference("ierror", MPI_SUCCESS, ierror);
    printf("called %s\n", current);
}

/* -- called by the C functions ----------------------------------------------------------------- */

bool has_arrived(const char *name)
{
    if (strcmp(name, expected) == 0) {
        arrivals++;
        return true;
    }
#ifndef RECORD_PMPI
    recorder_difference("C function", expected, name);
#endif
    return false;
}

int outcome(void)
{
    return pass == FAILING ? error : MPI_SUCCESS;
}

void expect_integer(const char *name, long long wanted, long long found)
{
    if (wanted != found)
        difference(name, wanted, found);
}

void expect_pointer(const char *name, const void *wanted, const void *found)
{
    char texts[2][32];
    if (wanted == found)
        return;
    snprintf(texts[0], sizeof texts[0], "%p", wanted);
    snprintf(texts[1], sizeof texts[1], "%p", found);
    recorder_difference(name, texts[0], texts[1]);
}

void expect_buffer(const char *name, int buffer, const void *constant, const void *found)
{
    expect_pointer(name, pass == CONSTANTS ? constant : recorder_buffers[buffer], found);
}

void expect_handle(const char *name, void *const objects[], int object, const void *found)
{
    int place = 0;
    while (place < OBJECTS && objects[place] != found)
        place++;
    if (place == OBJECTS)
        expect_pointer(name, objects[object], found);
    else if (place != object)
        difference(name, object, place);
}

void expect_flags(const char *name, bool first, const int *found, int count)
{
    for (int i = 0; i < count; i++) {
        if (found[i] != ((i % 2 == 0) == (first == (pass != CONSTANTS))))
            difference(name, !found[i], found[i]);
    }
}

void expect_status(const char *name, int wanted, const MPI_Status *found)
{
    if (found->MPI_SOURCE != wanted || found->MPI_TAG != wanted + 1 ||
        found->MPI_ERROR != wanted + 2)
        difference(name, wanted, found->MPI_SOURCE);
}

void expect_function(const char *name, int function, function_t *found)
{
    if (found != recorder_functions[function])
        recorder_difference(name, "the Fortran procedure", found == NULL ? "NULL" : "another");
}

void expect_text(const char *name, const char *wanted, const char *found)
{
    char text[LONG + 1];
    snprintf(text, sizeof text, "%s", wanted);
    if (pass == FAILING && strlen(found) > strlen(wanted)) {
        size_t used = strlen(wanted);
        /* Blanks that the C function does not get are part of the long string, too. */
        size_t length = strlen(found) == LONG ? LONG : LONG - 2;
        memset(text + used, 'x', length - used);
        text[length] = 0;
    }
    expect_string(name, text, found);
}

void expect_string(const char *name, const char *wanted, const char *found)
{
    if (found == NULL || strcmp(wanted, found) != 0)
        recorder_difference(name, wanted, found == NULL ? "NULL" : found);
}

void expect_argv(const char *name, int command, char *const found[])
{
    const char *wanted[] = {"one", "two"};
    char text[16];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, command > 0 ? "%s%d" : "%s", wanted[i], command);
        expect_string(name, text, found[i]);
        if (found[i] == NULL)
            return;
    }
    expect_pointer(name, NULL, found[2]);
}

void store_flags(int *flags, bool first, int count)
{
    for (int i = 0; i < count; i++)
        flags[i] = (i % 2 == 0) == (first == (pass != CONSTANTS));
}

void store_statuses(MPI_Status *statuses, int first, int count)
{
    for (int i = 0; i < count; i++) {
        statuses[i].MPI_SOURCE = first + 3 * i;
        statuses[i].MPI_TAG = first + 3 * i + 1;
        statuses[i].MPI_ERROR = first + 3 * i + 2;
    }
}

/* -- objects ----------------------------------------------------------------------------------- */

static void no_op(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void no_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* Communicators with a topology say how long arrays are: 2 ranks, 2 edges in and 3 out, and the
 * last one 2 dimensions. */
static void make_comms(int rank)
{
    const int sources[2][3] = {{0, 1}, {0, 0, 1}}, destinations[2][3] = {{0, 1, 1}, {0, 1}};
    const int dims[CART_DIMS] = {1, 2}, periods[CART_DIMS] = {0, 1};
    const int edges_in = rank == 0 ? 2 : 3, edges_out = 5 - edges_in;
    for (int i = 0; i < OBJECTS - 1; i++) {
        REAL(Dist_graph_create_adjacent)
        (MPI_COMM_WORLD, edges_in, sources[rank], MPI_UNWEIGHTED, edges_out, destinations[rank],
         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comms[i]);
    }
    REAL(Cart_create)(MPI_COMM_WORLD, CART_DIMS, dims, periods, 0, &comms[OBJECTS - 1]);
}

static void make_objects(void)
{
    static int memory[OBJECTS];
    MPI_Group world;
    REAL(Comm_group)(MPI_COMM_WORLD, &world);
    for (int i = 0; i < OBJECTS; i++) {
        MPI_Request sending;
        REAL(Type_contiguous)(i + 1, MPI_INT, &datatypes[i]);
        REAL(Type_commit)(&datatypes[i]);
        REAL(Comm_create_errhandler)(no_handler, &errhandlers[i]);
        REAL(File_open)
        (MPI_COMM_SELF, "calls.file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]);
        REAL(Group_incl)(world, 1, &(int){i % 2}, &groups[i]);
        REAL(Info_create)(&infos[i]);
        REAL(Op_create)(no_op, 1, &ops[i]);
        REAL(Send_init)(memory, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
        REAL(Session_init)(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &sessions[i]);
        REAL(Win_create)(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &wins[i]);
        REAL(Isend)(&memory[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sending);
        REAL(Mprobe)(0, i, MPI_COMM_SELF, &messages[i], MPI_STATUS_IGNORE);
        REAL(Request_free)(&sending);
        recorder_comms[i] = REAL(Comm_toint)(comms[i]);
        recorder_datatypes[i] = REAL(Type_toint)(datatypes[i]);
        recorder_errhandlers[i] = REAL(Errhandler_toint)(errhandlers[i]);
        recorder_files[i] = REAL(File_toint)(files[i]);
        recorder_groups[i] = REAL(Group_toint)(groups[i]);
        recorder_infos[i] = REAL(Info_toint)(infos[i]);
        recorder_messages[i] = REAL(Message_toint)(messages[i]);
        recorder_ops[i] = REAL(Op_toint)(ops[i]);
        recorder_requests[i] = REAL(Request_toint)(requests[i]);
        recorder_sessions[i] = REAL(Session_toint)(sessions[i]);
        recorder_wins[i] = REAL(Win_toint)(wins[i]);
    }
    REAL(Group_free)(&world);
}

static void free_objects(void)
{
    int received;
    for (int i = 0; i < OBJECTS; i++) {
        REAL(Type_free)(&datatypes[i]);
        REAL(Errhandler_free)(&errhandlers[i]);
        REAL(File_close)(&files[i]);
        REAL(Group_free)(&groups[i]);
        REAL(Info_free)(&infos[i]);
        REAL(Op_free)(&ops[i]);
        REAL(Request_free)(&requests[i]);
        REAL(Session_finalize)(&sessions[i]);
        REAL(Win_free)(&wins[i]);
        REAL(Mrecv)(&received, 1, MPI_INT, &messages[i], MPI_STATUS_IGNORE);
    }
}

static void crashed(int signal_number)
{
    (void)signal_number;
    static const char text[] = "wrong: a crash in ";
    if (write(STDOUT_FILENO, text, sizeof text - 1) > 0 &&
        write(STDOUT_FILENO, current, strlen(current)) > 0 && write(STDOUT_FILENO, "\n", 1) > 0)
        _exit(1);
    _exit(2);
}

int main(int argc, char **argv)
{
    int rank;
    setvbuf(stdout, NULL, _IOLBF, 0);
    REAL(Init)(&argc, &argv);
    REAL(Comm_rank)(MPI_COMM_WORLD, &rank);
    make_comms(rank);
    if (rank == 0) {
        make_objects();
        signal(SIGSEGV, crashed);
        call_all();
        signal(SIGSEGV, SIG_DFL);
        free_objects();
    }
    for (int i = 0; i < OBJECTS; i++)
        REAL(Comm_free)(&comms[i]);
    REAL(Finalize)();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
