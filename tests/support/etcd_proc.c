#include "tests/support/etcd_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

/* How long a start may take on a busy machine, and how often to poll meanwhile. */
enum { START_LIMIT_MS = 60000, ASK_INTERVAL_MS = 20 };

/* Another program may grab a free port before etcd listens on it. */
enum { START_ATTEMPTS = 5 };

/* etcd's: its name, the common ones, those for TLS and the test's. */
enum { ARGUMENTS_MAX = 9 + 5 + ETCD_PROC_ARGUMENTS_MAX };

struct etcd_proc {
    pid_t pid; /* 0: not running */
    int pidfd;
    unsigned client_port;
    unsigned peer_port;
    unsigned health_port;         /* plain HTTP; client_port without TLS */
    const char *tls_folder;       /* or NULL */
    const char *const *arguments; /* or NULL */
    bool has_auth;
    long log_start; /* in the log: where this run's lines begin */
    char *folder;
    char *url;
    char *other_url; /* an additional listener: "", ",https://[::1]:PORT" */
};

static const char *etcd_proc_program(void)
{
    const char *name = getenv("ETCD");
    return name && name[0] ? name : "etcd";
}

const char *etcd_proc_missing(void)
{
    const char *name = etcd_proc_program();
    const char *path = getenv("PATH");
    if (strchr(name, '/')) {
        return access(name, X_OK) == 0 ? NULL : "$ETCD names no program";
    }
    CLEANUP_FREE char *folders = xstrdup(path ? path : "/usr/bin:/bin");
    char *rest = folders;
    for (char *folder = strsep(&rest, ":"); folder; folder = strsep(&rest, ":")) {
        CLEANUP_FREE char *file = xasprintf("%s/%s", folder, name);
        if (access(file, X_OK) == 0) {
            return NULL;
        }
    }
    return "no etcd on PATH (Debian package etcd-server), and $ETCD is not set";
}

void etcd_proc_need(void)
{
    const char *why = etcd_proc_missing();
    if (why) {
        print_message("skipped: %s\n", why);
        skip();
    }
}

/* ---- Requests over HTTP/1.0 ---- */

/* The reply as text, empty on failure. */
static void etcd_proc_ask(unsigned port, const char *request, char *reply, size_t size)
{
    const struct addr address = loopback_addr(port);
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t used = 0;
    reply[0] = '\0';
    if (fd < 0 || connect(fd, &address.sa, address.len) != 0 ||
        send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) {
        return;
    }
    while (used < size - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t n =
            poll(&ready, 1, START_LIMIT_MS) == 1 ? recv(fd, reply + used, size - 1 - used, 0) : 0;
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    reply[used] = '\0';
}

static void support_etcd_proc_post(const struct etcd_proc *proc, const char *token,
                                   const char *path, const char *body, char *reply, size_t size)
{
    CLEANUP_FREE char *request = xasprintf("POST /v3/%s HTTP/1.0\r\n%s%s%s"
                                           "Content-Length: %zu\r\n\r\n%s",
                                           path, token[0] ? "Authorization: " : "", token,
                                           token[0] ? "\r\n" : "", strlen(body), body);
    etcd_proc_ask(proc->client_port, request, reply, size);
    assert_that(strstr(reply, " 200 "), "%s %s refused: %s", path, body, reply);
}

/* For one request: it may have expired by the next. */
static void root_token(const struct etcd_proc *proc, char *out, size_t size)
{
    static const char field[] = "\"token\":\"";
    char reply[4096];
    support_etcd_proc_post(proc, "", "auth/authenticate",
                           "{\"name\":\"root\",\"password\":\"root\"}", reply, sizeof(reply));
    const char *token = strstr(reply, field);
    assert_non_null(token);
    token += strlen(field);
    (void)snprintf(out, size, "%.*s", (int)strcspn(token, "\""), token); /* 20 bytes */
}

void etcd_proc_post(struct etcd_proc *proc, const char *path, const char *body)
{
    char token[128] = "";
    char reply[4096];
    if (proc->has_auth) {
        root_token(proc, token, sizeof(token));
    }
    support_etcd_proc_post(proc, token, path, body, reply, sizeof(reply));
}

void etcd_proc_enable_auth(struct etcd_proc *proc)
{
    etcd_proc_post(proc, "auth/user/add", "{\"name\":\"root\",\"password\":\"root\"}");
    etcd_proc_post(proc, "auth/role/add", "{\"name\":\"root\"}");
    etcd_proc_post(proc, "auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    etcd_proc_post(proc, "auth/enable", "{}");
    proc->has_auth = true;
}

void etcd_proc_compact(struct etcd_proc *proc, int64_t revision)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"revision\":\"%lld\",\"physical\":true}", (long long)revision);
    etcd_proc_post(proc, "kv/compaction", body);
}

/* ---- The log ---- */

/* Owned; NULL before the first run. */
static FILE *open_log(const struct etcd_proc *proc, long at, int whence)
{
    CLEANUP_FREE char *path = xasprintf("%s/log", proc->folder);
    FILE *f = fopen(path, "re");
    if (f && fseek(f, at, whence) != 0) {
        rewind(f); /* shorter than that */
    }
    return f;
}

static void note_log_start(struct etcd_proc *proc)
{
    CLEANUP_FILE FILE *f = open_log(proc, 0, SEEK_END);
    proc->log_start = f ? ftell(f) : 0;
}

static void print_log(const struct etcd_proc *proc)
{
    CLEANUP_FILE FILE *f = open_log(proc, -4000, SEEK_END);
    char line[1024];
    while (f && fgets(line, sizeof(line), f)) {
        print_error("etcd: %s", line);
    }
}

/* Searches the log of this run. */
static bool is_in_log(const struct etcd_proc *proc, const char *text)
{
    CLEANUP_FILE FILE *f = open_log(proc, proc->log_start, SEEK_SET);
    char line[1024];
    while (f && fgets(line, sizeof(line), f)) {
        if (strstr(line, text)) {
            return true;
        }
    }
    return false;
}

void etcd_proc_wait_for_log(struct etcd_proc *proc, const char *text)
{
    int64_t limit_ms = clock_monotonic_ms() + START_LIMIT_MS;
    while (!is_in_log(proc, text)) {
        struct pollfd ended = {.fd = proc->pidfd, .events = POLLIN};
        if (poll(&ended, 1, ASK_INTERVAL_MS) != 0 || clock_monotonic_ms() > limit_ms) {
            print_log(proc);
            fail_msg("etcd never logged `%s`", text);
        }
    }
}

/* ---- The process ---- */

/* The log tells it from another test's etcd that has grabbed the port: then this one is about to
 * exit. */
static bool is_serving(const struct etcd_proc *proc)
{
    char reply[4096];
    if (!is_in_log(proc, "published")) { /* its address, half a second after it began to listen */
        return false;
    }
    etcd_proc_ask(proc->health_port, "GET /health HTTP/1.0\r\n\r\n", reply, sizeof(reply));
    return strstr(reply, "\"health\":\"true\"") != NULL;
}

static void run_child(const struct etcd_proc *proc)
{
    CLEANUP_FREE char *data = xasprintf("--data-dir=%s/data", proc->folder);
    CLEANUP_FREE char *client = xasprintf("--listen-client-urls=%s%s", proc->url, proc->other_url);
    CLEANUP_FREE char *advertise = xasprintf("--advertise-client-urls=%s", proc->url);
    CLEANUP_FREE char *peer = xasprintf("--listen-peer-urls=http://127.0.0.1:%u", proc->peer_port);
    CLEANUP_FREE char *advertise_peer =
        xasprintf("--initial-advertise-peer-urls=http://127.0.0.1:%u", proc->peer_port);
    CLEANUP_FREE char *cluster =
        xasprintf("--initial-cluster=default=http://127.0.0.1:%u", proc->peer_port);
    CLEANUP_FREE char *log_path = xasprintf("%s/log", proc->folder);
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that crashes leaves nothing behind */
    if (log >= 0) {
        (void)dup2(log, STDOUT_FILENO); /* on failure etcd's log goes to ours */
        (void)dup2(log, STDERR_FILENO);
    }
    /* A single member need not wait for others before it elects itself: at a start, 0.2 s, not 1.5.
     */
    const char *argv[ARGUMENTS_MAX + 1] = {"etcd",
                                           data,
                                           client,
                                           advertise,
                                           peer,
                                           advertise_peer,
                                           cluster,
                                           "--heartbeat-interval=10",
                                           "--election-timeout=100"};
    size_t count = 9;
    if (proc->tls_folder) {
        argv[count++] = xasprintf("--listen-metrics-urls=http://127.0.0.1:%u", proc->health_port);
        argv[count++] = xasprintf("--cert-file=%s/server.crt", proc->tls_folder);
        argv[count++] = xasprintf("--key-file=%s/server.key", proc->tls_folder);
        argv[count++] = xasprintf("--trusted-ca-file=%s/ca.crt", proc->tls_folder);
        argv[count++] = "--client-cert-auth";
    }
    for (size_t i = 0; proc->arguments && i < ETCD_PROC_ARGUMENTS_MAX && proc->arguments[i]; i++) {
        argv[count++] = proc->arguments[i];
    }
    execvp(etcd_proc_program(), (char *const *)(uintptr_t)argv); /* only reads them */
    _exit(127);
}

static void etcd_proc_reap(struct etcd_proc *proc)
{
    int status;
    while (waitpid(proc->pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(proc->pidfd);
    proc->pid = 0;
    proc->pidfd = -1;
}

/* False if it exited instead. */
static bool etcd_proc_run(struct etcd_proc *proc)
{
    note_log_start(proc);
    proc->pid = fork();
    if (proc->pid == 0) {
        run_child(proc);
    }
    assert_that(proc->pid >= 0, "fork: %s", strerror(errno));
    proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
    int64_t limit_ms = clock_monotonic_ms() + START_LIMIT_MS;
    while (!is_serving(proc)) {
        struct pollfd ended = {.fd = proc->pidfd, .events = POLLIN};
        if (poll(&ended, 1, ASK_INTERVAL_MS) == 1) {
            etcd_proc_reap(proc);
            return false;
        }
        if (clock_monotonic_ms() > limit_ms) {
            print_log(proc);
            fail_msg("etcd not serving within %d ms", START_LIMIT_MS);
        }
    }
    return true;
}

static int etcd_proc_remove_entry(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw)
{
    return remove(path);
}

static void choose_ports(struct etcd_proc *proc)
{
    bool is_tls = proc->tls_folder != NULL;
    proc->client_port = loopback_free_port();
    do {
        proc->peer_port = loopback_free_port();
    } while (proc->peer_port == proc->client_port);
    proc->health_port = proc->client_port;
    while (is_tls &&
           (proc->health_port == proc->client_port || proc->health_port == proc->peer_port)) {
        proc->health_port = loopback_free_port();
    }
    free(proc->url);
    free(proc->other_url);
    proc->url = xasprintf("%s://127.0.0.1:%u", is_tls ? "https" : "http", proc->client_port);
    proc->other_url = is_tls && loopback_has_v6()
                          ? xasprintf(",https://[::1]:%u", proc->client_port)
                          : xstrdup("");
}

static struct etcd_proc *support_etcd_proc_start(const char *const *arguments,
                                                 const char *tls_folder)
{
    const char *tmp = getenv("TMPDIR");
    struct etcd_proc *proc = xcalloc(1, sizeof(*proc));
    proc->arguments = arguments;
    proc->tls_folder = tls_folder;
    proc->pidfd = -1;
    proc->folder = xasprintf("%s/etcd-test-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    assert_that(mkdtemp(proc->folder), "mkdtemp %s: %s", proc->folder, strerror(errno));
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
        choose_ports(proc);
        if (etcd_proc_run(proc)) {
            return proc;
        }
    }
    print_log(proc);
    fail_msg("etcd did not start");
    return NULL;
}

struct etcd_proc *etcd_proc_start(void)
{
    return support_etcd_proc_start(NULL, NULL);
}

struct etcd_proc *etcd_proc_start_with(const char *const *arguments)
{
    return support_etcd_proc_start(arguments, NULL);
}

struct etcd_proc *etcd_proc_start_tls(const char *folder)
{
    return support_etcd_proc_start(NULL, folder);
}

void etcd_proc_free(struct etcd_proc *proc)
{
    if (!proc) {
        return;
    }
    etcd_proc_kill(proc);
    (void)nftw(proc->folder, etcd_proc_remove_entry, 8,
               FTW_DEPTH | FTW_PHYS); /* leftovers are in tmp */
    free(proc->folder);
    free(proc->url);
    free(proc->other_url);
    free(proc);
}

const char *etcd_proc_url(const struct etcd_proc *proc)
{
    return proc->url;
}

unsigned etcd_proc_port(const struct etcd_proc *proc)
{
    return proc->client_port;
}

static void etcd_proc_end_with(struct etcd_proc *proc, int signal)
{
    if (proc->pid > 0) {
        (void)kill(proc->pid, signal); /* our child, not reaped yet */
        etcd_proc_reap(proc);
    }
}

void etcd_proc_kill(struct etcd_proc *proc)
{
    etcd_proc_end_with(proc, SIGKILL);
}

void etcd_proc_terminate(struct etcd_proc *proc)
{
    etcd_proc_end_with(proc, SIGTERM);
}

void etcd_proc_pause(struct etcd_proc *proc)
{
    siginfo_t stopped;
    assert_int_equal(kill(proc->pid, SIGSTOP), 0);
    /* It may still answer until its last thread has stopped. */
    assert_int_equal(waitid(P_PID, (id_t)proc->pid, &stopped, WSTOPPED), 0);
}

void etcd_proc_resume(struct etcd_proc *proc)
{
    assert_int_equal(kill(proc->pid, SIGCONT), 0);
}

static void remove_folder(const struct etcd_proc *proc, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", proc->folder, name);
    (void)nftw(path, etcd_proc_remove_entry, 8, FTW_DEPTH | FTW_PHYS); /* may not exist */
}

static void copy_folder(const struct etcd_proc *proc, const char *from, const char *to)
{
    CLEANUP_FREE char *source = xasprintf("%s/%s", proc->folder, from);
    CLEANUP_FREE char *target = xasprintf("%s/%s", proc->folder, to);
    int status = -1;
    assert_int_equal(proc->pid, 0);
    remove_folder(proc, to);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("cp", "cp", "-a", source, target, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    assert_int_equal(status, 0);
}

void etcd_proc_wipe(struct etcd_proc *proc)
{
    assert_int_equal(proc->pid, 0);
    remove_folder(proc, "data");
}

void etcd_proc_save(struct etcd_proc *proc)
{
    copy_folder(proc, "data", "saved");
}

void etcd_proc_restore(struct etcd_proc *proc)
{
    copy_folder(proc, "saved", "data");
}

void etcd_proc_restart(struct etcd_proc *proc)
{
    assert_int_equal(proc->pid, 0);
    if (!etcd_proc_run(proc)) {
        print_log(proc);
        fail_msg("etcd did not restart");
    }
}
