/* Fills the index. Most addresses are one pod's: their word is the namespace's block, or the
 * record's, and nothing else is known of them. Of the others (shared), the word has a bit, and two
 * tables of the main thread know who shares them:
 *
 *     one pod               word = block
 *     a record, and pods    word = record | RECORD; the record counts the pods
 *     of its namespace
 *     pods of one namespace word = block | SHARED   claims {address, block} -> 2
 *     of two, or a node's   word = SHARED           claims {address, block} -> 1, {address, block2}
 *
 * The exclusive or of the blocks' addresses is stored: so when one namespace of two is gone, the
 * other is found without a search. */
#include "skydns/clients/client_index.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/clients/client_blocks_internal.h"
#include "skydns/clients/client_table_internal.h"
#include "skydns/clients/topology.h"

/* Bits of a word; blocks are aligned to more. One is that of CLIENT_WORD_GONE. */
enum { SHARED = 1, RECORD = 4, BITS = 7 };

/* Address that is not just one pod's. */
struct shared {
    struct client_address address;
    struct client_record *record; /* NULL: none; counts as a pod, too */
    size_t bars;
    size_t pods;
    size_t spaces;   /* of these pods */
    uintptr_t mixed; /* their addresses, by exclusive or: with one, it */
};

/* Pods of one namespace that have one shared address. */
struct claim {
    struct client_address address;
    struct space *space;
    size_t pods;
};

struct content {
    struct client_table *table;
    size_t count; /* of its words that are neither free nor gone */
    struct key_table shared;
    struct key_table claims;
};

struct client_index {
    struct client_index_config config;
    _Atomic(struct client_table *) table; /* the readers': of the shown content */
    struct content contents[OLD_AND_NEW];
    unsigned shown, built; /* differ between clear and commit */
    struct client_blocks blocks;
    struct topology *topology;
};

static struct slice key_of_shared(const void *thing)
{
    const struct shared *shared = thing;
    return slice_of(&shared->address, sizeof(shared->address));
}

static struct slice key_of_claim(const void *thing)
{
    const struct claim *claim = thing;
    return slice_of(claim, offsetof(struct claim, pods));
}

/* ---- Contents ---- */

static void open_content(struct content *content)
{
    *content = (struct content){.table = client_table_new(0)};
    key_table_init(&content->shared, key_of_shared);
    key_table_init(&content->claims, key_of_claim);
}

/* Closes a content, without its table. */
static void close_content(struct content *content)
{
    key_table_fini_things(&content->shared);
    key_table_fini_things(&content->claims);
}

struct client_index *client_index_new(const struct client_index_config *config)
{
    struct client_index *index = xcalloc(1, sizeof(*index));
    index->config = *config;
    open_content(&index->contents[0]);
    atomic_init(&index->table, index->contents[0].table);
    client_blocks_init(&index->blocks);
    index->topology = topology_new(config);
    return index;
}

static void free_table(void *block)
{
    free(block);
}

void client_index_free(struct client_index *index)
{
    if (!index) {
        return;
    }
    for (unsigned i = 0; i < OLD_AND_NEW; i++) {
        if (index->contents[i].table) {
            close_content(&index->contents[i]);
            free_table(index->contents[i].table);
        }
    }
    client_blocks_fini(&index->blocks);
    topology_free(index->topology);
    free(index);
}

/* Drops a table: retires it, since readers may hold it, unless it was never theirs. */
static void drop_table(struct client_index *index, struct client_table *table, bool was_shown)
{
    if (was_shown) {
        index->config.retire(index->config.data, table, free_table);
    } else {
        free_table(table);
    }
}

/* ---- Words ---- */

static struct content *client_index_content_in_work(struct client_index *index)
{
    return &index->contents[index->built];
}

static struct client_slot *client_index_slot_of(struct client_index *index,
                                                const struct client_address *address)
{
    struct content *content = client_index_content_in_work(index);
    if (client_table_is_full(content->table)) {
        bool is_shown = index->built == index->shown;
        struct client_table *old = content->table;
        content->table = client_table_copy(old, content->count);
        if (is_shown) {
            atomic_store_explicit(&index->table, content->table, memory_order_seq_cst);
        }
        drop_table(index, old, is_shown);
    }
    return client_table_slot(content->table, address);
}

static bool client_index_is_known(uintptr_t word)
{
    return word != CLIENT_WORD_FREE && word != CLIENT_WORD_GONE;
}

static void set_word(struct client_index *index, struct client_slot *slot, uintptr_t word)
{
    struct content *content = client_index_content_in_work(index);
    bool was_known = client_index_is_known(client_slot_word(slot));
    content->count += (size_t)client_index_is_known(word) - (size_t)was_known;
    client_table_set(content->table, slot, word);
}

/* ---- Shared addresses ---- */

static struct claim *client_index_claim_of(struct content *content,
                                           const struct client_address *address,
                                           struct space *space)
{
    const struct claim wanted = {.address = *address, .space = space};
    struct claim *claim = key_table_find(&content->claims, key_of_claim(&wanted));
    if (!claim) {
        claim = xmalloc(sizeof(*claim));
        *claim = wanted;
        (void)key_table_put(&content->claims, claim); /* is new */
    }
    return claim;
}

static void share_with(struct content *content, struct shared *shared, struct space *space)
{
    struct claim *claim = client_index_claim_of(content, &shared->address, space);
    shared->pods++;
    if (claim->pods++ == 0) {
        shared->spaces++;
        shared->mixed ^= (uintptr_t)space;
    }
}

static void unshare_with(struct content *content, struct shared *shared, struct space *space)
{
    const struct claim wanted = {.address = shared->address, .space = space};
    struct claim *claim = key_table_find(&content->claims, key_of_claim(&wanted));
    assert(claim); /* a pod of the namespace has it */
    shared->pods--;
    if (--claim->pods == 0) {
        shared->spaces--;
        shared->mixed ^= (uintptr_t)space;
        free(key_table_take(&content->claims, key_of_claim(&wanted)));
    }
}

/* Returns the record that a word shows; NULL: none. */
static struct client_record *client_index_record_of(uintptr_t word)
{
    return word & RECORD ? (struct client_record *)(word & ~(uintptr_t)BITS) : NULL;
}

/* Returns the slot's entry among shared addresses, made of what is known of the address so far (one
 * pod's, a record's, or nobody's). The slot's word changes only when the entry is settled. */
static struct shared *shared_of(struct content *content, const struct client_slot *slot)
{
    uintptr_t word = client_slot_word(slot);
    if (word & SHARED) {
        return key_table_find(&content->shared, slice_of(&slot->address, sizeof(slot->address)));
    }
    struct shared *shared = xcalloc(1, sizeof(*shared));
    shared->address = slot->address;
    (void)key_table_put(&content->shared, shared); /* is new */
    shared->record = client_index_record_of(word);
    for (size_t i = 0; shared->record && i < 1 + shared->record->pods; i++) {
        share_with(content, shared, client_space_of(shared->record));
    }
    if (client_index_is_known(word) && !shared->record) {
        share_with(content, shared, (struct space *)word);
    }
    return shared;
}

/* Takes all pods off the entry, which have one namespace. */
static void unshare_all(struct content *content, struct shared *shared)
{
    const struct claim wanted = {.address = shared->address,
                                 .space = (struct space *)shared->mixed};
    free(key_table_take(&content->claims, key_of_claim(&wanted)));
    free(key_table_take(&content->shared, key_of_shared(shared)));
}

/* Settles the entry, which sets the word. An address of one pod, of a record and pods of its
 * namespace, or of nobody, is shared no more. */
static void client_index_settle(struct client_index *index, struct client_slot *slot,
                                struct shared *shared)
{
    struct content *content = client_index_content_in_work(index);
    bool is_one = shared->bars == 0 && shared->spaces == 1;
    if (is_one && shared->record) {
        shared->record->pods = shared->pods - 1;
        set_word(index, slot, (uintptr_t)shared->record | RECORD);
        unshare_all(content, shared);
        return;
    }
    if (shared->bars > 0 || shared->pods > 1) {
        set_word(index, slot, (is_one ? shared->mixed : 0) | SHARED);
        return;
    }
    set_word(index, slot, is_one ? shared->mixed : CLIENT_WORD_GONE);
    unshare_all(content, shared);
}

/* ---- For others ---- */

void client_index_add(struct client_index *index, const struct ip *ip, struct slice label)
{
    struct client_address address = client_address_of(ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    struct space *space = client_blocks_space(&index->blocks, label);
    struct client_record *record = client_index_record_of(client_slot_word(slot));
    space->pods[index->built]++;
    if (record && client_space_of(record) == space) {
        record->pods++;
    } else if (!client_index_is_known(client_slot_word(slot))) {
        set_word(index, slot, (uintptr_t)space);
    } else {
        struct shared *shared = shared_of(client_index_content_in_work(index), slot);
        share_with(client_index_content_in_work(index), shared, space);
        client_index_settle(index, slot, shared);
    }
}

void client_index_remove(struct client_index *index, const struct ip *ip, struct slice label)
{
    struct client_address address = client_address_of(ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    struct space *space = key_table_find(&index->blocks.spaces, label);
    struct client_record *record = client_index_record_of(client_slot_word(slot));
    assert(space && space->pods[index->built] > 0); /* as often removed as added */
    if (record) {
        assert(client_space_of(record) == space && record->pods > 0);
        record->pods--;
    } else if (client_slot_word(slot) & SHARED) {
        struct shared *shared = shared_of(client_index_content_in_work(index), slot);
        unshare_with(client_index_content_in_work(index), shared, space);
        client_index_settle(index, slot, shared);
    } else {
        assert(client_slot_word(slot) == (uintptr_t)space);
        set_word(index, slot, CLIENT_WORD_GONE);
    }
    space->pods[index->built]--;
    client_blocks_let_go(&index->blocks, space);
}

void client_index_bar(struct client_index *index, const struct ip *ip)
{
    struct client_address address = client_address_of(ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    struct shared *shared = shared_of(client_index_content_in_work(index), slot);
    shared->bars++;
    client_index_settle(index, slot, shared);
}

void client_index_unbar(struct client_index *index, const struct ip *ip)
{
    struct client_address address = client_address_of(ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    assert(client_slot_word(slot) & SHARED); /* as often removed as added */
    struct shared *shared = shared_of(client_index_content_in_work(index), slot);
    assert(shared->bars > 0);
    shared->bars--;
    client_index_settle(index, slot, shared);
}

/* ---- Records ---- */

struct client_record *client_index_new_record(struct client_index *index, const struct ip *ip,
                                              const struct client_description *description)
{
    return client_blocks_new_record(&index->blocks, ip, description);
}

void client_index_drop_record(struct client_index *index, struct client_record *record)
{
    client_blocks_drop_record(&index->blocks, record);
}

/* Returns the record that describes the slot's address; NULL: none. */
static struct client_record *client_index_record_at(struct client_index *index,
                                                    const struct client_slot *slot)
{
    uintptr_t word = client_slot_word(slot);
    return word & SHARED ? shared_of(client_index_content_in_work(index), slot)->record
                         : client_index_record_of(word);
}

void client_index_set_record(struct client_index *index, struct client_record *record)
{
    struct client_address address = client_address_of(&record->ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    struct content *content = client_index_content_in_work(index);
    struct space *space = client_space_of(record);
    if (client_index_record_at(index, slot)) {
        client_index_add(index, &record->ip, client_space_label(record->space));
    } else if (!client_index_is_known(client_slot_word(slot)) ||
               client_slot_word(slot) == (uintptr_t)space) {
        record->pods = client_slot_word(slot) == (uintptr_t)space;
        set_word(index, slot, (uintptr_t)record | RECORD);
    } else {
        struct shared *shared = shared_of(content, slot);
        shared->record = record;
        share_with(content, shared, space);
        client_index_settle(index, slot, shared);
    }
}

/* Sets another record in place of the slot's, of the same namespace. */
static void client_index_exchange_record(struct client_index *index, struct client_slot *slot,
                                         struct client_record *record)
{
    struct client_record *old = client_index_record_at(index, slot);
    record->pods = old->pods;
    if (client_slot_word(slot) & SHARED) {
        shared_of(client_index_content_in_work(index), slot)->record = record;
    } else {
        set_word(index, slot, (uintptr_t)record | RECORD);
    }
}

void client_index_replace_record(struct client_index *index, const struct client_record *old,
                                 struct client_record *record)
{
    struct client_address address = client_address_of(&record->ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    assert(ip_equal(&old->ip, &record->ip));
    if (old->space == record->space && client_index_record_at(index, slot) == old) {
        client_index_exchange_record(index, slot, record);
    } else {
        client_index_unset_record(index, old);
        client_index_set_record(index, record);
    }
}

void client_index_unset_record(struct client_index *index, const struct client_record *record)
{
    struct client_address address = client_address_of(&record->ip);
    struct client_slot *slot = client_index_slot_of(index, &address);
    struct content *content = client_index_content_in_work(index);
    if (client_index_record_at(index, slot) != record) {
        client_index_remove(index, &record->ip, client_space_label(record->space));
        return;
    }
    struct shared *shared = shared_of(content, slot);
    shared->record = NULL;
    unshare_with(content, shared, client_space_of(record));
    client_index_settle(index, slot, shared);
}

/* ---- Contents, old and new ---- */

void client_index_clear(struct client_index *index)
{
    if (index->built != index->shown) {
        close_content(client_index_content_in_work(index));
        drop_table(index, client_index_content_in_work(index)->table, false);
        client_blocks_forget_pods(&index->blocks, index->built);
    }
    index->built = 1 - index->shown;
    open_content(client_index_content_in_work(index));
}

static void show_built(struct client_index *index)
{
    struct content *old = &index->contents[index->shown];
    client_blocks_forget_pods(&index->blocks, index->shown);
    index->shown = index->built;
    atomic_store_explicit(&index->table, client_index_content_in_work(index)->table,
                          memory_order_seq_cst);
    client_blocks_let_go_unused(&index->blocks);
    drop_table(index, old->table, true);
    close_content(old);
    old->table = NULL;
}

void client_index_commit(struct client_index *index)
{
    if (index->built != index->shown) {
        show_built(index);
    }
    client_blocks_retire(&index->blocks, &index->config);
}

struct client_index_counts client_index_counts(const struct client_index *index)
{
    const struct content *shown = &index->contents[index->shown];
    struct client_index_counts counts = {.addresses = shown->count,
                                         .shared = shown->shared.count,
                                         .spaces = index->blocks.spaces.count,
                                         .records = index->blocks.record_count};
    counts.bytes = sizeof(*index) + sizeof(*shown->table) +
                   shown->table->capacity * sizeof(shown->table->slots[0]) +
                   counts.shared * sizeof(struct shared) +
                   shown->claims.count * sizeof(struct claim) + client_blocks_bytes(&index->blocks);
    return counts;
}

struct client_index_entry client_index_entry(const struct client_index *index, const struct ip *ip)
{
    const struct content *shown = &index->contents[index->shown];
    struct client_address address = client_address_of(ip);
    uintptr_t word = ip->family_bytes > 0 ? client_table_find(shown->table, &address)
                                          : (uintptr_t)CLIENT_WORD_FREE;
    if (!client_index_is_known(word)) {
        return (struct client_index_entry){0};
    }
    const struct client_record *record = client_index_record_of(word);
    if (!(word & SHARED)) {
        return (struct client_index_entry){.pods = record && record->pods > 1 ? record->pods : 1,
                                           .spaces = 1};
    }
    const struct shared *shared =
        key_table_find(&shown->shared, slice_of(&address, sizeof(address)));
    return (struct client_index_entry){
        .pods = shared->pods, .spaces = shared->spaces, .bars = shared->bars};
}

/* Returns the address's word in the readers' table. */
static uintptr_t client_index_word(const struct client_index *index, const struct ip *ip)
{
    struct client_address address = client_address_of(ip);
    const struct client_table *table = atomic_load_explicit(&index->table, memory_order_seq_cst);
    return client_table_find(table, &address);
}

/* Returns what a word shows: the namespace's block, which begins with what is shown; NULL:
 * nobody. */
static const struct client_space *client_index_shown(uintptr_t word)
{
    const struct client_record *record = client_index_record_of(word);
    return record ? record->space : (const struct client_space *)(word & ~(uintptr_t)BITS);
}

const struct client_space *client_index_find(const struct client_index *index, const struct ip *ip)
{
    return ip->family_bytes > 0 ? client_index_shown(client_index_word(index, ip)) : NULL;
}

const struct client_space *client_index_find_zone(const struct client_index *index,
                                                  const struct ip *ip,
                                                  const struct client_name **ret_zone)
{
    uintptr_t word = ip->family_bytes > 0 ? client_index_word(index, ip) : CLIENT_WORD_FREE;
    const struct client_record *record = client_index_record_of(word);
    *ret_zone = record ? record->zone : NULL;
    return record ? record->space : client_index_shown(word);
}

struct topology *client_index_topology(const struct client_index *index)
{
    return index->topology;
}

static void stop_using_zones(struct client_index *index, struct slice name)
{
    const struct topology_service *service = topology_find(index->topology, name);
    for (unsigned i = 0; service && i < service->zone_count; i++) {
        client_blocks_stop_using(&index->blocks, service->zones[i].name);
    }
}

void client_index_put_topology(struct client_index *index, struct topology_service *service)
{
    for (unsigned i = 0; i < service->zone_count; i++) {
        service->zones[i].name = client_blocks_use_name(&index->blocks, service->zones[i].text);
    }
    stop_using_zones(index, service->name); /* of the block that it replaces */
    topology_put(index->topology, service);
}

void client_index_remove_topology(struct client_index *index, struct slice name)
{
    stop_using_zones(index, name);
    topology_remove(index->topology, name);
}

bool client_index_describe(const struct client_index *index, const struct ip *ip,
                           struct client_description *ret_description)
{
    uintptr_t word = ip->family_bytes > 0 ? client_index_word(index, ip) : CLIENT_WORD_FREE;
    const struct client_record *record = client_index_record_of(word);
    const struct client_space *space = client_index_shown(word);
    *ret_description = (struct client_description){.ns = client_space_label(space)};
    if (record) {
        *ret_description = client_record_describe(record);
    }
    return space != NULL;
}
