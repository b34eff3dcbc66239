#include "skydns/sync/store_keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/publish/engine_config.h"
#include "skydns/sync/store_sync_internal.h"

/* Limits a store key's value: an etcd request. */
enum { VALUE_MAX = 2 << 20 };

struct domain {
    struct store_keys *keys;
    struct dname name;
    struct etcd_mirror *mirror; /* NULL: the owner tells */
    struct buf id;              /* its value as the mirror saw it last */
    bool is_there;
    bool was_there; /* in this etcd data set or an earlier one */
    bool awaits_read;
    bool is_incomplete; /* as settled */
};

/* Keys of an earlier process, for a domain that has not been in force in this one. */
struct remembered {
    struct dname name;
    bool is_there;
    bool was_there;
};

struct store_keys {
    struct store_keys_config config;
    size_t remembered_count;
    struct remembered remembered[ENGINE_ZONES_MAX];
    bool is_main_there;
    size_t count;
    struct domain *domains[ENGINE_ZONES_MAX];
};

static bool is_expected(const struct domain *domain)
{
    return domain->was_there || domain->keys->config.is_required;
}

/* ---- One domain ---- */

static void store_keys_on_seen(void *data, struct slice id, bool has_read UNUSED)
{
    struct domain *domain = data;
    struct store_keys *keys = domain->keys;
    bool has_appeared = id.len > 0 && !domain->is_there && is_expected(domain);
    bool is_change = domain->is_there != (id.len > 0);
    buf_clear(&domain->id);
    buf_append_slice(&domain->id, id);
    domain->is_there = id.len > 0;
    domain->was_there = domain->was_there || id.len > 0;
    domain->awaits_read = domain->is_there && (domain->awaits_read || has_appeared);
    if (is_change) {
        store_sync_keys_changed(keys->config.sync);
    }
    if (has_appeared) {
        store_sync_key_appeared(keys->config.sync);
    }
}

/* Does nothing: the mirror's key is told by store_keys_on_seen alone; outages are those of the
 * records' mirror. */
static void store_keys_on_begin(void *data UNUSED, const struct etcd_mirror_read *read UNUSED)
{
}

static void store_keys_on_put(void *data UNUSED, const struct etcd_kv *kv UNUSED)
{
}

static void store_keys_on_del(void *data UNUSED, struct slice key UNUSED, int64_t revision UNUSED)
{
}

static void store_keys_on_commit(void *data UNUSED, int64_t revision UNUSED, bool full UNUSED)
{
}

static void store_keys_on_state(void *data UNUSED, const struct err *err UNUSED)
{
}

static void store_keys_start_mirror(struct domain *domain)
{
    char text[DNAME_TEXT_MAX];
    CLEANUP_FREE char *key = etcd_store_key(slice_str(dname_to_text(&domain->name, text)));
    const struct etcd_mirror_config mirror = {
        .prefix = slice_str(key),
        .is_one_key = true,
        .store_key = slice_str(key),
        .check_ms = ETCD_MIRROR_CHECK_RARELY_MS,
        .full_begin = store_keys_on_begin,
        .put = store_keys_on_put,
        .del = store_keys_on_del,
        .commit = store_keys_on_commit,
        .state = store_keys_on_state,
        .store_key_seen = store_keys_on_seen,
        .data = domain,
    };
    domain->mirror = etcd_mirror_start(domain->keys->config.etcd, &mirror);
}

static bool is_main(const struct store_keys *keys, const struct dname *domain)
{
    return dname_equal(domain, &keys->config.main);
}

/* Takes the domain's keys out of the remembered ones. */
static struct remembered store_keys_restore(struct store_keys *keys, const struct dname *name)
{
    for (size_t i = 0; i < keys->remembered_count; i++) {
        struct remembered found = keys->remembered[i];
        if (dname_equal(&found.name, name)) {
            size_t after = --keys->remembered_count - i;
            memmove(&keys->remembered[i], &keys->remembered[i + 1], after * sizeof(found));
            return found;
        }
    }
    return (struct remembered){.is_there = false};
}

static struct domain *store_keys_domain_new(struct store_keys *keys, const struct dname *name)
{
    struct domain *domain = xcalloc(1, sizeof(*domain));
    domain->keys = keys;
    domain->name = *name;
    buf_init(&domain->id, VALUE_MAX);
    struct remembered before = store_keys_restore(keys, name);
    domain->is_there = before.is_there;
    domain->was_there = before.was_there;
    if (is_main(keys, name)) {
        domain->is_there = keys->is_main_there;
        domain->was_there = domain->was_there || domain->is_there;
    } else {
        store_keys_start_mirror(domain);
    }
    return domain;
}

static void store_keys_domain_free(struct domain *domain)
{
    if (domain) {
        etcd_mirror_stop(domain->mirror);
        buf_fini(&domain->id);
        free(domain);
    }
}

/* ---- All ---- */

struct store_keys *store_keys_new(const struct store_keys_config *config)
{
    struct store_keys *keys = xcalloc(1, sizeof(*keys));
    keys->config = *config;
    return keys;
}

void store_keys_free(struct store_keys *keys)
{
    if (!keys) {
        return;
    }
    for (size_t i = 0; i < keys->count; i++) {
        store_keys_domain_free(keys->domains[i]);
    }
    free(keys);
}

static struct domain *store_keys_find(const struct store_keys *keys, const struct dname *name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->domains[i] && dname_equal(&keys->domains[i]->name, name)) {
            return keys->domains[i];
        }
    }
    return NULL;
}

static void store_keys_forget(struct store_keys *keys, const struct domain *domain)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->domains[i] == domain) {
            keys->domains[i] = NULL;
        }
    }
}

void store_keys_set_domains(struct store_keys *keys, const struct dname *domains, size_t count)
{
    struct domain *next[ENGINE_ZONES_MAX];
    for (size_t i = 0; i < count; i++) {
        struct domain *known = store_keys_find(keys, &domains[i]);
        next[i] = known ? known : store_keys_domain_new(keys, &domains[i]);
        store_keys_forget(keys, known);
    }
    for (size_t i = 0; i < keys->count; i++) {
        store_keys_domain_free(keys->domains[i]); /* no longer in force */
    }
    memcpy(keys->domains, next, count * sizeof(next[0]));
    keys->count = count;
}

void store_keys_require(struct store_keys *keys, bool is_required)
{
    keys->config.is_required = is_required;
}

void store_keys_tell(struct store_keys *keys, bool is_there)
{
    struct domain *domain = store_keys_find(keys, &keys->config.main);
    keys->is_main_there = is_there;
    if (domain) {
        domain->is_there = is_there;
        domain->was_there = domain->was_there || is_there;
    }
}

void store_keys_other_store(struct store_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        struct domain *domain = keys->domains[i];
        if (!is_main(keys, &domain->name)) {
            etcd_mirror_stop(domain->mirror);
            buf_clear(&domain->id);
            domain->is_there = domain->awaits_read = false;
            store_keys_start_mirror(domain);
        }
    }
    for (size_t i = 0; i < keys->remembered_count; i++) {
        keys->remembered[i].is_there = false;
    }
}

void store_keys_have_read(struct store_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        keys->domains[i]->awaits_read = false;
    }
}

bool store_keys_is_missing(const struct store_keys *keys, const struct dname *domain)
{
    const struct domain *known = store_keys_find(keys, domain);
    if (!known) {
        return keys->config.is_required;
    }
    return is_expected(known) && (!known->is_there || known->awaits_read);
}

bool store_keys_is_any_missing(const struct store_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (store_keys_is_missing(keys, &keys->domains[i]->name)) {
            return true;
        }
    }
    return false;
}

static void log_settled(const struct store_keys *keys, const struct domain *domain)
{
    char text[DNAME_TEXT_MAX];
    if (domain->is_incomplete) {
        log_warn("domain incomplete, its store key is missing: names that etcd lacks are SERVFAIL",
                 LOG_STR("domain", dname_to_text(&domain->name, text)),
                 LOG_STR("expected", store_keys_reason(keys, &domain->name)));
    } else {
        log_info("domain complete", LOG_STR("domain", dname_to_text(&domain->name, text)));
    }
}

bool store_keys_settle(struct store_keys *keys, bool is_holding_old, bool only_worse)
{
    bool is_change = false;
    for (size_t i = 0; i < keys->count; i++) {
        struct domain *domain = keys->domains[i];
        bool is_incomplete = !is_holding_old && store_keys_is_missing(keys, &domain->name);
        if (is_incomplete != domain->is_incomplete && (is_incomplete || !only_worse)) {
            domain->is_incomplete = is_incomplete;
            log_settled(keys, domain);
            is_change = true;
        }
    }
    return is_change;
}

bool store_keys_is_incomplete(const struct store_keys *keys, const struct dname *domain)
{
    const struct domain *known = store_keys_find(keys, domain);
    return known ? known->is_incomplete : keys->config.is_required;
}

size_t store_keys_count(const struct store_keys *keys)
{
    return keys->count;
}

const struct dname *store_keys_domain(const struct store_keys *keys, size_t i)
{
    return &keys->domains[i]->name;
}

struct slice store_keys_id(const struct store_keys *keys, size_t i)
{
    return buf_slice(&keys->domains[i]->id);
}

const char *store_keys_reason(const struct store_keys *keys, const struct dname *domain)
{
    const struct domain *known = store_keys_find(keys, domain);
    return known && known->was_there ? "there was one before" : "-require-store-key";
}

/* ---- Across restarts: how many, then name and flags of each ---- */

enum { WAS_THERE = 1, IS_THERE = 2 };

static void store_keys_save_one(struct buf *out, const struct dname *name, bool was_there,
                                bool is_there)
{
    buf_append_sized(out, slice_of(name->wire, name->len));
    buf_append_u8(out, (uint8_t)((was_there ? WAS_THERE : 0) | (is_there ? IS_THERE : 0)));
}

void store_keys_save(const struct store_keys *keys, struct buf *out)
{
    size_t room = ENGINE_ZONES_MAX - keys->count;
    size_t remembered = keys->remembered_count < room ? keys->remembered_count : room;
    buf_append_u8(out, (uint8_t)(keys->count + remembered));
    for (size_t i = 0; i < keys->count; i++) {
        const struct domain *domain = keys->domains[i];
        store_keys_save_one(out, &domain->name, domain->was_there,
                            domain->is_there && !domain->awaits_read);
    }
    for (size_t i = 0; i < remembered; i++) {
        const struct remembered *domain = &keys->remembered[i];
        store_keys_save_one(out, &domain->name, domain->was_there, domain->is_there);
    }
}

/* Loads domains, none twice. A key that is there must count as one that was there. */
static bool store_keys_load_one(struct store_keys *keys, struct reader *reader)
{
    struct remembered loaded;
    bool is_name = dname_read_sized(reader, &loaded.name);
    uint8_t flags = reader_u8(reader);
    loaded.is_there = flags & IS_THERE;
    loaded.was_there = flags & WAS_THERE;
    if (!is_name || reader->failed || flags > (WAS_THERE | IS_THERE) ||
        (loaded.is_there && !loaded.was_there)) {
        return false;
    }
    for (size_t i = 0; i < keys->remembered_count; i++) {
        if (dname_equal(&keys->remembered[i].name, &loaded.name)) {
            return false;
        }
    }
    if (is_main(keys, &loaded.name)) {
        keys->is_main_there = loaded.is_there;
    }
    keys->remembered[keys->remembered_count++] = loaded;
    return true;
}

bool store_keys_load(struct store_keys *keys, struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = reader_u8(&reader);
    bool is_good = !reader.failed && count <= ENGINE_ZONES_MAX;
    for (uint8_t i = 0; is_good && i < count; i++) {
        is_good = store_keys_load_one(keys, &reader);
    }
    return is_good && reader_left(&reader) == 0;
}

bool store_keys_is_saved(struct slice saved)
{
    struct store_keys *keys = store_keys_new(&(struct store_keys_config){.is_required = false});
    bool is_saved = store_keys_load(keys, saved);
    store_keys_free(keys);
    return is_saved;
}
