#include "skydns/foreign/hosts_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct hosts_table {
    atomic_uint references;
};

struct hosts_table *hosts_table_new(const struct hosts_entry *entries, size_t count)
{
    struct hosts_table *table = xcalloc(1, sizeof(*table));
    (void)entries, (void)count;
    atomic_init(&table->references, 1);
    return table;
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
        free(table);
    }
}

const struct ip *hosts_table_find(const struct hosts_table *table, const struct dname *name,
                                  size_t *ret_count)
{
    (void)table, (void)name;
    *ret_count = 0;
    return NULL;
}

const struct dname *hosts_table_name(const struct hosts_table *table, const struct ip *ip)
{
    (void)table, (void)ip;
    return NULL;
}

size_t hosts_table_count(const struct hosts_table *table)
{
    (void)table;
    return 0;
}
