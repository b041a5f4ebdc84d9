/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: those of the standard and those of ROMIO that programs give, at open, by set_view and by
 * set_info. No hint changes what is in the file; hints that are unknown are ignored; what get_info
 * shows of the known ones is in force.
 */
#include "file_tests.h"

static MPI_File file;

static const char *const hints[][2] = {
    {"access_style", "write_once,sequential"},
    {"collective_buffering", "true"},
    {"cb_block_size", "65536"},
    {"cb_buffer_size", "1048576"},
    {"cb_nodes", "1"},
    {"chunked", "1,8,8"},
    {"chunked_item", "8"},
    {"chunked_size", "1,4,4"},
    {"filename", "mica"},
    {"io_node_list", "*"},
    {"nb_proc", "4"},
    {"num_io_nodes", "1"},
    {"striping_factor", "1"},
    {"striping_unit", "65536"},
    {"romio_cb_read", "enable"},
    {"romio_cb_write", "disable"},
    {"romio_ds_read", "automatic"},
    {"romio_ds_write", "enable"},
    {"romio_no_indep_rw", "false"},
    {"ind_rd_buffer_size", "4096"},
    {"ind_wr_buffer_size", "4096"},
    {"cb_config_list", "*:1"},
    {"moon_phase", "waxing"},
};

enum { HINTS = sizeof hints / sizeof hints[0], WORDS = 1000 };

static MPI_Info make_info(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < HINTS; i++)
        MPI_Info_set(info, hints[i][0], hints[i][1]);
    return info;
}

/* The value of a hint that is in force; NULL: it is not there. */
static const char *value_of(const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int flag = 0;
    TRY(MPI_File_get_info(file, &info));
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    MPI_Info_free(&info);
    return flag ? value : NULL;
}

/* Records of the ranks in turn, in both ways. */
static void check_works(const char *when)
{
    int data[WORDS], back[WORDS] = {0};
    MPI_Datatype type;
    MPI_Type_vector(WORDS / 10, 10, 10 * size, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < WORDS; i++)
        data[i] = rank * WORDS + i;
    TRY(MPI_File_set_view(file, 10 * (MPI_Offset)sizeof(int) * rank, MPI_INT, type, "native",
                          MPI_INFO_NULL));
    TRY(MPI_File_write_at_all(file, 0, data, WORDS, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_read_at(file, 0, back, WORDS, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, back, sizeof data) == 0, "%s: a collective write is read", when);
    TRY(MPI_File_write_at(file, 0, data, WORDS / 2, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_read_at_all(file, 0, back, WORDS, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, back, sizeof data) == 0, "%s: an independent write is read", when);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

static void check_open(void)
{
    MPI_Info info = make_info();
    ACCEPTED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    check_works("hints at open");
    tap_check(value_of("moon_phase") == NULL, "a hint that is unknown is not in force");
    const char *value = value_of("cb_buffer_size");
    tap_check(value == NULL || strtol(value, NULL, 10) > 0, "cb_buffer_size is %s",
              value ? value : "not used");
    ACCEPTED(MPI_File_set_info(file, info));
    check_works("hints by set_info");
    ACCEPTED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info));
    check_works("hints by set_view");
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    ACCEPTED(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    check_works("no more hints");
    ACCEPTED(MPI_File_close(&file));
}

/* A hint that changes when the ranks of one node have already written together, those of others
 * not. */
static void check_change(void)
{
    MPI_Info info;
    int data = rank;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    ACCEPTED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    TRY(MPI_File_write_at_all(file, 0, &data, rank < (size + 1) / 2, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Info_set(info, "cb_buffer_size", "4096");
    ACCEPTED(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    check_works("a buffer of another size");
    ACCEPTED(MPI_File_close(&file));
}

/* A value that is no value is as no hint. */
static void check_values(void)
{
    static const char *const wrong[] = {"many", "-1", "99999999999999999999",
                                        "1x",   "0",  "2732911567275567787"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "cb_nodes", wrong[i]);
        MPI_Info_set(info, "cb_buffer_size", wrong[i]);
        MPI_Info_set(info, "collective_buffering", wrong[i]);
        MPI_Info_set(info, "romio_cb_write", wrong[i]);
        ACCEPTED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file));
        check_works(wrong[i]);
        ACCEPTED(MPI_File_close(&file));
        MPI_Info_free(&info);
    }
}

/* The permissions of a new file, if this hint is in force. */
static void check_permissions(void)
{
    MPI_Info info;
    mode_t mask = umask(0);
    umask(mask);
    remove_path();
    MPI_Info_create(&info);
    MPI_Info_set(info, "file_perm", "0640");
    ACCEPTED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    struct stat status = {0};
    stat(path, &status);
    if (value_of("file_perm") == NULL)
        tap_skip("file_perm", "this hint is not used");
    else
        tap_check((status.st_mode & 0777) == (0640 & ~mask), "file_perm: the file has 0%o",
                  (unsigned)status.st_mode & 0777);
    ACCEPTED(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "moon_phase", "new");
        ACCEPTED(MPI_File_delete(path, info));
        MPI_Info_free(&info);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    check_open();
    check_change();
    check_values();
    check_permissions();
    MPI_Finalize();
    return tap_finish();
}
