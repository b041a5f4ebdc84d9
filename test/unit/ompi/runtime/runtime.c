/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/runtime/runtime.c: the runtime has users, and starts and ends with them, as often as they
 * like, before and after MPI_Init; nothing of it is left.
 */
#include "ompi/runtime/runtime.h"

#include <dirent.h>

#include "opal/process/job.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
    static const char *const names[] = {"PMI_FD",    "PMI_RANK",      "PMI_SIZE",
                                        "PMIX_RANK", "MICA_REPORTER", "MICA_MCA_COMMAND_LINE"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    unit_capture();
}

/* A message to itself, and a communicator that the runtime has to end. World is MPI_Init's, so it
 * is opened here. */
static void use(void)
{
    MPI_Comm copy;
    ompi_comm_open_world();
    int sent = 7, received = 0;
    MPI_Request request;
    ck_assert_int_eq(MPI_Irecv(&received, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    ck_assert_int_eq(MPI_Send(&sent, 1, MPI_INT, 0, 5, MPI_COMM_WORLD), MPI_SUCCESS);
    ck_assert_int_eq(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert_int_eq(received, sent);
    ck_assert_int_eq(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
}

static void acquire(int required)
{
    int level = -1;
    ck_assert_int_eq(
        ompi_runtime_acquire(OMPI_RUNTIME_TOGETHER, required, OPAL_FAILURE_IS_RETURNED, &level),
        MPI_SUCCESS);
    ck_assert_int_ge(level, required);
}

/* As a user that is not MPI_Init: functions of MPI are usable meanwhile. */
static void run_once(void)
{
    acquire(MPI_THREAD_SINGLE);
    use();
    ompi_comm_close_world(&ompi_errors_return);
    ck_assert_int_eq(ompi_runtime_release(), MPI_SUCCESS);
    ck_assert_uint_ne(ompi_api_mode() & OMPI_API_UNUSABLE, 0);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* KiB: VmSize are addresses that are mapped, Anonymous is memory. VmRSS is no measure: the kernel
 * adds it up from counts of its own on each core, which lag behind. */
static size_t memory_of(const char *file, const char *name)
{
    char line[256];
    size_t kib = 0;
    FILE *status = fopen(file, "re");
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtoul(line + strlen(name) + 1, NULL, 10);
    }
    fclose(status);
    return kib;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLACK_KIB = 256 << 10 }; /* a sanitizer keeps what is freed, and finds what is not */
#else
enum { SLACK_KIB = 64 };
#endif

START_TEST(a_thousand_times)
{
    enum { FIRST = 500, ROUNDS = 1500 }; /* glibc keeps some freed blocks of each size at first */
    static const char pages[] = "/proc/self/smaps_rollup", addresses[] = "/proc/self/status";
    for (int round = 0; round < FIRST; round++)
        run_once();
    unsigned descriptors = count_descriptors();
    size_t memory = memory_of(pages, "Anonymous"), mapped = memory_of(addresses, "VmSize");
    ck_assert_uint_gt(memory, 0);
    for (int round = FIRST; round < ROUNDS; round++)
        run_once();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    ck_assert_uint_le(memory_of(pages, "Anonymous"), memory + SLACK_KIB);
    ck_assert_uint_le(memory_of(addresses, "VmSize"), mapped + 4 * SLACK_KIB);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(users_are_counted)
{
    void *state;
    acquire(MPI_THREAD_SINGLE);
    acquire(MPI_THREAD_FUNNELED);
    const ompi_pml_ops_t *pml = ompi_pml;
    ck_assert_int_eq(ompi_runtime_release(), MPI_SUCCESS);
    ck_assert_ptr_eq(ompi_pml, pml);
    ck_assert_ptr_nonnull(opal_pmi(&state));
    ck_assert_int_eq(ompi_runtime_release(), MPI_SUCCESS);
    ck_assert_ptr_null(ompi_pml);
    ck_assert_ptr_null(opal_pmi(&state));
}
END_TEST

/* The message lock is not needed until somebody wants threads. */
START_TEST(a_user_may_want_threads_later)
{
    acquire(MPI_THREAD_SINGLE);
    ck_assert(!ompi_lock_needed);
    acquire(MPI_THREAD_MULTIPLE);
    ck_assert(ompi_lock_needed);
    use();
    ompi_runtime_release();
    ck_assert(ompi_lock_needed);
    ompi_comm_close_world(&ompi_errors_return);
    ompi_runtime_release();
    ck_assert(!ompi_lock_needed);
}
END_TEST

START_TEST(mpi_init_is_one_of_them)
{
    int provided;
    acquire(MPI_THREAD_SINGLE);
    ck_assert_int_eq(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    use();
    ck_assert_int_eq(MPI_Finalize(), MPI_SUCCESS);
    ck_assert_ptr_nonnull(ompi_pml);
    ck_assert_int_eq(ompi_runtime_release(), MPI_SUCCESS);
    ck_assert_ptr_null(ompi_pml);
    run_once();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_thousand_times},
    {.test = &users_are_counted},
    {.test = &a_user_may_want_threads_later},
    {.test = &mpi_init_is_one_of_them},
};

UNIT_MAIN("ompi/runtime", tests, setup);
