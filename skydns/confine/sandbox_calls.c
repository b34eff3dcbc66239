/* Lists the system calls that skydns confines itself to (seccomp). */
#include "skydns/confine/sandbox_internal.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "skydns/confine/confinement.h"

/* Lists calls by name, since an architecture may lack some, and know others that glibc uses
 * instead. */
static const char *const allowed[] = {
    /* sockets */
    "accept",
    "accept4",
    "bind",
    "connect",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmmsg_time64",
    "recvmsg",
    "send",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    /* loops */
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd",
    "eventfd2",
    "inotify_add_watch",
    "inotify_init",
    "inotify_init1",
    "inotify_rm_watch",
    "pipe",
    "pipe2",
    "poll",
    "ppoll",
    "ppoll_time64",
    "pselect6",
    "pselect6_time64",
    "select",
    "_newselect",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    /* files: Landlock says which */
    "access",
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "faccessat",
    "faccessat2",
    "fcntl",
    "fcntl64",
    "fstat",
    "fstat64",
    "fstatat64",
    "fstatfs",
    "fstatfs64",
    "getcwd",
    "getdents",
    "getdents64",
    "ioctl",
    "_llseek",
    "lseek",
    "lstat",
    "lstat64",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pread64",
    "pwrite64",
    "read",
    "readlink",
    "readlinkat",
    "readv",
    "stat",
    "stat64",
    "statfs",
    "statfs64",
    "statx",
    "umask",
    "write",
    "writev",
    /* the snapshot */
    "fchmod",
    "fdatasync",
    "flock",
    "fsync",
    "ftruncate",
    "ftruncate64",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    /* memory */
    "brk",
    "madvise",
    "membarrier",
    "mmap",
    "mmap2",
    "mprotect",
    "mremap",
    "munmap",
    /* threads; the process itself */
    "capget",
    "capset",
    "exit",
    "exit_group",
    "futex",
    "futex_time64",
    "futex_waitv",
    "get_robust_list",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "getrlimit",
    "getresgid",
    "getresuid",
    "getrusage",
    "gettid",
    "getuid",
    "prlimit64",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigtimedwait",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "sigreturn",
    "sysinfo",
    "tgkill",
    "tkill",
    "ugetrlimit",
    "uname",
    /* time, randomness */
    "clock_getres",
    "clock_gettime",
    "clock_gettime64",
    "clock_nanosleep",
    "getrandom",
    "gettimeofday",
    "nanosleep",
    "restart_syscall",
    "time",
    "times",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    /* the leak check, from a process of its own */
    "arch_prctl",
    "clone",
    "mincore",
    "prctl",
    "process_vm_readv",
    "ptrace",
    "sched_setaffinity",
    "setrlimit",
    "wait4",
#endif
};

/* Families of sockets. The C library's resolver asks the kernel for addresses over netlink, and
 * systemd listens on a Unix socket. */
static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};

static bool sandbox_calls_allow(scmp_filter_ctx filter, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    int r = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    return r == 0 || r == -EDOM; /* not on this architecture */
}

/* Allows a call if its first argument, under the mask, has this value. */
static bool allow_if(scmp_filter_ctx filter, int number, scmp_datum_t mask, scmp_datum_t value)
{
    const struct scmp_arg_cmp condition = {
        .arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &condition) == 0;
}

/* Allows a call if its first two arguments have these values. */
static bool allow_if_both(scmp_filter_ctx filter, int number, uint32_t first, uint32_t second)
{
    const struct scmp_arg_cmp conditions[] = {
        {.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = first},
        {.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = second},
    };
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, ARRAY_LEN(conditions),
                                  conditions) == 0;
}

/* Allows a thread to step behind the others, and no other one. */
static bool allow_lower_priority(scmp_filter_ctx filter)
{
    return allow_if_both(filter, SCMP_SYS(setpriority), PRIO_PROCESS, 0) &&
           allow_if_both(filter, SCMP_SYS(sched_setscheduler), 0, SCHED_BATCH);
}

/* Adds the rules. clone3 keeps its flags in memory, where no filter sees them; the C library falls
 * back to clone. */
static bool add_rules(scmp_filter_ctx filter)
{
    bool is_right = allow_if(filter, SCMP_SYS(clone), CLONE_THREAD, CLONE_THREAD) &&
                    allow_if(filter, SCMP_SYS(prctl), UINT32_MAX, PR_SET_NAME) &&
                    allow_lower_priority(filter);
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        is_right =
            is_right && allow_if(filter, SCMP_SYS(socket), UINT32_MAX, (scmp_datum_t)families[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        is_right = is_right && sandbox_calls_allow(filter, allowed[i]);
    }
    return is_right;
}

int sandbox_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!filter) {
        return -ENOMEM;
    }
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: answering makes calls */
    int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);    /* it is set already */
    if (r == 0) {
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    }
    if (r == 0) {
        r = add_rules(filter) ? seccomp_load(filter) : -EINVAL;
    }
    seccomp_release(filter);
    return r;
}

void confine_calls(void)
{
    int r = sandbox_calls();
    if (r < 0) {
        log_info("this kernel does not restrict system calls", LOG_STR("error", err_code_text(r)));
    }
}
