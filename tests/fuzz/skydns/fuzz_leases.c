/* Any bytes as a snapshot's leases: they are refused or make sense, and those that name a record
 * are refused by a table whose store has none. */
#include <assert.h>
#include <ev.h>

#include "common/base/xalloc.h"
#include "skydns/sync/lease.h"
#include "tests/fuzz/fuzz_target.h"

static const int64_t now_ms = 1700000000000;

/* A lease has keys, so only bytes without one name no record: a time, and the end. */
static bool names_nothing(size_t size)
{
    return size == 2 * sizeof(uint64_t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice saved = slice_of(data, size);
    struct store_writer *writer = store_writer_new();
    struct lease_table *table = lease_table_new(&(struct lease_table_config){
        .loop = ev_default_loop(EVFLAG_AUTO), .writer = writer, .default_ttl_s = 30});
    bool is_saved = lease_table_is_saved(saved);
    assert(lease_table_load(table, now_ms, saved) == (is_saved && names_nothing(size)));
    lease_table_free(table);
    store_writer_free(writer);
    return 0;
}
