/* Counts the CPUs and divides the descriptors that there are to use. Main thread, at start, before
 * the loops. */
#ifndef SKYDNS_CONFINE_PROCESS_LIMITS_H
#define SKYDNS_CONFINE_PROCESS_LIMITS_H

#include <stddef.h>

/* Returns how many CPUs this process may use at once, at least 1: its affinity, and the quotas of
 * its cgroup and its ancestors, version 1 and 2 (kernel documentation, cgroup-v2.rst "cpu.max",
 * sched-bwc.rst). Quotas are rounded up: half a CPU counts as one. */
unsigned cpu_limit(void);

/* Returns only the quota, read from these two folders; 0: none. For cpu_limit and tests. */
unsigned cpu_limit_quota(const char *proc_cgroup, const char *sys_root);

/* Bounds what descriptor_limit_raise wants: a power of two, as the kernel's table has places. */
enum { DESCRIPTOR_TABLE_SIZE = 32768 };

/* Makes the kernel's table of descriptors as large as it will ever be, 8 bytes each, or as the hard
 * limit allows. Main thread, before any other: as long as there are no others, that takes no time.
 * Later, each time the table must double, the thread that opens one descriptor too many waits until
 * all CPUs have noticed (expand_fdtable): some 10 ms, six times on the way to 10,000, in the middle
 * of a socket(2) or accept(2), while its clients wait. If it fails, that remains so. */
void descriptor_table_make(void);

/* Shares of the descriptors that the process may open (RLIMIT_NOFILE): clients' TCP connections;
 * those over TLS, HTTPS, HTTP and gRPC; sockets to upstreams; and everything else (UDP, HTTP, etcd,
 * files), whose share is reserved under any limit.
 *
 *     |-- everything else --|---- connections ----|---- streams ----|---- to upstreams ------|
 *     0     1,376, at most half of the limit              evenly                         limit
 *
 * Without such listeners, there are no streams, and the rest has 832. */
struct descriptor_shares {
    size_t connections;
    size_t streams; /* 0 without such listeners */
    size_t nameservers;
};

/* Limits what each can use, at least 1; and the handshakes of streams whose connections are closed
 * already. */
struct descriptor_wants {
    struct descriptor_shares most;
    size_t handshakes;
    size_t pages; /* responses of HTTP pages that stay open: of everything else, in addition */
};

/* Raises the soft limit to the sum of these, or to a smaller hard limit, with a warning. */
struct descriptor_shares descriptor_limit_raise(const struct descriptor_wants *wants);

/* Returns how many responses of HTTP pages may stay open, of those wanted, under the limit in
 * force: so many that everything else keeps its share. */
size_t descriptor_limit_pages(size_t wanted);

/* Divides this many descriptors: at least 1 for each part that is wanted. PURE. */
struct descriptor_shares descriptor_limit_share(size_t limit, const struct descriptor_wants *wants);

#endif
