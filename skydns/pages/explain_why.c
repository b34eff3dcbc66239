/* What an answer depends on besides keys, in a sentence. */
#include "skydns/pages/explain.h"

static const char *why_not_ours(const struct explain_case *c)
{
    if (c->config->no_rec) {
        return "in no domain of this server, and -no-rec forbids to forward it";
    }
    if (!c->config->has_nameservers) {
        return "in no domain of this server, and no nameserver is known";
    }
    return "in no domain of this server, and fewer labels than -ndots";
}

static const char *why_ours(const struct explain_case *c)
{
    const struct engine_zone *zone = c->zone;
    if (!c->store) {
        return "nothing has been read from etcd yet";
    }
    if (zone->pods.len > 0 && c->config->pods != ENGINE_PODS_VERIFIED &&
        dname_is_within(c->name, &zone->pods)) {
        return c->config->pods == ENGINE_PODS_DISABLED
                   ? "-pods=disabled: names of pods do not exist"
                   : "-pods=insecure: the name itself says the address; no key is looked at";
    }
    if (c->config->schema == ENGINE_SCHEMA_KUBERNETES && dname_equal(c->name, &zone->version)) {
        return "-schema=kubernetes: the version of the specification";
    }
    if (dname_equal(c->name, &zone->ns) && !store_find(c->store, &zone->ns, NULL)) {
        return "this server's own name: it has the address at which the server was asked";
    }
    if (dname_equal(c->name, &zone->domain) &&
        (c->type == DNS_TYPE_SOA || c->type == DNS_TYPE_NS)) {
        return "the domain's own records: SOA from the configuration, NS from keys below dns/ns, "
               "or this server when there are none";
    }
    return NULL;
}

const char *explain_why(const struct explain_case *c)
{
    if (c->is_forwarded) {
        return "in no domain of this server: a nameserver is asked";
    }
    if (!c->plan) {
        return "so many records that the thread that waits makes the answer; it is not shown here";
    }
    if (c->type == DNS_TYPE_ANY) {
        return "-any says what questions for ANY get";
    }
    if (c->zone) {
        return why_ours(c);
    }
    if (c->plan->is_authoritative) {
        return "a reverse name: the key of exactly this name counts, if its host is a name; "
               "-reverse-zones says which of the others are not forwarded";
    }
    return why_not_ours(c);
}
