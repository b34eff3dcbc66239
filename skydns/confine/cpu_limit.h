/* How many CPUs this process may use at once: its affinity, and the quotas of its cgroup and its
 * ancestors, version 1 and 2 (kernel documentation, cgroup-v2.rst "cpu.max", sched-bwc.rst). Main
 * thread, at start. */
#ifndef SKYDNS_CONFINE_CPU_LIMIT_H
#define SKYDNS_CONFINE_CPU_LIMIT_H

/* At least 1. Quotas are rounded up: half a CPU counts as one. */
unsigned cpu_limit(void);

/* Only the quota, read from these two places; 0: none. For cpu_limit and tests. */
unsigned cpu_limit_quota(const char *proc_cgroup, const char *sys_root);

#endif
