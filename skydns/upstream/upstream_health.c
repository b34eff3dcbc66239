#include "skydns/upstream/upstream_health_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/forwarder_counts.h"

/* Bounds the log lines: a server that ignores only some names dies and recovers every few
 * questions. */
enum { TURNS_TOLD_A_MINUTE = 10 };

static const double first_pause_s = 0.5, pause_s = 1, later_pause_s = 5;
enum { EARLY_PROBES = 60 }; /* about a minute */

struct probe {
    struct upstream_health *owner;
    bool is_running;
    struct nameserver server;
    unsigned sent;
    ev_timer timer;
    struct exchange *exchange;
};

struct upstream_health {
    struct upstream_health_config config;
    struct upstreams upstreams;
    /* Twice the servers: after the list is replaced, probes of removed servers last until their
     * next turn. A dead server that finds no slot gets no probe until it dies again. */
    struct probe probes[2 * UPSTREAMS_MAX];
};

static void begin_probe(struct upstream_health *h, const struct nameserver *server);

static void upstream_health_report(struct upstream_health *h)
{
    h->config.changed(h->config.data);
}

static void log_death(const struct nameserver *server)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    if (log_limit_pass(&limit)) {
        log_warn("upstream does not respond, skipping it", LOG_SERVER(server));
    }
}

void upstream_health_failed(struct upstream_health *health, const struct nameserver *server,
                            const struct upstream_failure *failure)
{
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    bool has_died = upstream && upstream_note_failure(upstream, failure, upstreams_now_s());
    log_debug("upstream failed", LOG_SERVER(server),
              LOG_INT("failures", upstream ? (int64_t)upstream->failures : 0),
              LOG_INT("is_dead", upstream && upstream_is_dead(upstream)));
    if (upstream) {
        upstream_health_report(health);
    }
    if (has_died) {
        log_death(server);
    }
    if (has_died || (upstream && upstream->is_suspected)) {
        begin_probe(health, server);
    }
}

void upstream_health_answered(struct upstream_health *health, const struct nameserver *server)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    bool is_first = upstream && !upstream->has_answered;
    bool has_revived =
        upstream && upstream_note_answer(upstream, clock_monotonic_us(), upstreams_now_s());
    if (is_first || has_revived) {
        upstream_health_report(health);
    }
    if (!has_revived) {
        return;
    }
    if (log_limit_pass(&limit)) {
        log_info("upstream responds again", LOG_SERVER(server));
    }
    health->config.revived(health->config.data, upstream->was_away);
}

void upstream_health_edns(struct upstream_health *health, const struct nameserver *server,
                          bool took_edns, bool was_plain)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    if (!upstream || !upstream_note_edns(upstream, took_edns, was_plain, upstreams_now_s())) {
        return;
    }
    upstream_health_report(health);
    if (!took_edns && log_limit_pass(&limit)) {
        log_warn("upstream responds only without EDNS, sending queries without it: no signatures, "
                 "no long responses over UDP",
                 LOG_SERVER(server), LOG_INT("for_s", UPSTREAM_PLAIN_S));
    }
}

bool upstream_health_is_plain(struct upstream_health *health, const struct nameserver *server)
{
    const struct upstream *upstream = upstreams_find(&health->upstreams, server);
    return upstream && upstream->plain_until_s > upstreams_now_s();
}

bool upstream_health_may_be_plain(struct upstream_health *health, const struct nameserver *server)
{
    const struct upstream *upstream = upstreams_find(&health->upstreams, server);
    return upstream && !upstream->knows_edns;
}

void upstream_health_judge(struct upstream_health *health, const struct nameserver *server,
                           enum upstream_verdict verdict)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    char text[NAMESERVER_TEXT_MAX];
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    if (!upstream || !upstream_note_verdict(upstream, verdict, upstreams_now_s())) {
        return;
    }
    upstream_health_report(health);
    nameserver_format(server, text);
    if (verdict == UPSTREAM_SILENT) {
        begin_probe(health, server);
    }
    if (!log_limit_pass(&limit)) {
        return;
    }
    if (verdict == UPSTREAM_LOOPS) {
        log_error(
            "upstream leads back to this program, not used; correct -nameservers or resolv.conf",
            LOG_STR("server", text));
    } else {
        log_info("upstream no longer leads back to this program", LOG_STR("server", text),
                 LOG_INT("is_answering", verdict == UPSTREAM_REPLIES));
    }
}

void upstream_health_set(struct upstream_health *health, const struct nameserver *servers,
                         size_t count)
{
    upstreams_set(&health->upstreams, servers, count);
    upstream_health_report(health);
}

const struct upstreams *upstream_health_servers(const struct upstream_health *health)
{
    return &health->upstreams;
}

size_t upstream_health_order(const struct upstream_health *health, size_t first,
                             struct nameserver ret_order[UPSTREAMS_MAX])
{
    return upstreams_order(&health->upstreams, first, ret_order);
}

/* ---- Probes ---- */

static bool is_in_doubt(struct upstream_health *h, const struct nameserver *server)
{
    const struct upstream *upstream = upstreams_find(&h->upstreams, server);
    return upstream && (upstream_is_dead(upstream) || upstream->is_suspected) &&
           !upstream->is_looping;
}

static void note_probe_silence(struct upstream_health *h, const struct nameserver *server)
{
    struct upstream *upstream = upstreams_find(&h->upstreams, server);
    if (upstream && upstream_note_probe_silence(upstream, upstreams_now_s())) {
        upstream_health_report(h);
        log_death(server);
    }
}

static void probe_end_exchange(struct probe *p)
{
    if (p->exchange) {
        exchange_free(STEAL(p->exchange));
        counter_sub(&p->owner->config.counts->probing, 1);
    }
}

static void probe_stop(struct probe *p)
{
    ev_timer_stop(p->owner->config.loop, &p->timer);
    probe_end_exchange(p);
    p->is_running = false;
}

static void probe_log_end(const struct probe *p, bool is_answered)
{
    log_debug("probe ended", LOG_SERVER(&p->server), LOG_INT("is_answered", is_answered));
}

/* Any response counts. */
static void on_probe_end(void *data, enum exchange_outcome outcome,
                         struct parsed_response *reply UNUSED)
{
    struct probe *p = data;
    const bool is_answered = outcome == EXCHANGE_REPLIED || outcome == EXCHANGE_MALFORMED;
    probe_log_end(p, is_answered);
    probe_end_exchange(p);
    if (is_answered) {
        probe_stop(p);
        upstream_health_answered(p->owner, &p->server);
    } else if (outcome == EXCHANGE_UNREACHABLE) {
        note_probe_silence(p->owner, &p->server);
    }
}

/* Returns whether another probe has room. */
static bool may_probe(const struct upstream_health *h)
{
    return counter_get(&h->config.counts->probing) <
           (h->config.is_stub ? UPSTREAM_STUB_PROBES_MAX : UPSTREAM_PROBES_MAX);
}

static void probe_ask(struct probe *p)
{
    static const struct upstream_question root_ns = {
        .name = {.len = 1}, .type = DNS_TYPE_NS, .qclass = DNS_CLASS_IN};
    const struct exchange_config config = {
        .loop = p->owner->config.loop,
        .server = &p->server,
        .tls = p->owner->config.tls,
        .dnstap = p->owner->config.dnstap,
        .without_edns = true, /* some drop queries with it */
        .done = on_probe_end,
        .data = p,
    };
    enum exchange_outcome unused;
    struct forwarder_counts *counts = p->owner->config.counts;
    p->exchange = may_probe(p->owner) ? exchange_start(&config, &root_ns, &unused)
                                      : NULL; /* counts as no answer */
    counter_add(&counts->probes, p->exchange != NULL);
    counter_add(&counts->probing, p->exchange != NULL);
    log_debug("probe sent", LOG_SERVER(&p->server), LOG_INT("is_sent", p->exchange != NULL));
}

static void on_probe_timer(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct probe *p = timer->data;
    /* Ends this probe so that another server has a turn: else the first to begin would be the only
     * ones. */
    bool gives_way = p->exchange && !may_probe(p->owner);
    if (p->exchange) {
        probe_log_end(p, false);
        note_probe_silence(p->owner, &p->server);
    }
    probe_end_exchange(p);
    if (!is_in_doubt(p->owner, &p->server)) {
        probe_stop(p);
        return;
    }
    if (!gives_way) {
        probe_ask(p);
    }
    p->sent++;
    timer_arm(loop, &p->timer, p->sent < EARLY_PROBES ? pause_s : later_pause_s);
}

/* Returns the server's probe, or a free one; NULL: there is neither. */
static struct probe *find_probe(struct upstream_health *h, const struct nameserver *server)
{
    struct probe *unused = NULL;
    for (size_t i = 0; i < ARRAY_LEN(h->probes); i++) {
        struct probe *p = &h->probes[i];
        if (p->is_running && nameserver_equal(&p->server, server)) {
            return p;
        }
        unused = unused || p->is_running ? unused : p;
    }
    return unused;
}

/* Starts to probe the server. Does nothing if that has begun. */
static void begin_probe(struct upstream_health *h, const struct nameserver *server)
{
    struct probe *p = find_probe(h, server);
    if (!p || p->is_running) {
        return;
    }
    p->is_running = true;
    p->server = *server;
    p->sent = 0;
    timer_arm(h->config.loop, &p->timer, first_pause_s);
}

/* ---- Setup and teardown ---- */

struct upstream_health *upstream_health_new(const struct upstream_health_config *config)
{
    struct upstream_health *h = xcalloc(1, sizeof(*h));
    h->config = *config;
    for (size_t i = 0; i < ARRAY_LEN(h->probes); i++) {
        struct probe *p = &h->probes[i];
        p->owner = h;
        timer_init(&p->timer, on_probe_timer, p);
    }
    return h;
}

void upstream_health_free(struct upstream_health *health)
{
    for (size_t i = 0; health && i < ARRAY_LEN(health->probes); i++) {
        probe_stop(&health->probes[i]);
    }
    free(health);
}
