#include "skydns/upstream/upstream_probes_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/upstreams.h"

static const double first_pause_s = 0.5, pause_s = 1, later_pause_s = 5;
enum { EARLY_PROBES = 60 }; /* about a minute */

struct probe {
    struct upstream_probes *owner;
    bool is_running;
    struct nameserver server;
    unsigned sent;
    ev_timer timer;
    struct exchange *exchange;
};

struct upstream_probes {
    struct upstream_probes_config config;
    /* Twice the servers: after the list is replaced, probes of removed servers last until their
     * next turn. A dead server that finds no slot gets no probe until it dies again. */
    struct probe items[2 * UPSTREAMS_MAX];
};

static void end_exchange(struct probe *p)
{
    if (p->exchange) {
        exchange_free(STEAL(p->exchange));
        counter_sub(&p->owner->config.counts->probing, 1);
    }
}

static void upstream_probes_stop(struct probe *p)
{
    ev_timer_stop(p->owner->config.loop, &p->timer);
    end_exchange(p);
    p->is_running = false;
}

static void upstream_probes_log_end(const struct probe *p, bool is_answered)
{
    char server[NAMESERVER_TEXT_MAX];
    log_debug("probe ended", LOG_STR("server", nameserver_format(&p->server, server)),
              LOG_INT("is_answered", is_answered));
}

static void upstream_probes_on_end(void *data, enum exchange_outcome outcome,
                                   struct parsed_response *reply)
{
    struct probe *p = data;
    const bool is_answered = outcome == EXCHANGE_REPLIED || outcome == EXCHANGE_MALFORMED;
    (void)reply; /* any response counts */
    upstream_probes_log_end(p, is_answered);
    end_exchange(p);
    if (is_answered) {
        upstream_probes_stop(p);
        p->owner->config.answered(p->owner->config.data, &p->server);
    } else if (outcome == EXCHANGE_UNREACHABLE) {
        p->owner->config.unanswered(p->owner->config.data, &p->server);
    }
}

static void upstream_probes_ask(struct probe *p)
{
    static const struct upstream_question root_ns = {
        .name = {.len = 1}, .type = DNS_TYPE_NS, .qclass = DNS_CLASS_IN};
    const struct exchange_config config = {
        .loop = p->owner->config.loop,
        .server = &p->server,
        .tls = p->owner->config.tls,
        .dnstap = p->owner->config.dnstap,
        .without_edns = true, /* some drop queries with it */
        .done = upstream_probes_on_end,
        .data = p,
    };
    char server[NAMESERVER_TEXT_MAX];
    enum exchange_outcome unused;
    struct forwarder_counts *counts = p->owner->config.counts;
    p->exchange = counter_get(&counts->probing) < p->owner->config.under_way_max
                      ? exchange_start(&config, &root_ns, &unused)
                      : NULL; /* counts as no answer */
    counter_add(&counts->probes, p->exchange != NULL);
    counter_add(&counts->probing, p->exchange != NULL);
    log_debug("probe sent", LOG_STR("server", nameserver_format(&p->server, server)),
              LOG_INT("is_sent", p->exchange != NULL));
}

static void upstream_probes_on_timer(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct probe *p = timer->data;
    const struct upstream_probes_config *config = &p->owner->config;
    /* Ends this probe so that another server has a turn: else the first to begin would be the only
     * ones. */
    bool gives_way = p->exchange && counter_get(&config->counts->probing) >= config->under_way_max;
    if (p->exchange) {
        upstream_probes_log_end(p, false);
        config->unanswered(config->data, &p->server);
    }
    end_exchange(p);
    if (!config->is_wanted(config->data, &p->server)) {
        upstream_probes_stop(p);
        return;
    }
    if (!gives_way) {
        upstream_probes_ask(p);
    }
    p->sent++;
    ev_timer_set(&p->timer, p->sent < EARLY_PROBES ? pause_s : later_pause_s, 0.);
    ev_timer_start(loop, &p->timer);
}

static struct probe *upstream_probes_find(struct upstream_probes *probes,
                                          const struct nameserver *server)
{
    for (size_t i = 0; i < 2 * UPSTREAMS_MAX; i++) {
        struct probe *p = &probes->items[i];
        if (p->is_running && nameserver_equal(&p->server, server)) {
            return p;
        }
    }
    return NULL;
}

void upstream_probes_start(struct upstream_probes *probes, const struct nameserver *server)
{
    struct probe *p = upstream_probes_find(probes, server);
    for (size_t i = 0; i < 2 * UPSTREAMS_MAX && !p; i++) {
        if (!probes->items[i].is_running) {
            p = &probes->items[i];
        }
    }
    if (!p || p->is_running) {
        return;
    }
    p->is_running = true;
    p->server = *server;
    p->sent = 0;
    ev_timer_set(&p->timer, first_pause_s, 0.);
    ev_timer_start(probes->config.loop, &p->timer);
}

struct upstream_probes *upstream_probes_new(const struct upstream_probes_config *config)
{
    struct upstream_probes *probes = xcalloc(1, sizeof(*probes));
    probes->config = *config;
    for (size_t i = 0; i < 2 * UPSTREAMS_MAX; i++) {
        struct probe *p = &probes->items[i];
        p->owner = probes;
        ev_init(&p->timer, upstream_probes_on_timer);
        p->timer.data = p;
    }
    return probes;
}

void upstream_probes_free(struct upstream_probes *probes)
{
    if (!probes) {
        return;
    }
    for (size_t i = 0; i < 2 * UPSTREAMS_MAX; i++) {
        upstream_probes_stop(&probes->items[i]);
    }
    free(probes);
}
