/* -schema=kubernetes: where Kubernetes DNS-Based Service Discovery 1.1.0 says otherwise than
 * SkyDNS. Wildcards are no such place: with this schema no lookup knows them (follow_rule). */
#include "skydns/answer/answer_internal.h"

/* What a name is, by its labels in front of the domain. */
enum place {
    PLACE_DOMAIN,     /* <domain> */
    PLACE_ABOVE,      /* svc, pod, <namespace>.svc, <namespace>.pod: between domain and records */
    PLACE_SERVICE,    /* <service>.<namespace>.svc */
    PLACE_ENDPOINT,   /* <label>.<service>.<namespace>.svc, and the names of pods */
    PLACE_PROTOCOL,   /* _tcp.<service>... */
    PLACE_PORT,       /* _http._tcp.<service>... */
    PLACE_BELOW_PORT, /* <label>._http._tcp.<service>... */
    PLACE_OTHER,      /* what the specification does not speak of */
};

/* The labels of a name, right to left from the domain. */
struct walk {
    const struct dname *name;
    struct dname_labels labels;
    unsigned first; /* the leftmost label of the domain */
};

static unsigned depth(const struct walk *w)
{
    return w->first;
}

/* The n-th from the domain, from 1. */
static struct slice label_at(const struct walk *w, unsigned n)
{
    return dname_label(w->name, w->labels.offsets[w->first - n]);
}

static bool is_underscored(struct slice label)
{
    return label.len > 0 && label.ptr[0] == '_';
}

static enum place service_place(const struct walk *w)
{
    if (depth(w) == 3) {
        return PLACE_SERVICE;
    }
    if (!is_underscored(label_at(w, 4))) {
        return PLACE_ENDPOINT;
    }
    return depth(w) == 4 ? PLACE_PROTOCOL : depth(w) == 5 ? PLACE_PORT : PLACE_BELOW_PORT;
}

static enum place place_of(const struct engine_zone *zone, const struct dname *name)
{
    struct walk w = {.name = name};
    dname_labels(name, &w.labels);
    w.first = w.labels.count - zone->labels;
    if (depth(&w) == 0) {
        return PLACE_DOMAIN;
    }
    bool is_service = slice_equal(label_at(&w, 1), slice_str("svc"));
    if (!is_service && !slice_equal(label_at(&w, 1), slice_str("pod"))) {
        return PLACE_OTHER;
    }
    if (depth(&w) < 3) {
        return PLACE_ABOVE;
    }
    return is_service ? service_place(&w) : PLACE_ENDPOINT;
}

static void answer_version(struct answer *a)
{
    if (a->in.question->type == DNS_TYPE_TXT) {
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->ttl_s,
                                  .type = DNS_TYPE_TXT,
                                  .data = slice_str("1.1.0")});
    }
}

/* A service's records are its addresses, its ports' are SRV; names above them have none. */
static bool has_data(enum place place, uint16_t type)
{
    bool is_address = type == DNS_TYPE_A || type == DNS_TYPE_AAAA;
    switch (place) {
    case PLACE_DOMAIN:
        return type == DNS_TYPE_SOA || type == DNS_TYPE_NS;
    case PLACE_ABOVE:
    case PLACE_PROTOCOL:
        return false;
    case PLACE_ENDPOINT:
        return type != DNS_TYPE_SRV; /* it would say port 0 */
    case PLACE_PORT:
        return type == DNS_TYPE_SRV;
    case PLACE_BELOW_PORT:
        return !is_address;
    case PLACE_SERVICE:
    case PLACE_OTHER:
        break;
    }
    return true;
}

bool answer_kube_has_data(const struct engine_zone *zone, const struct dname *name, uint16_t type)
{
    return has_data(place_of(zone, name), type);
}

bool answer_kube(struct answer *a)
{
    uint16_t type = a->in.question->type;
    if (dname_equal(&a->name, &a->zone->version)) {
        answer_version(a);
        return true;
    }
    enum place place = place_of(a->zone, &a->name);
    if (!has_data(place, type)) {
        answer_nothing(a);
        return true;
    }
    if (place == PLACE_SERVICE && type == DNS_TYPE_SRV) {
        answer_ports(a);
        return true;
    }
    return false;
}
