/* A worker of skydns that answers each kind of question (kinds.h) in turn, in process, for
 * callgrind to count its instructions (tests/bench/instructions.py):
 *
 *     valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no bench_instructions
 *
 * What answers is the program's own: settings from flags, a store of 10,000 Services, a worker's
 * thread with its engine and its UDP server; only the kernel is not there (feed.h). Prints the
 * compiler, and `KIND ANSWERS` for each dump of callgrind's. Without valgrind, it only answers and
 * checks the replies. Exit status 1: a reply was wrong; 2: it cannot begin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <valgrind/callgrind.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "skydns/clients/topology.h"
#include "skydns/config/client_settings_internal.h"
#include "skydns/config/forward_settings_internal.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/engine/engine.h"
#include "skydns/engine/namespace_rate.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/options.h"
#include "skydns/sync/override_index.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/worker.h"
#include "tests/bench/instructions/feed.h"
#include "tests/support/skydns/records.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/skydns/services.h"

enum { EXTERNAL_TTL_S = 3600, SIGNATURES = 10000 };

struct bench {
    struct services services;
    struct publisher *publisher;
    struct forward_settings *external;
    struct client_settings *clients;
    struct client_index *index;
    const struct store *store; /* the newest: the publisher's */
    struct override_index *overrides;
    struct namespace_rate *namespace_rate;
};

static void bench_instructions_fail(const char *what)
{
    (void)fprintf(stderr, "bench_instructions: %s\n", what);
    exit(2);
}

/* ---- Records ---- */

/* Puts an address like kube2sky: the key's last part is a hash of the value. */
static void bench_instructions_put_address(struct store_writer *writer, const char *key,
                                           uint32_t address)
{
    char label[9], path[KIND_TEXT_MAX + sizeof(label)], value[KIND_TEXT_MAX];
    const uint8_t *a = (const uint8_t *)&address;
    struct dname name;
    struct record record;
    struct err err;
    int len = snprintf(value, sizeof(value),
                       "{\"host\":\"%u.%u.%u.%u\",\"priority\":10,\"weight\":10,\"ttl\":30,"
                       "\"targetstrip\":0}",
                       a[0], a[1], a[2], a[3]);
    const struct slice text = slice_of(value, (size_t)len);
    (void)record_label(text, label);
    (void)snprintf(path, sizeof(path), "/skydns/local/cluster/%s/%s", key, label);
    if (!record_key_to_name(slice_str("/skydns/"), slice_str(path), &name) ||
        record_from_json(text, &record, &err) < 0) {
        bench_instructions_fail(path);
    }
    (void)records_put(writer, &name, &record, 1);
}

static void bench_instructions_put_headless(struct store_writer *writer)
{
    char key[KIND_TEXT_MAX];
    for (unsigned i = 0; i < HEADLESS; i++) {
        (void)snprintf(key, sizeof(key), "svc/default/headless-%03u", i);
        for (unsigned k = 0; k < ENDPOINTS; k++) {
            bench_instructions_put_address(writer, key, kinds_endpoint_address(i, k));
        }
    }
}

/* Puts a record as external-dns, or kube2sky for an alias, does. */
static void bench_instructions_put_override(struct bench *b, const char *name, unsigned number,
                                            const char *host)
{
    char path[KIND_TEXT_MAX], value[KIND_TEXT_MAX];
    struct dname key;
    struct record record;
    struct err err;
    int len =
        snprintf(value, sizeof(value), "{\"host\":\"%s\",\"ttl\":30,\"targetstrip\":1}", host);
    (void)snprintf(path, sizeof(path), "/skydns/net/example/acme/%s-%05u/3f2a1b0c", name, number);
    if (!record_key_to_name(slice_str("/skydns/"), slice_str(path), &key) ||
        record_from_json(slice_of(value, (size_t)len), &record, &err) < 0) {
        bench_instructions_fail(path);
    }
    (void)records_put(b->services.writer, &key, &record, 1);
}

/* Publishes an override with each Service's address, and one that leads to it, as store_sync
 * does. */
static void publish_overrides(struct bench *b)
{
    char host[KIND_TEXT_MAX];
    struct store_garbage *garbage, *of_overrides;
    const struct dname domain = kinds_dname("cluster.local.");
    const struct override_index_rule rule = {
        .is_on = true, .ttl_s = 30, .domain_count = 1, .domains = &domain};
    b->overrides = override_index_new();
    override_index_set(b->overrides, &rule);
    for (unsigned i = 0; i < SERVICES; i++) {
        const uint32_t address = services_address(i, 0);
        const uint8_t *a = (const uint8_t *)&address;
        (void)snprintf(host, sizeof(host), "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
        bench_instructions_put_override(b, "app", i, host);
        (void)snprintf(host, sizeof(host), "svc-%05u.default.svc.cluster.local.", i);
        bench_instructions_put_override(b, "led", i, host);
    }
    const struct store *store =
        store_writer_commit(b->services.writer, b->services.revision + 2, &garbage);
    store_writer_set_overrides(b->services.writer,
                               override_index_follow(b->overrides, b->store, store, &of_overrides));
    publisher_publish(b->publisher, store, garbage);
    if (of_overrides) {
        bench_instructions_fail("there were overrides before");
    }
    b->store = store;
}

/* They are the clients, too. */
static void put_pods(struct bench *b)
{
    char key[KIND_TEXT_MAX];
    for (unsigned i = 0; i < PODS; i++) {
        uint32_t address = kinds_pod_address(i);
        const uint8_t *a = (const uint8_t *)&address;
        const struct ip ip = {.family_bytes = 4, .bytes = {a[0], a[1], a[2], a[3]}};
        (void)snprintf(key, sizeof(key), "pod/default/%u-%u-%u-%u", a[0], a[1], a[2], a[3]);
        bench_instructions_put_address(b->services.writer, key, address);
        client_index_add(b->index, &ip, slice_str("default"));
    }
    client_index_commit(b->index);
}

static void publish_records(struct bench *b)
{
    struct store_garbage *garbage;
    services_init(&b->services, SERVICES);
    const struct store *store = services_fill(&b->services, &garbage);
    publisher_publish(b->publisher, store, garbage);
    bench_instructions_put_headless(b->services.writer);
    put_pods(b);
    store = store_writer_commit(b->services.writer, b->services.revision + 1, &garbage);
    publisher_publish(b->publisher, store, garbage);
    b->store = store;
}

/* Puts all clients in one zone, and each headless Service in two. */
static void put_zones(struct bench *b)
{
    static const char *const zones[] = {"eu-central-1a", "eu-central-1b"};
    const struct client_description description = {.ns = slice_str("default"),
                                                   .pod = slice_str("web-0"),
                                                   .node = slice_str("n1"),
                                                   .zone = slice_str(zones[0])};
    for (unsigned i = 0; i < PODS; i++) {
        uint32_t address = kinds_pod_address(i);
        struct ip ip = {.family_bytes = 4};
        memcpy(ip.bytes, &address, 4);
        client_index_set_record(b->index, client_index_new_record(b->index, &ip, &description));
    }
    client_index_commit(b->index);
    for (unsigned i = 0; i < HEADLESS; i++) {
        struct topology_entry entries[ENDPOINTS];
        char text[KIND_TEXT_MAX];
        for (unsigned k = 0; k < ENDPOINTS; k++) {
            uint32_t address = kinds_endpoint_address(i, k);
            entries[k] = (struct topology_entry){.ip = {.family_bytes = 4},
                                                 .zone = slice_str(zones[k % ARRAY_LEN(zones)])};
            memcpy(entries[k].ip.bytes, &address, 4);
        }
        kinds_headless_name(i, text);
        const struct dname name = kinds_dname(text);
        client_index_put_topology(
            b->index, topology_service_new(slice_of(name.wire, name.len), entries, ENDPOINTS));
    }
}

/* ---- Settings ---- */

static void bench_instructions_retire(void *data, void *block, void (*fn)(void *block))
{
    publisher_retire(data, block, fn);
}

/* The servers whose answers are counted, one after the other. */
enum setup {
    SETUP_PLAIN,
    SETUP_AUTOPATH,
    SETUP_SIGNED,
    SETUP_COOKIES,
    SETUP_FILTERED,
    SETUP_RATED,
    SETUP_OVERRIDES,
    SETUP_NEAR
};

/* A key for everything, as most zones have. */
static struct dnssec *bench_instructions_make_keys(void)
{
    struct signing_key *key = sample_key_new(SAMPLE_ECDSAP256_ZSK);
    struct dnssec *dnssec;
    struct err err;
    if (dnssec_new(&key, 1, SIGNATURES, &dnssec, &err) != 0) {
        bench_instructions_fail(err.msg);
    }
    return dnssec;
}

/* Makes the configuration that live_config makes of the flags of docker/manifests, with pods from
 * etcd; without settings that depend on the machine. */
static struct engine_config *make_config(struct bench *b, enum setup setup)
{
    static struct options options; /* large */
    static char args[][32] = {"skydns",
                              "-domain=cluster.local",
                              "-schema=kubernetes",
                              "-nameservers=192.0.2.53",
                              "-allow-recursion=10.0.0.0/8",
                              "-workers=1"};
    char *argv[ARRAY_LEN(args) + 1] = {NULL};
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        argv[i] = args[i];
    }
    if (skydns_options_parse(ARRAY_LEN(args), argv, &options, &err) != 0) {
        bench_instructions_fail(err.msg);
    }
    options.engine.autopath = setup == SETUP_AUTOPATH;
    options.engine.no_aaaa_count = setup == SETUP_FILTERED;
    options.engine.overrides = setup == SETUP_OVERRIDES;
    options.clients.wants_near = setup == SETUP_NEAR;
    if (setup == SETUP_RATED) { /* more than is asked */
        options.engine.rate_namespace = options.engine.rate_namespace_burst = ENGINE_RATE_MAX;
    }
    options.engine.no_aaaa[0] = (struct dname){.len = 1}; /* all */
    struct engine_config *config = options_engine_config(&options);
    forward_settings_fill(b->external, &options, config);
    client_settings_fill(b->clients, &options, true, config);
    config->dnssec = setup == SETUP_SIGNED ? bench_instructions_make_keys() : NULL;
    config->cookies.count = setup == SETUP_COOKIES; /* any secret will do */
    return config;
}

/* One address of each name; of AAAA, it ends the IPv6 address. */
static void fill_cache(const struct engine_config *config, uint16_t type)
{
    static const struct addr nameserver;
    static const uint8_t network[12] = {0x20, 0x01, 0x0d, 0xb8};
    const size_t network_len = type == DNS_TYPE_AAAA ? sizeof(network) : 0;
    size_t count;
    struct cache_key key = {.type = type,
                            .qclass = DNS_CLASS_IN,
                            .zone_serial =
                                zone_table_items(config->zones_of_others, &count)->serial};
    for (unsigned i = 0; i < EXTERNAL; i++) {
        char text[KIND_TEXT_MAX];
        uint8_t wire[512];
        uint32_t address = kinds_external_address(i);
        struct writer w = writer_of(wire, sizeof(wire));
        kinds_external_name(i, text);
        key.name = kinds_dname(text);
        writer_u16(&w, 1);
        writer_u16(&w, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA);
        writer_u16(&w, 1);
        writer_u16(&w, 1);
        writer_u32(&w, 0);
        writer_bytes(&w, key.name.wire, key.name.len);
        writer_u16(&w, key.type);
        writer_u16(&w, key.qclass);
        writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
        writer_u16(&w, key.type);
        writer_u16(&w, key.qclass);
        writer_u32(&w, EXTERNAL_TTL_S);
        writer_u16(&w, (uint16_t)(network_len + sizeof(address)));
        writer_bytes(&w, network, network_len);
        writer_bytes(&w, &address, sizeof(address));
        if (cache_put_bytes(config->cache, &key, wire, w.pos, &nameserver, &config->cache_limits,
                            (int64_t)FEED_NOW_S * 1000) != CACHE_HIT) {
            bench_instructions_fail("a reply is not kept");
        }
    }
}

/* ---- The worker ---- */

/* Its socket is bound to nothing: nobody sends to it. */
static struct udp_server *open_udp(const struct engine_config *config)
{
    struct udp_server *udp;
    struct err err;
    struct listen_socket listener = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .transport = ENGINE_UDP};
    if (listener.fd < 0 || addr_parse("0.0.0.0:53", &listener.address, &err) < 0) {
        bench_instructions_fail("a socket");
    }
    const struct udp_server_config udp_config = {&listener, config->settings.max_udp_size};
    if (udp_server_new(&udp_config, &udp, &err) < 0) {
        bench_instructions_fail(err.msg);
    }
    return udp;
}

/* No resolver: whatever is asked is answered at once. */
static void bench_instructions_ask_tapped(struct bench *b, const struct query_tap *tap,
                                          const struct kind *kinds, size_t count)
{
    struct worker *worker;
    struct err err;
    struct udp_server *udp = open_udp(publisher_newest_config(b->publisher));
    struct engine *engine = engine_new(publisher_newest_config(b->publisher));
    const struct worker_config config = {.udp = udp,
                                         .engine = engine,
                                         .reader = publisher_reader_new(b->publisher),
                                         .namespace_rate = b->namespace_rate,
                                         .tap = tap,
                                         .clients = client_counts_new()};
    client_counts_set_domain(config.clients, kinds_dname("cluster.local.").len);
    for (unsigned i = 0; i < PODS; i++) { /* all have been there */
        struct addr client = {.v4 = {.sin_family = AF_INET}, .len = sizeof(client.v4)};
        client.v4.sin_addr.s_addr = kinds_pod_address(i);
        client_counts_note_limited(config.clients, &client);
    }
    feed_begin(udp, kinds, count);
    if (worker_start(&config, &worker, &err) < 0) {
        bench_instructions_fail(err.msg);
    }
    worker_join(worker);
    worker_free(worker);
    client_counts_free(config.clients);
    engine_free(engine);
    udp_server_free(udp);
}

static void bench_instructions_ask_all(struct bench *b, const struct kind *kinds, size_t count)
{
    static const struct query_tap untapped;
    bench_instructions_ask_tapped(b, &untapped, kinds, count);
}

/* With room for all samples, as if the main thread took them at once. */
static void bench_instructions_ask_watched(struct bench *b, bool counts_clients,
                                           const struct kind *kinds, size_t count)
{
    enum { ROOM = 1 << 16 };
    struct name_samples *missing = name_samples_new(ROOM);
    struct query_tap tap;
    query_tap_init(&tap, NULL, missing, NULL);
    query_tap_set_clients(&tap, counts_clients);
    bench_instructions_ask_tapped(b, &tap, kinds, count);
    if (name_samples_dropped(missing) > 0) {
        bench_instructions_fail("a sample is dropped");
    }
    name_samples_free(missing);
}

static void bench_instructions_configure(struct bench *b, enum setup setup)
{
    struct engine_config *config = make_config(b, setup);
    fill_cache(config, DNS_TYPE_A); /* the same each time: they share it */
    fill_cache(config, DNS_TYPE_AAAA);
    publisher_configure(b->publisher, config);
}

/* Makes the signatures of all that will be asked, as signers do. */
static void bench_instructions_sign_answers(struct bench *b, const struct kind *kind)
{
    static uint8_t reply[ENGINE_REPLY_MAX];
    static struct engine_deferral deferral;
    static const struct addr nowhere;
    uint8_t wire[KIND_QUERY_MAX];
    struct response response = {.bytes = reply};
    struct addr client;
    struct err err;
    struct engine *engine = engine_new(publisher_newest_config(b->publisher));
    if (addr_parse("10.244.0.1:1024", &client, &err) < 0) {
        bench_instructions_fail(err.msg);
    }
    for (unsigned i = 0; i < (unsigned)kind->batch * (FEED_WARM + FEED_COUNTED); i++) {
        struct engine_query query = {.wire = wire,
                                     .len = kinds_query(kind, feed_number(i), wire),
                                     .client = &client,
                                     .local = &nowhere,
                                     .now_s = FEED_NOW_S,
                                     .may_sign = true};
        if (engine_answer(engine, b->store, &query, NULL, &response, &deferral) != ENGINE_REPLY) {
            bench_instructions_fail("an answer is not signed");
        }
    }
    engine_free(engine);
}

int main(void)
{
    struct bench b = {.publisher = publisher_new(), .external = forward_settings_new(NULL)};
    const struct client_index_config index = {.retire = bench_instructions_retire,
                                              .data = b.publisher};
    seeded_hash_init();
    (void)printf("compiler %s\n", __VERSION__);
    b.namespace_rate = namespace_rate_new();
    b.clients = client_settings_new();
    b.index = client_index_new(&index);
    client_settings_set_index(b.clients, b.index);
    bench_instructions_configure(&b, SETUP_PLAIN);
    publish_records(&b);
    CALLGRIND_START_INSTRUMENTATION;
    bench_instructions_ask_all(&b, kinds_plain, kinds_plain_count);
    bench_instructions_ask_watched(&b, true, kinds_counted, kinds_counted_count);
    bench_instructions_ask_watched(&b, false, kinds_watched, kinds_watched_count);
    bench_instructions_configure(&b, SETUP_AUTOPATH);
    bench_instructions_ask_all(&b, kinds_autopath, kinds_autopath_count);
    CALLGRIND_STOP_INSTRUMENTATION;
    bench_instructions_configure(&b, SETUP_SIGNED);
    for (size_t i = 0; i < kinds_signed_count; i++) {
        bench_instructions_sign_answers(&b, &kinds_signed[i]);
    }
    CALLGRIND_START_INSTRUMENTATION;
    bench_instructions_ask_all(&b, kinds_signed, kinds_signed_count);
    bench_instructions_configure(&b, SETUP_COOKIES);
    bench_instructions_ask_all(&b, kinds_cookie, kinds_cookie_count);
    bench_instructions_configure(&b, SETUP_FILTERED);
    bench_instructions_ask_all(&b, kinds_filtered, kinds_filtered_count);
    bench_instructions_configure(&b, SETUP_RATED);
    bench_instructions_ask_all(&b, kinds_rated, kinds_rated_count);
    CALLGRIND_STOP_INSTRUMENTATION;
    bench_instructions_configure(&b, SETUP_OVERRIDES);
    publish_overrides(&b);
    CALLGRIND_START_INSTRUMENTATION;
    bench_instructions_ask_all(&b, kinds_override, kinds_override_count);
    CALLGRIND_STOP_INSTRUMENTATION;
    bench_instructions_configure(&b, SETUP_NEAR);
    put_zones(&b);
    CALLGRIND_START_INSTRUMENTATION;
    bench_instructions_ask_all(&b, kinds_near, kinds_near_count);
    publisher_free(b.publisher);
    override_index_free(b.overrides);
    services_fini(&b.services);
    client_index_free(b.index);
    namespace_rate_free(b.namespace_rate);
    client_settings_free(b.clients);
    forward_settings_free(b.external);
    return 0;
}
