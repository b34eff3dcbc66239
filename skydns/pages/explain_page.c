#include "skydns/pages/explain_page_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/base/json_text.h"
#include "common/dns/dns_names.h"
#include "common/dns/record.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/wire/rr_text.h"

/* The word for programs and the text for people. */
static const struct {
    const char *word;
    const char *text;
} rules[] = {
    [EXPLAIN_GAVE] = {"gave", "gave a record"},
    [EXPLAIN_HIDDEN] =
        {"hidden", "hidden: below a label that starts with _, which must be asked for by name"},
    [EXPLAIN_PATTERN] = {"pattern", "its labels do not match the wildcards"},
    [EXPLAIN_DUPLICATE] = {"duplicate", "says the same as"},
    [EXPLAIN_GROUP] = {"group", "is of another group than the keys closest to the domain"},
    [EXPLAIN_FAMILY] = {"family", "an address of the other family"},
    [EXPLAIN_TARGET] = {"target", "its host is a name for which no such address was found"},
    [EXPLAIN_EXTERNAL] = {"external",
                          "its host is in no domain of this server: a nameserver is asked"},
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
    [EXPLAIN_STUB] = {"stub", "the name is in a stub zone: its nameservers are asked instead"},
    [EXPLAIN_VEILED] = {"veiled", "the client may not see it"},
};

static void append_key(const struct store_record *record, struct slice prefix, struct buf *out)
{
    struct dname name;
    store_record_name(record, &name);
    record_key_of(prefix, &name, out);
}

static const char *status_of(const struct explanation *x)
{
    const struct explain_foreign *foreign = &x->foreign;
    if (x->who.is_refused || x->who.recursion == EXPLAIN_RECURSION_REFUSED) {
        return dns_rcode_name(DNS_RCODE_REFUSED);
    }
    if (x->who.has_failed && !x->who.has_answer) {
        return dns_rcode_name(DNS_RCODE_SERVFAIL);
    }
    if (x->who.has_no_data && !x->who.has_answer) {
        return dns_rcode_name(DNS_RCODE_NOERROR);
    }
    if (foreign->source == EXPLAIN_FROM_CACHE) {
        return dns_rcode_name(foreign->kept.state == CACHE_FAILED ? DNS_RCODE_SERVFAIL
                                                                  : foreign->kept.rcode);
    }
    if (x->keys.set) {
        return dns_rcode_name(DNS_RCODE_NOERROR);
    }
    return x->plan ? dns_rcode_name(x->plan->rcode) : "not from here";
}

/* ---- Text ---- */

static void text_section(const struct explanation *x, const char *title, const struct rr *rrs,
                         size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i == 0 ? title : "           ");
        rr_text(&rrs[i], &x->plan->soa, out);
        buf_append_char(out, '\n');
    }
}

void explain_text_age(uint32_t s, struct buf *out)
{
    if (s >= 86400) {
        buf_printf(out, "%" PRIu32 " d %" PRIu32 " h", s / 86400, s % 86400 / 3600);
    } else if (s >= 3600) {
        buf_printf(out, "%" PRIu32 " h %" PRIu32 " m", s / 3600, s % 3600 / 60);
    } else if (s >= 60) {
        buf_printf(out, "%" PRIu32 " m %" PRIu32 " s", s / 60, s % 60);
    } else {
        buf_printf(out, "%" PRIu32 " s", s);
    }
}

/* Bytes from values: prints only what is safe on a terminal. */
static void append_plain(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        buf_append_char(out, c >= ' ' && c <= '~' ? c : '?');
    }
}

static void append_value(const struct store_record *record, struct buf *out)
{
    char host[DNAME_TEXT_MAX];
    buf_append_str(out, " = ");
    append_plain(store_record_host_text(record, host), out);
    if (record->port) {
        buf_printf(out, " port %u", record->port);
    }
    if (record->lens[RECORD_TEXT]) {
        buf_append_str(out, " text \"");
        append_plain(store_record_string(record, RECORD_TEXT), out);
        buf_append_char(out, '"');
    }
    if (record->has_escapes) {
        buf_append_str(out, " served as \"");
        append_plain(store_record_text_bytes(record), out);
        buf_append_char(out, '"');
    }
    if (record->lens[RECORD_GROUP]) {
        buf_append_str(out, " group ");
        append_plain(store_record_string(record, RECORD_GROUP), out);
    }
}

static void text_record(const struct explanation *x, const struct explain_record *r,
                        struct buf *out)
{
    struct dname name;
    buf_append_str(out, r->rule == EXPLAIN_GAVE ? "  + " : "  - ");
    append_key(r->record, x->prefix, out);
    append_value(r->record, out);
    buf_printf(out, "\n      revision %" PRId64 ", known for ", r->record->mod_revision);
    explain_text_age(record_page_known_s(r->record), out);
    store_record_name(r->record, &name);
    (void)explain_text_change(x, &name, r->record->mod_revision, "; ", out); /* if it is known */
    if (r->rule != EXPLAIN_GAVE) {
        bool has_other = r->rule == EXPLAIN_DUPLICATE && r->other;
        buf_printf(out, "; %s",
                   r->rule == EXPLAIN_DUPLICATE && !r->other ? "gave the same record as another key"
                                                             : rules[r->rule].text);
        if (has_other) {
            buf_append_char(out, ' ');
            append_key(r->other, x->prefix, out);
        }
    }
    buf_append_char(out, '\n');
}

static void text_absent(const struct explanation *x, const struct explain_name *n, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_append_str(out, " does not exist: no key at or below it\n");
    if (n->closest.len > 1) {
        buf_printf(out, "  the last name above it that does is %s\n",
                   dname_to_text(&n->closest, text));
    }
    bool is_known = explain_text_change(x, &n->name, 0, "  its key was ", out);
    buf_append_str(out, is_known ? "\n" : "");
    explain_text_near("  did you mean: ", n->near, n->near_count, out);
}

static void text_name(const struct explanation *x, const struct explain_name *n, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_printf(out, "\n%s", dname_to_text(&n->name, text));
    if (n->from) {
        buf_append_str(out, " (the host of ");
        append_key(n->from, x->prefix, out);
        buf_append_char(out, ')');
    }
    if (n->is_too_large) {
        buf_append_str(out, " has more keys than are examined here\n");
    } else if (n->exists) {
        buf_printf(out, " exists; keys at or below it: %zu\n", n->record_total);
    } else {
        text_absent(x, n, out);
    }
    for (size_t i = 0; i < n->record_count; i++) {
        text_record(x, &n->records[i], out);
    }
    if (n->record_total > n->record_count) {
        buf_printf(out, "  ... %zu more\n", n->record_total - n->record_count);
    }
    for (size_t i = 0; i < n->broken_count; i++) {
        buf_append_str(out, "  ! ");
        append_plain(n->broken[i].key, out);
        buf_printf(out,
                   "\n      revision %" PRId64 "; cannot be used: ", n->broken[i].mod_revision);
        append_plain(slice_str(n->broken[i].reason), out);
        buf_append_char(out, '\n');
    }
}

static void text_serial(const struct explanation *x, struct buf *out)
{
    const struct explain_serial *serial = &x->serial;
    char domain[DNAME_TEXT_MAX];
    if (!serial->is_shown) {
        return;
    }
    buf_printf(out, "serial     %" PRIu32 ": ", serial->value);
    if (serial->is_hour) {
        buf_append_str(out, "the start of the hour, since nobody may transfer the zone\n");
    } else if (!serial->is_known) {
        buf_append_str(out, "etcd has not said yet above which base serials are counted\n");
    } else {
        buf_printf(out, "etcd's revision %" PRId64 ", of %s, above the base %" PRIu32,
                   serial->revision, serial->is_of_base ? "the base" : "the zone's last change",
                   serial->base);
        if (serial->has_key) {
            size_t len = strlen(dname_to_text(&serial->domain, domain)); /* with its dot */
            buf_printf(out, ", of the key /kube2sky/%.*s/serial", (int)len - 1, domain);
        } else {
            buf_append_str(out, ", as no key of kube2sky's has one");
        }
        buf_printf(out, ", and %" PRIu32 " for the settings\n", serial->settings_part);
    }
}

void explain_page_text(const struct explanation *x, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    buf_printf(out, "%s %s: %s", dname_to_text(&x->asked, name),
               dns_type_text(x->question.type, type), status_of(x));
    if (x->keys.set) {
        buf_printf(out, ", answers: %zu", x->keys.set->count);
    } else if (x->plan && x->plan->rcode == DNS_RCODE_NOERROR) {
        buf_printf(out, ", answers: %zu%s", x->plan->answers.count,
                   x->external_count ? " and what nameservers say" : "");
    } else if (x->foreign.source == EXPLAIN_FROM_CACHE && x->foreign.kept.answers > 0) {
        buf_printf(out, ", answers: %u", x->foreign.kept.answers);
    }
    buf_printf(out, "; etcd revision %" PRId64 "\n", x->revision);
    if (x->is_from_snapshot) {
        char age[DURATION_TEXT_MAX];
        buf_printf(out, "snapshot   answers come from a snapshot of %s ago\n",
                   duration_text_s(x->snapshot_age_s, age));
    }
    explain_text_state(x, out);
    explain_text_who(x, out);
    explain_text_search(x, out);
    if (x->why) {
        buf_printf(out, "why        %s\n", x->why);
    }
    explain_text_near("similar    did you mean: ", x->near, x->near_count, out);
    explain_text_keys(x, out);
    if (x->plan && !x->keys.set) {
        text_section(x, "answer     ", x->plan->answers.items, x->plan->answers.count, out);
        text_section(x, "authority  ", x->plan->authorities, x->plan->authority_count, out);
        text_section(x, "additional ", x->plan->additionals.items, x->plan->additionals.count, out);
    }
    text_serial(x, out);
    explain_text_signed(x, out);
    explain_text_foreign(x, out);
    for (size_t i = 0; i < x->name_count; i++) {
        text_name(x, &x->names[i], out);
    }
}

/* ---- JSON ---- */

static void json_name(const char *field, const struct dname *name, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_printf(out, "\"%s\":", field);
    json_text_string(out, slice_str(dname_to_text(name, text)));
}

static void json_key(const char *field, const struct store_record *record, struct slice prefix,
                     struct buf *out)
{
    struct buf key;
    buf_init(&key, prefix.len + DNAME_MAX);
    append_key(record, prefix, &key);
    buf_printf(out, ",\"%s\":", field);
    json_text_string(out, buf_slice(&key));
    buf_fini(&key);
}

static void json_section(const struct explanation *x, const char *field, const struct rr *rrs,
                         size_t count, struct buf *out)
{
    struct buf text;
    buf_init(&text, RR_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&text);
        rr_text(&rrs[i], &x->plan->soa, &text);
        buf_printf(out, i == 0 ? ",\n\"%s\":[" : ",", field);
        json_text_string(out, buf_slice(&text));
    }
    buf_append_str(out, count ? "]" : "");
    buf_fini(&text);
}

static void json_records(const struct explanation *x, const struct explain_name *n, struct buf *out)
{
    struct dname name;
    buf_printf(out, ",\"key_count\":%zu,\"keys\":[", n->record_total);
    for (size_t i = 0; i < n->record_count; i++) {
        const struct explain_record *r = &n->records[i];
        buf_append_str(out, i ? ",\n {" : "\n {");
        record_page_fields(r->record, x->prefix, out);
        buf_printf(out, ",\"rule\":\"%s\"", rules[r->rule].word);
        store_record_name(r->record, &name);
        explain_json_change(x, &name, r->record->mod_revision, out);
        if (r->other) {
            json_key("instead", r->other, x->prefix, out);
        }
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void json_near(const struct explanation *x, const struct explain_name *n, struct buf *out)
{
    buf_append_char(out, ',');
    json_name("closest", &n->closest, out);
    explain_json_near(n->near, n->near_count, out);
    explain_json_change(x, &n->name, 0, out);
}

static void json_broken(const struct explain_name *n, struct buf *out)
{
    for (size_t i = 0; i < n->broken_count; i++) {
        buf_append_str(out, i ? ",{\"key\":" : ",\"broken\":[{\"key\":");
        json_text_string(out, n->broken[i].key);
        buf_append_str(out, ",\"reason\":");
        json_text_string(out, slice_str(n->broken[i].reason));
        buf_printf(out, ",\"revision\":%" PRId64 "}", n->broken[i].mod_revision);
    }
    buf_append_str(out, n->broken_count ? "]" : "");
}

static void json_one(const struct explanation *x, const struct explain_name *n, struct buf *out)
{
    buf_append_char(out, '{');
    json_name("name", &n->name, out);
    if (n->from) {
        json_key("host_of", n->from, x->prefix, out);
    }
    buf_printf(out, ",\"exists\":%s", n->exists ? "true" : "false");
    if (n->exists) {
        json_records(x, n, out);
    } else {
        json_near(x, n, out);
    }
    json_broken(n, out);
    buf_append_char(out, '}');
}

static void json_serial(const struct explanation *x, struct buf *out)
{
    const struct explain_serial *serial = &x->serial;
    if (!serial->is_shown) {
        return;
    }
    buf_printf(out, ",\n\"serial\":{\"value\":%" PRIu32, serial->value);
    if (!serial->is_hour && serial->is_known) {
        buf_printf(out,
                   ",\"base\":%" PRIu32 ",\"revision\":%" PRId64 ",\"settings\":%" PRIu32
                   ",\"has_key\":%s",
                   serial->base, serial->revision, serial->settings_part,
                   serial->has_key ? "true" : "false");
    }
    buf_append_char(out, '}');
}

void explain_page_json(const struct explanation *x, struct buf *out)
{
    char type[DNS_TYPE_TEXT_MAX];
    buf_append_char(out, '{');
    json_name("name", &x->asked, out);
    buf_printf(out, ",\"type\":\"%s\",\"revision\":%" PRId64 ",\"status\":\"%s\"",
               dns_type_text(x->question.type, type), x->revision, status_of(x));
    if (x->is_from_snapshot) {
        buf_printf(out, ",\"snapshot_age_s\":%" PRId64, x->snapshot_age_s);
    }
    explain_json_state(x, out);
    explain_json_who(x, out);
    explain_json_search(x, out);
    if (x->near_count > 0) {
        explain_json_near(x->near, x->near_count, out);
    }
    if (x->why) {
        buf_append_str(out, ",\"why\":");
        json_text_string(out, slice_str(x->why));
    }
    explain_json_keys(x, out);
    if (x->plan && !x->keys.set) {
        json_section(x, "answer", x->plan->answers.items, x->plan->answers.count, out);
        json_section(x, "authority", x->plan->authorities, x->plan->authority_count, out);
        json_section(x, "additional", x->plan->additionals.items, x->plan->additionals.count, out);
    }
    json_serial(x, out);
    explain_json_signed(x, out);
    explain_json_foreign(x, out);
    explain_json_tree(x, out);
    buf_append_str(out, ",\n\"names\":[");
    for (size_t i = 0; i < x->name_count; i++) {
        buf_append_str(out, i ? ",\n" : "");
        json_one(x, &x->names[i], out);
    }
    buf_append_str(out, "]}\n");
}
