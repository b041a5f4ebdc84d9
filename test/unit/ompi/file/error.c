/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/error.c: classes of errors of the system, and sentences about them. */
#include <errno.h>

#include "ompi/check/finding.h"
#include "ompi/file/file.h"
#include "opal/mca/pmi/pmi.h"
#include "opal/process/job.h"
#include "test/unit/opal/support.h"

const opal_pmi_job_t *__wrap_opal_job(void);

const opal_pmi_job_t *__wrap_opal_job(void)
{
    static const opal_pmi_job_t job = {.rank = 3, .size = 4};
    return &job;
}

START_TEST(an_error_of_the_system_has_a_class)
{
    static const struct {
        int error, class;
    } rows[] = {
        {0, MPI_SUCCESS},
        {ENOENT, MPI_ERR_NO_SUCH_FILE},
        {EACCES, MPI_ERR_ACCESS},
        {EEXIST, MPI_ERR_FILE_EXISTS},
        {EPERM, MPI_ERR_ACCESS},
        {EROFS, MPI_ERR_READ_ONLY},
        {ENOSPC, MPI_ERR_NO_SPACE},
        {EDQUOT, MPI_ERR_QUOTA},
        {EISDIR, MPI_ERR_BAD_FILE},
        {ENAMETOOLONG, MPI_ERR_BAD_FILE},
        {ENOMEM, MPI_ERR_NO_MEM},
        {EOPNOTSUPP, MPI_ERR_UNSUPPORTED_OPERATION},
        {EBUSY, MPI_ERR_FILE_IN_USE},
        {EIO, MPI_ERR_IO},
        {ESTALE, MPI_ERR_IO},
        {4711, MPI_ERR_IO},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++)
        ck_assert_int_eq(ompi_file_class_of(rows[i].error), rows[i].class);
}
END_TEST

START_TEST(the_sentence_names_rank_file_and_reason)
{
    ompi_object_t *about = NULL;
    ck_assert_int_eq(ompi_file_fail_system("/a/b", ENOSPC, "open"), MPI_ERR_NO_SPACE);
    const char *text = ompi_check_take_text(MPI_ERR_NO_SPACE, &about);
    ck_assert_str_eq(text, "Rank 3 could not open the file /a/b: No space left on device.");
    ck_assert_ptr_null(about);
    ck_assert_ptr_null(ompi_check_take_text(MPI_ERR_NO_SPACE, &about));
}
END_TEST

START_TEST(a_rank_alone_agrees_with_itself)
{
    ompi_communicator_t comm = {.size = 1};
    uint64_t words[] = {1, UINT64_MAX};
    ck_assert_int_eq(ompi_file_agree(&comm, MPI_SUCCESS), MPI_SUCCESS);
    ck_assert_int_eq(ompi_file_agree(&comm, MPI_ERR_QUOTA), MPI_ERR_QUOTA);
    ck_assert_int_eq(ompi_file_maximum(&comm, words, 2), MPI_SUCCESS);
    ck_assert(words[0] == 1 && words[1] == UINT64_MAX);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_error_of_the_system_has_a_class},
    {.test = &the_sentence_names_rank_file_and_reason},
    {.test = &a_rank_alone_agrees_with_itself},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/file/error", tests, setup);
