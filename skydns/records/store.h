/* Holds the records as a tree of labels from the root: the record store. There is one immutable
 * version per published etcd revision. A query holds a version (publisher.h) and reads it without
 * locks; the writer makes the next one by copying only the paths to what changed.
 *
 *     (root) -- local -- cluster -- svc -- default -- web -- c88f1059   record A 10.0.0.1
 *                                                        `-- _tcp -- _http -- c88f1059   record SRV
 *
 * A node exists exactly when a record is at or below it. Finding a child takes the same time
 * however many there are (a persistent hash trie). So a change costs the same in a namespace of
 * 100,000 services as in one of ten.
 *
 * Reading: any thread, const only. Writing: the main thread only. */
#ifndef SKYDNS_RECORDS_STORE_H
#define SKYDNS_RECORDS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/record.h"
#include "skydns/records/store_tally.h"

struct store;      /* one version */
struct store_node; /* one name in it */
struct store_ready;

enum store_host {
    STORE_HOST_NONE, /* no host */
    STORE_HOST_IP,   /* store_record_ip */
    STORE_HOST_NAME, /* store_record_host_name */
    STORE_HOST_BAD,  /* neither an address nor a valid name: no answer uses it */
};

/* A key's value, shared by all versions in which it is unchanged. It is one block of memory: these
 * fields, then the host, the key's name and the texts, which the functions below return. A text
 * with escapes, which are rare, is there twice: as written, and the bytes it stands for. */
struct store_record {
    int64_t mod_revision;
    uint32_t ttl_s;   /* 0: not set */
    uint32_t known_s; /* when the process first saw this revision: clock_monotonic_ms in seconds */
    uint32_t generation; /* the writer's own mark; readers never read it */
    uint16_t port;
    uint16_t priority;             /* 0: not set */
    uint16_t weight;               /* 0: not set */
    uint16_t targetstrip;          /* labels to remove from the left of the target */
    uint16_t lens[RECORD_STRINGS]; /* the host's: 0 if its printed form is as written */
    uint8_t host_len;              /* 4 or 16 for an address */
    uint8_t name_len;
    uint8_t host; /* enum store_host */
    bool mail : 1;
    bool has_escapes : 1; /* in the text */
    bool is_leased : 1;   /* its TTL is at most the rest of its lease */
    uint8_t bytes[];      /* host, name, the strings as written, text without escapes */
};

/* Returns the host as an address; family_bytes 0 when it is not one. */
struct ip store_record_ip(const struct store_record *record);

/* Returns the host as a name, case preserved. Returns false, and leaves *ret_name alone, when it is
 * not one. */
bool store_record_host_name(const struct store_record *record, struct dname *ret_name);

/* Returns the full name of the key. */
void store_record_name(const struct store_record *record, struct dname *ret_name);

/* Return host and name in place: wire bytes with the root label, borrowed from the record. The host
 * is empty when it is not a name. */
struct slice store_record_host_wire(const struct store_record *record);
struct slice store_record_name_wire(const struct store_record *record);

/* Returns the host as it was written; in `out` or borrowed from the record. Empty when not set. */
struct slice store_record_host_text(const struct store_record *record, char out[DNAME_TEXT_MAX]);

/* Returns one of enum record_string as written; empty when not set, or when it is a host that is
 * printed as it was written. Borrowed from the record. */
struct slice store_record_string(const struct store_record *record, unsigned string);

/* Returns the bytes that a TXT record has. */
struct slice store_record_text_bytes(const struct store_record *record);

/* Returns whether these bytes lie in the record, like all that an answer borrows from it. */
bool store_record_holds(const struct store_record *record, struct slice part);

/* Returns the weight, or the default if not set. */
static inline uint32_t store_record_weight(const struct store_record *record)
{
    enum { WEIGHT_UNSET = 100 };
    return record->weight ? record->weight : WEIGHT_UNSET;
}

/* Returns an SRV record's weight: the record's share, of 100, in the sum of its priority's weights,
 * but at least 1. RFC 2782 all but excludes a target of weight 0; HAProxy sends it nothing. */
static inline uint16_t store_record_share(const struct store_record *record, uint64_t weight_sum)
{
    uint64_t share = UINT64_C(100) * store_record_weight(record) / weight_sum;
    return (uint16_t)(share + (share == 0));
}

/* Returns whether SkyDNS's deduplication finds them equal: port, priority, weight, and the strings
 * as written except the group. */
bool store_record_same_data(const struct store_record *a, const struct store_record *b);

/* ---- Reading ---- */

/* Returns the etcd revision of the version. */
int64_t store_revision(const struct store *store);

/* Returns a number unique to each version for as long as the process runs. */
uint64_t store_serial(const struct store *store);

/* Returns the version's overrides (skydns/sync/override_index.h), or NULL. They live only
 * as long as readers can hold the version: do not read those of a version that is only pinned. */
const struct store *store_overrides(const struct store *store);

/* Returns whether any record has `rr`, hidden ones included. */
bool store_has_rrs(const struct store *store);

const struct store_node *store_root(const struct store *store);

/* Returns the child with this label (already lower case), or NULL. */
const struct store_node *store_child(const struct store_node *node, struct slice label);

/* Returns the node of a lower-cased name, or NULL; and its record, or NULL. */
const struct store_node *store_find(const struct store *store, const struct dname *name);
const struct store_record *store_find_record(const struct store *store, const struct dname *name);

/* Returns the record at exactly this name, or NULL. */
const struct store_record *store_node_record(const struct store_node *node);

/* Return the answer prepared when the records below the node last changed, or the record itself
 * when there is only one. Both are NULL when the node has a record of its own or the records do not
 * qualify: store_ready.h. */
const struct store_ready *store_node_ready(const struct store_node *node);
const struct store_record *store_node_single(const struct store_node *node);

/* Returns the node's own label; empty at the root. Borrowed from the node. */
struct slice store_node_label(const struct store_node *node);

/* Returns how many records are at or below the node, without hidden ones (below a child whose label
 * starts with `_`). */
size_t store_visible_count(const struct store_node *node);

/* Calls fn for each direct child, in no particular order, until it returns false. */
typedef bool (*store_child_fn)(void *data, const struct store_node *child);
bool store_each_child(const struct store_node *node, store_child_fn fn, void *data);

/* Does the same, beginning at a child that depends on this number: a caller that stops early begins
 * elsewhere each time. */
void store_each_child_from(const struct store_node *node, uint32_t from, store_child_fn fn,
                           void *data);

/* Returns the record after this name, hidden ones included, whether or not this version has the
 * name; NULL at the end. `after` NULL starts. The order is the same for all versions. A caller that
 * resumes later, perhaps on a later version, misses no record that existed the whole time. */
const struct store_record *store_next(const struct store *store, const struct dname *after);

/* Calls fn for each record, hidden ones included, until it returns false; then returns false. A
 * name comes before those below it, and all below it come together: the order that store_loader.h
 * takes. */
typedef bool (*store_record_fn)(void *data, const struct store_record *record);
bool store_each_record(const struct store *store, store_record_fn fn, void *data);

/* ---- Writing ---- */

struct store_writer;

/* Makes a writer, which holds the newest version and builds the next one. */
struct store_writer *store_writer_new(void);
void store_writer_free(struct store_writer *writer); /* frees the version it holds, too */

/* Sets the record of a name. Returns the kind of its host. */
enum store_host store_writer_put_view(struct store_writer *writer, const struct dname *name,
                                      const struct record *record, int64_t mod_revision);

/* Removes the record of a name, and the nodes that it alone needed. Does nothing without one. */
void store_writer_del(struct store_writer *writer, const struct dname *name);

/* Returns whether the last put or del changed what the record says: not if it was rewritten
 * unchanged, nor if only the rest of its lease differs. */
bool store_writer_has_changed(const struct store_writer *writer);

/* Returns the record of a name in the version being built, or NULL; valid until the writer's next
 * call. */
const struct store_record *store_writer_find(const struct store_writer *writer,
                                             const struct dname *name);

/* Sets the TTL of a name's record. Sets *is_changed to true if it differed, else leaves it alone.
 * Returns false when the name has no record of this revision. */
bool store_writer_set_ttl(struct store_writer *writer, const struct dname *name,
                          int64_t mod_revision, uint32_t ttl_s, bool *is_changed) MUST_CHECK;

/* Discards everything; the puts that follow make the new content. Readers keep the old version
 * until the commit. A record put again unchanged stays: only what differs is replaced. Calling it
 * again before the commit starts over. */
void store_writer_clear(struct store_writer *writer);

/* Returns how many records the version being built has (after a clear: at most). */
size_t store_writer_count(const struct store_writer *writer);

/* The blocks that a commit replaced, to be freed once no reader can hold them. Opaque; NULL when
 * there are none. */
struct store_garbage;
void store_garbage_free(struct store_garbage *garbage);

/* Makes the next commit yield a new version even if nothing has changed. */
void store_writer_touch(struct store_writer *writer);

/* Sets the overrides of the version that the last commit made, and of later ones; NULL: none.
 * Called before that version is published. */
void store_writer_set_overrides(struct store_writer *writer, const struct store *overrides);

/* Ends the build: returns the version to publish, and what it replaced. The writer owns the
 * version, which is valid until the garbage it ends up in is freed. When nothing has changed since
 * the last version, it returns that one again, with its old revision and no garbage. */
const struct store *store_writer_commit(struct store_writer *writer, int64_t revision,
                                        struct store_garbage **ret_garbage);

#endif
