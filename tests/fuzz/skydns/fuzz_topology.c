/* Any bytes as kube2sky's topology keys: puts, deletes, full reads and commits. Readers find what
 * there is, and nothing else; what is kept is the same after it was saved and loaded. */
#include <assert.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/topology.h"
#include "skydns/sync/topology_keys_internal.h"
#include "skydns/sync/topology_value_internal.h"
#include "tests/fuzz/fuzz_target.h"

static void retire_topology_block(void *data, void *block, void (*fn)(void *block))
{
    assert(!data);
    fn(block); /* there are no readers */
}

static struct client_index *index_of_topology(void)
{
    return client_index_new(&(struct client_index_config){.retire = retire_topology_block});
}

static const struct dname domain = {.len = 3, .wire = {1, 'a', 0}};

static void check_saved_topology(const struct topology_keys *keys)
{
    struct client_index *index = index_of_topology();
    struct topology_keys loaded;
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    topology_keys_save(keys, &saved);
    topology_keys_init(&loaded, index, &domain);
    struct reader reader = reader_of(saved.data, saved.len), again = reader;
    bool is_loaded = topology_keys_load(&loaded, &reader);
    assert(is_loaded && reader_left(&reader) == 0 && topology_keys_load(NULL, &again));
    assert(loaded.keys.count == keys->keys.count);
    assert(topology_count(client_index_topology(index)) == keys->keys.count);
    topology_keys_fini(&loaded);
    assert(topology_count(client_index_topology(index)) == 0);
    client_index_free(index);
}

/* Any value: what it says is found again. */
static void check_topology_value(struct slice value)
{
    struct topology_service *service = NULL;
    struct topology_entry entry;
    if (topology_value_read(value, slice_of(domain.wire, domain.len), &service)) {
        assert(!service);
        return;
    }
    for (size_t at = 0; topology_service_next(service, &at, &entry);) {
        assert(entry.zone.len > 0);
        assert(topology_service_is_near(service, TOPOLOGY_NO_ZONE - 1, entry.ip.bytes,
                                        entry.ip.family_bytes) == false);
    }
    free(service);
}

static struct slice read_topology_text(struct reader *reader)
{
    size_t len = reader_u16(reader);
    const uint8_t *bytes = reader_take(reader, len);
    return slice_of(bytes ? (const char *)bytes : "", bytes ? len : 0);
}

/* Returns false at the end. */
static bool step_topology(struct topology_keys *keys, struct reader *reader)
{
    uint8_t what = reader_u8(reader);
    if (reader->failed) {
        return false;
    }
    if (what == 'p') {
        struct slice label = read_topology_text(reader), value = read_topology_text(reader);
        check_topology_value(value);
        (void)topology_keys_put(keys, label, value); /* also what is refused */
    } else if (what == 'd') {
        topology_keys_del(keys, read_topology_text(reader));
    } else if (what == 'f' || what == 'k') {
        topology_keys_begin(keys, what == 'k');
    } else {
        (void)topology_keys_commit(keys, what == 'C');
    }
    assert(topology_count(client_index_topology(keys->index)) == keys->keys.count);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = reader_of(data, size);
    struct client_index *index = index_of_topology();
    struct topology_keys keys;
    topology_keys_init(&keys, index, &domain);
    while (step_topology(&keys, &reader)) {
    }
    check_topology_value(slice_of(data, size));
    check_saved_topology(&keys);
    topology_keys_fini(&keys);
    client_index_free(index);
    return 0;
}
