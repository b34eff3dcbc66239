#include "skydns/fast/fast_target_internal.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/answer/lookup.h"

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

bool fast_target_find(const struct fast_zones *zones, const struct fast_question *question,
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
