/* Detects upstreams that lead back to this program, directly or through others: every forwarded
 * query would circulate until somebody gives up. It asks each server about a random name that
 * nobody else knows. If a client then asks us about that name, the server forwards to us.
 *
 * Loops begin and end while the program runs, so all servers are checked in rounds: at once when
 * they are set, then every 30 to 60 s, and sooner when something looks like a loop. A round asks
 * each server until it responds or leads back, at most LOOP_CHECK_ATTEMPTS times, since it may
 * still be starting. A round begins at most every 10 s. So a server gets one small question every
 * 10 to 60 s if it answers, and five every 10 s at worst. On the resolver's loop and thread. */
#ifndef SKYDNS_UPSTREAM_LOOP_CHECK_H
#define SKYDNS_UPSTREAM_LOOP_CHECK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/dns/dname.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/upstreams.h"

struct dnstap;
struct tls_pool;

enum { LOOP_CHECK_ATTEMPTS = 5 };

struct loop_check_times {
    double retry_s;                  /* between attempts */
    double pause_min_s, pause_max_s; /* between the end of a round and the next one: random */
    double gap_s;                    /* at least, between the begins of two rounds */
};

/* The times above. */
extern const struct loop_check_times loop_check_times;

/* Called once for each server and round, from the loop or from loop_check_came_back. UPSTREAM_LOOPS
 * may follow another verdict, when the question takes its time. */
typedef void (*loop_check_cb)(void *data, const struct nameserver *server,
                              enum upstream_verdict verdict);

struct loop_check_config {
    struct ev_loop *loop;
    struct tls_pool *tls;  /* as forwarder.h */
    struct dnstap *dnstap; /* as forwarder.h */
    struct loop_check_times times;
    loop_check_cb judged;
    void *data;
};

struct loop_check;

struct loop_check *loop_check_new(const struct loop_check_config *config);
void loop_check_free(struct loop_check *check); /* NULL is fine */

/* Replaces the servers (at most UPSTREAMS_MAX) and begins a round. `labels` is how many the name
 * needs to be forwarded. */
void loop_check_set_servers(struct loop_check *check, const struct nameserver *servers,
                            size_t count, unsigned labels);

/* Lets the next round begin now, or when it may: something looks like a loop. */
void loop_check_hurry(struct loop_check *check);

/* Returns whether a client's name is the question of this round or the last one. Then its server
 * has its verdict, and the client should be refused. */
bool loop_check_came_back(struct loop_check *check, const struct dname *name);

#endif
