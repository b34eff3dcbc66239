/* A hosts file: whatever it contains, its entries are addresses and names, and a table of them
 * finds each. */
#include <stdlib.h>

#include "skydns/external/hosts_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct hosts_table *table, const struct hosts_entry *entry)
{
    size_t count;
    struct dname lower = entry->name;
    dname_lower(&lower);
    const struct ip *ips = hosts_table_find(table, &entry->name, &count);
    if (!ips || count == 0 || count > HOSTS_IPS_MAX || !hosts_table_name(table, &entry->ip) ||
        entry->name.len < 2 ||
        !slice_equal(slice_of(lower.wire, lower.len),
                     slice_of(entry->name.wire, entry->name.len))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hosts_list list = {0};
    struct hosts_report report;
    hosts_file_parse(slice_of(data, size), &list, &report);
    if (list.count > size || report.bad_lines > size) {
        abort();
    }
    struct hosts_table *table = hosts_table_new(list.items, list.count);
    for (size_t i = 0; i < list.count; i++) {
        check_entry(table, &list.items[i]);
    }
    hosts_table_unref(table);
    hosts_list_free(&list);
    return 0;
}
