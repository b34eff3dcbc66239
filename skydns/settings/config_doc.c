#include "skydns/settings/config_doc_internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "skydns/settings/config_doc_fields_internal.h"
#include "skydns/settings/config_documents.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"

/* SkyDNS's values for empty or zero fields. */
static const char default_address[] = "127.0.0.1:53", default_domain[] = "skydns.local.";
enum { DEFAULT_TTL_S = 3600, DEFAULT_MIN_TTL_S = 60, DEFAULT_PRIORITY = 10, DEFAULT_NDOTS = 2 };
enum { DEFAULT_TIMEOUT_MS = 2000, TIMEOUT_MAX_MS = 60000, NS_A_MS = 1000000 };

/* Where fields are stored. */
struct overlay {
    struct options *o;
    struct stub_zones *stubs; /* NULL: the document has none */
    struct config_doc_report *report;
    bool only_nameservers;
};

/* ---- Fields ---- */

static int take_address(struct overlay *x, json_t *value, struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : option_addresses(x->o, *text ? text : default_address, err);
}

static int take_query_log(struct overlay *x, json_t *value, struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : option_query_log(x->o, text, err);
}

static int take_systemd(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->systemd, err);
}

static int take_domain(struct overlay *x, json_t *value, struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : option_domains(x->o, *text ? text : default_domain, err);
}

static int take_local(struct overlay *x, json_t *value, struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : option_local(x->o, text, err);
}

static int take_hostmaster(struct overlay *x, json_t *value, struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : option_hostmaster(x->o, text, err);
}

static int take_round_robin(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->round_robin, err);
}

static int take_ns_rotate(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->ns_rotate, err);
}

static int take_no_rec(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->no_rec, err);
}

static int take_stubzones(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->stubzones, err);
}

static int take_require_store_key(struct overlay *x, json_t *value, struct err *err)
{
    return config_bool(value, &x->o->require_store_key, err);
}

/* The list replaces the flag's; an empty one means resolv.conf's. */
static int take_nameservers(struct overlay *x, json_t *value, struct err *err)
{
    if (!json_is_array(value)) {
        return config_wrong(value, "a list of strings like \"192.0.2.1:53\"", err);
    }
    x->report->has_nameservers = true;
    x->o->nameserver_count = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = "";
        int r = config_text(json_array_get(value, i), &text, err);
        if (r == 0) {
            r = option_add_nameserver(x->o, text, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int take_read_timeout(struct overlay *x, json_t *value, struct err *err)
{
    static const char want[] = "nanoseconds from 1000000 to 60000000000; 2000000000 is two seconds";
    struct err out_of_range;
    int64_t ns;
    if (config_number(value, 0, (int64_t)TIMEOUT_MAX_MS * NS_A_MS, &ns, &out_of_range) < 0 ||
        (ns > 0 && ns < NS_A_MS)) {
        return config_wrong(value, want, err);
    }
    x->o->rtimeout_ms = ns == 0 ? DEFAULT_TIMEOUT_MS : (uint32_t)(ns / NS_A_MS);
    return 0;
}

static int take_priority(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, UINT16_MAX, DEFAULT_PRIORITY, &number, err);
    x->o->priority = r < 0 ? x->o->priority : (uint16_t)number;
    return r;
}

/* RFC 2181 section 8: a TTL has 31 bits; SkyDNS accepted 32. */
static uint32_t ttl_of(int64_t number)
{
    return number > INT32_MAX ? INT32_MAX : (uint32_t)number;
}

static int take_ttl(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, UINT32_MAX, DEFAULT_TTL_S, &number, err);
    x->o->ttl_s = r < 0 ? x->o->ttl_s : ttl_of(number);
    return r;
}

static int take_min_ttl(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, UINT32_MAX, DEFAULT_MIN_TTL_S, &number, err);
    x->o->min_ttl_s = r < 0 ? x->o->min_ttl_s : ttl_of(number);
    return r;
}

static int take_ndot(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_number(value, INT32_MIN, INT32_MAX, &number, err);
    if (r == 0) {
        x->o->ndots = number <= 0 ? DEFAULT_NDOTS : (unsigned)number;
    }
    return r;
}

/* Of SkyDNS's fields, a negative number is 0. */
static int take_rcache(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_number(value, INT32_MIN, CACHE_ENTRIES_MAX, &number, err);
    if (r == 0) {
        x->o->rcache = number < 0 ? 0 : (uint32_t)number;
    }
    return r;
}

static int take_rcache_ttl(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_number(value, INT32_MIN, INT32_MAX, &number, err);
    if (r == 0) {
        x->o->rcache_ttl_s = number <= 0 ? OPTIONS_RCACHE_TTL_S : (uint32_t)number;
    }
    return r;
}

static int take_rcache_stale(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, OPTIONS_RCACHE_STALE_MAX_S, OPTIONS_RCACHE_STALE_S, &number, err);
    if (r == 0) {
        x->o->rcache_stale_ms = number * 1000;
    }
    return r;
}

static int take_snapshot_interval(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, OPTIONS_SNAPSHOT_INTERVAL_MAX_S, OPTIONS_SNAPSHOT_INTERVAL_S,
                         &number, err);
    if (r == 0) {
        x->o->snapshot_interval_ms = number * 1000;
    }
    return r;
}

static int take_snapshot_max(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_count(value, INT32_MAX, OPTIONS_SNAPSHOT_MAX_S, &number, err);
    if (r == 0) {
        x->o->snapshot_max_ms = number * 1000;
    }
    return r;
}

static int take_stub(struct overlay *x, const char *name, const json_t *value, struct err *err)
{
    struct foreign_zone zone = {.origin = ZONE_FROM_DOCUMENT};
    int r = option_zone(&zone.name, name, err);
    if (r == 0 && json_array_size(value) == 0) {
        r = config_wrong(value, "a list of strings like \"10.0.0.1:53\"", err);
    }
    for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
        const char *text = "";
        r = config_text(json_array_get(value, i), &text, err);
        if (r == 0) {
            r = option_add_server(&zone, text, err);
        }
    }
    if (r == 0 && !stub_zones_set(x->stubs, &zone)) {
        r = err_set(err, ERR_USAGE, "more than %d zones", ZONE_TABLE_MAX);
    }
    return r < 0 ? err_wrap(err, r, "zone `%s`", name) : 0;
}

/* Zone by zone in place of the flags'. */
static int take_stubs(struct overlay *x, json_t *value, struct err *err)
{
    if (!json_is_object(value)) {
        return config_wrong(value, "an object like {\"acme.local\":[\"10.0.0.1:53\"]}", err);
    }
    stub_zones_unref(x->stubs); /* of an earlier field with this name */
    x->stubs = stub_zones_copy(x->o->stubs);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        int r = take_stub(x, json_object_iter_key(at), json_object_iter_value(at), err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* A blank is a + that somebody sent in a form, as SkyDNS had it. */
static int take_dnssec(struct overlay *x, json_t *value, struct err *err)
{
    struct buf list;
    buf_init(&list, CONFIG_DOCUMENT_MAX);
    int r = config_list(value, &list, err);
    for (size_t i = 0; i < list.len; i++) {
        list.data[i] = list.data[i] == ' ' ? '+' : list.data[i];
    }
    if (r == 0) {
        r = option_dnssec(x->o, buf_cstr(&list), err);
    }
    buf_fini(&list);
    return r;
}

static int take_scache(struct overlay *x, json_t *value, struct err *err)
{
    int64_t number;
    int r = config_number(value, INT32_MIN, DNSSEC_SIGNATURES_MAX, &number, err);
    if (r == 0) {
        x->o->scache = number <= 0 ? OPTIONS_SCACHE_DEFAULT : (uint32_t)number;
    }
    return r;
}

static int take_transfer_to(struct overlay *x, json_t *value, struct err *err)
{
    struct buf list;
    buf_init(&list, CONFIG_DOCUMENT_MAX);
    int r = config_list(value, &list, err);
    if (r == 0) {
        r = option_transfer_to(x->o, list.len ? buf_cstr(&list) : "", err);
    }
    buf_fini(&list);
    return r == 0 ? option_check_transfers(x->o, err) : r;
}

static void ignore(struct overlay *x, const char *field, const char *why)
{
    struct config_doc_report *report = x->report;
    if (report->ignored_count < CONFIG_DOC_IGNORED_MAX) {
        struct config_doc_ignored *ignored = &report->ignored[report->ignored_count++];
        (void)snprintf(ignored->field, sizeof(ignored->field), "%s", field); /* may cut */
        ignored->why = why;
    }
}

/* Off, empty and zero request nothing. */
static bool asks_for_something(const json_t *value)
{
    return json_is_true(value) || json_number_value(value) != 0 || json_string_length(value) > 0;
}

/* ---- The document ---- */

static const struct {
    const char *name;
    int (*take)(struct overlay *x, json_t *value, struct err *err);
} fields[] = {
    {"dns_addr", take_address},
    {"systemd", take_systemd},
    {"domain", take_domain},
    {"local", take_local},
    {"hostmaster", take_hostmaster},
    {"round_robin", take_round_robin},
    {"ns_rotate", take_ns_rotate},
    {"nameservers", take_nameservers},
    {"no_rec", take_no_rec},
    {"read_timeout", take_read_timeout},
    {"priority", take_priority},
    {"ttl", take_ttl},
    {"min_ttl", take_min_ttl},
    {"ndot", take_ndot},
    {"require_store_key", take_require_store_key},
    {"rcache", take_rcache},
    {"rcache_ttl", take_rcache_ttl},
    {"rcache_stale", take_rcache_stale},
    {"snapshot_interval", take_snapshot_interval},
    {"snapshot_max", take_snapshot_max},
    {"stubs", take_stubs},
    {"stubzones", take_stubzones},
    {"dnssec", take_dnssec},
    {"scache", take_scache},
    {"transfer_to", take_transfer_to},
    {"query_log", take_query_log},
};

static const struct {
    const char *name;
    const char *why;
} without_effect[] = {
    {"Etcd3", NULL}, /* always so */
    {"Version", NULL},
    {"verbose", "only a flag; the field is `query_log`"},
};

static int take_field(struct overlay *x, const char *name, json_t *value, struct err *err)
{
    if (json_is_null(value) || (x->only_nameservers && strcmp(name, "nameservers") != 0)) {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (strcasecmp(fields[i].name, name) == 0) {
            int r = fields[i].take(x, value, err);
            return r < 0 ? err_wrap(err, ERR_SYNTAX, "field `%s`", fields[i].name) : 0;
        }
    }
    bool is_known = false;
    int r = config_client_field(&x->o->clients, name, value, &is_known, err);
    if (is_known) {
        return r < 0 ? err_wrap(err, ERR_SYNTAX, "field `%s`", name) : 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(without_effect); i++) {
        if (strcasecmp(without_effect[i].name, name) == 0) {
            if (without_effect[i].why && asks_for_something(value)) {
                ignore(x, without_effect[i].name, without_effect[i].why);
            }
            return 0;
        }
    }
    ignore(x, name, strcasecmp(name, "ndots") == 0 ? "unknown; the field is `ndot`" : "unknown");
    return 0;
}

static int take_fields(struct overlay *x, json_t *object, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        int r = take_field(x, name, value, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* The fields agree, so that the options may change. */
static int settle(struct overlay *x, struct options *options, struct err *err)
{
    struct stub_zones *before = options->stubs;
    x->o->stubs = x->stubs ? x->stubs : before;
    if (option_check_stubs(x->o, err) < 0) {
        return err_wrap(err, ERR_SYNTAX, "field `stubs`");
    }
    if (x->stubs) {
        stub_zones_unref(before);
    }
    x->stubs = NULL;
    *options = *x->o;
    return 0;
}

static int apply(struct overlay *x, struct slice json, size_t bytes_max, struct options *options,
                 struct err *err)
{
    json_error_t why;
    *x->report = (struct config_doc_report){0};
    if (json.len > bytes_max) {
        return err_set(err, ERR_TOO_LARGE, "%zu bytes: expected at most %zu", json.len, bytes_max);
    }
    json_t *root = json_loadb(json.len ? json.ptr : "", json.len, 0, &why);
    if (!root) {
        return err_set(err, ERR_SYNTAX, "not JSON: %s at byte %d", why.text, why.position);
    }
    int r = json_is_object(root)
                ? take_fields(x, root, err)
                : err_set(err, ERR_SYNTAX, "expected a JSON object like {\"ttl\":300}");
    json_decref(root);
    if (r == 0) {
        r = settle(x, options, err);
    }
    stub_zones_unref(x->stubs); /* of a refused document */
    return r;
}

int config_doc_apply(struct slice json, struct options *options, struct config_doc_report *report,
                     struct err *err)
{
    struct options changed = *options;
    struct overlay x = {.o = &changed, .report = report};
    return apply(&x, json, CONFIG_DOCUMENT_MAX, options, err);
}

int config_doc_apply_writers(struct slice json, struct options *options,
                             struct config_doc_report *report, struct err *err)
{
    struct options changed = *options;
    struct overlay x = {.o = &changed, .report = report, .only_nameservers = true};
    return apply(&x, json, WRITER_DOCUMENT_MAX, options, err);
}
