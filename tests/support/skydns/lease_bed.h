/* A lease table beside a store and a real etcd, for one test program: store_sync's part is played
 * by the functions below. */
#ifndef TESTS_SUPPORT_SKYDNS_LEASE_BED_H
#define TESTS_SUPPORT_SKYDNS_LEASE_BED_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/outage.h"
#include "skydns/sync/lease.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"

enum { LEASES_DEFAULT_TTL_S = 3600 };

struct lease_bed {
    struct ev_loop *loop;
    struct etcd_proc *proc; /* NULL: there is none to run */
    struct etcd *etcd;
    struct store_writer *writer;
    struct lease_table *table;
    struct outage outage;
    struct outage_source asking;
    unsigned changes; /* told by the table */
    unsigned want_changes;
};

extern struct lease_bed leases_bed;

/* cmocka's fixtures: etcd runs for the whole program, the rest for each test. */
int leases_start(void **state);
int leases_stop(void **state);
int leases_each(void **state);
int leases_each_end(void **state);

struct dname leases_name(const char *text);

/* A new lease's id. */
int64_t leases_grant(int64_t ttl_s);

/* Puts an address at revision 1; returns the TTL that it has now. */
uint32_t leases_put(const char *text, int64_t lease, uint32_t ttl_s);
void leases_del(const char *text);

/* Commits; the version is valid until the next commit. */
const struct store *leases_commit(void);

/* NULL: the store has none. */
const struct store_record *leases_record(const char *text);
uint32_t leases_ttl_of(const char *text); /* of a record that is there */

void leases_wait_for_change(void);
bool leases_is_nothing_asked(const void *data); /* for loop_until */

/* Another table over the writer that is there. */
void leases_new_table(void);

#endif
