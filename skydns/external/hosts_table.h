/* Maps names of -hosts files, hosts(5), to addresses and back. The main thread builds it from the
 * files' text (hosts_file.h) and publishes it with the configuration. Every answering thread reads
 * it; it never changes afterwards. */
#ifndef SKYDNS_EXTERNAL_HOSTS_TABLE_H
#define SKYDNS_EXTERNAL_HOSTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

enum {
    HOSTS_TTL_S = 30,
    HOSTS_IPS_MAX = 128, /* per name; twice what a UDP response holds. The first ones count */
};

struct hosts_table;

/* An entry of a file: an address and one of its names. */
struct hosts_entry {
    struct ip ip;
    struct dname name; /* lower case */
};

/* Makes an empty table of at most bytes_max: about 90 bytes for each name, 50 for each address's
 * reverse name and 20 for each further address of a name. Starts with one reference. */
struct hosts_table *hosts_table_new(size_t bytes_max);

/* Adds an entry, before other threads have the table. The first name of an address is its reverse
 * name. Returns false when there is no room for it: then the entry, and any further name, is left
 * out and counted. */
bool hosts_table_add(struct hosts_table *table, const struct hosts_entry *entry);

/* Any thread. The last unref frees. NULL is fine. */
struct hosts_table *hosts_table_ref(struct hosts_table *table);
void hosts_table_unref(struct hosts_table *table);

/* Returns the addresses of a lower-cased name, of both families, in the files' order, each once.
 * NULL: the files have no such name. Any thread; borrowed from the table. */
const struct ip *hosts_table_find(const struct hosts_table *table, const struct dname *name,
                                  size_t *ret_count);

/* Returns the first name of an address in wire form, or an empty slice. */
struct slice hosts_table_name(const struct hosts_table *table, const struct ip *ip);

size_t hosts_table_count(const struct hosts_table *table);    /* names */
size_t hosts_table_left_out(const struct hosts_table *table); /* entries without room */

#endif
