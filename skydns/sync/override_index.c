#include "skydns/sync/override_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/records/overrides.h"

/* Bounds the names noted; beyond it, reading all records costs no more. */
enum { NOTED_MAX = 4096 };

struct override_index {
    bool is_on;
    uint32_t ttl_s;
    size_t domain_count;
    struct dname domains[ENGINE_ZONES_MAX];
    struct store_writer *writer; /* NULL while off */
    size_t leased_count;         /* at least as many as its records with a lease */
    bool is_due;
    bool is_all; /* all records are to be looked at again */
    bool is_leases;
    size_t noted_count;
    struct dname *noted; /* NOTED_MAX; NULL while off */
};

struct override_index *override_index_new(void)
{
    return xcalloc(1, sizeof(struct override_index));
}

void override_index_free(struct override_index *index)
{
    if (index) {
        store_writer_free(index->writer);
        free(index->noted);
        free(index);
    }
}

void override_index_set(struct override_index *index, const struct override_index_rule *rule)
{
    const size_t bytes = rule->domain_count * sizeof(rule->domains[0]);
    const bool is_same = index->is_on == rule->is_on && index->ttl_s == rule->ttl_s &&
                         index->domain_count == rule->domain_count &&
                         memcmp(index->domains, rule->domains, bytes) == 0;
    if (is_same) {
        return;
    }
    index->is_due = index->is_due || index->is_on || rule->is_on;
    index->is_all = true;
    index->is_on = rule->is_on;
    index->ttl_s = rule->ttl_s;
    index->domain_count = rule->domain_count;
    memcpy(index->domains, rule->domains, bytes);
}

static bool is_external(const struct override_index *index, const struct dname *name)
{
    return !dname_is_within_any(name, index->domains, index->domain_count) &&
           !dname_is_within(name, &reverse_zone_in_addr_arpa) &&
           !dname_is_within(name, &reverse_zone_ip6_arpa);
}

void override_index_note(struct override_index *index, const struct dname *name)
{
    if (!index->is_on || index->is_all || !is_external(index, name)) {
        return;
    }
    if (index->noted_count == NOTED_MAX) {
        index->is_all = true;
        return;
    }
    index->noted = index->noted ? index->noted : xcalloc(NOTED_MAX, sizeof(*index->noted));
    index->noted[index->noted_count++] = *name;
}

void override_index_note_all(struct override_index *index)
{
    index->is_all = true;
}

void override_index_note_leases(struct override_index *index)
{
    index->is_leases = index->leased_count > 0;
}

bool override_index_is_due(const struct override_index *index)
{
    return index->is_due;
}

/* ---- Records ---- */

/* Makes the name of the record's place in the index. Returns false if it is too long, or nothing is
 * left of the name as its owner. */
static bool override_index_place_of(const struct store_record *record, struct dname *ret_place)
{
    struct dname name, place;
    struct dname_labels labels;
    store_record_name(record, &name);
    dname_labels(&name, &labels);
    const unsigned strip = record->targetstrip;
    if (strip > OVERRIDE_STRIP_MAX || strip >= labels.count) {
        return false;
    }
    place = name;
    dname_strip(&place, strip);
    bool fits = dname_prepend(&place, slice_of(OVERRIDE_MARK, 1));
    for (unsigned i = strip; i > 0 && fits; i--) {
        const struct slice label = dname_label(&name, labels.offsets[i - 1]);
        fits = dname_prepend(&place, label);
        if (fits && place.wire[1] == '_') {
            place.wire[1] = OVERRIDE_SHOWN;
        }
    }
    *ret_place = place;
    return fits;
}

static void put_override(struct override_index *index, const struct store_record *record)
{
    char host[DNAME_TEXT_MAX];
    struct dname name, place;
    const bool has_host = record->host == STORE_HOST_IP || record->host == STORE_HOST_NAME;
    store_record_name(record, &name);
    struct record copy = {
        .ttl_s = record->ttl_s ? record->ttl_s : index->ttl_s,
        .priority = 1, /* set, so that an only host name is prepared (store_ready.h) */
        .is_leased = record->is_leased,
    };
    copy.host = has_host ? store_record_host_text(record, host) : slice_of(NULL, 0);
    copy.text = has_host ? slice_of(NULL, 0) : store_record_string(record, RECORD_TEXT);
    copy.rrs = store_record_string(record, RECORD_RR);
    const bool has_any = has_host || copy.text.len > 0 || copy.rrs.len > 0;
    if (has_any && is_external(index, &name) && override_index_place_of(record, &place)) {
        (void)store_writer_put_view(index->writer, &place, &copy, record->mod_revision);
        index->leased_count += record->is_leased;
    }
}

static bool put_each(void *data, const struct store_record *record)
{
    put_override(data, record);
    return true;
}

/* Replaces the override of the record with this name, which has changed since `before`. */
static void follow_noted(struct override_index *index, const struct store *before,
                         const struct store *now, const struct dname *name)
{
    struct dname place;
    const struct store_record *old = before ? store_find_record(before, name) : NULL;
    const struct store_record *new = store_find_record(now, name);
    if (old && override_index_place_of(old, &place)) {
        store_writer_del(index->writer, &place);
    }
    if (new) {
        put_override(index, new);
    }
}

static void override_index_read_all(struct override_index *index, const struct store *now)
{
    store_writer_clear(index->writer);
    index->leased_count = 0;
    (void)store_each_record(now, put_each, index); /* never stops */
}

static void override_index_turn_off(struct override_index *index,
                                    struct store_garbage **ret_garbage)
{
    free(STEAL(index->noted));
    index->noted_count = index->leased_count = 0;
    if (index->writer) { /* readers may hold its version: it goes as an empty one's garbage */
        store_writer_clear(index->writer);
        (void)store_writer_commit(index->writer, 0, ret_garbage);
    }
}

const struct store *override_index_follow(struct override_index *index, const struct store *before,
                                          const struct store *now,
                                          struct store_garbage **ret_garbage)
{
    *ret_garbage = NULL;
    index->is_due = false;
    if (!index->is_on) {
        override_index_turn_off(index, ret_garbage);
        index->is_all = true;
        return NULL;
    }
    index->writer = index->writer ? index->writer : store_writer_new();
    if (index->is_all || index->is_leases) {
        override_index_read_all(index, now);
    }
    for (size_t i = 0; i < index->noted_count && !index->is_all && !index->is_leases; i++) {
        follow_noted(index, before, now, &index->noted[i]);
    }
    index->noted_count = 0;
    index->is_all = index->is_leases = false;
    return store_writer_commit(index->writer, store_revision(now), ret_garbage);
}

size_t override_index_count(const struct override_index *index)
{
    return index->writer ? store_writer_count(index->writer) : 0;
}
