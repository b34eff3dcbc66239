/* A table of these entries. */
#ifndef TESTS_SUPPORT_SKYDNS_HOSTS_TABLE_OF_H
#define TESTS_SUPPORT_SKYDNS_HOSTS_TABLE_OF_H

#include <assert.h>
#include <stddef.h>

#include "skydns/external/hosts_table.h"

static inline struct hosts_table *hosts_table_of(const struct hosts_entry *entries, size_t count)
{
    struct hosts_table *table = hosts_table_new(1 << 20);
    for (size_t i = 0; i < count; i++) {
        const bool is_added = hosts_table_add(table, &entries[i]);
        assert(is_added);
        (void)is_added;
    }
    return table;
}

#endif
