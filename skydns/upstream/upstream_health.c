#include "skydns/upstream/upstream_health_internal.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/upstream/upstream_probes_internal.h"

/* Bounds the log lines: a server that ignores only some names dies and recovers every few
 * questions. */
enum { TURNS_TOLD_A_MINUTE = 10 };

struct upstream_health {
    struct upstream_health_config config;
    struct upstreams upstreams;
    struct upstream_probes *probes;
};

static void upstream_health_report(struct upstream_health *h)
{
    h->config.changed(h->config.data);
}

static void log_death(const struct nameserver *server)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    char text[NAMESERVER_TEXT_MAX];
    if (log_limit_pass(&limit)) {
        log_warn("upstream does not respond, skipping it",
                 LOG_STR("server", nameserver_format(server, text)));
    }
}

void upstream_health_failed(struct upstream_health *health, const struct nameserver *server,
                            const struct upstream_failure *failure)
{
    char text[NAMESERVER_TEXT_MAX];
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    bool has_died = upstream && upstream_note_failure(upstream, failure, upstreams_now_s());
    log_debug("upstream failed", LOG_STR("server", nameserver_format(server, text)),
              LOG_INT("failures", upstream ? (int64_t)upstream->failures : 0),
              LOG_INT("is_dead", upstream && upstream_is_dead(upstream)));
    if (upstream) {
        upstream_health_report(health);
    }
    if (has_died) {
        log_death(server);
    }
    if (has_died || (upstream && upstream->is_suspected)) {
        upstream_probes_start(health->probes, server);
    }
}

void upstream_health_answered(struct upstream_health *health, const struct nameserver *server)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    char text[NAMESERVER_TEXT_MAX];
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
        log_info("upstream responds again", LOG_STR("server", nameserver_format(server, text)));
    }
    health->config.revived(health->config.data, upstream->was_away);
}

void upstream_health_edns(struct upstream_health *health, const struct nameserver *server,
                          bool took_edns, bool was_plain)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    char text[NAMESERVER_TEXT_MAX];
    struct upstream *upstream = upstreams_find(&health->upstreams, server);
    if (!upstream || !upstream_note_edns(upstream, took_edns, was_plain, upstreams_now_s())) {
        return;
    }
    upstream_health_report(health);
    if (!took_edns && log_limit_pass(&limit)) {
        log_warn("upstream responds only without EDNS, sending queries without it: no signatures, "
                 "no long responses over UDP",
                 LOG_STR("server", nameserver_format(server, text)),
                 LOG_INT("for_s", UPSTREAM_PLAIN_S));
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
        upstream_probes_start(health->probes, server);
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

static bool is_still_in_doubt(void *data, const struct nameserver *server)
{
    struct upstream_health *h = data;
    const struct upstream *upstream = upstreams_find(&h->upstreams, server);
    return upstream && (upstream_is_dead(upstream) || upstream->is_suspected) &&
           !upstream->is_looping;
}

static void on_probe_silence(void *data, const struct nameserver *server)
{
    struct upstream_health *h = data;
    struct upstream *upstream = upstreams_find(&h->upstreams, server);
    if (upstream && upstream_note_probe_silence(upstream, upstreams_now_s())) {
        upstream_health_report(h);
        log_death(server);
    }
}

static void on_probe_answer(void *data, const struct nameserver *server)
{
    upstream_health_answered(data, server);
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

struct upstream_health *upstream_health_new(const struct upstream_health_config *config)
{
    struct upstream_health *h = xcalloc(1, sizeof(*h));
    const struct upstream_probes_config probes = {
        .loop = config->loop,
        .tls = config->tls,
        .dnstap = config->dnstap,
        .counts = config->counts,
        .under_way_max = config->is_stub ? UPSTREAM_STUB_PROBES_MAX : UPSTREAM_PROBES_MAX,
        .is_wanted = is_still_in_doubt,
        .answered = on_probe_answer,
        .unanswered = on_probe_silence,
        .data = h,
    };
    h->config = *config;
    h->probes = upstream_probes_new(&probes);
    return h;
}

void upstream_health_free(struct upstream_health *health)
{
    if (health) {
        upstream_probes_free(health->probes);
        free(health);
    }
}
