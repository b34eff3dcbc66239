#include "skydns/pages/missing_names.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_hint_internal.h"
#include "skydns/pages/missing_suffixes_internal.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/sync/store_sync.h"
#include "skydns/tap/query_tap.h"

enum {
    LOOKS_US = 5000,    /* after which a turn begins no other look: that keeps the loop */
    LOOKS_MAX = 16,     /* new names of a turn; the other samples only count */
    LOOKS_ONCE_MAX = 4, /* of them, sampled once */
    SURE = 8,           /* samples: another candidate would have been seen, too, but one in 2,000 */
    HOUR_S = MISSING_PERIODS * MISSING_PERIOD_S,
};

static const double take_interval_s = 0.25;

struct missing_names {
    struct ev_loop *loop;
    const struct metrics_sources *sources;
    ev_timer timer;
    struct missing_sketch *sketch;
    int64_t start_s; /* monotonic */
    uint64_t expansions;
    unsigned looks, looks_once; /* of this turn, */
    int64_t looked_us;          /* which began then */

    /* Counts of upstreams at the begin of each period, by its number modulo. */
    int64_t period; /* the current one; -1: none yet */
    struct missing_upstream upstreams[MISSING_PERIODS][UPSTREAM_FIGURES_MAX];
};

/* ---- Names that are worth a place ---- */

/* Returns whether a client asks for the other candidates of the same short name about as often. */
static bool has_siblings(const struct missing_names *m, const struct missing_suffixes *suffixes,
                         unsigned suffix, const struct dname *before, struct slice space,
                         uint32_t count)
{
    for (unsigned i = 0; i < MISSING_SUFFIXES; i++) {
        struct dname sibling;
        if (i != suffix && missing_with_suffix(before, &suffixes->items[i], &sibling) &&
            missing_are_alike(
                missing_sketch_count(m->sketch, (struct missing_key){&sibling, space}), count)) {
            return true;
        }
    }
    return false;
}

/* Returns whether the last label is a namespace's. */
static bool ends_in_namespace(const struct store *store, const struct engine_zone *zone,
                              const struct dname *before)
{
    struct dname_labels labels;
    struct dname at = zone->domain;
    dname_labels(before, &labels);
    return dname_prepend(&at, slice_str("svc")) &&
           dname_prepend(&at, dname_label(before, labels.offsets[labels.count - 1])) &&
           store_find(store, &at);
}

/* Returns whether a name that nothing explains is the first part of an external name, or may be
 * one. */
static bool is_perhaps_external(const struct missing_names *m, const struct store *store,
                                const struct engine_zone *zone, struct missing_key key)
{
    const struct missing_suffixes suffixes = missing_suffixes_of(zone, key.name, key.space);
    const uint32_t count = missing_sketch_count(m->sketch, key);
    for (unsigned i = 0; i < MISSING_SUFFIXES; i++) {
        struct dname before;
        if (missing_before_suffix(key.name, &suffixes.items[i], &before) >= 2 &&
            !(i == 1 && ends_in_namespace(store, zone, &before)) &&
            (count < SURE || has_siblings(m, &suffixes, i, &before, key.space, count))) {
            return true;
        }
    }
    return false;
}

static bool is_worth_a_place(const struct missing_names *m, const struct store *store,
                             const struct engine_zone *zone, struct missing_key key)
{
    struct missing_hint hint;
    missing_hint_find(m->sources, key.name, key.space, &hint);
    return hint.why != MISSING_UNEXPLAINED || !is_perhaps_external(m, store, zone, key);
}

/* ---- Samples ---- */

static bool may_look(struct missing_names *m, struct missing_key key)
{
    const bool is_once = missing_sketch_count(m->sketch, key) == 1;
    if (m->looks == LOOKS_MAX || clock_monotonic_us() - m->looked_us > LOOKS_US ||
        (is_once && m->looks_once == LOOKS_ONCE_MAX)) {
        return false;
    }
    m->looks++;
    m->looks_once += is_once;
    return true;
}

void missing_names_add(struct missing_names *m, const struct name_sample *sample)
{
    const struct engine_config *config = publisher_newest_config(m->sources->publisher);
    const struct store *store = store_sync_store(m->sources->sync);
    struct dname name = sample->name;
    dname_lower(&name);
    const struct engine_zone *zone = engine_config_own_zone(config, &name);
    if (!zone || !store) {
        return;
    }
    const struct slice space = client_space_label(
        client_index_find(store_sync_clients(m->sources->sync), &sample->client));
    const struct missing_suffixes suffixes = missing_suffixes_of(zone, &name, space);
    const bool exists = store_find(store, &name) != NULL;
    if (!exists && missing_is_expansion(config, store, zone, &suffixes, &name)) {
        m->expansions++;
        return;
    }
    const struct missing_key key = {&name, space};
    if (missing_sketch_add(m->sketch, key, sample->type) && may_look(m, key)) {
        if (is_worth_a_place(m, store, zone, key)) {
            missing_sketch_admit(m->sketch, key, sample->type);
        } else {
            missing_sketch_decline(m->sketch, key);
        }
    }
}

/* ---- Upstreams ---- */

static const struct upstream_figures *upstream_counts_of(const struct missing_names *m)
{
    return resolver_counts(m->sources->resolver)->upstreams;
}

static struct missing_upstream upstream_now(const struct upstream_figure *figure)
{
    return (struct missing_upstream){.queries = counter_get(&figure->queries),
                                     .failures = counter_get(&figure->failures),
                                     .timeouts = counter_get(&figure->timeouts)};
}

/* Notes the counts at the begin of a new period, in the place of those of an hour ago. */
static void follow_upstreams(struct missing_names *m, int64_t now_s)
{
    const int64_t period = now_s / MISSING_PERIOD_S;
    const struct upstream_figures *figures = upstream_counts_of(m);
    const size_t count = upstream_figures_count(figures);
    const int64_t begun = m->period < 0 ? period : m->period; /* the counts begin at 0 */
    for (int64_t at = begun + 1; at <= period && at <= begun + MISSING_PERIODS; at++) {
        for (size_t i = 0; i < count; i++) {
            m->upstreams[at % MISSING_PERIODS][i] = upstream_now(&figures->items[i]);
        }
    }
    m->period = period;
}

struct missing_upstream missing_names_upstream(const struct missing_names *names, size_t item)
{
    assert(item < UPSTREAM_FIGURES_MAX);
    const struct missing_upstream now = upstream_now(&upstream_counts_of(names)->items[item]);
    const struct missing_upstream *then =
        &names->upstreams[(names->period + 1) % MISSING_PERIODS][item];
    return (struct missing_upstream){.queries = now.queries - then->queries,
                                     .failures = now.failures - then->failures,
                                     .timeouts = now.timeouts - then->timeouts};
}

/* ---- Turns ---- */

void missing_names_take(struct missing_names *m)
{
    struct name_sample sample;
    const int64_t now_s = clock_monotonic_ms() / 1000;
    if (!m->sources->tap || !m->sources->sync) {
        return; /* the start is in progress */
    }
    missing_sketch_set_time(m->sketch, now_s);
    if (m->sources->resolver) {
        follow_upstreams(m, now_s);
    }
    m->looks = m->looks_once = 0;
    m->looked_us = clock_monotonic_us();
    for (unsigned i = 0; i < MISSING_SAMPLES_MAX && m->sources->tap->missing &&
                         name_samples_take(m->sources->tap->missing, &sample);
         i++) {
        missing_names_add(m, &sample);
    }
}

static void on_take(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    missing_names_take(timer->data);
}

struct missing_names *missing_names_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct missing_names *m = xcalloc(1, sizeof(*m));
    m->loop = loop;
    m->sources = sources;
    m->sketch = missing_sketch_new();
    m->start_s = clock_monotonic_ms() / 1000;
    m->period = -1;
    timer_init_every(&m->timer, on_take, m, take_interval_s);
    ev_timer_start(loop, &m->timer);
    return m;
}

void missing_names_free(struct missing_names *names)
{
    if (names) {
        ev_timer_stop(names->loop, &names->timer);
        missing_sketch_free(names->sketch);
        free(names);
    }
}

const struct missing_sketch *missing_names_sketch(const struct missing_names *names)
{
    return names->sketch;
}

uint64_t missing_names_expansions(const struct missing_names *names)
{
    return names->expansions;
}

int64_t missing_names_span_s(const struct missing_names *names)
{
    const int64_t span_s = clock_monotonic_ms() / 1000 - names->start_s;
    return span_s < HOUR_S ? span_s : HOUR_S;
}
