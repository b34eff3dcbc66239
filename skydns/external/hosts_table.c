#include "skydns/external/hosts_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"

/* A name and its addresses. */
struct host {
    uint32_t count, cap;
    struct ip *ips; /* a part of the table's */
    uint8_t len;
    uint8_t name[]; /* wire */
};

/* An address and its first name. */
struct reverse {
    struct ip ip;
    struct dname name;
};

struct hosts_table {
    atomic_uint references;
    struct key_table by_name; /* struct host */
    struct key_table by_ip;   /* struct reverse */
    struct ip *ips;           /* of all names */
};

static struct slice name_of(const void *thing)
{
    const struct host *host = thing;
    return slice_of(host->name, host->len);
}

static struct slice bytes_of(const struct ip *ip)
{
    return slice_of(ip->bytes, ip->family_bytes);
}

static struct slice ip_of(const void *thing)
{
    const struct reverse *reverse = thing;
    return bytes_of(&reverse->ip);
}

static struct host *find(const struct hosts_table *table, const struct dname *name)
{
    return key_table_find(&table->by_name, slice_of(name->wire, name->len));
}

/* ---- Building ---- */

/* Counts the addresses of each name, as often as they occur. */
static void count_names(struct hosts_table *table, const struct hosts_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct dname *name = &entries[i].name;
        struct host *host = find(table, name);
        if (!host) {
            host = xcalloc(1, sizeof(*host) + name->len);
            host->len = name->len;
            memcpy(host->name, name->wire, name->len);
            (void)key_table_put(&table->by_name, host); /* there was none */
        }
        host->cap += host->cap < HOSTS_IPS_MAX;
    }
}

static void add_ip(struct host *host, const struct ip *ip)
{
    for (uint32_t i = 0; i < host->count; i++) {
        if (slice_equal(bytes_of(&host->ips[i]), bytes_of(ip))) {
            return;
        }
    }
    if (host->count < host->cap) {
        host->ips[host->count++] = *ip;
    }
}

static void add_reverse(struct hosts_table *table, const struct hosts_entry *entry)
{
    if (!key_table_find(&table->by_ip, bytes_of(&entry->ip))) {
        struct reverse *reverse = xcalloc(1, sizeof(*reverse));
        reverse->ip = entry->ip;
        reverse->name = entry->name;
        (void)key_table_put(&table->by_ip, reverse); /* there was none */
    }
}

struct hosts_table *hosts_table_new(const struct hosts_entry *entries, size_t count)
{
    struct hosts_table *table = xcalloc(1, sizeof(*table));
    size_t used = 0;
    atomic_init(&table->references, 1);
    key_table_init(&table->by_name, name_of);
    key_table_init(&table->by_ip, ip_of);
    table->ips = xcalloc(count ? count : 1, sizeof(*table->ips));
    count_names(table, entries, count);
    for (size_t i = 0; i < count; i++) {
        struct host *host = find(table, &entries[i].name);
        if (!host->ips) {
            host->ips = table->ips + used;
            used += host->cap;
        }
        add_ip(host, &entries[i].ip);
        add_reverse(table, &entries[i]);
    }
    return table;
}

/* ---- References ---- */

static void free_things(struct key_table *things)
{
    size_t at = 0;
    for (void *thing = key_table_next(things, &at); thing; thing = key_table_next(things, &at)) {
        free(thing);
        at++;
    }
    key_table_fini(things);
}

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
        free_things(&table->by_name);
        free_things(&table->by_ip);
        free(table->ips);
        free(table);
    }
}

/* ---- Reading ---- */

const struct ip *hosts_table_find(const struct hosts_table *table, const struct dname *name,
                                  size_t *ret_count)
{
    const struct host *host = find(table, name);
    *ret_count = host ? host->count : 0;
    return host ? host->ips : NULL;
}

const struct dname *hosts_table_name(const struct hosts_table *table, const struct ip *ip)
{
    const struct reverse *reverse = key_table_find(&table->by_ip, bytes_of(ip));
    return reverse ? &reverse->name : NULL;
}

size_t hosts_table_count(const struct hosts_table *table)
{
    return table->by_name.count;
}
