#include "skydns/external/hosts_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"

/* A name and its addresses. */
struct host {
    struct ip *ips; /* the first, or an array of `cap` in the arena */
    struct ip first;
    uint8_t count, cap, len;
    uint8_t name[]; /* wire */
};

/* An address and the first name that has it. */
struct reverse {
    struct ip ip;
    const struct host *host;
};

struct hosts_table {
    atomic_uint references;
    struct arena arena;       /* hosts, reverses, addresses */
    struct key_table by_name; /* struct host */
    struct key_table by_ip;   /* struct reverse */
    size_t bytes_max, left_out;
};

_Static_assert((int)HOSTS_IPS_MAX <= UINT8_MAX, "a host's count");

static struct slice hosts_table_name_of(const void *thing)
{
    const struct host *host = thing;
    return slice_of(host->name, host->len);
}

static struct slice hosts_table_bytes_of(const struct ip *ip)
{
    return slice_of(ip->bytes, ip->family_bytes);
}

static struct slice ip_of(const void *thing)
{
    const struct reverse *reverse = thing;
    return hosts_table_bytes_of(&reverse->ip);
}

static struct host *external_hosts_table_find(const struct hosts_table *table,
                                              const struct dname *name)
{
    return key_table_find(&table->by_name, slice_of(name->wire, name->len));
}

/* ---- Building ---- */

struct hosts_table *hosts_table_new(size_t bytes_max)
{
    struct hosts_table *table = xcalloc(1, sizeof(*table));
    atomic_init(&table->references, 1);
    table->bytes_max = bytes_max;
    arena_init(&table->arena, bytes_max);
    key_table_init(&table->by_name, hosts_table_name_of);
    key_table_init(&table->by_ip, ip_of);
    return table;
}

/* Allocates from the arena. Returns NULL when there is no room for this, and then for nothing else
 * from now on. */
static void *take_hosts_room(struct hosts_table *table, size_t size)
{
    enum { TABLE_ENTRY = 19 }; /* key_table.h */
    const size_t entries = table->by_name.count + table->by_ip.count + 1;
    if (table->arena.reserved + entries * TABLE_ENTRY > table->bytes_max) {
        table->arena.failed = true;
    }
    return table->arena.failed ? NULL : arena_alloc(&table->arena, size);
}

static struct host *add_hosts_name(struct hosts_table *table, const struct hosts_entry *entry)
{
    struct host *host = take_hosts_room(table, sizeof(*host) + entry->name.len);
    if (host) {
        host->first = entry->ip;
        host->ips = &host->first;
        host->count = host->cap = 1;
        host->len = entry->name.len;
        memcpy(host->name, entry->name.wire, entry->name.len);
        (void)key_table_put(&table->by_name, host); /* there was none */
    }
    return host;
}

/* Adds an address to a host. Grows the array by copying it; the old one stays in the arena, and is
 * never larger. */
static bool add_hosts_ip(struct hosts_table *table, struct host *host, const struct ip *ip)
{
    for (unsigned i = 0; i < host->count; i++) {
        if (slice_equal(hosts_table_bytes_of(&host->ips[i]), hosts_table_bytes_of(ip))) {
            return true;
        }
    }
    if (host->count == HOSTS_IPS_MAX) {
        return true;
    }
    if (host->count == host->cap) {
        const unsigned cap = 2u * host->cap;
        struct ip *ips = take_hosts_room(table, cap * sizeof(*ips));
        if (!ips) {
            return false;
        }
        memcpy(ips, host->ips, host->count * sizeof(*ips));
        host->ips = ips;
        host->cap = (uint8_t)cap;
    }
    host->ips[host->count++] = *ip;
    return true;
}

static bool add_hosts_reverse(struct hosts_table *table, const struct host *host,
                              const struct ip *ip)
{
    if (key_table_find(&table->by_ip, hosts_table_bytes_of(ip))) {
        return true;
    }
    struct reverse *reverse = take_hosts_room(table, sizeof(*reverse));
    if (reverse) {
        *reverse = (struct reverse){.ip = *ip, .host = host};
        (void)key_table_put(&table->by_ip, reverse); /* there was none */
    }
    return reverse != NULL;
}

bool hosts_table_add(struct hosts_table *table, const struct hosts_entry *entry)
{
    struct host *host = table->arena.failed ? NULL : external_hosts_table_find(table, &entry->name);
    const bool is_new = !host && !table->arena.failed;
    if (is_new) {
        host = add_hosts_name(table, entry);
    }
    const bool is_added = host && (is_new || add_hosts_ip(table, host, &entry->ip)) &&
                          add_hosts_reverse(table, host, &entry->ip);
    table->left_out += !is_added;
    return is_added;
}

/* ---- References ---- */

struct hosts_table *hosts_table_ref(struct hosts_table *table)
{
    if (table) {
        atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
    }
    return table;
}

void hosts_table_unref(struct hosts_table *table)
{
    if (table && atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) == 1) {
        key_table_fini(&table->by_name);
        key_table_fini(&table->by_ip);
        arena_fini(&table->arena);
        free(table);
    }
}

/* ---- Reading ---- */

const struct ip *hosts_table_find(const struct hosts_table *table, const struct dname *name,
                                  size_t *ret_count)
{
    const struct host *host = external_hosts_table_find(table, name);
    *ret_count = host ? host->count : 0;
    return host ? host->ips : NULL;
}

struct slice hosts_table_name(const struct hosts_table *table, const struct ip *ip)
{
    const struct reverse *reverse = key_table_find(&table->by_ip, hosts_table_bytes_of(ip));
    return reverse ? hosts_table_name_of(reverse->host) : slice_of(NULL, 0);
}

size_t hosts_table_count(const struct hosts_table *table)
{
    return table->by_name.count;
}

size_t hosts_table_left_out(const struct hosts_table *table)
{
    return table->left_out;
}
