#include "skydns/pages/missing_sketch.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

enum { SPACE_GROUPS = 1024 }; /* of namespaces by their hash: two that fall together share */

/* Counts a name that is no entry. */
struct missing_trace {
    uint32_t tag; /* of the name's hash, the half that does not choose the set */
    uint16_t count;
    uint8_t space;        /* of the namespace's hash */
    uint8_t tried;        /* the name may become an entry from a count of 2^tried */
    uint16_t first, last; /* periods of its samples */
};

struct missing_sketch {
    uint16_t period; /* the current one, modulo 2^16 */
    bool has_time;
    size_t count;
    uint64_t hashes[MISSING_ENTRIES_MAX];
    uint16_t groups[MISSING_ENTRIES_MAX];
    struct missing_entry entries[MISSING_ENTRIES_MAX];
    struct missing_trace (*traces)[MISSING_WAYS]; /* MISSING_SETS of them */
};

/* Key with its hashes. */
struct hashed {
    uint64_t hash;
    uint32_t space;
};

static struct hashed hash_key(struct missing_key key)
{
    struct {
        uint64_t name;
        uint64_t space;
    } both = {seeded_hash64(slice_of(key.name->wire, key.name->len)), seeded_hash64(key.space)};
    return (struct hashed){.hash = seeded_hash64(slice_of(&both, sizeof(both))),
                           .space = (uint32_t)both.space};
}

struct missing_sketch *missing_sketch_new(void)
{
    struct missing_sketch *sketch = xcalloc(1, sizeof(*sketch));
    seeded_hash_init();
    sketch->traces = xcalloc(MISSING_SETS, sizeof(sketch->traces[0]));
    return sketch;
}

void missing_sketch_free(struct missing_sketch *sketch)
{
    if (sketch) {
        free(sketch->traces);
        free(sketch);
    }
}

/* ---- Entries ---- */

static size_t missing_sketch_find(const struct missing_sketch *sketch, uint64_t hash)
{
    size_t i = 0;
    while (i < sketch->count && sketch->hashes[i] != hash) {
        i++;
    }
    return i;
}

static void missing_sketch_remove(struct missing_sketch *sketch, size_t at)
{
    const size_t last = --sketch->count;
    sketch->hashes[at] = sketch->hashes[last];
    sketch->groups[at] = sketch->groups[last];
    sketch->entries[at] = sketch->entries[last];
}

static void forget_period(struct missing_sketch *sketch, unsigned slot)
{
    for (size_t i = sketch->count; i > 0; i--) {
        struct missing_entry *entry = &sketch->entries[i - 1];
        entry->count -= entry->periods[slot];
        entry->periods[slot] = 0;
        if (entry->count == 0) {
            missing_sketch_remove(sketch, i - 1);
        }
    }
}

void missing_sketch_set_time(struct missing_sketch *sketch, int64_t now_s)
{
    const uint16_t period = (uint16_t)(now_s / MISSING_PERIOD_S);
    uint16_t passed = sketch->has_time ? (uint16_t)(period - sketch->period) : 0;
    sketch->has_time = true;
    for (unsigned i = 1; i <= passed && i <= MISSING_PERIODS; i++) {
        forget_period(sketch, (uint16_t)(sketch->period + i) % MISSING_PERIODS);
    }
    sketch->period = period;
}

/* ---- Traces ---- */

static struct missing_trace *trace_set(const struct missing_sketch *sketch, uint64_t hash)
{
    return sketch->traces[hash % MISSING_SETS];
}

static uint16_t trace_age(const struct missing_sketch *sketch, const struct missing_trace *trace)
{
    return (uint16_t)(sketch->period - trace->last);
}

/* Returns the name's trace, or NULL. */
static struct missing_trace *find_trace(const struct missing_sketch *sketch, struct hashed key)
{
    struct missing_trace *set = trace_set(sketch, key.hash);
    const uint32_t tag = (uint32_t)(key.hash >> 32);
    for (unsigned i = 0; i < MISSING_WAYS; i++) {
        if (set[i].count > 0 && set[i].tag == tag && set[i].space == (uint8_t)key.space &&
            trace_age(sketch, &set[i]) < MISSING_PERIODS) {
            return &set[i];
        }
    }
    return NULL;
}

static bool is_lesser(const struct missing_sketch *sketch, const struct missing_trace *a,
                      const struct missing_trace *b)
{
    return a->count < b->count ||
           (a->count == b->count && trace_age(sketch, a) > trace_age(sketch, b));
}

/* Chooses the trace that a new one replaces: a free or old one; else the least counted one, of its
 * own namespace if that has its share of the set. A set is in the order in which traces came. */
static struct missing_trace *choose_trace(const struct missing_sketch *sketch, struct hashed key)
{
    struct missing_trace *set = trace_set(sketch, key.hash), *least = NULL, *own = NULL;
    unsigned own_count = 0;
    for (unsigned i = 0; i < MISSING_WAYS; i++) {
        struct missing_trace *trace = &set[i];
        if (trace->count == 0 || trace_age(sketch, trace) >= MISSING_PERIODS) {
            return trace;
        }
        least = !least || is_lesser(sketch, trace, least) ? trace : least;
        if (trace->space == (uint8_t)key.space) {
            own_count++;
            own = !own || is_lesser(sketch, trace, own) ? trace : own;
        }
    }
    return own && own_count >= MISSING_WAYS / 2 ? own : least;
}

/* Puts a trace behind the others of its set, in the place of the chosen one. */
static struct missing_trace *replace_trace(const struct missing_sketch *sketch, struct hashed key,
                                           struct missing_trace *chosen,
                                           const struct missing_trace *trace)
{
    struct missing_trace *last = trace_set(sketch, key.hash) + MISSING_WAYS - 1;
    memmove(chosen, chosen + 1, (size_t)(last - chosen) * sizeof(*chosen));
    *last = *trace;
    return last;
}

static struct missing_trace *trace_of(struct missing_sketch *sketch, struct hashed key)
{
    struct missing_trace *trace = find_trace(sketch, key);
    if (!trace) {
        const struct missing_trace fresh = {.tag = (uint32_t)(key.hash >> 32),
                                            .space = (uint8_t)key.space,
                                            .first = sketch->period,
                                            .last = sketch->period};
        trace = replace_trace(sketch, key, choose_trace(sketch, key), &fresh);
    }
    return trace;
}

/* Forgets the part of a trace that is older than an hour, as if its samples had come evenly. */
static void age_trace(const struct missing_sketch *sketch, struct missing_trace *trace)
{
    const unsigned span = (uint16_t)(sketch->period - trace->first) + 1U;
    if (span > MISSING_PERIODS) {
        trace->count = (uint16_t)((uint32_t)trace->count * MISSING_PERIODS / span);
        trace->first = (uint16_t)(sketch->period - (MISSING_PERIODS - 1));
    }
}

/* ---- Samples ---- */

/* Returns whether the name may be an entry, by its count. */
static bool has_place(const struct missing_sketch *sketch, uint32_t count)
{
    enum { COUNT_FOR_SHARE = 2 }; /* names asked once take no place from any */
    return sketch->count < MISSING_ENTRIES_MAX || count >= COUNT_FOR_SHARE;
}

bool missing_sketch_add(struct missing_sketch *sketch, struct missing_key key, uint16_t type)
{
    const struct hashed hashed = hash_key(key);
    const size_t at = missing_sketch_find(sketch, hashed.hash);
    if (at < sketch->count) {
        struct missing_entry *entry = &sketch->entries[at];
        entry->type = type;
        entry->count++;
        entry->periods[sketch->period % MISSING_PERIODS]++;
        return false;
    }
    struct missing_trace *trace = trace_of(sketch, hashed);
    age_trace(sketch, trace);
    trace->last = sketch->period;
    trace->count = (uint16_t)(trace->count + (trace->count < UINT16_MAX));
    return trace->count >= 1U << trace->tried && has_place(sketch, trace->count);
}

void missing_sketch_decline(struct missing_sketch *sketch, struct missing_key key)
{
    enum { TRIED_MAX = 15 }; /* the largest bit of a count */
    struct missing_trace *trace = find_trace(sketch, hash_key(key));
    while (trace && trace->tried < TRIED_MAX && trace->count >= 1U << trace->tried) {
        trace->tried++;
    }
}

/* Makes a trace again of an entry that gives way. */
static void demote_entry(struct missing_sketch *sketch, size_t at)
{
    const struct missing_entry *entry = &sketch->entries[at];
    const struct missing_key key = {&entry->name, missing_entry_space(entry)};
    const struct hashed hashed = hash_key(key);
    struct missing_trace trace = {
        .tag = (uint32_t)(hashed.hash >> 32),
        .count = (uint16_t)(entry->count < UINT16_MAX ? entry->count : UINT16_MAX),
        .space = (uint8_t)hashed.space,
        .first = sketch->period,
        .last = sketch->period};
    for (unsigned back = 0; back < MISSING_PERIODS; back++) {
        const uint16_t period = (uint16_t)(sketch->period - back);
        trace.first = entry->periods[period % MISSING_PERIODS] > 0 ? period : trace.first;
    }
    struct missing_trace *chosen = choose_trace(sketch, hashed);
    if (chosen->count < trace.count || trace_age(sketch, chosen) >= MISSING_PERIODS) {
        (void)replace_trace(sketch, hashed, chosen, &trace);
    }
}

/* Chooses the entry that gives way to a name of this group and count; sketch->count: none. */
static size_t choose_entry(const struct missing_sketch *sketch, uint16_t group, uint32_t count)
{
    uint16_t sizes[SPACE_GROUPS] = {0};
    uint16_t group_count = 0, largest = 0;
    size_t least = sketch->count;
    for (size_t i = 0; i < sketch->count; i++) {
        const uint16_t size = ++sizes[sketch->groups[i]];
        group_count += size == 1;
        largest = size > largest ? size : largest;
    }
    const uint16_t share = MISSING_ENTRIES_MAX / (group_count + (sizes[group] == 0));
    const bool is_below = sizes[group] < share && sizes[group] + 1 < largest;
    for (size_t i = 0; i < sketch->count; i++) {
        const bool may_go = is_below
                                ? sizes[sketch->groups[i]] == largest
                                : sketch->groups[i] == group || sizes[sketch->groups[i]] > share;
        if (may_go &&
            (least == sketch->count || sketch->entries[i].count < sketch->entries[least].count)) {
            least = i;
        }
    }
    return least < sketch->count && (is_below || sketch->entries[least].count < count)
               ? least
               : sketch->count;
}

/* Spreads the samples of a trace evenly over its periods. */
static void spread_samples(struct missing_entry *entry, const struct missing_sketch *sketch,
                           const struct missing_trace *trace)
{
    const unsigned span = (uint16_t)(sketch->period - trace->first) + 1U;
    const unsigned periods = span < MISSING_PERIODS ? span : MISSING_PERIODS;
    entry->count = trace->count;
    for (unsigned i = 0; i < periods; i++) {
        const uint32_t part = trace->count / periods + (i < trace->count % periods);
        entry->periods[(uint16_t)(sketch->period - i) % MISSING_PERIODS] = part;
    }
}

void missing_sketch_admit(struct missing_sketch *sketch, struct missing_key key, uint16_t type)
{
    const struct hashed hashed = hash_key(key);
    struct missing_trace *trace = find_trace(sketch, hashed);
    const uint16_t group = (uint16_t)(hashed.space % SPACE_GROUPS);
    if (!trace || key.space.len > MISSING_SPACE_MAX ||
        missing_sketch_find(sketch, hashed.hash) < sketch->count) {
        return;
    }
    struct missing_entry entry = {
        .name = *key.name, .space_len = (uint8_t)key.space.len, .type = type};
    if (key.space.len > 0) {
        memcpy(entry.space, key.space.ptr, key.space.len);
    }
    spread_samples(&entry, sketch, trace);
    size_t at = sketch->count;
    if (at == MISSING_ENTRIES_MAX) {
        at = choose_entry(sketch, group, entry.count);
        if (at == sketch->count) {
            return;
        }
        trace->count = 0; /* its place is free for the other one, perhaps */
        demote_entry(sketch, at);
    } else {
        trace->count = 0;
        sketch->count++;
    }
    sketch->hashes[at] = hashed.hash;
    sketch->groups[at] = group;
    sketch->entries[at] = entry;
}

uint32_t missing_sketch_count(const struct missing_sketch *sketch, struct missing_key key)
{
    const struct hashed hashed = hash_key(key);
    const size_t at = missing_sketch_find(sketch, hashed.hash);
    if (at < sketch->count) {
        return sketch->entries[at].count;
    }
    const struct missing_trace *trace = find_trace(sketch, hashed);
    return trace ? trace->count : 0;
}

static int by_count_then_name(const void *a, const void *b)
{
    const struct missing_entry *const *left = a, *const *right = b;
    const uint32_t x = (*left)->count, y = (*right)->count;
    return x != y ? (x < y) - (x > y) : memcmp((*left)->name.wire, (*right)->name.wire, DNAME_MAX);
}

size_t missing_sketch_entries(const struct missing_sketch *sketch,
                              const struct missing_entry *ret_entries[MISSING_ENTRIES_MAX])
{
    for (size_t i = 0; i < sketch->count; i++) {
        ret_entries[i] = &sketch->entries[i];
    }
    qsort(ret_entries, sketch->count, sizeof(ret_entries[0]), by_count_then_name);
    return sketch->count;
}
