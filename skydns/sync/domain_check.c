#include "skydns/sync/domain_check_internal.h"

#include "common/base/log.h"
#include "skydns/records/store.h"
#include "skydns/sync/store_keys.h"

/* ---- Which domain has keys ---- */

struct dname domain_check_guess(const struct dname *name)
{
    struct dname_labels labels;
    struct dname domain = *name;
    dname_labels(name, &labels);
    unsigned strip = labels.count > 2 ? labels.count - 2u : 0;
    for (unsigned i = 0; i + 1 < labels.count; i++) {
        struct slice label = dname_label(name, labels.offsets[i]);
        if (slice_equal(label, slice_str("svc")) || slice_equal(label, slice_str("pod"))) {
            strip = i + 1;
        }
    }
    dname_strip(&domain, strip);
    return domain;
}

static bool take_child(void *data, const struct store_node *child)
{
    const struct store_node **ret = data;
    *ret = child;
    return false;
}

/* Takes a child of the root; reverse names belong to no domain. */
static bool take_top(void *data, const struct store_node *child)
{
    return slice_equal(store_node_label(child), slice_str("arpa")) || take_child(data, child);
}

/* Returns any record but a reverse name's, or NULL: a node has one at or below it. */
static const struct store_record *any_record(const struct store *store)
{
    const struct store_node *node = NULL;
    store_each_child(store_root(store), take_top, &node);
    while (node && !store_node_record(node)) {
        store_each_child(node, take_child, &node);
    }
    return node ? store_node_record(node) : NULL;
}

/* Returns the domain of the record: one in force, or a guess. */
static struct dname domain_check_domain_of(const struct store_record *record,
                                           const struct store_keys *keys)
{
    struct dname name;
    store_record_name(record, &name);
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        if (dname_is_within(&name, store_keys_domain(keys, i))) {
            return *store_keys_domain(keys, i);
        }
    }
    return domain_check_guess(&name);
}

/* ---- Telling it once ---- */

static size_t find_told(const struct domain_check *check, const struct dname *domain)
{
    size_t i = 0;
    while (i < check->told_count && !dname_equal(&check->told[i], domain)) {
        i++;
    }
    return i;
}

static void domain_check_forget(struct domain_check *check, const struct dname *domain)
{
    size_t i = find_told(check, domain);
    if (i < check->told_count) {
        check->told[i] = check->told[--check->told_count];
    }
}

static void domain_check_report(struct domain_check *check, const struct dname *domain,
                                const struct dname *other)
{
    char text[DNAME_TEXT_MAX], other_text[DNAME_TEXT_MAX];
    if (find_told(check, domain) < check->told_count || check->told_count == ENGINE_ZONES_MAX) {
        return;
    }
    check->told[check->told_count++] = *domain;
    log_warn("etcd has no key of a domain, but keys of another one",
             LOG_STR("domain", dname_to_text(domain, text)),
             LOG_STR("other", dname_to_text(other, other_text)));
}

void domain_check(struct domain_check *check, const struct store *store,
                  const struct store_keys *keys)
{
    const struct store_record *record = store ? any_record(store) : NULL;
    if (!record) {
        return;
    }
    struct dname other = domain_check_domain_of(record, keys);
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        const struct dname *domain = store_keys_domain(keys, i);
        if (store_find(store, domain)) {
            domain_check_forget(check, domain);
        } else {
            domain_check_report(check, domain, &other);
        }
    }
}
