/* A real etcd for tests: one member in a temporary folder on free loopback ports below 32768 (so
 * that no outgoing connection grabs them first). Runs the program named by $ETCD, else `etcd` on
 * PATH. Blocking; for the test's own thread. It dies with the test program.
 *
 * Any failure fails the running cmocka test and prints the tail of etcd's own log. */
#ifndef TESTS_SUPPORT_ETCD_PROC_H
#define TESTS_SUPPORT_ETCD_PROC_H

#include <stdint.h>

struct etcd_proc;

/* NULL if there is an etcd to run, else why not, for the message of a skipped test. */
const char *etcd_proc_missing(void);

/* Skips the running cmocka test and prints why if there is no etcd to run. */
void etcd_proc_need(void);

/* Returns once it reports healthy. */
struct etcd_proc *etcd_proc_start(void);

/* The same with extra arguments: at most ETCD_PROC_ARGUMENTS_MAX and a NULL; borrowed until
 * etcd_proc_free. */
enum { ETCD_PROC_ARGUMENTS_MAX = 4 };
struct etcd_proc *etcd_proc_start_with(const char *const *arguments);

/* The same over TLS, requiring a client certificate: the folder holds server.crt, server.key and
 * ca.crt (for its clients), reread on each connection. On 127.0.0.1 and, if the machine has it,
 * ::1. etcd_proc_compact does not work here. */
struct etcd_proc *etcd_proc_start_tls(const char *folder);

/* Kills it if it runs and removes its folder. NULL is fine. */
void etcd_proc_free(struct etcd_proc *proc);

/* "http://127.0.0.1:PORT", https with TLS; the same after a restart. */
const char *etcd_proc_url(const struct etcd_proc *proc);

unsigned etcd_proc_port(const struct etcd_proc *proc);

void etcd_proc_kill(struct etcd_proc *proc);      /* SIGKILL, and gone */
void etcd_proc_terminate(struct etcd_proc *proc); /* SIGTERM, and gone */
void etcd_proc_pause(struct etcd_proc *proc);     /* SIGSTOP */
void etcd_proc_resume(struct etcd_proc *proc);    /* SIGCONT */

/* After a kill or terminate: starts it on the same data and ports; returns once it serves. */
void etcd_proc_restart(struct etcd_proc *proc);

/* Posts to etcd's own JSON gateway, not through our client; bytes in the JSON body are base64. As
 * root after etcd_proc_enable_auth. */
void etcd_proc_post(struct etcd_proc *proc, const char *path, const char *body);

/* Adds the user root with the role root and enables authentication. */
void etcd_proc_enable_auth(struct etcd_proc *proc);

/* Blocks until etcd's log contains the text. */
void etcd_proc_wait_for_log(struct etcd_proc *proc, const char *text);

/* Only while it is stopped. Wipe: deletes its data; ports and flags stay, so it comes back with the
 * same cluster and member id. Save: copies its data, replacing an earlier copy; restore: puts the
 * copy back. */
void etcd_proc_wipe(struct etcd_proc *proc);
void etcd_proc_save(struct etcd_proc *proc);
void etcd_proc_restore(struct etcd_proc *proc);

/* Drops the history before the revision, through etcd's JSON gateway. */
void etcd_proc_compact(struct etcd_proc *proc, int64_t revision);

#endif
