#include "skydns/pages/explain_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/utc_time.h"
#include "common/dns/dns_names.h"
#include "common/http/http_head.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/wire/rr_text.h"

static const struct explain_word rules[] = {
    [EXPLAIN_GAVE] = {"gave", "gave a record"},
    [EXPLAIN_HIDDEN] = {"hidden",
                        "hidden: below a label that starts with _, which must be queried by name"},
    [EXPLAIN_PATTERN] = {"pattern", "its labels do not match the wildcards"},
    [EXPLAIN_DUPLICATE] = {"duplicate", "says the same as"},
    [EXPLAIN_GROUP] = {"group", "is of another group than the keys closest to the domain"},
    [EXPLAIN_FAMILY] = {"family", "an address of the other family"},
    [EXPLAIN_TARGET] = {"target", "its host is a name for which no such address was found"},
    [EXPLAIN_EXTERNAL] = {"external",
                          "its host is in no domain of this server: an upstream is queried"},
    [EXPLAIN_NO_HOST] = {"no-host", "has no host"},
    [EXPLAIN_BAD_HOST] = {"bad-host", "its host is neither an address nor a name"},
    [EXPLAIN_NO_TEXT] = {"no-text", "has no text"},
    [EXPLAIN_NO_MAIL] = {"no-mail", "does not say \"mail\":true"},
    [EXPLAIN_BELOW] = {"below", "is below the name; this type needs a key at the name itself"},
    [EXPLAIN_ADDRESS] = {"address", "its host is an address; this type needs a name"},
    [EXPLAIN_SCHEMA] = {"schema", "-schema=kubernetes: a name like this has no such record"},
    [EXPLAIN_ALIAS] = {"alias", "-schema=kubernetes: the name has a CNAME, so it has nothing else"},
    [EXPLAIN_TYPE] = {"type", "no key gives records of this type"},
    [EXPLAIN_ROOM] = {"room", "no room for more records in the answer"},
    [EXPLAIN_STUB] = {"stub", "the name is in a stub zone: its upstreams are queried instead"},
    [EXPLAIN_VEILED] = {"veiled", "the client may not see it"},
    [EXPLAIN_FAR] = {"far", "in another zone than the client"},
};

static const char *explained_status(const struct explanation *x)
{
    const struct explain_external *external = &x->external;
    if (x->who.is_refused || x->who.recursion == EXPLAIN_RECURSION_REFUSED) {
        return dns_rcode_name(DNS_RCODE_REFUSED);
    }
    if (x->who.has_failed && !x->who.has_answer) {
        return dns_rcode_name(DNS_RCODE_SERVFAIL);
    }
    if (x->who.has_no_data && !x->who.has_answer) {
        return dns_rcode_name(DNS_RCODE_NOERROR);
    }
    if (external->source == EXPLAIN_FROM_CACHE) {
        return dns_rcode_name(external->cached.state == CACHE_FAILED ? DNS_RCODE_SERVFAIL
                                                                     : external->cached.rcode);
    }
    if (x->keys.set) {
        return dns_rcode_name(DNS_RCODE_NOERROR);
    }
    return x->plan ? dns_rcode_name(x->plan->rcode) : "not from here";
}

/* ---- What the answer is ---- */

static void explain_put_near(const struct dname *near, size_t count, struct buf *out)
{
    json_text_open(out, "near", '[');
    for (size_t i = 0; i < count; i++) {
        dname_json_field(out, NULL, &near[i]);
    }
    buf_append_char(out, ']');
}

static void explain_put_section(const struct explanation *x, const char *field,
                                const struct rr *rrs, size_t count, struct buf *out)
{
    CLEANUP_BUF struct buf text = buf_of(RR_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&text);
        rr_text(&rrs[i], &x->plan->soa, &text);
        if (i == 0) {
            json_text_open_row(out, field, '[');
        }
        json_text_slice_field(out, NULL, buf_slice(&text));
    }
    buf_append_str(out, count ? "]" : "");
}

/* Writes data of a type without a text form as RFC 3597 5 has it. */
static void append_unknown_record(const struct explanation *x, struct slice data, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    buf_printf(out, "%s %" PRIu32 " %s \\# %zu ", dname_to_text(&x->question.name, name),
               x->keys.ttl_s, dns_type_text(x->question.type, type), data.len);
    for (size_t i = 0; i < data.len; i++) {
        buf_printf(out, "%02X", (uint8_t)data.ptr[i]);
    }
}

/* Prints the answer, if it is keys of -dnssec. */
static void explain_put_keys(const struct explanation *x, struct buf *out)
{
    /* Room for a name escaped twice, and hexadecimal data. */
    enum { RECORD_TEXT_MAX = 2 * DNAME_TEXT_MAX + 2 * SIGNING_KEY_RDATA_MAX + 64 };
    CLEANUP_BUF struct buf text = buf_of(RECORD_TEXT_MAX);
    for (size_t i = 0; i < x->keys.set->count; i++) {
        buf_clear(&text);
        append_unknown_record(x, x->keys.set->rdata[i], &text);
        if (i == 0) {
            json_text_open_row(out, "answer", '[');
        }
        json_text_slice_field(out, NULL, buf_slice(&text));
    }
    buf_append_str(out, x->keys.set->count > 0 ? "]" : "");
}

static void explain_put_answer(const struct explain_page *p)
{
    const struct explanation *x = p->x;
    if (x->keys.set) {
        explain_put_keys(x, p->out);
    } else if (x->plan) {
        explain_put_section(x, "answer", x->plan->answers.items, x->plan->answers.count, p->out);
        explain_put_section(x, "authority", x->plan->authorities, x->plan->authority_count, p->out);
        explain_put_section(x, "additional", x->plan->additionals.items, x->plan->additionals.count,
                            p->out);
    }
    if (!p->is_for_text) {
        return;
    }
    if (x->keys.set) {
        json_text_number_field(p->out, "answers", x->keys.set->count);
    } else if (x->plan && x->plan->rcode == DNS_RCODE_NOERROR) {
        json_text_number_field(p->out, "answers", x->plan->answers.count);
        json_text_flag_field(p->out, "elsewhere", x->external_count > 0);
    } else if (x->external.source == EXPLAIN_FROM_CACHE && x->external.cached.answers > 0) {
        json_text_number_field(p->out, "answers", x->external.cached.answers);
    }
}

static void explain_put_serial(const struct explain_page *p)
{
    const struct explain_serial *serial = &p->x->serial;
    struct buf *out = p->out;
    if (!serial->is_shown) {
        return;
    }
    json_text_open_row(out, "serial", '{');
    json_text_number_field(out, "value", serial->value);
    if (!serial->is_hour && serial->origin.is_known) {
        json_text_number_field(out, "base", serial->origin.base);
        json_text_integer_field(out, "revision", serial->origin.revision);
        json_text_number_field(out, "settings", serial->origin.settings_part);
        json_text_flag_field(out, "has_key", serial->origin.has_key);
    }
    if (p->is_for_text) {
        json_text_flag_field(out, "hour", serial->is_hour);
        json_text_flag_field(out, "of_base", serial->origin.is_of_base);
        dname_json_field(out, "domain", &serial->origin.domain);
    }
    buf_append_char(out, '}');
}

/* ---- What it is signed with ---- */

/* Returns how long a signature lasts; one that has ended is not one. */
static int64_t signature_left_s(int64_t end_s)
{
    int64_t left = end_s - clock_wall_s();
    return end_s > 0 && left > 0 ? left : 0;
}

static void explain_put_signing_key(const struct signing_key *key, int64_t end_s, struct buf *out)
{
    char end[UTC_TIME_TEXT_MAX];
    int64_t left_s = signature_left_s(end_s);
    json_text_open(out, NULL, '{');
    json_text_number_field(out, "tag", key->tag);
    json_text_number_field(out, "algorithm", key->algorithm);
    if (left_s > 0) {
        json_text_string_field(out, "expires", utc_time_text_s(end_s, end));
        json_text_number_field(out, "left_s", (uint64_t)left_s);
    }
    buf_append_char(out, '}');
}

static void explain_put_signed(const struct explanation *x, struct buf *out)
{
    char type[DNS_TYPE_TEXT_MAX];
    for (size_t s = 0; s < x->signed_count; s++) {
        const struct signed_set_shown *set = &x->signed_sets[s];
        buf_append_str(out, s == 0 ? ",\n\"signed\":[{" : ",\n {");
        dname_json_field(out, "name", &set->owner);
        json_text_string_field(out, "type", dns_type_text(set->type, type));
        dname_json_field(out, "zone", &set->zone->name);
        json_text_open(out, "keys", '[');
        for (size_t i = 0; i < set->zone->key_count; i++) {
            if (set->ends_s[i] >= 0) {
                explain_put_signing_key(set->zone->keys[i], set->ends_s[i], out);
            }
        }
        buf_append_str(out, "]}");
    }
    buf_append_str(out, x->signed_count ? "]" : "");
}

/* ---- etcd and the domain ---- */

/* Prints the moment of the past, and the mark by which its revision was found. */
static void explain_put_moment(const struct explain_past *past, struct buf *out)
{
    json_text_open_row(out, "at", '{');
    json_text_slice_field(out, "asked", past->asked);
    json_text_integer_field(out, "revision", past->at.revision);
    if (past->at.has_mark) {
        json_text_open(out, "mark", '{');
        json_text_time_fields(out, past->at.mark_ms);
        json_text_integer_field(out, "revision", past->at.mark_revision);
        buf_append_char(out, '}');
    }
    buf_append_char(out, '}');
}

static void explain_put_state(const struct explanation *x, struct buf *out)
{
    const struct explain_etcd *etcd = &x->etcd;
    json_text_open_row(out, "etcd", '{');
    json_text_flag_field(out, "connected", !etcd->is_away);
    if (etcd->is_away) {
        json_text_integer_field(out, "away_s", etcd->away_s);
        json_text_string_field(out, "reason", etcd->reason);
    }
    if (etcd->has_records) {
        json_text_integer_field(out, "age_s", etcd->age_s);
    }
    if (etcd->is_holding_old) {
        json_text_integer_field(out, "holding_s", etcd->holding_s);
    }
    buf_append_char(out, '}');
}

static void explain_put_domain(const struct explanation *x, struct buf *out)
{
    if (x->zone) {
        dname_json_field(out, "domain", &x->zone->domain);
        buf_append_str(out, x->zone->is_incomplete ? ",\"incomplete\":true" : "");
    }
}

/* Prints the labels from the root down to the name. */
static void explain_put_tree(const struct explanation *x, struct buf *out)
{
    for (size_t i = 0; i < x->level_count; i++) {
        const struct explain_level *level = &x->levels[i];
        buf_append_str(out, i ? ",\n {" : ",\n\"tree\":[\n {");
        dname_json_field(out, "name", &level->name);
        json_text_flag_field(out, "exists", level->exists);
        json_text_flag_field(out, "record", level->has_record);
        json_text_number_field(out, "records", level->below);
        buf_append_char(out, '}');
    }
    buf_append_str(out, x->level_count ? "]" : "");
}

/* ---- Names and their keys ---- */

static void explain_put_key(const char *field, const struct store_record *record,
                            struct slice prefix, struct buf *out)
{
    struct dname name;
    store_record_name(record, &name);
    record_page_key(out, field, &name, prefix);
}

/* Prints the latest change of the name, if it is known; `revision` 0: any, else only this one. */
static void explain_put_change(const struct explain_page *p, const struct dname *name,
                               int64_t revision)
{
    const struct recent_change *change =
        p->x->recent ? recent_changes_find(p->x->recent, name) : NULL;
    if (!change || (revision != 0 && change->revision != revision)) {
        return;
    }
    change_page_one("change", change, p->x->prefix, p->out);
    if (p->is_for_text) {
        int64_t ago_s = (clock_wall_ms() - change->time_ms) / 1000;
        json_text_number_field(p->out, "change_ago_s", (uint64_t)(ago_s > 0 ? ago_s : 0));
    }
}

static void explain_put_record(const struct explain_page *p, const struct explain_record *r)
{
    struct dname name;
    record_page_fields(r->record, p->x->prefix, p->out);
    if (!p->x->past) {
        record_page_age(r->record, p->out);
    }
    json_text_string_field(p->out, "rule", rules[r->rule].word);
    store_record_name(r->record, &name);
    explain_put_change(p, &name, r->record->mod_revision);
    if (r->other) {
        explain_put_key("instead", r->other, p->x->prefix, p->out);
    }
    if (p->is_for_text) {
        bool has_twin = r->rule == EXPLAIN_DUPLICATE && !r->other;
        json_text_string_field(p->out, "rule_text",
                               has_twin ? "gave the same record as another key"
                                        : rules[r->rule].text);
    }
    buf_append_char(p->out, '}');
}

static void explain_put_records(const struct explain_page *p, const struct explain_name *n)
{
    json_text_number_field(p->out, "key_count", n->record_total);
    json_text_open(p->out, "keys", '[');
    for (size_t i = 0; i < n->record_count; i++) {
        buf_append_str(p->out, i ? ",\n {" : "\n {");
        explain_put_record(p, &n->records[i]);
    }
    buf_append_char(p->out, ']');
}

static void explain_put_broken(const struct explain_name *n, struct buf *out)
{
    for (size_t i = 0; i < n->broken_count; i++) {
        if (i == 0) {
            json_text_open(out, "broken", '[');
        }
        json_text_open(out, NULL, '{');
        broken_key_fields(&n->broken[i], out);
    }
    buf_append_str(out, n->broken_count ? "]" : "");
}

static void explain_put_one(const struct explain_page *p, const struct explain_name *n)
{
    buf_append_char(p->out, '{');
    dname_json_field(p->out, "name", &n->name);
    if (n->from) {
        explain_put_key("host_of", n->from, p->x->prefix, p->out);
    }
    json_text_flag_field(p->out, "exists", n->exists);
    if (n->exists) {
        explain_put_records(p, n);
    } else {
        dname_json_field(p->out, "closest", &n->closest);
        explain_put_near(n->near, n->near_count, p->out);
        explain_put_change(p, &n->name, 0);
    }
    explain_put_broken(n, p->out);
    if (p->is_for_text) {
        json_text_flag_field(p->out, "too_large", n->is_too_large);
        json_text_number_field(p->out, "keys_more", n->record_total - n->record_count);
    }
    buf_append_char(p->out, '}');
}

/* ---- All ---- */

void explain_page_put(const struct explain_page *p)
{
    const struct explanation *x = p->x;
    struct buf *out = p->out;
    char type[DNS_TYPE_TEXT_MAX];
    buf_append_char(out, '{');
    dname_json_field(out, "name", &x->asked);
    json_text_string_field(out, "type", dns_type_text(x->question.type, type));
    json_text_integer_field(out, "revision", x->revision);
    json_text_string_field(out, "status", explained_status(x));
    if (x->is_from_snapshot) {
        json_text_integer_field(out, "snapshot_age_s", x->snapshot_age_s);
    }
    if (x->past) {
        explain_put_moment(x->past, out);
    } else {
        explain_put_state(x, out);
    }
    explain_put_domain(x, out);
    explain_page_put_client(p);
    explain_page_put_search(p);
    if (x->near_count > 0) {
        explain_put_near(x->near, x->near_count, out);
    }
    if (x->why) {
        json_text_string_field(out, "why", x->why);
    }
    explain_put_answer(p);
    explain_put_serial(p);
    explain_put_signed(x, out);
    explain_page_put_external(p);
    explain_put_tree(x, out);
    buf_append_str(out, ",\n\"names\":[");
    for (size_t i = 0; i < x->name_count; i++) {
        buf_append_str(out, i ? ",\n" : "");
        explain_put_one(p, &x->names[i]);
    }
    buf_append_str(out, "]}\n");
}

void explain_page_json(const struct explanation *x, struct buf *out)
{
    explain_page_put(&(struct explain_page){x, false, out});
}

void explain_page_answer(const struct explanation *x, struct buf *out)
{
    buf_append_str(out, "\"status\":");
    json_text_string(out, slice_str(explained_status(x)));
    if (x->who.is_refused) {
        return;
    }
    if (x->keys.set) {
        explain_put_keys(x, out);
    } else if (x->plan) {
        explain_put_section(x, "answer", x->plan->answers.items, x->plan->answers.count, out);
    }
    if (x->external_count > 0) {
        buf_append_str(out, ",\"elsewhere\":true");
    }
}

void explain_page_reply(const struct explanation *x, bool is_text, struct http_reply *reply)
{
    if (is_text) {
        explain_page_text(x, &reply->body);
    } else {
        reply->content_type = "application/json";
        explain_page_json(x, &reply->body);
    }
}

void explain_page_refuse(const struct err *err, struct http_reply *reply)
{
    reply->status = HTTP_BAD_REQUEST;
    buf_printf(&reply->body, "%s\n", err->msg);
}

struct explain_query explain_page_query(const struct http_request *request)
{
    return (struct explain_query){
        .name = http_request_arg(request, "name"),
        .type = http_request_arg(request, "type"),
        .client = http_request_arg(request, "client"),
    };
}
