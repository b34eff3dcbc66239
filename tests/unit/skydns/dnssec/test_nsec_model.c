/* Proofs made of what nsec.h gives, for random questions about random zones, against what a
 * validator makes of them. The names are such that bounds matter: their bytes are the lowest, the
 * highest and those beside capitals, labels and names have their greatest lengths, and after each
 * proof a name at one of its bounds begins to exist. */
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/dnssec/nsec.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/nsec_gaps.h"
#include "tests/support/skydns/nsec_model.h"
#include "tests/support/unit_test.h"

enum {
    ZONES = 200,
    QUESTIONS = 15, /* about each, */
    CHANGES = 4,    /* and of the zone after each of them */
    FIRST_NAMES = 40,
    NAMES_MAX = 250,
    TYPES_MAX = 6,
    PROBES = 12,
    TYPE_RRSIG = 46,
    TYPE_NSEC = 47,
};

struct name {
    struct dname name;
    uint16_t types[TYPES_MAX];
    size_t type_count; /* 0: an empty non-terminal */
};

struct world {
    struct dname zone;
    size_t count; /* names[0] is the apex */
    struct name names[NAMES_MAX];
};

struct proof {
    size_t count;
    struct nsec_model records[2];
};

/* ---- Random names ---- */

static uint8_t random_byte(struct world *w)
{
    static const uint8_t bytes[] = {0,   1,   ')', '*', '+', '-', '@', '[', '_',
                                    'a', 'b', 'z', '{', 127, 128, 254, 255};
    return bytes[random_below(sizeof(bytes))];
}

/* Room for a label in front of a name. */
static size_t room_below(const struct dname *name)
{
    size_t left = DNAME_MAX - 1u - name->len;
    return left > DNAME_LABEL_MAX ? DNAME_LABEL_MAX : left;
}

struct label {
    size_t len;
    uint8_t bytes[DNAME_LABEL_MAX];
};

static struct label random_label(struct world *w, size_t room)
{
    size_t lengths[] = {1, 1, 2, 3, 1 + random_below(8), 62, 63, room, room > 1 ? room - 1 : 1};
    struct label label = {.len = lengths[random_below(ARRAY_LEN(lengths))]};
    label.len = label.len < room ? label.len : room;
    uint8_t same = random_byte(w);
    bool is_same = random_below(3) == 0;
    for (size_t i = 0; i < label.len; i++) {
        label.bytes[i] = is_same && i + 1 < label.len ? same : random_byte(w);
    }
    return label;
}

/* Not a capital: names are lower case. */
static uint8_t nsec_model_beside(struct world *w, uint8_t c)
{
    uint8_t to = (uint8_t)(random_below(2) ? c + 1 : c - 1);
    return to == 'A' ? '[' : to == 'Z' ? '@' : to;
}

/* Another label near this one. */
static void change_label(struct world *w, struct label *label, size_t room)
{
    switch (random_below(6)) {
    case 0:
        label->bytes[label->len - 1] = nsec_model_beside(w, label->bytes[label->len - 1]);
        break;
    case 1:
        label->len -= label->len > 1;
        break;
    case 2:
        while (label->len < room) {
            label->bytes[label->len++] = 255;
        }
        break;
    case 3:
        memset(label->bytes, 255, room);
        label->len = room;
        break;
    case 4:
        *label = random_label(w, room);
        break;
    default:
        if (label->len < room) {
            label->bytes[label->len++] = 0;
        }
    }
}

static void change_sibling(struct world *w, struct dname *name)
{
    struct label label = {.len = name->wire[0]};
    memcpy(label.bytes, name->wire + 1, label.len);
    dname_strip(name, 1);
    change_label(w, &label, room_below(name));
    assert_true(dname_prepend(name, slice_of(label.bytes, label.len)));
}

static void add_label(struct world *w, struct dname *name)
{
    if (name->len + 2 > DNAME_MAX) {
        return;
    }
    size_t room = room_below(name);
    struct label label = random_label(w, room);
    unsigned kind = random_below(4);
    if (kind == 0) {
        label = (struct label){.len = 1};
    } else if (kind == 1) {
        memset(label.bytes, 255, room);
        label.len = room;
    } else if (kind == 2) {
        label = (struct label){.len = 1, .bytes = {'*'}};
    }
    assert_true(dname_prepend(name, slice_of(label.bytes, label.len)));
}

/* A name of the zone near this one. */
static struct dname nsec_model_near(struct world *w, const struct dname *name)
{
    struct dname n = *name;
    for (unsigned steps = 1 + random_below(3); steps > 0; steps--) {
        unsigned kind = random_below(5);
        if (kind < 2 || n.len == w->zone.len) {
            add_label(w, &n);
        } else if (kind == 2) {
            dname_strip(&n, 1);
        } else {
            change_sibling(w, &n);
        }
    }
    return n;
}

/* ---- Zones ---- */

static const struct name *nsec_model_find(const struct world *w, const struct dname *name)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->names[i].name.len == name->len &&
            memcmp(w->names[i].name.wire, name->wire, name->len) == 0) {
            return &w->names[i];
        }
    }
    return NULL;
}

static bool has_star(const struct dname *name)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    for (unsigned i = 0; i < labels.count; i++) {
        if (slice_equal(dname_label(name, labels.offsets[i]), slice_str("*"))) {
            return true;
        }
    }
    return false;
}

/* With the names above it, empty. The zone has no wildcards. */
static void nsec_model_add_name(struct world *w, const struct dname *name)
{
    static const uint16_t types[] = {DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT, DNS_TYPE_SRV, 257};
    struct dname above = *name;
    if (has_star(name)) {
        return;
    }
    for (bool is_first = true; !nsec_model_find(w, &above) && w->count < NAMES_MAX;
         is_first = false) {
        struct name *n = &w->names[w->count++];
        *n = (struct name){.name = above};
        for (size_t i = 0; is_first && i < ARRAY_LEN(types); i++) {
            if (i == 0 || random_below(3) == 0) {
                n->types[n->type_count++] = types[i];
            }
        }
        dname_strip(&above, 1);
    }
}

static void random_zone(struct world *w)
{
    w->count = 0;
    w->zone = (struct dname){.len = 1};
    for (unsigned labels = 1 + random_below(3); labels > 0; labels--) {
        add_label(w, &w->zone);
    }
    if (has_star(&w->zone)) {
        assert_true(dname_from_text(slice_str("cluster.local."), &w->zone));
    }
    w->names[w->count++] = (struct name){
        .name = w->zone, .types = {DNS_TYPE_SOA, DNS_TYPE_NS, DNS_TYPE_DNSKEY}, .type_count = 3};
    for (unsigned i = 0; i < FIRST_NAMES; i++) {
        struct dname name = nsec_model_near(w, &w->names[random_below((uint32_t)w->count)].name);
        nsec_model_add_name(w, &name);
    }
}

/* ---- Proofs, as nsec.h says ---- */

static void nsec_model_add_record(struct proof *p, const struct dname *owner,
                                  const struct dname *next, const struct name *n)
{
    uint16_t types[TYPES_MAX + 2] = {TYPE_RRSIG, TYPE_NSEC};
    size_t count = 2;
    for (size_t i = 0; n && i < n->type_count; i++) {
        types[count++] = n->types[i];
    }
    struct nsec_model *record = &p->records[p->count++];
    record->owner = *owner;
    record->next = *next;
    record->bitmap_len = nsec_bitmap(types, count, record->bitmap);
}

static struct nsec_gap nsec_model_gap_around(const struct world *w, const struct dname *name)
{
    struct nsec_gap gap;
    bool goes_down = nsec_before(name, &gap.owner) != NSEC_BEFORE_PARENT;
    while (goes_down && nsec_model_find(w, &gap.owner)) {
        goes_down = nsec_last_below(&gap.owner, &gap.owner);
    }
    nsec_after(name, &w->zone, &gap.next);
    return gap;
}

static void nsec_model_cover(const struct world *w, const struct dname *next_closer,
                             const struct dname *wildcard, struct proof *p)
{
    struct nsec_gap gaps[] = {nsec_model_gap_around(w, next_closer),
                              nsec_model_gap_around(w, wildcard)};
    size_t count = nsec_join(&gaps[0], &gaps[1], &w->zone) ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        nsec_model_add_record(p, &gaps[i].owner, &gaps[i].next, nsec_model_find(w, &gaps[i].owner));
    }
}

static struct dname dnssec_nsec_model_encloser_of(const struct world *w, const struct dname *name,
                                                  struct dname *ret_next_closer)
{
    struct dname at = *name;
    while (!nsec_model_find(w, &at)) {
        *ret_next_closer = at;
        dname_strip(&at, 1);
    }
    return at;
}

/* ---- What must hold ---- */

static void nsec_model_refuse(const char *what, const struct dname *name,
                              const struct nsec_model *record)
{
    char text[3][DNAME_TEXT_MAX];
    fail_msg("%s: `%s`; `%s` NSEC `%s`", what, dname_to_text(name, text[0]),
             record ? dname_to_text(&record->owner, text[1]) : "",
             record ? dname_to_text(&record->next, text[2]) : "");
}

static void assert_nothing_denied(const struct world *w, const struct proof *p)
{
    for (size_t r = 0; r < p->count; r++) {
        for (size_t i = 0; i < w->count; i++) {
            if (nsec_model_covers(&p->records[r], &w->zone, &w->names[i].name)) {
                nsec_model_refuse("a name that exists is denied", &w->names[i].name,
                                  &p->records[r]);
            }
        }
    }
}

static void nsec_model_check_no_name(const struct world *w, const struct dname *name,
                                     struct proof *p)
{
    struct dname next_closer = {0}, shown,
                 encloser = dnssec_nsec_model_encloser_of(w, name, &next_closer);
    struct dname wildcard = encloser;
    assert_true(dname_prepend(&wildcard, slice_str("*")));
    p->count = 0;
    nsec_model_cover(w, &next_closer, &wildcard, p);
    const char *why = nsec_model_no_name(p->records, p->count, &w->zone, name, &shown);
    if (why) {
        nsec_model_refuse(why, name, &p->records[0]);
    }
    if (nsec_model_order(&shown, &encloser) != 0) {
        nsec_model_refuse("another closest encloser", name, &p->records[0]);
    }
}

static void nsec_model_check_no_type(const struct world *w, const struct name *n, struct proof *p)
{
    static const uint16_t types[] = {DNS_TYPE_A,   DNS_TYPE_AAAA,   DNS_TYPE_TXT, DNS_TYPE_SRV,
                                     DNS_TYPE_SOA, DNS_TYPE_DNSKEY, 257,          513};
    struct dname next;
    nsec_next(&n->name, &w->zone, &next);
    p->count = 0;
    nsec_model_add_record(p, &n->name, &next, n);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        bool has = false;
        for (size_t t = 0; t < n->type_count; t++) {
            has = has || n->types[t] == types[i];
        }
        const char *why = nsec_model_no_type(p->records, p->count, &w->zone, &n->name, types[i]);
        if ((why != NULL) != has) {
            nsec_model_refuse(why ? why : "a type that it has is denied", &n->name, &p->records[0]);
        }
    }
}

static void nsec_model_check(const struct world *w, const struct dname *name, struct proof *p)
{
    const struct name *n = nsec_model_find(w, name);
    if (n) {
        nsec_model_check_no_type(w, n, p);
    } else {
        nsec_model_check_no_name(w, name, p);
    }
    assert_nothing_denied(w, p);
}

/* Something at a bound of the proof begins to exist. */
static void add_at_bound(struct world *w, const struct proof *p)
{
    const struct nsec_model *record = &p->records[random_below((uint32_t)p->count)];
    const struct dname *bound = random_below(3) ? &record->owner : &record->next;
    struct dname name = random_below(2) ? *bound : nsec_model_near(w, bound);
    nsec_model_add_name(w, &name);
}

UNIT_TEST(test_proofs)
{
    static struct world w;
    random_state = 20170611;
    static struct proof p;
    for (unsigned zone = 0; zone < ZONES; zone++) {
        random_zone(&w);
        for (unsigned question = 0; question < QUESTIONS; question++) {
            struct dname name = nsec_model_near(&w, &w.names[random_below((uint32_t)w.count)].name);
            nsec_model_check(&w, &name, &p);
            for (unsigned change = 0; change < CHANGES; change++) {
                add_at_bound(&w, &p);
                nsec_model_check(&w, &name, &p);
            }
        }
    }
}

/* Names as near as can be do not lie in the gaps. */
UNIT_TEST(test_gaps)
{
    static struct world w;
    random_state = 4470;
    for (unsigned zone = 0; zone < ZONES * QUESTIONS; zone++) {
        random_zone(&w);
        struct dname name = nsec_model_near(&w, &w.names[random_below((uint32_t)w.count)].name);
        struct dname bounds[4] = {name, name, name, name};
        if (name.len == w.zone.len) {
            continue;
        }
        (void)nsec_before(&name, &bounds[1]);
        nsec_after(&name, &w.zone, &bounds[2]);
        (void)nsec_last_below(&name, &bounds[3]);
        for (unsigned i = 0; i < PROBES; i++) {
            struct dname probe = nsec_model_near(&w, &bounds[i % ARRAY_LEN(bounds)]);
            const char *fault = nsec_gaps_fault(&w.zone, &name, &probe);
            struct dname other = nsec_model_near(&w, &name);
            if (!fault && other.len > w.zone.len) {
                fault = nsec_gaps_join_fault(&w.zone, &name, &other, &probe);
            }
            if (fault) {
                nsec_model_refuse(fault, &name,
                                  &(struct nsec_model){.owner = probe, .next = other});
            }
        }
    }
}
