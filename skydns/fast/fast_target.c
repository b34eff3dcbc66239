/* Answers ports (SRV): finds each target's node, and its name in the response. Most targets share a
 * suffix with the question, whose lookup has already passed that suffix's nodes. */
#include "skydns/fast/fast_internal.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/near.h"

struct fast_target {
    const struct store_node *node; /* NULL: it has no addresses */
    int shared_at; /* offset in the question's name of the target as its end; -1: none */
};

/* A target's labels, and the suffix it shares with the question. */
struct cut {
    struct slice wire;
    unsigned count;
    unsigned own;       /* labels before that suffix; count: none is shared */
    unsigned shared_at; /* the question's label at which the suffix begins */
    uint8_t offsets[DNAME_LABELS_MAX];
};

static bool is_shared_from(const struct cut *cut, unsigned label, const struct fast_query *q,
                           unsigned question_label)
{
    unsigned from = cut->offsets[label], at = q->offsets[question_label];
    return cut->wire.len - from == (size_t)q->name_len - at &&
           memcmp(cut->wire.ptr + from, q->name + at, cut->wire.len - from) == 0;
}

static void cut_labels(struct slice wire, struct cut *cut)
{
    cut->wire = wire;
    cut->count = 0;
    for (size_t at = 0; at < wire.len && wire.ptr[at] != 0; at += (uint8_t)wire.ptr[at] + 1u) {
        cut->offsets[cut->count++] = (uint8_t)at;
    }
}

static void cut_target(struct slice wire, const struct fast_query *q, struct cut *cut)
{
    cut_labels(wire, cut);
    unsigned i = 0;
    for (cut->own = 0; cut->own < cut->count; cut->own++) {
        size_t left = wire.len - cut->offsets[cut->own];
        while (i < q->label_count && (size_t)q->name_len - q->offsets[i] > left) {
            i++;
        }
        if (i < q->label_count && is_shared_from(cut, cut->own, q, i)) {
            break;
        }
    }
    cut->shared_at = i;
}

/* Returns whether an ordinary question's name can have the byte after case folding. */
static bool is_plain_byte(uint8_t c)
{
    return c != '.' && !(c >= 'A' && c <= 'Z');
}

static bool is_plain_label(struct slice label)
{
    for (size_t i = 0; i < label.len; i++) {
        if (!is_plain_byte((uint8_t)label.ptr[i])) {
            return false;
        }
    }
    return !lookup_is_wildcard(label);
}

/* Descends from the last node that question and target share. Sets *ret_node to NULL when there is
 * no such node. */
static bool fast_target_find_below(const struct store_node *node, const struct cut *cut,
                                   const struct store_node **ret_node)
{
    for (unsigned i = cut->own; i > 0; i--) {
        const char *at = cut->wire.ptr + cut->offsets[i - 1];
        struct slice label = slice_of(at + 1, (uint8_t)at[0]);
        if (!is_plain_label(label)) {
            return false;
        }
        node = node ? store_child(node, label) : NULL;
    }
    *ret_node = node;
    return true;
}

/* Finds the target like a question about its address. */
static bool find_from_zone(const struct fast_zones *zones, const struct cut *cut,
                           const struct store_node **ret_node)
{
    struct fast_query name = {.name_len = (uint8_t)cut->wire.len,
                              .label_count = (uint8_t)cut->count};
    struct store_scan scan = {.node = NULL};
    for (size_t i = 0; i < cut->wire.len; i++) {
        name.name[i] = (uint8_t)cut->wire.ptr[i];
        if (!is_plain_byte(name.name[i])) {
            return false;
        }
    }
    memcpy(name.offsets, cut->offsets, cut->count);
    const struct fast_zone *zone = fast_zones_find(zones, &name);
    if (zone && zone->node) {
        fast_scan_begin(zone, &name, &scan);
        store_scan_finish(&scan);
    }
    enum plain_action action =
        zone ? fast_name_action(zones, zone, &name, PLAIN_ADDRESS, scan.node) : PLAIN_NOT;
    *ret_node = action == PLAIN_ADDRESSES ? scan.node : NULL;
    return action != PLAIN_NOT;
}

/* Returns the last node that question and target share below their domain. NULL: there is none, or
 * the target may be in another domain below theirs, or in a stub zone. */
static const struct store_node *common_node(const struct fast_question *question,
                                            const struct cut *cut)
{
    unsigned shared = question->query->label_count - cut->shared_at;
    unsigned above = question->zone->zone->labels;
    if (cut->own == cut->count || shared <= above || shared - above > STORE_SCAN_PASSED_MAX ||
        (question->zone->has_zones_below && !question->zone->plain.is_uniform)) {
        return NULL;
    }
    return question->scan.passed[shared - above - 1];
}

/* Returns the action for a question about the target's address. The target has labels of the
 * question's domain and of the question in front of it; none is a wildcard. */
static enum plain_action address_action(const struct fast_question *question, const struct cut *cut,
                                        const struct store_node *node)
{
    const struct plain_names *plain = &question->zone->plain;
    if (plain->is_uniform) {
        return PLAIN_ADDRESSES; /* the question's own action, since targets answer it */
    }
    const struct plain_class *class =
        plain_names_class(plain, (const uint8_t *)cut->wire.ptr, cut->offsets,
                          cut->count - question->zone->zone->labels);
    return node ? class->when_found[PLAIN_ADDRESS] : class->when_absent;
}

/* Finds the target like a question about its address, from the last node that the question shares
 * with it. */
static bool find_from_node(const struct fast_question *question, const struct cut *cut,
                           const struct store_node *common, const struct store_node **ret_node)
{
    const struct store_node *node;
    if (!fast_target_find_below(common, cut, &node)) {
        return false;
    }
    enum plain_action action = address_action(question, cut, node);
    *ret_node = action == PLAIN_ADDRESSES ? node : NULL;
    return action != PLAIN_NOT;
}

/* Finds a target in wire form, of a question whose name is in lower case, plain and found. Returns
 * false to fall back to the slow path. */
static bool fast_target_find(const struct fast_zones *zones, const struct fast_question *question,
                             struct slice wire, struct fast_target *ret_target)
{
    struct cut cut;
    cut_target(wire, question->query, &cut);
    const struct store_node *common = common_node(question, &cut);
    ret_target->shared_at =
        cut.own == 0 && cut.count > 0 ? question->query->offsets[cut.shared_at] : -1;
    return common ? find_from_node(question, &cut, common, &ret_target->node)
                  : find_from_zone(zones, &cut, &ret_target->node);
}

const struct store_node *fast_target_find_alone(const struct fast_zones *zones, struct slice wire)
{
    struct cut cut;
    const struct store_node *node;
    cut_labels(wire, &cut);
    return find_from_zone(zones, &cut, &node) ? node : NULL;
}

/* ---- Answers ---- */

/* Returns whether a target is in the namespace of the question's name, which the client sees. */
static bool is_in_same_space(const struct fast *f, const struct fast_question *question,
                             struct slice target)
{
    const struct fast_query *q = question->query;
    unsigned below = (unsigned)question->zone->zone->labels + 2;
    if (f->zones.is_nested || q->label_count <= below) {
        return false;
    }
    const uint8_t *space = q->name + q->offsets[q->label_count - below];
    size_t len = (size_t)q->name_len - q->offsets[q->label_count - below], at = 0;
    while (target.len - at > len) {
        at += (uint8_t)target.ptr[at] + 1u;
    }
    return target.len - at == len && memcmp(target.ptr + at, space, len) == 0;
}

/* Returns the part of a target that the client sees. */
static enum view_part target_part(const struct fast *f, const struct fast_question *question,
                                  struct slice target)
{
    if (!f->view.visibility || is_in_same_space(f, question, target)) {
        return VIEW_WHOLE;
    }
    const struct dname name = dname_lower_of(target);
    return view_part_of(&f->view, &name);
}

/* Adds the addresses of a target, if all are of one family and have one TTL. Returns false to fall
 * back to the slow path. */
static bool fast_add_target(struct fast *f, const struct fast_question *question,
                            const struct engine_query *query, struct slice wire,
                            unsigned written_at)
{
    struct fast_target target;
    struct addresses v4, v6;
    if (!fast_target_find(&f->zones, question, wire, &target)) {
        return false;
    }
    unsigned owner_at =
        target.shared_at < 0 ? written_at : f->reply.name_at + (unsigned)target.shared_at;
    enum view_part part = target_part(f, question, wire);
    if (!target.node || part == VIEW_NONE) {
        return true;
    }
    if (part != VIEW_WHOLE || fast_has_near_records(f, query, wire)) {
        return false;
    }
    const struct store_ready *ready = store_node_ready(target.node);
    if (!fast_get_addresses(f, target.node, 0, &v4) ||
        !fast_get_addresses(f, target.node, 1, &v6) || (v4.count > 0 && v6.count > 0) ||
        (ready && !ready->is_level)) {
        return false;
    }
    const struct addresses *a = v4.count ? &v4 : &v6;
    f->reply.additionals = (uint16_t)(f->reply.additionals + a->count);
    return fast_put_addresses(f, a, owner_at) == a->count;
}

struct targets {
    unsigned count;
    uint32_t ttl_s;
    uint32_t weight_sum;
    const struct store_record *const *records;
};

static bool get_targets(const struct fast *f, const struct store_node *node,
                        const struct store_record **single, struct targets *ret)
{
    const struct store_ready *ready = store_node_ready(node);
    *single = store_node_single(node);
    if (*single) {
        *ret = (struct targets){1, (*single)->ttl_s, store_record_weight(*single), single};
        return (*single)->host == STORE_HOST_NAME;
    }
    if (!ready || ready->kind != STORE_READY_TARGETS) {
        return false;
    }
    unsigned count = ready->count[0];
    *ret = (struct targets){count, fast_level(f, count, ready->ttl_s[0]), ready->weight_sum,
                            ready->records};
    return true;
}

/* Leaves only the targets that are near, if there are any. */
static NOINLINE void keep_near_targets(struct fast *f, const struct fast_question *question,
                                       const struct engine_query *query, struct targets *targets)
{
    const struct near near = fast_find_near(f, question, query);
    unsigned near_count = 0;
    uint32_t ttl_s = UINT32_MAX, weight_sum = 0;
    if (!near.service) {
        return;
    }
    const struct store_node *node = near_node(&near, f->view.store);
    for (unsigned i = 0; i < targets->count; i++) {
        const struct store_record *record = targets->records[i];
        if (near_has_target(&near, node, store_record_host_wire(record))) {
            f->near_records[near_count++] = record;
            ttl_s = record->ttl_s < ttl_s ? record->ttl_s : ttl_s;
            weight_sum += store_record_weight(record);
        }
    }
    if (near_count > 0 && near_count < targets->count) {
        *targets = (struct targets){near_count, fast_level(f, near_count, ttl_s), weight_sum,
                                    f->near_records};
    }
}

/* Writes the SRV record. Returns the offset of the target's name; 0: it does not fit. */
static unsigned put_target(struct fast *f, const struct store_record *r, const struct targets *all)
{
    struct slice target = store_record_host_wire(r);
    uint8_t *data =
        fast_reply_record(&f->reply, f->reply.name_at, DNS_TYPE_SRV, all->ttl_s, 6 + target.len);
    if (!data) {
        return 0;
    }
    fast_put16(data, r->priority);
    fast_put16(data + 2, store_record_share(r, all->weight_sum));
    fast_put16(data + 4, r->port);
    memcpy(data + 6, target.ptr, target.len);
    return (unsigned)(data + 6 - f->reply.bytes);
}

bool fast_answer_targets(struct fast *f, const struct fast_question *question,
                         const struct engine_query *query)
{
    unsigned written_at[STORE_READY_MAX];
    const struct store_record *single;
    struct targets targets;
    if (!question->query->is_lower || !get_targets(f, question->scan.node, &single, &targets)) {
        return false;
    }
    const unsigned all = targets.count;
    if (all > 1 && query->view.zone) {
        keep_near_targets(f, question, query, &targets);
    }
    for (unsigned i = 0; i < targets.count; i++) {
        written_at[i] = put_target(f, targets.records[i], &targets);
        if (written_at[i] == 0) {
            return false;
        }
    }
    for (unsigned i = 0; i < targets.count; i++) {
        struct slice target = store_record_host_wire(targets.records[i]);
        if (!fast_add_target(f, question, query, target, written_at[i])) {
            return false;
        }
    }
    if (targets.count < all) {
        fast_count_near(f);
    }
    f->reply.answers = (uint16_t)targets.count;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, targets.ttl_s);
}
