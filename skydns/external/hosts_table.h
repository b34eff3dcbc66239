/* Names and addresses of -hosts files, hosts(5). Built by the main thread from the files' text
 * (hosts_file.h), published with the configuration, read by every answering thread; never changed
 * afterwards. */
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
    HOSTS_IPS_MAX = 128, /* of one name; twice what a UDP reply holds. The first ones count */
};

struct hosts_table;

/* An entry of a file: an address and one of its names. */
struct hosts_entry {
    struct ip ip;
    struct dname name; /* lower case */
};

/* Empty, for so much memory: about 90 bytes for each name, 50 for each address's reverse name and
 * 20 for each further address of a name. Starts with one reference. */
struct hosts_table *hosts_table_new(size_t bytes_max);

/* Before others have the table. The first name of an address is its reverse name. False: there is
 * no room for it, or for any further name; the entry is left out and counted. */
bool hosts_table_add(struct hosts_table *table, const struct hosts_entry *entry);

/* Any thread; the last unref frees. NULL is fine. */
struct hosts_table *hosts_table_ref(struct hosts_table *table);
void hosts_table_unref(struct hosts_table *table);

/* The addresses of a lower-cased name, of both families, in the files' order, each once; NULL: the
 * files have no such name. Any thread; borrowed from the table. */
const struct ip *hosts_table_find(const struct hosts_table *table, const struct dname *name,
                                  size_t *ret_count);

/* The first name of an address in wire form, or an empty slice. */
struct slice hosts_table_name(const struct hosts_table *table, const struct ip *ip);

size_t hosts_table_count(const struct hosts_table *table);    /* names */
size_t hosts_table_left_out(const struct hosts_table *table); /* entries without room */

#endif
