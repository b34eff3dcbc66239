#include "skydns/confine/sandbox_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* Limits the text in which a confined child tells the first thing that went wrong. */
enum { TOLD_MAX = 256 };

enum { CANNOT = 77 }; /* its status where the kernel lacks it */

static char told[TOLD_MAX];

static bool sandbox_expect(bool is_right, const char *what)
{
    if (!is_right && !told[0]) {
        (void)snprintf(told, sizeof(told), "%s: errno %d", what, errno); /* may be cut */
    }
    return is_right;
}

/* Runs the body in a child, which cannot leave its sandbox again. */
static void in_child(int (*confine)(const char *folder), void (*body)(const char *folder),
                     const char *folder)
{
    int ends[2], status = -1;
    char text[TOLD_MAX] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        told[0] = '\0';
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (confine(folder) < 0) {
            _exit(CANNOT);
        }
        body(folder);
        (void)!write(ends[1], told, strlen(told));
        _exit(told[0] ? 1 : 0);
    }
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)!read(ends[0], text, sizeof(text) - 1);
    (void)close(ends[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        skip();
    }
    assert_that(status == 0, "status %x: %s", status, text);
}

/* ---- Files ---- */

static void sandbox_write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file_from(path, text);
}

static int open_in(const char *folder, const char *name, int flags)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd < 0 ? -errno : 0;
}

/* A secret as Kubernetes mounts it: secret/key -> ..data/key, ..data -> a folder. A link to another
 * folder: linked/ca -> elsewhere/ca. Nothing is told about `private`. */
static int sandbox_set_up(void **state)
{
    static char folder[sizeof("/tmp/sandbox-XXXXXX")];
    char path[512];
    (void)snprintf(folder, sizeof(folder), "/tmp/sandbox-XXXXXX");
    assert_non_null(mkdtemp(folder));
    static const char *const folders[] = {"secret",    "secret/one", "secret/two", "linked",
                                          "elsewhere", "private",    "state"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    sandbox_write_file(folder, "secret/one/key", "one");
    sandbox_write_file(folder, "secret/two/key", "two");
    sandbox_write_file(folder, "elsewhere/ca", "ca");
    sandbox_write_file(folder, "elsewhere/ca.new", "ca");
    sandbox_write_file(folder, "private/file", "p");
    sandbox_write_file(folder, "state/snapshot", "old");
    (void)snprintf(path, sizeof(path), "%s/secret/..data", folder);
    assert_int_equal(symlink("one", path), 0);
    (void)snprintf(path, sizeof(path), "%s/secret/key", folder);
    assert_int_equal(symlink("..data/key", path), 0);
    (void)snprintf(path, sizeof(path), "%s/linked/ca", folder);
    assert_int_equal(symlink("../elsewhere/ca", path), 0);
    (void)snprintf(path, sizeof(path), "%s/state-link", folder);
    assert_int_equal(symlink("state", path), 0);
    *state = folder;
    return 0;
}

static int sandbox_tear_down(void **state)
{
    static const char *const names[] = {
        "secret/key",
        "secret/..data",
        "secret/one/key",
        "secret/two/key",
        "secret/one",
        "secret/two",
        "secret",
        "linked/ca",
        "linked",
        "elsewhere/ca",
        "elsewhere/ca.new",
        "elsewhere",
        "private/file",
        "private",
        "state/snapshot",
        "state-link",
        "state",
        "",
    };
    char path[512];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", (char *)*state, names[i]);
        assert_int_equal(remove(path), 0);
    }
    return 0;
}

static int sandbox_confine_files(const char *folder)
{
    char key[512], ca[512], absent[512], written[512];
    (void)snprintf(key, sizeof(key), "%s/secret/key", folder);
    (void)snprintf(ca, sizeof(ca), "%s/linked/ca", folder);
    (void)snprintf(absent, sizeof(absent), "%s/secret/absent", folder);
    const char *const paths[] = {"", key, ca, absent, "/nowhere/at/all", "/initrd.img"};
    (void)snprintf(written, sizeof(written), "%s/state-link/snapshot", folder);
    return sandbox_files(paths, ARRAY_LEN(paths), (const char *const[]){"", written}, 2);
}

/* Beside "/", nothing may be written, nor beside nothing. */
static int confine_to_root(const char *folder)
{
    return sandbox_files(NULL, 0, (const char *const[]){"/snapshot"}, 1);
}

static int confine_to_nothing(const char *folder)
{
    return sandbox_files(NULL, 0, (const char *const[]){""}, 1);
}

/* The link to the folder is replaced by the kubelet, outside of the sandbox: here `two` stands for
 * the new one. */
static void try_files(const char *folder)
{
    sandbox_expect(open_in(folder, "secret/key", O_RDONLY) == 0, "the file of a flag");
    sandbox_expect(open_in(folder, "secret/two/key", O_RDONLY) == 0,
                   "the next version of a secret");
    sandbox_expect(open_in(folder, "linked/ca", O_RDONLY) == 0, "a file that is a link");
    sandbox_expect(open_in(folder, "elsewhere/ca.new", O_RDONLY) == 0, "beside its target");
    sandbox_expect(open_in("/etc", "hosts", O_RDONLY) != -EACCES, "/etc/hosts");
    sandbox_expect(open_in("/etc", "resolv.conf", O_RDONLY) != -EACCES, "/etc/resolv.conf");
    sandbox_expect(open_in("/usr/lib", "", O_RDONLY | O_DIRECTORY) == 0, "libraries");
    sandbox_expect(open_in("/dev", "null", O_RDWR) == 0, "/dev/null");

    sandbox_expect(open_in(folder, "private/file", O_RDONLY) == -EACCES, "another file");
    sandbox_expect(open_in(folder, "private", O_RDONLY | O_DIRECTORY) == -EACCES, "another folder");
    sandbox_expect(open_in(folder, "secret/key", O_WRONLY) == -EACCES,
                   "writing to a file of a flag");
    sandbox_expect(open_in(folder, "secret/new", O_WRONLY | O_CREAT) == -EACCES, "creating a file");
    sandbox_expect(open_in("/etc", "new-file", O_WRONLY | O_CREAT) == -EACCES,
                   "creating one in /etc");
    sandbox_expect(mkdir("/tmp/sandbox-new", 0700) < 0 && errno == EACCES, "creating a folder");
    sandbox_expect(open_in("/", "", O_RDONLY | O_DIRECTORY) == -EACCES, "the root folder");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    sandbox_expect(open_in("/proc", "1/environ", O_RDONLY) == -EACCES, "/proc/1/environ");
#endif
    (void)execl("/bin/true", "true", (char *)NULL);
    sandbox_expect(errno == EACCES, "executing a program");
}

static bool is_renamed(const char *folder, const char *from, const char *to)
{
    char old[512], new[512];
    (void)snprintf(old, sizeof(old), "%s/%s", folder, from);
    (void)snprintf(new, sizeof(new), "%s/%s", folder, to);
    return rename(old, new) == 0;
}

/* Tries what writing a snapshot does: a file beside it is cut and renamed over it; then removed. */
static void try_written(const char *folder)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/state-link/snapshot.tmp", folder);
    sandbox_expect(open_in(folder, "state-link/snapshot", O_RDONLY) == 0, "reading it");
    sandbox_expect(open_in(folder, "state-link/snapshot.tmp", O_RDWR | O_CREAT) == 0,
                   "creating a file");
    sandbox_expect(truncate(path, 0) == 0, "cutting it");
    sandbox_expect(is_renamed(folder, "state-link/snapshot.tmp", "state-link/snapshot"),
                   "renaming it");
    sandbox_expect(open_in(folder, "state/snapshot.tmp", O_RDWR | O_CREAT) == 0,
                   "creating another");
    sandbox_expect(unlink(path) == 0, "removing it");
    sandbox_expect(open_in(folder, "state", O_RDONLY | O_DIRECTORY) == 0, "the folder, to sync it");
    (void)snprintf(path, sizeof(path), "%s/state/new", folder);
    sandbox_expect(mkdir(path, 0700) < 0 && errno == EACCES, "a folder in it");
    sandbox_expect(symlink("x", path) < 0 && errno == EACCES, "a link in it");
    sandbox_expect(!is_renamed(folder, "state/snapshot", "secret/snapshot"), "out of the folder");
    sandbox_expect(open_in(folder, "new", O_WRONLY | O_CREAT) == -EACCES, "beside the folder");
}

static void try_nothing(const char *folder)
{
    sandbox_expect(open_in(folder, "state/snapshot.tmp", O_RDWR | O_CREAT) == -EACCES,
                   "some folder");
    sandbox_expect(open_in("/", "snapshot.tmp", O_RDWR | O_CREAT) == -EACCES, "the root folder");
}

UNIT_TEST_IN(test_files, sandbox_set_up, sandbox_tear_down)
{
    in_child(sandbox_confine_files, try_files, *state);
}

UNIT_TEST_IN(test_files_that_are_written, sandbox_set_up, sandbox_tear_down)
{
    in_child(sandbox_confine_files, try_written, *state);
    in_child(confine_to_root, try_nothing, *state);
    in_child(confine_to_nothing, try_nothing, *state);
}

/* ---- System calls ---- */

static int sandbox_confine_calls(const char *folder)
{
    return sandbox_calls();
}

static bool sandbox_is_refused(long result)
{
    return result == -1 && errno == ENOSYS;
}

static void *sandbox_nothing(void *data)
{
    return data;
}

static void *try_in_thread(void *data)
{
    *(bool *)data = sandbox_is_refused(syscall(SYS_execve, NULL, NULL, NULL));
    return NULL;
}

/* The arguments are such that a kernel which makes the call fails otherwise. */
static void try_calls(const char *folder)
{
    pthread_t thread;
    int pair[2];
    bool is_refused_there = false;
    sandbox_expect(sandbox_is_refused(syscall(SYS_execve, NULL, NULL, NULL)), "execve");
    sandbox_expect(sandbox_is_refused(syscall(SYS_execveat, -1, NULL, NULL, NULL, 0)), "execveat");
    sandbox_expect(sandbox_is_refused(syscall(SYS_clone3, NULL, 0)), "clone3");
    sandbox_expect(sandbox_is_refused(syscall(SYS_unshare, -1)), "unshare");
    sandbox_expect(sandbox_is_refused(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)), "mount");
    sandbox_expect(sandbox_is_refused(syscall(SYS_setuid, -1)), "setuid");
    sandbox_expect(sandbox_is_refused(syscall(SYS_kill, -1, -1)), "kill");
    sandbox_expect(sandbox_is_refused(syscall(SYS_bpf, -1, NULL, 0)), "bpf");
    sandbox_expect(sandbox_is_refused(syscall(SYS_io_uring_setup, 0, NULL)), "io_uring_setup");
    sandbox_expect(sandbox_is_refused(syscall(SYS_linkat, -1, NULL, -1, NULL, 0)), "linkat");
    sandbox_expect(sandbox_is_refused(syscall(SYS_symlinkat, NULL, -1, NULL)), "symlinkat");
    sandbox_expect(sandbox_is_refused(syscall(SYS_fchmodat, -1, NULL, 0)), "fchmodat");
    sandbox_expect(sandbox_is_refused(syscall(SYS_keyctl, -1)), "keyctl");
    sandbox_expect(sandbox_is_refused(syscall(SYS_finit_module, -1, NULL, 0)), "finit_module");
    sandbox_expect(sandbox_is_refused(syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0)),
                   "a packet socket");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    sandbox_expect(sandbox_is_refused(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)), "fork");
    sandbox_expect(sandbox_is_refused(syscall(SYS_ptrace, -1, 0, NULL, NULL)), "ptrace");
    sandbox_expect(sandbox_is_refused(prctl(PR_SET_DUMPABLE, 7)), "prctl");
#endif
    sandbox_expect(pthread_create(&thread, NULL, try_in_thread, &is_refused_there) == 0 &&
                       pthread_join(thread, NULL) == 0,
                   "a thread");
    sandbox_expect(is_refused_there, "execve in a thread");
    sandbox_expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 && errno == ENOSYS, "socketpair");
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        int fd = socket(families[i], SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sandbox_expect(fd >= 0 || errno == EAFNOSUPPORT, "a socket");
        (void)close(fd);
    }
    sandbox_expect(open_in("/dev", "null", O_RDWR) == 0, "a file");
}

/* A thread that was there before is confined as well: the process, not only the caller. */
static pthread_barrier_t confined;

static void *try_later(void *data)
{
    (void)pthread_barrier_wait(&confined);
    return try_in_thread(data);
}

static pthread_t early_thread;
static bool is_early_refused;

static int confine_calls_with_a_thread(const char *folder)
{
    (void)pthread_barrier_init(&confined, NULL, 2);
    if (pthread_create(&early_thread, NULL, try_later, &is_early_refused) != 0) {
        _exit(1);
    }
    return sandbox_confine_calls(folder);
}

static void try_early_thread(const char *folder)
{
    (void)pthread_barrier_wait(&confined);
    sandbox_expect(pthread_join(early_thread, NULL) == 0 && is_early_refused,
                   "execve in an earlier thread");
    sandbox_expect(pthread_create(&early_thread, NULL, sandbox_nothing, NULL) == 0 &&
                       pthread_join(early_thread, NULL) == 0,
                   "another thread");
}

/* All that writing a snapshot calls, of files that are none: the folder's rules are Landlock's. */
static void try_snapshot_calls(const char *folder)
{
    const struct sched_param batch = {.sched_priority = 0};
    sandbox_expect(setpriority(PRIO_PROCESS, 0, 19) == 0, "its own priority");
    sandbox_expect(sched_setscheduler(0, SCHED_BATCH, &batch) == 0, "its own policy");
    sandbox_expect(sandbox_is_refused(sched_setscheduler(0, SCHED_FIFO, &batch)), "another policy");
    sandbox_expect(sandbox_is_refused(sched_setscheduler(getppid(), SCHED_BATCH, &batch)),
                   "another's policy");
    sandbox_expect(sandbox_is_refused(setpriority(PRIO_PROCESS, (id_t)getppid(), 19)),
                   "another's priority");
    sandbox_expect(sandbox_is_refused(setpriority(PRIO_USER, 0, 19)), "the user's priority");
    sandbox_expect(fsync(-1) < 0 && errno == EBADF, "fsync");
    sandbox_expect(fdatasync(-1) < 0 && errno == EBADF, "fdatasync");
    sandbox_expect(flock(-1, LOCK_EX) < 0 && errno == EBADF, "flock");
    sandbox_expect(ftruncate(-1, 0) < 0 && errno == EBADF, "ftruncate");
    sandbox_expect(fchmod(-1, 0600) < 0 && errno == EBADF, "fchmod");
    sandbox_expect(unlinkat(-1, "none", 0) < 0 && errno == EBADF, "unlinkat");
    sandbox_expect(unlink("/nowhere/at/all") < 0 && errno == ENOENT, "unlink");
    sandbox_expect(renameat(-1, "none", -1, "none") < 0 && errno == EBADF, "renameat");
    sandbox_expect(rename("/nowhere/at/all", "/nowhere/else") < 0 && errno == ENOENT, "rename");
    sandbox_expect(sandbox_is_refused(syscall(SYS_fchownat, -1, NULL, 0, 0, 0)), "fchownat");
}

UNIT_TEST(test_snapshot_calls)
{
    in_child(sandbox_confine_calls, try_snapshot_calls, *state);
}

UNIT_TEST(test_calls)
{
    in_child(sandbox_confine_calls, try_calls, *state);
}

UNIT_TEST(test_calls_of_earlier_threads)
{
    in_child(confine_calls_with_a_thread, try_early_thread, *state);
}
