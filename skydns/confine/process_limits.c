#include "skydns/confine/process_limits.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"

/* Limits a line or path; no cgroup whose quota we could read has longer ones. */
enum { TEXT_MAX = 4096 };

/* Reads the first line of a file; false if there is none. */
static bool read_line(const char *path, char line[TEXT_MAX])
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    return file && fgets(line, TEXT_MAX, file);
}

static unsigned round_up(long quota_us, long period_us)
{
    return quota_us > 0 && period_us > 0 ? (unsigned)((quota_us + period_us - 1) / period_us) : 0;
}

/* Reads "200000 100000"; "max 100000" means none. */
static unsigned quota_v2(const char *folder)
{
    char path[TEXT_MAX], line[TEXT_MAX];
    long quota_us, period_us;
    int n = snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (n >= TEXT_MAX || !read_line(path, line) ||
        sscanf(line, "%ld %ld", &quota_us, &period_us) != 2) {
        return 0;
    }
    return round_up(quota_us, period_us);
}

static bool process_limits_read_number(const char *folder, const char *name, long *ret)
{
    char path[TEXT_MAX], line[TEXT_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return n < TEXT_MAX && read_line(path, line) && sscanf(line, "%ld", ret) == 1;
}

static unsigned quota_v1(const char *folder)
{
    long quota_us, period_us;
    return process_limits_read_number(folder, "cpu.cfs_quota_us", &quota_us) &&
                   process_limits_read_number(folder, "cpu.cfs_period_us", &period_us)
               ? round_up(quota_us, period_us)
               : 0;
}

static unsigned process_limits_smaller(unsigned a, unsigned b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Returns the smallest quota from a cgroup up to the root of the mount. In a container the path may
 * lie outside the mount; the root is then the container's own cgroup. */
static unsigned process_limits_smallest(const char *mount, char *path,
                                        unsigned (*quota)(const char *))
{
    char folder[2 * TEXT_MAX];
    unsigned least = quota(mount);
    for (char *slash; *path && (slash = strrchr(path, '/')); *slash = '\0') {
        if (snprintf(folder, sizeof(folder), "%s%s", mount, path) < TEXT_MAX) {
            least = process_limits_smaller(least, quota(folder));
        }
    }
    return least;
}

static bool process_limits_has_word(const char *list, const char *end, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at < end; at += strcspn(at, ",:") + 1) {
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == ':')) {
            return true;
        }
    }
    return false;
}

/* Parses a line `ID:CONTROLLERS:PATH`, proc(5); no controllers: version 2. */
static unsigned quota_of_line(char *line, const char *sys_root)
{
    char mount[TEXT_MAX];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) {
        return 0;
    }
    controllers++;
    if (path == controllers) {
        return snprintf(mount, sizeof(mount), "%s", sys_root) < TEXT_MAX
                   ? process_limits_smallest(mount, path + 1, quota_v2)
                   : 0;
    }
    if (!process_limits_has_word(controllers, path, "cpu")) {
        return 0;
    }
    int n =
        snprintf(mount, sizeof(mount), "%s/%.*s", sys_root, (int)(path - controllers), controllers);
    return n < TEXT_MAX ? process_limits_smallest(mount, path + 1, quota_v1) : 0;
}

unsigned cpu_limit_quota(const char *proc_cgroup, const char *sys_root)
{
    char line[TEXT_MAX];
    unsigned least = 0;
    CLEANUP_FILE FILE *file = fopen(proc_cgroup, "re");
    while (file && fgets(line, sizeof(line), file)) {
        least = process_limits_smaller(least, quota_of_line(line, sys_root));
    }
    return least;
}

unsigned cpu_limit(void)
{
    cpu_set_t usable;
    CPU_ZERO(&usable);
    unsigned cpus =
        sched_getaffinity(0, sizeof(usable), &usable) == 0 ? (unsigned)CPU_COUNT(&usable) : 1;
    unsigned limit =
        process_limits_smaller(cpu_limit_quota("/proc/self/cgroup", "/sys/fs/cgroup"), cpus);
    return limit ? limit : 1;
}

enum {
    /* Reserves at most: 80 UDP and listening sockets, 130 for HTTP on two ports, 256 for its
     * streams of events, 256 for clients' epoll sets, 48 for probes of upstreams and loop checks,
     * 12 for malformed responses, some 50 for etcd, name lookups, event loops and files. */
    RESERVED = 832,
    /* Reserves listening sockets from systemd, an event loop and 256 clients' epoll sets; not
     * connections closed during a handshake step. */
    STREAMS_RESERVED = 288,
    USUAL_SOFT_LIMIT = 1024, /* if the kernel does not say */
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

static size_t process_limits_reserved(const struct descriptor_wants *wants)
{
    return RESERVED + wants->pages +
           (wants->most.streams > 0 ? STREAMS_RESERVED + wants->handshakes : 0);
}

struct descriptor_shares descriptor_limit_share(size_t limit, const struct descriptor_wants *wants)
{
    size_t left = limit - at_most(process_limits_reserved(wants), limit / 2);
    size_t part = left / (wants->most.streams > 0 ? 3 : 2), share = part ? part : 1;
    return (struct descriptor_shares){
        .connections = at_most(share, wants->most.connections),
        .streams = at_most(share, wants->most.streams),
        .nameservers = at_most(share, wants->most.nameservers),
    };
}

/* Raises the limit; returns the resulting one. */
static size_t raise_limit(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return USUAL_SOFT_LIMIT;
    }
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {.rlim_cur = at_most(wanted, limit.rlim_max),
                                .rlim_max = limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised : limit;
    }
    return limit.rlim_cur;
}

void descriptor_table_make(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        const size_t size = at_most(DESCRIPTOR_TABLE_SIZE, limit.rlim_max);
        const struct rlimit raised = {.rlim_cur = size, .rlim_max = limit.rlim_max};
        const int last = setrlimit(RLIMIT_NOFILE, &raised) == 0
                             ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)size - 1)
                             : -1;
        if (last >= 0) {
            (void)close(last); /* a copy */
        }
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* succeeds: as it was */
    }
}

size_t descriptor_limit_pages(size_t wanted)
{
    enum { SCARCE_PART = 16 };
    const size_t limit = raise_limit(0), half = limit / 2;
    return at_most(wanted, half > RESERVED ? half - RESERVED : limit / SCARCE_PART);
}

struct descriptor_shares descriptor_limit_raise(const struct descriptor_wants *wants)
{
    const struct descriptor_shares *most = &wants->most;
    size_t wanted =
        most->connections + most->streams + most->nameservers + process_limits_reserved(wants);
    size_t limit = raise_limit(wanted);
    struct descriptor_shares shares = descriptor_limit_share(limit, wants);
    if (limit < wanted && most->streams > 0) {
        log_warn(
            "few descriptors, so fewer connections over TCP, TLS, HTTP and gRPC and queries to "
            "upstreams at once; raise LimitNOFILE= or ulimit -n",
            LOG_INT("limit", (int64_t)limit), LOG_INT("wanted", (int64_t)wanted),
            LOG_INT("connections", (int64_t)shares.connections),
            LOG_INT("stream_connections", (int64_t)shares.streams),
            LOG_INT("nameserver_queries", (int64_t)shares.nameservers));
    } else if (limit < wanted) {
        log_warn("few descriptors, so fewer TCP connections and queries to upstreams at once; "
                 "raise LimitNOFILE= or ulimit -n",
                 LOG_INT("limit", (int64_t)limit), LOG_INT("wanted", (int64_t)wanted),
                 LOG_INT("connections", (int64_t)shares.connections),
                 LOG_INT("nameserver_queries", (int64_t)shares.nameservers));
    }
    return shares;
}
