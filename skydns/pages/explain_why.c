/* Says in a sentence what an answer depends on other than keys. */
#include "common/base/clock.h"

#include "common/base/outage.h"
#include "skydns/pages/explain.h"
#include "skydns/records/overrides.h"
#include "skydns/sync/store_sync.h"

static const char *why_not_ours(const struct explain_case *c)
{
    if (c->config->settings.no_rec) {
        return "in no domain of this server, and -no-rec forbids forwarding";
    }
    if (c->plan->rcode == DNS_RCODE_NXDOMAIN) {
        return "in no domain of this server; -ndots keeps it from being forwarded, so it does not "
               "exist";
    }
    if (!c->config->has_nameservers) {
        return "in no domain of this server, and there is no upstream";
    }
    return "in no domain of this server, and fewer labels than -ndots";
}

static const char *why_from_elsewhere(const struct explain_external *x)
{
    if (x->source == EXPLAIN_FROM_HOSTS) {
        return "in a file of -hosts, which comes before all upstreams";
    }
    if (x->is_listed) {
        return "in a file of -hosts, which has A and AAAA; other types are the upstreams', whose "
               "NXDOMAIN becomes NODATA";
    }
    if (x->zone && zone_is_stub(x->zone)) {
        return x->zone->server_count == 0
                   ? "in a stub zone without a usable upstream"
                   : "in a stub zone: -ndots and -no-rec do not matter, -allow-recursion does";
    }
    if (x->source != EXPLAIN_FROM_CACHE) {
        return "in no domain of this server: an upstream is queried";
    }
    return x->cached.state == CACHE_FAILED
               ? "in no domain of this server; upstreams have just failed, so none is queried"
               : "in no domain of this server; the response is cached";
}

/* Returns whether -alias or -overrides has the name, for clients that see where it leads. */
static bool is_overridden(const struct explain_case *c)
{
    const struct store *overrides = c->store ? store_overrides(c->store) : NULL;
    const struct forward_zone *zone = c->external->zone;
    struct override_found found;
    return engine_config_alias(c->config, c->name) ||
           (overrides && overrides_find(overrides, c->name, &found) &&
            !(found.is_wildcard && zone && zone_is_stub(zone)));
}

/* Returns why -alias and -overrides leave a name of theirs to its upstream; NULL: it is none. */
static const char *why_not_overridden(const struct explain_case *c)
{
    if (c->external->has_override) {
        return "-alias or -overrides has the name; this type is its upstream's, whose NXDOMAIN "
               "becomes NODATA";
    }
    return c->config->visibility && !c->zone && !c->external->is_listed && is_overridden(c)
               ? "-alias or -overrides has the name, but leads to one that -visibility hides from "
                 "this client, so its upstream answers"
               : NULL;
}

static const char *why_elsewhere(const struct explain_case *c)
{
    if (c->external->source == EXPLAIN_FROM_HOSTS) {
        return why_from_elsewhere(c->external);
    }
    const char *not_overridden = why_not_overridden(c);
    if (not_overridden) {
        return not_overridden;
    }
    return c->type == DNS_TYPE_AAAA && c->config->settings.dns64.is_on && !c->zone
               ? "in no domain of this server: upstreams say what it has; without AAAA, -dns64 "
                 "makes them of its IPv4 addresses, which are queried, too"
               : why_from_elsewhere(c->external);
}

static const char nothing_read[] = "nothing has been read from etcd yet";

/* Returns why a zone is not ready; the reverse names are those of all domains. */
static const char *why_not_ready(const struct explain_case *c)
{
    if (!c->store) {
        return nothing_read;
    }
    if (c->zone && !c->zone->is_incomplete) {
        return "it leads to a name of another domain, which is incomplete: its store key is "
               "missing in etcd (see /readiness?strict), so names that etcd lacks may exist";
    }
    return "the domain is incomplete: its store key is missing in etcd (see /readiness?strict), "
           "so names that etcd lacks may exist";
}

static const char *why_ours(const struct explain_case *c)
{
    const struct engine_zone *zone = c->zone;
    if (!c->store) {
        return nothing_read;
    }
    if (zone->pods.len > 0 && c->config->settings.pods != ENGINE_PODS_VERIFIED &&
        dname_is_within(c->name, &zone->pods)) {
        return c->config->settings.pods == ENGINE_PODS_DISABLED
                   ? "-pods=disabled: names of pods do not exist"
                   : "-pods=insecure: the name itself gives the address; no key is used";
    }
    if (c->config->settings.schema == ENGINE_SCHEMA_KUBERNETES &&
        dname_equal(c->name, &zone->version)) {
        return "-schema=kubernetes: the version of the specification";
    }
    if (dname_equal(c->name, &zone->ns) && !store_find(c->store, &zone->ns)) {
        return "this server's own name: its address is the one the query was sent to";
    }
    if (dname_equal(c->name, &zone->domain) &&
        (c->type == DNS_TYPE_SOA || c->type == DNS_TYPE_NS)) {
        return "the domain's own records: SOA from the configuration, NS from keys below dns/ns, "
               "or this server when there are none";
    }
    return NULL;
}

/* Returns what the rule for external names did; NULL: none made the answer. */
static const char *why_by_rule(const struct explain_case *c)
{
    if (c->rule == ANSWER_BY_DNS64 && c->type == DNS_TYPE_PTR) {
        return "an address of -dns64: a CNAME to the reverse name of its IPv4 address, which is "
               "answered like that";
    }
    switch (c->plan ? c->rule : ANSWER_BY_SOURCE) {
    case ANSWER_BY_SPECIAL_NAME:
        return "a special name (RFC 6761, 7686, 9462): answered here, and no upstream is queried; "
               "that of a stub zone at or below it would be";
    case ANSWER_BY_NO_AAAA:
        return "in a zone of -no-aaaa: AAAA is NODATA, and no upstream is queried";
    case ANSWER_BY_DNS64:
        return "made by -dns64 of IPv4 addresses";
    case ANSWER_BY_ALIAS:
        return "-alias: it answers as the name it stands for, whose addresses it has; types other "
               "than A and AAAA are its upstream's";
    case ANSWER_BY_OVERRIDE:
        return "-overrides: a record in etcd with this name, or with a wildcard that covers it, "
               "answers; types that it does not have are its upstream's";
    case ANSWER_BY_SOURCE:
    case ANSWER_BY_HOSTS:
        break;
    }
    return NULL;
}

const char *explain_why(const struct explain_case *c)
{
    const char *by_rule = why_by_rule(c);
    if (by_rule) {
        return by_rule;
    }
    if (c->external->source != EXPLAIN_FROM_HERE) {
        return why_elsewhere(c);
    }
    if (c->is_of_keys) {
        return "the domain's own records: the keys of -dnssec";
    }
    if (!c->plan) {
        return "too many records to answer at once; another thread makes the answer, not "
               "shown here";
    }
    if (dns_type_is_meta(c->type)) {
        return "no record has this type: transfers, and queries for anything but records, are not "
               "answered";
    }
    if (c->plan->error == EDNS_ERROR_NOT_READY) {
        return why_not_ready(c);
    }
    if (c->type == DNS_TYPE_ANY) {
        return "-any decides the answer to ANY";
    }
    if (c->zone) {
        return why_ours(c);
    }
    if (c->plan->is_authoritative) {
        return "a reverse name: only the key at this very name counts, if its host is a name; "
               "other names in -reverse-zones are not forwarded";
    }
    return why_not_ours(c);
}

/* Returns how old the records are that an explanation is about. */
struct explain_etcd explain_etcd(const struct store_sync *sync, const struct outage *outage)
{
    const struct etcd_mirror_counts mirror = store_sync_counts(sync).mirror;
    int64_t heard_ms = store_sync_heard_ms(sync), now_ms = clock_wall_ms();
    struct explain_etcd etcd = {
        .is_away = outage && outage_is_away(outage),
        .reason = outage ? outage_why(outage) : "",
        .has_records = store_sync_store(sync) != NULL,
        .age_s = heard_ms > 0 && now_ms > heard_ms ? (now_ms - heard_ms) / 1000 : 0,
        .is_holding_old = mirror.is_holding_old,
        .holding_s = mirror.holding_ms / 1000,
    };
    if (etcd.is_away) {
        etcd.away_s = outage_away_ms(outage) / 1000;
    }
    return etcd;
}

static enum explain_rule host_rule(const struct store_record *record, enum explain_rule if_address,
                                   enum explain_rule if_name)
{
    switch ((enum store_host)record->host) {
    case STORE_HOST_NONE:
        return EXPLAIN_NO_HOST;
    case STORE_HOST_BAD:
        return EXPLAIN_BAD_HOST;
    case STORE_HOST_IP:
        return if_address;
    case STORE_HOST_NAME:
        break;
    }
    return if_name;
}

static enum explain_rule address_rule(const struct engine_config *config,
                                      const struct store_record *record, uint16_t type)
{
    bool is_wanted = record->host_len == (type == DNS_TYPE_A ? 4 : 16);
    struct dname host;
    bool is_external = false;
    if (store_record_host_name(record, &host)) {
        dname_lower(&host);
        is_external = !engine_config_zone(config, &host);
    }
    return host_rule(record, is_wanted ? EXPLAIN_DUPLICATE : EXPLAIN_FAMILY,
                     is_external ? EXPLAIN_EXTERNAL : EXPLAIN_TARGET);
}

enum explain_rule explain_type_rule(const struct engine_config *config, uint16_t type,
                                    const struct dname *name, const struct store_record *record)
{
    struct dname own;
    store_record_name(record, &own);
    switch (type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        return address_rule(config, record, type);
    case DNS_TYPE_SRV:
        return host_rule(record, EXPLAIN_DUPLICATE, EXPLAIN_DUPLICATE);
    case DNS_TYPE_MX:
        return record->mail ? host_rule(record, EXPLAIN_DUPLICATE, EXPLAIN_DUPLICATE)
                            : EXPLAIN_NO_MAIL;
    case DNS_TYPE_TXT:
        return record->lens[RECORD_TEXT] ? EXPLAIN_DUPLICATE : EXPLAIN_NO_TEXT;
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
        return dname_equal(&own, name) ? host_rule(record, EXPLAIN_ADDRESS, EXPLAIN_DUPLICATE)
                                       : EXPLAIN_BELOW;
    default:
        return EXPLAIN_TYPE;
    }
}
