/* Prints what is known of an external name. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/dns/dns_names.h"
#include "skydns/pages/explain_page.h"
#include "skydns/wire/rr_text.h"

static const char *const sources[] = {
    [EXPLAIN_FROM_HERE] = "here",
    [EXPLAIN_FROM_HOSTS] = "hosts",
    [EXPLAIN_FROM_CACHE] = "cache",
    [EXPLAIN_FROM_STUB] = "stub",
    [EXPLAIN_FROM_NAMESERVER] = "nameserver",
};

static const char *const origins[] = {
    [ZONE_FROM_KEYS] = "etcd",
    [ZONE_FROM_FLAG] = "flag",
    [ZONE_FROM_DOCUMENT] = "document",
};

/* Reasons why a response is not cached. */
static const struct explain_word verdicts[] = {
    [CACHE_HIT] = {"kept", "it was cached, and evicted"},
    [CACHE_NO_TIME] = {"no-time", "a TTL of it is 0"},
    [CACHE_NO_SOA] = {"no-soa", "NXDOMAIN or NODATA without an SOA, which would say for how long"},
    [CACHE_TRUNCATED] = {"truncated", "it is truncated"},
    [CACHE_NO_ANSWER] = {"no-answer", "neither an answer, nor NXDOMAIN or NODATA"},
    [CACHE_MALFORMED] = {"malformed", "not a message, or not to this query"},
    [CACHE_TOO_LARGE] = {"too-large", "it is too large"},
};

static const char *nameserver_state(const struct explain_external *x, size_t server)
{
    return x->states.looping >> server & 1 ? "looping"
           : x->states.dead >> server & 1  ? "dead"
                                           : "ok";
}

/* Returns the seconds since then. */
static uint32_t passed_s(uint32_t then_s)
{
    const uint32_t now_s = upstreams_now_s();
    return now_s > then_s ? now_s - then_s : 0;
}

/* Returns how long the upstream is still asked without EDNS. */
static uint32_t plain_left_s(const struct explain_external *x, size_t server)
{
    const uint32_t until_s = x->states.plain_until_s[server];
    const uint32_t now_s = upstreams_now_s();
    return until_s > now_s ? until_s - now_s : 0;
}

static bool has_records(const struct explain_external *x)
{
    return x->cached.state == CACHE_FRESH || x->cached.state == CACHE_STALE;
}

static void external_put_server(const char *field, const struct nameserver *server, struct buf *out)
{
    char text[NAMESERVER_TEXT_MAX];
    json_text_string_field(out, field, nameserver_format(server, text));
}

/* Prints the cache entry, for the text. */
static void external_put_entry(const struct explain_external *x, struct buf *out)
{
    const struct cache_hit *cached = &x->cached;
    const struct nameserver sender = explain_external_sender(x, &cached->nameserver);
    json_text_open(out, "entry", '{');
    if (cached->state == CACHE_FAILED) {
        buf_append_str(out, "\"failed\":true}");
        return;
    }
    json_text_flag_field(out, "negative", cached->is_negative);
    json_text_number_field(out, "kept_s", cached->cached_s);
    external_put_server("from", &sender, out);
    if (cached->state == CACHE_FRESH) {
        json_text_number_field(out, "left_s", cached->left_s);
    }
    json_text_flag_field(out, "failing", cached->is_failing);
    buf_append_char(out, '}');
}

static void external_put_source(const struct explain_external *x, bool is_for_text, struct buf *out)
{
    struct nameserver nameserver;
    buf_append_str(out, ",\n");
    json_text_string_field(out, "source", sources[x->source]);
    if (explain_external_nameserver(x, &nameserver)) {
        external_put_server("nameserver", &nameserver, out);
    }
    if (x->source == EXPLAIN_FROM_HOSTS || x->source == EXPLAIN_FROM_CACHE) {
        json_text_number_field(out, "ttl_s", x->ttl_s);
    }
    if (has_records(x)) {
        json_text_number_field(out, "kept_s", x->cached.cached_s);
        json_text_string_field(out, "kept", x->cached.state == CACHE_FRESH ? "fresh" : "stale");
    }
    if (x->cached.state == CACHE_FAILED || x->cached.is_failing) {
        json_text_flag_field(out, "failing", true);
    }
    if (is_for_text && x->cached.state != CACHE_MISS) {
        external_put_entry(x, out);
    }
}

static void external_put_uncached(const struct explain_external *x, bool is_for_text,
                                  struct buf *out)
{
    const struct nameserver sender = explain_external_sender(x, &x->uncached.nameserver);
    json_text_open(out, "not_kept", '{');
    json_text_string_field(out, "reason", verdicts[x->uncached.verdict].word);
    json_text_number_field(out, "ago_s",
                           (uint32_t)((clock_monotonic_ms() - x->uncached.at_ms) / 1000));
    external_put_server("nameserver", &sender, out);
    if (is_for_text) {
        json_text_string_field(out, "reason_text", verdicts[x->uncached.verdict].text);
    }
    buf_append_char(out, '}');
}

static void external_put_state(const struct explain_external *x, size_t server, struct buf *out)
{
    const struct upstream_states *states = &x->states;
    json_text_string_field(out, "state", nameserver_state(x, server));
    json_text_flag_field(out, "asked", states->asked >> server & 1);
    if (states->turned_s[server] > 0) {
        json_text_number_field(out, "since_s", passed_s(states->turned_s[server]));
    }
    if (plain_left_s(x, server) > 0) {
        json_text_number_field(out, "without_edns_s", plain_left_s(x, server));
    }
    if (states->failed_s[server] > 0) {
        json_text_number_field(out, "failed_s", passed_s(states->failed_s[server]));
    }
    buf_append_char(out, '}');
}

static void external_put_zone(const struct explain_external *x, struct buf *out)
{
    const struct forward_zone *zone = x->zone;
    if (zone_is_stub(zone)) {
        dname_json_field(out, "zone", &zone->name);
        json_text_string_field(out, "zone_from", origins[zone->origin]);
        if (zone->fallback != ZONE_ENDS) {
            json_text_string_field(out, "zone_falls_back",
                                   zone->fallback == ZONE_FALLBACK_NODATA ? "nodata" : "nxdomain");
        }
    }
    for (size_t i = 0; i < zone->server_count; i++) {
        if (i == 0) {
            json_text_open(out, "nameservers", '[');
        }
        json_text_open(out, NULL, '{');
        external_put_server("address", &zone->servers[i], out);
        external_put_state(x, i, out);
    }
    buf_append_str(out, zone->server_count ? "]" : "");
}

static void external_put_section(struct reader *r, const char *field, size_t count, struct buf *out)
{
    bool ok = true;
    CLEANUP_BUF struct buf text = buf_of(RR_TEXT_MAX);
    json_text_open_row(out, field, '[');
    for (size_t i = 0; i < count && ok; i++) {
        buf_clear(&text);
        ok = rr_text_read(r, &text);
        if (ok) {
            json_text_slice_field(out, NULL, buf_slice(&text));
        }
    }
    buf_append_char(out, ']');
}

static void external_put_records(const struct explanation *x, struct buf *out)
{
    struct reader r = reader_of(x->message, x->message_len);
    reader_seek(&r, x->records_at);
    if (x->external.cached.answers) {
        external_put_section(&r, "answer", x->external.cached.answers, out);
    }
    if (x->external.cached.authorities) {
        external_put_section(&r, "authority", x->external.cached.authorities, out);
    }
}

/* Prints "db.example.com. A", and what is known of it. */
static void external_put_targets(const struct explain_page *p)
{
    const struct explanation *x = p->x;
    struct buf *out = p->out;
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX],
        text[DNAME_TEXT_MAX + DNS_TYPE_TEXT_MAX + 1];
    for (size_t i = 0; i < x->external_count; i++) {
        const struct external_question *q = &x->externals[i].question;
        (void)snprintf(text, sizeof(text), "%s %s", dname_to_text(&q->name, name),
                       dns_type_text(q->type, type)); /* always fits */
        buf_append_str(out, i ? "" : ",\n\"external\":[");
        json_text_string_field(out, NULL, text);
    }
    for (size_t i = 0; i < x->external_count; i++) {
        const struct external_question *q = &x->externals[i].question;
        buf_append_str(out, i ? ",{" : "],\n\"targets\":[{");
        dname_json_field(out, "name", &q->name);
        json_text_string_field(out, "type", dns_type_text(q->type, type));
        external_put_source(&x->externals[i], p->is_for_text, out);
        if (p->is_for_text) { /* other types do without the addresses if upstreams fail */
            json_text_flag_field(
                out, "needed", x->question.type == DNS_TYPE_A || x->question.type == DNS_TYPE_AAAA);
        }
        buf_append_char(out, '}');
    }
    buf_append_str(out, x->external_count ? "]" : "");
}

void explain_page_put_external(const struct explain_page *p)
{
    const struct explain_external *external = &p->x->external;
    if (external->source != EXPLAIN_FROM_HERE) {
        external_put_source(external, p->is_for_text, p->out);
    }
    if (external->has_uncached) {
        external_put_uncached(external, p->is_for_text, p->out);
    }
    if (external->zone) {
        external_put_zone(external, p->out);
    }
    if (has_records(external)) {
        external_put_records(p->x, p->out);
    }
    external_put_targets(p);
}
