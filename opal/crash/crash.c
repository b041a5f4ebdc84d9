/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handler. It may run at any instruction: inside malloc, in another handler, with a heap that
 * is destroyed, on a stack that is full. So it makes system calls only, on memory that was prepared
 * when MPI started, and takes no lock. All that needs memory is done by a helper process,
 * mica-crash: it walks up the stack, reads symbols and lines, and prints. It reads this process'
 * memory by asking for it (notice.h).
 *
 * Why a helper of this process, and not mpirun, which sees the end of a rank: the stack is there
 * only before the end, and there is not always a mpirun. Why the stack is not walked here: libgcc's
 * unwinder allocates and locks in some versions, and crashes once more on a stack that is damaged.
 * Why no ptrace: it needs permissions. The helper is started by clone(CLONE_VM | CLONE_VFORK): the
 * page tables of a large process are not copied, no handler of fork runs, and the parent gets no
 * SIGCHLD.
 *
 * If the helper cannot be started, or does not end in time, the handler prints what it knows
 * itself.
 *
 * One thread of a process reports; other threads that crash meanwhile wait for the end of the
 * process. A child of fork that has not called exec is no rank: it dies without a report.
 */
#include "opal/crash/crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "opal/arch/syscall.h"
#include "opal/crash/board.h"
#include "opal/crash/notice.h"
#include "opal/include/clock.h"
#include "opal/mca/base/dso.h"
#include "opal/mca/base/param.h"
#include "opal/mca/pmi/base/base.h"
#include "opal/util/say.h"

enum {
    HELPER_SECONDS = 10, /* how long the helper may take */
    OTHERS_SECONDS = 12, /* how long another rank's report, or another thread's, is waited for */
    CHILD_STACK_BYTES = 16384,
    HANDLER_STACK_BYTES = 65536,
    HIGH_FD = 64, /* above the helper's descriptors */
};

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

static bool is_wanted = true;

static const opal_param_row_t params[] = {
    {.name = "report",
     .type = OPAL_PARAM_BOOL,
     .value = &is_wanted,
     .preset = "yes",
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "Whether a rank that dies by a signal (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, "
              "SIGSYS, SIGTRAP) prints where it was: the MPI call, and the functions, files and "
              "lines of its stack. A program's own handlers, sanitizers and core dumps are left as "
              "they are"},
    {0},
};

/* Written when MPI starts; the handler only reads it, but for the atomics. */
static struct {
    pid_t process;       /* 0: no handler is installed */
    atomic_int reporter; /* the thread that reports; 0: none */
    char helper[PATH_MAX];
    char library_path[PATH_MAX]; /* "LD_LIBRARY_PATH=..."; empty: it is not set */
    opal_crash_board_t *board;   /* NULL: there is none */
    int board_fd;
    opal_node_claim_t alone; /* where there is neither board nor segment */
    _Atomic(opal_node_claim_t *) claim;
    char job_id[64];
    opal_crash_notice_t notice;
} prepared = {.board_fd = -1, .claim = &prepared.alone};

/* -- who reports ------------------------------------------------------------------------------- */

static bool has_claimed(void)
{
    unsigned none = 0;
    opal_node_claim_t *claim = atomic_load(&prepared.claim);
    if (!atomic_compare_exchange_strong(&claim->owner, &none, (unsigned)prepared.process))
        return false;
    if (prepared.board != NULL) {
        prepared.board->rank = prepared.notice.rank;
        memcpy(prepared.board->job_id, prepared.job_id, sizeof prepared.job_id);
    }
    return true;
}

static void claim_done(void)
{
    opal_node_claim_t *claim = atomic_load(&prepared.claim);
    atomic_store(&claim->is_done, 1);
    opal_syscall(SYS_futex, (long)&claim->is_done, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* The rank that reports may be killed meanwhile, so this has an end. */
static void wait_for_others(void)
{
    opal_node_claim_t *claim = atomic_load(&prepared.claim);
    struct timespec time = {.tv_sec = OTHERS_SECONDS};
    if (atomic_load(&claim->is_done) == 0)
        opal_syscall(SYS_futex, (long)&claim->is_done, FUTEX_WAIT, 0, (long)&time, 0, 0);
}

bool opal_crash_claim(void)
{
    if (prepared.process != getpid() || has_claimed() ||
        atomic_load(&atomic_load(&prepared.claim)->owner) == (unsigned)prepared.process)
        return true;
    wait_for_others();
    return false;
}

void opal_crash_claim_done(void)
{
    if (prepared.process == getpid() &&
        atomic_load(&atomic_load(&prepared.claim)->owner) == (unsigned)prepared.process)
        claim_done();
}

/* -- the helper -------------------------------------------------------------------------------- */

typedef struct helper {
    int socket, maps; /* its descriptors, in this process */
} helper_t;

static void place(int fd, int number)
{
    opal_syscall(SYS_dup3, fd, number, 0, 0, 0, 0);
}

/* In the child, which has this process' memory until exec. It has its own descriptors. */
static int become_helper(void *context)
{
    const helper_t *helper = context;
    char *argv[] = {prepared.helper, NULL}, *none[] = {NULL};
    char *environment[] = {prepared.library_path, NULL};
    int fds[] = {helper->socket, helper->maps, prepared.board_fd};
    for (size_t i = 0; i < OPAL_COUNT_OF(fds); i++)
        fds[i] = (int)opal_syscall(SYS_fcntl, fds[i], F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);
    place(fds[0], OPAL_CRASH_SOCKET);
    place(fds[1], OPAL_CRASH_MAPS);
    if (prepared.board != NULL)
        place(fds[2], OPAL_CRASH_BOARD);
    opal_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
    opal_syscall(SYS_execve, (long)prepared.helper, (long)argv,
                 (long)(prepared.library_path[0] != 0 ? environment : none), 0, 0, 0);
    opal_syscall(SYS_exit, 127, 0, 0, 0, 0, 0);
    return 127;
}

static pid_t start_helper(helper_t *helper)
{
    static _Alignas(64) char stack[CHILD_STACK_BYTES];
    return clone(become_helper, stack + sizeof stack, CLONE_VM | CLONE_VFORK, helper);
}

static bool send_bytes(int fd, uintptr_t address, size_t bytes)
{
    return opal_syscall(SYS_sendto, fd, (long)address, (long)bytes, MSG_NOSIGNAL, 0, 0) ==
           (long)bytes;
}

/* Milliseconds until then; 0: it is past. */
static long left_msec(uint64_t deadline_nsec)
{
    uint64_t now = opal_clock_nsec();
    return now < deadline_nsec ? (long)((deadline_nsec - now) / 1000000) + 1 : 0;
}

/* Answers until the helper has closed its end. False: it takes too long. */
static bool serve(int fd, uint64_t deadline_nsec)
{
    const char cannot = 0;
    opal_crash_ask_t ask;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        long msec = left_msec(deadline_nsec);
        struct timespec time = {.tv_sec = msec / 1000, .tv_nsec = msec % 1000 * 1000000};
        if (msec == 0)
            return false;
        if (opal_syscall(SYS_ppoll, (long)&ready, 1, (long)&time, 0, 0, 0) <= 0)
            continue;
        long got = opal_syscall(SYS_recvfrom, fd, (long)&ask, sizeof ask, 0, 0, 0);
        if (got != (long)sizeof ask || ask.bytes < 2 || ask.bytes > OPAL_CRASH_ASK_MAX)
            return true;
        if (!send_bytes(fd, (uintptr_t)ask.address, (size_t)ask.bytes))
            send_bytes(fd, (uintptr_t)&cannot, 1);
    }
}

/* Ends it, if it has not ended by then. Returns whether it ended well. */
static bool end_helper(pid_t pid, uint64_t deadline_nsec)
{
    int status = -1;
    for (;;) {
        long ended = opal_syscall(SYS_wait4, pid, (long)&status, __WALL | WNOHANG, 0, 0, 0);
        if (ended == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (ended < 0 && ended != -EINTR)
            return false;
        if (left_msec(deadline_nsec) == 0)
            break;
        const struct timespec moment = {.tv_nsec = 1000000};
        opal_syscall(SYS_nanosleep, (long)&moment, 0, 0, 0, 0, 0);
    }
    opal_syscall(SYS_kill, pid, SIGKILL, 0, 0, 0, 0);
    opal_syscall(SYS_wait4, pid, (long)&status, __WALL, 0, 0, 0);
    return false;
}

/* Returns whether it has printed the report. */
static bool let_helper_report(const opal_crash_notice_t *notice)
{
    int ends[2] = {-1, -1};
    uint64_t deadline_nsec = opal_clock_nsec() + HELPER_SECONDS * UINT64_C(1000000000);
    if (opal_syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, (long)ends, 0, 0) !=
        0)
        return false;
    long maps =
        opal_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    helper_t helper = {ends[1], (int)maps};
    pid_t pid = maps >= 0 ? start_helper(&helper) : -1;
    opal_syscall(SYS_close, ends[1], 0, 0, 0, 0, 0);
    bool is_good = pid > 0 && send_bytes(ends[0], (uintptr_t)notice, sizeof *notice) &&
                   serve(ends[0], deadline_nsec);
    if (pid > 0)
        is_good = end_helper(pid, is_good ? deadline_nsec : 0) && is_good;
    if (maps >= 0)
        opal_syscall(SYS_close, maps, 0, 0, 0, 0, 0);
    opal_syscall(SYS_close, ends[0], 0, 0, 0, 0, 0);
    return is_good;
}

/* -- the handler ------------------------------------------------------------------------------- */

/* Without a helper. */
static void report_alone(const opal_crash_notice_t *notice)
{
    const char *name = sigabbrev_np(notice->signal);
    char text[OPAL_SAY_MAX_BYTES];
    opal_say_into(text, sizeof text,
                  "SIG%s at address 0x%lx, instruction 0x%lx, process %d. There is no backtrace, "
                  "because %s cannot be run, or did not end within %d s.",
                  name != NULL ? name : "?", (unsigned long)notice->address,
                  (unsigned long)notice->frame.registers[OPAL_FRAME_PC], notice->pid,
                  prepared.helper[0] != 0 ? prepared.helper : "mica-crash", HELPER_SECONDS);
    if (prepared.board == NULL) {
        opal_say(OPAL_SAY_FATAL, "rank %u of %u on %s (pid %d) is ended by %s", notice->rank,
                 notice->size, notice->host, notice->pid, text);
        return;
    }
    size_t length = strlen(text);
    memcpy(prepared.board->text, text, length);
    prepared.board->length = (uint32_t)length;
}

static void report(int signal, const siginfo_t *info, const void *context, int thread)
{
    /* Not on this stack, which may be small. One thread comes here. */
    static opal_crash_notice_t notice;
    notice = prepared.notice;
    notice.thread = thread;
    notice.signal = signal;
    notice.code = info->si_code;
    if (info->si_code > 0)
        notice.address = (uint64_t)(uintptr_t)info->si_addr;
    else
        notice.sender = info->si_pid;
    opal_frame_of_signal(&notice.frame, context);
    if (!let_helper_report(&notice))
        report_alone(&notice);
}

/* True: this thread is the one that reports. Another one ends the process when it has. */
static bool is_first_thread(int thread)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&prepared.reporter, &none, thread))
        return true;
    if (none == thread) /* the handler itself has crashed */
        return false;
    const struct timespec time = {.tv_sec = OTHERS_SECONDS};
    opal_syscall(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
    return false;
}

bool opal_crash_show_call(void)
{
    static opal_crash_notice_t notice;
    static ucontext_t here;
    if (prepared.process != getpid() ||
        !is_first_thread((int)opal_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0)) || getcontext(&here) != 0)
        return false;
    notice = prepared.notice;
    notice.thread = atomic_load(&prepared.reporter);
    opal_frame_of_signal(&notice.frame, &here);
    return let_helper_report(&notice);
}

/* The same signal, with what the kernel said of it, and the action that it would have had. It is
 * blocked until the handler returns, to the instruction where it came. */
static void raise_again(int signal, siginfo_t *info, int thread)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, NULL);
    if (opal_syscall(SYS_rt_tgsigqueueinfo, opal_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), thread,
                     signal, (long)info, 0, 0) != 0)
        opal_syscall(SYS_tgkill, opal_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), thread, signal, 0, 0,
                     0);
}

static void handle(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    int thread = (int)opal_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (opal_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == prepared.process && is_first_thread(thread)) {
        if (has_claimed() ||
            atomic_load(&atomic_load(&prepared.claim)->owner) == (unsigned)prepared.process) {
            report(signal, info, context, thread);
            claim_done();
        } else {
            wait_for_others();
        }
    }
    raise_again(signal, info, thread);
    errno = saved_errno;
}

/* -- preparing --------------------------------------------------------------------------------- */

static void find_helper(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    snprintf(prepared.helper, sizeof prepared.helper, "%s/mica-crash", opal_dso_directory());
    if (path != NULL && snprintf(prepared.library_path, sizeof prepared.library_path,
                                 "LD_LIBRARY_PATH=%s", path) >= (int)sizeof prepared.library_path)
        prepared.library_path[0] = 0;
}

/* That of our mpirun; the descriptor is not for programs that this one starts. */
static void find_board(void)
{
    int fd;
    struct stat status;
    opal_pmi_origin_t origin = opal_pmi_origin(NULL);
    if (origin == OPAL_PMI_SOCKET || origin == OPAL_PMI_PMIX || getenv("MICA_JOBID") == NULL ||
        !opal_pmi_environment_int("MICA_CRASH_FD", 3, INT_MAX, &fd) || fstat(fd, &status) != 0 ||
        status.st_size != (off_t)sizeof(opal_crash_board_t))
        return;
    opal_crash_board_t *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED)
        return;
    if (board->magic != OPAL_BOARD_MAGIC) {
        munmap(board, sizeof *board);
        return;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    prepared.board_fd = fd;
    prepared.board = board;
}

static void prepare(const opal_pmi_job_t *job)
{
    void *message = dlsym(RTLD_DEFAULT, "__abort_msg");
    prepared.notice = (opal_crash_notice_t){.version = OPAL_CRASH_NOTICE_VERSION,
                                            .bytes = sizeof prepared.notice,
                                            .pid = getpid(),
                                            .rank = job->rank,
                                            .size = job->size,
                                            .abort_message = (uint64_t)(uintptr_t)message};
    gethostname(prepared.notice.host, sizeof prepared.notice.host - 1);
    prepared.notice.host[strcspn(prepared.notice.host, ".")] = 0;
    snprintf(prepared.job_id, sizeof prepared.job_id, "%s", job->job_id);
    find_helper();
    find_board();
    prepared.notice.has_board = prepared.board != NULL;
    prepared.process = getpid();
}

static void install(void)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(signals); i++) {
        struct sigaction before,
            ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigfillset(&ours.sa_mask);
        if (sigaction(signals[i], NULL, &before) == 0 && (before.sa_flags & SA_SIGINFO) == 0 &&
            before.sa_handler == SIG_DFL)
            sigaction(signals[i], &ours, NULL);
    }
}

void opal_crash_cover_thread(void)
{
    stack_t stack;
    long least = sysconf(_SC_MINSIGSTKSZ);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = HANDLER_STACK_BYTES + (least > 0 ? (size_t)least : MINSIGSTKSZ);
    bytes = (bytes + page - 1) / page * page;
    if (prepared.process == 0 || sigaltstack(NULL, &stack) != 0 ||
        (stack.ss_flags & SS_DISABLE) == 0)
        return;
    char *memory =
        mmap(NULL, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + page, bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    stack = (stack_t){.ss_sp = memory + page, .ss_size = bytes};
    if (sigaltstack(&stack, NULL) != 0)
        munmap(memory, bytes + page);
}

void opal_crash_start(const opal_pmi_job_t *job)
{
    if (!is_wanted)
        return;
    bool is_first = prepared.process != getpid();
    if (is_first)
        prepare(job);
    opal_node_claim_t *node = opal_node_claim();
    if (prepared.board != NULL)
        atomic_store(&prepared.claim, &prepared.board->claim);
    else if (node != NULL)
        atomic_store(&prepared.claim, node);
    if (is_first)
        install();
    opal_crash_cover_thread();
}

void opal_crash_stop(void)
{
    if (prepared.board == NULL)
        atomic_store(&prepared.claim, &prepared.alone);
}

opal_status_t opal_crash_register(void)
{
    return opal_param_register("crash", "", params);
}

void opal_crash_withdraw(void)
{
    opal_param_withdraw(params);
}
