/* The fast path against the slow path: random stores and queries. Prints the seed on failure. */
#include "common/dns/record.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/topology.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/fast/fast_bed.h"

enum { CHANGES = 6, QUERIES = 250, CHANGE_EACH = 50 };

/* Every combination of the settings that decide whose a name is and what it means. */
enum { SCHEMAS = 2, PODS = 3, REVERSE_ZONES = 3, DOMAINS = 3 };
enum { CONFIGS = SCHEMAS * PODS * REVERSE_ZONES * DOMAINS, STORES = 2 * CONFIGS };

/* Names of other domains that are kept, or were; some below our domains. */
static const char *const external_names[] = {
    "www.test.",
    "gone.www.test.",
    "www.sub.test.",
    "x.stub.cluster.local.",
    "single.",
    "big.test.",
    "a.n.svc.default.svc.cluster.local.",
    "1.2.0.10.in-addr.arpa.",
    "x.n.svc.cluster.local.",
    "www.none.test.",
    "absent.n.svc.cluster.local.",
    "sub.test.",
    "stub.cluster.local.",
    "local.",
};
enum { EXTERNAL_NAMES = sizeof(external_names) / sizeof(external_names[0]) };

/* ---- Stores ---- */

static void fast_model_put(struct bed *b, const char *key, const char *value)
{
    (void)snprintf(b->put[b->put_count++ % KEYS_MAX], KEY_SIZE, "%s", key);
    fixture_put(b->f, &(struct fixture_key){key, value}, 1);
}

static void draw_address(char *out, size_t size)
{
    if (random_below(4) == 0) {
        (void)snprintf(out, size, "fd00::%x", random_below(40));
    } else {
        (void)snprintf(out, size, "10.0.%u.%u", random_below(2), random_below(40));
    }
}

/* Mostly values as kube2sky writes them, sometimes as other writers may. */
static void draw_value(const char *host, unsigned port, char *out, size_t size)
{
    const char *odd = "";
    if (random_below(12) == 0) {
        odd = RANDOM_PICK(",'group':'g'", ",'weight':3", ",'weight':30000", ",'priority':20",
                          ",'ttl':7", ",'text':'t'", ",'targetstrip':1", ",'mail':true");
    }
    bool is_bare = random_below(15) == 0;
    int n = snprintf(out, size, "{'host':'%s'%s%s", host, is_bare ? "" : ",'ttl':30,'priority':10",
                     odd);
    if (port) {
        n += snprintf(out + n, size - (size_t)n, ",'port':%u", port);
    }
    (void)snprintf(out + n, size - (size_t)n, "}");
}

static const char *fast_model_draw_service(struct bed *b)
{
    return RANDOM_PICK("a", "b", "web", "x-y", "dns", "any", "_odd");
}

static const char *draw_namespace(void)
{
    return RANDOM_PICK("default", "kube-system", "n");
}

static void fast_model_put_service(struct bed *b)
{
    char key[200], value[300], host[64];
    const char *name = fast_model_draw_service(b), *ns = draw_namespace();
    unsigned endpoints = random_below(20) == 0 ? 40 : 1 + random_below(4);
    bool is_large = random_below(20) == 0; /* more than are prepared, and mostly than fit */
    bool is_v6 = random_below(3) == 0, has_names = random_below(3) == 0;
    endpoints = is_large ? 33 + random_below(120) : endpoints;
    for (unsigned i = 0; i < endpoints; i++) {
        draw_address(host, sizeof(host));
        if (is_large && has_names && random_below(40) == 0) {
            (void)snprintf(
                host, sizeof(host), "%s",
                RANDOM_PICK("www.test.", "b.n.svc.cluster.local.", "top.cluster.local."));
        }
        if (is_large && (host[0] == 'f' || host[0] == '1') && random_below(30) > 0) {
            (void)snprintf(host, sizeof(host), is_v6 ? "fd01::%x" : "10.1.0.%u", i);
            (void)snprintf(value, sizeof(value), "{'host':'%s','ttl':%u}", host,
                           30 + random_below(2));
            (void)snprintf(key, sizeof(key), "local/cluster/svc/%s/%s/l%u", ns, name, i);
            fast_model_put(b, key, value);
            continue;
        }
        draw_value(host, 0, value, sizeof(value));
        (void)snprintf(key, sizeof(key), "local/cluster/svc/%s/%s/e%u", ns, name, random_below(50));
        fast_model_put(b, key, value);
    }
    for (unsigned i = random_below(4); i > 0; i--) {
        char target[200];
        switch (random_below(8)) {
        case 0:
            (void)snprintf(target, sizeof(target), "%s",
                           RANDOM_PICK("www.test.", "A.b.cluster.local.",
                                       "absent.n.svc.cluster.local.", "ns.dns.cluster.local.",
                                       "any.n.svc.cluster.local.", "A.n.svc.cluster.local.",
                                       "n.svc.cluster.local."));
            break;
        case 1:
        case 2:
        case 3:
            (void)snprintf(target, sizeof(target), "e%u.%s.%s.svc.cluster.local.", random_below(50),
                           name, ns);
            break;
        default:
            (void)snprintf(target, sizeof(target), "%s.%s.svc.cluster.local.", name, ns);
            break;
        }
        draw_value(target, 80 + random_below(3), value, sizeof(value));
        (void)snprintf(key, sizeof(key), "local/cluster/svc/%s/%s/_tcp/_http/e%u", ns, name,
                       random_below(5));
        fast_model_put(b, key, value);
    }
}

static void put_other(struct bed *b)
{
    char key[200], value[300];
    switch (random_below(8)) {
    case 6: /* at and below what may be a domain in a reverse zone */
        (void)snprintf(key, sizeof(key), "arpa/in-addr/10%s",
                       RANDOM_PICK("/96/x/h", "/96/x/svc/n/a/h", "/96/0/1", "/h",
                                   "/svc/n/a/_tcp/_http/h", "/dns/local"));
        draw_value(
            RANDOM_PICK("10.0.0.7", "a.n.svc.10.in-addr.arpa.", "web.default.svc.cluster.local."),
            80, value, sizeof(value));
        break;
    case 7: /* pods with ports, which -schema=kubernetes lacks */
        (void)snprintf(key, sizeof(key), "local/cluster/pod/n/10-0-0-%u/%s", random_below(9),
                       RANDOM_PICK("_tcp/_http/h", "_tcp/h", "e/h"));
        draw_value(RANDOM_PICK("10.0.0.7", "a.n.svc.cluster.local."), 80, value, sizeof(value));
        break;
    case 0:
        (void)snprintf(key, sizeof(key), "arpa/%s/10/0/0/%u",
                       RANDOM_PICK("in-addr", "in-addr", "other"), random_below(40));
        draw_value(RANDOM_PICK("web.default.svc.cluster.local.", "x.arpa.", "x.Arpa.", "10.0.0.1"),
                   0, value, sizeof(value));
        break;
    case 1: /* aliases, at the name and below it */
        (void)snprintf(key, sizeof(key), "local/cluster/%s%s%s",
                       RANDOM_PICK("svc/n/ext", "svc/default/ext", "svc/n/a/e1", "pod/n/10-0-0-3",
                                   "top", "svc/n/a"),
                       RANDOM_PICK("", "/h", "/i"), RANDOM_PICK("", "", "/deep"));
        draw_value(RANDOM_PICK("web.default.svc.cluster.local.", "www.test.",
                               "ext.n.svc.cluster.local.", "top.cluster.local.",
                               "h.top.cluster.local."),
                   0, value, sizeof(value));
        break;
    case 2:
        (void)snprintf(key, sizeof(key), "local/cluster/pod/n/10-0-0-%u/h", random_below(9));
        draw_value("10.0.0.7", 0, value, sizeof(value));
        break;
    case 3: /* more labels than a service's port */
        (void)snprintf(key, sizeof(key), "local/cluster/svc/n/a/d/e/e/p/e/%s/h",
                       RANDOM_PICK("r", "_tcp/_http", "r/_tcp/_http"));
        draw_value(RANDOM_PICK("r.e.p.e.e.d.a.n.svc.cluster.local.",
                               "p.e.e.d.a.n.svc.cluster.local.", "e.d.a.n.svc.cluster.local.",
                               "10.0.0.8"),
                   80, value, sizeof(value));
        break;
    case 4:
        (void)snprintf(key, sizeof(key), "local/cluster/%s",
                       RANDOM_PICK("hostmaster/a", "dns/ns/a", "top", "top/below", "svc/n/a"));
        draw_value("10.0.0.9", 0, value, sizeof(value));
        break;
    default:
        (void)snprintf(key, sizeof(key), "local/cluster/text");
        (void)snprintf(value, sizeof(value), "{'text':'only'}");
        break;
    }
    fast_model_put(b, key, value);
}

static void fast_model_change_one(struct bed *b)
{
    struct dname name;
    bool is_changed = false;
    unsigned known = b->put_count < KEYS_MAX ? b->put_count : KEYS_MAX;
    assert_true(record_key_to_name(slice_str(""), slice_str(b->put[random_below(known)]), &name));
    if (random_below(2)) {
        store_writer_del(b->f->writer, &name);
    } else {
        assert_true(
            store_writer_set_ttl(b->f->writer, &name, 1, 20 + random_below(3), &is_changed) ||
            !is_changed);
    }
}

/* Several in one version; rarely, drops everything not put again right away. */
static void change_some(struct bed *b)
{
    if (random_below(30) == 0) {
        store_writer_clear(b->f->writer);
    }
    for (unsigned i = 1 + random_below(3); i > 0; i--) {
        fast_model_change_one(b);
    }
    if (random_below(2)) {
        fast_model_put_service(b); /* its first key must be of the same version */
    }
    fixture_put(b->f, NULL, 0);
}

static void draw_domains(struct bed *b, unsigned domains, unsigned reverse_zones)
{
    if (domains == 1) { /* side by side */
        fixture_domain(b->f, RANDOM_PICK("other.test.", "10.in-addr.arpa."));
    } else if (domains == 2) { /* nested */
        fixture_domain(b->f, RANDOM_PICK("n.svc.cluster.local.", "deep.top.cluster.local.",
                                         "below.absent.cluster.local.", "n.pod.cluster.local.",
                                         "local."));
    }
    if (reverse_zones > 0) {
        add_reverse_zone(b->f, "10.96.0.0", 12);
    }
    if (reverse_zones == 2) { /* a domain in it, or around it */
        fixture_domain(b->f, RANDOM_PICK("10.in-addr.arpa.", "x.96.10.in-addr.arpa.",
                                         "96.10.in-addr.arpa.", "in-addr.arpa.", "arpa.", "."));
    }
}

static void fast_model_draw_config(struct bed *b, unsigned which)
{
    struct engine_config *config = &b->f->config;
    config->settings.round_robin = random_below(2);
    config->settings.ttl_s = random_below(3) ? 3600 : 20;
    config->zones[0].hostmaster =
        dname_from(RANDOM_PICK("hostmaster.cluster.local.", "hostmaster.skydns.local.", "h.test.",
                               "HM.x.Local.", "a.b.cluster.local.", "x.svc.cluster.local."));
    if (random_below(3) == 0) {
        config->settings.local = dname_from("web.default.svc.cluster.local.");
    }
    config->settings.schema = which % SCHEMAS;
    config->settings.pods = which / SCHEMAS % PODS;
    unsigned reverse_zones = which / (SCHEMAS * PODS) % REVERSE_ZONES;
    draw_domains(b, which / (SCHEMAS * PODS * REVERSE_ZONES) % DOMAINS, reverse_zones);
    int n = snprintf(b->config, sizeof(b->config), "schema %d, pods %d, %u reverse zones, domains",
                     (int)config->settings.schema, (int)config->settings.pods, reverse_zones);
    for (size_t i = 0; i < config->zone_count; i++) {
        char text[DNAME_TEXT_MAX];
        n += snprintf(b->config + n, sizeof(b->config) - (size_t)n, " %s",
                      dname_to_text(&config->zones[i].domain, text));
    }
}

/* ---- Other domains ---- */

static void draw_others(struct bed *b)
{
    struct engine_config *config = &b->f->config;
    const struct ip ip = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    struct forward_zone zones[8];
    size_t count = 0;
    for (size_t i = 0; i < 8; i++) {
        static const char *const names[] = {".",
                                            "sub.test.",
                                            "stub.cluster.local.",
                                            "default.svc.cluster.local.",
                                            "2.0.10.in-addr.arpa.",
                                            "local.",
                                            "below.absent.cluster.local.",
                                            "absent.n.svc.cluster.local."};
        if (i == 0 || random_below(2)) {
            zones[count] = (struct forward_zone){.name = dname_from(names[i]),
                                                 .server_count = random_below(8) > 0};
            zones[count++].servers[0] = nameserver_at(addr_of_ip(&ip, 53));
        }
    }
    b->others = zone_table_new(zones, count, NULL);
    b->cache = cache_new(1000);
    const struct hosts_entry entries[] = {{.ip = ip, .name = dname_from("www.test.")},
                                          {.ip = ip, .name = dname_from("x.n.svc.cluster.local.")},
                                          {.ip = ip, .name = dname_from("x.stub.cluster.local.")}};
    b->hosts = random_below(3) == 0 ? hosts_table_of(entries, 3) : NULL;
    config->hosts = b->hosts;
    config->zones_of_others = b->others;
    config->cache = random_below(8) ? b->cache : NULL;
    config->cache_limits = (struct cache_limits){3600, 24 * 3600 * 1000};
    config->allows_all = random_below(8) > 0;
    config->settings.no_rec = random_below(8) == 0;
    config->settings.ndots = random_below(4);
    config->settings.no_aaaa_count = random_below(2);
    config->settings.no_aaaa[0] =
        dname_from(RANDOM_PICK(".", ".", "test.", "sub.test.", "local.", "arpa.", "localhost."));
    config->settings.dns64.is_on = random_below(4) == 0;
}

static void drop_others(struct bed *b)
{
    zone_table_unref(b->others);
    hosts_table_unref(b->hosts);
    cache_unref(b->cache);
    b->others = NULL;
    b->cache = NULL;
}

/* Whatever the name, a reply, an old one, a denial or a failure. */
static void keep_one(struct bed *b)
{
    static const struct addr nameserver;
    uint8_t wire[4096];
    struct cache_key key = {.name = dname_from(external_names[random_below(EXTERNAL_NAMES)]),
                            .type = random_below(3)   ? DNS_TYPE_A
                                    : random_below(2) ? DNS_TYPE_TXT
                                    : random_below(2) ? DNS_TYPE_DS
                                                      : DNS_TYPE_PTR,
                            .qclass = DNS_CLASS_IN,
                            .dnssec_ok = random_below(3) == 0,
                            .checking_disabled = random_below(4) == 0};
    key.zone_serial = zone_table_find_for(b->others, &key.name, key.type)->serial;
    if (random_below(6) == 0) {
        cache_fail(b->cache, &key, CACHE_PLAIN, random_below(2000));
        return;
    }
    bool is_denial = random_below(3) == 0;
    unsigned count = is_denial ? 1 : 1 + random_below(random_below(4) ? 4 : 90);
    struct writer w = writer_of(wire, sizeof(wire));
    writer_u16(&w, 0);
    writer_u16(&w, (uint16_t)(0x8180 | (random_below(2) ? 0x20 : 0) | (is_denial ? 3 : 0)));
    writer_u16(&w, 1);
    writer_u16(&w, is_denial ? 0 : (uint16_t)count);
    writer_u16(&w, is_denial);
    writer_u16(&w, 0);
    writer_bytes(&w, key.name.wire, key.name.len);
    writer_u16(&w, key.type);
    writer_u16(&w, DNS_CLASS_IN);
    for (unsigned i = 0; i < count; i++) {
        static const uint8_t soa[22] = {[21] = 60};
        const uint8_t data[][4] = {{192, 0, 2, (uint8_t)i}, {3, 'a', 'b', (uint8_t)i}, {1, 'x', 0}};
        unsigned kind = key.type == DNS_TYPE_A ? 0 : key.type == DNS_TYPE_TXT ? 1 : 2;
        uint16_t len = is_denial ? sizeof(soa) : kind == 2 ? 3 : 4;
        writer_u16(&w, 0xc00c);
        writer_u16(&w, is_denial ? DNS_TYPE_SOA : key.type);
        writer_u16(&w, DNS_CLASS_IN);
        writer_u32(&w, 1 + random_below(3));
        writer_u16(&w, len);
        writer_bytes(&w, is_denial ? soa : data[kind], len);
    }
    assert_false(w.failed);
    (void)cache_put_bytes(b->cache, &key, wire, w.pos, &nameserver, &b->f->config.cache_limits, 0);
}

/* ---- Zones ---- */

static void never_retire(void *data UNUSED, void *block, void (*fn)(void *block))
{
    fn(block); /* no other thread reads */
}

/* Some of the Service's addresses have zones, and some are in none. */
static void put_topology(struct bed *b, const char *service, const char *ns)
{
    enum { ENTRIES = 90 };
    struct topology_entry entries[ENTRIES];
    char text[DNAME_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "%s.%s.svc.cluster.local.", service, ns);
    const struct dname name = dname_from(text);
    for (unsigned i = 0; i < ENTRIES; i++) {
        const unsigned kind = random_below(4);
        if (kind == 0) {
            draw_address(text, sizeof(text));
        } else {
            (void)snprintf(text, sizeof(text), kind == 1 ? "fd01::%x" : "10.1.0.%u",
                           random_below(150));
        }
        assert_true(ip_parse(slice_str(text), &entries[i].ip));
        entries[i].zone = slice_str(RANDOM_PICK("z1", "z1", "zone-2", "z3"));
    }
    client_index_put_topology(
        b->clients, topology_service_new(slice_of(name.wire, name.len), entries, ENTRIES));
}

static void draw_zones(struct bed *b)
{
    static const struct client_index_config never = {.retire = never_retire};
    struct err err;
    b->clients = NULL;
    b->zone = NULL;
    if (random_below(2)) {
        return;
    }
    assert_int_equal(addr_parse("10.9.9.9:53", &b->f->local, &err), 0);
    const struct ip ip = addr_ip(&b->f->local);
    const char *zone = RANDOM_PICK("z1", "zone-2", "elsewhere");
    b->clients = client_index_new(&never);
    const struct client_description description = {.ns = slice_str("n"),
                                                   .pod = slice_str("p"),
                                                   .node = slice_str(""),
                                                   .zone = slice_str(zone)};
    b->client = client_index_new_record(b->clients, &ip, &description);
    client_index_set_record(b->clients, b->client);
    client_index_commit(b->clients);
    (void)client_index_find_zone(b->clients, &ip, &b->zone);
    for (unsigned i = 0; i < 12; i++) {
        put_topology(b, fast_model_draw_service(b), draw_namespace());
    }
    b->f->config.clients = b->clients;
    b->f->config.topology = client_index_topology(b->clients);
}

static void drop_zones(struct bed *b)
{
    if (b->clients) {
        client_index_unset_record(b->clients, b->client);
        client_index_drop_record(b->clients, b->client);
        client_index_commit(b->clients);
        client_index_free(b->clients);
    }
}

/* ---- Questions ---- */

/* A key's name, or a parent of it. */
static void draw_known_name(struct bed *b, char *out)
{
    struct dname name;
    unsigned known = b->put_count < KEYS_MAX ? b->put_count : KEYS_MAX;
    assert_true(record_key_to_name(slice_str(""), slice_str(b->put[random_below(known)]), &name));
    dname_strip(&name, random_below(dname_label_count(&name)));
    (void)dname_to_text(&name, out);
}

/* Any labels, at any depth, in a domain or in a reverse zone. */
static void draw_any_name(struct bed *b, char *out)
{
    struct engine_config *config = &b->f->config;
    struct dname name = random_below(4)
                            ? config->zones[random_below((uint32_t)config->zone_count)].domain
                            : dname_from("96.10.in-addr.arpa.");
    for (unsigned labels = random_below(9); labels > 0; labels--) {
        assert_true(dname_prepend(
            &name, slice_str(RANDOM_PICK("svc", "svc", "pod", "n", "default", "a", "web", "_tcp",
                                         "_http", "dns", "ns", "local", "x", "0", "1",
                                         "dns-version", "10-0-0-3", "*", "b"))));
    }
    (void)dname_to_text(&name, out);
}

static void fast_model_draw_name(struct bed *b, char *out, size_t size)
{
    char first[80] = "";
    if (random_below(3) == 0) {
        (void)snprintf(
            first, sizeof(first), "%s",
            RANDOM_PICK("_http._tcp.", "_tcp.", "*.", "e1.", "e1._http._tcp.", "nothing.", "a.b."));
    }
    switch (random_below(10)) {
    case 0: /* also where the end of a label looks like another one */
        (void)snprintf(
            out, size, "%u.0.0.10.%s", random_below(40),
            RANDOM_PICK("in-addr.arpa.", "in-addr.Arpa.", "other.arpa.", "in-addr.x\\004arpa."));
        break;
    case 1:
        (void)snprintf(out, size, "%scluster.local.",
                       RANDOM_PICK("", "svc.", "default.svc.", "hostmaster.", "x.hostmaster.",
                                   "dns.", "ns.dns.", "dns-version.", "text.", "top.", "pod.",
                                   "n.pod.", "10-0-0-3.n.pod.", "b.", "x.b."));
        break;
    case 2: /* as expanded by search lists */
        (void)snprintf(
            out, size, "%s%s.%s.svc.cluster.local.%s", first, fast_model_draw_service(b),
            draw_namespace(),
            RANDOM_PICK("default.svc.cluster.local.", "svc.cluster.local.", "cluster.local."));
        break;
    case 3:
        (void)snprintf(out, size, "%s%s", first,
                       RANDOM_PICK("www.test.", "local.", "xcluster.local.",
                                   "absent.cluster.local.", "below.absent.cluster.local.",
                                   "deep.top.cluster.local."));
        break;
    case 4:
        (void)snprintf(out, size, "%s%sp.e.e.d.a.n.svc.cluster.local.",
                       RANDOM_PICK("_http._tcp.", ""), RANDOM_PICK("r.e.", "e.", ""));
        break;
    default:
        (void)snprintf(out, size, "%s%s.%s.svc.cluster.local.", first, fast_model_draw_service(b),
                       draw_namespace());
        break;
    }
}

static void fast_model_draw_question(struct bed *b, char *out, size_t size)
{
    char name[DNAME_TEXT_MAX];
    if (random_below(4) == 0) {
        (void)snprintf(out, size, "_http._tcp.%s.%s.svc.cluster.local. SRV%s",
                       fast_model_draw_service(b), draw_namespace(),
                       RANDOM_PICK("", " tcp", " edns=1232"));
        return;
    }
    bool is_external = random_below(6) == 0;
    switch (is_external ? 4 : random_below(4)) {
    case 4:
        (void)snprintf(name, sizeof(name), "%s", external_names[random_below(EXTERNAL_NAMES)]);
        break;
    case 0:
        draw_known_name(b, name);
        break;
    case 1:
        draw_any_name(b, name);
        break;
    default:
        fast_model_draw_name(b, name, sizeof(name));
        break;
    }
    if (random_below(5) == 0) {
        for (char *p = name; *p; p++) {
            *p = *p >= 'a' && *p <= 'z' && random_below(3) == 0 ? (char)(*p - 32) : *p;
        }
    }
    const char *type = is_external && random_below(5)
                           ? RANDOM_PICK("A", "A", "A", "TXT", "PTR", "DS")
                       : strstr(name, "arpa") && random_below(5)
                           ? "PTR"
                           : RANDOM_PICK("A", "A", "AAAA", "SRV", "SRV", "TYPE65", "TYPE64", "TXT",
                                         "PTR", "ANY", "CNAME", "NS", "SOA", "MX", "TYPE257");
    (void)snprintf(out, size, "%s %s%s%s%s%s%s%s", name, type, random_below(8) ? "" : " tcp",
                   random_below(4) ? "" : " nord", random_below(4) ? "" : " ad",
                   random_below(4) ? "" : " cd",
                   random_below(2) ? ""
                                   : RANDOM_PICK(" edns=4096", " edns=600", " edns=0",
                                                 " edns=1232 do", " edns=400 do"),
                   random_below(20) ? "" : " ch");
}

UNIT_TEST(test_the_same_bytes)
{
    static struct bed b;
    for (unsigned long seed = 1; seed <= STORES; seed++) {
        unsigned long answered_before = b.answered;
        random_state = seed;
        b.put_count = 0;
        b.f = fixture_new(NULL, 0);
        fast_model_draw_config(&b, (unsigned)(seed % CONFIGS));
        draw_others(&b);
        draw_zones(&b);
        open_paths(&b);
        for (unsigned change = 0; change < CHANGES; change++) {
            for (size_t i = 0; i < b.f->config.zone_count; i++) {
                b.f->config.zones[i].is_incomplete = random_below(6) == 0;
            }
            for (unsigned i = 0; i < 4; i++) {
                random_below(3) ? fast_model_put_service(&b) : put_other(&b);
            }
            for (unsigned i = 0; i < 30; i++) {
                keep_one(&b);
            }
            for (unsigned i = 0; i < QUERIES; i++) {
                if (i % CHANGE_EACH == CHANGE_EACH - 1) {
                    change_some(&b);
                }
                char question[DNAME_TEXT_MAX + 64];
                fast_model_draw_question(&b, question, sizeof(question));
                compare(&b, question, seed);
            }
        }
        close_paths(&b);
        fixture_free(b.f);
        drop_others(&b);
        drop_zones(&b);
        assert_true(b.answered > answered_before); /* in every configuration */
    }
    /* The cases under test really occur. */
    assert_true(b.answered * 6 > b.asked);
    assert_true(b.with_targets > 500);
    assert_true(b.cut > 100);
    assert_true(b.cached_count > 1000);
    assert_true(b.stale > 20);
    assert_true(b.built > 1000);
    assert_true(b.failed > 50);
    assert_true(b.near > 1000);
    assert_true(counter_get(&b.cached.counts->near) > 0);
}
