/* Reads stub zones that etcd's keys name, as SkyDNS's -stubzones did: the records below dns/stub of
 * each domain. The name of one is `<any label>.<zone>.stub.dns.<domain>`. Its host, an address or a
 * name of ours such as a Service's, is an upstream of the zone.
 *
 *     /skydns/local/cluster/dns/stub/local/acme/1  {"host":"10.0.0.1","port":5353}
 *
 * Follows versions: of each it asks only whether these keys, or the names that they mention, are
 * other nodes than before. Logs unusable keys once and remembers them with the broken ones
 * (broken.h). Their zone then has no upstream, as has that of a key whose value is no record. Owned
 * by store_sync.c; main thread. */
#ifndef SKYDNS_SYNC_STUB_KEYS_INTERNAL_H
#define SKYDNS_SYNC_STUB_KEYS_INTERNAL_H

#include <stddef.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/external/zone_table.h"

enum {
    STUB_KEYS_MAX = ZONE_TABLE_MAX * ZONE_SERVERS_MAX, /* read; all zones with all servers */
    STUB_HOSTS_MAX = 1024,       /* names of ours mentioned, as each version looks them up */
    STUB_HOST_VISITS_MAX = 1024, /* records of one: a Service's addresses are few */
};

struct broken_table;
struct store;
struct stub_keys;

struct stub_keys_config {
    struct slice prefix;         /* "/skydns/"; borrowed */
    struct broken_table *broken; /* borrowed */
    /* Receives the zones when they differ from those told last (none at first): sorted by name,
     * with their upstreams, none if no key is usable; borrowed for the call. */
    void (*changed)(void *data, const struct forward_zone *zones, size_t count);
    void *data;
};

struct stub_keys *stub_keys_new(const struct stub_keys_config *config);
void stub_keys_free(struct stub_keys *keys); /* NULL is fine */

/* Sets the domains whose keys count, lower case, at most ENGINE_ZONES_MAX; is_on false: no keys do.
 * Takes effect when a version is followed. */
void stub_keys_set(struct stub_keys *keys, bool is_on, const struct dname *domains, size_t count);

/* Tells that everything has been read again, and that the broken keys were forgotten with it. Takes
 * effect when a version is followed. */
void stub_keys_read_again(struct stub_keys *keys);

/* Notes a key that has gone or whose value is no record: the record store may not show it. Takes
 * effect when a version is followed. Costs a comparison for each domain. */
void stub_keys_note(struct stub_keys *keys, const struct dname *name);

/* Follows the version published. Call after each publication, and after the functions above. */
void stub_keys_follow(struct stub_keys *keys, const struct store *store);

#endif
