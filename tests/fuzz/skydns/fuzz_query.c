/* A query through the whole engine, over a fixed store: every reply is a complete message within
 * its limit. The first byte selects the case, the rest is the query; with CASE_UPSTREAM the rest is
 * an upstream's reply to a fixed query. */
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/wire/query_parse.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/skydns/response_bytes.h"

enum {
    CASE_TCP = 0x01,
    CASE_UNSYNCED = 0x02,
    CASE_NAMESERVERS = 0x04, /* with a stub zone below the domain, a hosts file and a cache */
    CASE_EXTERNALS = 0x08,
    CASE_ROTATE = 0x10,
    CASE_MAY_SCAN = 0x20,
    CASE_UPSTREAM = 0x40,
    CASE_OTHER_FLAGS = 0x80,
};

/* Names short enough to guess, values of every kind, links in circles. */
static const struct fixture_key keys[] = {
    {"local/cluster/a/1", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/a/2", "{'host':'fd00::2','group':'g'}"},
    {"local/cluster/a/_t/_u/1", "{'host':'a.cluster.local','port':80,'weight':3}"},
    {"local/cluster/a/_t/_u/2", "{'host':'x.y','port':81,'targetstrip':1}"},
    {"local/cluster/b", "{'host':'c.cluster.local','mail':true}"},
    {"local/cluster/c", "{'host':'B.cluster.local','text':'text'}"},
    {"local/cluster/d/x", "{'host':'a.cluster.local','mail':true,'priority':1}"},
    {"local/cluster/d/y", "{'host':'www.example.com','mail':true}"},
    {"local/cluster/d/z", "{'host':'10.0.0.3','mail':true,'targetstrip':1,'text':'t'}"},
    {"local/cluster/dns/ns/n", "{'host':'10.0.0.4'}"},
    {"arpa/in-addr/1", "{'host':'a.cluster.local'}"},
};

static struct fixture *fixture;
static const struct store *store;
static struct external_answer external;
static struct network reverse_zone;
static struct zone_table *others;
static struct hosts_table *hosts;
static struct cache *cache;

static void query_keep(const char *text, uint32_t zone_serial)
{
    uint8_t wire[200];
    static const struct addr nameserver;
    const struct cache_limits limits = {3600, 3600 * 1000};
    struct cache_key key = {.name = dname_from(text),
                            .type = DNS_TYPE_A,
                            .qclass = DNS_CLASS_IN,
                            .zone_serial = zone_serial};
    struct writer w = writer_of(wire, sizeof(wire));
    writer_bytes(&w, "\0\0\x81\x80\0\1\0\1\0\0\0\0", DNS_HEADER_SIZE);
    writer_bytes(&w, key.name.wire, key.name.len);
    writer_bytes(&w, "\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1", 20);
    fuzz_check(cache_put_bytes(cache, &key, wire, w.pos, &nameserver, &limits, 0) == CACHE_HIT);
}

static void start_others(void)
{
    const struct forward_zone zones[] = {
        {.name = {.len = 1}, .server_count = 1},
        {.name = dname_from("s.cluster.local."), .server_count = 1},
    };
    const struct hosts_entry entry = {.ip = {4, {192, 0, 2, 9}}, .name = dname_from("h.test.")};
    size_t count;
    others = zone_table_new(zones, 2, NULL);
    hosts = hosts_table_of(&entry, 1);
    cache = cache_new(16);
    const struct forward_zone *items = zone_table_items(others, &count);
    query_keep("www.example.com.", items[0].serial);
    query_keep("x.y.", items[0].serial);
    query_keep("a.s.cluster.local.", items[1].serial);
}

static void set_others(bool has_others)
{
    struct engine_config *config = &fixture->config;
    config->has_nameservers = has_others;
    config->zones_of_others = has_others ? others : NULL;
    config->hosts = has_others ? hosts : NULL;
    config->cache = has_others ? cache : NULL;
    config->cache_limits = (struct cache_limits){3600, 3600 * 1000};
    config->allows_all = true;
}

/* Once per process: libFuzzer has no teardown hook. */
static void query_start(void)
{
    fixture = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    store = fixture->store;
    static const uint8_t address[4] = {192, 0, 2, 1};
    static struct buf packed;
    struct dname alias = dname_from("a.cluster.local.");
    buf_init(&packed, 1024);
    external_answer_put(&packed, DNS_TYPE_CNAME, 30, slice_of(alias.wire, alias.len));
    external_answer_put(&packed, DNS_TYPE_A, 30, slice_of(address, sizeof(address)));
    external = (struct external_answer){
        .question = {.name = dname_from("www.example.com."), .type = DNS_TYPE_A},
        .outcome = EXTERNAL_ANSWERED,
        .records = buf_slice(&packed),
    };
    fixture->externals = (struct external_answers){.count = 1, .items = &external};
    /* Too many to fit a datagram. */
    for (unsigned i = 0; i < 100; i++) {
        char key[64], value[64];
        (void)snprintf(key, sizeof(key), "local/cluster/m/%u", i);
        (void)snprintf(value, sizeof(value), "{'host':'10.1.0.%u','port':%u}", i, i);
        fixture_put(fixture, &(struct fixture_key){key, value}, 1);
    }
    store = fixture->store;
    start_others();
    reverse_zone.prefix_bits = 12;
    fuzz_check(ip_parse(slice_str("10.96.0.0"), &reverse_zone.ip));
}

/* The defaults, or everything different. */
static void set_flags(bool is_other)
{
    struct engine_config *config = &fixture->config;
    config->settings.schema = is_other ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
    config->settings.pods = is_other ? ENGINE_PODS_INSECURE : ENGINE_PODS_VERIFIED;
    config->settings.any_is_hinfo = is_other;
    config->settings.reverse_zone_count = is_other;
    config->settings.reverse_zones[0] = reverse_zone;
}

static void query_check(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "%s: %s\n", what, fixture->text);
        abort();
    }
}

static void query_ask(enum engine_transport transport)
{
    static char alone[DNS_TEXT_MAX];
    const struct slice twice[] = {slice_of(fixture->query, fixture->query_len),
                                  slice_of(fixture->query, fixture->query_len)};
    const char *text = fixture_answer(fixture, transport);
    memcpy(alone, text, strlen(text) + 1);
    engine_look_ahead(fixture->engine, fixture->store, twice, 2);
    fixture->ahead = 2;
    text = fixture_answer(fixture, transport);
    fixture->ahead = 0;
    query_check(strcmp(text, alone) == 0, "answer of those looked up at once");
    query_check(strncmp(text, "malformed", 9) != 0, "reply");
    query_check(fixture->verdict != ENGINE_DEFER || fixture->deferral.kind != ENGINE_DEFER_LOOKUP ||
                    !fixture->has_externals,
                "asks for externals twice");
    query_check(fixture->verdict != ENGINE_DEFER || fixture->deferral.kind != ENGINE_DEFER_SCAN ||
                    !fixture->may_scan,
                "defers a walk twice");
    fixture->is_brief = true;
    query_check(strncmp(fixture_answer(fixture, transport), "malformed", 9) != 0, "brief reply");
    fixture->is_brief = false;
    struct engine_query query = {
        .wire = fixture->query, .len = fixture->query_len, .transport = transport};
    if (engine_servfail(fixture->engine, &query, EDNS_ERROR_NONE, &fixture->response)) {
        query_check(fixture->response.len <= DNS_UDP_SIZE, "SERVFAIL too long");
        dns_text(fixture->reply, fixture->response.len, fixture->text, sizeof(fixture->text));
        query_check(strncmp(fixture->text, "SERVFAIL", 8) == 0, "SERVFAIL");
    }
}

/* The resolver answers a deferred query from what it owns. */
static void ask_owned(enum engine_transport transport)
{
    static char whole[DNS_TEXT_MAX];
    struct query parsed;
    query_parse(fixture->query, fixture->query_len, &parsed);
    if (parsed.verdict != QUESTION_OK) {
        return;
    }
    const char *text = fixture_answer(fixture, transport);
    memcpy(whole, text, strlen(text) + 1);
    fixture->is_repeated = true;
    query_check(strcmp(fixture_answer(fixture, transport), whole) == 0,
                "answer of one that waited");
    fixture->is_repeated = false;
}

/* Asks over TLS: the response is TCP's, with what TLS adds after OPT. */
static void query_ask_over_tls(void)
{
    enum { LENGTH_AT = 9, BLOCK = 468 };
    static uint8_t plain[ENGINE_REPLY_MAX];
    (void)fixture_answer(fixture, ENGINE_TCP);
    const struct response tcp = fixture->response, *tls = &fixture->response;
    if (fixture->verdict != ENGINE_REPLY) {
        return;
    }
    memcpy(plain, tcp.bytes, tcp.len);
    query_check(strncmp(fixture_answer(fixture, ENGINE_TLS), "malformed", 9) != 0, "over TLS");
    query_check(fixture->verdict == ENGINE_REPLY && tls->opt_at == tcp.opt_at, "OPT over TLS");
    if (tcp.opt_at == 0) {
        query_check(tls->len == tcp.len && memcmp(plain, tls->bytes, tcp.len) == 0, "without OPT");
        return;
    }
    const size_t options_at = tcp.opt_at + EDNS_OPT_SIZE;
    query_check(memcmp(plain, tls->bytes, tcp.opt_at + LENGTH_AT) == 0, "answer over TLS");
    query_check(tls->len >= tcp.len &&
                    memcmp(plain + options_at, tls->bytes + options_at, tcp.len - options_at) == 0,
                "options over TLS");
    query_check(tls->len <= tcp.len + EDNS_OPTION_HEAD + 2 || tls->len % BLOCK == 0 ||
                    tls->len == ENGINE_REPLY_MAX,
                "padded length");
}

static void query_forward(enum engine_transport transport, const uint8_t *upstream, size_t size)
{
    struct engine_query query = {.wire = fixture->query, .transport = transport};
    (void)fixture_query(fixture, "www.example.com. A edns=512");
    query.len = fixture->query_len;
    if (engine_forwarded_bytes(fixture->engine, &query, upstream, size, &fixture->response)) {
        query_check(fixture->response.len <= (transport == ENGINE_TCP ? ENGINE_REPLY_MAX : 512),
                    "forwarded too long");
        query_check(memcmp(fixture->reply, fixture->query, 2) == 0, "forwarded with another id");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!fixture) {
        query_start();
    }
    if (size < 1 || size - 1 > sizeof(fixture->query)) {
        return 0;
    }
    enum engine_transport transport = data[0] & CASE_TCP ? ENGINE_TCP : ENGINE_UDP;
    fixture->store = data[0] & CASE_UNSYNCED ? NULL : store;
    set_others((data[0] & CASE_NAMESERVERS) != 0);
    fixture->has_externals = (data[0] & CASE_EXTERNALS) != 0;
    fixture->config.settings.round_robin = (data[0] & CASE_ROTATE) != 0;
    set_flags((data[0] & CASE_OTHER_FLAGS) != 0);
    fixture->may_scan = (data[0] & CASE_MAY_SCAN) != 0;
    if (data[0] & CASE_UPSTREAM) {
        query_forward(transport, data + 1, size - 1);
        return 0;
    }
    memcpy(fixture->query, data + 1, size - 1);
    fixture->query_len = size - 1;
    query_ask(transport);
    if (transport == ENGINE_TCP) {
        query_ask_over_tls();
        transport = ENGINE_TLS; /* a copy keeps what asks for that, too */
    }
    ask_owned(transport);
    return 0;
}
