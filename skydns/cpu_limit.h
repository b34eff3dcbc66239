/* How many CPUs this process may use at once: its affinity, and the quota of its cgroup and those
 * around it, version 1 and 2 (kernel documentation, cgroup-v2.rst "cpu.max", sched-bwc.rst). Main
 * thread, at start. */
#ifndef SKYDNS_CPU_LIMIT_H
#define SKYDNS_CPU_LIMIT_H

/* At least 1. A quota counts rounded up: half a CPU is one. */
unsigned cpu_limit(void);

/* The quota alone, read from these two places; 0: there is none. For tests, and cpu_limit. */
unsigned cpu_limit_quota(const char *proc_cgroup, const char *sys_root);

#endif
