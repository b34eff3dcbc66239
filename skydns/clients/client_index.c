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
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_table_internal.h"
#include "skydns/clients/topology.h"

/* Bits of a word; blocks are aligned to more. One is that of CLIENT_WORD_GONE. */
enum { SHARED = 1, RECORD = 4, BITS = 7 };

enum { OLD_AND_NEW = 2 };

struct space {
    struct client_space shown;
    size_t pods[OLD_AND_NEW]; /* that have it, by content; */
    size_t records;           /* if none of these is left, it goes */
    struct space *next;       /* among those that go */
};

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
    struct key_table spaces;
    struct key_table names; /* of nodes and zones */
    size_t record_count;
    size_t record_bytes;
    struct space *gone; /* since the last commit, as are the next two */
    struct client_record *gone_records;
    struct client_name *gone_names;
    struct topology *topology;
};

static struct slice key_of_space(const void *thing)
{
    return client_space_label(&((const struct space *)thing)->shown);
}

static struct slice key_of_name(const void *thing)
{
    const struct client_name *name = thing;
    return slice_of(name->text, name->len);
}

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
    key_table_init(&index->spaces, key_of_space);
    key_table_init(&index->names, key_of_name);
    index->topology =
        topology_new(&(struct topology_config){.retire = config->retire, .data = config->data});
    return index;
}

static void free_gone(void *block)
{
    for (struct space *space = block, *next; space; space = next) {
        next = space->next;
        free(space);
    }
}

static void free_gone_records(void *block)
{
    for (struct client_record *record = block, *next; record; record = next) {
        next = record->next;
        free(record);
    }
}

static void free_gone_names(void *block)
{
    for (struct client_name *name = block, *next; name; name = next) {
        next = name->next;
        free(name);
    }
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
    key_table_fini_things(&index->spaces);
    key_table_fini_things(&index->names);
    free_gone(index->gone);
    free_gone_records(index->gone_records);
    free_gone_names(index->gone_names);
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

/* ---- Namespaces ---- */

static struct space *client_index_space_of(struct client_index *index, struct slice label)
{
    struct space *space = key_table_find(&index->spaces, label);
    if (!space) {
        assert(label.len > 0 && label.len <= sizeof(space->shown.label));
        space = xcalloc(1, sizeof(*space));
        space->shown.label_len = (uint8_t)label.len;
        memcpy(space->shown.label, label.ptr, label.len);
        (void)key_table_put(&index->spaces, space); /* is new */
    }
    return space;
}

static void let_go_unused(struct client_index *index, struct space *space)
{
    if (space->pods[0] == 0 && space->pods[1] == 0 && space->records == 0) {
        (void)key_table_take(&index->spaces, key_of_space(space)); /* this one */
        space->next = index->gone;
        index->gone = space;
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

/* Returns the namespace of a record, which is the first member of its block. */
static struct space *client_index_space_of_record(const struct client_record *record)
{
    return (struct space *)(uintptr_t)record->space;
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
        share_with(content, shared, client_index_space_of_record(shared->record));
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
    struct space *space = client_index_space_of(index, label);
    struct client_record *record = client_index_record_of(client_slot_word(slot));
    space->pods[index->built]++;
    if (record && client_index_space_of_record(record) == space) {
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
    struct space *space = key_table_find(&index->spaces, label);
    struct client_record *record = client_index_record_of(client_slot_word(slot));
    assert(space && space->pods[index->built] > 0); /* as often removed as added */
    if (record) {
        assert(client_index_space_of_record(record) == space && record->pods > 0);
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
    let_go_unused(index, space);
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

static const struct client_name *use_name(struct client_index *index, struct slice text)
{
    struct client_name *name = text.len > 0 ? key_table_find(&index->names, text) : NULL;
    if (!name && text.len > 0) {
        assert(text.len <= CLIENT_NAME_MAX);
        name = xcalloc(1, sizeof(*name) + text.len);
        name->len = (uint8_t)text.len;
        memcpy(name->text, text.ptr, text.len);
        (void)key_table_put(&index->names, name); /* is new */
    }
    if (name) {
        name->users++;
    }
    return name;
}

static void stop_using_name(struct client_index *index, const struct client_name *used)
{
    struct client_name *name = used ? key_table_find(&index->names, key_of_name(used)) : NULL;
    if (name && --name->users == 0) {
        (void)key_table_take(&index->names, key_of_name(name)); /* this one */
        name->next = index->gone_names;
        index->gone_names = name;
    }
}

static size_t client_index_record_size(const struct client_record *record)
{
    return sizeof(*record) + record->pod_len;
}

struct client_record *client_index_new_record(struct client_index *index, const struct ip *ip,
                                              const struct client_description *description)
{
    struct slice pod = description->pod;
    struct client_record *record = xcalloc(1, sizeof(*record) + pod.len);
    struct space *space = client_index_space_of(index, description->ns);
    assert(pod.len <= CLIENT_NAME_MAX);
    space->records++;
    record->space = &space->shown;
    record->node = use_name(index, description->node);
    record->zone = use_name(index, description->zone);
    record->ip = *ip;
    record->pod_len = (uint8_t)pod.len;
    memcpy(record->pod, pod.ptr, pod.len);
    index->record_count++;
    index->record_bytes += client_index_record_size(record);
    return record;
}

void client_index_drop_record(struct client_index *index, struct client_record *record)
{
    struct space *space = client_index_space_of_record(record);
    index->record_count--;
    index->record_bytes -= client_index_record_size(record);
    stop_using_name(index, record->node);
    stop_using_name(index, record->zone);
    space->records--;
    let_go_unused(index, space);
    record->next = index->gone_records;
    index->gone_records = record;
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
    struct space *space = client_index_space_of_record(record);
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
    unshare_with(content, shared, client_index_space_of_record(record));
    client_index_settle(index, slot, shared);
}

/* ---- Contents, old and new ---- */

/* Stops counting what the content that is left out says of namespaces. */
static void forget_pods(struct client_index *index, unsigned which)
{
    struct space *space;
    for (size_t at = 0; (space = key_table_next(&index->spaces, &at)); at++) {
        space->pods[which] = 0;
    }
}

void client_index_clear(struct client_index *index)
{
    if (index->built != index->shown) {
        close_content(client_index_content_in_work(index));
        drop_table(index, client_index_content_in_work(index)->table, false);
        forget_pods(index, index->built);
    }
    index->built = 1 - index->shown;
    open_content(client_index_content_in_work(index));
}

/* Drops namespaces of the earlier content only. */
static void let_go_of_old(struct client_index *index)
{
    struct space *space;
    for (size_t at = 0; (space = key_table_next(&index->spaces, &at));) {
        struct space *before = index->gone;
        let_go_unused(index, space);
        at += index->gone == before; /* else another may be there now */
    }
}

static void show_built(struct client_index *index)
{
    struct content *old = &index->contents[index->shown];
    forget_pods(index, index->shown);
    index->shown = index->built;
    atomic_store_explicit(&index->table, client_index_content_in_work(index)->table,
                          memory_order_seq_cst);
    let_go_of_old(index);
    drop_table(index, old->table, true);
    close_content(old);
    old->table = NULL;
}

void client_index_commit(struct client_index *index)
{
    if (index->built != index->shown) {
        show_built(index);
    }
    if (index->gone) {
        index->config.retire(index->config.data, STEAL(index->gone), free_gone);
    }
    if (index->gone_records) {
        index->config.retire(index->config.data, STEAL(index->gone_records), free_gone_records);
    }
    if (index->gone_names) {
        index->config.retire(index->config.data, STEAL(index->gone_names), free_gone_names);
    }
}

struct client_index_counts client_index_counts(const struct client_index *index)
{
    const struct content *shown = &index->contents[index->shown];
    struct client_index_counts counts = {.addresses = shown->count,
                                         .shared = shown->shared.count,
                                         .spaces = index->spaces.count,
                                         .records = index->record_count};
    counts.bytes = sizeof(*index) + sizeof(*shown->table) +
                   shown->table->capacity * sizeof(shown->table->slots[0]) +
                   counts.shared * sizeof(struct shared) +
                   shown->claims.count * sizeof(struct claim) +
                   counts.spaces * sizeof(struct space) + index->record_bytes +
                   index->names.count * sizeof(struct client_name);
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
        stop_using_name(index, service->zones[i].name);
    }
}

void client_index_put_topology(struct client_index *index, struct topology_service *service)
{
    for (unsigned i = 0; i < service->zone_count; i++) {
        service->zones[i].name = use_name(index, service->zones[i].text);
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
