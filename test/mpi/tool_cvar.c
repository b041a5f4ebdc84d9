/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control variables: every one that is counted is described, found and read, before MPI_Init and
 * after MPI_Finalize; what is written has its effect, or an error says why not.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

enum { TEXT = 2048 };

typedef struct info {
    char name[TEXT], description[TEXT];
    int name_length, description_length, verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
} info_t;

static int get_info(int index, info_t *info)
{
    info->name_length = info->description_length = TEXT;
    return MPI_T_cvar_get_info(index, info->name, &info->name_length, &info->verbosity,
                               &info->datatype, &info->enumeration, info->description,
                               &info->description_length, &info->bind, &info->scope);
}

static bool is_sound(const info_t *info)
{
    bool has_enum = info->enumeration != MPI_T_ENUM_NULL;
    return info->name_length == (int)strlen(info->name) + 1 && info->name_length > 1 &&
           info->description_length == (int)strlen(info->description) + 1 &&
           info->verbosity >= MPI_T_VERBOSITY_USER_BASIC &&
           info->verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL &&
           (info->bind == MPI_T_BIND_NO_OBJECT || info->bind == MPI_T_BIND_MPI_COMM ||
            info->bind == MPI_T_BIND_MPI_WIN) &&
           info->scope >= MPI_T_SCOPE_CONSTANT && info->scope <= MPI_T_SCOPE_ALL_EQ &&
           info->datatype != MPI_DATATYPE_NULL && (!has_enum || info->datatype == MPI_INT);
}

/* The value is one of the enumeration's. */
static bool enum_names(MPI_T_enum enumeration, int value)
{
    int count = 0, item = -1;
    char name[TEXT];
    int length = TEXT;
    if (MPI_T_enum_get_info(enumeration, &count, name, &length) != MPI_SUCCESS || length < 2)
        return false;
    for (int i = 0; i < count; i++) {
        length = TEXT;
        if (MPI_T_enum_get_item(enumeration, i, &item, name, &length) != MPI_SUCCESS ||
            length != (int)strlen(name) + 1)
            return false;
        if (item == value)
            return true;
    }
    return false;
}

static bool reads(int index, const info_t *info)
{
    int count = 0;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return false;
    char *text = malloc((size_t)count * 8);
    memset(text, 'x', (size_t)count * 8);
    bool good = MPI_T_cvar_read(handle, text) == MPI_SUCCESS;
    if (info->datatype == MPI_CHAR)
        good = good && memchr(text, 0, (size_t)count) != NULL;
    else
        good = good && count == 1;
    if (info->enumeration != MPI_T_ENUM_NULL)
        good = good && enum_names(info->enumeration, *(int *)(void *)text);
    free(text);
    return MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && good &&
           handle == MPI_T_CVAR_HANDLE_NULL;
}

/* Returns how many there are. */
static int check_all(const char *when)
{
    int count = 0, wrong = 0;
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        int found = -1;
        info_t info;
        bool good = get_info(i, &info) == MPI_SUCCESS && is_sound(&info) &&
                    MPI_T_cvar_get_index(info.name, &found) == MPI_SUCCESS && found == i &&
                    (info.bind != MPI_T_BIND_NO_OBJECT || reads(i, &info));
        if (!good)
            tap_check(false, "%s, variable %d (%s) is wrong", when, i, info.name);
        wrong += !good;
    }
    tap_check(wrong == 0 && count > 20, "%s, all variables are described, found and read", when);
    return count;
}

/* Names of the first ones, which never move. */
static bool same_names(int count, char (*names)[64])
{
    bool same = true;
    for (int i = 0; i < count; i++) {
        info_t info;
        same = get_info(i, &info) == MPI_SUCCESS && strncmp(names[i], info.name, 63) == 0 && same;
    }
    return same;
}

static void check_errors(void)
{
    int number = -7, count = 0;
    info_t info;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_cvar_get_num(&count);
    tap_check(get_info(-1, &info) == MPI_T_ERR_INVALID_INDEX &&
                  get_info(count, &info) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_cvar_handle_alloc(-1, NULL, &handle, &number) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_cvar_handle_alloc(count, NULL, &handle, &number) == MPI_T_ERR_INVALID_INDEX,
              "wrong indices");
    tap_check(MPI_T_cvar_get_index("mpi_no_such", &number) == MPI_T_ERR_INVALID_NAME &&
                  number == -7,
              "a wrong name");
    tap_check(MPI_T_cvar_get_num(NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_get_index(NULL, &number) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_get_index("mpi_param_check", NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_handle_alloc(0, NULL, NULL, &number) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_handle_alloc(0, NULL, &handle, NULL) == MPI_T_ERR_INVALID,
              "outputs that are needed");
    tap_check(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &number) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, &number) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_cvar_handle_free(NULL) == MPI_T_ERR_INVALID_HANDLE,
              "wrong handles");
    tap_check(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL) ==
                      MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &number, NULL, NULL) ==
                      MPI_T_ERR_INVALID_HANDLE,
              "wrong enumerations");
    get_info(tool_cvar("mpi_param_check"), &info);
    tap_check(MPI_T_enum_get_item(info.enumeration, -1, &number, NULL, NULL) ==
                      MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_enum_get_item(info.enumeration, 2, &number, NULL, NULL) ==
                      MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_enum_get_item(info.enumeration, 1, &number, NULL, NULL) == MPI_SUCCESS &&
                  number == 1,
              "items of an enumeration");
    MPI_T_cvar_handle_alloc(tool_cvar("mpi_param_check"), NULL, &handle, &number);
    tap_check(MPI_T_cvar_read(handle, NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_cvar_write(handle, NULL) == MPI_T_ERR_INVALID,
              "no buffer");
    MPI_T_cvar_handle_free(&handle);
}

/* Texts are cut to the room, and their length is told. */
static void check_texts(void)
{
    char name[8] = "zzzzzzz";
    int length = 5, index = tool_cvar("mpi_param_check");
    MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    tap_check(strcmp(name, "mpi_") == 0 && name[5] == 'z' && length == 16, "a name is cut");
    strcpy(name, "zzzzzzz");
    length = 0;
    MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    tap_check(name[0] == 'z' && length == 16, "a length of 0 asks for the length");
    length = 3;
    MPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    tap_check(length == 16, "so does a missing buffer");
    tap_check(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                      MPI_SUCCESS &&
                  name[0] == 'z',
              "without a length the buffer is left alone");
}

/* -- writing ----------------------------------------------------------------------------------- */

/* What a user set is what is read; what is written before MPI_Init counts more, also there. */
static void write_before_init(void)
{
    unsigned long bytes = 0, written = 8192;
    unsigned links = 0, three = 3, nine = 9;
    int number = 0, abort_handler = 1;
    tap_check(tool_cvar_read("btl_sm_eager_limit", &bytes) == MPI_SUCCESS && bytes == 2048,
              "the environment is read before MPI_Init");
    tap_check(tool_cvar_write("btl_sm_eager_limit", &written) == MPI_SUCCESS &&
                  tool_cvar_read("btl_sm_eager_limit", &bytes) == MPI_SUCCESS && bytes == 8192,
              "a size is written");
    tap_check(tool_cvar_write("btl_sock_links", &three) == MPI_SUCCESS &&
                  tool_cvar_write("btl_sock_links", &nine) == MPI_T_ERR_INVALID &&
                  tool_cvar_read("btl_sock_links", &links) == MPI_SUCCESS && links == 3,
              "what is beyond the limits is refused");
    tap_check(tool_cvar_read("mpi_initial_errhandler", &number) == MPI_SUCCESS && number == 0 &&
                  tool_cvar_write("mpi_initial_errhandler", &(int){77}) == MPI_T_ERR_INVALID &&
                  tool_cvar_write("mpi_initial_errhandler", &abort_handler) == MPI_SUCCESS &&
                  tool_cvar_write("mpi_initial_errhandler", &(int){2}) == MPI_SUCCESS,
              "a choice is written, and nothing that is none");
    tap_check(tool_cvar_write("mpi_leave_pinned", &number) == MPI_T_ERR_CVAR_SET_NEVER,
              "what was read before main cannot be written");
}

/* MPI_Init has read what was written, not the environment. */
static void check_after_init(void)
{
    unsigned long bytes = 0;
    unsigned links = 0;
    MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &errhandler);
    tap_check(errhandler == MPI_ERRORS_RETURN, "MPI_Init takes what was written");
    MPI_Errhandler_free(&errhandler);
    tap_check(tool_cvar_read("btl_sm_eager_limit", &bytes) == MPI_SUCCESS && bytes == 8192 &&
                  tool_cvar_read("btl_sock_links", &links) == MPI_SUCCESS && links == 3,
              "it is read again");
    tap_check(tool_cvar_write("btl_sm_eager_limit", &bytes) == MPI_T_ERR_CVAR_SET_NOT_NOW,
              "and cannot be written any more");
}

/* A probe for a tag that no message can have: harmless where nothing is checked. */
static int probe(void)
{
    int flag = 0;
    return MPI_Iprobe(0, -7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void check_param_check(void)
{
    int off = 0, on = 1, value = -1;
    tap_check(probe() == MPI_ERR_TAG, "calls are checked");
    tap_check(tool_cvar_write("mpi_param_check", &off) == MPI_SUCCESS && probe() == MPI_SUCCESS,
              "and then they are not");
    tap_check(tool_cvar_read("mpi_param_check", &value) == MPI_SUCCESS && value == 0,
              "which can be read");
    tap_check(tool_cvar_write("mpi_param_check", &(int){2}) == MPI_T_ERR_INVALID,
              "2 is neither yes nor no");
    tap_check(tool_cvar_write("mpi_param_check", &on) == MPI_SUCCESS && probe() == MPI_ERR_TAG,
              "calls are checked again");
}

/* A rule that makes no sense is refused, and the rules before it are back. */
static void check_rules(void)
{
    static const char good[] = "bcast=linear";
    char text[TEXT] = "", before[TEXT] = "";
    int data = 5;
    tap_check(tool_cvar_read("coll_p2p_table", before) == MPI_SUCCESS, "the rules are read");
    tap_check(tool_cvar_write("coll_p2p_table", "bcast=whale") == MPI_T_ERR_INVALID &&
                  tool_cvar_read("coll_p2p_table", text) == MPI_SUCCESS &&
                  strcmp(text, before) == 0,
              "a rule that does not exist is refused");
    tap_check(tool_cvar_write("coll_p2p_table", good) == MPI_SUCCESS &&
                  tool_cvar_read("coll_p2p_table", text) == MPI_SUCCESS && strcmp(text, good) == 0,
              "a rule is written");
    tap_check(MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "and works");
    tool_cvar_write("coll_p2p_table", before);
}

int main(int argc, char **argv)
{
    int rank = -1, provided;
    static char names[512][64];
    setenv("OMPI_MCA_btl_sm_eager_limit", "2K", 1);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    int count = check_all("before MPI_Init");
    for (int i = 0; i < count && i < 512; i++) {
        info_t info;
        get_info(i, &info);
        strncpy(names[i], info.name, 63);
    }
    check_texts();
    write_before_init();

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(check_all("while MPI runs") >= count, "the number grows");
    tap_check(same_names(count, names), "and no index changes");
    check_errors();
    check_after_init();
    check_param_check();
    check_rules();
    MPI_Finalize();
    check_all("after MPI_Finalize");
    tap_check(same_names(count, names), "no index has changed");
    unsigned long bytes = 4096;
    tap_check(tool_cvar_write("btl_sm_eager_limit", &bytes) == MPI_SUCCESS,
              "it can be written for another start");
    MPI_T_finalize();
    return tap_finish();
}
