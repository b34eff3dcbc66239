/* A hosts file: whatever it contains, its entries are addresses and names, and a table of them
 * finds each. */
#include "skydns/external/hosts_file.h"
#include "tests/fuzz/fuzz_target.h"

static void check_entry(const struct hosts_table *table, const struct hosts_entry *entry)
{
    size_t count;
    struct dname lower = entry->name;
    dname_lower(&lower);
    const struct ip *ips = hosts_table_find(table, &entry->name, &count);
    fuzz_check(
        ips && count != 0 && count <= HOSTS_IPS_MAX &&
        hosts_table_name(table, &entry->ip).len != 0 && entry->name.len >= 2 &&
        slice_equal(slice_of(lower.wire, lower.len), slice_of(entry->name.wire, entry->name.len)));
}

/* With room for all, or for some: what was added is found. */
static void hosts_file_check_file(struct slice text, size_t bytes_max)
{
    struct hosts_reader reader = {.text = text};
    struct hosts_table *table = hosts_table_new(bytes_max);
    struct hosts_entry entry;
    size_t count = 0;
    while (hosts_reader_next(&reader, &entry)) {
        count++;
        if (hosts_table_add(table, &entry)) {
            check_entry(table, &entry);
        }
    }
    fuzz_check(count <= text.len && reader.report.bad_lines <= text.len);
    hosts_table_unref(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hosts_file_check_file(slice_of(data, size), 1 << 24);
    hosts_file_check_file(slice_of(data, size), 1 << 14);
    return 0;
}
