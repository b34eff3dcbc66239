#include "skydns/sync/client_marks_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/topology.h"
#include "skydns/clients/visibility.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/domain_set_internal.h"
#include "skydns/sync/mark_keys_internal.h"
#include "skydns/sync/mark_saved_internal.h"
#include "skydns/sync/record_keys_internal.h"
#include "skydns/sync/topology_keys_internal.h"

enum { LINES_A_MINUTE = 10 };

/* Time between attempts after a denial. People give permissions, and the mirror itself would retry
 * every second. What was read before counts until it is denied again: an etcd that has just started
 * may deny for a moment. */
static const double denied_retry_s = 10;

/* The kinds of mark_keys_internal.h, and two more. */
enum { RANGE_RECORD = MARK_KINDS, RANGE_TOPOLOGY, RANGES };

static const struct {
    const char *key;
    const char *without; /* logged when etcd denies reading them */
} kinds[RANGES] = {
    [MARK_ADDRESS] = {"node-address/",
                      "cannot read which addresses pods share with nodes: no client is identified"},
    [MARK_LIST] = {"visible/", "cannot read which namespaces are visible to others: none is"},
    [RANGE_RECORD] = {"client/", "cannot read client records: no client's pod is named"},
    [RANGE_TOPOLOGY] = {"topology/",
                        "cannot read zones of headless Services: clients get all addresses"},
};

/* Keys of one kind in one domain. */
struct range {
    struct client_marks *marks;
    struct domain *domain;
    unsigned kind;
    struct mark_keys keys;         /* of the first two kinds */
    struct record_keys records;    /* of RANGE_RECORD */
    struct topology_keys topology; /* of RANGE_TOPOLOGY */
    char *prefix;
    struct etcd_mirror *mirror; /* NULL: etcd denies reading the keys, or they are not wanted */
    ev_timer retry;             /* runs then */
    bool is_denied;             /* told, until they can be read */
    struct err denial;          /* why */
    bool has_read;              /* etcd has said in this process what there is, even nothing */
    bool is_saved;              /* `keys` are an earlier process's: not believed before etcd's
                                 * word */
    struct broken_table *told;  /* unusable keys that the log has */
};

struct domain {
    struct dname name;    /* first: of domain_set_internal.h */
    bool is_known;        /* as told */
    bool are_lists_known; /* as told */
    struct range ranges[RANGES];
};

struct client_marks {
    struct client_marks_config config;
    bool is_optional;
    bool wants_topology;
    size_t listed_count; /* as told last */
    struct domain_set domains;
};

static struct domain *domain_at(const struct client_marks *marks, size_t i)
{
    return marks->domains.items[i];
}

/* ---- Telling ---- */

static void tell_visible(struct client_marks *marks)
{
    const struct client_marks_config *config = &marks->config;
    const struct mark *mark;
    size_t count = 0;
    for (size_t i = 0; i < marks->domains.count; i++) {
        count += domain_at(marks, i)->ranges[MARK_LIST].keys.marks.count;
    }
    struct visible_namespace *listed = xcalloc(count + 1, sizeof(*listed));
    count = 0;
    for (size_t i = 0; i < marks->domains.count; i++) {
        const struct range *range = &domain_at(marks, i)->ranges[MARK_LIST];
        const struct mark_keys *keys = &range->keys;
        for (size_t at = 0; range->has_read && (mark = mark_keys_next(keys, &at));) {
            if (mark->is_left_out) {
                continue;
            }
            listed[count++] = (struct visible_namespace){
                .ns = mark_label(mark), .text = slice_of(mark->list, mark->list_len)};
        }
    }
    if (count > 0 || marks->listed_count > 0) {
        clients_on_visible(config->owner, listed, count);
    }
    marks->listed_count = count;
    free(listed);
}

static void log_left_out(const struct range *range, size_t before)
{
    size_t left_out = range->keys.left_out;
    if (left_out > 0 && before == 0) {
        log_warn("visible-to lists of namespaces are left out, the longest ones: there is no room",
                 LOG_STR("keys", range->prefix), LOG_INT("lists", (int64_t)left_out),
                 LOG_INT("bytes", CLIENT_MARKS_LISTS_MAX));
    } else if (left_out == 0 && before > 0) {
        log_info("all visible-to lists of namespaces have room again",
                 LOG_STR("keys", range->prefix));
    }
}

/* Returns true if client_marks_is_known changes. */
static bool settle_known(struct domain *domain)
{
    const struct range *addresses = &domain->ranges[MARK_ADDRESS];
    const struct range *records = &domain->ranges[RANGE_RECORD];
    bool is_known = addresses->has_read && !addresses->keys.is_cut &&
                    !mark_keys_bars_all(&addresses->keys) &&
                    (records->has_read || records->is_denied);
    bool is_change = is_known != domain->is_known;
    domain->is_known = is_known;
    return is_change;
}

/* Does the same for lists: if etcd denies reading them, nothing is shown. */
static bool settle_lists(struct domain *domain)
{
    const struct range *lists = &domain->ranges[MARK_LIST];
    bool are_known = lists->has_read || lists->is_denied;
    bool is_change = are_known != domain->are_lists_known;
    domain->are_lists_known = are_known;
    return is_change;
}

static void client_marks_on_address(void *data, const struct ip *ip, bool is_there)
{
    const struct range *range = data;
    (is_there ? client_index_bar : client_index_unbar)(range->marks->config.index, ip);
}

/* Commits; is_told: what changes is told at once. Returns whether anything differs. */
static bool commit_keys(struct range *range, bool full, bool is_told)
{
    return range->kind == RANGE_RECORD ? record_keys_commit(&range->records, full, is_told)
           : range->kind == RANGE_TOPOLOGY
               ? topology_keys_commit(&range->topology, full)
               : mark_keys_commit(&range->keys, full, is_told ? client_marks_on_address : NULL,
                                  range);
}

/* Publishes the content of the keys as committed. */
static void client_marks_publish(struct range *range, bool full)
{
    const struct client_marks_config *config = &range->marks->config;
    bool is_list = range->kind == MARK_LIST, is_topology = range->kind == RANGE_TOPOLOGY;
    bool is_known_change = !is_list && !is_topology && settle_known(range->domain);
    bool is_told_each = !is_list && !is_known_change && range->domain->is_known;
    size_t left_out = range->keys.left_out;
    bool is_change = commit_keys(range, full, is_told_each);
    log_left_out(range, left_out);
    bool is_lists_change = is_list && settle_lists(range->domain);
    if (is_list && (is_change || is_lists_change)) {
        tell_visible(range->marks);
    }
    if (is_known_change) {
        clients_on_known(config->owner);
    }
    if (is_lists_change) {
        clients_on_lists_known(config->owner);
    }
    bool is_topology_read = is_topology && full; /* what is not ready may wait for it */
    if (is_change || is_known_change || is_lists_change || is_topology_read) {
        clients_on_ended(config->owner);
    }
}

/* ---- Unusable keys ---- */

static void client_marks_refuse(struct range *range, const struct etcd_kv *kv, const char *reason)
{
    static struct log_limit limit = {.burst = LINES_A_MINUTE};
    (void)broken_put(range->marks->config.broken, kv->key, kv->mod_revision, reason);
    if (broken_put(range->told, kv->key, kv->mod_revision, reason) && log_limit_pass(&limit)) {
        log_warn("key about clients cannot be used", LOG_SLICE("key", kv->key),
                 LOG_STR("reason", reason), LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

static void take_as_usable(struct range *range, struct slice key)
{
    broken_del(range->marks->config.broken, key);
    broken_del(range->told, key);
}

static bool forget_broken(void *data, const struct broken_key *key)
{
    const struct range *range = data;
    broken_del(range->marks->config.broken, key->key);
    return true;
}

static bool remember_broken(void *data, const struct broken_key *key)
{
    const struct range *range = data;
    (void)broken_put(range->marks->config.broken, key->key, key->mod_revision, key->reason);
    return true;
}

static void end_read_of_broken(struct range *range)
{
    broken_each(range->told, forget_broken, range);
    broken_end_read(range->told);
    broken_each(range->told, remember_broken, range);
}

void client_marks_remember_broken(struct client_marks *marks)
{
    for (size_t i = 0; i < marks->domains.count; i++) {
        for (unsigned kind = 0; kind < RANGES; kind++) {
            struct range *range = &domain_at(marks, i)->ranges[kind];
            broken_each(range->told, remember_broken, range);
        }
    }
}

/* ---- The mirror ---- */

static void begin_keys(struct range *range, bool keeps_old)
{
    record_keys_begin(&range->records, keeps_old); /* all but one are empty */
    topology_keys_begin(&range->topology, keeps_old);
    mark_keys_begin(&range->keys, keeps_old);
}

static void client_marks_on_begin(void *data, const struct etcd_mirror_read *read)
{
    struct range *range = data;
    begin_keys(range, read->keeps_old);
    if (!read->keeps_old) {
        broken_begin_read(range->told);
    }
}

static struct slice client_marks_label_of(const struct range *range, struct slice key)
{
    size_t len = strlen(range->prefix);
    return slice_of(key.ptr + len, key.len - len);
}

static void client_marks_on_put(void *data, const struct etcd_kv *kv)
{
    struct range *range = data;
    struct slice label = client_marks_label_of(range, kv->key);
    const char *reason =
        range->kind == RANGE_RECORD     ? record_keys_put(&range->records, label, kv->value)
        : range->kind == RANGE_TOPOLOGY ? topology_keys_put(&range->topology, label, kv->value)
                                        : mark_keys_put(&range->keys, label, kv->value);
    if (reason) {
        client_marks_refuse(range, kv, reason);
    } else {
        take_as_usable(range, kv->key);
    }
}

static void client_marks_on_del(void *data, struct slice key, int64_t revision UNUSED)
{
    struct range *range = data;
    struct slice label = client_marks_label_of(range, key);
    if (range->kind == RANGE_RECORD) {
        record_keys_del(&range->records, label);
    } else if (range->kind == RANGE_TOPOLOGY) {
        topology_keys_del(&range->topology, label);
    } else {
        mark_keys_del(&range->keys, label);
    }
    take_as_usable(range, key);
}

static void client_marks_on_commit(void *data, int64_t revision UNUSED, bool full)
{
    struct range *range = data;
    if (full) {
        range->has_read = true;
        range->is_saved = false;
        if (!range->keys.keeps_old) {
            end_read_of_broken(range);
        }
    }
    client_marks_publish(range, full);
}

/* Replaces what an earlier process knew by what etcd says. */
static void client_marks_on_caught_up(void *data)
{
    struct range *range = data;
    if (range->is_saved) {
        range->is_saved = false;
        range->has_read = true;
        client_marks_publish(range, false);
    }
}

/* Forgets the range's content as if it had never been read: it may have been true once only. */
static void forget_read(struct range *range)
{
    range->has_read = range->is_saved = false;
    begin_keys(range, false);
    client_marks_publish(range, true);
}

/* Handles a denial, and its end. Outages are those of the records' mirror. */
static void client_marks_on_state(void *data, const struct err *err)
{
    struct range *range = data;
    if (!err && range->is_denied) {
        range->is_denied = false;
        log_info("keys about clients can be read again", LOG_STR("keys", range->prefix));
    }
    if (err && err->code == ERR_REFUSED) {
        bool was_denied = range->is_denied;
        if (!was_denied && range->marks->is_optional) {
            log_debug("cannot read keys about clients", LOG_STR("keys", range->prefix),
                      LOG_STR("reason", err->msg));
        } else if (!was_denied) {
            log_warn(kinds[range->kind].without, LOG_STR("keys", range->prefix),
                     LOG_STR("reason", err->msg));
        }
        range->is_denied = true;
        range->denial = *err;
        timer_arm(range->marks->config.loop, &range->retry, denied_retry_s);
        etcd_mirror_stop(STEAL(range->mirror));
        if (was_denied || !range->has_read) {
            forget_read(range);
        }
        if (!was_denied) { /* waiting for this range ends */
            clients_on_ended(range->marks->config.owner);
        }
    }
}

static bool is_barring_all(const struct range *range)
{
    return range->kind == MARK_ADDRESS && mark_keys_bars_all(&range->keys);
}

bool client_marks_explain_trouble(const struct client_marks *marks, struct buf *out)
{
    bool is_trouble = false;
    for (size_t i = 0; i < marks->domains.count; i++) {
        for (unsigned kind = 0; kind < RANGES; kind++) {
            const struct range *range = &domain_at(marks, i)->ranges[kind];
            if (kind == RANGE_RECORD) {
                continue;
            }
            const char *separator = is_trouble ? "; " : "";
            if (range->is_denied) {
                buf_printf(out, "%scannot read %s: %s", separator, range->prefix,
                           range->denial.msg);
            } else if (is_barring_all(range)) {
                buf_printf(out, "%s%s says that pods are not known: no client is identified",
                           separator, range->prefix);
            } else if (range->keys.left_out > 0) {
                buf_printf(out,
                           "%s%zu lists below %s are left out, the longest: all together are "
                           "more than 4 MiB",
                           separator, range->keys.left_out, range->prefix);
            }
            is_trouble =
                is_trouble || range->is_denied || is_barring_all(range) || range->keys.left_out > 0;
        }
    }
    return is_trouble;
}

/* Starts a range's mirror. saved: of etcd_mirror_save; empty: nothing is known. */
static void client_marks_start_mirror(struct range *range, struct slice saved)
{
    const struct client_marks_config *config = &range->marks->config;
    char text[DNAME_TEXT_MAX];
    CLEANUP_FREE char *store_key =
        etcd_store_key(slice_str(dname_to_text(&range->domain->name, text)));
    range->mirror = etcd_mirror_start(config->etcd, &(struct etcd_mirror_config){
                                                        .prefix = slice_str(range->prefix),
                                                        .store_key = slice_str(store_key),
                                                        .keeps_old = true,
                                                        .stale_max_ms = config->stale_max_ms,
                                                        .saved = saved,
                                                        .full_begin = client_marks_on_begin,
                                                        .put = client_marks_on_put,
                                                        .del = client_marks_on_del,
                                                        .commit = client_marks_on_commit,
                                                        .state = client_marks_on_state,
                                                        .caught_up = client_marks_on_caught_up,
                                                        .data = range,
                                                    });
}

static void client_marks_on_retry(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    client_marks_start_mirror(timer->data, slice_of(NULL, 0));
}

/* ---- Across restarts: mark_saved_internal.h ---- */

/* Returns false if the range's keys are not known yet. */
static bool save_range(const struct range *range, struct buf *out)
{
    CLEANUP_BUF struct buf mirror = buf_of(out->limit);
    bool is_known = range->is_denied ||
                    (range->has_read && range->mirror && etcd_mirror_save(range->mirror, &mirror));
    if (is_known) {
        bool is_whole = range->has_read && !range->keys.is_cut;
        mark_saved_append(is_whole ? &range->keys : NULL, buf_slice(&mirror), out);
    }
    return is_known;
}

bool client_marks_save(const struct client_marks *marks, struct buf *out)
{
    size_t before = out->len;
    bool is_known = true;
    buf_append_u8(out, (uint8_t)marks->domains.count);
    for (size_t i = 0; is_known && i < marks->domains.count; i++) {
        const struct domain *domain = domain_at(marks, i);
        buf_append_sized(out, slice_of(domain->name.wire, domain->name.len));
        is_known = save_range(&domain->ranges[MARK_ADDRESS], out) &&
                   save_range(&domain->ranges[MARK_LIST], out);
    }
    if (!is_known || out->failed) {
        out->len = before;
        return false;
    }
    return true;
}

static bool has_any_record(const struct client_marks *marks)
{
    bool has_any = false;
    for (size_t i = 0; i < marks->domains.count && !has_any; i++) {
        has_any = domain_at(marks, i)->ranges[RANGE_RECORD].records.records.count > 0;
    }
    return has_any;
}

/* Appends what precedes the keys of a range with a section of its own. Returns whether the keys are
 * known, and must follow. */
static bool save_head(const struct range *range, struct buf *out)
{
    CLEANUP_BUF struct buf mirror = buf_of(out->limit);
    bool is_known = range->has_read && range->mirror && etcd_mirror_save(range->mirror, &mirror);
    const struct slice saved = buf_slice(&mirror);
    mark_saved_append_head(&range->domain->name, is_known ? &saved : NULL, out);
    return is_known;
}

/* Appends the keys of this kind, which has a section of its own, of all domains. */
static void save_kind(const struct client_marks *marks, unsigned kind, struct buf *out)
{
    buf_append_u8(out, (uint8_t)marks->domains.count);
    for (size_t i = 0; i < marks->domains.count; i++) {
        const struct range *range = &domain_at(marks, i)->ranges[kind];
        const bool is_known = save_head(range, out);
        if (is_known && kind == RANGE_RECORD) {
            record_keys_save(&range->records, out);
        } else if (is_known) {
            topology_keys_save(&range->topology, out);
        }
    }
    if (out->failed) {
        buf_clear(out);
    }
}

void client_marks_save_records(const struct client_marks *marks, struct buf *out)
{
    if (has_any_record(marks)) {
        save_kind(marks, RANGE_RECORD, out);
    }
}

void client_marks_save_topology(const struct client_marks *marks, struct buf *out)
{
    if (marks->wants_topology && topology_count(client_index_topology(marks->config.index)) > 0) {
        save_kind(marks, RANGE_TOPOLOGY, out);
    }
}

/* ---- Life ---- */

static void range_open(struct client_marks *marks, struct domain *domain, unsigned kind)
{
    struct range *range = &domain->ranges[kind];
    char text[DNAME_TEXT_MAX];
    range->marks = marks;
    range->domain = domain;
    range->prefix = etcd_writer_key(slice_str(dname_to_text(&domain->name, text)), kinds[kind].key);
    range->told = broken_new();
    range->kind = kind;
    mark_keys_init(&range->keys, kind == MARK_LIST ? MARK_LIST : MARK_ADDRESS);
    record_keys_init(&range->records, marks->config.index);
    topology_keys_init(&range->topology, marks->config.index, &domain->name);
    timer_init(&range->retry, client_marks_on_retry, range);
}

static void range_close(struct range *range)
{
    etcd_mirror_stop(range->mirror);
    ev_timer_stop(range->marks->config.loop, &range->retry);
    broken_each(range->told, forget_broken, range);
    broken_free(range->told);
    mark_keys_fini(&range->keys);
    record_keys_fini(&range->records);
    topology_keys_fini(&range->topology);
    free(range->prefix);
}

static struct domain *client_marks_domain_new(struct client_marks *marks, const struct dname *name)
{
    struct domain *domain = xcalloc(1, sizeof(*domain));
    domain->name = *name;
    for (unsigned kind = 0; kind < RANGES; kind++) {
        range_open(marks, domain, kind);
    }
    return domain;
}

static void client_marks_domain_free(struct domain *domain)
{
    for (unsigned kind = 0; kind < RANGES; kind++) {
        range_close(&domain->ranges[kind]);
    }
    free(domain);
}

/* Starts the client records. A process that saved the other keys about clients and no records had
 * none. */
static void client_marks_start_records(struct domain *domain, struct slice saved, bool is_saved)
{
    struct range *range = &domain->ranges[RANGE_RECORD];
    struct slice mirror = slice_of(NULL, 0);
    range->is_saved = is_saved && mark_saved_recall_keys(MARK_SAVED_RECORDS, saved, &domain->name,
                                                         &range->records, &mirror);
    (void)record_keys_commit(&range->records, false, false); /* is shown when it is known */
    client_marks_start_mirror(range, mirror);
}

/* Starts the topology keys, if they are wanted. Those that an earlier process had count at once. */
static void start_topology(struct domain *domain, struct slice saved, bool is_saved)
{
    struct range *range = &domain->ranges[RANGE_TOPOLOGY];
    struct slice mirror = slice_of(NULL, 0);
    if (!range->marks->wants_topology || range->mirror || range->is_denied) {
        return;
    }
    range->is_saved = is_saved && mark_saved_recall_keys(MARK_SAVED_TOPOLOGY, saved, &domain->name,
                                                         &range->topology, &mirror);
    client_marks_start_mirror(range, range->is_saved ? mirror : slice_of(NULL, 0));
}

static void stop_topology(struct domain *domain)
{
    struct range *range = &domain->ranges[RANGE_TOPOLOGY];
    range_close(range);
    *range = (struct range){.kind = RANGE_TOPOLOGY};
    range_open(domain->ranges[0].marks, domain, RANGE_TOPOLOGY);
}

void client_marks_set_topology(struct client_marks *marks, bool wants_topology)
{
    if (marks->wants_topology == wants_topology) {
        return;
    }
    marks->wants_topology = wants_topology;
    for (size_t i = 0; i < marks->domains.count; i++) {
        if (wants_topology) {
            start_topology(domain_at(marks, i), slice_of(NULL, 0), false);
        } else {
            stop_topology(domain_at(marks, i));
        }
    }
    clients_on_ended(marks->config.owner);
}

/* Starts with the keys of an earlier process, which etcd is to confirm: meanwhile an address may
 * have passed to another pod. */
static void client_marks_start(struct domain *domain, const struct client_marks_config *config)
{
    struct mark_saved before[MARK_KINDS];
    bool is_known = mark_saved_recall(config->saved, &domain->name, before);
    for (unsigned kind = 0; kind < MARK_KINDS; kind++) {
        struct range *range = &domain->ranges[kind];
        if (is_known) {
            mark_keys_fini(&range->keys);
            range->keys = before[kind].keys;
            range->is_saved = before[kind].is_known;
            (void)mark_keys_commit(&range->keys, false, NULL, NULL); /* is told when it is known */
        }
        client_marks_start_mirror(range, is_known ? before[kind].mirror : slice_of(NULL, 0));
    }
    client_marks_start_records(domain, config->saved_records, is_known);
    start_topology(domain, config->saved_topology, is_known);
}

struct client_marks *client_marks_new(const struct client_marks_config *config)
{
    struct client_marks *marks = xcalloc(1, sizeof(*marks));
    marks->config = *config;
    return marks;
}

void client_marks_free(struct client_marks *marks)
{
    if (marks) {
        for (size_t i = 0; i < marks->domains.count; i++) {
            client_marks_domain_free(marks->domains.items[i]);
        }
        free(marks);
    }
}

void client_marks_set_domains(struct client_marks *marks, const struct dname *names, size_t count)
{
    const struct client_marks_config *config = &marks->config;
    struct domain_set next = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        if (domain_set_index(&next, &names[i]) == next.count) {
            struct domain *known = domain_set_take(&marks->domains, &names[i]);
            next.items[next.count++] = known ? known : client_marks_domain_new(marks, &names[i]);
        }
    }
    for (size_t i = 0; i < marks->domains.count; i++) {
        client_marks_domain_free(marks->domains.items[i]); /* no longer in force */
    }
    marks->domains = next;
    for (size_t i = 0; i < next.count; i++) {
        struct domain *domain = next.items[i];
        if (!domain->ranges[MARK_LIST].mirror && !domain->ranges[MARK_LIST].is_denied) {
            client_marks_start(domain, config);
        }
    }
    marks->config.saved = marks->config.saved_records = marks->config.saved_topology =
        slice_of(NULL, 0);
    tell_visible(marks);
    clients_on_known(config->owner);
    clients_on_ended(config->owner);
}

/* ---- For others ---- */

static const struct domain *client_marks_find_domain(const struct client_marks *marks,
                                                     const struct dname *name)
{
    const size_t i = domain_set_index(&marks->domains, name);
    return i < marks->domains.count ? marks->domains.items[i] : NULL;
}

bool client_marks_is_known(const struct client_marks *marks, const struct dname *domain)
{
    const struct domain *found = client_marks_find_domain(marks, domain);
    return found && found->is_known;
}

bool client_marks_are_lists_known(const struct client_marks *marks, const struct dname *domain)
{
    const struct domain *found = client_marks_find_domain(marks, domain);
    return found && found->are_lists_known;
}

void client_marks_set_optional(struct client_marks *marks, bool is_optional)
{
    marks->is_optional = is_optional;
}

bool client_marks_are_settled(const struct client_marks *marks)
{
    bool are_settled = true;
    for (size_t i = 0; i < marks->domains.count && are_settled; i++) {
        const struct range *ranges = domain_at(marks, i)->ranges;
        for (unsigned kind = 0; kind < RANGES && are_settled; kind++) {
            are_settled = ranges[kind].has_read || ranges[kind].is_denied ||
                          ranges[kind].is_saved ||
                          (kind == RANGE_TOPOLOGY && !marks->wants_topology);
        }
    }
    return are_settled;
}

static void bar_address(void *index, const struct ip *ip)
{
    client_index_bar(index, ip);
}

void client_marks_show(const struct client_marks *marks)
{
    for (size_t i = 0; i < marks->domains.count; i++) {
        const struct range *ranges = domain_at(marks, i)->ranges;
        if (domain_at(marks, i)->is_known) {
            mark_keys_each_address(&ranges[MARK_ADDRESS].keys, bar_address, marks->config.index);
            record_keys_show(&ranges[RANGE_RECORD].records);
        }
    }
}
