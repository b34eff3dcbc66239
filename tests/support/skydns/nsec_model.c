#include "tests/support/skydns/nsec_model.h"

#include <string.h>

enum {
    TYPE_NS = 2,
    TYPE_CNAME = 5,
    TYPE_SOA = 6,
    TYPE_DNAME = 39,
    TYPE_DS = 43,
    TYPE_RRSIG = 46,
    TYPE_NSEC = 47
};

/* ---- Names ---- */

struct split {
    unsigned count;
    const uint8_t *labels[DNAME_LABELS_MAX]; /* the rightmost first; each with its length */
};

static struct split nsec_model_split(const struct dname *name)
{
    struct split s;
    unsigned count = 0;
    for (const uint8_t *at = name->wire; *at != 0; at += 1 + *at) {
        count++;
    }
    s.count = count;
    for (const uint8_t *at = name->wire; *at != 0; at += 1 + *at) {
        s.labels[--count] = at;
    }
    return s;
}

static int nsec_model_folded(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* RFC 4034 6.1: "unsigned left-justified octet strings. The absence of a octet sorts before a zero
 * value octet" */
static int order_of_labels(const uint8_t *a, const uint8_t *b)
{
    for (int i = 1;; i++) {
        int of_a = i <= a[0] ? nsec_model_folded(a[i]) : -1,
            of_b = i <= b[0] ? nsec_model_folded(b[i]) : -1;
        if (of_a != of_b || of_a < 0) {
            return of_a - of_b;
        }
    }
}

static unsigned nsec_model_common_labels(const struct split *a, const struct split *b)
{
    unsigned n = 0;
    while (n < a->count && n < b->count && order_of_labels(a->labels[n], b->labels[n]) == 0) {
        n++;
    }
    return n;
}

int nsec_model_order(const struct dname *a, const struct dname *b)
{
    struct split of_a = nsec_model_split(a), of_b = nsec_model_split(b);
    unsigned n = nsec_model_common_labels(&of_a, &of_b);
    if (n == of_a.count || n == of_b.count) {
        return (int)of_a.count - (int)of_b.count;
    }
    return order_of_labels(of_a.labels[n], of_b.labels[n]);
}

static bool nsec_model_is_at_or_below(const struct dname *name, const struct dname *above)
{
    struct split of_name = nsec_model_split(name), of_above = nsec_model_split(above);
    return nsec_model_common_labels(&of_name, &of_above) == of_above.count;
}

static bool nsec_model_is_below(const struct dname *name, const struct dname *above)
{
    return nsec_model_is_at_or_below(name, above) && nsec_model_order(name, above) != 0;
}

/* The last `count` labels of a name. */
static struct dname nsec_model_tail(const struct dname *name, unsigned count)
{
    struct split s = nsec_model_split(name);
    size_t from = count == 0 ? name->len - 1u : (size_t)(s.labels[count - 1] - name->wire);
    struct dname t = {.len = (uint8_t)(name->len - from)};
    memcpy(t.wire, name->wire + from, t.len);
    return t;
}

/* ---- Records ---- */

bool nsec_model_covers(const struct nsec_model *record, const struct dname *zone,
                       const struct dname *name)
{
    return nsec_model_order(&record->owner, name) < 0 && nsec_model_is_at_or_below(name, zone) &&
           (nsec_model_order(name, &record->next) < 0 ||
            nsec_model_order(&record->next, zone) == 0);
}

bool nsec_model_has_type(const struct nsec_model *record, uint16_t type)
{
    for (size_t at = 0; at + 2 <= record->bitmap_len; at += 2u + record->bitmap[at + 1]) {
        size_t byte = type % 256 / 8;
        if (record->bitmap[at] == type / 256) {
            return byte < record->bitmap[at + 1] &&
                   (record->bitmap[at + 2 + byte] >> (7 - type % 8) & 1) != 0;
        }
    }
    return false;
}

/* RFC 4034 4.1.2 */
static const char *bitmap_fault(const struct nsec_model *record)
{
    int last_window = -1;
    for (size_t at = 0; at < record->bitmap_len;) {
        if (at + 2 > record->bitmap_len) {
            return "a window without a length";
        }
        int window = record->bitmap[at], len = record->bitmap[at + 1];
        if (window <= last_window) {
            return "windows not in order";
        }
        if (len < 1 || len > 32 || at + 2 + (size_t)len > record->bitmap_len) {
            return "a window's length";
        }
        if (record->bitmap[at + 1 + (size_t)len] == 0) {
            return "a trailing zero octet in a window";
        }
        last_window = window;
        at += 2 + (size_t)len;
    }
    return NULL;
}

const char *nsec_model_fault(const struct nsec_model *record, const struct dname *zone)
{
    const char *fault = bitmap_fault(record);
    if (fault) {
        return fault;
    }
    if (!nsec_model_is_at_or_below(&record->owner, zone) ||
        !nsec_model_is_at_or_below(&record->next, zone)) {
        return "a name out of the zone";
    }
    if (nsec_model_order(&record->next, zone) != 0 &&
        nsec_model_order(&record->owner, &record->next) >= 0) {
        return "the next name is not behind the owner";
    }
    /* RFC 4035 2.3; of the pseudo-types none can be there. */
    if (!nsec_model_has_type(record, TYPE_NSEC) || !nsec_model_has_type(record, TYPE_RRSIG)) {
        return "no NSEC or no RRSIG in the bitmap";
    }
    return NULL;
}

static bool is_delegation(const struct nsec_model *record)
{
    return nsec_model_has_type(record, TYPE_NS) && !nsec_model_has_type(record, TYPE_SOA);
}

/* RFC 6840 4.1: an NSEC of an ancestor that is a delegation or has a DNAME says nothing of what is
 * below it. */
static bool may_deny(const struct nsec_model *record, const struct dname *name)
{
    return !nsec_model_is_below(name, &record->owner) ||
           (!is_delegation(record) && !nsec_model_has_type(record, TYPE_DNAME));
}

static const struct nsec_model *nsec_model_covering(const struct nsec_model *records, size_t count,
                                                    const struct dname *zone,
                                                    const struct dname *name)
{
    for (size_t i = 0; i < count; i++) {
        if (nsec_model_covers(&records[i], zone, name) && may_deny(&records[i], name)) {
            return &records[i];
        }
    }
    return NULL;
}

static const struct nsec_model *nsec_model_matching(const struct nsec_model *records, size_t count,
                                                    const struct dname *name)
{
    for (size_t i = 0; i < count; i++) {
        if (nsec_model_order(&records[i].owner, name) == 0) {
            return &records[i];
        }
    }
    return NULL;
}

static const char *first_fault(const struct nsec_model *records, size_t count,
                               const struct dname *zone)
{
    const char *fault = NULL;
    for (size_t i = 0; i < count && !fault; i++) {
        fault = nsec_model_fault(&records[i], zone);
    }
    return fault;
}

/* ---- Proofs ---- */

/* The longest ancestor that the name shares with either end of the record that covers it: what is
 * there exists, and nothing lies between. */
static struct dname nsec_model_encloser_of(const struct nsec_model *record,
                                           const struct dname *name)
{
    struct split of_name = nsec_model_split(name), owner = nsec_model_split(&record->owner),
                 next = nsec_model_split(&record->next);
    unsigned by_owner = nsec_model_common_labels(&of_name, &owner),
             by_next = nsec_model_common_labels(&of_name, &next);
    return nsec_model_tail(name, by_owner > by_next ? by_owner : by_next);
}

/* Stricter than a validator, which may not look at all records: none may say that the name is
 * there, or something below it, and whichever covers the name shows the same encloser. */
static const char *nsec_model_contradiction(const struct nsec_model *records, size_t count,
                                            const struct dname *zone, const struct dname *name,
                                            const struct dname *encloser)
{
    for (size_t i = 0; i < count; i++) {
        if (nsec_model_is_at_or_below(&records[i].owner, name) ||
            nsec_model_is_at_or_below(&records[i].next, name)) {
            return "an NSEC has the name, or one below it";
        }
        struct dname other = nsec_model_encloser_of(&records[i], name);
        if (nsec_model_covers(&records[i], zone, name) && nsec_model_order(&other, encloser) != 0) {
            return "two closest enclosers";
        }
    }
    return NULL;
}

const char *nsec_model_no_name(const struct nsec_model *records, size_t count,
                               const struct dname *zone, const struct dname *name,
                               struct dname *ret_encloser)
{
    const char *fault = first_fault(records, count, zone);
    if (fault) {
        return fault;
    }
    const struct nsec_model *record = nsec_model_covering(records, count, zone, name);
    if (!record) {
        return "the name is not covered";
    }
    *ret_encloser = nsec_model_encloser_of(record, name);
    fault = nsec_model_contradiction(records, count, zone, name, ret_encloser);
    if (fault) {
        return fault;
    }
    struct dname wildcard = *ret_encloser;
    if (!dname_prepend(&wildcard, slice_str("*"))) {
        return NULL; /* no such name can be */
    }
    if (nsec_model_matching(records, count, &wildcard)) {
        return "an NSEC at the wildcard";
    }
    return nsec_model_covering(records, count, zone, &wildcard) ? NULL
                                                                : "the wildcard is not covered";
}

const char *nsec_model_no_type(const struct nsec_model *records, size_t count,
                               const struct dname *zone, const struct dname *name, uint16_t type)
{
    const char *fault = first_fault(records, count, zone);
    if (fault) {
        return fault;
    }
    const struct nsec_model *record = nsec_model_matching(records, count, name);
    if (!record) {
        record = nsec_model_covering(records, count, zone, name);
        return record && nsec_model_is_below(&record->next, name) ? NULL : "no NSEC at the name";
    }
    if (nsec_model_has_type(record, type) || nsec_model_has_type(record, TYPE_CNAME)) {
        return "the bitmap has the type, or CNAME";
    }
    /* The parent's NSEC at a delegation denies DS only, the child's everything but DS. */
    if (type != TYPE_DS && is_delegation(record)) {
        return "the NSEC is the parent's";
    }
    if (type == TYPE_DS && nsec_model_has_type(record, TYPE_SOA)) {
        return "the NSEC is the child's";
    }
    return NULL;
}
