#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/pages/explain_page_internal.h"
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

/* Why a reply is not kept: the word for programs and the text for people. */
static const struct {
    const char *word;
    const char *text;
} verdicts[] = {
    [CACHE_KEPT] = {"kept", "it was kept, and gave way to others"},
    [CACHE_NO_TIME] = {"no-time", "a TTL of it is 0"},
    [CACHE_NO_SOA] = {"no-soa", "a denial without an SOA, which would say for how long"},
    [CACHE_TRUNCATED] = {"truncated", "it is truncated"},
    [CACHE_NO_ANSWER] = {"no-answer", "neither an answer nor a denial"},
    [CACHE_MALFORMED] = {"malformed", "not a message, or not to this question"},
    [CACHE_TOO_LARGE] = {"too-large", "it is too large"},
};

static const char *state_of(const struct explain_foreign *x, size_t server)
{
    return x->states.looping >> server & 1 ? "looping"
           : x->states.dead >> server & 1  ? "dead"
                                           : "ok";
}

static bool is_asked(const struct explain_foreign *x, size_t server)
{
    return x->states.asked >> server & 1;
}

/* Since then. */
static uint32_t passed_s(uint32_t then_s)
{
    const uint32_t now_s = upstreams_now_s();
    return now_s > then_s ? now_s - then_s : 0;
}

/* How long the server is still asked without EDNS. */
static uint32_t plain_left_s(const struct explain_foreign *x, size_t server)
{
    const uint32_t until_s = x->states.plain_until_s[server];
    const uint32_t now_s = upstreams_now_s();
    return until_s > now_s ? until_s - now_s : 0;
}

static uint32_t unkept_s(const struct explain_foreign *x)
{
    return (uint32_t)((clock_monotonic_ms() - x->unkept.at_ms) / 1000);
}

static bool has_records(const struct explain_foreign *x)
{
    return x->kept.state == CACHE_FRESH || x->kept.state == CACHE_STALE;
}

/* ---- Text ---- */

static void text_kept(const struct explain_foreign *x, struct buf *out)
{
    const struct cache_hit *kept = &x->kept;
    const struct nameserver sender = explain_foreign_sender(x, &kept->nameserver);
    char text[NAMESERVER_TEXT_MAX];
    if (kept->state == CACHE_FAILED) {
        buf_append_str(out, "the question has just failed: SERVFAIL, no nameserver is asked");
        return;
    }
    buf_append_str(out, kept->is_negative ? "a denial, for " : "for ");
    explain_text_age(kept->kept_s, out);
    buf_printf(out, ", from %s; ", nameserver_format(&sender, text));
    if (kept->state == CACHE_FRESH) {
        buf_append_str(out, "expires in ");
        explain_text_age(kept->left_s, out);
    } else {
        buf_append_str(out, kept->is_failing ? "expired, and used because nameservers fail"
                                             : "expired, and used if nameservers fail");
    }
}

static void text_unkept(const struct explain_foreign *x, struct buf *out)
{
    const struct nameserver sender = explain_foreign_sender(x, &x->unkept.nameserver);
    char text[NAMESERVER_TEXT_MAX];
    buf_append_str(out, "not kept   the last reply, ");
    explain_text_age(unkept_s(x), out);
    buf_printf(out, " ago from %s: %s\n", nameserver_format(&sender, text),
               verdicts[x->unkept.verdict].text);
}

static void text_state(const struct explain_foreign *x, size_t server, struct buf *out)
{
    const struct upstream_states *states = &x->states;
    bool is_looping = states->looping >> server & 1, is_dead = states->dead >> server & 1;
    if (is_looping || is_dead) {
        buf_printf(out, ", %s", is_looping ? "leads back here" : "does not answer");
        if (states->turned_s[server] > 0) {
            buf_append_str(out, " (for ");
            explain_text_age(passed_s(states->turned_s[server]), out);
            buf_append_char(out, ')');
        }
    } else {
        buf_append_str(out, is_asked(x, server) ? ", up" : ", not asked yet");
    }
    if (plain_left_s(x, server) > 0) {
        buf_append_str(out, ", asked without EDNS for another ");
        explain_text_age(plain_left_s(x, server), out);
    }
    if (states->failed_s[server] > 0) {
        buf_append_str(out, ", last failed ");
        explain_text_age(passed_s(states->failed_s[server]), out);
        buf_append_str(out, " ago");
    }
    buf_append_char(out, '\n');
}

static void text_zone(const struct explain_foreign *x, struct buf *out)
{
    const struct foreign_zone *zone = x->zone;
    char text[DNAME_TEXT_MAX], server[NAMESERVER_TEXT_MAX];
    if (zone_is_stub(zone)) {
        buf_printf(out, "stub zone  %s, from the %s\n", dname_to_text(&zone->name, text),
                   zone->origin == ZONE_FROM_KEYS ? "keys in etcd" : origins[zone->origin]);
    }
    for (size_t i = 0; i < zone->server_count; i++) {
        buf_printf(out, "%s%s", i ? "           " : "nameserver ",
                   nameserver_format(&zone->servers[i], server));
        text_state(x, i, out);
    }
}

static void text_records(const struct explanation *x, struct buf *out)
{
    const struct cache_hit *kept = &x->foreign.kept;
    struct reader r = reader_of(x->message, x->message_len);
    size_t count = (size_t)kept->answers + kept->authorities;
    reader_seek(&r, x->records_at);
    for (size_t i = 0; i < count; i++) {
        size_t line = out->len;
        buf_append_str(out, i == kept->answers ? "authority  "
                            : i == 0           ? "answer     "
                                               : "           ");
        if (!rr_text_read(&r, out)) {
            out->len = line;
            break;
        }
        buf_append_char(out, '\n');
    }
}

/* If nameservers fail, other types than these two do without the addresses. */
static void text_target(const struct explanation *x, const struct explain_foreign *target,
                        struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    bool is_needed = x->question.type == DNS_TYPE_A || x->question.type == DNS_TYPE_AAAA;
    buf_printf(out, "external   %s %s: ", dname_to_text(&target->question.name, name),
               dns_type_text(target->question.type, type));
    if (target->source == EXPLAIN_FROM_CACHE) {
        buf_append_str(out, "kept ");
        text_kept(target, out);
    } else {
        buf_append_str(out, "a nameserver is asked");
        buf_append_str(out, is_needed ? "; SERVFAIL if none can say" : "");
    }
    buf_append_char(out, '\n');
}

void explain_text_foreign(const struct explanation *x, struct buf *out)
{
    const struct explain_foreign *foreign = &x->foreign;
    if (foreign->kept.state != CACHE_MISS) {
        buf_append_str(out, "kept       ");
        text_kept(foreign, out);
        buf_append_char(out, '\n');
    }
    if (has_records(foreign)) {
        text_records(x, out);
    }
    if (foreign->has_unkept) {
        text_unkept(foreign, out);
    }
    if (foreign->zone) {
        text_zone(foreign, out);
    }
    for (size_t i = 0; i < x->external_count; i++) {
        text_target(x, &x->externals[i], out);
    }
}

/* ---- JSON ---- */

static void json_server(const char *field, const struct nameserver *server, struct buf *out)
{
    char text[NAMESERVER_TEXT_MAX];
    buf_printf(out, "\"%s\":\"%s\"", field, nameserver_format(server, text));
}

static void json_source(const struct explain_foreign *x, struct buf *out)
{
    struct nameserver nameserver;
    buf_printf(out, ",\n\"source\":\"%s\"", sources[x->source]);
    if (explain_foreign_nameserver(x, &nameserver)) {
        buf_append_char(out, ',');
        json_server("nameserver", &nameserver, out);
    }
    if (x->source == EXPLAIN_FROM_HOSTS || x->source == EXPLAIN_FROM_CACHE) {
        buf_printf(out, ",\"ttl_s\":%" PRIu32, x->ttl_s);
    }
    if (has_records(x)) {
        buf_printf(out, ",\"kept_s\":%" PRIu32 ",\"kept\":\"%s\"", x->kept.kept_s,
                   x->kept.state == CACHE_FRESH ? "fresh" : "stale");
    }
    buf_append_str(out,
                   x->kept.state == CACHE_FAILED || x->kept.is_failing ? ",\"failing\":true" : "");
}

static void json_unkept(const struct explain_foreign *x, struct buf *out)
{
    const struct nameserver sender = explain_foreign_sender(x, &x->unkept.nameserver);
    buf_printf(out, ",\"not_kept\":{\"reason\":\"%s\",\"ago_s\":%" PRIu32 ",",
               verdicts[x->unkept.verdict].word, unkept_s(x));
    json_server("nameserver", &sender, out);
    buf_append_char(out, '}');
}

static void json_state(const struct explain_foreign *x, size_t server, struct buf *out)
{
    const struct upstream_states *states = &x->states;
    buf_printf(out, ",\"state\":\"%s\",\"asked\":%s", state_of(x, server),
               is_asked(x, server) ? "true" : "false");
    if (states->turned_s[server] > 0) {
        buf_printf(out, ",\"since_s\":%" PRIu32, passed_s(states->turned_s[server]));
    }
    if (plain_left_s(x, server) > 0) {
        buf_printf(out, ",\"without_edns_s\":%" PRIu32, plain_left_s(x, server));
    }
    if (states->failed_s[server] > 0) {
        buf_printf(out, ",\"failed_s\":%" PRIu32, passed_s(states->failed_s[server]));
    }
    buf_append_char(out, '}');
}

static void json_zone(const struct explain_foreign *x, struct buf *out)
{
    const struct foreign_zone *zone = x->zone;
    char text[DNAME_TEXT_MAX];
    if (zone_is_stub(zone)) {
        buf_append_str(out, ",\"zone\":");
        json_text_string(out, slice_str(dname_to_text(&zone->name, text)));
        buf_printf(out, ",\"zone_from\":\"%s\"", origins[zone->origin]);
    }
    for (size_t i = 0; i < zone->server_count; i++) {
        buf_append_str(out, i ? ",{" : ",\"nameservers\":[{");
        json_server("address", &zone->servers[i], out);
        json_state(x, i, out);
    }
    buf_append_str(out, zone->server_count ? "]" : "");
}

static void json_section(struct reader *r, const char *field, size_t count, struct buf *out)
{
    struct buf text;
    bool ok = true;
    buf_init(&text, RR_TEXT_MAX);
    buf_printf(out, ",\n\"%s\":[", field);
    for (size_t i = 0; i < count && ok; i++) {
        buf_clear(&text);
        ok = rr_text_read(r, &text);
        if (ok) {
            buf_append_str(out, i ? "," : "");
            json_text_string(out, buf_slice(&text));
        }
    }
    buf_append_char(out, ']');
    buf_fini(&text);
}

static void json_records(const struct explanation *x, struct buf *out)
{
    struct reader r = reader_of(x->message, x->message_len);
    reader_seek(&r, x->records_at);
    if (x->foreign.kept.answers) {
        json_section(&r, "answer", x->foreign.kept.answers, out);
    }
    if (x->foreign.kept.authorities) {
        json_section(&r, "authority", x->foreign.kept.authorities, out);
    }
}

/* "db.example.com. A", and what is known of it. */
static void json_targets(const struct explanation *x, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX],
        text[DNAME_TEXT_MAX + DNS_TYPE_TEXT_MAX + 1];
    for (size_t i = 0; i < x->external_count; i++) {
        const struct external_question *q = &x->externals[i].question;
        (void)snprintf(text, sizeof(text), "%s %s", dname_to_text(&q->name, name),
                       dns_type_text(q->type, type)); /* always fits */
        buf_append_str(out, i ? "," : ",\n\"external\":[");
        json_text_string(out, slice_str(text));
    }
    buf_append_str(out, x->external_count ? "]" : "");
    for (size_t i = 0; i < x->external_count; i++) {
        const struct external_question *q = &x->externals[i].question;
        buf_append_str(out, i ? ",{\"name\":" : ",\n\"targets\":[{\"name\":");
        json_text_string(out, slice_str(dname_to_text(&q->name, name)));
        buf_printf(out, ",\"type\":\"%s\"", dns_type_text(q->type, type));
        json_source(&x->externals[i], out);
        buf_append_char(out, '}');
    }
    buf_append_str(out, x->external_count ? "]" : "");
}

void explain_json_foreign(const struct explanation *x, struct buf *out)
{
    const struct explain_foreign *foreign = &x->foreign;
    if (foreign->source != EXPLAIN_FROM_HERE) {
        json_source(foreign, out);
    }
    if (foreign->has_unkept) {
        json_unkept(foreign, out);
    }
    if (foreign->zone) {
        json_zone(foreign, out);
    }
    if (has_records(foreign)) {
        json_records(x, out);
    }
    json_targets(x, out);
}
