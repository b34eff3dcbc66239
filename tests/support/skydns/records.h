/* Puts records into a store, and reads them back. */
#ifndef TESTS_SUPPORT_SKYDNS_RECORDS_H
#define TESTS_SUPPORT_SKYDNS_RECORDS_H

#include "common/dns/record.h"
#include "skydns/records/store.h"

/* Sets the record of a name and frees it. */
static inline enum store_host records_put(struct store_writer *writer, const struct dname *name,
                                          struct record *record, int64_t mod_revision)
{
    enum store_host host = store_writer_put_view(writer, name, record, mod_revision);
    record_fini(record);
    return host;
}

bool records_are_below(const struct store_node *node);

/* Calls fn for the records at and below the node, except below children that start with `_`, until
 * fn returns false. */
typedef bool (*records_fn)(void *data, const struct store_record *record);
bool records_each_visible(const struct store_node *node, records_fn fn, void *data);

#endif
