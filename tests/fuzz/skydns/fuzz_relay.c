/* A nameserver's reply, fitted to clients of every kind, passed on and from the cache: the result
 * is a complete message within the limit, and what the fast path says is what the slow path says;
 * behind a search path's CNAME it says the same.
 * The client's question is the one in the reply. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/answer/relay.h"
#include "skydns/external/cache.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/upstream_message.h"
#include "skydns/wire/question.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/behind_alias.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/response_bytes.h"

static bool relay_read_question(const uint8_t *data, size_t size, struct question *ret)
{
    struct reader r = reader_of(data, size);
    *ret = (struct question){.id = 0x1234};
    reader_seek(&r, DNS_HEADER_SIZE);
    if (r.failed || !dname_read(&r, &ret->name)) {
        return false;
    }
    ret->type = reader_u16(&r);
    ret->qclass = reader_u16(&r);
    return !r.failed;
}

static void relay_check(struct question *question, const uint8_t *data, size_t size, size_t limit)
{
    static uint8_t reply[DNS_MESSAGE_MAX], again[DNS_MESSAGE_MAX];
    struct relay_parts parts, reread;
    struct parsed_response upstream, relayed;
    struct response first = {.bytes = reply}, second = {.bytes = again};
    response_parse(data, size, &upstream);
    const bool is_relayed = relay_read(question, &upstream, &parts) &&
                            relay_write(question, &upstream, &parts, 1232, limit, &first);
    if (is_relayed) {
        assert(first.len <= limit);
        response_parse(reply, first.len, &relayed);
        assert(relay_read(question, &relayed, &reread));
        assert(relay_write(question, &relayed, &reread, 1232, limit, &second));
        response_parse_fini(&relayed);
        assert(second.len == first.len && second.opt_at == first.opt_at);
        assert(memcmp(reply, again, first.len) == 0);
    }
    if (is_relayed && limit == DNS_MESSAGE_MAX && !question->has_edns &&
        first.len < DNS_MESSAGE_MAX / 2 && question->qclass == DNS_CLASS_IN) {
        const struct slice asked = {BEHIND_ALIAS_NAME, sizeof(BEHIND_ALIAS_NAME)};
        second.asked = asked;
        assert(relay_write(question, &upstream, &parts, 1232, limit, &second));
        reply[3] = (uint8_t)(reply[3] & ~DNS_FLAG_AD);
        behind_alias_check(slice_of(reply, first.len), slice_of(again, second.len));
    }
    response_parse_fini(&upstream);
}

/* ---- From the cache ---- */

enum { NOW_MS = 1000, LATER_MS = 2000 };

static struct fixture *fixture;
static const struct forward_zone *general;

/* Once per process: libFuzzer has no teardown hook. */
static void relay_start(void)
{
    const struct forward_zone root = {.name = {.len = 1}, .server_count = 1};
    fixture = fixture_new(NULL, 0);
    size_t count;
    fixture->config.zones_of_others = zone_table_new(&root, 1, NULL);
    fixture->config.cache = cache_new(1);
    fixture->config.cache_limits = (struct cache_limits){3600, 3600 * 1000};
    fixture->config.allows_all = true;
    fixture->config.settings.ndots = 0;
    fixture->config.serial++;
    engine_configure(fixture->engine, &fixture->config);
    general = zone_table_items(fixture->config.zones_of_others, &count);
}

/* The names in the data of a record that ends where the reader stands. */
static void check_data(const struct reader *end, uint16_t type, size_t len)
{
    struct reader r = *end;
    struct dname name;
    size_t behind = 0; /* the names */
    r.pos = end->pos - len;
    switch (type) {
    case DNS_TYPE_CNAME:
    case DNS_TYPE_NS:
    case DNS_TYPE_PTR:
        assert(dname_read(&r, &name));
        break;
    case DNS_TYPE_MX:
        reader_seek(&r, r.pos + 2);
        assert(dname_read(&r, &name));
        break;
    case DNS_TYPE_SOA:
        assert(dname_read(&r, &name) && dname_read(&r, &name));
        behind = 20;
        break;
    default:
        return;
    }
    assert(r.pos + behind == end->pos);
}

static void relay_check_records(const uint8_t *reply, size_t len)
{
    struct reader r = reader_of(reply, len);
    struct dname name;
    reader_seek(&r, 6);
    unsigned count = reader_u16(&r) + (unsigned)reader_u16(&r) + reader_u16(&r);
    assert(dname_read(&r, &name));
    (void)reader_u32(&r); /* type and class */
    for (unsigned i = 0; i < count; i++) {
        assert(dname_read(&r, &name));
        uint16_t type = reader_u16(&r);
        (void)reader_u16(&r); /* class */
        (void)reader_u32(&r); /* TTL */
        uint16_t data_len = reader_u16(&r);
        assert(reader_take(&r, data_len) && !r.failed);
        check_data(&r, type, data_len);
    }
    assert(!r.failed && reader_left(&r) == 0);
}

static size_t relay_write_query(const struct question *question, uint16_t flags, bool has_edns,
                                uint16_t udp_size, bool dnssec_ok, uint8_t out[QUESTION_WIRE_MAX])
{
    struct writer w = writer_of(out, QUESTION_WIRE_MAX);
    writer_u16(&w, 0x1234);
    writer_u16(&w, flags);
    writer_u16(&w, 1);
    writer_u32(&w, 0);
    writer_u16(&w, has_edns);
    writer_bytes(&w, question->name.wire, question->name.len);
    writer_u16(&w, question->type);
    writer_u16(&w, question->qclass);
    if (has_edns) {
        edns_append_opt(&w, udp_size, 0, dnssec_ok);
    }
    return w.pos;
}

/* Given externals, the engine takes the slow path. */
static void relay_ask(struct engine_query *query, size_t limit)
{
    static uint8_t quick[DNS_MESSAGE_MAX], slow[DNS_MESSAGE_MAX];
    static const struct external_answers none = {0};
    struct engine_deferral deferral;
    struct response fast = {.bytes = quick}, full = {.bytes = slow};
    enum engine_verdict verdict =
        engine_answer(fixture->engine, fixture->store, query, NULL, &fast, &deferral);
    assert(engine_answer(fixture->engine, fixture->store, query, &none, &full, &deferral) ==
           verdict);
    if (verdict == ENGINE_REPLY) {
        assert(fast.len == full.len && memcmp(quick, slow, fast.len) == 0 && fast.len <= limit);
        assert(fast.opt_at == full.opt_at && fast.name_len == full.name_len);
        assert(memcmp(quick, query->wire, 2) == 0);
        relay_check_records(quick, fast.len);
    }
}

/* Clients of every kind; `upstream` is also their first reply. */
static void relay_ask_all(const struct question *question, const uint8_t *upstream,
                          size_t upstream_len)
{
    static const uint16_t sizes[] = {0, 512, 600, 4096};
    static const uint16_t flags[] = {0x0100, 0x0130, 0x0010, 0x0000};
    static uint8_t first[DNS_MESSAGE_MAX];
    uint8_t wire[QUESTION_WIRE_MAX];
    struct addr client = {0};
    for (unsigned i = 0; i < 64; i++) {
        uint16_t udp_size = sizes[i % 4];
        struct engine_query query = {
            .wire = wire,
            .client = &client,
            .local = &client,
            .transport = i & 4 ? ENGINE_TCP : ENGINE_UDP,
            .now_ms = i & 8 ? LATER_MS : NOW_MS,
            .takes_stale = (i & 8) != 0,
            .random = i,
        };
        size_t limit = query.transport == ENGINE_TCP ? DNS_MESSAGE_MAX
                                                     : edns_udp_limit(udp_size > 0, udp_size, 1232);
        query.len = relay_write_query(question, flags[i / 16], udp_size > 0, udp_size, i & 2, wire);
        fixture->config.settings.round_robin = i & 1;
        relay_ask(&query, limit);
        struct response response = {.bytes = first};
        assert(
            !engine_forwarded_bytes(fixture->engine, &query, upstream, upstream_len, &response) ||
            response.len <= limit);
    }
}

static void check_cached(const struct question *question, const uint8_t *data, size_t size)
{
    static const struct addr nameserver;
    if (!fixture) {
        relay_start();
    }
    cache_unref(fixture->config.cache);
    fixture->config.cache = cache_new(16);
    for (unsigned i = 0; i < 4; i++) {
        struct cache_key key = {.name = question->name,
                                .type = question->type,
                                .qclass = question->qclass,
                                .dnssec_ok = i & 1,
                                .checking_disabled = i & 2,
                                .zone_serial = general->serial};
        dname_lower(&key.name);
        (void)cache_put_bytes(fixture->config.cache, &key, data, size, &nameserver,
                              &fixture->config.cache_limits, NOW_MS);
    }
    relay_ask_all(question, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct question question;
    static const size_t limits[] = {DNS_UDP_SIZE, 1232, DNS_MESSAGE_MAX};
    if (size > DNS_MESSAGE_MAX || !relay_read_question(data, size, &question)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        question.has_edns = false;
        relay_check(&question, data, size, limits[i]);
        question.has_edns = true;
        relay_check(&question, data, size, limits[i]);
    }
    check_cached(&question, data, size);
    struct external_question external = {question.name, question.type};
    CLEANUP_BUF struct buf packed = buf_of(EXTERNAL_PACKED_MAX);
    struct parsed_response response;
    response_parse(data, size, &response);
    (void)external_read(&external, &response, EXTERNAL_TTL_MAX_S, &packed); /* fuzz_external */
    response_parse_fini(&response);
    if (question_parse(data, size, &question) == QUESTION_OK) {
        const struct upstream_question asked = upstream_question_of(&question);
        uint8_t query[UPSTREAM_QUERY_MAX];
        assert(upstream_query_write(&asked, 1, query) <= sizeof(query));
    }
    return 0;
}
