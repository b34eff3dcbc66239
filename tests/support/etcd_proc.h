/* A real etcd for tests: one member in a temporary folder on free loopback ports below 32768 (so
 * that no outgoing connection takes them in between), the program named by $ETCD, else `etcd` on
 * PATH. Blocking; for the test's own thread. It dies with the test program.
 *
 * What goes wrong with it fails the running cmocka test, with the end of etcd's own log. */
#ifndef TESTS_SUPPORT_ETCD_PROC_H
#define TESTS_SUPPORT_ETCD_PROC_H

#include <stdint.h>

struct etcd_proc;

/* NULL when there is an etcd to run, else why not, for the line that says the test is skipped. */
const char *etcd_proc_missing(void);

/* Skips the running cmocka test where there is none to run, and says why. */
void etcd_proc_need(void);

/* Started and serving: it has said so when asked. */
struct etcd_proc *etcd_proc_start(void);

/* The same with more arguments: at most ETCD_PROC_ARGUMENTS_MAX and a NULL; borrowed for good. */
enum { ETCD_PROC_ARGUMENTS_MAX = 4 };
struct etcd_proc *etcd_proc_start_with(const char *const *arguments);

/* One that speaks TLS and wants a client certificate: with server.crt, server.key and ca.crt (of
 * its clients) in the folder, which it reads at each connection. On 127.0.0.1 and, where there is
 * one,
 * ::1. No compaction here. */
struct etcd_proc *etcd_proc_start_tls(const char *folder);

/* Killed if it runs; its folder is removed. NULL is fine. */
void etcd_proc_free(struct etcd_proc *proc);

/* "http://127.0.0.1:PORT", https with TLS; the same after a restart. */
const char *etcd_proc_url(const struct etcd_proc *proc);

unsigned etcd_proc_port(const struct etcd_proc *proc);

void etcd_proc_kill(struct etcd_proc *proc);      /* SIGKILL, and gone */
void etcd_proc_terminate(struct etcd_proc *proc); /* SIGTERM, and gone */
void etcd_proc_pause(struct etcd_proc *proc);     /* SIGSTOP */
void etcd_proc_resume(struct etcd_proc *proc);    /* SIGCONT */

/* Again on its data and ports; serving when it returns. After a kill or terminate. */
void etcd_proc_restart(struct etcd_proc *proc);

/* Asks etcd's own JSON gateway, not our client; body in JSON, bytes in it as base64. As root once
 * etcd_proc_enable_auth was called. */
void etcd_proc_post(struct etcd_proc *proc, const char *path, const char *body);

/* A user root with the role root, and authentication on. */
void etcd_proc_enable_auth(struct etcd_proc *proc);

/* Until etcd's log has the text. */
void etcd_proc_wait_for_log(struct etcd_proc *proc, const char *text);

/* Only while it does not run. Wipe: its data is gone; ports and flags stay, so that it comes back
 * with the same cluster and member id. Save: keeps a copy of its data, in place of one kept before;
 * restore: the data is that of the copy again. */
void etcd_proc_wipe(struct etcd_proc *proc);
void etcd_proc_save(struct etcd_proc *proc);
void etcd_proc_restore(struct etcd_proc *proc);

/* Drops the history before the revision (etcd's own JSON gateway, not our client). */
void etcd_proc_compact(struct etcd_proc *proc, int64_t revision);

#endif
