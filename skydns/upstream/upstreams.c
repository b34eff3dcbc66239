#include "skydns/upstream/upstreams.h"

#include <assert.h>

struct upstream *upstreams_find(struct upstreams *upstreams, const struct nameserver *server)
{
    for (size_t i = 0; i < upstreams->count; i++) {
        if (nameserver_equal(&upstreams->items[i].server, server)) {
            return &upstreams->items[i];
        }
    }
    return NULL;
}

void upstreams_set(struct upstreams *upstreams, const struct nameserver *servers, size_t count)
{
    struct upstreams old = *upstreams;
    assert(count <= UPSTREAMS_MAX);
    upstreams->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct upstream *known = upstreams_find(&old, &servers[i]);
        upstreams->items[i] = known ? *known : (struct upstream){.server = servers[i]};
    }
}

bool upstream_is_dead(const struct upstream *upstream)
{
    return upstream->failures >= UPSTREAM_FAILURES_MAX;
}

static size_t upstreams_collect(const struct upstreams *upstreams, size_t first, bool dead,
                                struct nameserver *ret_order)
{
    size_t n = 0;
    for (size_t i = 0; i < upstreams->count; i++) {
        const struct upstream *u = &upstreams->items[(first + i) % upstreams->count];
        if (!u->is_looping && upstream_is_dead(u) == dead) {
            ret_order[n++] = u->server;
        }
    }
    return n;
}

size_t upstreams_order(const struct upstreams *upstreams, size_t first,
                       struct nameserver ret_order[UPSTREAMS_MAX])
{
    size_t n = upstreams_collect(upstreams, first, false, ret_order);
    return n + upstreams_collect(upstreams, first, true, ret_order + n);
}

/* Sets `turned_s` if the state changed. Returns whether it did. */
static bool note_turn(struct upstream *upstream, bool has_turned, uint32_t now_s)
{
    upstream->turned_s = has_turned ? now_s : upstream->turned_s;
    return has_turned;
}

bool upstream_note_failure(struct upstream *upstream, const struct upstream_failure *failure,
                           uint32_t now_s)
{
    upstream->failed_s = now_s;
    if (upstream_is_dead(upstream) || upstream->answered_us > failure->asked_us) {
        return false;
    }
    if (upstream->failures > 0 && upstream->failed_name == failure->name_hash) {
        upstream->is_suspected = true;
        return false;
    }
    upstream->failures++;
    upstream->failed_name = failure->name_hash;
    upstream->was_away = false;
    return note_turn(upstream, upstream_is_dead(upstream), now_s);
}

bool upstream_note_probe_silence(struct upstream *upstream, uint32_t now_s)
{
    bool was_dead = upstream_is_dead(upstream);
    if (!was_dead && !upstream->is_suspected) {
        return false; /* it has answered meanwhile */
    }
    upstream->failures = UPSTREAM_FAILURES_MAX;
    upstream->was_away = true;
    return note_turn(upstream, !was_dead, now_s);
}

bool upstream_note_answer(struct upstream *upstream, int64_t now_us, uint32_t now_s)
{
    bool was_dead = upstream_is_dead(upstream);
    upstream->failures = 0;
    upstream->is_suspected = false;
    upstream->answered_us = now_us;
    upstream->has_answered = true;
    /* Another server may be in its place, and a probe has no EDNS. A slow one is not queried any
     * more often while it is dead. */
    upstream->knows_edns = upstream->knows_edns && !was_dead;
    return note_turn(upstream, was_dead, now_s);
}

bool upstream_note_edns(struct upstream *upstream, bool took_edns, bool was_plain, uint32_t now_s)
{
    const uint32_t before_s = upstream->plain_until_s;
    upstream->knows_edns |= took_edns;
    if (took_edns) {
        upstream->plain_until_s = 0;
    } else if (was_plain && before_s <= now_s) {
        upstream->plain_until_s = now_s + UPSTREAM_PLAIN_S;
    }
    return upstream->plain_until_s != before_s;
}

bool upstream_note_verdict(struct upstream *upstream, enum upstream_verdict verdict, uint32_t now_s)
{
    bool was_looping = upstream->is_looping;
    upstream->is_looping = verdict == UPSTREAM_LOOPS;
    if (was_looping && verdict != UPSTREAM_LOOPS) {
        upstream->failures = verdict == UPSTREAM_SILENT ? UPSTREAM_FAILURES_MAX : 0;
    }
    return note_turn(upstream, upstream->is_looping != was_looping, now_s);
}

size_t upstreams_dead(const struct upstreams *upstreams)
{
    size_t n = 0;
    for (size_t i = 0; i < upstreams->count; i++) {
        n += upstreams->items[i].is_looping || upstream_is_dead(&upstreams->items[i]);
    }
    return n;
}

size_t upstreams_looping(const struct upstreams *upstreams)
{
    size_t n = 0;
    for (size_t i = 0; i < upstreams->count; i++) {
        n += upstreams->items[i].is_looping;
    }
    return n;
}

/* ---- Figures ---- */

size_t upstream_figures_count(const struct upstream_figures *figures)
{
    return atomic_load_explicit(&figures->count, memory_order_acquire);
}

struct upstream_figure *upstream_figures_of(struct upstream_figures *figures,
                                            const struct dname *zone,
                                            const struct nameserver *server)
{
    size_t count = upstream_figures_count(figures);
    for (size_t i = 0; i < count; i++) {
        struct upstream_figure *figure = &figures->items[i];
        if (nameserver_equal(&figure->server, server) && dname_equal(&figure->zone, zone)) {
            return figure;
        }
    }
    if (count == UPSTREAM_FIGURES_MAX) {
        return &figures->others;
    }
    figures->items[count].zone = *zone;
    figures->items[count].server = *server;
    atomic_store_explicit(&figures->count, count + 1, memory_order_release);
    return &figures->items[count];
}
